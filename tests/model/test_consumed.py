"""Consumed work, folded from the records of runs: one test for each rule of group V."""

import pytest

from loopspec.model.consumed import Consumed, consumed
from loopspec.model.playback import play
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import FIRST, Message, Observation, observation, text_message

A, B = text_message("A"), text_message("B")


def records(text: str) -> list[Observation]:
    """The records of a scenario in log order."""
    trace = play(parse_scenario(f"profile notes\n{text}")).trace
    seen = (each for each in trace if isinstance(each, Observation) and each.kind == "record")
    return [each for each in seen if each.listener == FIRST]


def splice(
    removed: int, inserted: tuple[Message, ...] = (), outcome: str | None = None
) -> Observation:
    """A splice of next-turn."""
    values = ("next-turn", 0, removed, inserted, outcome)
    return observation("record", "agent/inbox/spliced", *values)


@pytest.mark.parametrize(
    ("text", "turn", "reason"),
    [
        ("followup A\npre-step: enter\nprovider: done", 1, "completed"),
        ("followup A\npre-step: enter\nprovider: error", 1, "error"),
        ("followup A\npre-step: reject", 1, "blocked"),
        ("followup A\npre-step: raise", 1, "error"),
        ("followup A\ncancel user keep\npre-step: enter", 1, "aborted"),
    ],
)
def test_a_turn_accounts_by_a_step_or_by_lost_input(text: str, turn: int, reason: str) -> None:
    """CW-01: whatever the end, if a step was entered; else only the ends that lose a claim."""
    assert Consumed(turn, reason) == consumed(records(text))


def test_a_completed_turn_without_a_step_does_not_account() -> None:
    """CW-02: the turn before it stays the last one."""
    text = "followup A\npre-step: enter\nprovider: done\nfollowup B\npre-step: enter nothing"

    assert Consumed(1, "completed") == consumed(records(text))


def test_a_lost_turn_that_claimed_nothing_does_not_account() -> None:
    """CW-03: only a claim inside the open turn counts, not a removal outside any turn."""
    start = observation("record", "turn/start", 1)
    end = observation("record", "turn/end", 1, "aborted", "user", None)

    assert Consumed() == consumed([splice(1), start, end])
    assert Consumed(1, "aborted") == consumed([start, splice(1), end])


def test_a_discard_without_a_replacement_marks_dropped_work() -> None:
    """CW-04: a removal marks, an edit does not, whatever its outcome says."""
    assert consumed(records("inject A\nremove A")).dropped
    assert not consumed(records("inject A\nreplace A B")).dropped
    assert not consumed([splice(1, (B,), "canceled")]).dropped


def test_the_next_turn_that_accounts_resets_the_mark() -> None:
    """CW-05: one that does not account leaves it."""
    dropped = "inject A\nremove A\nfollowup B\n"

    assert consumed(records(dropped + "pre-step: enter nothing")).dropped
    assert not consumed(records(dropped + "pre-step: enter\nprovider: done")).dropped


@pytest.mark.parametrize("cut", range(12))
def test_the_fold_goes_on_from_anywhere(cut: int) -> None:
    """CW-06: a prefix and the suffix behind it give what the whole log gives."""
    whole = records("inject A\nremove A\nfollowup B\npre-step: enter\nprovider: done\nfollowup A")

    assert 12 <= len(whole)
    assert consumed(whole) == consumed(whole[cut:], consumed(whole[:cut]))
