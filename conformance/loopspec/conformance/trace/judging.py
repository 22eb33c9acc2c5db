"""One log beside the model, from its first line to its last.

Theory. Which rules apply is read from the shape of a log, never from its version or its name.
Where the shape leaves several readings, they are followed side by side until one is left, and a
log holds when one of them explains it. While no inbox record has come the boundaries alone are
read, and if none comes they are all that is judged.

The end of a log owes nothing: its writer may have been stopped anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from loopspec.conformance.trace.acceptor import Acceptor
from loopspec.conformance.trace.decoding import BadLine, decode_line
from loopspec.conformance.trace.following import Boundaries, Options, Parted, Reading, breach
from loopspec.conformance.trace.reading import (
    Damaged,
    Evidence,
    Limits,
    Line,
    NotALog,
    open_log,
    read_lines,
)
from loopspec.conformance.trace.records import PACKED, BadShape, Record, record_of
from loopspec.conformance.trace.relations import (
    Relation,
    head,
    seeds_end_at_their_length,
    seq,
)
from loopspec.conformance.trace.story import SPLICED, Story
from loopspec.conformance.trace.verdicts import Finding, Judged, Tail
from loopspec.model.policy import PROFILES

__all__ = ["Judge", "judge_log", "judge_records"]

SHAPE_RULE: Final = "SL-07"
BOUNDARIES: Final = frozenset({"TURNS", "STEPS"})
"""The relations that logs of every age keep to; tools that normalise logs break others."""


READINGS_MAX: Final = 32
"""How many readings are followed; each fork inside the log may leave one more."""


class Judge:
    """Takes the records of one log and says what they amount to."""

    def __init__(self, acceptor: Acceptor | None = None, options: Options | None = None) -> None:
        """Begin a log."""
        self.acceptor = acceptor or Acceptor()
        self.options = options or Options()
        self.boundaries = Boundaries()
        self.readings = [
            Reading(self.acceptor, self.options),
            Reading(self.acceptor, self.options, old_order=True),
        ]
        self.first: Finding | None = None
        """Where the reading parted that has claims in their turn."""
        self.newest: Finding | None = None
        """Where the reading parted that went on longest."""
        self.broken: Finding | None = None
        self.damage = ""
        self.cut: int | None = None
        self.seeded: bool | None = None
        self.counts = {"records": 0, "turns": 0, "steps": 0, "splices": 0}
        self.marks: dict[str, None] = {}
        self.notes: dict[str, None] = {}

    @property
    def over(self) -> bool:
        """Whether nothing that follows can change the verdict."""
        return self.broken is not None or bool(self.damage)

    # --- Lines and records ---

    def take_line(self, line: Line, limits: Limits) -> None:
        """Read and judge one line.

        Raises NotALog when the first line is no record at all.
        """
        if not line.text.strip():
            return
        try:
            value = decode_line(line, limits)
            record = record_of(line.number, value)
        except BadLine as error:
            if not self.counts["records"] and not self.marks:
                raise NotALog(f"line {line.number}: {error}") from error
            self.damage = f"line {line.number} is damaged: {error}"
        except BadShape as error:
            if not self.counts["records"] and not self.marks and "'type'" in str(error):
                raise NotALog(f"line {line.number}: {error}") from error
            self.misshapen(line, str(error), value)
        else:
            self.take(record)

    def misshapen(self, line: Line, why: str, value: Mapping[str, object]) -> None:
        """A judged record without its members, which no writer commits."""
        number, name = value.get("seq"), value.get("type")
        numbered = number if type(number) is int else None
        told = "A record that is judged has the members by which it is judged."
        story = self.story
        self.broken = Finding(
            "SHAPE",
            (SHAPE_RULE,),
            told,
            line.number,
            numbered,
            name if isinstance(name, str) else "",
            f"{self.counts['records']} records were read before, turn {story.turn} is the newest",
            why,
        )

    @property
    def story(self) -> Story:
        """What the records have said, in the reading that is believed most."""
        return self.readings[0].story if self.readings else self.boundaries.story

    def take(self, record: Record) -> None:
        """Judge one record."""
        if record.name == "session":
            self.header(record)
            return
        if not record.known:
            self.damage = (
                f"line {record.line} has the type {record.name[:80]!r}, which is not known, and is "
                "not ignorable: it may change what the other records mean"
            )
            return
        self.count(record)
        story = self.boundaries.story
        if story.numbered is None:
            story.numbered = record.seq is not None
        if self.breaks(seq, story, record):
            return
        if self.cut and self.cut <= story.seq:
            if self.breaks(seeds_end_at_their_length, self.story, record):
                return
            self.cut = None
            self.fork_without()
        if not self.counts["splices"]:
            if record.name == "session/end-seed":
                self.begin_behind_a_seed()
            self.boundaries.take(record)
        else:
            story.seq += record.members
        self.follow(record)
        if not self.readings and self.counts["splices"] and self.broken is None:
            self.broken = self.chosen()

    def breaks(self, relation: Relation, story: Story, record: Record) -> bool:
        """Whether a record breaks a relation that is asked in the order of the file."""
        wrong = relation.check(story, record)
        if wrong is not None:
            self.broken = breach(story, record, relation, wrong)
        return wrong is not None

    def header(self, record: Record) -> None:
        """The first line: how a fork begins."""
        if self.breaks(head, self.boundaries.story, record):
            return
        self.marks["header"] = None
        for each in (self.boundaries.story, *(reading.story for reading in self.readings)):
            each.headed, each.seeded = True, record.data.isSeeded
        self.cut = record.data.seedLength
        self.seeded = record.data.isSeeded
        if self.seeded is not None:
            self.readings = [each for each in self.readings if not each.old_order]

    def count(self, record: Record) -> None:
        """Count what is told of a log."""
        name, counts = record.name, self.counts
        counts["records"] += record.members
        if name == SPLICED:
            counts["splices"] += 1
        elif name == "turn/start":
            counts["turns"] += 1
            if record.data.trigger is not None and "trigger" in record.raw:
                self.marks["turns with a trigger"] = None
        elif name == "step/start":
            counts["steps"] += 1
        elif name in PACKED:
            self.marks["packed rows"] = None

    # --- Readings ---

    def follow(self, record: Record) -> None:
        """Let each reading take the record; those that part are left behind."""
        left: list[Reading] = []
        for reading in self.readings:
            try:
                reading.take(record)
            except Parted as parted:
                self.parted(reading, parted.finding)
            else:
                left.append(reading)
        if record.name == "session/end-seed" and record.data.inherited:
            for each in [each for reading in left for each in self.without_pending(reading)]:
                if not any(each.goes_on_as(other) for other in left):
                    left.append(each)
            if len(left) > READINGS_MAX:
                self.damage = f"it is forked so often that more than {READINGS_MAX} readings fit"
        self.readings = left

    def parted(self, reading: Reading, finding: Finding) -> None:
        """Keep where a reading parted."""
        if not reading.old_order:
            self.first = self.first or finding
            self.newest = finding
        elif "CL-07" not in finding.rules:
            self.newest = finding

    def chosen(self) -> Finding:
        """What is told of a log that no reading explains."""
        finding = self.newest or self.first
        assert finding is not None, "readings were left behind"
        return finding

    def begin_behind_a_seed(self) -> None:
        """A seed without inbox records is older than the inbox: begin to judge behind it."""
        if self.counts["turns"]:
            self.notes["the seed holds no inbox record: its inbox rules are skipped"] = None
            self.readings = [Reading(self.acceptor, self.options)]
            self.readings[0].story = self.boundaries.story.copy()

    def fork_without(self) -> None:
        """The cut of a fork whose inbox begins empty (ID-10)."""
        self.marks["a fork that begins with an empty inbox"] = None
        for reading in self.readings:
            reading.story = reading.story.without_pending()
            if not reading.story.turn_open:
                reading.restart()

    def without_pending(self, reading: Reading) -> Iterator[Reading]:
        """A fork may begin with the pending messages of its parent, or without."""
        self.marks["a fork that inherits"] = None
        if reading.story.pending:
            other = reading.without_pending()
            other.note("the fork begins with an empty inbox, as forks of older logs do")
            if not other.story.turn_open:
                other.restart()
            yield other

    # --- The end ---

    def judged(self, name: str, evidence: Evidence | None = None) -> Judged:
        """What the log amounts to."""
        evidence = evidence or Evidence()
        verdict, reason = self.verdict()
        reading = self.readings[0] if self.readings else None
        told = dict(self.notes)
        if reading is not None:
            for text, count in reading.notes.items():
                told[text if count == 1 else f"{text} ({count} times)"] = None
        finding = self.broken
        return Judged(
            name=name,
            verdict=verdict,
            finding=finding if verdict == "broken" else None,
            reason=reason,
            shape=self.shape(),
            profiles=self.profiles(reading) if verdict == "holds" else (),
            tail=tail_of(self.story, evidence),
            notes=(*evidence.notes, *told),
            peak=reading.peak if reading is not None else 0,
            container=evidence.container,
            frames=evidence.frames,
            size=evidence.size,
            **self.counts,
        )

    def verdict(self) -> tuple[str, str]:
        """The verdict, with the reason where it is neither holds nor broken."""
        counts = self.counts
        inbox = counts["splices"] > 0
        finding = self.broken or (None if inbox else self.boundaries.finding)
        if finding is not None:
            if not inbox and not self.is_of_a_loop(finding):
                return "unknown", (
                    "it holds no inbox record, so it is older than the inbox, written by hand or "
                    f"changed by a tool; {finding.where}, {finding.name}: {finding.however} "
                    f"({' '.join(finding.rules)})"
                )
            self.broken = finding
            return "broken", ""
        if self.damage:
            return "unknown", self.damage
        if inbox:
            return "holds", ""
        if not counts["records"]:
            return "skipped", "it holds no record behind its header"
        if not counts["turns"]:
            return "skipped", "it holds no turn and no inbox record: there is nothing to judge"
        return "skipped", "its vocabulary is older than the inbox: turns and steps hold"

    def is_of_a_loop(self, finding: Finding) -> bool:
        """Whether a log without inbox records breaks what logs of every age keep to."""
        if finding.code == "SHAPE":
            return finding.name in ("", SPLICED) or bool(self.counts["turns"])
        return finding.code in BOUNDARIES and bool(self.counts["turns"])

    def shape(self) -> str:
        """By what the rules were chosen."""
        parts = []
        if not self.counts["splices"]:
            parts.append("no inbox")
        elif self.readings and self.readings[0].old_order:
            parts.append("claims in front of their turn")
        else:
            parts.append("claims in their turn")
        numbered = self.boundaries.story.numbered
        parts.append("numbered" if numbered else "not numbered")
        parts += [mark for mark in self.marks if mark != "header"]
        if "header" not in self.marks:
            parts.append("no header")
        return ", ".join(parts)

    def profiles(self, reading: Reading | None) -> tuple[str, ...]:
        """The profiles that explain the log to its end."""
        if reading is None:
            return ()
        policies = {self.acceptor.sessions[number].policy for number in reading.sessions}
        return tuple(name for name, policy in PROFILES.items() if policy in policies)


def tail_of(story: Story, evidence: Evidence) -> Tail:
    """How a log ends, and what recovery will append (RS-03, RS-04, RS-07)."""
    opened: list[str] = []
    appends: list[str] = []
    if story.turn_open:
        opened.append(f"turn {story.turn}")
        if story.step_open:
            opened.append(f"step {story.step}")
            for call in story.asked:
                if call not in story.answered:
                    started = call in story.started
                    opened.append(f"call {call}")
                    what = "TOOL_OUTCOME_UNKNOWN" if started else "TOOL_NOT_STARTED"
                    appends.append(f"tool/result {call} {what}")
            appends.append(f"step/end {story.turn}.{story.step}")
        appends += [f"turn/end {story.turn} interrupted", "session/end-seed"]
    elif story.owes_seed:
        appends.append("session/end-seed")
    return Tail(evidence.torn, evidence.dropped, tuple(opened), tuple(appends), len(story.pending))


def judge_records(
    records: Iterable[dict[str, object]],
    acceptor: Acceptor | None = None,
    options: Options | None = None,
    name: str = "",
) -> Judged:
    """Judge records that have been read already."""
    judge = Judge(acceptor, options)
    for number, value in enumerate(records, 1):
        try:
            judge.take(record_of(number, value))
        except BadShape as error:
            line = Line(number, 0, b"")
            judge.misshapen(line, str(error), value)
        if judge.over:
            break
    return judge.judged(name)


def judge_log(
    path: Path,
    acceptor: Acceptor | None = None,
    options: Options | None = None,
    limits: Limits | None = None,
    walked: bool = False,
) -> Judged:
    """Judge the log in a file. The file is only read, and only as far as the verdict is open."""
    name, evidence, limits = str(path), Evidence(), limits or Limits()
    judge = Judge(acceptor, options)
    try:
        with open_log(path, walked) as file:
            for line in read_lines(file, evidence, limits):
                judge.take_line(line, limits)
                if judge.over:
                    break
    except NotALog as error:
        return Judged(name, "not a log", reason=str(error), size=evidence.size)
    except Damaged as error:
        judge.damage = judge.damage or str(error)
    except OSError as error:
        return Judged(name, "not a log", reason=f"it cannot be read: {error.strerror}")
    return attrs.evolve(judge.judged(name, evidence))
