"""The session log: the append-only records of one session, in a store with one owner.

- `append` takes a record and tells the record listeners at once; a refusal raises there and changes
  nothing. An append made by such a listener is refused (RE-01).
- `flush` makes durable. A record is acknowledged once a flush that began after it has returned, and
  survives from then on what the store's durability says. Whatever the session appended between two
  flushes is in one transaction: both deletions of a claim and what follows them are there, or none.
- A flush that failed closes the log: what is on the disk has to be read again before anybody goes
  on.

A record is stored as canonical JSON bytes under its number, with the link of its chain (`chain`).
Reopening reads every record back and names the first that is missing or damaged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, cast

from loopspec.impl.canonical import encoded, from_bytes
from loopspec.impl.clock import Clock, system_clock
from loopspec.impl.database import Connect, connect_sqlite
from loopspec.impl.errors import (
    AppendRefused,
    FlushFailed,
    LogBusy,
    LogClosed,
    LogUnreadable,
    MessageInvalid,
    RecordInvalid,
)
from loopspec.impl.listeners import Listeners, OnFailure, log_failure
from loopspec.impl.logfile import Durability, HowWritten, LogFile
from loopspec.impl.messages import exact_keys
from loopspec.impl.records import Record
from loopspec.impl.shapes import checked_record

ONLY: Final = "main"
"""The session of a file that was made for one."""

RecordListener = Callable[[Record], object]
Guard = Callable[[str, object], object]


class SessionLog:
    """One session's records; open one with `create`, `open` or `in_memory`, or from a `Store`."""

    def __init__(
        self,
        file: LogFile,
        session: str,
        *,
        clock: Clock,
        on_failure: OnFailure,
        alone: bool,
    ) -> None:
        """Read the session back and go on behind it; `alone`: the file is closed with this log."""
        self._next_seq, self.remark = file.begin(session)
        """What has to be said of a log that was found without the seal of a closed one."""
        self.session = session
        self._file = file
        self._insert = file.writer.insert
        self._alone = alone
        self._name = file.name
        self._clock = clock
        self._on_failure = on_failure
        self._listeners: Listeners[RecordListener] = Listeners()
        self._guards: Listeners[Guard] = Listeners()
        self._telling = False
        self._is_live: Callable[[], bool] = _never
        self._closed_because = ""

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        clock: Clock = system_clock,
        on_failure: OnFailure = log_failure,
        durability: Durability = "power",
        writer: HowWritten = "thread",
        connect: Connect = connect_sqlite,
    ) -> SessionLog:
        """Make a new file for one session and own it; `Store` explains `durability` and `writer`.

        Raises `LogUnreadable` if something is at the path already, `LogBusy` if it has an owner.
        """
        file = LogFile.create(path, durability=durability, writer=writer, connect=connect)
        return cls(file, ONLY, clock=clock, on_failure=on_failure, alone=True)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        clock: Clock = system_clock,
        on_failure: OnFailure = log_failure,
        durability: Durability = "power",
        writer: HowWritten = "thread",
        connect: Connect = connect_sqlite,
    ) -> SessionLog:
        """Own an existing file of one session and read it back.

        Raises `LogUnreadable` if the file is missing, no session log, holds several sessions, or is
        damaged (the sentence names the record), and `LogBusy` if it has an owner.
        """
        file = LogFile.open(path, durability=durability, writer=writer, connect=connect)
        try:
            names = file.sessions() or (ONLY,)
            if len(names) > 1:
                msg = f"{file.name} holds {len(names)} sessions: {', '.join(names[:5])}."
                raise LogUnreadable(msg, "open it with Store.open and name one.")
            return cls(file, names[0], clock=clock, on_failure=on_failure, alone=True)
        except BaseException:
            file.give_up("it could not be read.")
            raise

    @classmethod
    def in_memory(
        cls, *, clock: Clock = system_clock, on_failure: OnFailure = log_failure
    ) -> SessionLog:
        """Make a log without a file, for tests and many short runs: same code, nothing durable."""
        return cls(LogFile.in_memory(), ONLY, clock=clock, on_failure=on_failure, alone=True)

    @property
    def is_open(self) -> bool:
        """True until the log was closed, or lost by a failure of the disk."""
        return not self._closed()

    def append(self, kind: str, data: object) -> Record:
        """Add one record, stamped with the time of now, and tell the record listeners.

        Raises `AppendRefused` (or one of its kinds) and changes nothing if a record listener is
        being told, if the record is not one of the catalogue's or not JSON, if a guard objects, or
        if the log is closed or cannot write.
        """
        return self._append(kind, data, None, tell=True)

    def append_at(self, time: int, kind: str, data: object, *, tell: bool = True) -> Record:
        """Add one record of a given time: what is written after the fact repeats an old one.

        Without `tell` the record listeners hear nothing of it. Raises as `append` does.
        """
        return self._append(kind, data, time, tell=tell)

    def _append(self, kind: str, data: object, time: int | None, *, tell: bool) -> Record:
        if self._closed_because or self._file.writer.failure:
            raise LogClosed(self._closed())
        self.refuse_while_telling(kind)
        seq, at = self._next_seq, self._clock() if time is None else time
        body, plain = encoded({"seq": seq, "time": at, "type": kind, "data": data}, kind)
        record = checked_record(seq, at, kind, plain["data"])
        self._ask_guards(record)
        try:
            self._insert(self.session, seq, body)
        except AppendRefused:
            self._closed()
            raise
        self._next_seq += 1
        if tell:
            self._tell(record)
        return record

    def refuse_while_telling(self, kind: str) -> None:
        """Raise `AppendRefused` if a record listener is being told: it must not append."""
        if self._telling:
            msg = f"{kind} was refused: a record listener of {self._name} tried to append it."
            raise AppendRefused(msg, "change the inbox in a listener of a live event instead.")

    async def flush(self) -> None:
        """Commit: every record appended before this call is acknowledged when it returns.

        Raises `FlushFailed` when the commit failed; the log is closed then, since what is on
        the disk has to be read again before anybody goes on.
        """
        if self._closed_because:
            raise LogClosed(self._closed_because)
        try:
            await self._file.writer.flush(self.session)
        except FlushFailed:
            self._closed()
            raise

    def read(self, since: int = 0) -> tuple[Record, ...]:
        """Return the records from number `since` on, the ones not flushed yet included."""
        if because := self._closed():
            raise LogClosed(because)
        rows = self._file.rows(self.session, since)
        return tuple(read_record(self._name, seq, body) for seq, body in rows)

    def need_idle(self) -> None:
        """Raise `LogBusy` while an agent runs on this log (RS-11)."""
        if self._is_live():
            msg = f"the session {self.session!r} of {self._name} is live: an agent runs on it."
            raise LogBusy(msg, "end its `async with` block first.")

    def drive(self, is_live: Callable[[], bool]) -> Callable[[], None]:
        """An agent runs on this log while `is_live`, and no other may; returns how to end that."""
        self.need_idle()
        self._is_live = is_live

        def end() -> None:
            self._is_live = _never

        return end

    def subscribe(self, listener: RecordListener, prepend: bool = False) -> Callable[[], None]:
        """Tell the listener of each record right after its append; returns how to leave.

        What it raises is contained (ER-03). It must not append, so it must not change the inbox.
        """
        return self._listeners.add(listener, prepend=prepend)

    def guard(self, guard: Guard) -> Callable[[], None]:
        """Let `guard(type, data)` see each record before it is appended; returns how to leave.

        What it raises refuses the record (ID-05). It must not append either.
        """
        return self._guards.add(guard)

    def close(self) -> None:
        """Commit with the seal of a closed log and give it up; waits in place. Idempotent."""
        if self._closed():
            return
        try:
            self._file.writer.finish(self.session, self._next_seq)
        finally:
            self._closed_because = f"the session log {self._name} is closed."
            self._file.end(self.session)
            if self._file.closed_because() == "" and self._alone:
                self._file.close()

    def __enter__(self) -> SessionLog:
        """Return the log itself; `with` closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the log."""
        self.close()

    def _closed(self) -> str:
        """Why the log is closed; empty while it is open."""
        if not self._closed_because:
            self._closed_because = self._file.closed_because()
            if self._closed_because:
                self._file.end(self.session)
        return self._closed_because

    def _ask_guards(self, record: Record) -> None:
        guards = self._guards.resolved()
        if not guards:
            return
        self._telling = True
        try:
            for guard in guards:
                guard(record.type, record.data)
        except Exception as error:
            msg = f"{record.type} was refused: {error}."
            raise AppendRefused(msg) from error
        finally:
            self._telling = False

    def _tell(self, record: Record) -> None:
        listeners = self._listeners.resolved()
        if not listeners:
            return
        self._telling = True
        try:
            for listener in listeners:
                try:
                    result = listener(record)
                    if inspect.iscoroutine(result):
                        result.close()
                        msg = "a record listener must not be asynchronous."
                        raise TypeError(msg)
                except Exception as error:
                    self._on_failure(record.type, error)
        finally:
            self._telling = False


def _never() -> bool:
    return False


def read_record(name: str, seq: int, body: object) -> Record:
    """Read a stored body strictly; raises `LogUnreadable` naming the record."""
    where = f"record {seq} of {name}"
    try:
        if not isinstance(body, bytes):
            msg = f"{where} is damaged: its body is a {type(body).__name__}, not bytes."
            raise LogUnreadable(msg)
        stored = exact_keys(from_bytes(body), "record", ("seq", "time", "type", "data"))
        if stored["seq"] != seq:
            msg = f"{where} is damaged: it says that it is record {stored['seq']!r}."
            raise LogUnreadable(msg)
        return checked_record(seq, cast("int", stored["time"]), str(stored["type"]), stored["data"])
    except (ValueError, MessageInvalid, RecordInvalid, RecursionError) as error:
        msg = f"{where} is damaged: {error}"
        raise LogUnreadable(msg) from error
