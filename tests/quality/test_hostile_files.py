"""Many damaged files: a verdict each, no traceback, and none accepted as what it is not.

A sample here; `make night` takes all of them, `benchmarks/hostile.py` with figures.
"""

import os
from pathlib import Path
from typing import Final

import pytest

from loopspec.conformance.trace import Acceptor, judge_log
from loopspec.conformance.trace.database import judge_database
from tests.conformance import hostile_files

NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
"""Whether there is time for all of it."""

LINES: Final = 100_000 if NIGHT else 800
FLIPS: Final = 10_000 if NIGHT else 24
PARTS: Final = 8

ONE: Final = Acceptor()


@pytest.mark.parametrize("part", range(PARTS))
def test_a_log_with_one_changed_line_gets_a_verdict(part: int, tmp_path: Path) -> None:
    """Whatever was done to the line."""
    path = tmp_path / "log.jsonl"
    for number in range(part, LINES, PARTS):
        path.write_bytes(hostile_files.mutated_log(number))
        hostile_files.needs_a_verdict(judge_log(path, ONE))


@pytest.mark.parametrize("part", range(PARTS))
def test_a_closed_log_with_one_flipped_bit_is_never_taken_for_whole(
    part: int, tmp_path: Path
) -> None:
    """It holds only where the bit belongs to no record: what SQLite reads is then as it was."""
    whole = hostile_files.stored(tmp_path / "whole")
    content, rows = whole.read_bytes(), hostile_files.rows_of(whole)
    path = tmp_path / "flipped"
    for number in range(part, FLIPS, PARTS):
        path.write_bytes(hostile_files.flipped(content, number))
        logs = judge_database(path, ONE)
        for log in logs:
            hostile_files.needs_a_verdict(log)
            assert log.verdict != "broken", log
        # The name of a session may fall apart in two; then one of them at least is unknown.
        if all(log.verdict == "holds" for log in logs):
            assert rows == hostile_files.rows_of(path), number


def test_a_left_write_ahead_log_with_one_flipped_bit_says_what_cannot_be_known(
    tmp_path: Path,
) -> None:
    """SQLite drops the tail behind such a bit without a word; nobody takes the rest for all."""
    left = hostile_files.killed(tmp_path)
    beside = Path(f"{left}-wal")
    content = beside.read_bytes()
    (before,) = judge_database(left, ONE)
    assert ("holds", 28) == (before.verdict, before.records)
    for number in range(FLIPS // 4):
        beside.write_bytes(hostile_files.flipped(content, number))
        for log in judge_database(left, ONE):
            hostile_files.needs_a_verdict(log)
            assert log.verdict != "broken", log
            assert log.verdict != "holds" or "cannot be known" in " ".join(log.notes)
