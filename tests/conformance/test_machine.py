"""The generator: the seed decides everything, its runs can be replayed, and mutants are found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import pytest

from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.machine import Campaign, run_campaign
from loopspec.conformance.mutants import mutated_impl
from loopspec.conformance.subjects.contract import Subject
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import Scenario, parse_scenario
from loopspec.model.table import TABLE
from loopspec.model.words import CALLS, Observation

EXAMPLES = 25


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Outcome]]:
    """Every outcome that a campaign counts."""
    seen: list[Outcome] = []
    add = Campaign.add

    def noted(campaign: Campaign, outcome: Outcome) -> None:
        seen.append(outcome)
        add(campaign, outcome)

    monkeypatch.setattr(Campaign, "add", noted)
    yield seen


def taken(outcomes: list[Outcome]) -> list[Scenario]:
    """The scenarios so far, taken out of the list."""
    scenarios = [outcome.scenario for outcome in outcomes]
    outcomes.clear()
    return scenarios


def test_the_seed_decides_everything(outcomes: list[Outcome]) -> None:
    """The same scenarios in the same order; another seed gives others."""
    first = run_campaign(ModelSubject, examples=EXAMPLES, seed_number=7)
    scenarios = taken(outcomes)
    second = run_campaign(ModelSubject, examples=EXAMPLES, seed_number=7)

    assert taken(outcomes) == scenarios
    assert second == first
    run_campaign(ModelSubject, examples=EXAMPLES, seed_number=8)
    assert taken(outcomes) != scenarios


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_two_subjects_that_do_the_same_get_the_same_scenarios(
    outcomes: list[Outcome], seed: int
) -> None:
    """What is drawn next depends on the specification's session alone.

    Observations may differ where the specification leaves the order open: of two lines that wait
    for one observation, the second may come before or behind the tick in which idle is told. From
    there on the sessions differ, and so does what is drawn.
    """
    run_campaign(ModelSubject, examples=EXAMPLES, seed_number=seed)
    model = list(outcomes)
    outcomes.clear()
    run_campaign(PythonSubject, examples=EXAMPLES, seed_number=seed)

    assert not any(outcome.findings for outcome in outcomes)
    same = [
        *takewhile(lambda pair: pair[0].trace == pair[1].trace, zip(outcomes, model, strict=False))
    ]
    assert [ours.scenario for ours, _ in same] == [theirs.scenario for _, theirs in same]
    assert len(same) >= 2


def test_what_the_generator_did_can_be_replayed(outcomes: list[Outcome]) -> None:
    """The lines that were written down, printed and read again, give the same observations."""
    run_campaign(ModelSubject, examples=60, seed_number=11)
    windows = 0
    for outcome in outcomes:
        scenario = parse_scenario(str(outcome.scenario))
        again = run_scenario(ModelSubject(), scenario)
        windows += sum(line.window.kind != "rest" for line in scenario.lines)

        assert scenario == outcome.scenario
        assert told(again) == told(outcome)
    assert windows > len(outcomes)


def told(outcome: Outcome) -> list[Observation]:
    """What the subject did."""
    return [entry for entry in outcome.trace if isinstance(entry, Observation)]


def test_rows_cells_and_premises_are_counted() -> None:
    """Over all runs; what was counted exists."""
    progress: list[int] = []
    campaign = run_campaign(
        ModelSubject,
        examples=EXAMPLES,
        seed_number=1,
        progress=lambda campaign: progress.append(campaign.scenarios),
    )
    keys = {row.key for row in TABLE}

    assert campaign.failed is None
    assert campaign.scenarios >= EXAMPLES
    assert progress == list(range(1, campaign.scenarios + 1))
    assert campaign.actions > campaign.scenarios
    assert campaign.observations > campaign.actions
    assert campaign.peak <= 2  # a call between ticks may follow a resume that nobody saw
    assert set(campaign.rows) <= keys
    assert len(campaign.rows) > len(keys) // 2
    assert set(campaign.met) <= {each.code for each in PROPERTIES}
    assert {call for call, _, _ in campaign.cells} == set(CALLS)
    assert len({window for _, window, _ in campaign.cells}) >= 4
    assert sum(campaign.cells.values()) <= campaign.actions


@pytest.mark.parametrize(
    "mutant_id", ["canary", "claim-two-prompts", "no-turn-end-on-error", "replace-at-tail"]
)
def test_a_mutant_is_found_and_its_scenario_replays(mutant_id: str) -> None:
    """The campaign ends with the first finding, and its scenario shows it again."""
    impl = mutated_impl(mutant_id)

    def faulty() -> Subject:
        return PythonSubject(impl=impl)

    campaign = run_campaign(faulty, examples=200, seed_number=2)

    assert campaign.failed is not None
    assert campaign.scenarios < 200
    again = run_scenario(faulty(), campaign.failed.scenario)
    assert again.findings[0].key == campaign.failed.findings[0].key
    assert run_scenario(PythonSubject(), campaign.failed.scenario).findings == ()
