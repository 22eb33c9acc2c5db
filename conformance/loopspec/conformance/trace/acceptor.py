"""The model's table as the acceptor of a log: which sessions can have written it so far.

Theory. A log holds records and nothing else: no calls, no answers, no live events. A record is
taken by every session that can come to write it through moves that a log does not show, answers
at open gates, and calls while control is with the event loop; calls inside a delivery are guessed
only when that refuses. What is left is a set of sessions, and a log parts from the model where
the set becomes empty.

Three things keep that set small, and none of them is a second table. *Numbers* are relative: an
open turn is 0, the next one 1. *Lists* are cut to what a row can tell apart, which is whether
anything is pending, the head, and whether anything asks to wake; `lens` maps a record of the log
to the one that the table writes for such lists. A session that another one may still silently
become is left out. What was found for a set and a record is remembered, so that a long log costs
one look-up a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import attrs

from loopspec.model.describe import observation_text
from loopspec.model.policy import PROFILES, Policy
from loopspec.model.session import DUE, QUIET, WAKING, Item, Session, Turn
from loopspec.model.table import apply, move
from loopspec.model.words import (
    FIRST,
    GATES,
    Answer,
    Call,
    Message,
    Observation,
    text_message,
)

__all__ = ["ENTERED", "KEPT", "ONE_CALL", "READINGS", "Acceptor", "Sessions", "named"]

READINGS: Final = ("notes", "dsh-0.1", "dsh-0.2")
"""The profiles by which a log is judged unless others are named.

A log that `notes-park` explains is explained by `notes` with other marks.
"""

KEPT: Final = 2
"""The longest list here: a row tells none, one and several apart."""

LOGGED: Final = frozenset(
    {
        *("turn/start", "turn/end", "step/start", "step/end", "agent/inbox/spliced"),
        *("user/message", "assistant/message"),
    }
)
"""The records that the table is asked for; tools are told by log relations."""

STRENGTH: Final = {QUIET: 0, WAKING: 1, DUE: 2}
ENTERED: Final = text_message("entered")
ONE_CALL: Final = ("call",)
ALL_GATES: Final = frozenset(GATES)

Sessions = frozenset[int]
"""Possible sessions, by their number in the acceptor that made them."""


@lru_cache(maxsize=64)
def named(kind: str, index: int) -> Message:
    """The message that stands for one place of a list, or for one that is inserted."""
    return text_message(f"{kind}{index}")


ANSWERS: Final[dict[str, tuple[Answer, ...]]] = {
    "pre-step": (
        Answer("pre-step", "enter", (ENTERED,)),
        Answer("pre-step", "enter", ()),
        Answer("pre-step", "reject"),
        Answer("pre-step", "raise"),
    ),
    "provider": (
        Answer("provider", "done"),
        Answer("provider", "tools", None, ONE_CALL),
        Answer("provider", "max-tokens"),
        Answer("provider", "partial"),
        Answer("provider", "error"),
        Answer("provider", "cut"),
    ),
}
"""What the environment may answer; at the other gates each choice of the gate.

A decision may enter any messages (PS-20), so one stands for all of them; `parallel` writes the same
records as `tools`, and a log shows the calls for which a reply is owed, so there is no `owes`.
"""

QUIET_CALLS: Final = (
    Call("cancel", ("user", "keep")),
    Call("cancel", ("disposed", "keep")),
    Call("maintenance"),
)
"""Calls that a log does not show."""


def answers(session: Session) -> Iterator[Answer]:
    """Every answer that the environment may give now."""
    for label in session.gates:
        gate, _, call = label.partition(" ")
        if gate in ANSWERS:
            yield from ANSWERS[gate]
        else:
            for choice in GATES[gate]:
                yield Answer(gate, choice, None, (call,) if call else ())


# --- The session that stands for others ---------------------------------------------------------


def strength(session: Session) -> str:
    """The strongest mark of what is pending."""
    marks = [item.mark for item in session.pending]
    return max(marks, key=lambda mark: STRENGTH[mark], default=QUIET)


@lru_cache(maxsize=64)
def listed(kind: str, length: int, mark: str) -> tuple[Item, ...]:
    """A list of that length; its last item carries the mark, the others are quiet."""
    items = [Item(named(kind, index)) for index in range(length)]
    return (*items[:-1], items[-1]._replace(mark=mark)) if items else ()


def stands_for(session: Session, in_turn: int, in_step: int, mark: str) -> Session:
    """The session that stands for it: numbers relative, lists of these lengths.

    A row asks of marks only whether any pending message wakes or is due, so one message carries
    the strongest mark of all.
    """
    return session.but(
        turn=Turn(0),
        step=min(session.step, 1),
        next_turn=listed("t", in_turn, mark),
        next_step=listed("s", in_step, QUIET if in_turn else mark),
        batch=(ENTERED,) if ENTERED in session.batch else (),
        settling=(),
    )


def settled(session: Session) -> Session:
    """The session that stands for it, with its lists as long as they are."""
    return stands_for(session, len(session.next_turn), len(session.next_step), strength(session))


def marks_after(session: Session, record: Observation) -> tuple[str, ...]:
    """The strongest mark that may be left: what is removed takes its own along."""
    mark = strength(session)
    if not record.get("removed"):
        return (mark,)
    return tuple(each for each in STRENGTH if STRENGTH[each] <= STRENGTH[mark])


# --- What a session may come to -----------------------------------------------------------------

Written = tuple[Observation, Session]
"""A record that a session writes, and the session after it."""


def seen_in_a_log(seen: Observation) -> Observation:
    """A record as a log shows it: what an error says is not compared."""
    if seen.name == "turn/end" and seen.get("error") is not None:
        return seen._replace(data=(*seen.data[:3], ("error", "")))
    return seen


def silent(session: Session, stops: bool = False) -> tuple[Session, Written | None]:
    """Run what no log shows, up to the next record or until control is with the event loop.

    With `stops` also until the listener of an event runs.
    """
    while session.stack:
        moved = move(session)
        assert moved is not None, "a session with work on its stack moves"
        seen = moved.observation
        if seen is not None and seen.kind == "record" and seen.name in LOGGED:
            return session, (seen_in_a_log(seen), moved.session)
        session = moved.session
        if stops and session.listening:
            break
    return session, None


def after_change(session: Session) -> Session:
    """The session once the list has changed, right after the record of a splice."""
    changed = False
    while not changed:
        changed = session.stack[0].frame == "change"
        moved = move(session)
        assert moved is not None, "a splice is followed by its change"
        session = moved.session
    return session


class Node(NamedTuple):
    """What follows a session: a record that it writes, or the sessions it may silently become.

    `rests` tells that a call may land in it.
    """

    written: Written | None
    following: tuple[int, ...]
    rests: bool


class Ahead(NamedTuple):
    """What a session may come to: records that it may write, and where a call may land."""

    writes: tuple[Written, ...]
    rests: frozenset[int]


def calls_for(splice: Observation) -> Iterator[Call]:
    """The calls that may have made an edit of a list."""
    target, start, removed, inserted = (value for _, value in splice.data[:4])
    assert isinstance(inserted, tuple)
    yield Call("splice", (target, start, removed, inserted))
    if not removed and len(inserted) == 1:
        yield Call("followup", inserted)
        yield Call("steer", inserted)


def splices(session: Session, record: Observation) -> Iterator[Session]:
    """The sessions in which a call has just written this splice."""
    for call in calls_for(record):
        following = apply(session, call)
        if isinstance(following, Session):
            _, written = silent(following)
            if written is not None and written[0] == record:
                yield written[1]


Key = tuple[Sessions, tuple[Observation, ...], int, int, bool]


@attrs.define(eq=False)
class Acceptor:
    """Takes the records of logs; whatever it has found out serves every later log.

    `policies` are the readings of the contract that may have written a log: one of them has to
    explain all of it.
    """

    policies: tuple[Policy, ...] = tuple(PROFILES[name] for name in READINGS)
    numbers: dict[Session, int] = attrs.field(factory=dict)
    sessions: list[Session] = attrs.field(factory=list)
    nodes: dict[tuple[int, bool], Node] = attrs.field(factory=dict)
    aheads: dict[tuple[int, bool], Ahead] = attrs.field(factory=dict)
    edited: dict[tuple[int, Observation], tuple[Session, ...]] = attrs.field(factory=dict)
    known: dict[Key, Sessions] = attrs.field(factory=dict)

    def number(self, session: Session) -> int:
        """The number of a session."""
        found = self.numbers.setdefault(session, len(self.sessions))
        if found == len(self.sessions):
            self.sessions.append(session)
        return found

    def begin(self, in_turn: int = 0, in_step: int = 0) -> Sessions:
        """The sessions of a new log, or of a restart with so many pending messages."""
        fresh = (
            Session(policy=policy, listeners=(FIRST,), held=ALL_GATES) for policy in self.policies
        )
        return frozenset(self.number(stands_for(each, in_turn, in_step, QUIET)) for each in fresh)

    def ahead(self, number: int, inside: bool) -> Ahead:
        """Everything that a session may come to without a record."""
        found = self.aheads.get((number, inside))
        if found is None:
            found = self.aheads[number, inside] = self.explore(number, inside)
        return found

    def explore(self, number: int, inside: bool) -> Ahead:
        """Follow moves, answers and calls that no log shows, until nothing new turns up."""
        writes: dict[Written, None] = {}
        seen = {number}
        todo = [number]
        while todo:
            node = self.node(todo.pop(), inside)
            if node.written is not None:
                writes[node.written] = None
            for each in node.following:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
        rests = frozenset(each for each in seen if self.node(each, inside).rests)
        return Ahead(tuple(writes), rests)

    def node(self, number: int, inside: bool) -> Node:
        """What follows one session."""
        found = self.nodes.get((number, inside))
        if found is None:
            found = self.nodes[number, inside] = self.following_of(number, inside)
        return found

    def following_of(self, number: int, inside: bool) -> Node:
        """What follows one session, worked out."""
        session = self.sessions[number]
        if inside and session.listening and session.depth <= 1:
            moved = move(session)
            assert moved is not None, "a listener ends"
            after = (moved.session, *self.reached(session, QUIET_CALLS))
            return Node(None, tuple(self.number(settled(each)) for each in after), True)
        if session.stack:
            at, written = silent(session, stops=inside)
            if written is not None:
                return Node(written, (), False)
            return Node(None, (self.number(settled(at)),), False)
        after = tuple(self.reached(session, (*answers(session), *QUIET_CALLS)))
        if session.ready:
            moved = move(session)
            assert moved is not None, "a session that is ready moves"
            after = (moved.session, *after)
        return Node(None, tuple(self.number(settled(each)) for each in after), True)

    @staticmethod
    def reached(session: Session, actions: Iterable[Call | Answer]) -> list[Session]:
        """The sessions after those of the actions that apply."""
        following = (apply(session, action) for action in actions)
        return [each for each in following if isinstance(each, Session)]

    def after(
        self,
        sessions: Sessions,
        records: tuple[Observation, ...],
        in_turn: int,
        in_step: int,
        inside: bool = False,
    ) -> Sessions:
        """The sessions after one of these records; none when they part.

        The record leaves lists of these lengths.
        """
        key = (sessions, records, in_turn, in_step, inside)
        found = self.known.get(key)
        if found is None:
            following = {
                self.number(each)
                for number in sessions
                for record in records
                for each in self.following(number, record, in_turn, in_step, inside)
            }
            found = self.known[key] = self.smallest(following, inside)
        return found

    def following(
        self, number: int, record: Observation, in_turn: int, in_step: int, inside: bool
    ) -> Iterator[Session]:
        """Each session that one session may be after the record."""
        found = self.ahead(number, inside)
        after = [later for seen, later in found.writes if seen == record]
        if record.name != "agent/inbox/spliced":
            for later in after:
                yield settled(silent(settled(later))[0])
            return
        for rest in sorted(found.rests):
            after += self.edits(rest, record)
        for later in map(after_change, after):
            if bool(in_turn) <= bool(later.next_turn) and bool(in_step) <= bool(later.next_step):
                for mark in marks_after(later, record):
                    ended = stands_for(later, in_turn, in_step, mark)
                    yield settled(ended if inside else silent(ended)[0])

    def edits(self, number: int, record: Observation) -> tuple[Session, ...]:
        """The sessions in which a call has just written this splice, from a session at rest."""
        found = self.edited.get((number, record))
        if found is None:
            made = tuple(splices(self.sessions[number], record))
            found = self.edited[number, record] = made
        return found

    def smallest(self, numbers: set[int], inside: bool = False) -> Sessions:
        """The sessions without those that another one may still silently become."""
        kept: set[int] = set()
        covered: set[int] = set()
        for number in sorted(numbers):
            if number in covered:
                continue
            reach = self.ahead(number, inside).rests
            kept -= reach
            kept.add(number)
            covered |= reach
        return frozenset(kept)

    def at_rest(self, sessions: Sessions) -> Sessions:
        """The same sessions once every delivery under way has ended, without a call inside it."""
        ended = (settled(silent(self.sessions[number])[0]) for number in sessions)
        return self.smallest({self.number(each) for each in ended})

    def allowed(self, sessions: Sessions) -> tuple[str, ...]:
        """The records that the possible sessions may write next, as text."""
        seen = (
            observation_text(record)
            for number in sorted(sessions)
            for record, _ in self.ahead(number, False).writes
        )
        return tuple(dict.fromkeys(seen))
