"""What `loopspec trace` says of logs: one line a log, findings, a summary by verdict.

Rules of this file: every string of a log or of a file name passes `clean` at the sink, and no line
begins with one. The verdict of a run is that of its worst log, and stands on the last line.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import attrs

from loopspec.conformance.trace.verdicts import Finding, Judged, Tail
from loopspec.reports.text import clean

__all__ = ["Traced", "traced_document", "traced_lines", "traced_summary"]

EXITS: Final = {"broken": 1, "not a log": 2, "unknown": 3, "holds": 0, "skipped": 3}
WORDS: Final = {
    "broken": "broken",
    "not a log": "could not run",
    "unknown": "inconclusive",
    "skipped": "inconclusive",
    "holds": "holds",
}
ORDER: Final = ("broken", "not a log", "unknown", "holds", "skipped")
NAME_CHARS: Final = 120


@attrs.frozen
class Traced:
    """The logs of one run. `expected` are the logs that are not as `--expect` says."""

    logs: tuple[Judged, ...]
    expected: tuple[str, ...] | None = None
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """The verdict that decides: of the worst log, or whether expectations are met."""
        if self.expected is not None:
            return "broken" if self.expected else "holds"
        found = {log.verdict for log in self.logs}
        return next((each for each in ORDER if each in found), "skipped")

    @property
    def exit(self) -> int:
        """The exit code of the run."""
        return EXITS[self.verdict]

    @property
    def sentence(self) -> str:
        """The last line: the verdict, and what it is about."""
        word = WORDS[self.verdict]
        if self.expected is not None:
            off = len(self.expected)
            told = f"{off} of {len(self.logs)} logs are not" if off else "every log is"
            return f"{word}: {told} as expected"
        if not self.logs:
            return f"{word}: no log was found, nothing was checked"
        counts = Counter(log.verdict for log in self.logs)
        told = ", ".join(f"{counts[each]} {each}" for each in ORDER if counts[each])
        if self.verdict == "skipped":
            told += ", nothing was checked"
        return f"{word}: {told}"


def traced_lines(traced: Traced) -> Iterator[str]:
    """All lines of the print-out, in order."""
    for log in traced.logs:
        yield log_line(log)
    for log in traced.logs:
        if log.finding is not None:
            yield ""
            yield from finding_lines(log, log.finding)
    if len(traced.logs) == 1:
        yield from details(traced.logs[0])
    yield ""
    if len(traced.logs) > 1:
        yield from traced_summary(traced)
    for told in traced.expected or ():
        yield f"expected {clean(told)}"
    yield f"verdict  {clean(traced.sentence)}"


def log_line(log: Judged) -> str:
    """One log on one line."""
    told = log.reason
    if log.finding is not None:
        rules = " ".join(log.finding.rules)
        told = f"{log.finding.code} ({rules}) at {log.finding.where}"
    elif log.verdict == "holds":
        told = f"{log.records:,} records, {log.turns:,} turns, {log.steps:,} steps"
        if log.tail.torn:
            told += f"; {log.tail.torn}, {log.tail.dropped:,} bytes dropped"
    return f"{log.verdict:<9} {clean(log.name, NAME_CHARS)}  {clean(told)}"


def finding_lines(log: Judged, finding: Finding) -> Iterator[str]:
    """Where a log and the specification part."""
    yield f"{clean(finding.code)} broken: {clean(finding.sentence)}"
    yield f"  log       {clean(log.name, NAME_CHARS)}"
    yield f"  rules     {clean(' '.join(finding.rules))}"
    yield f"  record    {clean(finding.where.removeprefix('record '))}, {clean(finding.name)}"
    yield f"  because   {clean(finding.because)}."
    yield f"  however   {clean(finding.however)}."
    if finding.allowed:
        yield f"  allowed   {clean(' or '.join(finding.allowed))}"


def details(log: Judged) -> Iterator[str]:
    """What else was learnt of a single log."""
    yield ""
    if log.shape:
        yield f"shape     {clean(log.shape)}"
    if log.profiles:
        yield f"profiles  {clean(', '.join(log.profiles))} explain all of it"
    yield from tail_lines(log.tail)
    for note in log.notes:
        yield f"note      {clean(note)}"


def tail_lines(tail: Tail) -> Iterator[str]:
    """How a log ends."""
    if tail.torn:
        yield f"tail      {clean(tail.torn)}: {tail.dropped:,} bytes were never acknowledged"
    if tail.open:
        yield f"open      {clean(', '.join(tail.open))}"
    if tail.appends:
        yield f"recovery  appends {clean(', '.join(tail.appends))}"
    if tail.pending:
        yield f"pending   {tail.pending:,} messages wait for a later turn"


def traced_summary(traced: Traced) -> Iterator[str]:
    """How many logs there are of each verdict, and of how many records."""
    for verdict in ORDER:
        logs = [log for log in traced.logs if log.verdict == verdict]
        if logs:
            records = sum(log.records for log in logs)
            yield f"{verdict:<9} {len(logs):>6,} logs {records:>12,} records"


def traced_document(traced: Traced) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "verdict": WORDS[traced.verdict],
        "exit": traced.exit,
        "sentence": traced.sentence,
        "unexpected": list(traced.expected) if traced.expected is not None else None,
        "logs": [log.document() for log in traced.logs],
    }
