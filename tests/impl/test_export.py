"""Export and import: the shape of version 4, and the same records again."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopspec.impl import (
    BadArgument,
    DataBlock,
    LogUnreadable,
    Message,
    Record,
    Reject,
    Reply,
    SessionLog,
    TextBlock,
    ToolCall,
    ToolResult,
    fork,
    repair,
    text_message,
)
from loopspec.impl.export import export_lines, export_session, import_lines, import_session
from tests.impl.sessions import Session, run
from tests.impl.test_resume import cut, full_session

SURFACE = {"user/message", "assistant/message", "tool/result"}


def every_kind() -> tuple[Record, ...]:
    """Return the records of a session that takes every kind of record and ending."""

    async def test(session: Session) -> None:
        calls = tuple(ToolCall(name, "read", {"a": [1, {"b": "é"}]}) for name in "XYZ")
        session.agent.followup(text_message("A"))
        said = (TextBlock("so"), DataBlock("thought", {"id": "X", "depth": 2}))
        await session.step(Reply("tools", said, calls=calls))
        await session.answer("tool X", ToolResult((TextBlock("found"),), (text_message("C"),)))
        await session.answer("tool Y", RuntimeError("no such file"))
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("tool Z")
        session.agent.followup(text_message("B"))
        await session.answer("assemble")
        await session.answer("pre-step", Reject())
        session.agent.followup(text_message("D"))
        await session.answer("assemble", RuntimeError("torn"))
        session.agent.followup(text_message("E"))
        calls = (ToolCall("V"), ToolCall("W"))
        await session.step(Reply("tools", calls=calls))
        session.agent.cancel("parent")
        await session.answer("tool V")

    log = SessionLog.in_memory()
    kept: list[Record] = []
    log.subscribe(kept.append)
    run(test, Session(log))
    return tuple(kept)


def lines_of(records: tuple[Record, ...]) -> list[Any]:
    """Return the lines of an export as values."""
    return [json.loads(line) for line in export_lines(records, "s")]


def test_export_read_back_is_the_same(tmp_path: Path) -> None:
    """Numbers, times, data; through files and a second log."""
    records = every_kind()
    outcomes = {str(r.data["outcome"]) for r in records if r.type == "tool/result"}
    assert {"ok", "error", "aborted", "skipped"} == outcomes
    assert records == import_lines(list(export_lines(records, "s")))
    with SessionLog.create(tmp_path / "one.sqlite") as log:
        for record in records:
            log.append_at(record.time, record.type, record.payload.to_json())
        export_session(log, tmp_path / "session.jsonl")
    with SessionLog.create(tmp_path / "two.sqlite") as log:
        import_session(tmp_path / "session.jsonl", log)
        assert records == log.read()
        with pytest.raises(BadArgument, match="has records already"):
            import_session(tmp_path / "session.jsonl", log)
        with pytest.raises(BadArgument, match="the file exists"):
            export_session(log, tmp_path / "session.jsonl")


@pytest.mark.parametrize("length", range(len(full_session()) + 1))
def test_repaired_sessions_and_forks_come_back_too(length: int) -> None:
    """Codes, citations and the mark behind a seed, at each cut."""
    records = repair(cut(full_session(), length))
    assert records == import_lines(list(export_lines(records, "s")))
    child, source = SessionLog.in_memory(), SessionLog.in_memory()
    for record in records:
        source.append_at(record.time, record.type, record.payload.to_json())
    fork(source, child)
    assert child.read() == import_lines(list(export_lines(child.read(), "s")))


def test_shape_is_that_of_version_4() -> None:
    """Header, envelope, messages of tools, texts of arguments."""
    header, *rows = lines_of(every_kind())
    assert {
        "type": "session",
        "version": 4,
        "id": "s",
        "createdAt": rows[0]["time"],
        "isSeeded": False,
        "delegationDepth": 0,
    } == header
    assert list(range(len(rows))) == [row["seq"] for row in rows]
    for row in rows:
        optional = {"surfaceOp", "sourceEventSeqs"} & set(row)
        assert {"type", "seq", "time", "data"} == set(row) - optional
        assert ("surfaceOp" in row) == (row["type"] in SURFACE)
    calls = {row["seq"]: row["data"] for row in rows if row["type"] == "tool/call"}
    assert '{"a":[1,{"b":"é"}]}' == next(iter(calls.values()))["arguments"]
    results = [row for row in rows if row["type"] == "tool/result"]
    for row in results:
        message = row["data"]["message"]
        (cited,) = row["sourceEventSeqs"]
        assert message["toolCallId"] == message["source"]["callId"] == calls[cited]["callId"]
        assert message["role"] == "tool"
        assert message["isError"] == ("error" in row["data"])
    asked = next(row["data"]["message"] for row in rows if row["type"] == "assistant/message")
    arguments = [b["arguments"] for b in asked["content"] if b["type"] == "tool-call"]
    assert ['{"a":[1,{"b":"é"}]}'] * 3 == arguments


def test_fork_says_that_it_is_seeded() -> None:
    """The cut is the mark that says inherited."""
    source, child = cut(full_session(), 0), SessionLog.in_memory()
    source.append("turn/start", {"turn": 1})
    source.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    fork(source, child)
    header, *rows = lines_of(child.read())
    assert (True, {"inherited": True}) == (header["isSeeded"], rows[-1]["data"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=6,
    ),
    st.sampled_from(["tool-call", "image", "text"]),
)
def test_any_block_comes_back(value: Any, kind: str) -> None:  # noqa: ANN401
    """Also one that looks like a call and was not asked for."""
    log = SessionLog.in_memory()
    block = TextBlock("t") if kind == "text" else DataBlock(kind, {"id": "Q", "arguments": value})
    message = Message("m", "assistant", "model", (block,)).to_json()
    log.append("assistant/message", {"turn": 1, "step": 1, "message": message})
    log.append("user/message", message)
    records = log.read()
    assert records == import_lines(list(export_lines(records, "s")))


@pytest.mark.parametrize(
    ("number", "line", "says"),
    [
        (0, b'{"type":"session","version":3}', "line 1 .* lacks the key 'id'"),
        (0, b"[]", "line 1 .* must be an object"),
        (1, b"{", "line 2 .*JSONDecodeError"),
        (1, b"\xff", "line 2 .*UnicodeDecodeError"),
        (1, b'{"type":"x","seq":0,"time":1,"data":{}}', "line 2 .*'x' is no type of record"),
        (1, b'{"type":"x","seq":0,"time":1,"data":{},"more":1}', "'more'"),
        (1, b'{"type":"turn/start","seq":4,"time":1,"data":{}}', "expected record 0"),
        (1, b'{"type":"tool/call","seq":0,"time":1,"data":{}}', "line 2 .*callId"),
        (1, b'{"type":"tool/result","seq":0,"time":1,"data":7}', "line 2 .*TypeError"),
    ],
)
def test_line_that_is_none_of_an_export_is_named(number: int, line: bytes, says: str) -> None:
    """One sentence, whatever stands there."""
    lines = list(export_lines(full_session(), "s"))
    lines[number] = line
    with pytest.raises(LogUnreadable, match=says):
        import_lines(lines)


def test_missing_torn_and_empty_exports_are_named(tmp_path: Path) -> None:
    """The log stays empty."""
    log, file = SessionLog.in_memory(), tmp_path / "session.jsonl"
    with pytest.raises(LogUnreadable, match="cannot read the export"):
        import_session(file, log)
    file.write_bytes(b"")
    with pytest.raises(LogUnreadable, match="this one is empty"):
        import_session(file, log)
    file.write_bytes(b"".join(export_lines(full_session(), "s"))[:-3])
    with pytest.raises(LogUnreadable, match="is torn"):
        import_session(file, log)
    with pytest.raises(LogUnreadable, match="cannot export"):
        export_session(log, tmp_path / "nowhere" / "session.jsonl")
    assert () == log.read()


def test_live_log_is_exported_while_it_is_in_use(tmp_path: Path) -> None:
    """What is not flushed yet is in it, and the log goes on."""
    with SessionLog.create(tmp_path / "one.sqlite") as log:
        for turn in (1, 2):
            log.append("turn/start", {"turn": turn})
        export_session(log, tmp_path / "session.jsonl")
        asyncio.run(log.flush())
        assert 3 == len((tmp_path / "session.jsonl").read_bytes().splitlines())
        log.append("turn/start", {"turn": 3})
    assert "session.jsonl" in os.listdir(tmp_path)
