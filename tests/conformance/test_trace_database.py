"""The SQLite log of the shipped loop as evidence, and files that only look like one."""

import asyncio
import hashlib
import itertools
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from loopspec.conformance.trace import Acceptor, Limits, evidence_rows, judge_records
from loopspec.conformance.trace.database import READER, is_database, judge_database
from loopspec.impl import Record, Reply, SessionLog, TextBlock, ToolCall, ToolResult, text_message
from loopspec.impl.export import export_lines
from tests.conformance import hostile_files
from tests.impl.sessions import Session, run

ONE = Acceptor()
TEXT = "+T[A] {1 -T[A] (1 uA a )1 }1:completed"


def stored(path: Path, text: str = TEXT, sealed: bool = True) -> Path:
    """A small log on SQLite."""
    return hostile_files.stored(path, text, sealed)


def changed(path: Path, *statements: str) -> Path:
    """A log to which something was done behind its owner's back."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_log_on_sqlite_is_judged_and_not_touched(tmp_path: Path) -> None:
    """Its bytes stay, and nothing appears beside it, also in a folder that cannot be written."""
    path = stored(tmp_path / "log.sqlite")
    before = path.read_bytes()
    tmp_path.chmod(0o500)
    (log,) = judge_database(path, ONE)
    tmp_path.chmod(0o700)

    assert ("holds", "sqlite", 8) == (log.verdict, log.container, log.records)
    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())
    assert is_database(path)


def test_a_broken_log_on_sqlite_is_broken(tmp_path: Path) -> None:
    """By the same rules as any other."""
    (log,) = judge_database(stored(tmp_path / "log", "+T[A] {1 }1:completed", False), ONE)

    assert log.finding is not None
    assert "CL-02" in log.finding.rules


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE record SET body = CAST(body || ' ' AS BLOB) WHERE seq = 0", "chain"),
        ("DELETE FROM record WHERE seq = 3", "its number is 4"),
        ("DELETE FROM record WHERE seq = 7", "closed with 8 records"),
        ("UPDATE closed SET records = 7", "closed with 7 records"),
        ("UPDATE record SET seq = 70 WHERE seq = 7", "its number is 70"),
        ("UPDATE session SET name = 't'", "its mark does not fit"),
    ],
)
def test_what_the_chain_does_not_vouch_for_is_damage(
    tmp_path: Path, statement: str, said: str
) -> None:
    """Unknown, and no fault of a loop."""
    path = changed(stored(tmp_path / "log"), statement)
    (log,) = judge_database(path, ONE)

    assert "unknown" == log.verdict
    assert said in log.reason


TWICE = (
    "PRAGMA writable_schema = ON",
    "INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master",
)


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i FROM n) SELECT 1",),
        ("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM closed; END",),
        ("CREATE TABLE other (a)",),
        ("CREATE INDEX more ON record (body)",),
        ("DROP TABLE closed",),
        TWICE,
        (
            "DROP TABLE record",
            "CREATE VIEW record AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i AS id, 1 AS session, i AS seq, x'' AS body, x'' AS chain FROM n",
        ),
    ],
    ids=lambda statements: statements[-1][:20],
)
def test_a_schema_that_is_not_ours_is_refused(tmp_path: Path, statements: tuple[str, ...]) -> None:
    """Before anything is read from it: a view could be a program that never ends."""
    (log,) = judge_database(changed(stored(tmp_path / "log"), *statements), ONE)

    assert "not a log" == log.verdict
    assert log.reason.startswith("expected ")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("PRAGMA application_id = 7", "got application id 0x7"),
        ("PRAGMA user_version = 2", "expected log format 3 on SQLite, got format 2"),
        ("DELETE FROM session", "expected a name for each session, got records of session 1"),
    ],
)
def test_a_database_of_another_program_is_no_log(tmp_path: Path, statement: str, said: str) -> None:
    """Its header says whose it is, and of which format."""
    (log,) = judge_database(changed(stored(tmp_path / "log"), statement), ONE)

    assert ("not a log", True) == (log.verdict, said in log.reason)


def test_a_log_that_was_not_closed_says_what_cannot_be_known(tmp_path: Path) -> None:
    """A chain cannot prove that its end is the end."""
    (log,) = judge_database(stored(tmp_path / "log", sealed=False), ONE)

    assert "holds" == log.verdict
    assert "ended without closing; records after 7, if there were any" in " ".join(log.notes)


def digests(folder: Path) -> dict[str, str]:
    """The content of every file in a folder."""
    files = sorted(folder.iterdir())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("mode", [0o500, 0o700])
def test_the_log_of_a_killed_owner_stays_as_it_is(tmp_path: Path, mode: int) -> None:
    """With what stands in its write-ahead log; a shared memory that was left counts as evidence."""
    left = hostile_files.killed(tmp_path)
    Path(f"{left}-shm").write_bytes(b"\0" * 32_768)
    before = digests(tmp_path)
    tmp_path.chmod(mode)
    (log,) = judge_database(left, ONE)
    tmp_path.chmod(0o700)

    assert ("holds", 28) == (log.verdict, log.records)
    assert {"left.sqlite", "left.sqlite-wal", "left.sqlite-shm"} == before.keys()
    assert before == digests(tmp_path)


def test_a_log_in_use_is_read_beside_its_owner(tmp_path: Path) -> None:
    """Whatever of it is committed; the owner notices nothing."""
    path = tmp_path / "log.sqlite"
    with SessionLog.create(path, writer="inline", durability="process") as log:
        log.append("turn/start", {"turn": 1})
        asyncio.run(log.flush())
        (judged,) = judge_database(path, ONE)  # no file is opened in this process: that costs locks
        log.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})

    assert (1, True) == (judged.records, "without closing" in " ".join(judged.notes))


def test_a_log_that_never_rests_is_copied_by_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of a file that changes meanwhile are thrown away."""
    left = hostile_files.killed(tmp_path)
    moments = itertools.count()
    monkeypatch.setattr(evidence_rows, "stamps", lambda *paths: [(next(moments), 0, 0), None])
    (tmp_path / "copy").mkdir()
    monkeypatch.chdir(tmp_path / "copy")
    evidence_rows.make_copy(str(left))

    assert 2 * evidence_rows.COPIES_MAX == next(moments)
    assert hostile_files.rows_of(left) == hostile_files.rows_of(tmp_path / "copy/log.sqlite")


SAY_ROW = "import sys; sys.stdout.buffer.write(b'n' + (1).to_bytes(8, 'big') + b's'); "


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os; os.abort()", "was ended by signal SIGABRT"),
        (SAY_ROW + "sys.stdout.flush(); import os; os.kill(os.getpid(), 11)", "signal SIGSEGV"),
        ("import sys; sys.exit(3)", "ended with code 3 before it had read all of it"),
        (SAY_ROW + "sys.stdout.buffer.write(b'r' + bytes(7))", "ended with code 0"),
        (SAY_ROW + "sys.stdout.buffer.write(b'r' + b'\xff' * 8); sys.stdin.read()", "code"),
    ],
)
def test_a_crash_of_sqlite_is_one_sentence(tmp_path: Path, program: str, said: str) -> None:
    """About the file; what was read before it is not taken for all of it."""
    path = stored(tmp_path / "log")
    (log,) = judge_database(path, ONE, reader=(sys.executable, "-I", "-S", "-c", program))

    assert "unknown" == log.verdict
    assert log.reason.startswith("the process that reads it ")
    assert said in log.reason


def test_what_sqlite_may_use_is_limited(tmp_path: Path) -> None:
    """Its steps, the length of a row, its memory; each is named."""
    path = stored(tmp_path / "log", " ".join([TEXT] + ["+T[B] !T[B]"] * 4_000))
    (steps,) = judge_database(path, ONE, limits=Limits(steps=20_000))
    (length,) = judge_database(
        changed(path, "UPDATE record SET body = zeroblob(900000) WHERE seq = 0"),
        ONE,
        limits=Limits(line=1000),
    )

    assert ("unknown", True) == (steps.verdict, "--step-limit allows more" in steps.reason)
    assert ("unknown", True) == (length.verdict, "too big" in length.reason), length


def test_the_process_that_reads_limits_itself(tmp_path: Path) -> None:
    """Memory that is not there is a sentence too."""
    path = changed(
        stored(tmp_path / "log"), "UPDATE record SET body = zeroblob(50000000) WHERE seq = 0"
    )
    numbers = ("80000000", "60", "1000000000", "1000000000")
    (tmp_path / "copy").mkdir()
    done = subprocess.run(
        [*READER, str(path), str(tmp_path / "copy"), *numbers], capture_output=True, check=True
    )

    assert b"" == done.stderr
    behind_the_name = 10 + 9 + 8 + 16
    assert b"d" == done.stdout[behind_the_name:][:1], done.stdout[:200]


def test_the_log_of_the_shipped_loop_is_evidence(tmp_path: Path) -> None:
    """What the loop writes is what is read here, and so is its export."""
    path = tmp_path / "log.sqlite"

    async def test(session: Session) -> None:
        session.agent.followup(text_message("A"))
        session.agent.steer(text_message("B"))
        calls = (ToolCall("X", "read", {}), ToolCall("Y", "read", {}))
        await session.step(Reply("tools", (TextBlock("so"),), calls=calls))
        await session.answer("tool X", ToolResult((TextBlock("found"),), (text_message("C"),)))
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("tool Y", RuntimeError("no such file"))

    with SessionLog.create(path, writer="inline", durability="process") as log:
        kept: list[Record] = []
        log.subscribe(kept.append)
        run(test, Session(log))
    (judged,) = judge_database(path, ONE)
    exported = judge_records(map(json.loads, export_lines(tuple(kept), "s")), ONE)

    assert ("holds", "holds") == (judged.verdict, exported.verdict), (judged, exported)
    assert len(kept) == judged.records == exported.records
    assert judged.turns == exported.turns == 2
    assert ("notes",) == judged.profiles


def test_a_reason_is_one_line_whatever_it_quotes(tmp_path: Path) -> None:
    """The name of a table, say, that somebody has added."""
    path = changed(stored(tmp_path / "log.sqlite"), 'CREATE TABLE "two\nlines\x1b[2J" (a)')
    (log,) = judge_database(path, ONE)
    assert log.reason.isprintable()
    assert "two" in log.reason
