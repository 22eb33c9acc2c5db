"""Each relation is asked of every kind of record and every ending that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard

from loopspec.conformance.trace import Acceptor, Limits, judge_log, judge_records
from loopspec.conformance.trace.notation import log_of, records_of

ONE = Acceptor()
OPEN = "+T[A] {1 -T[A] (1 uA"


def broken(records: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The relation that a log breaks, and its first rule; empty when it breaks none."""
    found = judge_records(records, ONE).finding
    return ("", "") if found is None else (found.code, found.rules[0])


@pytest.mark.parametrize("token", ["k", "k*3", "y", "a", "c:c", "r:c"])
def test_every_kind_names_the_open_step(token: str) -> None:
    """Every kind names the open step."""
    before = f"{OPEN} a:c c:c" if token == "r:c" else f"{OPEN} a:c" if token == "c:c" else OPEN
    assert ("NAMED", "SL-03") == broken(records_of(f"{before} @1.7 {token}"))


@pytest.mark.parametrize("kind", ["text-chunks", "reasoning-chunks", "tool-call-chunks"])
def test_every_packed_row_names_the_open_step(kind: str) -> None:
    """Every packed row names the open step."""
    *before, row = records_of(f"{OPEN} @1.7 k*3")
    assert ("NAMED", "SL-03") == broken([*before, row | {"type": kind}])


@pytest.mark.parametrize("token", ["h", "q=m", "t"])
def test_every_kind_of_request_stands_in_a_turn(token: str) -> None:
    """Every kind of request stands in a turn."""
    assert ("HEADER", "SL-05") == broken(records_of(f"+T[A] {token}"))


@pytest.mark.parametrize(
    "before,token", [("+T[A] {1 -T[A] (1", "uA"), (OPEN, "a"), (f"{OPEN} a:c c:c", "r:c")]
)
def test_every_kind_cites_earlier_records(before: str, token: str) -> None:
    """Every kind cites earlier records."""
    assert ("CITES", "SL-06") == broken(records_of(f"{before} &99 {token}"))


def test_a_seed_that_ends_at_its_length_is_cut_there() -> None:
    """A seed that ends at its length is cut there."""
    # the fork's cut is where its header says, and no record later
    whole = records_of("+T[A] {1 -T[A] (1 uA a )1 }1:completed +T[B] {2")
    header = {"type": "session", "isSeeded": True, "seedLength": 8}
    assert "CUT" == broken([header, *whole])[0]
    found = judge_records([header, *whole], ONE).finding
    assert found is not None and found.line == 10


def test_a_breach_before_damage_stands_without_inbox(tmp_path: Path) -> None:
    """A breach before damage stands without inbox."""
    path = tmp_path / "log"
    path.write_bytes(log_of("{1 (1 a )1 }1:completed {3") + b"{broken\n{}\n")
    assert "broken" == judge_log(path, ONE).verdict


def test_steps_are_judged_without_inbox() -> None:
    """Steps are judged without inbox."""
    assert "broken" == judge_records(records_of("{1 (1 a (2"), ONE).verdict


def test_the_size_limit_counts_all_frames(tmp_path: Path) -> None:
    """The size limit counts all frames."""
    path, plain = tmp_path / "log", log_of(" ".join(f"+T[A{n}]" for n in range(400)))
    pack = zstandard.ZstdCompressor().compress
    path.write_bytes(b"".join(pack(line) for line in plain.splitlines(keepends=True)))
    log = judge_log(path, ONE, limits=Limits(decompressed=len(plain) - 1))
    assert ("unknown", True) == (log.verdict, "decompresses to more than" in log.reason)


@pytest.mark.parametrize("end", ["completed", "blocked", "aborted/user", "interrupted"])
def test_every_ending_owes_the_results_of_its_calls(end: str) -> None:
    """Every ending owes the results of its calls."""
    assert "UNANSWERED" == broken(records_of(f"{OPEN} a:c c:c )1 }}1:{end}"))[0]
