"""The judge: a damaged trace gives a finding that says what, where, why, and by which rules."""

from itertools import pairwise

import pytest

from loopspec.conformance.drive import run_scenario
from loopspec.conformance.judge import SENTENCES, TRACE, Finding, judge
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import (
    Answer,
    Call,
    Entry,
    Made,
    Observation,
    Rest,
    observation,
    text_message,
)

A, B = text_message("A"), text_message("B")
REJECTED = "followup A\npre-step: reject"


def trace_of(text: str) -> tuple[Entry, ...]:
    """What the specification does in a scenario."""
    return run_scenario(ModelSubject(), parse_scenario(text)).trace


def place_of(trace: tuple[Entry, ...], name: str, listener: str = "first") -> int:
    """Where an observation is told for the first time."""
    return next(
        index
        for index, entry in enumerate(trace)
        if isinstance(entry, Observation) and (entry.name, entry.listener) == (name, listener)
    )


def last_rest(trace: tuple[Entry, ...]) -> tuple[int, Rest]:
    """The last quiescent point."""
    index = max(index for index, entry in enumerate(trace) if isinstance(entry, Rest))
    rest = trace[index]
    assert isinstance(rest, Rest)
    return index, rest


def by_code(findings: list[Finding]) -> dict[str, Finding]:
    """Findings by the code of their property; each code is reported once."""
    assert len({finding.code for finding in findings}) == len(findings)
    return {finding.code: finding for finding in findings}


def test_a_trace_of_the_specification_has_no_finding_and_counts_its_rows() -> None:
    """Rows and premises are counted, and there is one explanation all along."""
    seen = judge(trace_of(REJECTED))

    assert seen.findings == []
    assert seen.rows["decided to reject"] == 1
    assert seen.met["REJ"] == 1
    assert seen.peak == 1
    assert seen.position == len(trace_of(REJECTED))


def test_a_wrong_number_is_told_with_what_was_allowed() -> None:
    """Did, allowed, because, however; the rules of the row that was due, then of the property."""
    trace = trace_of(REJECTED)
    place = place_of(trace, "agent/inbox/claimed")
    wrong = observation("event", "agent/inbox/claimed", A, 2, listener="first")
    (finding,) = judge((*trace[:place], wrong, *trace[place + 1 :])).findings
    rules = next(each.rules for each in PROPERTIES if each.code == "SCOPE")

    assert finding == Finding(
        "SCOPE",
        ("CL-05", "CL-06", "LN-05", *(rule for rule in rules if rule != "CL-06")),
        ("turn 1 is open.",),
        "claimed names turn 2",
        "agent/inbox/claimed A 2",
        ("agent/inbox/claimed A 1",),
        place,
    )


def test_what_no_property_sees_is_told_with_what_was_allowed() -> None:
    """Inclusion alone: the text says after what, and what would have been right."""
    trace = trace_of(REJECTED)
    place = place_of(trace, "turn/end")
    (finding, *_) = judge((*trace[:place], *trace[place + 1 :])).findings

    assert finding.code == TRACE
    assert finding.because[0].startswith("after ")
    assert "the specification allows: turn/end 1 blocked." in finding.because[0]
    assert finding.however == "the subject did: turn/end 1 blocked (last)"
    assert finding.sentence == SENTENCES[TRACE]
    assert finding.key == (TRACE, "turn/end")


def test_a_wrong_ending_breaks_two_promises_and_names_the_row_first() -> None:
    """A property's finding carries what inclusion allowed there, and both their rules."""
    trace = trace_of(REJECTED)
    place = place_of(trace, "turn/end")
    wrong = observation("record", "turn/end", 1, "completed", None, None, listener="first")
    findings = by_code(judge((*trace[:place], wrong, *trace[place + 1 :])).findings)

    assert set(findings) == {"REJ", "CAUSE"}
    finding = findings["REJ"]
    assert finding.because == ("the pre-step decision over A was to reject.",)
    assert finding.however == "the turn ended as completed"
    assert finding.did == "turn/end 1 completed"
    assert finding.allowed == ("turn/end 1 blocked",)
    assert finding.rules[:3] == ("TB-01", "TB-18", "CN-14")
    assert {"PS-10", "TB-07", "TB-15"} <= set(finding.rules)
    assert finding.position == place
    assert finding.key == ("REJ", "")
    assert finding.sentence.startswith("A reject opens no step, puts nothing back")


def test_without_inclusion_only_properties_are_heard() -> None:
    """Nothing is allowed, since nothing was asked; rules are those of the property."""
    trace = trace_of(REJECTED)
    place = place_of(trace, "turn/end")
    wrong = observation("record", "turn/end", 1, "completed", None, None, listener="first")
    damaged = (*trace[:place], wrong, *trace[place + 1 :])
    findings = by_code(judge(damaged, inclusion=False).findings)

    assert set(findings) == {"REJ", "CAUSE"}
    assert findings["REJ"].allowed == ()
    assert findings["REJ"].rules == next(each.rules for each in PROPERTIES if each.code == "REJ")
    seen = judge(damaged, inclusion=False)
    assert (seen.session, seen.rows) == (None, {})


def test_an_ending_that_never_comes_is_found_at_rest() -> None:
    """What is owed is a finding like what is wrong: here the run just stops."""
    trace = trace_of(REJECTED)
    _, rest = last_rest(trace)
    cut = (*trace[: place_of(trace, "turn/end")], rest._replace(status="running"))
    findings = judge(cut).findings

    assert [finding.code for finding in findings] == ["REJ", "TERM"]
    assert findings[0].did == "nothing more"
    assert findings[0].allowed == ("turn/end 1 blocked",)
    assert findings[0].however == "the turn is not closed and the session is running"


def test_a_delivery_to_one_listener_only_is_found() -> None:
    """Each delivery is an observation of its own."""
    trace = trace_of(REJECTED)
    place = place_of(trace, "turn/end")
    first = judge((*trace[:place], *trace[place + 1 :])).findings[0]
    last = judge((*trace[: place + 1], *trace[place + 2 :])).findings[0]

    assert (first.code, first.did) == (TRACE, "turn/end 1 blocked (last)")
    assert last.allowed == ("turn/end 1 blocked (last)",)
    assert last.did == "agent/status idle"


def test_every_swap_of_two_different_observations_is_found() -> None:
    """The order is the contract; this session has nothing that may come either way."""
    trace = trace_of(REJECTED)
    swaps = 0
    for place, (one, other) in enumerate(pairwise(trace)):
        if isinstance(one, Observation) and isinstance(other, Observation):
            swaps += 1
            assert judge((*trace[:place], other, one, *trace[place + 2 :])).findings
    assert swaps == 16


@pytest.mark.parametrize(
    ("changed", "codes", "however", "did"),
    [
        (
            {"status": "running"},
            ("STATUS", "TERM"),
            "the session reads running",
            "running  next-turn -  next-step -",
        ),
        (
            {"next_turn": (A,)},
            ("LOST",),
            "the inbox shows next-turn A, next-step -",
            "idle  next-turn A  next-step -",
        ),
    ],
)
def test_a_projection_that_differs_is_found(
    changed: dict[str, str | tuple[object, ...]], codes: tuple[str, ...], however: str, did: str
) -> None:
    """Lists and status are read at every quiescent point; what was read stands beside the rest."""
    trace = trace_of(REJECTED)
    place, rest = last_rest(trace)
    findings = judge((*trace[:place], rest._replace(**changed))).findings  # type: ignore[arg-type]

    finding = findings[0]
    assert tuple(each.code for each in findings) == codes
    assert finding.however == however
    assert {each.did for each in findings} == {did}
    assert finding.allowed == ("idle  next-turn -  next-step -",)


def test_a_gate_whose_signal_is_wrong_is_told_as_it_was_read() -> None:
    """The finding shows what was allowed; its text says what the signal should read."""
    trace = trace_of("followup A")
    place, rest = last_rest(trace)
    (finding,) = judge((*trace[:place], rest._replace(gates=(("assemble", True),)))).findings

    assert finding.code == "SCOPE"
    assert finding.because == ("the activity was not canceled.",)
    assert finding.however == "at assemble its signal reads otherwise"
    assert finding.did == "running  next-turn -  next-step -  at assemble (aborted)"
    assert finding.allowed == ("running  next-turn -  next-step -  at assemble",)


def test_a_fault_of_the_subject_is_a_finding() -> None:
    """No session makes an observation of kind fault."""
    fault = Observation("fault", "spinning", (("error", "it never rests"),))
    (finding,) = judge((*trace_of(REJECTED), fault)).findings

    assert finding.key == (TRACE, "spinning")
    assert finding.did == "spinning it never rests"
    assert finding.allowed == ("nothing more",)


def test_a_call_where_none_can_land_and_an_answer_to_no_gate_are_found() -> None:
    """The text says why the specification refuses them."""
    (call,) = judge((Made(Call("followup", (A,)), inside=True),)).findings
    (answer,) = judge((Answer("pre-step", "enter"),)).findings

    assert call.because == ("at the start, the specification allows: no delivery is under way.",)
    assert call.did == "it was called: followup"
    assert answer.allowed == ("the gate pre-step is not open; open: none",)


def test_after_the_first_parting_the_properties_go_on() -> None:
    """One damage at the claim hides nothing that is broken later."""
    trace = trace_of(REJECTED)
    claim = place_of(trace, "agent/inbox/claimed")
    end = place_of(trace, "turn/end")
    wrong = observation("event", "agent/inbox/claimed", A, 2, listener="first")
    damaged = (*trace[:claim], wrong, *trace[claim + 1 : end], *trace[end + 2 :])
    codes = [finding.code for finding in judge(damaged).findings]

    assert codes == ["SCOPE", "STATUS", "BAL", "REJ"]


def test_a_repeated_breach_is_reported_once() -> None:
    """The first place is what a person needs."""
    idle = observation("event", "agent/status", "idle", listener="first")
    findings = judge((*trace_of(REJECTED), idle, idle, idle)).findings

    assert [finding.code for finding in findings] == ["STATUS"]
