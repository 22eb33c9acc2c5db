"""The session log: refusals change nothing, flush acknowledges, one owner, one clear error."""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from loopspec.impl import (
    AppendRefused,
    BadArgument,
    FlushFailed,
    LogBusy,
    LogClosed,
    LogUnreadable,
    Record,
    RecordInvalid,
    SessionLog,
    fixed_clock,
)
from loopspec.impl.logfile import HowWritten


def path_in(folder: Path) -> Path:
    """Return where a test keeps its log."""
    return folder / "session.sqlite"


def setting(log: SessionLog, name: str) -> object:
    """Return a setting of the connection that writes."""
    connection = log._file._connection
    assert connection is not None
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return value


def other_reader(path: Path) -> int:
    """Return how many records a second, read-only connection sees."""
    reader = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        (count,) = reader.execute("SELECT count(*) FROM record").fetchone()
        return int(count)
    finally:
        reader.close()


def test_records_are_read_back_with_numbers_times_and_data(tmp_path: Path) -> None:
    """Dense numbers from 0 that go on after a reopening."""
    with SessionLog.create(path_in(tmp_path), clock=fixed_clock(100, 5)) as log:
        log.append("turn/start", {"turn": 1})
        log.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    with SessionLog.open(path_in(tmp_path), clock=fixed_clock(200)) as log:
        log.append("turn/start", {"turn": 2})
        assert [
            (0, 100, "turn/start", {"turn": 1}),
            (1, 105, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
            (2, 200, "turn/start", {"turn": 2}),
        ] == [(r.seq, r.time, r.type, r.data) for r in log.read()]


def test_body_is_canonical_json_bytes(tmp_path: Path) -> None:
    """Sorted keys, no blanks, UTF-8, a BLOB under the number."""
    with SessionLog.create(path_in(tmp_path), clock=fixed_clock(7)) as log:
        log.append("turn/start", {"turn": 1})
    database = sqlite3.connect(path_in(tmp_path))
    row = database.execute("SELECT seq, body FROM record").fetchone()
    database.close()
    assert (0, b'{"data":{"turn":1},"seq":0,"time":7,"type":"turn/start"}') == row


def test_flush_makes_durable_what_append_only_told(tmp_path: Path) -> None:
    """Until the flush no other reader sees the record; both deletions of a claim come together."""
    with SessionLog.create(path_in(tmp_path)) as log:
        for target in ("next-step", "next-turn"):
            splice: dict[str, object] = {
                "target": target,
                "start": 0,
                "removedCount": 1,
                "inserted": [],
            }
            log.append("agent/inbox/spliced", splice)
        assert 0 == other_reader(path_in(tmp_path))
        assert 2 == len(log.read())
        asyncio.run(log.flush())
        assert 2 == other_reader(path_in(tmp_path))


def test_flushed_records_survive_a_kill_and_unflushed_ones_are_a_clean_loss(
    tmp_path: Path,
) -> None:
    """The process ends without closing; what is left is a gap-free prefix."""
    program = f"""
import asyncio, os
from loopspec.impl import SessionLog
log = SessionLog.create({str(path_in(tmp_path))!r})
log.append("turn/start", {{"turn": 1}})
asyncio.run(log.flush())
log.append("turn/start", {{"turn": 2}})
os._exit(9)
"""
    impl = Path(__file__).resolve().parents[2] / "impl"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(impl)}, check=False
    )
    assert 9 == done.returncode
    with SessionLog.open(path_in(tmp_path)) as log:
        assert [1] == [record.data["turn"] for record in log.read()]


def test_settings_of_the_connection_that_writes(tmp_path: Path) -> None:
    """What the durability of an acknowledged record rests on."""
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "page_size": 4096,
        "wal_autocheckpoint": 1000,
        "journal_size_limit": 16 * 1024 * 1024,
        "busy_timeout": 0,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "user_version": 3,
    }
    with SessionLog.create(path_in(tmp_path)) as log:
        assert expected == {name: setting(log, name) for name in expected}
    with SessionLog.open(path_in(tmp_path), durability="process") as log:
        assert {**expected, "synchronous": 1} == {name: setting(log, name) for name in expected}


@pytest.mark.parametrize("name", ["durability", "writer"])
def test_unknown_setting_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    """The sentence lists what there is."""
    with pytest.raises(BadArgument, match=f"{name} must be one of"):
        SessionLog.create(path_in(tmp_path), **{name: "paper"})  # type: ignore[arg-type]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "data", "says"),
    [
        ("turn/began", {"turn": 1}, "no type of record"),
        ("turn/start", {"turn": 1, "extra": 1}, "'extra'"),
        ("turn/start", {}, "lacks the key 'turn'"),
        ("turn/start", {"turn": 0}, "at least 1"),
        ("turn/start", {"turn": True}, "whole number"),
        ("turn/start", [], "must be an object"),
        ("turn/end", {"turn": 1, "reason": {"kind": "tired"}}, "must be one of"),
        ("turn/end", {"turn": 1, "reason": {"kind": "aborted"}}, "lacks the key 'reason'"),
        ("turn/end", {"turn": 1, "reason": {"kind": "error"}}, "lacks the key 'error'"),
        (
            "agent/inbox/spliced",
            {"target": "next-turn", "start": 0, "removedCount": 0, "inserted": []},
            "at least 1",
        ),
        (
            "agent/inbox/spliced",
            {"target": "next-week", "start": 0, "inserted": []},
            "next-turn, next-step",
        ),
    ],
)
def test_record_with_other_keys_or_values_is_refused(kind: str, data: object, says: str) -> None:
    """SL-07: one sentence that names the key; the number is not used up."""
    with SessionLog.in_memory() as log:
        with pytest.raises(RecordInvalid, match=says):
            log.append(kind, data)
        assert 0 == log.append("turn/start", {"turn": 1}).seq


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (math.nan, "no number"),
        (math.inf, "no number"),
        (object(), "not a JSON value"),
        ({1: 2}, "keys of a JSON object"),
        ("\ud800", "lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        ({1, 2}, "not a JSON value"),
    ],
)
def test_value_that_is_not_json_is_refused(value: object, says: str) -> None:
    """NaN, surrogates and objects never reach the file."""
    message = {
        "id": "A",
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "x", "value": value}],
    }
    with SessionLog.in_memory() as log:
        with pytest.raises(RecordInvalid, match=says):
            log.append("user/message", message)
        assert () == log.read()


def test_cycle_is_refused_with_a_sentence() -> None:
    """Not with a recursion error."""
    cycle: list[object] = []
    cycle.append(cycle)
    content = [{"type": "x", "value": cycle}]
    message = {"id": "A", "role": "user", "source": {"kind": "user"}, "content": content}
    with SessionLog.in_memory() as log, pytest.raises(AppendRefused):
        log.append("user/message", message)


def test_listeners_are_told_at_once_in_order_and_contained() -> None:
    """ER-03: prepended first; a failure starves nobody and rolls nothing back."""
    told: list[str] = []
    failures: list[str] = []
    log = SessionLog.in_memory(on_failure=lambda name, error: failures.append(f"{name} {error}"))

    def fail(record: Record) -> None:
        msg = f"no {record.seq}"
        raise RuntimeError(msg)

    async def later(_: Record) -> None:
        raise AssertionError

    log.subscribe(fail)
    leave = log.subscribe(lambda record: told.append(f"last {record.seq}"))
    log.subscribe(lambda record: told.append(f"first {record.seq}"), prepend=True)
    log.subscribe(later)
    log.append("turn/start", {"turn": 1})
    assert ["first 0", "last 0"] == told
    assert ["turn/start no 0", "turn/start a record listener must not be asynchronous."] == failures
    leave()
    log.append("turn/start", {"turn": 2})
    assert ["first 0", "last 0", "first 1"] == told
    log.close()


def test_append_from_a_record_listener_is_refused() -> None:
    """RE-01; the append that is going on is not touched."""
    refused: list[str] = []
    log = SessionLog.in_memory()

    def again(_: Record) -> None:
        with pytest.raises(AppendRefused, match="record listener") as caught:
            log.append("turn/start", {"turn": 2})
        refused.append(caught.value.code)

    log.subscribe(again)
    log.append("turn/start", {"turn": 1})
    assert ["append-refused"] == refused
    assert 1 == len(log.read())
    log.close()


def test_record_given_to_listeners_cannot_be_changed() -> None:
    """IN-06: the caller's own dictionary is not what is kept."""
    data = {"turn": 1}
    with SessionLog.in_memory() as log:
        record = log.append("turn/start", data)
        data["turn"] = 5
        assert {"turn": 1} == record.data
        with pytest.raises(TypeError):
            record.data["turn"] = 6  # type: ignore[index]


def test_second_owner_is_refused_and_the_first_notices_nothing(tmp_path: Path) -> None:
    """One owner at a time, also within one process."""
    with SessionLog.create(path_in(tmp_path)) as log:
        says = f"has an owner already, process {os.getpid()} since 20..-..-..T"
        with pytest.raises(LogBusy, match=says):
            SessionLog.open(path_in(tmp_path))
        with pytest.raises(LogBusy):
            SessionLog.create(path_in(tmp_path))
        log.append("turn/start", {"turn": 1})
    SessionLog.open(path_in(tmp_path)).close()


def test_close_is_idempotent_and_ends_appends(tmp_path: Path) -> None:
    """After closing one file is left, with everything in it."""
    log = SessionLog.create(path_in(tmp_path))
    log.append("turn/start", {"turn": 1})
    log.close()
    log.close()
    with pytest.raises(LogClosed):
        log.append("turn/start", {"turn": 2})
    with pytest.raises(LogClosed):
        log.read()
    with pytest.raises(LogClosed):
        asyncio.run(log.flush())
    assert {"session.sqlite", "session.sqlite.lock"} >= {path.name for path in tmp_path.iterdir()}
    assert 1 == other_reader(path_in(tmp_path))


def damage(path: Path, statement: str) -> None:
    """Change a closed log behind its back."""
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DELETE FROM record WHERE seq = 1", "lacks record 1"),
        ("DELETE FROM record WHERE seq = 2", "lacks record 2: it was closed with 3 records"),
        ("DELETE FROM record", "lacks record 0"),
        ("UPDATE record SET body = x'7b' WHERE seq = 1", "record 1 .*damaged: its chain"),
        ("UPDATE record SET body = 'text' WHERE seq = 1", "record 1 .*damaged"),
        ("UPDATE record SET chain = zeroblob(16) WHERE seq = 1", "record 1 .*damaged"),
        ("UPDATE record SET body = (SELECT body FROM record) WHERE seq = 1", "record 1 .*damaged"),
        ("UPDATE record SET session = 2 WHERE seq = 1", "lacks record 1; the next one is 2"),
        ("UPDATE session SET name = 'mail'", "it has a session that is named 'mail'"),
        ("DELETE FROM session", "records of session 1 have no name"),
        ("UPDATE session SET id = 2", "it has a session that is named 'main'"),
        ("UPDATE session SET mark = zeroblob(16)", "it has a session that is named 'main'"),
        ("INSERT INTO session SELECT 2, name, mark FROM session", "a session that is named"),
        ("UPDATE record SET id = 3000 WHERE seq = 1", "lacks record 1; the next one is 2"),
        ("UPDATE closed SET records = 2", "lacks record 3"),
        ("UPDATE closed SET seal = zeroblob(16)", "seal of its closing does not fit"),
        ("PRAGMA application_id = 1", "not a session log"),
        ("PRAGMA user_version = 9", "format 9"),
        ("PRAGMA user_version = 2", "format 2; this version reads format 3"),
        ("DROP TABLE record", "tables are not those of a session log"),
        ("CREATE VIEW more AS SELECT 1", "tables are not those of a session log"),
    ],
)
def test_damaged_log_gives_one_clear_error(tmp_path: Path, statement: str, says: str) -> None:
    """The record is named; the lock is given back."""
    with SessionLog.create(path_in(tmp_path)) as log:
        for turn in (1, 2, 3):
            log.append("turn/start", {"turn": turn})
    damage(path_in(tmp_path), statement)
    for _ in range(2):
        with pytest.raises(LogUnreadable, match=says):
            SessionLog.open(path_in(tmp_path))


def test_missing_existing_and_foreign_files_are_named(tmp_path: Path) -> None:
    """A foreign file is not touched."""
    with pytest.raises(LogUnreadable, match="there is no session log"):
        SessionLog.open(path_in(tmp_path))
    foreign = path_in(tmp_path)
    foreign.write_bytes(b"not a database at all, by any reading of it" * 40)
    before = foreign.read_bytes()
    with pytest.raises(LogUnreadable, match="not a session log"):
        SessionLog.open(foreign)
    with pytest.raises(LogUnreadable, match="the file exists"):
        SessionLog.create(foreign)
    assert before == foreign.read_bytes()
    with pytest.raises(LogUnreadable):
        SessionLog.create(tmp_path / "nowhere" / "session.sqlite")


def fill(log: SessionLog, number: int) -> None:
    """Append a record of about a kilobyte."""
    block = {"type": "text", "text": "x" * 900}
    message = {"role": "user", "source": {"kind": "user"}, "content": [block]}
    log.append("user/message", {**message, "id": str(number)})


def test_full_disk_refuses_the_append_and_says_what_was_lost(tmp_path: Path) -> None:
    """In place: records that were told but not flushed are gone, so nothing may follow them."""
    log = SessionLog.create(path_in(tmp_path), writer="inline")
    fill(log, 0)
    asyncio.run(log.flush())
    setting(log, "max_page_count = 8")
    with pytest.raises(AppendRefused, match="full"):
        for number in range(1, 100):
            fill(log, number)
    with pytest.raises(LogClosed, match="lost its unflushed records"):
        log.append("turn/start", {"turn": 1})
    log.close()
    with SessionLog.open(path_in(tmp_path)) as log:
        assert [0] == [record.seq for record in log.read()]


def test_full_disk_fails_the_flush_of_a_log_with_a_thread(tmp_path: Path) -> None:
    """What was acknowledged is there, and the log is open again for another owner."""
    log = SessionLog.create(path_in(tmp_path))
    fill(log, 0)
    asyncio.run(log.flush())
    assert log._file._connection is not None
    log._file._connection.execute("PRAGMA max_page_count = 8")
    for number in range(1, 100):
        fill(log, number)
    with pytest.raises(FlushFailed, match="full"):
        asyncio.run(log.flush())
    with pytest.raises(LogClosed, match="could not be made durable"):
        fill(log, 100)
    with pytest.raises(LogClosed, match="could not be made durable"):
        asyncio.run(log.flush())
    assert not log.is_open
    with SessionLog.open(path_in(tmp_path)) as again:
        assert [0] == [record.seq for record in again.read()]
        assert "ended without closing; records after 0, if there were any" in again.remark
    log.close()


@pytest.mark.parametrize("writer", ["thread", "inline"])
def test_log_that_was_opened_again_is_sealed_again(tmp_path: Path, writer: HowWritten) -> None:
    """Also when the appends after the opening are committed by the closing itself."""
    SessionLog.create(path_in(tmp_path), writer=writer).close()
    for count in (1, 2):
        with SessionLog.open(path_in(tmp_path), writer=writer) as log:
            assert "" == log.remark
            log.append("turn/start", {"turn": count})
    with SessionLog.open(path_in(tmp_path), writer=writer) as log:
        assert ("", 2) == (log.remark, len(log.read()))


def test_log_that_was_closed_says_nothing_and_one_that_was_not_says_so(tmp_path: Path) -> None:
    """The seal goes with the first append after it, and reading alone keeps it."""
    with SessionLog.create(path_in(tmp_path)) as log:
        log.append("turn/start", {"turn": 1})
    for _ in range(2):
        with SessionLog.open(path_in(tmp_path)) as log:
            assert "" == log.remark
    log = SessionLog.open(path_in(tmp_path))
    log.append("turn/start", {"turn": 2})
    asyncio.run(log.flush())
    log._file.give_up("the test drops it")
    with SessionLog.open(path_in(tmp_path)) as log:
        assert "ended without closing; records after 1, if there were any, cannot" in log.remark
    with SessionLog.open(path_in(tmp_path)) as log:
        assert "" == log.remark


def test_log_without_records_is_closed_or_not_as_well(tmp_path: Path) -> None:
    """An empty log that was closed is told from one whose records may be lost."""
    SessionLog.create(path_in(tmp_path))._file.give_up("the test drops it")
    with SessionLog.open(path_in(tmp_path)) as log:
        assert "ended without closing; records in it, if there were any" in log.remark
    with SessionLog.open(path_in(tmp_path)) as log:
        assert "" == log.remark


def test_reading_passes_a_page_boundary() -> None:
    """No cursor stays open; the pages join without a gap."""
    with SessionLog.in_memory() as log:
        for turn in range(1, 1102):
            log.append("turn/start", {"turn": turn})
        assert list(range(1101)) == [record.seq for record in log.read()]


def test_reading_can_begin_at_a_number() -> None:
    """What is read is the tail of the whole; behind the newest record there is nothing."""
    with SessionLog.in_memory() as log:
        for turn in range(1, 1004):
            log.append("turn/start", {"turn": turn})
        whole = log.read()
        assert whole[2:] == log.read(2)
        assert whole[1002:] == log.read(since=1002)
        assert () == log.read(since=1003)
