"""A session log on SQLite as evidence: the log of the shipped loop, read by other hands.

Theory. The file is copied first, with its write-ahead log, and only the copy is opened: SQLite may
write beside a file that it only reads. Nothing in the copy is believed: it has exactly our two
tables, SQLite finds its structure sound, and each record's link is the digest of the link before
it, the number and the body. What does not fit is damage, and no fault of a loop.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from loopspec.conformance.trace.acceptor import Acceptor
from loopspec.conformance.trace.decoding import BadLine, decode_line
from loopspec.conformance.trace.following import Options
from loopspec.conformance.trace.judging import Judge
from loopspec.conformance.trace.reading import SQLITE_MAGIC, Evidence, Limits, Line, NotALog
from loopspec.conformance.trace.records import BadShape, record_of
from loopspec.conformance.trace.verdicts import Judged

__all__ = ["is_database", "judge_database"]

TABLES: Final = {
    "record": "CREATE TABLE record (session TEXT NOT NULL, seq INTEGER NOT NULL, "
    "body BLOB NOT NULL, chain BLOB NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID",
    "closed": "CREATE TABLE closed (session TEXT NOT NULL PRIMARY KEY, "
    "records INTEGER NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID",
}
"""The whole schema; a view or a trigger more could be anything."""

LINK_BYTES: Final = 16
SURFACES: Final = frozenset({"user/message", "assistant/message", "tool/result"})
ROWS: Final = "SELECT seq, body, chain FROM record WHERE session = ? ORDER BY seq"
SESSIONS: Final = "SELECT session FROM record UNION SELECT session FROM closed ORDER BY 1"


def is_database(path: Path) -> bool:
    """Whether the first bytes of a regular file are those of SQLite."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except (OSError, ValueError):
        return False


def judge_database(
    path: Path,
    acceptor: Acceptor | None = None,
    options: Options | None = None,
    limits: Limits | None = None,
) -> list[Judged]:
    """Judge each session of a log on SQLite; the file and its folder are not touched."""
    acceptor, limits = acceptor or Acceptor(), limits or Limits()
    with tempfile.TemporaryDirectory(prefix="loopspec-trace-") as folder:
        copy = Path(folder) / "log.sqlite"
        try:
            shutil.copyfile(path, copy)
            beside = Path(f"{path}-wal")
            if beside.is_file():
                shutil.copyfile(beside, f"{copy}-wal")
            connection = opened(copy, limits)
        except (NotALog, OSError) as error:
            return [Judged(str(path), "not a log", reason=str(error), container="sqlite")]
        try:
            return list(judged_sessions(path, connection, acceptor, options, limits))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            why = f"the database is damaged: {error}"
            return [Judged(str(path), "unknown", reason=why, container="sqlite")]
        finally:
            connection.close()


def opened(file: Path, limits: Limits) -> sqlite3.Connection:
    """The copy, opened for reading, once its schema and its structure are known to be ours.

    Raises NotALog with one sentence otherwise.
    """
    try:
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise NotALog(f"expected a session log on SQLite, got {error}") from error
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limits.line, 2**30))
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        schema = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
        if schema != TABLES:
            names = ", ".join(sorted(map(str, schema)))[:80] or "no table"
            raise NotALog(f"expected the tables of a session log, got {names}")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise NotALog(f"expected a sound database, SQLite finds {str(found)[:120]!r}")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise NotALog(f"expected a session log on SQLite, got {error}") from error
    except NotALog:
        connection.close()
        raise
    return connection


def judged_sessions(
    path: Path,
    connection: sqlite3.Connection,
    acceptor: Acceptor,
    options: Options | None,
    limits: Limits,
) -> Iterator[Judged]:
    """Judge one session after the other."""
    names = [str(name) for (name,) in connection.execute(SESSIONS)]
    if not names:
        yield Judged(str(path), "skipped", reason="it holds no session", container="sqlite")
    for name in names:
        judge = Judge(acceptor, options)
        link = digest(b"loopspec session\0" + name.encode())
        rows = 0
        for place, (seq, body, chain) in enumerate(connection.execute(ROWS, (name,))):
            link, why = next_link(link, place, seq, body, chain)
            judge.damage = why
            if not why:
                take(judge, seq, body, limits)
            if judge.over:
                break
            rows = place + 1
        if not judge.over:
            judge.damage = seal_of(connection, name, link, rows)
        shown = str(path) if len(names) == 1 else f"{path} {name}"
        yield judge.judged(shown, Evidence("sqlite", path.stat().st_size))


def next_link(
    link: bytes, count: int, seq: object, body: object, chain: object
) -> tuple[bytes, str]:
    """The link of a record, and what is wrong with it."""
    if type(seq) is not int or type(body) is not bytes:
        return link, f"row {count} is damaged: its number or its body has another type"
    if seq != count:
        return link, f"row {count} is damaged: its number is {seq}"
    link = digest(link + seq.to_bytes(8, "big") + body)
    return link, "" if link == chain else f"record {seq} is damaged: its chain does not fit"


def seal_of(connection: sqlite3.Connection, name: str, link: bytes, count: int) -> str:
    """What is wrong with the seal of a session that was closed, or nothing."""
    row = connection.execute(
        "SELECT records, seal FROM closed WHERE session = ?", (name,)
    ).fetchone()
    if row is None or row == (count, digest(b"closed\0" + link + count.to_bytes(8, "big"))):
        return ""
    return f"the session was closed with {row[0]} records, and {count} are left or others"


def digest(data: bytes) -> bytes:
    """A link of a chain."""
    return hashlib.sha256(data).digest()[:LINK_BYTES]


def take(judge: Judge, seq: int, body: bytes, limits: Limits) -> None:
    """Judge the record of a row, in the names of the log format."""
    line = Line(seq + 1, 0, body)
    value: dict[str, Any] = {}
    try:
        value = in_log_format(decode_line(line, limits))
        if value.get("seq") != seq:
            judge.damage = f"row {seq} is damaged: its body has the number {value.get('seq')!r}"
            return
        judge.take(record_of(line.number, value))
    except BadLine as error:
        judge.damage = f"row {seq} is damaged: {error}"
    except BadShape as error:
        judge.misshapen(line, str(error), value)


def in_log_format(value: dict[str, Any]) -> dict[str, Any]:
    """A stored record with the members that a session log names otherwise."""
    data = value.get("data")
    if value.get("type") in SURFACES:
        value["surfaceOp"] = "append"
    if value.get("type") in ("tool/call", "tool/result") and isinstance(data, dict):
        data["callId"] = data.pop("call", None)
        if data.get("code") is not None:
            data["error"] = {"code": data["code"]}
    return value
