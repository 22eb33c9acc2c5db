"""One reading of a log: each record is taken, or the reading and the log part.

A reading settles what the shape of a log leaves open: whether claims stand in their turn or in
front of it, as writers had them before, and whether a fork begins with the pending messages of its
parent. Relations are asked first, since they say what is wrong more closely; then the table.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs

from loopspec.conformance.trace.acceptor import Acceptor, Sessions
from loopspec.conformance.trace.asking import asked_of_table, lengths_after
from loopspec.conformance.trace.explaining import came, reason_of, situation
from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.relations import Relation, Wrong, by_record, claims_are_for_good
from loopspec.conformance.trace.story import SPLICED, Story, is_claim, is_placeholder
from loopspec.conformance.trace.verdicts import Finding
from loopspec.model.words import Observation

__all__ = ["Boundaries", "Options", "Parted", "Reading", "breach"]

BACK: Final = 4
"""How many records a guess of a call inside a delivery may reach back."""

WITH_INBOX: Final = by_record(inbox=True)
WITHOUT_INBOX: Final = by_record(inbox=False)
RESTARTS: Final = frozenset({"interrupted", "forked"})


@attrs.frozen
class Options:
    """What a log is allowed: `resend` makes an id that comes back after its claim a note."""

    resend: bool = False


class Parted(Exception):
    """A reading does not explain a record."""

    def __init__(self, finding: Finding) -> None:
        """Keep what was found."""
        super().__init__(finding.however)
        self.finding = finding


def breach(story: Story, record: Record, broken: Relation, wrong: Wrong) -> Finding:
    """What a relation has found."""
    return Finding(
        broken.code,
        (wrong.rule,),
        broken.sentence,
        record.line,
        record.seq,
        record.name,
        situation(story),
        wrong.how,
    )


class Boundaries:
    """A reading of a log without inbox records: what relations say, and nothing else."""

    def __init__(self) -> None:
        """Begin a log."""
        self.story = Story()
        self.finding: Finding | None = None

    def take(self, record: Record) -> None:
        """Take one record; what breaks a relation first is kept."""
        if self.finding is None:
            for each in WITHOUT_INBOX.get(record.name) or WITHOUT_INBOX[""]:
                wrong = each.check(self.story, record)
                if wrong is not None and self.finding is None:
                    self.finding = breach(self.story, record, each, wrong)
        self.story.tell(record)


class Reading:
    """A reading of a log with inbox records: relations, then the model's table."""

    def __init__(self, acceptor: Acceptor, options: Options, old_order: bool = False) -> None:
        """Begin a log; `old_order` has claims in front of their turn."""
        self.acceptor = acceptor
        self.options = options
        self.old_order = old_order
        self.held: list[Record] = []
        self.story = Story()
        self.sessions: Sessions = acceptor.begin()
        self.taken: deque[tuple[Sessions, tuple[Observation, ...], int, int]] = deque(maxlen=BACK)
        self.notes: dict[str, int] = {}
        self.peak = 1

    def without_pending(self) -> Reading:
        """The same reading, to go on with empty lists."""
        other = Reading(self.acceptor, self.options, self.old_order)
        other.held = list(self.held)
        other.story = self.story.without_pending()
        other.sessions = self.sessions
        other.taken = self.taken.copy()
        other.notes = dict(self.notes)
        other.peak = self.peak
        return other

    def goes_on_as(self, other: Reading) -> bool:
        """Whether whatever follows is taken alike by both."""
        return (
            self.old_order == other.old_order
            and self.sessions == other.sessions
            and self.story == other.story
            and self.held == other.held
            and self.taken == other.taken
        )

    def note(self, text: str) -> None:
        """Count something that is told and breaks nothing."""
        self.notes[text] = self.notes.get(text, 0) + 1

    def restart(self) -> None:
        """What is pending is quiet, and nothing runs (RS-01)."""
        self.sessions = self.acceptor.begin(*self.story.lengths)
        self.taken.clear()

    def take(self, record: Record) -> None:
        """Take one record in the order of the file.

        Raises Parted where this reading does not explain it.
        """
        if self.old_order and record.name == SPLICED and is_claim(record):
            if not self.story.turn_open:
                self.held.append(record)
                return
            if not self.story.step:
                self.refuse(record, "Claims stand in front of their turn.", ("CL-07",))
        if not self.held:
            self.judge(record)
            return
        held, self.held = self.held, []
        if record.name != "turn/start":
            self.refuse(held[0], "A claim stands in the turn that makes it.", ("CL-07",))
        for each in (record, *held):
            self.judge(each)

    def refuse(self, record: Record, sentence: str, rules: tuple[str, ...]) -> None:
        """Part at a record."""
        raise Parted(self.found("MODEL", rules, sentence, record, came(record), ()))

    def found(
        self,
        code: str,
        rules: tuple[str, ...],
        sentence: str,
        record: Record,
        however: str,
        allowed: tuple[str, ...],
    ) -> Finding:
        """What was found at a record."""
        where = (record.line, record.seq, record.name, situation(self.story))
        return Finding(code, rules, sentence, *where, however, allowed)

    def judge(self, record: Record) -> None:
        """Take one record in the order of the model."""
        story = self.story
        for each in WITH_INBOX.get(record.name) or WITH_INBOX[""]:
            wrong = each.check(story, record)
            if wrong is not None:
                self.breach(record, each, wrong)
        asked = asked_of_table(story, record)
        if asked:
            self.ask(record, asked)
        else:
            story.tell(record)
        if record.name == "turn/end":
            if record.data.reason.kind in RESTARTS:
                self.restart()
        elif record.name == "session/end-seed" and not story.turn_open:
            self.restart()
        elif record.name == SPLICED:
            self.tell_placeholders(record)

    def breach(self, record: Record, broken: Relation, wrong: Wrong) -> None:
        """Part at a record that breaks a relation, or note it where that is allowed."""
        if broken is claims_are_for_good and self.options.resend:
            for each in record.data.inserted:
                self.story.claimed.discard(each.id)
                self.story.entered.discard(each.id)
            self.note("an id was sent again after its claim, which is allowed here")
            return
        raise Parted(breach(self.story, record, broken, wrong))

    def tell_placeholders(self, record: Record) -> None:
        """Ids that a tool has put in name nothing."""
        if any(is_placeholder(each.id) for each in record.data.inserted):
            self.note("message ids are placeholders, so that none can be told to come again")

    def ask(self, record: Record, asked: tuple[Observation, ...]) -> None:
        """Ask the table for a record, then fold it.

        Raises Parted when no possible session writes it.
        """
        story = self.story
        before = self.sessions
        in_turn, in_step = lengths_after(story, record)
        after = self.acceptor.after(before, asked, in_turn, in_step)
        if not after:
            after = self.inside(asked, in_turn, in_step)
        if not after:
            reason = reason_of(story, record)
            allowed = self.acceptor.allowed(before)
            finding = self.found(
                "MODEL", reason.rules, reason.sentence, record, came(record), allowed
            )
            raise Parted(finding)
        self.taken.append((before, asked, in_turn, in_step))
        self.sessions = after
        self.peak = max(self.peak, len(after))
        story.tell(record)

    def inside(self, asked: tuple[Observation, ...], in_turn: int, in_step: int) -> Sessions:
        """Guess calls inside deliveries, from the newest record backwards.

        Such a call shows by the edit that it writes: a cancel is taken as well at rest.
        """
        taken = [*self.taken, (self.sessions, asked, in_turn, in_step)]
        for begin in range(len(taken) - 1, -1, -1):
            sessions, (first, *_), _, _ = taken[begin]
            if not (first.get("inserted") or first.get("outcome")):
                continue
            for _, seen, turns, steps in taken[begin:]:
                sessions = self.acceptor.after(sessions, seen, turns, steps, inside=True)
            if sessions:
                self.note("a call inside the delivery of an event was guessed")
                return self.acceptor.at_rest(sessions)
        return frozenset()
