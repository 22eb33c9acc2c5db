"""The shortest cover: scenarios that together take every row of the table.

Theory. Breadth-first search meets each row first on a shortest scenario. Rows are taken shortest
first, and one that a chosen scenario takes on its way needs no scenario of its own.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from loopspec.model.explore import Cell, Explored, explore
from loopspec.model.scenario import Scenario
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.witness import replay, witness

STATES_MAX: Final = 1_500
"""States explored of each scope: rows lie near the start, whatever else there is to explore."""


class Cover(NamedTuple):
    """Scenarios that take the rows, and the cells that the explored scopes enable."""

    scenarios: tuple[Scenario, ...]
    rows: frozenset[str]
    cells: frozenset[Cell]


def cover_rows(scopes: Iterable[Scope] = DEFAULT_SCOPES, profile: str = "notes") -> Cover:
    """The cover of the rows that the scopes of `profile` reach within `STATES_MAX` states each."""
    explored = [
        explore(scope, states_max=STATES_MAX) for scope in scopes if scope.profile == profile
    ]
    cells = frozenset(cell for each in explored for cell in each.cells)
    wanted: dict[str, tuple[int, Explored, tuple[int, int]]] = {}
    for each in explored:
        for key, at in each.first.items():
            length = len(each.path(*at))
            if key not in wanted or length < wanted[key][0]:
                wanted[key] = (length, each, at)
    chosen: list[Scenario] = []
    covered: set[str] = set()
    for key, (_, each, at) in sorted(wanted.items(), key=lambda item: (item[1][0], item[0])):
        if key not in covered:
            covered.update(replay(each.scope, each.path(*at)).rows)
            covered.add(key)
            chosen.append(witness(each, *at))
    return Cover(tuple(chosen), frozenset(covered), cells)
