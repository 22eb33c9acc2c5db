"""The store: sessions share commits, nobody is acknowledged before one returned, one owner."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopspec.impl import (
    AppendRefused,
    BadArgument,
    FlushFailed,
    LogBusy,
    LogClosed,
    LogUnreadable,
    SessionLog,
    Store,
    fixed_clock,
)
from loopspec.impl.database import Connection, connect_sqlite
from loopspec.impl.logfile import HowWritten


class Watched:
    """A connection that counts commits and holds each of them until the test lets it pass."""

    def __init__(self, uri: str) -> None:
        """Hold nothing yet."""
        self._inner = connect_sqlite(uri)
        self.commits = 0
        self.failing = ""
        self.arrived = threading.Event()
        self.passes = threading.Event()
        self.passes.set()

    @property
    def in_transaction(self) -> bool:
        """As SQLite says."""
        return self._inner.in_transaction

    def execute(self, sql: str, parameters: Any = (), /) -> Any:  # noqa: ANN401
        """Run the statement, unless it is to fail."""
        if self.failing and sql.startswith(self.failing):
            msg = "disk I/O error"
            raise sqlite3.OperationalError(msg)
        if sql == "COMMIT":
            self.arrived.set()
            self.passes.wait()
            self.commits += 1
        return self._inner.execute(sql, parameters)

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()


class Opened:
    """A store whose writing connection is watched."""

    def __init__(self, folder: Path) -> None:
        """Make the store."""
        self.file = folder / "store.sqlite"
        self.made: list[Watched] = []
        self.store = Store.create(self.file, connect=self._connect)
        self.writing.commits = 0
        self.writing.arrived.clear()

    @property
    def writing(self) -> Watched:
        """The connection that writes; it was the first."""
        return self.made[0]

    def _connect(self, uri: str) -> Connection:
        self.made.append(Watched(uri))
        return self.made[-1]

    def on_disk(self) -> list[tuple[str, int]]:
        """What a reader of its own finds."""
        reader = sqlite3.connect(f"{self.file.as_uri()}?mode=ro", uri=True)
        try:
            return list(
                reader.execute(
                    "SELECT name, seq FROM record JOIN session ON session = session.id"
                ).fetchall()
            )
        finally:
            reader.close()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """A watched store; what a test leaves open is closed."""
    made = Opened(tmp_path)
    yield made
    made.writing.passes.set()
    made.writing.failing = ""
    made.store.close()


def append(log: SessionLog, turns: int = 1) -> None:
    """Append the start and the end of a few turns."""
    for _ in range(turns):
        log.append("turn/start", {"turn": 1})


async def ticks() -> None:
    """Let everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_flushes_that_wait_together_are_one_commit(opened: Opened) -> None:
    """Group commit: while one transaction commits, the next gathers."""

    async def main() -> None:
        logs = [opened.store.session(f"s{number}") for number in range(20)]
        opened.writing.passes.clear()
        append(logs[0])
        first = asyncio.ensure_future(logs[0].flush())
        await asyncio.to_thread(opened.writing.arrived.wait)
        for log in logs[1:]:
            append(log, 2)
        others = [asyncio.ensure_future(log.flush()) for log in logs[1:]]
        await ticks()
        assert not first.done()
        assert not any(other.done() for other in others)
        opened.writing.passes.set()
        await asyncio.gather(first, *others)

    asyncio.run(main())
    assert 2 == opened.writing.commits
    assert 1 + 19 * 2 == len(opened.on_disk())


def test_flush_returns_after_its_commit_and_not_before(opened: Opened) -> None:
    """NO-PHANTOM: while the commit is held nobody is told that the record is safe."""

    async def main() -> None:
        log = opened.store.session("a")
        opened.writing.passes.clear()
        append(log)
        flush = asyncio.ensure_future(log.flush())
        await asyncio.to_thread(opened.writing.arrived.wait)
        await ticks()
        assert ([], False) == (opened.on_disk(), flush.done())
        assert [0] == [record.seq for record in log.read()]
        opened.writing.passes.set()
        await flush
        assert [("a", 0)] == opened.on_disk()

    asyncio.run(main())


def test_second_flush_waits_for_what_the_first_handed_over(opened: Opened) -> None:
    """A flush with nothing of its own is no shortcut; and its caller may be cancelled."""

    async def main() -> None:
        log = opened.store.session("a")
        opened.writing.passes.clear()
        append(log)
        first = asyncio.ensure_future(log.flush())
        await asyncio.to_thread(opened.writing.arrived.wait)
        second = asyncio.ensure_future(log.flush())
        await ticks()
        assert not second.done()
        first.cancel()
        await ticks()
        assert first.cancelled()
        assert not second.done()
        opened.writing.passes.set()
        await second
        assert [("a", 0)] == opened.on_disk()
        await log.flush()

    asyncio.run(main())
    assert 1 == opened.writing.commits


def test_what_was_appended_between_two_flushes_is_in_one_transaction(opened: Opened) -> None:
    """BATCH: nothing is inserted before the flush, and all of it then."""

    async def main() -> None:
        log = opened.store.session("a")
        append(log, 3)
        await ticks()
        assert [] == opened.on_disk()
        assert [0, 1, 2] == [record.seq for record in log.read()]
        await log.flush()
        assert 3 == len(opened.on_disk())

    asyncio.run(main())
    assert 1 == opened.writing.commits


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_failure_closes_every_log_of_the_store(opened: Opened, statement: str) -> None:
    """Who waited is told so; nobody goes on before the file was read again."""

    async def main() -> None:
        one, other = opened.store.session("one"), opened.store.session("other")
        append(one)
        await one.flush()
        append(one)
        append(other)
        opened.writing.failing = statement
        both = await asyncio.gather(one.flush(), other.flush(), return_exceptions=True)
        assert [FlushFailed] * 2 == [type(error) for error in both]
        for log in (one, other):
            with pytest.raises(LogClosed, match="could not be made durable"):
                append(log)
            with pytest.raises(LogClosed):
                log.read()

    asyncio.run(main())
    with Store.open(opened.file) as again:
        assert 1 == len(again.session("one").read())
        assert () == again.session("other").read()


def test_error_in_the_writer_reaches_those_who_wait(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the code itself is no silence."""

    def broken(*_: object) -> None:
        raise KeyError("head")

    monkeypatch.setattr(opened.store._file.commits, "insert", broken)
    log = opened.store.session("a")
    append(log)
    with pytest.raises(FlushFailed, match="head"):
        asyncio.run(log.flush())


def test_session_whose_first_record_was_refused_has_no_name(tmp_path: Path) -> None:
    """REFUSED: what is left is as it was, and the next append works."""
    made: list[Watched] = []

    def connect(uri: str) -> Connection:
        made.append(Watched(uri))
        return made[-1]

    with Store.create(tmp_path / "store.sqlite", writer="inline", connect=connect) as store:
        log, other = store.session("a"), store.session("b")
        made[0].failing = "INSERT INTO record"
        with pytest.raises(AppendRefused, match=r"record 0 .* could not be written"):
            append(log)
        assert () == store.sessions()
        made[0].failing = ""
        append(other)
        append(log)
        assert ("a", "b") == store.sessions()
    with Store.open(tmp_path / "store.sqlite") as again:
        assert [1, 1] == [len(again.session(name).read()) for name in again.sessions()]


def test_loop_that_is_gone_hinders_nobody(opened: Opened) -> None:
    """Whoever waited in a loop that was closed meanwhile is passed over."""
    gone, log = asyncio.new_event_loop(), opened.store.session("a")
    opened.writing.passes.clear()
    append(log)
    waiting = log.flush()
    asyncio._set_running_loop(gone)
    try:
        waiting.send(None)
    finally:
        asyncio._set_running_loop(None)
        waiting.close()
        gone.close()
    opened.writing.passes.set()
    append(log)
    asyncio.run(log.flush())
    assert 2 == len(opened.on_disk())


def test_sessions_are_apart_and_are_found_again(tmp_path: Path) -> None:
    """Own numbers, own chains; a session is open once at a time."""
    with Store.create(tmp_path / "store.sqlite") as store:
        a, b = store.session("a"), store.session("b")
        append(a, 2)
        append(b)
        with pytest.raises(LogBusy, match=r"'a' .* is open already"):
            store.session("a")
        a.close()
        with pytest.raises(LogClosed):
            append(a)
        again = store.session("a")
        assert (2, "") == (len(again.read()), again.remark)
        append(again)
        with pytest.raises(BadArgument):
            store.session("")
    with Store.open(tmp_path / "store.sqlite") as store:
        assert ("a", "b") == store.sessions()
        assert [3, 1] == [len(store.session(name).read()) for name in store.sessions()]
    with pytest.raises(LogUnreadable, match="holds 2 sessions: a, b"):
        SessionLog.open(tmp_path / "store.sqlite")
    Store.open(tmp_path / "store.sqlite").close()


def test_damage_in_one_session_leaves_the_others(tmp_path: Path) -> None:
    """The sentence names session and record."""
    with Store.create(tmp_path / "store.sqlite") as store:
        for name in ("a", "b"):
            append(store.session(name), 2)
    database = sqlite3.connect(tmp_path / "store.sqlite")
    database.execute("UPDATE record SET body = x'00' WHERE session = 1 AND seq = 1")
    database.commit()
    database.close()
    with Store.open(tmp_path / "store.sqlite") as store:
        assert 2 == len(store.session("b").read())
        with pytest.raises(LogUnreadable, match="record 1 of session 'a'"):
            store.session("a")


def test_record_of_another_history_does_not_fit(tmp_path: Path) -> None:
    """A link vouches for everything before it, so a whole row of elsewhere is seen."""
    with Store.create(tmp_path / "store.sqlite") as store:
        for name, turn in (("a", 1), ("b", 2)):
            log = store.session(name, clock=fixed_clock())
            log.append("turn/start", {"turn": turn})
            log.append("turn/start", {"turn": turn * 10})
    database = sqlite3.connect(tmp_path / "store.sqlite")
    database.execute(
        "UPDATE record SET (body, chain) = (SELECT body, chain FROM record "
        "WHERE session = 2 AND seq = 1) WHERE session = 1 AND seq = 1"
    )
    database.commit()
    database.close()
    says = r"record 1 of session 'a' .* chain does not fit"
    with Store.open(tmp_path / "store.sqlite") as store, pytest.raises(LogUnreadable, match=says):
        store.session("a")


def test_copy_of_a_store_in_use_is_a_prefix_of_what_was_appended(tmp_path: Path) -> None:
    """COPY: whatever is committed, whole; never a half batch."""

    async def main() -> None:
        with Store.create(tmp_path / "store.sqlite") as store:
            log = store.session("main")
            copies = [tmp_path / f"copy{number}.sqlite" for number in range(20)]
            for copy in copies:
                append(log, 5)
                flush = asyncio.ensure_future(log.flush())
                await asyncio.sleep(0)
                await asyncio.to_thread(store.copy_to, copy)
                await flush
            with pytest.raises(LogUnreadable, match="exists"):
                store.copy_to(copies[0])
        for number, copy in enumerate(copies):
            with SessionLog.open(copy) as found:
                assert len(found.read()) in (number * 5, number * 5 + 5)

    asyncio.run(main())


def test_reading_holds_no_statement_open(opened: Opened) -> None:
    """BOUND: a reader that stops half way does not keep the write-ahead log from being folded."""
    log = opened.store.session("a")
    append(log, 1500)
    asyncio.run(log.flush())
    rows = opened.store._file.rows("a")
    next(rows)
    assert opened.store._file.commits.fold()
    assert 1499 == len(list(rows))


def test_write_ahead_log_stays_small_beside_readers(opened: Opened) -> None:
    """BOUND: readers that stop half way, and an export, keep nothing from being folded."""
    log = opened.store.session("a")
    block = {"type": "text", "text": "x" * 8000}
    message = {"id": "A", "role": "user", "source": {"kind": "user"}, "content": [block]}
    readers = []
    largest = 0
    for number in range(2_500):
        log.append("user/message", message)
        if number % 10 == 0:
            asyncio.run(log.flush())
        if number % 100 == 0:
            readers.append(opened.store._file.rows("a"))
            next(readers[-1])
            largest = max(largest, Path(f"{opened.file}-wal").stat().st_size)
    assert 1_000_000 < largest < 16 * 1024 * 1024


@pytest.mark.parametrize("writer", ["thread", "inline"])
def test_sessions_that_share_segments_are_read_apart(tmp_path: Path, writer: HowWritten) -> None:
    """Records stand in the order of their commits; each session is read whole, from any number."""
    path = tmp_path / "store.sqlite"
    with Store.create(path, writer=writer, durability="process") as store:
        logs = {name: store.session(name) for name in ("often", "seldom")}
        for number in range(2500):
            append(logs["often"])
            if number % 500 == 0:
                append(logs["seldom"])
        whole = {name: [row.seq for row in log.read()] for name, log in logs.items()}
    assert {"often": [*range(2500)], "seldom": [*range(5)]} == whole
    with Store.open(path, writer=writer) as store:
        for name, numbers in whole.items():
            log = store.session(name)
            for since in (0, 1, 3, 1022, 1023, 1024, 2047, 2048, 2499, 2500, 9000):
                assert numbers[since:] == [record.seq for record in log.read(since)]


def test_reader_cannot_write(opened: Opened) -> None:
    """One connection writes; any other is refused by SQLite itself."""
    opened.store.sessions()
    assert len(opened.made) == 2
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        opened.made[1].execute("DELETE FROM record")


def test_log_whose_mark_could_not_be_folded_away_is_folded_later(opened: Opened) -> None:
    """A reader in the way of the fold delays it to the next commit, nothing else."""
    log = opened.store.session("a")
    append(log)
    log.close()
    opened.store._file.commits.fold()
    reader = sqlite3.connect(f"{opened.file.as_uri()}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM record").fetchone()
    log = opened.store.session("a")
    append(log)
    asyncio.run(log.flush())
    assert opened.store._file.commits._owes_a_fold
    reader.close()
    append(log)
    asyncio.run(log.flush())
    assert not opened.store._file.commits._owes_a_fold


OWNER = """
import os, sys
from loopspec.impl import SessionLog
import asyncio
log = SessionLog.create(sys.argv[1], writer="inline")
def append():
    log.append("turn/start", {"turn": 1})
    asyncio.run(log.flush())
append()
if sys.argv[2] == "careless":
    open(sys.argv[1], "rb").close()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(100):
    append()
print("acknowledged", flush=True)
sys.stdin.readline()
os._exit(9)
"""


@pytest.mark.parametrize("owner", ["careful", "careless"])
def test_second_descriptor_of_a_log_loses_acknowledged_records(tmp_path: Path, owner: str) -> None:
    """Why nothing opens a log's files by hand: closing one drops all locks of the process.

    A reader that opens and closes then believes itself the last and deletes the write-ahead log
    under the owner, whose next hundred appends succeed and are nowhere.
    """
    path = tmp_path / "session.sqlite"
    impl = Path(__file__).resolve().parents[2] / "impl"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path), owner],
        env={**os.environ, "PYTHONPATH": str(impl)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert "ready\n" == child.stdout.readline()
        with pytest.raises(LogBusy, match=f"has an owner already, process {child.pid} since"):
            SessionLog.open(path)
        stranger = sqlite3.connect(path)
        stranger.execute("SELECT count(*) FROM record").fetchone()
        stranger.close()
        child.stdin.write("go\n")
        child.stdin.flush()
        assert "acknowledged\n" == child.stdout.readline()
        child.stdin.write("end\n")
        child.stdin.flush()
    reader = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    (count,) = reader.execute("SELECT count(*) FROM record").fetchone()
    reader.close()
    if owner == "careful":
        assert 101 == count
    elif count == 101:
        pytest.skip("the locks of this system are not those of POSIX")
    else:
        assert 1 == count


def test_flush_with_nothing_of_its_own_waits_for_the_newest_unit(opened: Opened) -> None:
    """Flush with nothing of its own waits for the newest unit."""

    async def main() -> None:
        log = opened.store.session("a")
        opened.writing.passes.clear()
        append(log)
        first = asyncio.ensure_future(log.flush())
        await asyncio.to_thread(opened.writing.arrived.wait)
        append(log)
        second = asyncio.ensure_future(log.flush())
        await ticks()
        third = asyncio.ensure_future(log.flush())
        await ticks()
        opened.writing.failing = "COMMIT"  # the first is past it; the second fails
        opened.writing.passes.set()
        await first
        for late in (second, third):
            with pytest.raises(FlushFailed):
                await late

    asyncio.run(main())


def test_failure_that_nobody_heard_fails_the_next_flush(opened: Opened) -> None:
    """Failure that nobody heard fails the next flush."""

    async def main() -> None:
        log = opened.store.session("a")
        opened.writing.failing = "COMMIT"
        append(log)
        first = asyncio.ensure_future(log.flush())
        await asyncio.sleep(0)
        first.cancel()
        async with asyncio.timeout(20):
            while not opened.store._file.writer.failure:  # noqa: ASYNC110 - set by a thread
                await asyncio.sleep(0)
        with pytest.raises((FlushFailed, LogClosed)):
            await log.flush()

    asyncio.run(main())
