"""Faults of the environment in the suite: driven, judged by their own properties, or skipped."""

import pytest

from loopspec.conformance.drive import run_scenario
from loopspec.conformance.judge import Judge
from loopspec.conformance.machine import FAULT_CALLS, run_campaign
from loopspec.conformance.subjects.contract import CAPABILITIES, needed, within
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.playback import play
from loopspec.model.policy import PROFILES
from loopspec.model.properties import FAULT_PROPERTIES, laws
from loopspec.model.scenario import Scenario, parse_scenario
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.words import RECORDS, THROWING, Call, Made
from tests.conformance.checks import checked, cover_of, run

FAULTY = tuple(scope for scope in DEFAULT_SCOPES if scope.faults)


class Faultless(PythonSubject):
    """The shipped loop behind an adapter that can arm nothing."""

    capabilities = frozenset(CAPABILITIES) - {"faults"}


@pytest.mark.parametrize("profile", ["notes", "dsh-0.1-gates"])
def test_the_loop_does_under_faults_what_the_table_says(profile: str) -> None:
    """Every row and cell of the fault scopes, by the answers of both readings."""
    for scenario in cover_of(profile, FAULTY).scenarios:
        agree(scenario, profile)


@pytest.mark.parametrize("name", [*RECORDS, *THROWING])
@pytest.mark.parametrize("profile", ["notes", "dsh-0.1-gates"])
@pytest.mark.parametrize("cancel", [False, True], ids=["goes on", "canceled"])
def test_each_record_and_event_fails_in_a_whole_turn(name: str, profile: str, cancel: bool) -> None:
    """At its first occasion behind the claim, with a queue behind the turn."""
    lines = (
        *("followup A", f"{'refuse' if name in RECORDS else 'throw'} {name}", "inject B"),
        *("followup C", "pre-step: enter", "provider: tools x", *["cancel user keep"] * cancel),
        *("tool x: result D", "pre-step: enter", "provider: done", "followup E", "clear"),
    )
    played = play(parse_scenario("\n".join(lines)))
    left_out = {skip.line for skip in played.skipped}
    made = "\n".join(line for line in lines if parse_scenario(line).lines[0] not in left_out)

    agree(parse_scenario(made), profile)


def agree(scenario: Scenario, profile: str) -> None:
    """Loop and table make the same trace, and nothing is found."""
    shipped = run_scenario(PythonSubject(profile=profile), scenario, profile=profile)
    model = run_scenario(ModelSubject(PROFILES[profile]), scenario, profile=profile)
    assert () == shipped.findings, str(scenario)
    assert model.trace == shipped.trace, str(scenario)


def test_random_runs_arm_every_fault() -> None:
    """Some of the runs, so that the laws are asked in the others."""
    campaign = run_campaign(PythonSubject, examples=120, steps=30, seed_number=3)

    assert campaign.failed is None
    assert {"refuse the next append", "throw at the next dispatch"} <= set(campaign.rows)
    assert {each.code for each in FAULT_PROPERTIES} & set(campaign.met)
    assert {"BAL", "OWN", "LOST", "WAKE"} <= set(campaign.met)
    assert {(call.name, *call.args) for call in FAULT_CALLS} == {
        *(("refuse", name) for name in RECORDS),
        *(("throw", name) for name in THROWING),
    }


def test_without_the_capability_faults_are_skipped_and_not_owed() -> None:
    """Nothing is armed, no cell and no premise is missed, and the reason is told."""
    result = checked(Faultless)

    assert ("faults",) == result.lacking
    assert "holds" == result.verdict
    assert not [key for key in result.rows if key.startswith(("refuse ", "throw "))]
    assert [skip for skip in result.skips if "not declared: faults " in skip]
    assert not set(result.applied) & set(FAULT_PROPERTIES)


def test_a_scope_of_faults_is_left_out_without_the_capability() -> None:
    """What is left of it would be another scope."""
    scenario = parse_scenario("refuse turn/start\nfollowup A\n")

    assert {"faults"} == needed(scenario)
    assert () == within(FAULTY[0], Faultless.capabilities).calls
    assert FAULTY[0] == within(FAULTY[0], frozenset(CAPABILITIES))


def test_the_laws_are_asked_up_to_the_first_fault() -> None:
    """From there on only the properties of runs with faults."""
    judge = Judge()
    assert (*laws(PROFILES["notes"]), *FAULT_PROPERTIES) == judge.properties

    judge.see(Made(Call("refuse", ("turn/end",)), False))

    assert FAULT_PROPERTIES == judge.properties


def test_a_law_broken_before_the_first_fault_is_found() -> None:
    """The fault does not hide what came before it."""
    from loopspec.conformance.mutants import mutated_impl

    text = "profile notes\nfollowup A\nrefuse turn/end\npre-step: reject\n"
    outcome = run(text, PythonSubject(mutated_impl("canary")))

    assert "BAL" in {finding.code for finding in outcome.findings}
