"""`loopspec report`: render a run folder."""

import sys
from pathlib import Path

import click

from loopspec.cli.exits import CouldNotRun, say


@click.command(
    "report",
    short_help="render a run folder",
    epilog="""\b
Examples:
  loopspec report                              the newest run in ./loopspec-runs
  loopspec report loopspec-runs/RUN --open
  loopspec report loopspec-runs/RUN --html page.html --junit junit.xml
  loopspec report loopspec-runs/RUN --json | python -m json.tool

\b
Exit codes: 0 rendered, whatever the verdict; 2 could not (missing, foreign or newer file).
""",
)
@click.argument("folder", metavar="[RUNFOLDER]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--html",
    "html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page to FILE.",
)
@click.option(
    "--junit",
    "junit",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write JUnit XML to FILE.",
)
@click.option("--cells", is_flag=True, help="Print every window of the coverage table.")
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON instead of text.")
@click.option(
    "--open",
    "open_page",
    is_flag=True,
    help="Open the page in a browser (writes RUNFOLDER/report.html if --html is absent).",
)
def command(
    folder: Path | None,
    html: Path | None,
    junit: Path | None,
    cells: bool,
    as_json: bool,
    open_page: bool,
) -> int:
    """Render a run folder as text, as one self-contained page, as JUnit XML or as JSON.

    A run writes its folder first and is judged then; this verb only reads the folder, so a report
    can be made again at any time. It never runs a subject. Without RUNFOLDER it takes the newest
    run in ./loopspec-runs.
    """
    from loopspec.reports import ReportError, print_run, read_run, to_json
    from loopspec.reports.text import clean

    folder = folder or newest_run(Path("loopspec-runs"))
    try:
        run = read_run(folder)
    except ReportError as error:
        raise CouldNotRun(error.sentence, error.hint) from error
    if open_page and html is None:
        html = (folder if folder.is_dir() else folder.parent) / "report.html"
    if html is not None:
        from loopspec.reports import to_html

        write_text(html, to_html(run))
        if open_page or as_json:  # else the text names it
            say(f"wrote {clean(str(html))}\n")
    if junit is not None:
        from loopspec.reports import to_junit

        write_text(junit, to_junit(run))
        say(f"wrote {clean(str(junit))}\n")
    if as_json:
        sys.stdout.write(to_json(run))
    else:
        print_run(run, sys.stdout, str(html) if html else "", cells)
    if open_page and html is not None:
        click.launch(html.resolve().as_uri())
    return 0


def newest_run(runs: Path, having: str = "run.json") -> Path:
    """The newest folder below `runs` with a file of that name; names begin with a time stamp.

    Raises:
        CouldNotRun: there is none.

    """
    judged = sorted(path.parent for path in runs.glob(f"*/{having}"))
    if not judged:
        sentence = f"expected a run folder below {runs}, there is none"
        raise CouldNotRun(sentence, "make one with `loopspec check`, or name a folder")
    return judged[-1]


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename.

    Raises:
        CouldNotRun: the folder is missing, read-only or full.

    """
    from loopspec.conformance.folder import FolderError, write_whole

    if not path.name:
        sentence = "expected the name of a file to write, got an empty one"
        raise CouldNotRun(sentence)
    try:
        write_whole(path, text)
    except FolderError as error:
        raise CouldNotRun(str(error)) from error
