"""Findings that equal registered differences are named, and do not end the search."""

from functools import partial

import pytest

from loopspec.conformance.deviations import explain_outcome
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.deviations import DEVIATIONS
from loopspec.model.policy import DSH_0_1, NOTES
from loopspec.model.scenario import parse_scenario
from tests.conformance.checks import checked, run

GENUINE = partial(PythonSubject, profile="dsh-0.1")


TICKS_OF_THE_RELEASE = {"aborted_claim", "awaits", "aborted_call", "waits"}
"""What only the genuine loop does: the shipped one has no such answers."""


def test_every_difference_of_another_reading_is_found_and_named() -> None:
    """The shipped loop by the answers of dsh-0.1, judged by notes: each field that it knows."""
    result = checked(GENUINE)

    differing = {field for field in DEVIATIONS if getattr(DSH_0_1, field) != getattr(NOTES, field)}
    assert TICKS_OF_THE_RELEASE <= differing
    differing -= TICKS_OF_THE_RELEASE
    known = [each.known for each in result.found]
    assert differing == {each.field for each in known if each is not None}
    assert len(differing) == len(known)
    assert "broken" == result.verdict
    for each in result.found:
        assert len(each.reduced.scenario) <= 6
        alone = run_scenario(GENUINE(), each.reduced.scenario, profile="notes")
        assert each.known in [known for known, _ in explain_outcome(alone, NOTES)]


def test_answers_that_help_only_together_are_taken_together() -> None:
    """A wake inside a clear: the cancel hits the new driver, and the latch forgets the wake."""
    text = (
        "inject A\nin agent/inbox/discarded#1 last: followup B\ncancel user drop\npre-step: enter"
    )
    outcome = run_scenario(GENUINE(), parse_scenario(text), profile="notes")

    fields = {known.field for known, _ in explain_outcome(outcome, NOTES)}
    assert {"wakes", "cancel_hits"} == fields


def test_a_fault_is_no_difference() -> None:
    """What no answer explains to its end stays a finding without a name."""
    from tests.conformance.checks import planted

    outcome = run("followup A\npre-step: reject", planted("canary")())

    assert outcome.findings
    assert () == explain_outcome(outcome, NOTES)


@pytest.mark.parametrize("cause", ["user", "disposed"])
def test_a_wake_is_judged_when_it_is_called(cause: str) -> None:
    """RT-10, RT-14: a listener that cancels during the insertion does not judge it anew."""
    text = (
        "maintenance\nfollowup A\n"
        f"in agent/inbox/inserted#1 first: cancel {cause} drop\n"
        "prepend next-turn B\nmaintenance: done"
    )
    outcome = run_scenario(GENUINE(), parse_scenario(text), profile="dsh-0.1-gates")

    assert () == outcome.findings
