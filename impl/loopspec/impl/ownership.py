"""Who owns a log: one process at a time, told by a lock beside the file.

SQLite would let a second writer in and make it wait, unfairly (one of two got a single commit in
three seconds); so a second owner is refused when it opens, with the process that holds the log.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import filelock

from loopspec.impl.errors import LogBusy, LogUnreadable


class Ownership:
    """A held lock; `release` gives it up."""

    def __init__(self, lock: filelock.BaseFileLock, note: Path) -> None:
        """Keep the lock, and the note that says who holds it."""
        self._lock = lock
        self._note = note

    def release(self) -> None:
        """Give the log up. Idempotent."""
        if self._lock.is_locked:
            self._note.unlink(missing_ok=True)
            self._lock.release()


def own(file: Path) -> Ownership:
    """Lock a log; raises `LogBusy` naming the owner, `LogUnreadable` when it cannot be locked."""
    note = Path(f"{file}.owner")
    lock = filelock.FileLock(f"{file}.lock", thread_local=False)
    try:
        lock.acquire(timeout=0)
        try:
            note.write_text(f"process {os.getpid()} since {_now()}\n", encoding="utf-8")
        except BaseException:
            lock.release()
            raise
    except filelock.Timeout:
        msg = f"the session log {file} has an owner already, {_owner(note)}."
        raise LogBusy(msg, "a log has one owner at a time.") from None
    except OSError as error:
        msg = f"cannot lock the session log {file}: {error}."
        raise LogUnreadable(msg) from error
    return Ownership(lock, note)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _owner(note: Path) -> str:
    """What the owner wrote about itself; it may be about to write it."""
    try:
        return note.read_text(encoding="utf-8").strip() or "which is only starting"
    except OSError:
        return "which is only starting"
