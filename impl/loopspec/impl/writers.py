"""Two ways to run the same commits: in place, and on one thread for all sessions of a store.

`Inline` inserts at once and commits inside `flush`, which never suspends: for a controlled loop,
for tests, and wherever nobody minds that the event loop waits for the disk. `WriterThread` keeps
what a session appends until its flush and hands it over as one unit, once a round of the event
loop; the thread drains its queue into one transaction, so that one commit acknowledges everybody
who came meanwhile. A unit is in one transaction as a whole.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import deque
from typing import Final, Protocol, TypeAlias

import attrs

from loopspec.impl.commits import Commits
from loopspec.impl.errors import AppendRefused, FlushFailed

Row: TypeAlias = tuple[int, bytes]
"""A record as it is stored: its number and its body."""

UNITS_MAX: Final = 10_000
"""Units of one transaction: a flood is committed in pieces, so that nobody waits without end."""

HINT: Final = "open the log again: it holds what is durable."


class Writer(Protocol):
    """What a store needs of either way."""

    failure: str
    """Why nothing can be written any more; empty while it can."""

    def insert(self, session: str, seq: int, body: bytes) -> None:
        """Take a record; raises `AppendRefused`, and the record is not taken then."""
        ...

    async def flush(self, session: str) -> None:
        """Return when what the session inserted is committed; raises `FlushFailed`."""
        ...

    def finish(self, session: str, count: int) -> None:
        """Commit what the session inserted and its seal, waiting in place; raises `FlushFailed`."""
        ...

    def tail(self, session: str) -> list[Row]:
        """Return the records that were taken and are not to be read in the file yet."""
        ...

    def stop(self) -> None:
        """End whatever runs; everything taken before was committed or has failed. Idempotent."""
        ...


class Inline:
    """Inserts and commits in the caller's stack."""

    def __init__(self, commits: Commits, name: str) -> None:
        """`name` is what sentences call the log."""
        self.failure = ""
        self._commits = commits
        self._name = name

    def insert(self, session: str, seq: int, body: bytes) -> None:
        """Insert now; a refusal raises here and leaves the log as it was."""
        commits = self._commits
        pending = commits.pending
        try:
            commits.insert(((session, seq, body),))
        except sqlite3.Error as error:
            if pending and not commits.pending:
                # SQLite rolled the whole transaction back (a full disk does): records that
                # were told to listeners are gone, so nothing may follow them.
                self.failure = f"{self._name} lost its unflushed records: {error}."
            raise AppendRefused(_not_written(seq, self._name, error)) from error

    async def flush(self, session: str) -> None:
        """Commit now; never suspends."""
        self._commit()

    def finish(self, session: str, count: int) -> None:
        """Commit now, with the seal."""
        try:
            self._commits.seal(session, count)
        except sqlite3.Error as error:
            self._fail(error)
        self._commit()

    def tail(self, session: str) -> list[Row]:
        """Nothing: the connection that reads is the one that inserted."""
        return []

    def stop(self) -> None:
        """Nothing runs."""

    def _commit(self) -> None:
        try:
            self._commits.commit()
        except sqlite3.Error as error:
            self._fail(error)

    def _fail(self, error: sqlite3.Error) -> None:
        self.failure = _not_durable(self._name, error)
        raise FlushFailed(self.failure, HINT) from error


@attrs.define(eq=False)
class Unit:
    """What one session handed over at once, and who waits for it: on a loop, or in place."""

    session: str
    rows: list[Row]
    seal: int | None
    waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]]
    blocked: list[threading.Event]
    done: bool
    failure: str


class WriterThread:
    """Commits for all sessions of a store on one thread, which starts with the first unit."""

    def __init__(self, commits: Commits, name: str) -> None:
        """`name` is what sentences call the log."""
        self.failure = ""
        self._commits = commits
        self._name = name
        self._kept: dict[str, list[Row]] = {}
        self._handed: dict[str, deque[Unit]] = {}
        self._gathered: list[Unit] = []
        self._sending: set[asyncio.AbstractEventLoop] = set()
        self._queue: queue.SimpleQueue[list[Unit] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def insert(self, session: str, seq: int, body: bytes) -> None:
        """Keep the record until the session's next flush."""
        kept = self._kept.get(session)
        if kept is None:
            self._kept[session] = [(seq, body)]
        else:
            kept.append((seq, body))

    async def flush(self, session: str) -> None:
        """Hand over what is kept and wait for its commit; awaits one bare future."""
        committed: asyncio.Future[None] | None = None
        with self._lock:
            unit = self._hand_over(session)
            if unit is None:
                return
            if not unit.done:
                loop = asyncio.get_running_loop()
                committed = loop.create_future()
                unit.waiters.append((loop, committed))
                if self._gathered and loop not in self._sending:
                    # Whoever flushes in this round of the loop goes with it: one transaction for
                    # them all, made while the loop has nothing to do.
                    self._sending.add(loop)
                    loop.call_soon(self._send, loop)
        if committed is not None:
            await committed
        if unit.failure:
            raise FlushFailed(unit.failure, HINT)

    def finish(self, session: str, count: int) -> None:
        """Hand over what is kept, with the seal, and block until it is committed."""
        committed = threading.Event()
        with self._lock:
            unit = self._hand_over(session, seal=count)
            assert unit is not None, "a seal is always handed over"
            unit.blocked.append(committed)
        self._send()
        committed.wait()
        if unit.failure:
            raise FlushFailed(unit.failure, HINT)

    def tail(self, session: str) -> list[Row]:
        """Return what is kept or handed over, without what is committed."""
        handed = [row for u in self._handed.get(session, ()) if not u.done for row in u.rows]
        return [*handed, *self._kept.get(session, ())]

    def stop(self) -> None:
        """Let the thread finish its queue, and wait for its end."""
        self._send()
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    # -- in the thread of whoever appends -----------------------------------------------------

    def _hand_over(self, session: str, seal: int | None = None) -> Unit | None:
        """Gather what is kept as a unit; returns the last unit of the session. Needs the lock."""
        handed = self._handed.get(session)
        if handed is None:
            handed = self._handed[session] = deque()
        while handed and handed[0].done and not handed[0].failure:
            handed.popleft()
        rows = self._kept.pop(session, None)
        if rows is None and seal is None:
            return handed[-1] if handed else None
        unit = Unit(session, rows or [], seal, [], [], False, "")
        handed.append(unit)
        self._gathered.append(unit)
        return unit

    def _send(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Give everything gathered to the thread, in the order in which it was handed over."""
        if loop is not None:
            self._sending.discard(loop)
        with self._lock:
            units, self._gathered = self._gathered, []
            if not units:
                return
            self._queue.put(units)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name=f"writer of {self._name}", daemon=True
                )
                self._thread.start()

    # -- in the writer's thread -----------------------------------------------------------------

    def _run(self) -> None:
        ends = False
        while not ends:
            units: list[Unit] = []
            sent = self._queue.get()
            while sent is not None:
                units.extend(sent)
                if len(units) >= UNITS_MAX or self._queue.empty():
                    break
                sent = self._queue.get()
            ends = sent is None
            self._commit(units)
            self._acknowledge(units)

    def _commit(self, units: list[Unit]) -> None:
        """One transaction for all units; after a failure nothing is tried any more."""
        if self.failure:
            return
        try:
            rows = [(unit.session, seq, body) for unit in units for seq, body in unit.rows]
            if rows:
                self._commits.insert(rows)
            for unit in units:
                if unit.seal is not None:
                    # Nothing of its session can be behind it: who closes waits for this commit.
                    self._commits.seal(unit.session, unit.seal)
            self._commits.commit()
        except Exception as error:  # whatever it was, those who wait must hear of it
            self.failure = _not_durable(self._name, error)

    def _acknowledge(self, units: list[Unit]) -> None:
        settled: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        blocked: list[threading.Event] = []
        with self._lock:
            for unit in units:
                unit.failure = self.failure
                unit.done = True
                blocked += unit.blocked
                for loop, future in unit.waiters:
                    settled.setdefault(loop, []).append(future)
        for event in blocked:
            event.set()
        for loop, futures in settled.items():
            try:
                loop.call_soon_threadsafe(_settle, futures)
            except RuntimeError:
                continue  # that loop was closed: nobody waits there any more


def _settle(futures: list[asyncio.Future[None]]) -> None:
    """Wake those who wait; one of them may have been cancelled."""
    for future in futures:
        if not future.done():
            future.set_result(None)


def _not_written(seq: int, name: str, error: Exception) -> str:
    return f"record {seq} of {name} could not be written: {error}."


def _not_durable(name: str, error: Exception) -> str:
    return f"the records of {name} could not be made durable: {error}."
