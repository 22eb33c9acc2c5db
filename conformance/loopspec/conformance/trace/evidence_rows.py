"""A program that copies a log on SQLite and writes its rows to standard output, as frames.

    python -I -S evidence_rows.py FILE FOLDER MEMORY CPU LENGTH STEPS

Rules of this file. It runs as a process of its own, so that whatever a file does to SQLite ends
here: memory and processor time of the process are limited, SQLite's own limits are small, and its
steps are counted. It knows the standard library alone, and little of it, which is what makes it
start fast. The file is never opened by SQLite unless somebody goes on writing it; a copy in FOLDER
is. Nothing in the copy is believed: it has our numbers and our tables and nothing else, and
SQLite finds its structure sound, before a record is read.

A frame is a letter, its length in 8 bytes, and so many bytes: `n` the name of a session, `m` what
vouches for the name (the number that stands for it, and its mark), `r` a record (its number, the
length of its link, link and body), `s` the seal of the session (its count, and the seal), `x` why
the file is no log, `d` why it is damaged, `b` that the steps were used up, and `e` at the end.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # a third of the time that a start takes
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

COPY = "log.sqlite"
COPIED_AT_ONCE = 1 << 20
APPLICATION_ID = 0x6C737063
FORMAT = 3
TABLES = {
    "session": "CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "mark BLOB NOT NULL)",
    "record": "CREATE TABLE record (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, "
    "seq INTEGER NOT NULL, body BLOB NOT NULL, chain BLOB NOT NULL)",
    "place": "CREATE INDEX place ON record (id >> 10, session)",
    "closed": "CREATE TABLE closed (session INTEGER PRIMARY KEY, records INTEGER NOT NULL, "
    "seal BLOB NOT NULL)",
}
"""The whole schema; a view, a trigger or an index more could be anything."""

OBJECTS = {
    ("index" if name == "place" else "table", name, "record" if name == "place" else name, sql)
    for name, sql in TABLES.items()
}
SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"
SESSIONS = "SELECT id, name, mark FROM session ORDER BY name"
STRAY = "SELECT session FROM record WHERE session NOT IN (SELECT id FROM session) LIMIT 1"
SEGMENT = "SELECT min(id >> 10) FROM record WHERE id >> 10 > ?"
ROWS = "SELECT seq, body, chain FROM record WHERE id >> 10 = ? AND session = ? ORDER BY id"
SEAL = "SELECT records, seal FROM closed WHERE session = ?"

COPIES_MAX = 5
"""How often a file is copied that changes meanwhile; then SQLite itself makes the copy."""

STEPS_EACH = 10_000
"""After how many steps SQLite asks whether it may go on."""


class Refused(ValueError):
    """The file is no session log; the text says what came instead."""


def write_frame(out: BinaryIO, kind: bytes, data: bytes) -> None:
    """Write one frame."""
    out.write(kind + len(data).to_bytes(8, "big") + data)


def limit_process(memory: int, seconds: int) -> None:
    """Take at most so many bytes of address space and seconds of the processor; no core file."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        _, most = resource.getrlimit(kind)
        allowed = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (allowed, most))


def make_copy(path: str) -> None:
    """Copy a log with its write-ahead log, of one moment, into the folder at hand.

    A copy is of one moment when neither file has changed meanwhile. Where they always do, the log
    has a live owner, and SQLite reads it beside that owner.
    """
    for _ in range(COPIES_MAX):
        before = stamps(path, f"{path}-wal")
        remove(f"{COPY}-wal")
        copy_file(path, COPY)
        if before[1] is not None:
            try:
                copy_file(f"{path}-wal", f"{COPY}-wal")
            except FileNotFoundError:  # its owner has closed the log just now
                continue
        if before == stamps(path, f"{path}-wal"):
            return
    from pathlib import Path

    remove(COPY)
    remove(f"{COPY}-wal")
    source = sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True, timeout=5)
    target = sqlite3.connect(COPY)
    try:
        source.execute("PRAGMA trusted_schema = OFF")
        source.backup(target)
    finally:
        target.close()
        source.close()


def copy_file(path: str, copy: str) -> None:
    """Copy the bytes of a file."""
    with open(path, "rb") as source, open(copy, "wb") as target:
        while data := source.read(COPIED_AT_ONCE):
            target.write(data)


def remove(name: str) -> None:
    """Remove a copy that may not be there."""
    if os.path.exists(name):
        os.remove(name)


def stamps(*paths: str) -> list[tuple[int, int, int] | None]:
    """What changes when a file does; None for a file that is not there."""
    found: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def opened(length: int, may_go_on: Callable[[], bool]) -> sqlite3.Connection:
    """The copy, opened for reading, once its numbers, schema and structure are known to be ours.

    Raises Refused with one sentence, or an error of SQLite.
    """
    connection = sqlite3.connect(f"file:{COPY}?mode=ro", uri=True, isolation_level=None)
    for limit, value in (
        (sqlite3.SQLITE_LIMIT_LENGTH, min(length, 2**30)),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10_000),
        (sqlite3.SQLITE_LIMIT_COLUMN, 20),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 20),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.setlimit(limit, value)
    connection.set_progress_handler(lambda: not may_go_on(), STEPS_EACH)
    for setting in (
        "query_only = ON",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "mmap_size = 0",
        "cache_size = -4096",
    ):
        connection.execute(f"PRAGMA {setting}")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise Refused(f"expected a session log on SQLite, got application id {application:#x}")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise Refused(f"expected log format {FORMAT} on SQLite, got format {version}")
    schema = connection.execute(SCHEMA).fetchmany(len(TABLES) + 1)
    if len(schema) != len(OBJECTS) or set(schema) != OBJECTS:
        names = ", ".join(sorted(f"{kind} {name}" for kind, name, *_ in schema))[:80] or "no table"
        raise Refused(f"expected the tables of a session log, got {names}")
    # Unlike quick_check it compares the index, by which records are found, with the table.
    row = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if row != ("ok",):
        found = row[0] if row else None
        raise Refused(f"expected a sound database, SQLite finds {str(found)[:120]!r}")
    if (stray := connection.execute(STRAY).fetchone()) is not None:
        raise Refused(f"expected a name for each session, got records of session {stray[0]!r}")
    return connection


def rows_of(connection: sqlite3.Connection, session: int) -> Iterator[tuple[Any, Any, Any]]:
    """The rows of a session in the order of their appends: number, body and link of each.

    Records of all sessions stand in one table; its index finds a session within 1,024 rows.
    """
    segment = -1
    while (segment := connection.execute(SEGMENT, (segment,)).fetchone()[0]) is not None:
        yield from connection.execute(ROWS, (segment, session))


def write_rows(connection: sqlite3.Connection, out: BinaryIO) -> None:
    """Write the rows of every session, each with its seal."""
    for session, name, mark in connection.execute(SESSIONS).fetchall():
        if (type(name), type(mark)) != (str, bytes):
            raise sqlite3.DatabaseError(f"a session is named by a value of {type(name).__name__}")
        write_frame(out, b"n", name.encode())
        write_frame(out, b"m", struct.pack(">q", session) + mark)
        place = -1
        for place, (seq, body, chain) in enumerate(rows_of(connection, session)):
            if (type(seq), type(body), type(chain)) != (int, bytes, bytes):
                raise sqlite3.DatabaseError(
                    f"row {place}: its number, its body or its chain has another type"
                )
            write_frame(out, b"r", struct.pack(">qq", seq, len(chain)) + chain + body)
        for records, seal in connection.execute(SEAL, (session,)):
            if type(records) is not int or type(seal) is not bytes:
                raise sqlite3.DatabaseError(f"the seal behind row {place} has another type")
            write_frame(out, b"s", struct.pack(">q", records) + seal)


def main(arguments: list[str]) -> None:
    """Write the frames of one file."""
    path = os.path.abspath(arguments[0])
    os.chdir(arguments[1])
    memory, seconds, length, steps = map(int, arguments[2:])
    limit_process(memory, seconds)
    out = sys.stdout.buffer
    left = max(1, steps // STEPS_EACH)

    def may_go_on() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    ending, told = b"e", ""
    try:
        make_copy(path)
        connection = opened(length, may_go_on)
    except Refused as error:
        ending, told = b"x", str(error)
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:
        ending, told = b"x", f"expected a session log on SQLite, got {error or 'too large a row'}"
    except OSError as error:
        ending, told = b"x", f"it cannot be copied: {error.strerror or error}"
    else:
        try:
            write_rows(connection, out)
        except (sqlite3.Error, UnicodeError, MemoryError) as error:
            ending, told = b"d", str(error) or "a row is larger than the memory allowed"
    if left < 0:
        ending, told = b"b", ""
    write_frame(out, ending, told.encode(errors="backslashreplace"))
    out.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BrokenPipeError:  # the judge has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
