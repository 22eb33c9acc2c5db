"""`loopspec trace`: check session logs of any version against the specification."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from loopspec.cli.exits import CouldNotRun
from loopspec.reports.text import json_text, printed

if TYPE_CHECKING:
    from loopspec.conformance.trace import Judged, Limits

MIB: Final = 1 << 20


@click.command(
    "trace",
    short_help="check session logs of any version against the specification",
    epilog="""\b
Examples:
  loopspec trace session.v4.jsonl.zstd
  loopspec trace SESSIONS                      every log below a folder
  loopspec trace SESSIONS --junit logs.xml --markdown logs.md
  loopspec trace examples/logs --expect examples/logs/expected.toml
  loopspec trace session.jsonl --edits         every single edit must be refused, or be legal

\b
A log is plain or zstd, one JSON record a line, or the SQLite log of the shipped loop; a folder is
searched for *.jsonl, *.ndjson, *.zst, *.zstd, *.sqlite and *.db. Which rules apply is read from the
shape of a log, never from its name or version. Each log holds, is broken (with rule, record and
why), unknown (damaged, or not written by a loop), skipped (with the reason) or not a log. The end
of a log owes nothing. Logs are only read.
Exit codes: 0 every log holds or is skipped, and at least one holds; 1 one is broken, or is not as
expected; 2 one is not a log; 3 one is unknown, or nothing was checked.
""",
)
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--profile",
    "profiles",
    metavar="NAME",
    multiple=True,
    help="Judge by this set of policy values; may be repeated.  [default: any that explains all]",
)
@click.option(
    "--resend",
    type=click.Choice(["refused", "allowed"]),
    default="refused",
    show_default=True,
    help="Whether an id may come again after its claim.",
)
@click.option(
    "--expect",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Compare the verdicts with those that FILE names (TOML).",
)
@click.option("--edits", is_flag=True, help="Try every single edit of logs that hold, too.")
@click.option(
    "--junit",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write JUnit XML to FILE.",
)
@click.option(
    "--markdown",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a summary in Markdown to FILE.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with the timeline of one log to FILE.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of text.")
@click.option(
    "--line-limit",
    metavar="BYTES",
    type=click.IntRange(min=1),
    default=64 * MIB,
    help="Longest line that is read.  [default: 64 MiB]",
)
@click.option(
    "--size-limit",
    metavar="BYTES",
    type=click.IntRange(min=1),
    default=4096 * MIB,
    help="Most that a log may decompress to.  [default: 4 GiB]",
)
@click.option(
    "--step-limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=10_000_000_000,
    help="Most steps that SQLite may take to read a log.  [default: 10,000,000,000]",
)
@click.option(
    "--depth-limit",
    metavar="N",
    type=click.IntRange(min=1, max=900),
    default=128,
    show_default=True,
    help="Most brackets inside each other.",
)
def command(
    paths: tuple[Path, ...],
    profiles: tuple[str, ...],
    resend: str,
    expect: Path | None,
    edits: bool,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
    as_json: bool,
    line_limit: int,
    size_limit: int,
    step_limit: int,
    depth_limit: int,
) -> int:
    """Check session logs of any version against the specification.

    The model's table is the judge: it is asked for each turn, step, inbox and message record
    whether a session can have written it; log relations are asked for numbers, tools, requests,
    repairs and identities. Nothing of a log is believed, and no log is changed.
    """
    from loopspec.cli.report import write_text
    from loopspec.cli.tracing import acceptor_for, expectations, judge_paths, try_edits
    from loopspec.conformance.trace import Limits, Options
    from loopspec.reports.traced import Traced, traced_document, traced_lines

    began = time.perf_counter()
    wanted = expectations(expect)
    acceptor = acceptor_for(profiles)
    limits = Limits(line_limit, depth_limit, size_limit, steps=step_limit)
    logs = judge_paths(paths, acceptor, Options(resend == "allowed"), limits)
    if edits:
        return try_edits(logs, acceptor)
    traced = Traced(tuple(logs), wanted(logs), time.perf_counter() - began)
    if html is not None:
        write_text(html, page_of(logs, limits))
    if junit is not None:
        from loopspec.reports.traced_files import traced_junit

        write_text(junit, traced_junit(traced))
    if markdown is not None:
        from loopspec.reports.traced_files import traced_markdown

        write_text(markdown, traced_markdown(traced))
    if as_json:
        sys.stdout.write(json_text(traced_document(traced)))
    else:
        sys.stdout.write(printed(traced_lines(traced)))
    return traced.exit


def page_of(logs: list["Judged"], limits: "Limits") -> str:
    """The page of the only log.

    Raises CouldNotRun when there is not exactly one.
    """
    from loopspec.conformance.trace import NotALog
    from loopspec.reports.timeline import timeline_page

    if len(logs) != 1 or logs[0].verdict == "not a log":
        raise CouldNotRun(f"expected one log for --html, got {len(logs)}", "name a single file")
    try:
        return timeline_page(logs[0], Path(logs[0].name), limits)
    except NotALog as error:
        raise CouldNotRun(f"{logs[0].name}: {error}") from error
