"""Faults of the environment: what a refused record or a throwing interceptor does, and who sees it.

Each trace is what a contract rule says, line by line; each damaged trace is seen by its property.
"""

from collections.abc import Sequence

import attrs
import pytest

from loopspec.model.explore import explore
from loopspec.model.playback import play, trace_lines
from loopspec.model.policy import DSH_0_1, NOTES
from loopspec.model.properties import FAULT_PROPERTIES, PROPERTIES, Breach, at_start, laws, watch
from loopspec.model.scenario import ScenarioError, parse_scenario
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.session import Session, parked_reason
from loopspec.model.words import LAST, RECORDS, THROWING, Entry, Observation, Value


def told(*lines: str, profile: str = "notes") -> list[str]:
    """What a scenario does on the model, without the rests."""
    played = play(parse_scenario("\n".join((f"profile {profile}", *lines))))
    assert () == played.skipped
    return [line.strip() for line in trace_lines(played.trace) if not line.startswith("=")]


def after(*lines: str, profile: str = "notes") -> Session:
    """The session behind a scenario."""
    return play(parse_scenario("\n".join((f"profile {profile}", *lines)))).session


def seen(entries: Sequence[Entry]) -> list[Breach]:
    """What the properties of runs with faults report."""
    ghosts = at_start(FAULT_PROPERTIES)
    found: list[Breach] = []
    for entry in entries:
        if isinstance(entry, Observation) and entry.listener == LAST:
            continue
        ghosts, breaches, _ = watch(ghosts, entry, FAULT_PROPERTIES)
        found.extend(breaches)
    return found


def trace(*lines: str, profile: str = "notes") -> tuple[Entry, ...]:
    """The trace of a scenario."""
    return play(parse_scenario("\n".join((f"profile {profile}", *lines)))).trace


# --- Boundaries ---------------------------------------------------------------------------------


def test_a_refused_turn_start_changes_no_list_and_frees_the_number() -> None:
    """TB-03, R13: reported with the turn before and step 0; the next turn takes the number."""
    lines = told(
        *("followup A", "followup B", "refuse turn/start", "pre-step: enter", "provider: done"),
        "followup C",
    )
    end = lines.index("turn/end 1 completed")

    assert lines[end + 1 : end + 3] == ["agent/error 1.0 append-refused", "agent/status idle"]
    assert "turn/start 2" in lines
    assert "turn/start 3" not in lines


def test_a_refused_first_turn_is_reported_with_turn_0() -> None:
    """TB-03: there was no turn before."""
    session = after("refuse turn/start", "followup A")

    assert "agent/error 0.0 append-refused" in told("refuse turn/start", "followup A")
    assert ("A",) == tuple(item.message.id for item in session.next_turn)
    assert ("error", 0, False) == (parked_reason(session), session.turn, session.turn_open)


def test_a_refused_turn_end_holds_every_turn_behind_it() -> None:
    """TB-04, R14, LB-22: reported once, not tried again; each wake is told why nothing opens."""
    lines = told("followup A", "refuse turn/end", "pre-step: reject", "followup B", "steer C")

    assert lines.count("agent/error 1.0 append-refused") == 1
    assert lines.count("agent/error 1.0 turn-left-open") == 2
    assert [line for line in lines if line.startswith("turn/")] == ["turn/start 1"]
    assert lines[-2:] == ["agent/status idle", "steer returns"]


def test_the_release_opens_the_next_turn_all_the_same() -> None:
    """LB-22: the other value of `refused_end`."""
    lines = told(
        "followup A", "refuse turn/end", "pre-step: reject", "followup B", profile="dsh-0.1"
    )

    assert [line for line in lines if line.startswith("turn/")] == ["turn/start 1", "turn/start 2"]


def test_a_late_wake_is_parked_behind_a_refused_end() -> None:
    """TB-04 with LB-02: it gets its driver, which finds the turn open."""
    session = after(
        *("followup A", "cancel user keep", "followup B", "refuse turn/end"), "assemble: assembled"
    )

    assert ("error", False) == (parked_reason(session), session.running)
    assert {"waking"} == {item.mark for item in session.pending}


@pytest.mark.parametrize(
    ("before", "step"), [((), 0), (("pre-step: enter", "provider: owes"), 1)], ids=["first", "then"]
)
def test_a_refused_step_start_was_no_step(before: tuple[str, ...], step: int) -> None:
    """ST-04, ER-11: the report names the last step that was entered, and no step/end follows."""
    lines = told("followup A", *before, "refuse step/start", "pre-step: enter")

    assert f"agent/error 1.{step} append-refused" in lines
    assert "turn/end 1 error append-refused" in lines
    assert [f"step/end 1.{step}"] * bool(step) == [x for x in lines if x.startswith("step/end")]


def test_a_refused_step_end_fails_the_turn_and_leaves_the_step_open() -> None:
    """ST-05."""
    lines = told("followup A", "pre-step: enter", "refuse step/end", "provider: done")

    assert lines[-3:] == [
        "agent/error 1.1 append-refused",
        "turn/end 1 error append-refused",
        "agent/status idle",
    ]
    assert not [line for line in lines if line.startswith("step/end")]


@pytest.mark.parametrize("record", ["user/message", "assistant/message", "tool/call"])
def test_another_refused_record_of_a_step_fails_the_turn_behind_a_closed_step(record: str) -> None:
    """ST-05: whatever the step could not record."""
    reply = () if record == "user/message" else ("provider: tools x",)
    lines = told("followup A", f"refuse {record}", "pre-step: enter", *reply)

    assert lines[-4:] == [
        "step/end 1.1",
        "agent/error 1.1 append-refused",
        "turn/end 1 error append-refused",
        "agent/status idle",
    ]


def test_an_abort_wins_over_a_refusal() -> None:
    """TB-08, TB-13: the turn is aborted, and nothing is reported."""
    lines = told(
        "followup A", "pre-step: enter", "cancel user keep", "refuse step/end", "provider: done"
    )

    assert "turn/end 1 aborted user" in lines
    assert not [line for line in lines if line.startswith("agent/error")]


def test_a_refused_result_waits_for_the_tools_beside_it() -> None:
    """TC-06: no body is left to run behind the end of its step."""
    lines = told(
        *("followup A", "pre-step: enter", "provider: parallel x y", "refuse tool/result"),
        *("tool x: result", "tool y: result B"),
    )

    assert lines.index("> tool y: result B") < lines.index("step/end 1.1")
    assert not [line for line in lines if line.startswith("tool/result")]
    assert (
        ()
        == after(
            *("followup A", "pre-step: enter", "provider: parallel x y", "refuse tool/result"),
            *("tool y: result", "tool x: result"),
        ).finished
    )


# --- Splices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        *("followup X", "steer X", "inject X", "append next-turn X", "prepend next-step X"),
        *("splice next-turn 0 1 X", "replace A X", "remove A", "clear"),
    ],
)
def test_a_call_whose_append_is_refused_changes_nothing(call: str) -> None:
    """ID-04, ID-05, REFUSED: it raises, nothing is told, nobody is woken, the next one works."""
    before = after("append next-turn A")
    lines = told("append next-turn A", "refuse agent/inbox/spliced", call)

    assert before == after("append next-turn A", "refuse agent/inbox/spliced", call)
    assert lines[-1] == f"{call.split()[0]} raises append-refused"
    again = told("append next-turn A", "refuse agent/inbox/spliced", call, call)
    assert [line for line in again if line.startswith("agent/inbox/spliced")][1:]


def test_half_a_claim_stands() -> None:
    """CL-11, P9: the first deletion is on record, and nobody is told of its messages."""
    lines = told(
        "inject A", "in agent/inbox/spliced#3 first: refuse agent/inbox/spliced", "followup B"
    )
    session = after(
        "inject A", "in agent/inbox/spliced#3 first: refuse agent/inbox/spliced", "followup B"
    )

    assert not [line for line in lines if line.startswith("agent/inbox/claimed")]
    assert "turn/end 1 error append-refused" in lines
    assert ["B"] == [item.message.id for item in session.pending]


def test_a_broad_cancel_whose_clear_is_refused_aborts_all_the_same() -> None:
    """A8: what was doomed and stays is quiet; a delivery made meanwhile still wakes (A11)."""
    lines = (
        *("followup A", "followup B", "inject C", "in agent/inbox/discarded#1 first: followup D"),
        *("in agent/inbox/discarded#1 last: refuse agent/inbox/spliced", "cancel user drop"),
    )
    session = after(*lines)

    assert told(*lines)[-1] == "cancel raises append-refused"
    assert "user" == session.cause
    assert [("B", "quiet", False), ("D", "waking", False)] == [
        (item.message.id, item.mark, item.doomed) for item in session.next_turn
    ]


def test_a_refused_clear_of_a_nested_call_spares_what_the_outer_one_dooms() -> None:
    """The outer clear goes on where the inner one has failed."""
    session = after(
        *(
            "inject A",
            "append next-turn B",
            "in agent/inbox/discarded#1 first: refuse agent/inbox/spliced",
            "in agent/inbox/discarded#1 last: clear",
            "clear",
        )
    )

    assert () == session.pending


# --- Interceptors -------------------------------------------------------------------------------


@pytest.mark.parametrize("event", THROWING)
def test_an_interceptor_that_throws_keeps_one_event_from_everybody(event: str) -> None:
    """LB-11, LB-12: contained like a listener; all else is as without it."""
    lines = told("followup A", "pre-step: reject")
    shown = [line for line in lines if not line.startswith(event)]
    shown += [line for line in lines if line == "agent/status idle"] * (event == "agent/status")
    with_fault = told(f"throw {event}", "followup A", "pre-step: reject")

    assert sorted(shown) == sorted(with_fault[2:])


def test_the_release_lets_an_interceptor_throw_into_the_dispatch() -> None:
    """ER-08 to ER-10, R1 to R3: no wake, a lost batch, running for ever."""
    inserted = told("throw agent/inbox/inserted", "followup A", profile="dsh-0.1")
    claimed = told("throw agent/inbox/claimed", "followup A", profile="dsh-0.1")
    running = after("throw agent/status", "followup A", "when-idle", profile="dsh-0.1")

    assert inserted[2:] == [
        *("> followup A", "agent/inbox/spliced next-turn@0 +A", "followup raises dispatch-failed")
    ]
    assert "turn/end 1 error dispatch-failed" in claimed
    assert (True, 1, ()) == (running.running, running.waiters, running.task)


def test_an_idle_status_is_never_hit() -> None:
    """The contract speaks of the running status alone."""
    session = after("followup A", "throw agent/status", "pre-step: reject")

    assert ("agent/status",) == session.faults


# --- Scopes, scenarios, properties --------------------------------------------------------------


def test_only_the_fault_scopes_arm_faults() -> None:
    """What other scopes count does not change; every record and interceptor is in one of them."""
    faulty = [scope for scope in DEFAULT_SCOPES if scope.faults]

    assert all("fault" in scope.name or "interceptors" in scope.name for scope in faulty)
    assert {*RECORDS, *THROWING} == {name for scope in faulty for name in scope.arms}
    assert not [scope for scope in DEFAULT_SCOPES if scope.arms and not scope.faults]
    assert {"notes", "dsh-0.1"} == {scope.profile for scope in faulty}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("refuse", "expected turn/start, turn/end"),
        ("refuse agent/status", "got 'agent/status'"),
        ("throw turn/start", "expected agent/inbox/inserted, agent/inbox/claimed or agent/status"),
        ("throw agent/status 2", "expected the end of the line, got '2'"),
    ],
)
def test_a_fault_that_cannot_be_is_named_in_one_sentence(line: str, says: str) -> None:
    """What was expected, what came and where."""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(line)

    assert says in str(caught.value)
    assert "scenario, line 1" in str(caught.value)


def test_runs_with_faults_have_properties_of_their_own() -> None:
    """The laws are not asked there, and these are not asked elsewhere."""
    assert FAULT_PROPERTIES == laws(NOTES, faults=True) == laws(DSH_0_1, faults=True)
    assert not set(FAULT_PROPERTIES) & set(laws(NOTES))
    assert {*laws(NOTES), *FAULT_PROPERTIES} == set(PROPERTIES)


def damaged(entries: tuple[Entry, ...], name: str, key: str, value: Value) -> list[Entry]:
    """A trace in which the last observation of a name says something else."""
    at = max(i for i, e in enumerate(entries) if isinstance(e, Observation) and e.name == name)
    entry = entries[at]
    assert isinstance(entry, Observation)
    data = tuple((k, value if k == key else v) for k, v in entry.data)
    return [*entries[:at], entry._replace(data=data, listener="first"), *entries[at + 1 :]]


def without(entries: tuple[Entry, ...], name: str) -> list[Entry]:
    """A trace without what a name tells."""
    return [e for e in entries if not (isinstance(e, Observation) and e.name == name)]


REFUSED_START = trace("refuse turn/start", "followup A", "followup B")
REFUSED_END = trace("followup A", "refuse turn/end", "pre-step: reject", "followup B")
REFUSED_SEND = trace("refuse agent/inbox/spliced", "followup A")


@pytest.mark.parametrize(
    ("code", "entries"),
    [
        ("REPORT", without(REFUSED_START, "agent/error")),
        ("REPORT", damaged(REFUSED_START, "agent/error", "turn", 1)),
        ("TORN", damaged(REFUSED_START, "turn/start", "turn", 2)),
        ("REPORT", without(REFUSED_END, "agent/error")),
        ("REPORT", damaged(REFUSED_END, "agent/error", "step", 1)),
        ("REFUSED", damaged(REFUSED_SEND, "followup", "raised", None)),
    ],
)
def test_a_damaged_trace_is_seen(code: str, entries: list[Entry]) -> None:
    """And the whole one is not."""
    assert [] == [*seen(REFUSED_START), *seen(REFUSED_END), *seen(REFUSED_SEND)]
    assert code in {breach.code for breach in seen(entries)}


def test_a_boundary_may_be_missing_only_where_it_was_refused() -> None:
    """Without the fault in the trace, the same trace is broken."""
    torn = trace("refuse user/message", "followup A", "refuse turn/end", "pre-step: reject")
    armed = [e for e in torn if getattr(getattr(e, "call", None), "args", ("",))[0] != "turn/end"]

    assert [] == seen(torn)
    assert "TORN" in {breach.code for breach in seen(armed)}


def test_without_a_fault_the_three_say_nothing() -> None:
    """Whatever a trace without faults looks like: the laws are asked there."""
    whole = trace("followup A", "pre-step: enter", "provider: done", "followup B")

    assert [] == seen(without(whole, "turn/end"))
    assert [] == seen(damaged(whole, "turn/start", "turn", 7))


@pytest.mark.parametrize("field", ["refused_end", "interceptor"])
def test_both_readings_keep_the_properties_of_faults(field: str) -> None:
    """One value of `dsh-0.1` at a time, in a scope of its own."""
    scope = next(scope for scope in DEFAULT_SCOPES if scope.name == "faults")
    policy = attrs.evolve(NOTES, **{field: getattr(DSH_0_1, field)})
    start = scope.start.but(policy=policy)
    own = type("Own", (type(scope),), {"start": property(lambda self: start)})
    explored = explore(own(**attrs.asdict(scope, recurse=False)))

    assert explored.complete
    assert [] == explored.found
