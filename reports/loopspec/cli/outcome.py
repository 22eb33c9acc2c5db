"""How a verb that has written a run folder ends: page, print-out and exit code, from the folder."""

import sys
from pathlib import Path

from loopspec.cli.exits import CouldNotRun, show
from loopspec.cli.report import write_text


def tell(folder: Path, as_json: bool, cells: bool = False) -> int:
    """Write `report.html` into a run folder, print the run and return its exit code.

    Everything is read back from the folder: what is printed is what anybody can print again later
    with `loopspec report`, and a run that cannot be read back is an error now, not then.

    Raises:
        CouldNotRun: the folder cannot be read back, or the page not be written.

    """
    from loopspec.reports import ReportError, print_run, read_run, to_html, to_json

    try:
        run = read_run(folder)
    except ReportError as error:
        raise CouldNotRun(error.sentence, error.hint) from error
    page = folder / "report.html"
    write_text(page, to_html(run))
    if as_json:
        sys.stdout.write(to_json(run))
    else:
        print_run(run, sys.stdout, str(page), cells)
    return run.exit


def warn_of_size(runs: Path) -> None:
    """Say on stderr that the run folders have grown large; nothing of them is removed."""
    from loopspec.conformance.folder import runs_warning

    warning = runs_warning(runs)
    if warning:
        show(warning, "remove the run folders that you do not need")
