"""What a run prints: findings first, then the tables, and the verdict on the last line.

Rules of this file: no line begins with a string of the subject (a CI runner reads commands at the
start of a line, after blanks too), no line is wrapped by us (a wrap would make a new start), and
every string passes `clean`.
"""

from collections.abc import Iterable, Iterator
from typing import IO, Final

from loopspec.conformance.explain import SCENARIO, labelled
from loopspec.reports.cells import CellSummary, CellTable, cell_summary, cell_tables
from loopspec.reports.run import Finding, Run
from loopspec.reports.text import clean, clean_lines
from loopspec.reports.words import (
    VERDICT_SENTENCES,
    count_words,
    fields_of,
    missed_cells,
    number,
    seconds_words,
    verdict_line,
)

STYLES: Final = {
    "holds": "bold green",
    "broken": "bold red",
    "error": "bold magenta",
    "inconclusive": "bold yellow",
    "unknown": "yellow",
    "skipped": "dim",
}

Line = tuple[str, str]
"""A line of text and the style it is printed in."""


def print_run(run: Run, file: IO[str], report: str = "", cells: bool = False) -> None:
    """Print a run; colours only where `file` is a terminal. `report` is the path of the page.

    `cells` prints each window of the coverage table instead of counting them.
    """
    from rich.console import Console  # 29 ms that `--help` need not pay
    from rich.text import Text

    console = Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)
    for text, style in lines_of(run, report, cells):
        if console.is_terminal:
            console.print(Text(text, style=style), soft_wrap=True)
        else:
            file.write(text + "\n")


def lines_of(run: Run, report: str = "", cells: bool = False) -> Iterator[Line]:
    """All lines of the print-out, in order."""
    for finding in run.findings:
        yield from _finding(run, finding)
    yield from _stages(run)
    yield from _properties(run)
    if cells:
        for table in cell_tables(run.cells):
            yield from _cells(table)
    elif run.cells:
        yield from _summary(cell_summary(run.cells))
    yield from _gaps(run)
    yield from closing_lines(run, report)


def closing_lines(run: Run, report: str = "") -> Iterator[Line]:
    """The last lines of a run: counts, where the report lies, how to replay, the verdict."""
    yield ("", "")
    if run.counts:
        time = f" in {seconds_words(run.seconds)}" if run.seconds else ""
        yield (f"counts   {clean(count_words(run))}{time}", "")
    if report:
        yield (f"report   {clean(report)}", "")
    if run.replay:
        yield (f"replay   {clean(run.replay)}", "bold")
    for reason in run.reasons[1 if run.verdict != "broken" else 0 :]:
        yield (f"reason   {clean(reason)}", STYLES[run.verdict])
    yield (f"verdict  {clean(verdict_line(run))}", STYLES[run.verdict])


FIELD_STYLES: Final = {"known as": "bold", "seen by": "dim", "rules": "dim", SCENARIO: "bold"}


def _finding(run: Run, finding: Finding) -> Iterator[Line]:
    yield (f"{_head(finding.property)} broken: {clean(finding.sentence)}", STYLES["broken"])
    for label, values in fields_of(run, finding):
        if label == SCENARIO:
            values = tuple(clean_lines(finding.scenario, lines_max=60))
        else:
            values = tuple(clean(each) for each in values)
        for text in labelled(label, values):
            yield (text, FIELD_STYLES.get(label, ""))
    yield ("", "")


def _stages(run: Run) -> Iterator[Line]:
    for stage in run.stages:
        note = f"  {clean(stage.note, 120)}" if stage.note else ""
        rate = f" {number(stage.actions_per_second):>7} actions/s"
        rate = rate if stage.actions_per_second else " " * len(rate)
        yield (
            f"stage {clean(stage.name, 20):<12} {stage.verdict:<13}"
            f"{number(stage.scenarios):>8} scenarios {number(stage.actions):>9} actions "
            f"{stage.seconds:>7.1f} s{rate}{note}",
            STYLES.get(stage.verdict, "") if stage.verdict != "holds" else "",
        )


def _properties(run: Run) -> Iterator[Line]:
    if run.properties:
        yield ("", "")
    for entry in run.properties:
        note = f"  ({clean(entry.note, 120)})" if entry.note else ""
        yield (
            f"{_head(entry.code):<8} {entry.verdict:<13}{number(entry.premise_met):>8} met  "
            f"{clean(entry.sentence, 200)}{note}",
            STYLES.get(entry.verdict, "") if entry.verdict != "holds" else "",
        )


def _cells(table: CellTable) -> Iterator[Line]:
    """Windows down, calls across; `.` the model forbids it, `0` enabled and never reached."""
    calls = [clean(call, 12) for call in table.calls]
    windows = [clean(window, 34) for window in table.windows]
    width = max(map(len, (*windows, "")))
    columns = [max(len(call), 6) for call in calls]
    yield ("", "")
    yield (f"calls made, driver {clean(table.driver, 30)}", "bold")
    heads = "  ".join(f"{call:>{wide}}" for call, wide in zip(calls, columns, strict=True))
    yield (f"  {'':<{width}}  {heads}", "dim")
    for window, counts in zip(windows, table.counts, strict=True):
        cells = "  ".join(
            f"{'.' if count is None else number(count):>{wide}}"
            for count, wide in zip(counts, columns, strict=True)
        )
        yield (f"  {_head(window):<{width}}  {cells}", "")


def _summary(summary: CellSummary) -> Iterator[Line]:
    """Drivers down, calls across; windows reached of windows enabled, `.` where there are none."""
    calls = [clean(call, 12) for call in summary.calls]
    drivers = [clean(driver, 24) for driver, _ in summary.rows]
    width = max(map(len, (*drivers, "driver")))
    columns = [max(len(call), 5) for call in calls]
    yield ("", "")
    yield ("windows in which each call was made, of those the model enables (--cells: all)", "bold")
    heads = "  ".join(f"{call:>{wide}}" for call, wide in zip(calls, columns, strict=True))
    yield (f"  {'driver':<{width}}  {heads}", "dim")
    for driver, (_, entries) in zip(drivers, summary.rows, strict=True):
        texts = ["." if entry is None else f"{entry[0]}/{entry[1]}" for entry in entries]
        row = "  ".join(f"{text:>{wide}}" for text, wide in zip(texts, columns, strict=True))
        yield (f"  {_head(driver):<{width}}  {row}", "")


def _gaps(run: Run) -> Iterator[Line]:
    dead = [f"{row.frame}: {row.name}" for row in run.rows if not row.taken]
    missed = [f"{cell.call} / {cell.window} / {cell.driver}" for cell in missed_cells(run)]
    for noun, names in (("rows never taken", dead), ("cells never reached", missed)):
        if names:
            yield ("", "")
            yield (f"{noun} ({len(names)}): {_some(names)}", STYLES["unknown"])


def _some(names: Iterable[str], most: int = 5) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return "; ".join(clean(name, 90) for name in listed[:most]) + more


def _head(text: str) -> str:
    """A subject's or a file's word at the start of a line, where `::` would be a command."""
    return clean(text, 80).replace("::", ":\\x3a")


__all__ = ["VERDICT_SENTENCES", "closing_lines", "lines_of", "print_run"]
