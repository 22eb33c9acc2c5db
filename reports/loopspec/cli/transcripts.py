"""`loopspec transcripts`: check recorded sessions of the genuine loop against the specification."""

import os
import sys
import time
from pathlib import Path
from typing import Final

import click

from loopspec.cli.exits import CouldNotRun
from loopspec.reports.text import json_text, printed

JOBS_MAX: Final = 2


@click.command(
    "transcripts",
    short_help="check recorded sessions of the genuine loop against the specification",
    epilog="""\b
Examples:
  loopspec transcripts DIR
  loopspec transcripts DIR --edits all         every single edit must be refused
  loopspec transcripts DIR --profile notes     where the release does otherwise, and why

\b
DIR is a folder with *.jsonl files, or one such file: one transcript a line, an object with
`ops` (commands) and `reports` (what was observed after each had settled). Each transcript is
judged up to the first command after its disposal has settled.
Exit codes: 0 the profile explains every transcript, or parts from it only where a registered
difference says so; 1 it does not, or an edit was not noticed; 2 could not run.
""",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--profile",
    metavar="NAME",
    default="dsh-0.1",
    show_default=True,
    help="The set of policy values to judge by.",
)
@click.option(
    "--edits",
    type=click.Choice(["none", "sample", "all"]),
    default="none",
    show_default=True,
    help="Try single edits of what was observed, too.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of processes.  [default: at most 2, at most one a processor]",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help="Seed of the sample of edits.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of text.")
def command(
    folder: Path, profile: str, edits: str, jobs: int | None, seed: int, as_json: bool
) -> int:
    """Check transcripts of the genuine upstream loop against the specification.

    Prints how many are accepted, how many sessions were possible after each command, which rows
    they take, and, under another profile than the release's own, where each of them parts and by
    which registered difference.
    """
    from loopspec.cli.accepting import judge_all
    from loopspec.cli.progress import ProgressLine
    from loopspec.conformance.transcripts import TranscriptError, read_transcripts
    from loopspec.model.policy import PROFILES
    from loopspec.reports.acceptance import Acceptance, acceptance_document, acceptance_lines

    if profile not in PROFILES:
        sentence = f"there is no profile {profile!r}; profiles are {', '.join(PROFILES)}"
        raise CouldNotRun(sentence)
    try:
        transcripts = list(read_transcripts(folder))
    except TranscriptError as error:
        raise CouldNotRun(str(error)) from error
    if not transcripts:
        raise CouldNotRun(f"expected transcripts in {folder}, got none")
    began = time.perf_counter()
    with ProgressLine() as line:
        workers = jobs or min(JOBS_MAX, os.cpu_count() or 1)
        try:
            found = judge_all(transcripts, profile, edits, seed, workers, line.update)
        except TranscriptError as error:
            raise CouldNotRun(f"{folder}: {error}") from error
    acceptance = Acceptance(profile, tuple(found), edits, seed, time.perf_counter() - began)
    if as_json:
        sys.stdout.write(json_text(acceptance_document(acceptance)))
    else:
        sys.stdout.write(printed(acceptance_lines(acceptance)))
    return acceptance.exit
