"""The default scopes are explored whole, and the explorer itself is put to the test.

Pinned counts show a change of meaning even when every property still holds. The proofs at the end
compare explorations with and without merging of moves and renaming of messages.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from loopspec.cli.exploring import explore_scopes
from loopspec.model import explore as explorer
from loopspec.model import table
from loopspec.model.counts import PINNED
from loopspec.model.explore import Explored, Progress, dead_rows, explore
from loopspec.model.possible import rest_of
from loopspec.model.properties import laws
from loopspec.model.properties.facts import Facts, Moment
from loopspec.model.properties.monitor import Breach, Property, declare, nothing_more
from loopspec.model.rows import nothing
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.session import Session, canonical
from loopspec.model.table import TABLE, by_owner
from loopspec.model.witness import witness
from loopspec.model.words import Rest
from loopspec.reports.exploration import Exploration, ScopeFound

ROOT: Final = Path(__file__).resolve().parents[2]


# --- The default scopes -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found() -> list[ScopeFound]:
    """All default scopes, explored to their end in two processes."""
    return explore_scopes(DEFAULT_SCOPES, jobs=2)


def test_the_counts_are_the_pinned_ones(found: list[ScopeFound]) -> None:
    """States, transitions, depth and rest states of each scope; enough of them in all."""
    assert dict(PINNED) == {scope.name: scope.counts for scope in found}
    assert sum(counts.states for counts in PINNED.values()) >= 250_000


def test_no_row_is_dead(found: list[ScopeFound]) -> None:
    """Each row of the table is taken by some default scope, and each leads to something new."""
    whole = Exploration(tuple(found), whole=True, seconds=1.0)

    assert () == whole.dead
    assert "holds" == whole.verdict
    assert {each.key for each in TABLE} == {key for scope in found for key in scope.taken}


def test_no_property_is_broken_and_each_premise_is_reached(found: list[ScopeFound]) -> None:
    """Every property holds on every state, and none of them for want of an occasion."""
    assert [] == [breach for scope in found for breach in scope.breaches]
    whole = Exploration(tuple(found), whole=True, seconds=1.0)
    assert () == whole.unmet


def test_every_end_reason_and_both_cancels_are_taken(found: list[ScopeFound]) -> None:
    """What a turn can end with, row by row."""
    taken = {key for scope in found for key in scope.taken}

    assert {
        "replied to the end",
        "replied up to the output limit",
        "decided to reject",
        "decided to enter nothing first",
        "after step under an abort",
        "close turn that failed, with a report",
        "cancel that keeps the inbox",
        "cancel of the inbox too",
    } <= taken


# --- The checker finds what there is to find ----------------------------------------------------

SMALL: Final = Scope("small", "two deliveries and one stop", sends=2, cancels=1, owes=1)


def counts_turns(ghost: int, at: Moment) -> tuple[int, tuple[Breach, ...]]:
    """TOY: No run opens a second turn."""
    if at.name != "turn/start":
        return ghost, ()
    breach = Breach("TOY", (f"{ghost} turns were opened.",), "another one was")
    return ghost + 1, (breach,) if ghost else ()


def sees_discards(ghost: int, at: Moment) -> tuple[int, tuple[Breach, ...]]:
    """TOYTWO: Nothing is ever discarded."""
    wrong = at.name == "agent/inbox/discarded"
    return ghost, (Breach("TOYTWO", (), "something was"),) if wrong else ()


def rests_busy(ghost: int, facts: Facts, rest: Rest) -> tuple[Breach, ...]:
    """A breach at rest: two messages wait at a gate."""
    if len(rest.next_turn) < 2 or not rest.gates:
        return ()
    return (Breach("TOY", (), "two wait"),)


def toy(
    step: Callable[[int, Moment], tuple[int, tuple[Breach, ...]]],
    at_rest: Callable[[int, Facts, Rest], tuple[Breach, ...]] = nothing_more,
) -> Property:
    """A property that must be broken."""
    reads = "turn/start agent/inbox/discarded"
    return declare(step, 0, "TB-01", reads, "never", lambda ghost, at: False, at_rest)


def shown(explored: Explored) -> list[tuple[str, str, list[str]]]:
    """Each breach with its text and its witness, header left out."""
    return [
        (
            each.property,
            each.breach.however,
            [str(line) for line in witness(explored, each.parent, each.action).lines],
        )
        for each in explored.found
    ]


def test_a_property_that_must_fail_is_found_with_a_shortest_witness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No shorter scenario opens two turns: a turn, a wake, and an end."""
    toys = (toy(counts_turns), toy(sees_discards))
    monkeypatch.setattr(explorer, "laws", lambda *_: toys)

    assert [
        ("TOYTWO", "something was", ["inject A", "cancel user drop"]),
        ("TOY", "another one was", ["followup A", "assemble: failed", "followup B"]),
    ] == [(code, however, lines) for code, however, lines in shown(explore(SMALL))]


def test_a_breach_at_rest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rests are looked at too, not only transitions."""
    scope = Scope("three", "three follow-ups", sends=3, cancels=0, calls=("followup",))
    monkeypatch.setattr(explorer, "laws", lambda *_: (toy(counts_turns, rests_busy),))

    assert ("TOY", "two wait", ["followup A", "followup B", "followup C"]) in shown(explore(scope))


FAULTS: Final = {
    "close step": ("BAL", ["followup A", "pre-step: enter", "provider: done"]),
    "decided to reject": ("REJ", ["followup A", "pre-step: reject"]),
    "close turn": ("STATUS", ["followup A", "assemble: failed"]),
    "after idle with something due": ("WAKE", ["followup A", "cancel user keep", "followup B"]),
}
"""A row with the property that its absence breaks, and the beginning of the shortest witness."""


@pytest.mark.parametrize("key", FAULTS)
def test_a_fault_in_the_table_is_found(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose effect is left out breaks the property that is about it."""
    if key == "decided to reject":
        enter = next(each for each in TABLE if each.key == "decided to enter")
        instead = enter.then
    else:
        instead = nothing
    rows = tuple(each._replace(then=instead) if each.key == key else each for each in TABLE)
    monkeypatch.setattr(table, "OWNERS", by_owner(rows))

    explored = explore(SMALL)
    code, lines = FAULTS[key]
    witnesses = {broken: lines for broken, _, lines in shown(explored)}

    assert lines == witnesses[code][: len(lines)]


def test_an_exploration_can_be_ended_early() -> None:
    """By a number of states or by asking; then it says that it is not complete."""
    seen: list[Progress] = []

    short = explore(SMALL, states_max=50)
    stopped = explore(SMALL, progress=seen.append, stop=lambda: len(seen) > 3)

    assert not short.complete
    assert short.states <= 50 + 20
    assert not stopped.complete
    assert "small" == seen[0].scope
    assert explore(SMALL).complete


def test_dead_rows_are_named_in_table_order() -> None:
    """A scope without cancels takes no cancel row."""
    dead = dead_rows([explore(Scope("quiet", "no stop", sends=1, cancels=0))])

    assert "cancel that keeps the inbox" in dead
    assert "start a driver" not in dead
    assert list(dead) == [each.key for each in TABLE if each.key in dead]


# --- Determinism --------------------------------------------------------------------------------

PROGRAM: Final = """
from loopspec.model.explore import explore
from loopspec.model.scope import Scope
from loopspec.model.witness import witness
for scope in (
    Scope("a", "edits", sends=2, edits=1, calls=("followup", "splice", "replace", "cancel")),
    Scope("b", "inside", sends=2, inside=1, between=True, answers=("assembled", "enter", "done")),
):
    found = explore(scope)
    print(found.states, found.transitions, found.depth, len(found.rests), found.sessions)
    print(list(found.taken.items()), list(found.fresh.items()), list(found.cells.items()))
    for code, at in [*found.met.items(), *found.first.items()]:
        print(code, witness(found, *at))
"""


def test_two_runs_and_two_hash_seeds_find_the_same() -> None:
    """Counts, rows, cells and every witness, in the same order."""
    outputs = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)

    assert outputs[0] == outputs[1]
    assert "followup" in outputs[0]


# --- Merging and renaming are right -------------------------------------------------------------

PROOFS: Final = (
    Scope("answers", "two deliveries, every answer", sends=2, cancels=0, owes=1),
    Scope("stops", "two deliveries, two stops", sends=2, cancels=2, causes=("user", "parent")),
    Scope(
        "edits",
        "two deliveries and an edit, ids sent again",
        sends=2,
        edits=1,
        cancels=0,
        calls=("followup", "inject", "splice", "replace", "remove", "clear"),
        answers=("assembled", "enter", "done"),
        resend=True,
    ),
    Scope(
        "rewrites",
        "two deliveries and every decision",
        sends=2,
        cancels=0,
        rewrite=True,
        answers=("assembled", "enter", "reject", "done"),
    ),
    Scope(
        "ticks",
        "two deliveries and a stop, also between two ticks",
        sends=2,
        cancels=1,
        between=True,
        answers=("assembled", "enter", "done"),
    ),
    Scope(
        "listeners",
        "two deliveries, a stop, one call inside a listener",
        sends=2,
        cancels=1,
        inside=1,
        calls=("followup", "cancel"),
        answers=("assembled", "enter", "done"),
    ),
    Scope(
        "parked",
        "two deliveries, two stops, profile notes-park",
        sends=2,
        cancels=2,
        answers=("assembled", "enter", "done"),
        profile="notes-park",
    ),
    Scope(
        "tools",
        "a delivery and a stop, a tool with a context",
        sends=1,
        tools=(("x",),),
        contexts=True,
        owes=1,
    ),
    Scope(
        "side by side",
        "a delivery and a stop, two tools in either way",
        sends=1,
        tools=(("x", "y"),),
        owes=1,
        answers=("assembled", "enter", "done", "tools", "parallel", "result", "concludes"),
    ),
    Scope(
        "hooks",
        "a delivery and a stop, every hook held, an answer in part and a failure",
        sends=1,
        gates=("request", "request-error", "turn-stopping"),
        streams=1,
    ),
    Scope(
        "lifecycle",
        "two deliveries, a stop, two of maintenance, waiting and disposal, between ticks too",
        sends=2,
        lives=2,
        between=True,
        calls=("followup", "inject", "cancel", "maintenance", "when-idle", "dispose"),
        answers=("assembled", "enter", "done"),
    ),
    Scope(
        "genuine",
        "one call inside a listener, profile dsh-0.1",
        sends=2,
        lives=1,
        inside=1,
        calls=("followup", "cancel", "dispose"),
        answers=("assembled", "enter", "done"),
        profile="dsh-0.1",
    ),
)


class Outcome(NamedTuple):
    """What an exploration says: canonical rest states, verdicts, premises and rows."""

    rests: frozenset[Session]
    broken: frozenset[str]
    met: frozenset[str]
    rows: frozenset[str]


def outcome(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, merge: bool = True, rename: bool = True
) -> Outcome:
    """Explore with the shipped properties and two that are broken in some scopes."""
    rests: set[Session] = set()

    def look(session: Session) -> Rest:
        rests.add(canonical(session)[0])
        return rest_of(session)

    toys = (toy(counts_turns), toy(sees_discards))
    with monkeypatch.context() as patch:
        patch.setattr(explorer, "rest_of", look)
        patch.setattr(explorer, "laws", lambda *given: (*laws(*given), *toys))
        explored = explore(scope, merge=merge, rename=rename)
    assert explored.complete
    assert len(explored.rests) == len(rests)
    return Outcome(
        frozenset(rests),
        frozenset(each.property for each in explored.found),
        frozenset(explored.met),
        frozenset(explored.taken),
    )


@pytest.mark.parametrize("scope", PROOFS, ids=lambda scope: scope.name)
def test_neither_merging_nor_renaming_changes_what_is_found(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rest states, verdicts, premises and rows are the same without either and without both."""
    expected = outcome(scope, monkeypatch)

    assert expected == outcome(scope, monkeypatch, merge=False)
    assert expected == outcome(scope, monkeypatch, rename=False)
    assert expected == outcome(scope, monkeypatch, merge=False, rename=False)
    assert len(expected.rests) > 10


def test_the_proofs_have_something_to_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """In some proof scopes a toy property is broken, in some it is not."""
    broken = [outcome(scope, monkeypatch).broken for scope in PROOFS[:3]]

    assert any("TOY" in each for each in broken)
    assert any("TOYTWO" not in each for each in broken)
