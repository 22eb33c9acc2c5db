"""Faults that nobody prepared the suite for: not in the registry, made by hand for this test.

Each is found by corpus and cover alone, with a witness of at most six actions.
"""

import pytest

from loopspec.conformance.mutants import Mutant, mutated_part
from loopspec.conformance.mutants.registry import load_mutants
from loopspec.conformance.subjects.python import PythonSubject
from tests.conformance.checks import checked

WITNESS_LENGTH_MAX = 6

EDITS = {
    "steps are numbered on in the next turn": (
        "impl/driver.py",
        "self._last_turn, self._step, self._left_open = turn, 0, False",
        "self._last_turn, self._left_open = turn, False",
    ),
    "a cancel is ignored until the first step": (
        "impl/loop.py",
        "        if signal is not None:",
        "        if signal is not None and self._driver._step:",
    ),
    "only the first message of a splice is announced": (
        "impl/inbox.py",
        "        for item in inserted:",
        "        for item in inserted[:1]:",
    ),
    "a claim takes one message of next-step": (
        "impl/inbox.py",
        "((NEXT_STEP, None), (NEXT_TURN, heads))",
        "((NEXT_STEP, 1), (NEXT_TURN, heads))",
    ),
    "a failure names no step": (
        "impl/driver.py",
        "Failed(turn, self._step, ending.error.message))",
        "Failed(turn, 0, ending.error.message))",
    ),
}


@pytest.mark.parametrize("sentence", EDITS)
def test_a_fault_made_by_hand_is_found_with_a_short_witness(sentence: str) -> None:
    """It is none of the registry's."""
    file, anchor, replacement = EDITS[sentence]
    fault = Mutant("by-hand", file, anchor, replacement, sentence, "TRACE", (), "")
    assert (file, anchor, replacement) not in {
        (each.file, each.anchor, each.replacement) for each in load_mutants()
    }
    impl = mutated_part("impl", fault)

    result = checked(lambda: PythonSubject(impl))

    assert "broken" == result.verdict
    assert min(len(each.reduced.scenario) for each in result.found) <= WITNESS_LENGTH_MAX
    assert all(each.reduced.minimal != "no" for each in result.found)
