"""The drive: lines land in the windows that they name, and the trace says where."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.subjects.contract import Lists, Subject
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import Answer, Made, Observation, Rest, text_message

SUBJECTS: tuple[Callable[[], Subject], ...] = (ModelSubject, PythonSubject)


def run(text: str, make: Callable[[], Subject] = PythonSubject) -> Outcome:
    """One scenario on one subject."""
    return run_scenario(make(), parse_scenario(text))


def words(outcome: Outcome) -> list[str]:
    """The trace in short words: `NAME` or `NAME last`, `call NAME`, `> GATE`, `rest`."""
    said = []
    for entry in outcome.trace:
        if isinstance(entry, Made):
            said.append(f"call {entry.call.name}" + (" inside" if entry.inside else ""))
        elif isinstance(entry, Answer):
            said.append(f"> {entry.gate}")
        elif isinstance(entry, Rest):
            said.append("rest")
        else:
            kind = "return " if entry.kind == "return" else ""
            said.append(kind + entry.name + (" last" if entry.listener == "last" else ""))
    return said


def before(outcome: Outcome, call: str, count: int = 1) -> list[str]:
    """What stands right before a call in the trace."""
    said = words(outcome)
    place = next(index for index, word in enumerate(said) if word.startswith(f"call {call}"))
    return said[place - count : place]


@pytest.fixture(params=SUBJECTS, ids=["model", "python"])
def make(request: pytest.FixtureRequest) -> Callable[[], Subject]:
    """Each window is the same for the specification and for the shipped loop."""
    factory: Callable[[], Subject] = request.param
    return factory


@pytest.mark.parametrize(
    ("window", "name"),
    [
        ("in turn/start#1 first", "turn/start"),
        ("in turn/start#1 last", "turn/start last"),
        ("in turn/start#1", "turn/start"),
        ("in agent/inbox/claimed#1 last", "agent/inbox/claimed last"),
        ("in agent/status#1 first", "agent/status"),
        ("in pre-step#1", "pre-step"),
        ("in provider#1", "provider"),
    ],
)
def test_a_call_inside_a_delivery_comes_right_behind_it(
    window: str, name: str, make: Callable[[], Subject]
) -> None:
    """Of a record, an event, or a gate's arrival; before the next listener is told."""
    outcome = run(f"followup A\n{window}: cancel user keep\npre-step: enter\nprovider: done", make)

    assert before(outcome, "cancel") == [name]
    assert "call cancel inside" in words(outcome)
    assert outcome.findings == ()


def test_the_number_of_a_window_counts_deliveries_to_that_listener() -> None:
    """The second prompt's claim, not the second delivery of the first."""
    text = "followup A\nfollowup B\nin agent/inbox/claimed#2 last: inject C\npre-step: enter"
    outcome = run(f"{text}\nprovider: done")
    claims = [entry for entry in outcome.trace if getattr(entry, "name", "").endswith("claimed")]

    assert all(outcome.made)
    assert len(claims) == 4
    assert before(outcome, "inject", 3) == [
        "agent/inbox/spliced last",
        "agent/inbox/claimed",
        "agent/inbox/claimed last",
    ]


def test_two_lines_of_one_window_are_made_in_their_order(make: Callable[[], Subject]) -> None:
    """Both inside the same delivery."""
    outcome = run(
        "followup A\nin pre-step#1: inject B\nin pre-step#1: steer C\npre-step: reject", make
    )
    said = words(outcome)

    assert said.index("call inject inside") < said.index("call steer inside")
    assert outcome.trace[-1] == Rest((), (text_message("B"), text_message("C")), "idle", ())


@pytest.mark.parametrize(
    ("ticks", "place"),
    [(1, ["turn/end", "turn/end last"]), (2, ["agent/status", "agent/status last"])],
)
def test_a_call_some_ticks_after_an_observation(
    ticks: int, place: list[str], make: Callable[[], Subject]
) -> None:
    """One tick after the turn's end is the exit gap; two ticks after it the agent is idle."""
    outcome = run(f"followup A\nafter turn/end#1 +{ticks}: inject B\npre-step: reject", make)

    assert before(outcome, "inject", 2) == place
    assert "call inject inside" not in words(outcome)
    assert outcome.findings == ()


def test_a_call_right_behind_an_answer_comes_before_the_driver(
    make: Callable[[], Subject],
) -> None:
    """The answer is given, and nobody has acted on it."""
    outcome = run(
        "followup A\nafter pre-step answer#1 +0: cancel user keep\npre-step: reject", make
    )

    assert before(outcome, "cancel") == ["> pre-step"]
    assert "turn/end" in words(outcome)
    assert outcome.findings == ()


def test_the_number_behind_an_answer_counts_answers_of_that_gate(
    make: Callable[[], Subject],
) -> None:
    """An implied answer counts as well."""
    outcome = run(
        "followup A\nafter assemble answer#2 +0: inject B\n"
        "pre-step: enter\nprovider: owes\npre-step: enter",
        make,
    )

    assert before(outcome, "inject") == ["> assemble"]
    assert words(outcome).count("> assemble") == 2


def test_an_open_assembly_is_answered_on_the_way_to_a_later_gate(
    make: Callable[[], Subject],
) -> None:
    """The scenario need not say `assemble: assembled`; the trace does, with a rest behind it."""
    outcome = run("followup A\npre-step: reject", make)
    said = words(outcome)
    place = said.index("> assemble")

    assert said[place - 1 : place + 4] == ["rest", "> assemble", "pre-step", "rest", "> pre-step"]
    assert outcome.actions == 2


def test_an_assembly_that_ends_the_turn_makes_the_later_answer_idle() -> None:
    """The implied answer is given, and the gate that was meant never opens."""
    outcome = run("followup A\ncancel user keep\npre-step: enter")

    assert outcome.made == (True, True, False)
    assert words(outcome).count("> assemble") == 1
    assert "> pre-step" not in words(outcome)


def test_lines_that_are_not_enabled_are_skipped(make: Callable[[], Subject]) -> None:
    """Answers without a gate, and windows that never come, leave no trace."""
    outcome = run(
        "pre-step: enter\nprovider: done\nassemble: failed\n"
        "in turn/end#1 last: inject B\nafter turn/end#3 +1: inject C\nfollowup A\nprovider: done",
        make,
    )

    assert outcome.made == (False, False, False, False, False, True, False)
    assert outcome.actions == 1
    # The last line has answered the assembly on its way, and found no request.
    assert words(outcome).count("> assemble") == 1
    assert "> provider" not in words(outcome)
    assert outcome.findings == ()


def test_a_line_with_a_window_may_stand_behind_the_line_that_opens_it() -> None:
    """Windows are armed before the first line is made, so their place in the text is free."""
    first = run("in turn/start#1 last: cancel user keep\nfollowup A\nassemble: assembled")
    last = run("followup A\nassemble: assembled\nin turn/start#1 last: cancel user keep")

    assert first.trace == last.trace


def test_calls_inside_calls_are_made_in_the_middle_of_them() -> None:
    """The return of the inner call comes before the next delivery of the outer one."""
    outcome = run("followup A\nin agent/inbox/inserted#1 first: inject B")
    said = words(outcome)
    inner = said.index("call inject inside")

    assert said[inner - 1] == "agent/inbox/inserted"
    assert said.index("return inject") < said.index("agent/status")
    assert outcome.findings == ()


class Forgetful(ModelSubject):
    """Its log folds to nothing, whatever the inbox shows."""

    def folded(self) -> Lists | None:
        """Two empty lists."""
        return ((), ())


class Unfolded(ModelSubject):
    """It has no log that could be read."""

    def folded(self) -> Lists | None:
        """Nothing to compare."""
        return None


def test_a_log_that_folds_to_other_lists_is_a_finding() -> None:
    """Log and inbox tell the same; a subject without a log is not asked."""
    forgetful = run("inject A", Forgetful)
    unfolded = run("inject A", Unfolded)

    assert forgetful.findings[0].did.startswith("fold differs")
    assert isinstance(forgetful.trace[-1], Observation)
    assert unfolded.findings == ()


class Counting(ModelSubject):
    """Counts how often it was closed, and fails in its second call."""

    closed = 0
    calls = 0

    def call(self, call: object) -> None:
        """The second call is too much."""
        self.calls += 1
        if self.calls > 1:
            msg = "the adapter broke"
            raise RuntimeError(msg)

    def close(self) -> None:
        """Count."""
        self.closed += 1


def test_a_subject_is_closed_whatever_happens() -> None:
    """Also when the adapter raises; its error is a `ControlError` by then."""
    subject = Counting()
    with pytest.raises(ControlError, match="the adapter broke"):
        run_scenario(subject, parse_scenario("inject A\ninject B"))

    assert subject.closed == 1


def test_another_profile_judges_the_same_scenario_otherwise() -> None:
    """The scenario's own profile counts unless one is given."""
    scenario = parse_scenario("followup A\nfollowup B\ncancel user keep\nassemble: assembled")
    own = run_scenario(PythonSubject(), scenario)
    other = run_scenario(PythonSubject(), scenario, profile="notes-park")

    assert own.findings == ()
    assert other.findings[0].did == "agent/status running"
