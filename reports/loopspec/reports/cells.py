"""The coverage table call kind x window x driver state, laid out once for every report."""

from collections.abc import Sequence

import msgspec

from loopspec.reports.run import Cell


class CellTable(msgspec.Struct, frozen=True):
    """The cells of one driver state: windows down, calls across.

    A count of None is a cell that the model does not enable; 0 is one that was never reached.
    """

    driver: str
    calls: tuple[str, ...]
    windows: tuple[str, ...]
    counts: tuple[tuple[int | None, ...], ...]


def cell_tables(cells: Sequence[Cell]) -> list[CellTable]:
    """One table for each driver state; calls, windows and drivers in order of appearance."""
    return [
        _table(driver, [cell for cell in cells if cell.driver == driver])
        for driver in dict.fromkeys(cell.driver for cell in cells)
    ]


class CellSummary(msgspec.Struct, frozen=True):
    """All cells at a glance: drivers down, calls across, windows counted.

    An entry is how many windows were reached and how many the model enables; None where it enables
    none.
    """

    calls: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, int] | None, ...]], ...]


def cell_summary(cells: Sequence[Cell]) -> CellSummary:
    """The windows of each call in each driver state, counted."""
    calls = tuple(dict.fromkeys(cell.call for cell in cells))
    drivers = dict.fromkeys(cell.driver for cell in cells)
    rows = []
    for driver in drivers:
        entries = []
        for call in calls:
            here = [cell for cell in cells if (cell.driver, cell.call) == (driver, call)]
            known = [cell.reached for cell in here if cell.enabled or cell.reached]
            entries.append((sum(map(bool, known)), len(known)) if known else None)
        rows.append((driver, tuple(entries)))
    return CellSummary(calls, tuple(rows))


def _table(driver: str, cells: Sequence[Cell]) -> CellTable:
    calls = tuple(dict.fromkeys(cell.call for cell in cells))
    windows = tuple(dict.fromkeys(cell.window for cell in cells))
    # A cell that is reached although it is not enabled would be news: it shows its count.
    at = {
        (cell.window, cell.call): cell.reached if cell.enabled or cell.reached else None
        for cell in cells
    }
    counts = tuple(tuple(at.get((window, call)) for call in calls) for window in windows)
    return CellTable(driver, calls, windows, counts)
