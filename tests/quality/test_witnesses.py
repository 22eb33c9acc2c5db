"""Witnesses stay short: what random runs find is reduced to what a person has pinned."""

from __future__ import annotations

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


def random_failure(factory: SubjectFactory) -> Outcome:
    """The first failing run of some seeds; which one it is does not matter here."""
    for seed in SEEDS:
        campaign = run_campaign(factory, examples=EXAMPLES, seed_number=seed)
        if campaign.failed is not None:
            return campaign.failed
    pytest.fail(f"no seed of {list(SEEDS)} has found this mutant in {EXAMPLES} runs")


@pytest.mark.parametrize("mutant_id", REPRESENTATIVES)
def test_a_random_failure_reduces_to_the_length_of_the_pinned_witness(mutant_id: str) -> None:
    """And what comes out is seen to fail, on the mutant alone, when it is pasted into replay."""
    impl = mutated_impl(mutant_id)

    def factory() -> PythonSubject:
        return PythonSubject(impl=impl)

    failed = random_failure(factory)
    result = reduce_scenario(factory, failed, failed.findings[0])
    pasted = parse_scenario(str(result.scenario))
    pinned = parse_scenario(find_mutant(mutant_id).witness)

    assert len(result.scenario) <= len(pinned)
    assert result.minimal in ("1-minimal", "exhaustive")
    assert run_scenario(factory(), pasted).findings
    assert run_scenario(PythonSubject(), pasted).findings == ()
