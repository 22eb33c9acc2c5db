"""The file below the session log: how it is opened, what stands in it, and its settings.

Nothing opens a log's files except through SQLite: closing any other descriptor of the file drops
the locks of the whole process, and a reader elsewhere then deletes the write-ahead log under the
owner, with everything in it that was acknowledged.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from loopspec.impl.errors import BadArgument, LogUnreadable

APPLICATION_ID: Final = 0x6C737063
"""Written into the file's header, so that another program's database is told from a log."""

FORMAT: Final = 3
"""3 since records stand in the order of their appends; 2 had them in the order of sessions."""

SYNCHRONOUS: Final = {"power": "FULL", "process": "NORMAL"}
"""What an acknowledged record survives: a power cut, or only the end of the process."""

DAMAGE: Final = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises; names and messages need not be text any more."""

SEGMENT_BITS: Final = 10
"""Rows of 1,024 consecutive numbers are a segment, within which the index finds a session's rows.

Rows are appended, whatever session they are of: the records of one commit fill a few pages at the
end of the table, instead of one page of each session. An index by session alone would bring those
pages back; by segment and session it grows at its end as well, and a session is read with one
search in each segment.
"""

TABLES: Final = {
    "session": "CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "mark BLOB NOT NULL)",
    "record": "CREATE TABLE record (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, "
    "seq INTEGER NOT NULL, body BLOB NOT NULL, chain BLOB NOT NULL)",
    "place": f"CREATE INDEX place ON record (id >> {SEGMENT_BITS}, session)",
    "closed": "CREATE TABLE closed (session INTEGER PRIMARY KEY, records INTEGER NOT NULL, "
    "seal BLOB NOT NULL)",
}
"""The whole schema. A file with any other is no session log of this format."""


class Connection(Protocol):
    """What is used of a connection of `sqlite3`; the tests put failing disks below it."""

    @property
    def in_transaction(self) -> bool:
        """True between BEGIN and COMMIT."""
        ...

    def execute(self, sql: str, parameters: Any = ..., /) -> Any:  # noqa: ANN401 - a cursor
        """Run one statement and return its cursor; raises `sqlite3.Error`."""
        ...

    def close(self) -> None:
        """Give the connection up; an open transaction is rolled back."""
        ...


Connect = Callable[[str], Connection]
"""Opens a database by its URI; raises `sqlite3.Error`."""


def connect_sqlite(uri: str) -> Connection:
    """Open a database with the SQLite of Python; a connection may pass between threads."""
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0, check_same_thread=False)


def opened(connect: Connect, file: Path, mode: str) -> Connection:
    """Open a log's file in a mode of SQLite; raises `LogUnreadable`."""
    try:
        return connect(f"{file.as_uri()}?mode={mode}")
    except sqlite3.Error as error:
        msg = f"cannot open the session log {file}: {error}."
        raise LogUnreadable(msg) from error


def synchronous(durability: str) -> str:
    """Return the setting of SQLite for a durability; raises `BadArgument` for an unknown one."""
    if durability not in SYNCHRONOUS:
        msg = f"durability must be one of {', '.join(SYNCHRONOUS)}, not {durability!r}."
        raise BadArgument(msg)
    return SYNCHRONOUS[durability]


def configure_writer(connection: Connection, durability: str) -> None:
    """Set up the one connection that writes and checkpoints."""
    for setting in (
        "page_size = 4096",
        "journal_mode = WAL",
        f"synchronous = {synchronous(durability)}",
        "wal_autocheckpoint = 1000",
        f"journal_size_limit = {16 * 1024 * 1024}",
        "trusted_schema = OFF",
        "cell_size_check = ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def configure_reader(connection: Connection) -> None:
    """Set up a connection that may only read."""
    for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {setting}")


def make_tables(connection: Connection) -> None:
    """Write the schema and the numbers of the format."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in TABLES.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def expect_log(connection: Connection, file: Path) -> None:
    """Raise `LogUnreadable` unless the file is a session log of this format, with our schema."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        schema = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    except DAMAGE as error:
        msg = f"{file} is not a session log: {error}."
        raise LogUnreadable(msg) from error
    if application != APPLICATION_ID:
        msg = f"{file} is not a session log: its application id is {application:#x}."
        raise LogUnreadable(msg)
    if version != FORMAT:
        msg = f"{file} has log format {version}; this version reads format {FORMAT}."
        hint = (
            "export it with the version that wrote it, and import it here."
            if (version == FORMAT - 1)
            else "open it with the version that wrote it."
        )
        raise LogUnreadable(msg, hint)
    if schema != TABLES:
        msg = f"{file} is damaged: its tables are not those of a session log."
        raise LogUnreadable(msg)


def expect_sound(connection: Connection, file: Path) -> None:
    """Raise `LogUnreadable` when SQLite finds the structure of the file broken.

    `quick_check` would not compare the index with the table: a record that is in the table alone is
    found by nobody.
    """
    try:
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except DAMAGE as error:
        msg = f"{file} is damaged: {error}."
        raise LogUnreadable(msg) from error
    if found != ("ok",):
        msg = f"{file} is damaged: SQLite's integrity_check says {found[0] if found else None!r}."
        raise LogUnreadable(msg)


def sync_folder(folder: Path) -> None:
    """Make the name of a new file durable."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
