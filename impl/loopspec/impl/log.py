"""The session log: append-only records in one SQLite file with one owner.

- `append` inserts inside an open transaction and tells the record listeners at once; a refusal
  raises there and changes nothing. An append made by such a listener is refused (RE-01).
- `flush` commits. A record is acknowledged once a flush that began after it has returned, and
  survives a crash from then on (WAL, synchronous=FULL). Both deletions of one claim are in one
  transaction, since nobody flushes between them: a crash shows both or none.
- The owner holds a lock file beside the log; a second owner is refused when it opens.

A record is stored as canonical JSON bytes under its number. Reopening reads every record back
and names the first that is missing or damaged.
"""

from __future__ import annotations

import inspect
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, cast

import filelock

from loopspec.impl.canonical import from_bytes, to_bytes
from loopspec.impl.clock import Clock, system_clock
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
from loopspec.impl.messages import exact_keys
from loopspec.impl.records import Record, frozen_record

APPLICATION_ID: Final = 0x6C737063
"""Written into the file's header, so that another program's database is told from a log."""

FORMAT: Final = 1
PAGE: Final = 1000
"""Rows fetched at a time: no cursor stays open while somebody else runs."""

RecordListener = Callable[[Record], object]


class SessionLog:
    """One session's records; open one with `create`, `open` or `in_memory`, never directly."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        lock: filelock.BaseFileLock | None,
        name: str,
        clock: Clock,
        on_failure: OnFailure,
    ) -> None:
        """Take over an open connection and its lock."""
        self._connection: sqlite3.Connection | None = connection
        self._lock = lock
        self._name = name
        self._clock = clock
        self._on_failure = on_failure
        self._listeners: Listeners[RecordListener] = Listeners()
        self._telling = False
        self._closed_because = ""
        self._next_seq = 0

    @classmethod
    def create(
        cls, path: Path | str, *, clock: Clock = system_clock, on_failure: OnFailure = log_failure
    ) -> SessionLog:
        """Make a new log and own it.

        Raises `LogUnreadable` if something is at the path already, `LogBusy` if it has an owner.
        """
        file = Path(path).absolute()
        if not file.parent.is_dir():
            msg = f"cannot create a session log at {file}: there is no such folder."
            raise LogUnreadable(msg)
        lock = _own(file)
        try:
            if file.exists():
                msg = f"cannot create a session log at {file}: the file exists."
                raise LogUnreadable(msg, "open it, or choose another path.")
            connection = _connect(f"{file.as_uri()}?mode=rwc", file)
            try:
                _configure(connection, "WAL")
                _make_tables(connection)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                _sync_folder(file.parent)
            except sqlite3.Error as error:
                connection.close()
                msg = f"cannot create a session log at {file}: {error}."
                raise LogUnreadable(msg) from error
        except BaseException:
            lock.release()
            raise
        return cls(connection, lock, str(file), clock, on_failure)

    @classmethod
    def open(
        cls, path: Path | str, *, clock: Clock = system_clock, on_failure: OnFailure = log_failure
    ) -> SessionLog:
        """Own an existing log and read it back.

        Raises `LogUnreadable` if the file is missing, no session log, or damaged (the sentence
        names the record), and `LogBusy` if it has an owner.
        """
        file = Path(path).absolute()
        if not file.is_file():
            msg = f"there is no session log at {file}."
            raise LogUnreadable(msg)
        lock = _own(file)
        try:
            connection = _connect(f"{file.as_uri()}?mode=rw", file)
            try:
                _expect_log(connection, file)
                _configure(connection, "WAL")
                log = cls(connection, lock, str(file), clock, on_failure)
                log._next_seq = sum(1 for _ in log._stored())
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise
        return log

    @classmethod
    def in_memory(
        cls, *, clock: Clock = system_clock, on_failure: OnFailure = log_failure
    ) -> SessionLog:
        """Make a log without a file, for tests and many short runs: same code, nothing durable."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        _configure(connection, "MEMORY")
        _make_tables(connection)
        return cls(connection, None, "in memory", clock, on_failure)

    def append(self, kind: str, data: object) -> Record:
        """Add one record to the open transaction and tell the record listeners.

        Raises `AppendRefused` (or one of its kinds) and changes nothing if a record listener is
        being told, if the record is not one of the catalogue's or not JSON, or if the log is
        closed or cannot write.
        """
        if self._connection is None:
            raise LogClosed(self._closed_because)
        if self._telling:
            msg = f"{kind} was refused: a record listener of {self._name} tried to append it."
            raise AppendRefused(msg, "change the inbox in a listener of a live event instead.")
        seq, time = self._next_seq, self._clock()
        body = to_bytes({"seq": seq, "time": time, "type": kind, "data": data}, kind)
        record = frozen_record(seq, time, kind, data)
        self._insert(self._connection, record.seq, body)
        self._next_seq += 1
        self._tell(record)
        return record

    async def flush(self) -> None:
        """Commit: every record appended before this call is acknowledged when it returns.

        Raises `FlushFailed` when the commit failed; the log is closed then, since what is on
        the disk has to be read again before anybody goes on.
        """
        self._commit()

    def read(self, since: int = 0) -> tuple[Record, ...]:
        """Return the records from number `since` on, the ones not flushed yet included."""
        return tuple(self._stored(since))

    def subscribe(self, listener: RecordListener, prepend: bool = False) -> Callable[[], None]:
        """Tell the listener of each record right after its append; returns how to leave.

        What it raises is contained (ER-03). It must not append, so it must not change the inbox.
        """
        return self._listeners.add(listener, prepend=prepend)

    def close(self) -> None:
        """Commit, fold the write-ahead log into the file and give up the ownership. Idempotent."""
        try:
            if self._connection is not None:
                self._commit()
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._give_up(f"the session log {self._name} is closed.")

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

    def _insert(self, connection: sqlite3.Connection, seq: int, body: bytes) -> None:
        unflushed = connection.in_transaction
        try:
            if not unflushed:
                connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO record (seq, body) VALUES (?, ?)", (seq, body))
        except sqlite3.Error as error:
            msg = f"record {seq} of {self._name} could not be written: {error}."
            if unflushed and not connection.in_transaction:
                # SQLite rolled the whole transaction back (a full disk does): records that
                # were told to listeners are gone, so nothing may follow them.
                self._give_up(f"{self._name} lost its unflushed records: {error}.")
            raise AppendRefused(msg) from error

    def _commit(self) -> None:
        connection = self._connection
        if connection is None:
            raise LogClosed(self._closed_because)
        if not connection.in_transaction:
            return
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            msg = f"the records of {self._name} could not be made durable: {error}."
            self._give_up(msg)
            raise FlushFailed(msg, "open the log again: it holds what is durable.") from error

    def _tell(self, record: Record) -> None:
        self._telling = True
        try:
            for listener in self._listeners.resolved():
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

    def _stored(self, since: int = 0) -> Iterator[Record]:
        if self._connection is None:
            raise LogClosed(self._closed_because)
        expected = since
        while True:
            try:
                rows = self._connection.execute(
                    "SELECT seq, body FROM record WHERE seq >= ? ORDER BY seq LIMIT ?",
                    (expected, PAGE),
                ).fetchall()
            except sqlite3.Error as error:
                msg = f"{self._name} is damaged at record {expected} or later: {error}."
                raise LogUnreadable(msg) from error
            for seq, body in rows:
                if seq != expected:
                    msg = f"{self._name} lacks record {expected}; the next one is {seq}."
                    raise LogUnreadable(msg)
                yield _read_record(self._name, seq, body)
                expected += 1
            if len(rows) < PAGE:
                return

    def _give_up(self, because: str) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._closed_because = because
        if self._lock is not None:
            self._lock.release()


def _own(file: Path) -> filelock.BaseFileLock:
    lock = filelock.FileLock(f"{file}.lock", thread_local=False)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        msg = f"the session log {file} has an owner already; a log has one owner at a time."
        raise LogBusy(msg) from None
    except OSError as error:
        msg = f"cannot lock the session log {file}: {error}."
        raise LogUnreadable(msg) from error
    return lock


def _connect(uri: str, file: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)
    except sqlite3.Error as error:
        msg = f"cannot open the session log {file}: {error}."
        raise LogUnreadable(msg) from error


def _configure(connection: sqlite3.Connection, journal_mode: str) -> None:
    for pragma in (
        f"journal_mode={journal_mode}",
        "synchronous=FULL",
        "journal_size_limit=16777216",
        "trusted_schema=OFF",
        "cell_size_check=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("CREATE TABLE record (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT")


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _expect_log(connection: sqlite3.Connection, file: Path) -> None:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        msg = f"{file} is not a session log: {error}."
        raise LogUnreadable(msg) from error
    if application != APPLICATION_ID:
        msg = f"{file} is not a session log: its application id is {application:#x}."
        raise LogUnreadable(msg)
    if version != FORMAT:
        msg = f"{file} has log format {version}; this version reads format {FORMAT}."
        raise LogUnreadable(msg)


def _read_record(name: str, seq: int, body: object) -> Record:
    where = f"record {seq} of {name}"
    try:
        if not isinstance(body, bytes):
            msg = f"{where} is damaged: its body is a {type(body).__name__}, not bytes."
            raise LogUnreadable(msg)
        stored = exact_keys(from_bytes(body), "record", ("seq", "time", "type", "data"))
        if stored["seq"] != seq:
            msg = f"{where} is damaged: it says that it is record {stored['seq']!r}."
            raise LogUnreadable(msg)
        return frozen_record(seq, cast("int", stored["time"]), str(stored["type"]), stored["data"])
    except (ValueError, MessageInvalid, RecordInvalid, RecursionError) as error:
        msg = f"{where} is damaged: {error}"
        raise LogUnreadable(msg) from error
