"""What is durable in the windows between writer, flush and close."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from loopspec.impl import (
    AppendRefused,
    LogBusy,
    SessionLog,
    repair,
    text_message,
)
from loopspec.impl.database import connect_sqlite
from loopspec.impl.export import export_lines, export_session, import_lines
from tests.impl.test_log import fill, path_in, setting
from tests.impl.test_resume import log_of


def test_seal_is_taken_away_again_after_a_rollback(tmp_path: Path) -> None:
    """Seal is taken away again after a rollback."""
    with SessionLog.create(path_in(tmp_path), writer="inline") as log:
        fill(log, 0)
    log = SessionLog.open(path_in(tmp_path), writer="inline")
    setting(log, "max_page_count = 1")
    with pytest.raises(AppendRefused, match="full"):
        log.append("user/message", text_message("x" * 50_000).to_json())
    setting(log, "max_page_count = 100000")
    fill(log, 1)
    asyncio.run(log.flush())
    log._file.give_up("a crash")
    with SessionLog.open(path_in(tmp_path)) as log:
        assert [0, 1] == [record.seq for record in log.read()]


@pytest.mark.parametrize("count", [63, 64, 65, 128, 129])
def test_commit_of_any_size_is_whole(tmp_path: Path, count: int) -> None:
    """Commit of any size is whole."""
    log = SessionLog.create(path_in(tmp_path))
    for _ in range(count):
        log.append("turn/start", {"turn": 1})
    asyncio.run(log.flush())
    assert count == len(log.read())
    log.close()


def test_reading_from_a_number_at_the_end_of_a_segment(tmp_path: Path) -> None:
    """Reading from a number at the end of a segment."""
    with SessionLog.create(path_in(tmp_path)) as log:
        for _ in range(1030):
            log.append("turn/start", {"turn": 1})
        asyncio.run(log.flush())
        for since in range(1020, 1028):
            assert since == log.read(since)[0].seq


def test_reading_from_a_number_inside_what_is_not_flushed(tmp_path: Path) -> None:
    """Reading from a number inside what is not flushed."""
    with SessionLog.create(path_in(tmp_path)) as log:
        for _ in range(4):
            log.append("turn/start", {"turn": 1})
        assert [2, 3] == [record.seq for record in log.read(2)]


def test_log_has_its_owner_until_its_file_is_closed(tmp_path: Path) -> None:
    """Log has its owner until its file is closed."""
    path, seen = path_in(tmp_path), []

    class Closing:
        def __init__(self, uri: str) -> None:
            self._inner = connect_sqlite(uri)

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a connection's own
            return getattr(self._inner, name)

        def close(self) -> None:
            try:
                SessionLog.open(path).close()
                seen.append("free")
            except LogBusy:
                seen.append("busy")
            self._inner.close()

    SessionLog.create(path, connect=Closing).close()
    assert ["busy"] == seen


def test_call_id_of_an_earlier_step_is_not_cited() -> None:
    """Call id of an earlier step is not cited."""
    block = {"type": "tool-call", "id": "X", "name": "t", "arguments": {}}

    def said(step: int) -> dict[str, Any]:
        return {
            "turn": 1,
            "step": step,
            "calls": ["X"],
            "message": {
                "id": f"a{step}",
                "role": "assistant",
                "source": {"kind": "model"},
                "content": [block],
            },
        }

    result = {"turn": 1, "step": 1, "call": "X", "outcome": "ok", "content": []}
    log = log_of(
        ("turn/start", {"turn": 1}),
        ("step/start", {"turn": 1, "step": 1}),
        ("assistant/message", said(1)),
        ("tool/call", {"turn": 1, "step": 1, "call": "X", "name": "t", "arguments": {}}),
        ("tool/result", result),
        ("step/end", {"turn": 1, "step": 1}),
        ("step/start", {"turn": 1, "step": 2}),
        ("assistant/message", said(2)),
    )
    records = repair(log)
    assert records == import_lines(list(export_lines(records, "s")))


def test_export_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Export is synced."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    export_session(SessionLog.in_memory(), tmp_path / "out.jsonl")
    assert 1 == len(synced)
