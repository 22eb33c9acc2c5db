"""The coverage table, laid out."""

from loopspec.reports.cells import cell_summary, cell_tables
from loopspec.reports.run import Cell


def test_cells_are_laid_out_by_driver_window_and_call() -> None:
    """Order of appearance is kept; a cell that is absent or not enabled is None."""
    cells = [
        Cell("steer", "at rest", "idle", True, 3),
        Cell("clear", "at rest", "idle", False, 0),
        Cell("steer", "in turn/start", "idle", True, 0),
        Cell("steer", "at rest", "running", False, 2),
    ]

    idle, running = cell_tables(cells)

    assert (("steer", "clear"), ("at rest", "in turn/start")) == (idle.calls, idle.windows)
    assert ((3, None), (0, None)) == idle.counts
    assert ((2,),) == running.counts


def test_a_summary_counts_windows_reached_of_windows_enabled() -> None:
    """None where the model enables no window; a cell that is not enabled counts once reached."""
    cells = [
        Cell("steer", "at rest", "idle", True, 3),
        Cell("steer", "in turn/start", "idle", True, 0),
        Cell("clear", "at rest", "idle", False, 0),
        Cell("clear", "at rest", "running", False, 2),
    ]

    summary = cell_summary(cells)

    assert ("steer", "clear") == summary.calls
    assert (("idle", ((1, 2), None)), ("running", (None, (1, 1)))) == summary.rows
