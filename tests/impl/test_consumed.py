"""Which turns account for work (CW-01 to CW-06)."""

from __future__ import annotations

import pytest

from loopspec.impl import ConsumedWork, Record, consumed_work
from tests.impl.test_resume import log_of, splice

START, STEP = ("turn/start", {"turn": 1}), ("step/start", {"turn": 1, "step": 1})
CLAIM = splice("next-turn", 0, 1)
CANCELED = splice("next-turn", 0, 1, outcome="canceled")
REPLACED = splice("next-turn", 0, 1, "B", outcome="canceled")


def end(kind: str, turn: int = 1) -> tuple[str, object]:
    """Return the end of a turn."""
    more: dict[str, object] = {}
    if kind == "aborted":
        more = {"reason": {"kind": "user"}}
    if kind == "error":
        more = {"error": {"message": "no", "code": "X"}}
    return "turn/end", {"turn": turn, "reason": {"kind": kind, **more}}


def fold(*rows: tuple[str, object]) -> ConsumedWork:
    """Fold these records."""
    return consumed_work(log_of(*rows).read())


@pytest.mark.parametrize(
    "kind", ["completed", "max-tokens", "blocked", "aborted", "error", "interrupted"]
)
def test_turn_accounts_with_a_step_or_with_a_claim_that_came_to_nothing(kind: str) -> None:
    """CW-01, CW-02."""
    undone = kind in ("blocked", "aborted", "error", "interrupted")
    assert ConsumedWork((1,)) == fold(START, CLAIM, STEP, end(kind))
    assert ConsumedWork((1,)) == fold(START, STEP, end(kind))
    assert ConsumedWork((1,) if undone else ()) == fold(START, CLAIM, end(kind))
    assert ConsumedWork() == fold(START, end(kind))


def test_claim_counts_inside_an_open_turn_only() -> None:
    """CW-03: outside it is nothing, and it does not reach into the next turn."""
    assert ConsumedWork() == fold(CLAIM, START, end("blocked"))
    assert ConsumedWork() == fold(START, end("completed"), CLAIM, START, end("blocked"))
    assert ConsumedWork() == fold(START, CLAIM)


def test_discarded_work_is_marked_until_the_next_turn_that_accounts() -> None:
    """CW-04, CW-05: a replacement is no loss, and an empty turn does not reset the mark."""
    assert ConsumedWork((), True) == fold(CANCELED)
    assert ConsumedWork() == fold(REPLACED)
    assert ConsumedWork((), True) == fold(CANCELED, START, end("completed"))
    assert ConsumedWork((1,)) == fold(CANCELED, START, STEP, end("completed"))
    assert ConsumedWork((1,), True) == fold(START, STEP, end("completed"), CANCELED)
    assert ConsumedWork() == fold(splice("next-turn", 0, 0, "A"))


def test_fold_of_a_suffix_needs_nothing_before_it() -> None:
    """CW-06: what a session owns may begin behind a seed."""
    rows = [START, CLAIM, STEP, end("completed"), CANCELED, START, CLAIM, end("blocked", 2)]
    records: tuple[Record, ...] = log_of(*rows).read()
    assert ConsumedWork((1, 2)) == consumed_work(records)
    assert ConsumedWork((2,)) == consumed_work(records[4:])
