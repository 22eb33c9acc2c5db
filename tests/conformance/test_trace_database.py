"""The SQLite log of the shipped loop as evidence, and files that only look like one."""

import json
import random
import sqlite3
from pathlib import Path

import pytest

from loopspec.conformance.trace import Acceptor, judge_records
from loopspec.conformance.trace.database import TABLES, digest, is_database, judge_database
from loopspec.conformance.trace.notation import records_of
from loopspec.impl import Record, Reply, SessionLog, TextBlock, ToolCall, ToolResult, text_message
from loopspec.impl.export import export_lines
from tests.impl.sessions import Session, run

ONE = Acceptor()
TEXT = "+T[A] {1 -T[A] (1 uA a )1 }1:completed"


def stored(path: Path, text: str = TEXT, sealed: bool = True) -> Path:
    """A log on SQLite with one session, as the shipped loop stores it."""
    connection = sqlite3.connect(path)
    for statement in TABLES.values():
        connection.execute(statement)
    link = digest(b"loopspec session\0s")
    rows = records_of(text)
    for seq, row in enumerate(rows):
        row.pop("surfaceOp", None)
        body = json.dumps(row).encode()
        link = digest(link + seq.to_bytes(8, "big") + body)
        connection.execute("INSERT INTO record VALUES ('s', ?, ?, ?)", (seq, body, link))
    if sealed:
        seal = digest(b"closed\0" + link + len(rows).to_bytes(8, "big"))
        connection.execute("INSERT INTO closed VALUES ('s', ?, ?)", (len(rows), seal))
    connection.commit()
    connection.close()
    return path


def test_a_log_on_sqlite_is_judged_and_not_touched(tmp_path: Path) -> None:
    """Its bytes stay, and nothing appears beside it, also in a folder that cannot be written."""
    path = stored(tmp_path / "log.sqlite")
    before = path.read_bytes()
    tmp_path.chmod(0o500)
    (log,) = judge_database(path, ONE)
    tmp_path.chmod(0o700)

    assert ("holds", "sqlite", 8) == (log.verdict, log.container, log.records)
    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())
    assert is_database(path)


def test_a_broken_log_on_sqlite_is_broken(tmp_path: Path) -> None:
    """By the same rules as any other."""
    (log,) = judge_database(stored(tmp_path / "log", "+T[A] {1 }1:completed", False), ONE)

    assert log.finding is not None
    assert "CL-02" in log.finding.rules


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE record SET body = CAST(body || ' ' AS BLOB) WHERE seq = 0", "chain"),
        ("DELETE FROM record WHERE seq = 3", "its number is 4"),
        ("DELETE FROM record WHERE seq = 7", "closed with 8 records"),
        ("UPDATE closed SET records = 7", "closed with 7 records"),
        ("UPDATE record SET seq = 70 WHERE seq = 7", "its number is 70"),
    ],
)
def test_what_the_chain_does_not_vouch_for_is_damage(
    tmp_path: Path, statement: str, said: str
) -> None:
    """Unknown, and no fault of a loop."""
    path = stored(tmp_path / "log")
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    (log,) = judge_database(path, ONE)

    assert "unknown" == log.verdict
    assert said in log.reason


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i FROM n) SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM closed; END",
        "CREATE TABLE other (a)",
        "DROP TABLE closed",
    ],
)
def test_a_schema_that_is_not_ours_is_refused(tmp_path: Path, statement: str) -> None:
    """Before anything is read from it."""
    path = stored(tmp_path / "log")
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    (log,) = judge_database(path, ONE)

    assert ("not a log", True) == (log.verdict, "expected the tables" in log.reason)


def test_flipped_bits_get_a_verdict_each(tmp_path: Path) -> None:
    """Never a traceback, and never a broken loop."""
    content = stored(tmp_path / "log").read_bytes()
    chance = random.Random(3)
    for _ in range(200):
        changed = bytearray(content)
        changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path = tmp_path / "flipped"
        path.write_bytes(bytes(changed))
        for log in judge_database(path, ONE):
            assert log.verdict in ("holds", "unknown", "not a log"), log


def test_the_log_of_the_shipped_loop_is_evidence(tmp_path: Path) -> None:
    """What the loop writes is what is read here, and so is its export."""
    path = tmp_path / "log.sqlite"

    async def test(session: Session) -> None:
        session.agent.followup(text_message("A"))
        session.agent.steer(text_message("B"))
        calls = (ToolCall("X", "read", {}), ToolCall("Y", "read", {}))
        await session.step(Reply("tools", (TextBlock("so"),), calls=calls))
        await session.answer("tool X", ToolResult((TextBlock("found"),), (text_message("C"),)))
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("tool Y", RuntimeError("no such file"))

    with SessionLog.create(path, writer="inline", durability="process") as log:
        kept: list[Record] = []
        log.subscribe(kept.append)
        run(test, Session(log))
    (judged,) = judge_database(path, ONE)
    exported = judge_records(map(json.loads, export_lines(tuple(kept), "s")), ONE)

    assert ("holds", "holds") == (judged.verdict, exported.verdict), (judged, exported)
    assert len(kept) == judged.records == exported.records
    assert judged.turns == exported.turns == 2
    assert ("notes",) == judged.profiles
