"""Single edits of logs: refused with rule and record, or legal for a reason that is listed."""

import pytest

from loopspec.conformance.trace import judge_records
from loopspec.conformance.trace.edits import LogEdits, read_records, try_log_edits
from loopspec.conformance.trace.notation import records_of
from tests.conformance.logs_at_hand import GENERATIONS, acceptor, folder, judged, native

SMALL = 24_000
EACH = 2
"""How many logs of each generation are edited here; `make night` edits all of them."""

LOGS = (
    "+T[A] +T[B] {1 -T[A] (1 uA +S[C] h a:c c:c r:c )1 -S[C] (2 uC a )2 }1:completed "
    "{2 -T[B] (1 uB a )1 }2:completed",
    "+S[A] +T[B] *T[B>C] +T[D] !T[D] {1 -S[A] -T[C] (1 uA uC xE a~ )1 }1:aborted/user",
    "+T[A] {1 -T[A] (1 uA a:c c:c r?c )1 }1:interrupted end-seed +T[B] {2 -T[B] }2:blocked",
)


@pytest.mark.parametrize("text", LOGS)
def test_every_edit_of_a_small_log_is_refused_or_legal(text: str) -> None:
    """None is missed, and most are refused."""
    rows = [{k: v for k, v in row.items() if k != "seq"} for row in records_of(text)]
    edits = LogEdits()
    try_log_edits("log", rows, acceptor(), edits)

    assert [] == edits.missed
    assert edits.refused.total() > 2 * edits.legal.total()
    for kind in ("drop", "duplicate", "swap", "change"):
        assert any(label.startswith(kind) for label in edits.refused)


def test_an_edit_that_nothing_explains_would_be_missed() -> None:
    """A duplicate of a boundary is in no list of legal edits."""
    rows = records_of("+T[A] {1 -T[A] }1:blocked")
    edits = LogEdits()
    try_log_edits("log", rows, acceptor(), edits)

    assert {"duplicate turn/start", "drop turn/start"} <= edits.refused.keys()
    assert not any(label.startswith("duplicate turn") for label, _ in edits.legal)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_edit_of_native_logs_is_refused_or_legal(generation: str) -> None:
    """Boundaries, splices and messages, of logs that released runtimes have written."""
    names = [
        name
        for name, log in judged().items()
        if name.startswith(generation) and native(name) and log.verdict == "holds"
        if log.size < SMALL
    ]
    edits = LogEdits()
    for name in names[:: len(names) // EACH][:EACH]:
        rows = read_records(folder() / name)
        assert "holds" == judge_records(rows, acceptor()).verdict
        try_log_edits(name, rows, acceptor(), edits)

    assert [] == edits.missed
    assert 200 < edits.tried
