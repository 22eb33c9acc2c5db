"""The shortest cover: scenarios that together take every row of the table and reach every cell.

Theory. Breadth-first search meets each row, and each cell of call kind, window and driver state,
first on a shortest scenario. They are taken shortest first, and one that a chosen scenario takes on
its way needs no scenario of its own.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

import attrs

from loopspec.model.explore import Cell, Explored, explore
from loopspec.model.scenario import Scenario
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.witness import replay, witness

STATES_MAX: Final = 1_500
"""States explored of each scope: rows lie near the start, whatever else there is to explore."""


At: TypeAlias = tuple[int, int]
"""A transition of an exploration: its parent and its action."""


class Cover(NamedTuple):
    """Scenarios that take the rows and reach the cells that the explored scopes enable.

    A scope without any call enables nothing, and is left out.
    """

    scenarios: tuple[Scenario, ...]
    rows: frozenset[str]
    cells: frozenset[Cell]
    met: frozenset[str]
    """The properties whose premises are met on the way."""


def cover_rows(scopes: Iterable[Scope] = DEFAULT_SCOPES, profile: str = "notes") -> Cover:
    """The cover of what the scopes of `profile` reach within `STATES_MAX` states each.

    The gates of a release have its scopes.
    """
    release = profile.removesuffix("-gates")
    explored = [
        explore(attrs.evolve(scope, profile=profile), states_max=STATES_MAX)
        for scope in scopes
        if scope.profile == release and scope.calls
    ]
    met = frozenset(code for each in explored for code in each.met)
    cells = frozenset(cell for each in explored for cell in each.cells)
    chosen: list[Scenario] = []
    rows: set[str] = set()
    cells_covered: set[Cell] = set()
    for key, each, at in shortest_first(explored):
        if key in rows or key in cells_covered:
            continue
        replayed = replay(each.scope, each.path(*at))
        rows.update(replayed.rows)
        cells_covered.update(replayed.cells)
        if isinstance(key, str):
            rows.add(key)  # the row of a call is none of the moves behind it
        chosen.append(witness(each, *at))
    return Cover(tuple(dict.fromkeys(chosen)), frozenset(rows), cells, met)


def shortest_first(explored: Iterable[Explored]) -> Iterator[tuple[str | Cell, Explored, At]]:
    """Each row, then each cell, with a shortest transition that takes it; the shortest first."""
    rows: dict[str, tuple[int, Explored, At]] = {}
    cells: dict[Cell, tuple[int, Explored, At]] = {}
    for each in explored:
        for key, at in each.first.items():
            length = len(each.path(*at))
            if key not in rows or length < rows[key][0]:
                rows[key] = (length, each, at)
        for cell, at in each.cell_first.items():
            length = len(each.path(*at))
            if cell not in cells or length < cells[cell][0]:
                cells[cell] = (length, each, at)
    for key, (_, each, at) in sorted(rows.items(), key=lambda item: (item[1][0], item[0])):
        yield key, each, at
    for cell, (_, each, at) in sorted(cells.items(), key=lambda item: (item[1][0], item[0])):
        yield cell, each, at
