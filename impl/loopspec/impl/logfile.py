"""One file with the logs of many sessions, one owner, one writing connection.

Its sessions share commits: on the writer's thread one transaction takes what all of them
handed over meanwhile. Readers are connections of their own (`mode=ro`, `query_only`), fetch in
pages and keep no statement open; only in place, and in memory, does the one connection read too.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from loopspec.impl.chain import close_seal, first_link, name_mark, next_link
from loopspec.impl.commits import Commits
from loopspec.impl.database import (
    DAMAGE,
    SEGMENT_BITS,
    Connect,
    Connection,
    configure_reader,
    configure_writer,
    connect_sqlite,
    expect_log,
    expect_sound,
    make_tables,
    opened,
    sync_folder,
    synchronous,
)
from loopspec.impl.errors import BadArgument, LogBusy, LogClosed, LogUnreadable
from loopspec.impl.ownership import Ownership, own
from loopspec.impl.writers import Inline, Row, Writer, WriterThread

NAMES: Final = "SELECT id, name, mark FROM session ORDER BY id"
STRAY: Final = "SELECT session FROM record WHERE session NOT IN (SELECT id FROM session) LIMIT 1"
NEXT_SEGMENT: Final = f"SELECT min(id >> {SEGMENT_BITS}) FROM record WHERE id >> {SEGMENT_BITS} > ?"
ROWS: Final = (
    f"SELECT seq, body, chain FROM record WHERE id >> {SEGMENT_BITS} = ? AND session = ? "
    "AND seq >= ? ORDER BY id"
)
"""Rows of one segment, fetched at once: no cursor stays open while somebody else runs."""

Durability: TypeAlias = Literal["power", "process"]
HowWritten: TypeAlias = Literal["thread", "inline"]
WRITERS: Final[dict[str, Callable[[Commits, str], Writer]]] = {
    "thread": WriterThread,
    "inline": Inline,
}


class LogFile:
    """The file, its owner, its connections and its writer; `Store` and `SessionLog` stand on it."""

    def __init__(
        self,
        connection: Connection,
        owner: Ownership | None,
        file: Path | None,
        writer: str,
        connect: Connect,
    ) -> None:
        """Take over an open connection and the ownership of its file."""
        self.name = "in memory" if file is None else str(file)
        self.file = file
        self._connect = connect
        self._connection: Connection | None = connection
        self._owner = owner
        self._reader: Connection | None = connection if writer == "inline" else None
        self.commits = Commits(connection)
        self.writer: Writer = WRITERS[writer](self.commits, self.name)
        self._begun: set[str] = set()
        self._closed_because = ""
        self._is_new = False
        self._knows_names = False
        self._is_sound = file is None

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        durability: Durability = "power",
        writer: HowWritten = "thread",
        connect: Connect = connect_sqlite,
    ) -> LogFile:
        """Make a new file and own it.

        Raises `LogUnreadable` if something is at the path already, `LogBusy` if it has an owner.
        """
        file = Path(path).absolute()
        _need(durability, writer)
        if not file.parent.is_dir():
            msg = f"cannot create a session log at {file}: there is no such folder."
            raise LogUnreadable(msg)
        owner = own(file)
        try:
            if file.exists():
                msg = f"cannot create a session log at {file}: the file exists."
                raise LogUnreadable(msg, "open it, or choose another path.")
            connection = _made(connect, file, durability)
        except BaseException:
            owner.release()
            raise
        made = cls(connection, owner, file, writer, connect)
        made._is_new = True
        return made

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        durability: Durability = "power",
        writer: HowWritten = "thread",
        connect: Connect = connect_sqlite,
    ) -> LogFile:
        """Own an existing file; each session is read back when it is asked for.

        Raises `LogUnreadable` if the file is missing, no session log or broken as a whole, and
        `LogBusy` if it has an owner.
        """
        file = Path(path).absolute()
        _need(durability, writer)
        if not file.is_file():
            msg = f"there is no session log at {file}."
            raise LogUnreadable(msg)
        owner = own(file)
        try:
            connection = opened(connect, file, "rw")
            try:
                expect_log(connection, file)
                configure_writer(connection, durability)
            except DAMAGE as error:
                connection.close()
                msg = f"{file} is damaged: {error}."
                raise LogUnreadable(msg) from error
            except BaseException:
                connection.close()
                raise
        except BaseException:
            owner.release()
            raise
        return cls(connection, owner, file, writer, connect)

    @classmethod
    def in_memory(cls) -> LogFile:
        """Make a store without a file, for tests and short runs: same code, nothing durable."""
        connection = connect_sqlite(":memory:")
        connection.execute("PRAGMA journal_mode = MEMORY")
        make_tables(connection)
        made = cls(connection, None, None, "inline", connect_sqlite)
        made._is_new = True
        return made

    def begin(self, session: str) -> tuple[int, str]:
        """Read a session back and check it: its number of records, and what to say of its end.

        Raises `LogUnreadable` naming the first record that is missing or damaged, and `LogBusy`
        while the session's log is open.
        """
        if not isinstance(session, str) or not session:
            msg = f"a session is named by a string that is not empty, not {session!r}."
            raise BadArgument(msg)
        if session in self._begun:
            msg = f"the session {session!r} of {self.name} is open already; a log has one owner."
            raise LogBusy(msg)
        count, remark = 0, ""
        if self._is_new:
            # Nothing can stand in a file that was made just now.
            self.commits.know(session, first_link(session), sealed=False)
        else:
            count, remark = self._checked(session)
        self._is_new = False
        self._begun.add(session)
        return count, remark

    def end(self, session: str) -> None:
        """The log of a session was closed."""
        self._begun.discard(session)

    def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions that have a record or were closed without one."""
        return tuple(sorted(self._names()))

    def rows(self, session: str, since: int = 0) -> Iterator[Row]:
        """Read a session's records in pages, the ones not committed yet included."""
        tail = self.writer.tail(session)
        first_kept = tail[0][0] if tail else None
        expected = since
        for seq, body, _ in self._stored(session, since):
            if seq == first_kept:
                break
            expected = seq + 1
            yield seq, body
        yield from (row for row in tail if row[0] >= expected)

    def copy_to(self, path: Path | str) -> None:
        """Copy what is committed to a new file, while the store is in use.

        Raises `LogUnreadable` when something is at the path, or the copy failed.
        """
        target = Path(path).absolute()
        if self.file is None or target.exists():
            why = "it has no file" if self.file is None else f"{target} exists"
            msg = f"cannot copy the session log {self.name}: {why}."
            raise LogUnreadable(msg)
        try:
            source = sqlite3.connect(f"{self.file.as_uri()}?mode=ro", uri=True, timeout=0)
            copy = sqlite3.connect(target, isolation_level=None)
            try:
                source.backup(copy)
            finally:
                copy.close()
                source.close()
        except sqlite3.Error as error:
            msg = f"cannot copy the session log {self.name} to {target}: {error}."
            raise LogUnreadable(msg) from error

    def close(self) -> None:
        """Fold the write-ahead log into the file and give it up. Idempotent."""
        try:
            self.writer.stop()
            if self._connection is not None:
                # Everything is committed: a fold that fails leaves it in the write-ahead log.
                with contextlib.suppress(sqlite3.Error):
                    self.commits.fold()
        finally:
            self.give_up(f"the session log {self.name} is closed.")

    def closed_because(self) -> str:
        """Why nothing can be read or written any more; empty while it can.

        A store whose writer failed is given up here: what is on the disk has to be read again.
        """
        if self.writer.failure and self._connection is not None:
            self.give_up(self.writer.failure)
        return self._closed_because

    def give_up(self, because: str) -> None:
        """Close the connections and give up the ownership, whatever is lost by it."""
        self.writer.stop()
        if self._reader is not None and self._reader is not self._connection:
            self._reader.close()
        self._reader = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._closed_because = because
        if self._owner is not None:
            self._owner.release()

    # -- reading --------------------------------------------------------------------------------

    def _checked(self, session: str) -> tuple[int, str]:
        """Follow a session's chain to its end: the number of records, and what to say of it."""
        if not self._knows_names:
            self.commits.know_names(self._names())
            self._knows_names = True
        head, count, what = first_link(session), 0, f"session {session!r} of {self.name}"
        for seq, body, link in self._stored(session, 0):
            if type(body) is not bytes or next_link(head, seq, body) != link:
                msg = f"record {seq} of {what} is damaged: its chain does not fit."
                raise LogUnreadable(msg)
            head, count = link, seq + 1
        seals = self._fetched(
            "SELECT records, seal FROM closed WHERE session = ?",
            (self.commits.number_of(session),),
            "its seal",
        )
        for records, seal in seals:
            if records != count:
                msg = f"{what} lacks record {count}: it was closed with {records} records."
                raise LogUnreadable(msg)
            if seal != close_seal(head, count):
                msg = f"{what} is damaged: the seal of its closing does not fit its records."
                raise LogUnreadable(msg)
        if self._connection is not None and self.file is not None and not self._is_sound:
            expect_sound(self._connection, self.file)
            if stray := self._fetched(STRAY, (), "its sessions"):
                msg = f"{self.name} is damaged: records of session {stray[0][0]} have no name."
                raise LogUnreadable(msg)
            self._is_sound = True
        self.commits.know(session, head, sealed=bool(seals))
        remark = "" if seals or self.file is None else _remark(what, count)
        return count, remark

    def _stored(self, session: str, since: int) -> Iterator[tuple[int, Any, Any]]:
        """Fetch the stored rows from a number on; raises `LogUnreadable` at the first gap."""
        number = self.commits.number_of(session)
        # Rows are counted from 1 over all sessions, so a record has no smaller number there.
        segment, expected = (since >> SEGMENT_BITS) - 1, since
        while number is not None:
            what = f"record {expected} or later"
            ((segment,),) = self._fetched(NEXT_SEGMENT, (segment,), what)
            if segment is None:
                return
            for row in self._fetched(ROWS, (segment, number, since), what):
                if row[0] != expected:
                    msg = f"{self.name} lacks record {expected}; the next one is {row[0]}."
                    raise LogUnreadable(msg)
                yield row
                expected += 1

    def _names(self) -> dict[str, int]:
        """Fetch the names of the sessions, with their numbers, and check that they are whole."""
        names: dict[str, int] = {}
        for number, name, mark in self._fetched(NAMES, (), "its sessions"):
            if not isinstance(name, str) or name in names or mark != name_mark(number, name):
                msg = f"{self.name} is damaged: it has a session that is named {name!r}."
                raise LogUnreadable(msg)
            names[name] = number
        return names

    def _fetched(self, sql: str, parameters: tuple[object, ...], what: str) -> list[Any]:
        if because := self.closed_because():
            raise LogClosed(because)
        try:
            rows: list[Any] = self._reading().execute(sql, parameters).fetchall()
        except DAMAGE as error:
            msg = f"{self.name} is damaged at {what}: {error}."
            raise LogUnreadable(msg) from error
        return rows

    def _reading(self) -> Connection:
        if self._reader is None:
            assert self.file is not None, "a store in memory reads with its one connection"
            self._reader = opened(self._connect, self.file, "ro")
            configure_reader(self._reader)
        return self._reader


def _made(connect: Connect, file: Path, durability: str) -> Connection:
    """Make the file durably; a file that cannot be made whole is taken away again."""
    try:
        connection = opened(connect, file, "rwc")
        try:
            configure_writer(connection, durability)
            make_tables(connection)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            sync_folder(file.parent)
        except (sqlite3.Error, OSError) as error:
            connection.close()
            msg = f"cannot create a session log at {file}: {error}."
            raise LogUnreadable(msg) from error
    except LogUnreadable:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                file.with_name(file.name + suffix).unlink()
        raise
    return connection


def _remark(what: str, count: int) -> str:
    after = f"after {count - 1}" if count else "in it"
    return f"{what} ended without closing; records {after}, if there were any, cannot be known."


def _need(durability: str, writer: str) -> None:
    synchronous(durability)
    if writer not in WRITERS:
        msg = f"writer must be one of {', '.join(WRITERS)}, not {writer!r}."
        raise BadArgument(msg)
