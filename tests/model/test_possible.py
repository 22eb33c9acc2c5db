"""Possible sessions: the model's own traces are explained, and no single edit of one is."""

from collections.abc import Iterator, Sequence

import pytest

from loopspec.model.playback import play
from loopspec.model.possible import Parting, Possible, after
from loopspec.model.scenario import parse_scenario
from loopspec.model.session import Session
from loopspec.model.words import (
    FIRST,
    LAST,
    Answer,
    Call,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
    Value,
    text_message,
)
from tests.model.walks import walk

SCENARIO = """
inject X
followup A
in agent/inbox/claimed#1 last: followup B
pre-step: enter A
provider: owes
steer S
pre-step: enter
provider: max-tokens
replace B C
cancel user keep
assemble: assembled
after turn/end#2 +1: steer D
pre-step: reject
splice next-turn 0 1 E F
splice next-turn -1 1
assemble: failed
"""


def explain(trace: Sequence[Entry]) -> Parting | None:
    """None when some session explains the trace, else where they part."""
    possible: Possible | Parting = Possible((Session(),))
    for entry in trace:
        assert isinstance(possible, Possible)
        possible = after(possible, entry)
        if isinstance(possible, Parting):
            return possible
    return None


def trace() -> tuple[Entry, ...]:
    """A trace with inputs at rest, inside listeners and between ticks."""
    result = play(parse_scenario(SCENARIO))
    assert () == result.skipped
    return result.trace


@pytest.mark.parametrize("seed", range(80))
def test_the_models_own_trace_is_explained(seed: int) -> None:
    """One session explains it at rest, and it is the one that made it."""
    run = walk(seed)
    possible: Possible | Parting = Possible((run.sessions[0],))
    for entry in run.trace:
        assert isinstance(possible, Possible)
        possible = after(possible, entry)
        assert isinstance(possible, Possible), f"{entry}: {possible}"
        assert 1 == len(possible.sessions) or not isinstance(entry, Rest)
    assert isinstance(possible, Possible)
    assert (run.sessions[-1],) == possible.sessions


def test_the_rows_of_a_trace_are_those_of_the_run() -> None:
    """Coverage of a subject is counted on what explains it."""
    result = play(parse_scenario(SCENARIO))
    possible: Possible | Parting = Possible((Session(),))
    rows: list[str] = []
    for entry in result.trace:
        assert isinstance(possible, Possible)
        possible = after(possible, entry)
        assert isinstance(possible, Possible)
        rows.extend(possible.rows)

    assert list(result.rows) == rows


def observed(entries: Sequence[Entry]) -> Iterator[tuple[int, Observation]]:
    """The observations of a trace with their places."""
    for index, entry in enumerate(entries):
        if isinstance(entry, Observation):
            yield index, entry


def test_no_dropped_observation_is_explained() -> None:
    """What is owed and does not come is a finding, at the next entry or at rest."""
    whole = trace()

    kept = [i for i, _ in observed(whole) if explain(whole[:i] + whole[i + 1 :]) is None]

    assert [] == kept


def test_no_repeated_observation_is_explained() -> None:
    """Nothing is told twice to one listener."""
    whole = trace()

    kept = [i for i, seen in observed(whole) if explain((*whole[:i], seen, *whole[i:])) is None]

    assert [] == kept


def test_no_swapped_neighbours_are_explained() -> None:
    """The order of any two observations counts."""
    whole = trace()
    kept = []
    for i, seen in observed(whole):
        follower = whole[i + 1]
        if isinstance(follower, Observation) and follower != seen:
            swapped = (*whole[:i], follower, seen, *whole[i + 2 :])
            if explain(swapped) is None:
                kept.append(i)

    assert [] == kept


def others(value: Value) -> Iterator[Value]:
    """Values that are nearly this one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield value + "x"
        yield None
    elif isinstance(value, Message):
        yield value._replace(id=value.id + "x")
        yield value._replace(role="assistant")
        yield value._replace(source="hook")
        yield value._replace(blocks=())
    elif isinstance(value, tuple):
        yield (*value, text_message("Z"))
        if value:
            yield value[1:]
        if len(value) > 1:
            yield value[::-1]
    else:
        yield "x"


def changed(seen: Observation) -> Iterator[Observation]:
    """The observation with one thing changed."""
    yield seen._replace(name=f"{seen.name}x")
    yield seen._replace(kind="event" if seen.kind == "record" else "record")
    yield seen._replace(listener={FIRST: LAST, LAST: FIRST}.get(seen.listener, FIRST))
    for i, (key, value) in enumerate(seen.data):
        yield seen._replace(data=seen.data[:i] + seen.data[i + 1 :])
        for other in others(value):
            yield seen._replace(data=(*seen.data[:i], (key, other), *seen.data[i + 1 :]))


def test_no_changed_value_is_explained() -> None:
    """Each key of each observation is predicted."""
    whole = trace()
    tried, kept = 0, []
    for i, seen in observed(whole):
        for other in changed(seen):
            tried += 1
            if explain((*whole[:i], other)) is None:
                kept.append((i, other))

    assert [] == kept
    assert tried > 500


def changed_rests(rest: Rest) -> Iterator[Rest]:
    """The rest with one projection changed."""
    yield rest._replace(next_turn=(*rest.next_turn, text_message("Z")))
    yield rest._replace(next_step=(*rest.next_step, text_message("Z")))
    yield rest._replace(status="running" if rest.status == "idle" else "idle")
    yield rest._replace(gates=(*rest.gates, ("provider", True)))
    if rest.gates:
        yield rest._replace(gates=tuple((gate, not aborted) for gate, aborted in rest.gates))


def test_no_changed_projection_is_explained() -> None:
    """Lists, status, gates and the aborted flag at rest are predicted."""
    whole = trace()
    kept = [
        (i, other)
        for i, rest in enumerate(whole)
        if isinstance(rest, Rest)
        for other in changed_rests(rest)
        if explain((*whole[:i], other)) is None
    ]

    assert [] == kept


def test_a_rest_too_early_is_no_explanation() -> None:
    """A subject that stops where something is owed has lost it."""
    whole = trace()
    rest = Rest((), (), "running", ())

    parted = [explain((*whole[:i], rest)) for i, _ in observed(whole)]

    assert all(isinstance(parting, Parting) for parting in parted)


# --- What a parting says ------------------------------------------------------------------------

FOLLOWUP = Made(Call("followup", (text_message("A"),)), inside=False)


def test_a_parting_says_what_was_done_and_what_was_allowed() -> None:
    """The first half is the subject's, the second each possible session's."""
    whole = play(parse_scenario("followup A")).trace
    wrong = Observation("event", "agent/status", (("status", "idle"),), FIRST)

    assert Parting(
        "agent/status idle", ("agent/inbox/spliced next-turn@0 +A",), "observation"
    ) == explain((whole[0], wrong))


def test_a_parting_at_rest_names_what_is_owed() -> None:
    """A lost wake reads like a wrong record."""
    parting = explain((FOLLOWUP, Rest((), (), "idle", ())))

    assert Parting("nothing more", ("agent/inbox/spliced next-turn@0 +A",), "owed") == parting


def test_a_call_where_none_can_land_is_a_parting() -> None:
    """At rest while an observation is owed, and inside where no listener runs."""
    owed = explain((FOLLOWUP, FOLLOWUP))
    inside = explain((FOLLOWUP._replace(inside=True),))

    assert owed is not None
    assert "was called: followup" == owed.did
    assert ("owes agent/inbox/spliced next-turn@0 +A",) == owed.allowed
    assert inside is not None
    assert ("no delivery is under way",) == inside.allowed


def test_an_answer_at_a_closed_gate_is_a_parting() -> None:
    """It says which gates are open."""
    parting = explain((Answer("provider", "done"),))

    assert parting is not None
    assert "was answered: provider done" == parting.did
    assert ("the gate provider is not open; open: none",) == parting.allowed
