"""Witnesses stay short: what random runs find is reduced to what a person has pinned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.machine import run_campaign
from loopspec.conformance.mutants import find_mutant, mutated_impl
from loopspec.conformance.reduce import reduce_scenario
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario

REPRESENTATIVES = (
    "claim-canceled",
    "claimed-between-deletions",
    "replace-at-tail",
    "no-turn-end-on-error",
    "restore-on-cancel-in-assembly",
    "aborted-turn-opens",
    "second-cause-wins",
    "keep-ignored",
    "quiet-renewed",
    "stop-check-sees-prompts",
    "one-signal-for-all-turns",
)
"""Mutants of each kind: claim, lists, boundaries, ownership, cancel, wakes, the end of a turn."""

SEEDS = range(8)
EXAMPLES = 60


def random_failures(factory: SubjectFactory) -> Iterator[Outcome]:
    """The failing runs of some seeds: one fault shows in several ways, some longer than others."""
    for seed in SEEDS:
        campaign = run_campaign(factory, examples=EXAMPLES, seed_number=seed)
        if campaign.failed is not None:
            yield campaign.failed


@pytest.mark.parametrize("mutant_id", REPRESENTATIVES)
def test_a_random_failure_reduces_to_the_length_of_the_pinned_witness(mutant_id: str) -> None:
    """And what comes out is seen to fail, on the mutant alone, when it is pasted into replay."""
    impl = mutated_impl(mutant_id)

    def factory() -> PythonSubject:
        return PythonSubject(impl=impl)

    pinned = parse_scenario(find_mutant(mutant_id).witness)
    found = (reduce_scenario(factory, each, each.findings[0]) for each in random_failures(factory))
    result = next((each for each in found if len(each.scenario) <= len(pinned)), None)

    assert result is not None, f"no seed of {list(SEEDS)} comes down to {len(pinned)} lines"
    pasted = parse_scenario(str(result.scenario))
    assert result.minimal in ("1-minimal", "exhaustive")
    assert run_scenario(factory(), pasted).findings
    assert run_scenario(PythonSubject(), pasted).findings == ()
