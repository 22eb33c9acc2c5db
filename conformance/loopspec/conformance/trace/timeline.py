"""A log as a timeline of bounded size: turns, both lists, and the records around a finding.

Rules of this file. However long a log is, what is kept of it is not: turns are put together until
there are few enough, lists are drawn with so many points, and of the records only those stand in
full that lie around the finding, or at the beginning where there is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from loopspec.conformance.trace.decoding import BadLine, decode_line
from loopspec.conformance.trace.explaining import came
from loopspec.conformance.trace.reading import Damaged, Evidence, Limits, open_log, read_lines
from loopspec.conformance.trace.records import BadShape, Record, record_of
from loopspec.conformance.trace.story import CHANGES, Story
from loopspec.conformance.trace.verdicts import Judged

__all__ = ["Point", "Shown", "Timeline", "TurnRow", "timeline_of"]

TURNS_MAX: Final = 500
POINTS_MAX: Final = 400
BEFORE: Final = 60
BEHIND: Final = 10


@attrs.define
class TurnRow:
    """One turn, or several that were put together: how they ended and how long lists were."""

    first: int
    last: int
    line: int
    steps: int = 0
    records: int = 0
    endings: dict[str, int] = attrs.field(factory=dict)
    next_turn: int = 0
    next_step: int = 0
    broken: bool = False

    @property
    def name(self) -> str:
        """Its number, or the numbers from and to."""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@attrs.frozen
class Point:
    """The longest that both lists were in a part of the log, and whether a turn was open."""

    next_turn: int
    next_step: int
    turn_open: bool
    broken: bool


@attrs.frozen
class Shown:
    """One record in full."""

    line: int
    seq: int | None
    text: str
    judged: bool
    broken: bool


@attrs.define
class Timeline:
    """What is shown of one log."""

    turns: list[TurnRow] = attrs.field(factory=list)
    points: list[Point] = attrs.field(factory=list)
    records: list[Shown] = attrs.field(factory=list)
    together: int = 1
    """How many turns were put together."""
    cut: str = ""
    """Where reading has stopped, and why."""


def timeline_of(log: Judged, path: Path, limits: Limits | None = None) -> Timeline:
    """The timeline of a log that was judged; up to its finding, and a little further.

    Raises NotALog when it cannot be opened any more.
    """
    limits = limits or Limits()
    broken = log.finding.line if log.finding is not None else 0
    shown = Timeline(together=max(1, -(-log.turns // TURNS_MAX)))
    around: deque[Shown] = deque(maxlen=BEFORE if broken else None)
    part = max(1, -(-log.records // POINTS_MAX))
    point = [0, 0, 0, 0]
    story = Story()
    with open_log(path) as file:
        for number, record in enumerate(records_in(file, limits, shown)):
            if broken and record.line > broken + BEHIND:
                break
            at = record.line == broken
            if not broken or record.line < broken:
                story.tell(record)
            add_turn(shown, story, record, at)
            lengths = (len(story.next_turn), len(story.next_step))
            point = [*map(max, point[:2], lengths), point[2] | story.turn_open, point[3] | at]
            if number % part == part - 1 or at:
                shown.points.append(Point(point[0], point[1], bool(point[2]), bool(point[3])))
                point = [0, 0, 0, 0]
            if broken or len(around) < BEFORE:
                around.append(Shown(record.line, record.seq, words(record), judged(record), at))
                if at:
                    around = deque(around, maxlen=BEFORE + BEHIND)
    shown.records = list(around)
    return shown


def records_in(file: object, limits: Limits, shown: Timeline) -> Iterator[Record]:
    """The records of an open log, as far as they can be read."""
    try:
        for line in read_lines(file, Evidence(), limits):  # type: ignore[arg-type]
            if line.text.strip():
                record = record_of(line.number, decode_line(line, limits))
                if record.name != "session":
                    yield record
    except (Damaged, BadLine, BadShape) as error:
        shown.cut = str(error)


def judged(record: Record) -> bool:
    """Whether a record changes what is known of turns and lists."""
    return record.name in CHANGES


def words(record: Record) -> str:
    """A record in one line."""
    plain = record.name in CHANGES and record.name not in ("request/header", "session/end-seed")
    if not plain:
        return record.name
    if record.name in ("tool/call", "tool/result"):
        call = record.data.callId if record.name == "tool/call" else record.data.call
        return f"{record.name} {record.data.turn}.{record.data.step} {call}"
    return came(record).removesuffix(" came")


def add_turn(shown: Timeline, story: Story, record: Record, broken: bool) -> None:
    """Count a record for its turn."""
    if record.name == "turn/start":
        number = record.data.turn
        full = not shown.turns or shown.turns[-1].last - shown.turns[-1].first >= shown.together - 1
        if full:
            shown.turns.append(TurnRow(number, number, record.line))
        else:
            shown.turns[-1].last = number
    if not shown.turns:
        return
    row = shown.turns[-1]
    row.records += 1
    row.broken = row.broken or broken
    row.next_turn = max(row.next_turn, len(story.next_turn))
    row.next_step = max(row.next_step, len(story.next_step))
    if record.name == "step/start":
        row.steps += 1
    elif record.name == "turn/end":
        kind = record.data.reason.kind[:40]
        if kind in row.endings or len(row.endings) < 12:
            row.endings[kind] = row.endings.get(kind, 0) + 1
