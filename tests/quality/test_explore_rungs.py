"""The shared walks of the explorer find exactly what plain walks find.

Walking move by move is the meaning of a run. Sharing what runs have in common is a rung above it:
these tests explore the same scopes on both and compare everything that an exploration reports.
"""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from loopspec.model import runs, table
from loopspec.model.explore import Explored, explore
from loopspec.model.rows import Row, nothing
from loopspec.model.runs import Runs, SharedRuns, is_choice
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.session import Session, Tell
from loopspec.model.table import TABLE, by_owner

STATES_MAX = 700
BY_NAME = {scope.name: scope for scope in DEFAULT_SCOPES}

SMALL = (
    Scope("small", "one delivery and one stop, every answer", sends=1, owes=1),
    Scope("between", "two deliveries, one stop, also between ticks", sends=2, between=True),
    Scope("inside", "two calls inside each other", sends=2, inside=2, depth=2, between=True),
)


def everything(found: Explored) -> Mapping[str, Any]:
    """All that an exploration reports, in the order in which it was found."""
    return {
        name: list(value.items()) if isinstance(value, dict) else value
        for name, value in attrs.asdict(found, recurse=False).items()
    }


def both(
    scope: Scope, states_max: int = 0, merge: bool = True, rename: bool = True
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What plain walks find, and what shared walks find."""
    plain, shared = (
        explore(scope, states_max=states_max, merge=merge, rename=rename, memo=memo)
        for memo in (False, True)
    )
    return everything(plain), everything(shared)


@pytest.mark.parametrize("scope", SMALL, ids=lambda scope: scope.name)
def test_a_small_scope_is_explored_alike(scope: Scope) -> None:
    """Every count, first transition, premise and path, to the end of the scope."""
    plain, shared = both(scope)

    assert plain["complete"]
    assert plain == shared


@pytest.mark.parametrize("scope", DEFAULT_SCOPES, ids=lambda scope: scope.name)
def test_the_beginning_of_a_default_scope_is_explored_alike(scope: Scope) -> None:
    """The same comparison over the alphabets and budgets that count."""
    plain, shared = both(scope, states_max=STATES_MAX)

    assert plain == shared


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("rename", [True, False])
def test_both_rungs_agree_without_merging_and_renaming(merge: bool, rename: bool) -> None:
    """The switches of the other proofs change nothing in this one."""
    plain, shared = both(BY_NAME["parked"], merge=merge, rename=rename, states_max=STATES_MAX)

    assert plain == shared


def test_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded by forgetting; a walk that is forgotten is walked again."""
    plain = everything(explore(SMALL[1], memo=False))
    monkeypatch.setattr(runs, "POINTS_MAX", 3)
    monkeypatch.setattr("loopspec.model.explore.REMEMBERED", 0)

    assert plain == everything(explore(SMALL[1]))


def test_each_session_ends_its_walk_alike() -> None:
    """Not only the sessions of choice: from every session on the way the walks agree."""
    scope = BY_NAME["cancel"]
    plain, shared = Runs(scope, merge=True), SharedRuns(scope, merge=True)
    for session in on_the_way(scope):
        for flags in range(4):
            taken: list[tuple[Session, list[str], list[object]]] = []
            for rung in (plain, shared):
                rows: list[str] = []
                entries: list[int] = []
                end = rung.walk(session, flags, rows, entries)
                taken.append((end, rows, [rung.entries.values[each] for each in entries]))

            assert taken[0] == taken[1]


def on_the_way(scope: Scope) -> list[Session]:
    """The sessions between two choices of one run after another, calls and answers in turn."""
    found = explore(scope, states_max=60)
    way: list[Session] = []
    for state in range(1, found.states):
        session = scope.start
        for action in found.path(found.parents[state], found.actions[state]):
            if not isinstance(action, str):
                applied = table.apply(session, action)
                if not isinstance(applied, Session):
                    break
                session = applied
            while not is_choice(session, scope, 0):
                way.append(session)
                moved = table.move(session)
                assert moved is not None
                session = moved.session
    return way


def test_a_delivery_that_looks_at_more_than_its_frame_is_not_made_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What may be made at once is read off the table, so a changed table is explored as it is."""

    def forgets_the_steps(session: Session, frame: Tell) -> Session:
        return tell(session, frame).but(next_step=())

    tell = next(row.then for row in TABLE if row.key == "turn/start is told")
    changed = tuple(
        row._replace(then=forgets_the_steps) if row.key == "turn/start is told" else row
        for row in TABLE
    )
    whole = everything(explore(SMALL[1]))
    monkeypatch.setattr(table, "OWNERS", by_owner(changed))

    plain, shared = both(SMALL[1])

    assert not runs.is_local("turn/start")
    assert plain == shared
    assert plain != whole


def test_what_is_local_has_one_row_without_a_condition() -> None:
    """Deliveries and their ends, and nothing that changes more than the stack."""
    local = {owner for owner in table.OWNERS if runs.is_local(owner)}

    def only(owner: str) -> Row:
        (row,) = table.OWNERS[owner]
        return row

    assert {"listening", "end driver"} == {o for o in local if only(o).then is nothing}
    assert {"turn/start", "agent/status", "user/message"} <= local
    assert not {"wake", "change", "claim", "suspend", "end call"} & local
