"""What `loopspec trace` found, as JUnit XML and as a summary in Markdown."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Final

from loopspec.conformance.trace.verdicts import Judged
from loopspec.reports.junit import add_case, document_of
from loopspec.reports.run import PartVerdict
from loopspec.reports.text import clean
from loopspec.reports.traced import Traced, finding_lines

__all__ = ["code_span", "traced_junit", "traced_markdown"]

PARTS: Final[dict[str, PartVerdict]] = {
    "holds": "holds",
    "broken": "broken",
    "skipped": "skipped",
    "unknown": "unknown",
    "not a log": "error",
}
RUN: Final[dict[int, PartVerdict]] = {0: "holds", 1: "broken", 2: "error", 3: "unknown"}
ROWS_MAX: Final = 2_000
"""How many logs a summary lists; forges show no more than a megabyte."""


def traced_junit(traced: Traced) -> str:
    """The document as text: a case for the run, and one for each log."""
    suite = ET.Element("testsuite", name="loopspec trace")
    add_case(suite, "loopspec.run", "verdict", RUN[traced.exit], traced.sentence, traced.seconds)
    for log in traced.logs:
        told = log.finding.however if log.finding is not None else log.reason
        case = add_case(suite, "loopspec.log", log.name, PARTS[log.verdict], told)
        failure = case.find("failure")
        if failure is not None and log.finding is not None:
            failure.text = "\n".join(["", *finding_lines(log, log.finding), ""])
    return document_of(suite, traced.seconds)


def traced_markdown(traced: Traced) -> str:
    """The summary as text: the verdict, a table of logs, and the findings."""
    return "\n".join(markdown_lines(traced)) + "\n"


def markdown_lines(traced: Traced) -> Iterator[str]:
    """The lines of the summary."""
    yield "# loopspec trace"
    yield ""
    yield f"**{traced.sentence}**"
    yield ""
    yield "| log | verdict | records | turns | why |"
    yield "|---|---|---:|---:|---|"
    for log in traced.logs[:ROWS_MAX]:
        cells = (code_span(log.name, 200), log.verdict, f"{log.records:,}", f"{log.turns:,}")
        yield f"| {' | '.join(cells)} | {why(log)} |"
    if len(traced.logs) > ROWS_MAX:
        yield f"| {len(traced.logs) - ROWS_MAX:,} more logs | | | | |"
    for log in traced.logs[:ROWS_MAX]:
        if log.finding is not None:
            yield ""
            yield f"## {code_span(log.name, 200)}"
            yield ""
            yield from (
                f"- {code_span(line.strip(), 600)}" for line in finding_lines(log, log.finding)
            )
    for told in traced.expected or ():
        yield ""
        yield f"Expected otherwise: {code_span(told, 300)}"


def why(log: Judged) -> str:
    """The reason for a verdict, as a cell."""
    finding = log.finding
    if finding is not None:
        return code_span(f"{finding.code} {' '.join(finding.rules)} at {finding.where}")
    return code_span(log.reason) if log.reason else ""


def code_span(text: str, limit: int = 300) -> str:
    """A string of somebody else as a code span: longer than any run of backticks inside.

    A bar would end the cell of a table even in a span.
    """
    shown = clean(text, limit).replace("|", "\\x7c") or " "
    runs = re.findall("`+", shown)
    ticks = "`" * (max(map(len, runs), default=0) + 1)
    return f"{ticks} {shown} {ticks}" if runs else f"{ticks}{shown}{ticks}"
