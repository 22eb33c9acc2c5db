"""`loopspec judge`: judge the recorded traces of a run folder again."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loopspec.cli.check import replay_of, write_witnesses
from loopspec.cli.exits import CouldNotRun
from loopspec.cli.report import newest_run, write_text
from loopspec.cli.subjects import known_profile
from loopspec.conformance.visible import whole_characters

if TYPE_CHECKING:
    from loopspec.conformance.retrial import Retrial

SHOWN_MAX = 10


@click.command(
    "judge",
    short_help="judge the recorded traces of a run folder again, without any subject",
    epilog="""\b
Examples:
  loopspec judge                               the newest run in ./loopspec-runs
  loopspec judge loopspec-runs/RUN
  loopspec judge loopspec-runs/RUN --profile dsh-0.1
  loopspec judge loopspec-runs/RUN --json | python -m json.tool

\b
Exit codes: 0 holds, 1 broken, 2 could not judge (missing, foreign, newer or damaged file),
3 inconclusive (the run was killed, or not all of it was recorded).
""",
)
@click.argument("folder", metavar="[RUNFOLDER]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--profile",
    metavar="NAME",
    help="The set of policy values to judge by.  [default: that of the run]",
)
@click.option("--cells", is_flag=True, help="Print every window of the coverage table.")
@click.option("--json", "as_json", is_flag=True, help="Print both verdicts and the run as JSON.")
def command(folder: Path | None, profile: str | None, cells: bool, as_json: bool) -> int:
    """Judge what a run has recorded by the specification as it is now, and say what has changed.

    Every scenario of run.jsonl is judged from its trace; no subject runs. The verdict and the
    findings of each scenario are compared with those of the run. A run that was killed is judged as
    far as it came. Where run.json is missing it is written, with the witnesses and the page.
    """
    from loopspec.cli.progress import ProgressLine
    from loopspec.conformance.recorded import RecordError
    from loopspec.conformance.retrial import judge_again
    from loopspec.reports import print_run
    from loopspec.reports.run import decode_run
    from loopspec.reports.text import json_text, printed

    if profile is not None:
        known_profile(profile)
    folder = folder or newest_run(Path("loopspec-runs"), "run.jsonl")
    try:
        with ProgressLine() as line:
            again = judge_again(folder, profile, line.update)
    except RecordError as error:
        raise CouldNotRun(error.sentence, error.hint) from error
    place = again.recording.path.parent
    options = again.recording.header.replay
    document = again.document(lambda number: replay_of(place, number, options))
    if again.own_profile and not (place / "run.json").exists():
        complete(place, again, document, options)
    run = decode_run(whole_characters(json.dumps(document)).encode())
    if as_json:
        sys.stdout.write(json_text(as_document(again, document)))
    else:
        sys.stdout.write(printed(told(again)))
        print_run(run, sys.stdout, cells=cells)
    return run.exit


def complete(folder: Path, again: "Retrial", document: dict[str, Any], options: str) -> None:
    """Write what a killed run could not write any more."""
    from loopspec.conformance.folder import FolderError
    from loopspec.conformance.verdict import write_document
    from loopspec.reports import read_run, to_html

    try:
        write_witnesses(folder, again.result, options)
        write_document(folder, document)
    except FolderError as error:
        raise CouldNotRun(str(error)) from error
    write_text(folder / "report.html", to_html(read_run(folder)))


def told(again: "Retrial") -> list[str]:
    """What was judged, and whether it comes to the same."""
    from loopspec.reports.text import clean

    header, result = again.recording.header, again.result
    lines = [
        f"recorded {clean(header.started)}: {again.recording.cases:,} scenarios on "
        f"{clean(header.subject.name)} {clean(header.subject.version)}, "
        f"profile {clean(header.profile)}, evidence {header.evidence}"
    ]
    lines += [
        f"recorded by {clean(name)} {clean(version)}"
        for name, version in again.other_versions.items()
    ]
    if again.before is None:
        lines.append(f"judged again by profile {result.profile}: {result.verdict}")
    else:
        word = "the same" if again.same else "another verdict or other findings"
        lines.append(
            f"judged again by profile {result.profile}: {word} "
            f"(recorded {clean(again.before)}, now {result.verdict})"
        )
    for change in again.changes[:SHOWN_MAX]:
        before, now = (" ".join(each) or "nothing" for each in (change.before, change.now))
        where = f"case {change.case} ({clean(change.stage)})"
        lines.append(f"  {where}: recorded {clean(before)}, now {clean(now)}")
    if len(again.changes) > SHOWN_MAX:
        lines.append(f"  … ({len(again.changes) - SHOWN_MAX:,} more cases)")
    return [*lines, ""]


def as_document(again: "Retrial", document: dict[str, Any]) -> dict[str, Any]:
    """Both verdicts, what has changed, and the run as it is judged now."""
    recording = again.recording
    return {
        "ended": recording.footer is not None,
        "scenarios": recording.cases,
        "recorded": {"verdict": again.before, "profile": recording.header.profile},
        "profile": again.result.profile,
        "verdict": again.result.verdict,
        "exit": document["exit"],
        "same": again.same,
        "changes": [
            {
                "case": each.case,
                "stage": each.stage,
                "recorded": list(each.before),
                "now": list(each.now),
            }
            for each in again.changes
        ],
        "run": document,
    }
