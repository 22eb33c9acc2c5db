"""What our own log exports is a log of version 4 to the checker of recorded logs."""

from pathlib import Path

import pytest

from loopspec.conformance.trace import Acceptor, Judged, judge_log
from loopspec.impl import (
    Agent,
    Record,
    ScriptedProvider,
    SessionLog,
    fold_inbox,
    fork,
    repair,
    text_message,
)
from loopspec.impl.export import export_lines
from tests.impl.test_export import every_kind
from tests.impl.test_resume import cut, full_session

ONE = Acceptor()


def judged(folder: Path, records: tuple[Record, ...], without: int | None = None) -> Judged:
    """Export records, one line perhaps left out, and judge the file."""
    path = folder / "session.v4.jsonl"
    lines = list(export_lines(records, "s"))
    path.write_bytes(b"".join(line for at, line in enumerate(lines) if at != without))
    return judge_log(path, ONE)


def test_session_with_every_kind_of_record_holds(tmp_path: Path) -> None:
    """And without one of its lines it does not."""
    records = every_kind()
    whole = judged(tmp_path, records)
    assert ("holds", len(records)) == (whole.verdict, whole.records)
    for line in range(1, len(records)):
        assert "holds" != judged(tmp_path, records, without=line).verdict


@pytest.mark.parametrize("length", range(1, len(full_session()) + 1))
def test_crashed_repaired_and_forked_sessions_hold(tmp_path: Path, length: int) -> None:
    """At every cut: the tail is taken for a crash, the repair for one, the fork for a fork."""
    crashed = cut(full_session(), length)
    left = crashed.read()
    assert "holds" == judged(tmp_path, left).verdict
    repaired = repair(crashed)
    seen = judged(tmp_path, repaired)
    assert ("holds", ()) == (seen.verdict, seen.tail.open)
    Agent(crashed, ScriptedProvider())
    message = text_message("again").to_json()
    again = {"target": "next-step", "start": len(fold_inbox(repaired)[1]), "inserted": [message]}
    crashed.append("agent/inbox/spliced", again)
    seen = judged(tmp_path, crashed.read())
    assert ("holds", ()) == (seen.verdict, seen.tail.appends)
    child = SessionLog.in_memory()
    fork(crashed, child)
    assert "holds" == judged(tmp_path, child.read()).verdict
