"""A store: the logs of many sessions in one file, for a host that runs many agents."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from loopspec.impl.clock import Clock, system_clock
from loopspec.impl.database import Connect, connect_sqlite
from loopspec.impl.listeners import OnFailure, log_failure
from loopspec.impl.log import SessionLog
from loopspec.impl.logfile import Durability, HowWritten, LogFile


class Store:
    """Many sessions' logs in one file with one owner; make one with `create` or `open`.

    `durability` says what an acknowledged record survives: `power` a power cut (an fsync for each
    commit), `process` the end of the process only. `writer` says who commits: a `thread`, so that
    no event loop waits for the disk and sessions share commits, or `inline`, in the caller's stack.
    """

    def __init__(self, file: LogFile) -> None:
        """Take over an open file."""
        self._file = file
        self._logs: list[SessionLog] = []

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        durability: Durability = "power",
        writer: HowWritten = "thread",
        connect: Connect = connect_sqlite,
    ) -> Store:
        """Make a new file and own it.

        Raises `LogUnreadable` if something is at the path already, `LogBusy` if it has an owner.
        """
        return cls(LogFile.create(path, durability=durability, writer=writer, connect=connect))

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        durability: Durability = "power",
        writer: HowWritten = "thread",
        connect: Connect = connect_sqlite,
    ) -> Store:
        """Own an existing file; each session is read back when it is asked for.

        Raises `LogUnreadable` if the file is missing, no session log or broken as a whole, and
        `LogBusy` if it has an owner.
        """
        return cls(LogFile.open(path, durability=durability, writer=writer, connect=connect))

    def session(
        self, name: str, *, clock: Clock = system_clock, on_failure: OnFailure = log_failure
    ) -> SessionLog:
        """Return the log of a session, read back and checked; a new session is empty.

        Raises `LogUnreadable` naming the first record that is missing or damaged, and `LogBusy`
        while the session's log is open.
        """
        log = SessionLog(self._file, name, clock=clock, on_failure=on_failure, alone=False)
        self._logs = [*(other for other in self._logs if other.is_open), log]
        return log

    def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions that have a record or were closed without one."""
        return self._file.sessions()

    def copy_to(self, path: Path | str) -> None:
        """Copy what is committed to a new file, while the store is in use.

        Raises `LogUnreadable` when something is at the path, or the copy failed.
        """
        self._file.copy_to(path)

    def close(self) -> None:
        """Close every session, fold the write-ahead log into the file, give it up. Idempotent."""
        try:
            for log in self._logs:
                log.close()
        finally:
            self._file.close()

    def __enter__(self) -> Store:
        """Return the store itself; `with` closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()
