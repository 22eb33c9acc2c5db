"""Files that were damaged on purpose, each from its number alone, and what may be said of them.

A line is changed as bytes or as JSON; a log on SQLite has one bit flipped, in the file or in its
write-ahead log. The benchmark and the tests take the same files.
"""

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from loopspec.conformance.trace import Judged
from loopspec.conformance.trace.database import digest
from loopspec.conformance.trace.evidence_rows import APPLICATION_ID, FORMAT, TABLES
from loopspec.conformance.trace.notation import log_of, records_of

TEXT: Final = (
    "+T[A] +S[B] {1 -S[B] -T[A] (1 uB uA h a:c1,c2 c:c1 c:c2 r:c1 r:c2 )1 +S[C] -S[C] "
    "(2 uC a )2 +T[D,E] *T[D>F] !T[E] }1:completed {2 -T[F] }2:blocked"
)
"""A log with every kind of record that is judged."""

VERDICTS: Final = frozenset({"holds", "broken", "unknown", "skipped", "not a log"})

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 2**63 - 1, 2**63, -(2**63) - 1, 2**200, 1.5, -0.0, "", "A"),
    *("\u202e", "\ud800", "x" * 3_000, [], {}, [[]], {"id": 3}, [None], ["A", {}], "{{x}}"),
)
RAW: Final = (
    *(b"NaN", b"Infinity", b"1e400", b"-", b"01", b'"\\u0000"', b'"\\ud800"', b"\xff", b"\x00"),
    *(b"[" * 200, b"{" * 200, b'{"a":' * 130, b'"a":1,"a":2', b"\n", b"\r", b"\\", b'"', b","),
    *(b"9" * 5_000, b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf", b"}{", b"]"),
)


def mutated_log(number: int) -> bytes:
    """A log in which one line was changed."""
    chance = random.Random(f"line {number}")
    lines = LOG.splitlines(keepends=True)
    place = chance.randrange(len(lines))
    change = chance.choice(
        (changed_bytes, changed_bytes, changed_json, changed_json, changed_place)
    )
    if change is changed_place:
        other = chance.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
        if chance.random() < 0.5:
            lines.insert(other, lines[place])
    else:
        lines[place] = change(chance, lines[place])
    return b"".join(lines)


def changed_place(chance: random.Random, line: bytes) -> bytes:
    """The line itself: its place is what changes."""
    return line


def changed_bytes(chance: random.Random, line: bytes) -> bytes:
    """Bytes flipped, cut out, put in or said twice."""
    content = bytearray(line)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(content))
        draw = chance.random()
        if draw < 0.4:
            content[at] ^= 1 << chance.randrange(8)
        elif draw < 0.6:
            content[at:at] = chance.choice(RAW)
        elif draw < 0.8:
            content[at:at] = content[at : at + chance.randrange(40)]
        elif len(content) > 2:
            del content[at : min(at + chance.randrange(1, 20), len(content) - 1)]
    return bytes(content)


def changed_json(chance: random.Random, line: bytes) -> bytes:
    """A value replaced, left out or given another name, anywhere in the line."""
    value = json.loads(line)
    for _ in range(chance.randrange(1, 3)):
        held, key = chance.choice(list(places(value)))
        draw = chance.random()
        if draw < 0.6:
            held[key] = chance.choice(VALUES)
        elif draw < 0.8:
            del held[key]
        elif isinstance(held, dict):
            held[chance.choice(("type", "seq", "data", "id", "turn", "x"))] = held[key]
        if not list(places(value)):
            break
    return json.dumps(value).encode() + b"\n"


def places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    """Every value inside a value, as what holds it and where."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


LOG: Final = log_of(TEXT)


def needs_a_verdict(log: Judged) -> None:
    """Every log has a verdict, in one line that says why."""
    assert log.verdict in VERDICTS
    assert log.verdict == "holds" or log.reason or log.finding
    assert "\n" not in log.reason
    assert "Traceback" not in log.reason


# --- SQLite -------------------------------------------------------------------------------------


def stored(path: Path, text: str = TEXT, sealed: bool = True) -> Path:
    """A log on SQLite with one session, as the shipped loop stores it."""
    connection = sqlite3.connect(path)
    for statement in TABLES.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    mark = digest(b"loopspec name\0" + (1).to_bytes(8, "big") + b"s")
    connection.execute("INSERT INTO session VALUES (1, 's', ?)", (mark,))
    link = digest(b"loopspec session\0s")
    rows = records_of(text)
    for seq, row in enumerate(rows):
        row.pop("surfaceOp", None)
        if row["type"] in ("tool/call", "tool/result"):
            data = row["data"]
            data["call"] = data.pop("callId", None) or data["message"].pop("toolCallId")
        body = json.dumps(row).encode()
        link = digest(link + seq.to_bytes(8, "big") + body)
        connection.execute("INSERT INTO record VALUES (NULL, 1, ?, ?, ?)", (seq, body, link))
    if sealed:
        seal = digest(b"closed\0" + link + len(rows).to_bytes(8, "big"))
        connection.execute("INSERT INTO closed VALUES (1, ?, ?)", (len(rows), seal))
    connection.commit()
    connection.close()
    return path


def killed(folder: Path, text: str = TEXT) -> Path:
    """A log whose owner was killed: half of the records still stand in the write-ahead log."""
    whole = stored(folder / "whole.sqlite", text, sealed=False)
    path = folder / "killed.sqlite"
    shutil.copyfile(whole, path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    rows = connection.execute("SELECT * FROM record WHERE seq >= 8 ORDER BY seq").fetchall()
    connection.execute("DELETE FROM record WHERE seq >= 8")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for row in rows:
        connection.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?)", row)
    left = folder / "left.sqlite"
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{left}{suffix}")
    connection.close()
    for name in (path, whole):
        name.unlink()
    return left


def flipped(content: bytes, number: int) -> bytes:
    """The bytes with one bit flipped; the same number flips the same bit."""
    chance = random.Random(f"bit {number}")
    changed = bytearray(content)
    changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def rows_of(path: Path) -> list[Any] | None:
    """The rows as SQLite tells them, in order; None where it does not."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        records = connection.execute("SELECT * FROM record ORDER BY session, seq").fetchall()
        records += connection.execute("SELECT * FROM session").fetchall()
        return records + connection.execute("SELECT * FROM closed").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return None
    finally:
        connection.close()
