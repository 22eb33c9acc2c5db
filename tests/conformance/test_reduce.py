"""Reduction: a long failing scenario becomes the one that a person would have written."""

from __future__ import annotations

import itertools

import pytest

from loopspec.conformance import reduce
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.judge import Finding
from loopspec.conformance.mutants import mutated_impl
from loopspec.conformance.reduce import Reduced, reduce_scenario, weaker_lines
from loopspec.conformance.subjects.contract import Subject, SubjectFactory
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario

NOISY = """
inject A
append next-turn B
in agent/inbox/inserted#2 last: steer C
after turn/end#1 +1: steer D
followup E "two words" image:"ref-1"
pre-step: enter
provider: owes
inject F
pre-step: enter nothing
provider: max-tokens
replace F G
pre-step: reject
cancel parent keep
splice next-turn 0 0 H I
pre-step: reject
followup J
"""


def faulty(mutant_id: str) -> SubjectFactory:
    """A factory of subjects with that fault."""
    impl = mutated_impl(mutant_id)
    return lambda: PythonSubject(impl=impl)


def failing(factory: SubjectFactory, text: str, code: str = "") -> tuple[Outcome, Finding]:
    """An outcome with its finding of that code, or its first one."""
    outcome = run_scenario(factory(), parse_scenario(text))
    found = [each for each in outcome.findings if not code or each.code == code]
    assert found, outcome.findings
    return outcome, found[0]


def reduced(mutant_id: str, text: str, code: str = "") -> Reduced:
    """A scenario of a mutant, reduced."""
    factory = faulty(mutant_id)
    return reduce_scenario(factory, *failing(factory, text, code))


def lines(result: Reduced) -> list[str]:
    """The lines of a reduced scenario."""
    return [str(line) for line in result.scenario.lines]


def test_a_long_noisy_scenario_reduces_to_the_known_witness() -> None:
    """Sixteen lines become two, and nothing shorter shows it."""
    result = reduced("requeue-on-reject", NOISY, "REJ")

    assert len(result.scenario) == 2
    assert lines(result)[1] == "pre-step: reject"
    assert result.minimal == "exhaustive"
    assert result.finding.code == "REJ"
    assert result.outcome.findings
    assert result.replays < 400


def test_a_window_moves_forward_when_lines_before_it_go() -> None:
    """The third turn's end becomes the first one."""
    result = reduced(
        "late-wake-lost",
        "followup A\npre-step: reject\nfollowup B\npre-step: reject\nfollowup C\n"
        "after turn/end#3 +1: followup D\npre-step: reject",
        "WAKE",
    )

    assert len(result.scenario) == 3
    assert [line for line in lines(result) if line.startswith("after turn/end#1 +1: followup")]


def test_a_call_and_its_answer_go_together() -> None:
    """A turn in between is left out, although neither of its two lines can go alone."""
    result = reduced(
        "requeue-prompt-only",
        "followup A\npre-step: raise\nfollowup B\npre-step: reject\nclear",
        "REJ",
    )

    assert len(result.scenario) == 2


def test_lines_that_were_not_made_are_left_out_first() -> None:
    """They say nothing; the scenario without them is the first that is tried."""
    result = reduced("second-cause-wins", "provider: done\npre-step: reject\n" + MANY, "CAUSE")

    assert len(result.scenario) <= 4
    assert "provider: done" not in lines(result)


MANY = (
    "followup A\ncancel user keep\nin turn/end#1 first: inject B\ncancel hook drop\npre-step: enter"
)


def test_a_finding_that_does_not_come_back_is_returned_as_it_was() -> None:
    """A flaky subject gets no scenario that nobody can replay: minimal is no."""
    factory = faulty("requeue-on-reject")
    outcome, finding = failing(factory, NOISY, "REJ")
    result = reduce_scenario(PythonSubject, outcome, finding)

    assert result.minimal == "no"
    assert result.scenario == outcome.scenario
    assert result.outcome is outcome
    assert result.finding is finding
    assert result.replays == 2


def test_a_subject_that_fails_sometimes_keeps_what_its_replay_shows() -> None:
    """Every third subject is healthy; what comes out has been seen to fail."""
    impl = mutated_impl("requeue-on-reject")
    turn = itertools.count()

    def sometimes() -> Subject:
        return PythonSubject() if next(turn) % 3 == 2 else PythonSubject(impl=impl)

    result = reduce_scenario(sometimes, *failing(sometimes, NOISY, "REJ"))

    assert result.outcome.findings
    assert result.outcome.scenario == result.scenario
    assert len(result.scenario) < len(NOISY.split("\n"))


def test_a_spent_budget_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left when the replays are used up is not called minimal."""
    monkeypatch.setattr(reduce, "REPLAYS_MAX", 3)
    result = reduced("requeue-on-reject", NOISY, "REJ")

    assert result.minimal == "no"
    assert result.replays == 3
    assert result.outcome.findings


def test_more_than_three_lines_are_minimal_in_single_steps() -> None:
    """No line can be left out, moved to rest or replaced by a weaker one."""
    factory = faulty("max-tokens-forgotten")
    text = (
        "followup A\nsteer B\nappend next-turn C\npre-step: enter\nprovider: max-tokens\n"
        "pre-step: enter\nprovider: done"
    )
    result = reduce_scenario(factory, *failing(factory, text))

    assert result.minimal == "1-minimal"
    assert len(result.scenario) == 6
    for index in range(len(result.scenario)):
        fewer = "\n".join(line for at, line in enumerate(lines(result)) if at != index)
        again = run_scenario(factory(), parse_scenario(fewer))
        assert result.finding.key not in [finding.key for finding in again.findings]


@pytest.mark.parametrize(
    ("line", "weaker"),
    [
        ("followup A", ["append next-turn A"]),
        ('followup A "two words"', ['append next-turn A "two words"', "followup A"]),
        ("in turn/start#1 first: inject A", ["inject A"]),
        ("in turn/start#1 last: inject A", ["inject A", "in turn/start#1 first: inject A"]),
        (
            "after turn/end#2 +2: steer A",
            [
                "steer A",
                "after turn/end#2 +1: steer A",
                "after turn/end#1 +2: steer A",
                "after turn/end#2 +2: inject A",
            ],
        ),
        ("after pre-step answer#1 +0: clear", ["clear"]),
        ("cancel user keep", []),
        ("cancel parent drop", ["cancel user keep"]),
        ("cancel disposed keep", ["cancel user keep"]),
        ("append next-step A", ["append next-turn A"]),
        ('splice next-step 0 1 A "x"', ["splice next-step 0 1 A", 'splice next-turn 0 1 A "x"']),
        ("provider: owes", ["provider: done"]),
        ("provider: error", []),
        (
            "provider: parallel x y",
            ["provider: done", "provider: tools x y", "provider: parallel x"],
        ),
        ("tool x: concludes B", ["tool x: result B", "tool x: concludes"]),
        ("pre-step: enter A", ["pre-step: enter"]),
        ("pre-step: enter nothing", []),
        ("pre-step: reject", []),
    ],
)
def test_weaker_lines_are_smaller_in_a_fixed_order(line: str, weaker: list[str]) -> None:
    """A line at rest is weaker than one in a window, a plain message than one with content."""
    (parsed,) = parse_scenario(line).lines

    assert [str(each) for each in weaker_lines(parsed)] == weaker


def test_hooks_are_let_pass_and_messages_named_in_order() -> None:
    """What a scenario holds and how it names its messages says nothing about most findings."""
    noisy = "gates request turn-stopping\nappend next-turn Q\nfollowup M-7\npre-step: reject\n"
    result = reduced("claim-two-prompts", noisy)

    assert result.scenario.gates == ()
    assert result.minimal in ("exhaustive", "1-minimal")
    assert {"Q", "M-7"}.isdisjoint({line.split()[-1] for line in lines(result)})
