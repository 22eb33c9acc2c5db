"""Scopes: what may happen in one exploration.

Rules of this file. A scope is an alphabet and a budget. It names the calls, answers and windows
that an exploration may use and how often; it never changes what the table says. Scopes are by
feature, not one product.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import attrs

from loopspec.model.policy import PROFILES, Policy
from loopspec.model.session import HELD, Kept, Session
from loopspec.model.words import (
    AT_REST_ONLY,
    FIRST,
    GATES,
    LISTENERS,
    RECORDS,
    Answer,
    Call,
    Message,
)

SENDS: Final = ("followup", "steer", "inject")
LIVES: Final = ("maintenance", "when-idle", "dispose")
DEATHS: Final = ("flush", "crash", "resume", "fork")
EDITS: Final = ("append", "prepend", "splice", "replace", "remove", "clear")


class Spent(NamedTuple):
    """How much of a scope's budget a run has used."""

    sends: int = 0
    edits: int = 0
    cancels: int = 0
    inside: int = 0
    owes: int = 0
    failures: int = 0
    streams: int = 0
    lives: int = 0
    faults: int = 0
    deaths: int = 0


@attrs.frozen
class Scope:
    """The alphabet and the budget of one exploration.

    `sends`, `edits`, `cancels` bound calls of each family; `inside` bounds calls inside listeners,
    at most `depth` deep; `between` allows calls between two ticks of a task, not between a call and
    the settlement of what it began, a moment that no scenario can name; `owes` bounds provider
    answers that owe a reply; `failures` bounds answers that fail. `resend` lets a send name a
    message again.
    """

    name: str
    says: str
    sends: int = 2
    edits: int = 0
    cancels: int = 1
    calls: tuple[str, ...] = ("followup", "steer", "inject", "cancel")
    causes: tuple[str, ...] = ("user",)
    modes: tuple[str, ...] = ("keep", "drop")
    answers: tuple[str, ...] = ()
    inside: int = 0
    depth: int = 1
    between: bool = False
    owes: int = 0
    failures: int = 1
    resend: bool = False
    again: bool = False
    """A replacement may insert again what it removes."""
    rewrite: bool = False
    tools: tuple[tuple[str, ...], ...] = ()
    """Batches of tool calls that the provider may ask for; each spends a reply that is owed."""
    contexts: bool = False
    """Tools may return a context."""
    streams: int = 0
    lives: int = 0
    """How many calls of maintenance, when-idle and dispose."""
    faults: int = 0
    """How many faults the environment arms; the laws that hold without faults are not asked for."""
    arms: tuple[str, ...] = ()
    """The records that may be refused and the events whose dispatch may throw."""
    deaths: int = 0
    """How many calls of flush, crash, resume and fork."""
    gates: tuple[str, ...] = ()
    """Gates that are held besides those that every scenario holds."""
    profile: str = "notes"

    @property
    def policy(self) -> Policy:
        """The policy of the scope's profile."""
        return PROFILES[self.profile]

    @property
    def listeners(self) -> tuple[str, ...]:
        """Two listeners where listeners call, one where they only watch."""
        return LISTENERS if self.inside else (FIRST,)

    @property
    def start(self) -> Session:
        """The session in which every run of the scope begins."""
        held = HELD | frozenset(self.gates)
        kept = Kept() if self.deaths else None
        return Session(policy=self.policy, listeners=self.listeners, held=held, kept=kept)


def choices(
    session: Session, scope: Scope, spent: Spent, fresh: Message
) -> Iterator[tuple[Call | Answer, Spent]]:
    """The calls and answers that the scope allows now, in a fixed order, with what each spends.

    `fresh` is a message whose id was not used yet. Empty where no call can land and no gate is
    open.
    """
    inside = session.listening
    if session.stack and not inside:
        return
    if inside and (spent.inside >= scope.inside or session.depth > scope.depth):
        return
    if session.ready and not (scope.between and session.task):
        return
    paid = spent._replace(inside=spent.inside + 1) if inside else spent
    yield from _sends(session, scope, paid, fresh)
    yield from _edits(session, scope, paid, fresh)
    if spent.cancels < scope.cancels and "cancel" in scope.calls:
        after = paid._replace(cancels=spent.cancels + 1)
        for cause in scope.causes:
            for mode in scope.modes:
                yield Call("cancel", (cause, mode)), after
    yield from _lives(session, scope, paid)
    yield from _faults(session, scope, paid)
    yield from _deaths(session, scope, paid)
    if not session.stack:
        yield from _answers(session, scope, spent, fresh)


def _lives(session: Session, scope: Scope, spent: Spent) -> Iterator[tuple[Call, Spent]]:
    if spent.lives >= scope.lives:
        return
    after = spent._replace(lives=spent.lives + 1)
    for name in LIVES:
        if name in scope.calls:
            yield Call(name), after


def _faults(session: Session, scope: Scope, spent: Spent) -> Iterator[tuple[Call, Spent]]:
    if spent.faults >= scope.faults:
        return
    after = spent._replace(faults=spent.faults + 1)
    for name in scope.arms:
        if name not in session.faults:
            yield Call("refuse" if name in RECORDS else "throw", (name,)), after


def _deaths(session: Session, scope: Scope, spent: Spent) -> Iterator[tuple[Call, Spent]]:
    if spent.deaths >= scope.deaths:
        return
    after = spent._replace(deaths=spent.deaths + 1)
    for name in DEATHS:
        if name in scope.calls and not (session.listening and name in AT_REST_ONLY):
            yield Call(name), after


def _sends(
    session: Session, scope: Scope, spent: Spent, new: Message
) -> Iterator[tuple[Call, Spent]]:
    if spent.sends >= scope.sends:
        return
    after = spent._replace(sends=spent.sends + 1)
    for name in SENDS:
        if name in scope.calls:
            yield Call(name, (new,)), after
            if scope.resend:
                for old in _known(session):
                    yield Call(name, (old,)), after


def _known(session: Session) -> tuple[Message, ...]:
    """The messages that a resend may name: the pending ones, then the batch, each once."""
    return tuple(dict.fromkeys([item.message for item in session.pending] + list(session.batch)))


def _edits(
    session: Session, scope: Scope, spent: Spent, new: Message
) -> Iterator[tuple[Call, Spent]]:
    if spent.edits >= scope.edits:
        return
    after = spent._replace(edits=spent.edits + 1)
    pending = [item.message for item in session.pending]
    for name in EDITS:
        if name not in scope.calls:
            continue
        if name in ("append", "prepend"):
            for target in ("next-turn", "next-step"):
                yield Call(name, (target, new)), after
        elif name == "splice":
            yield Call(name, ("next-turn", 0, 1, (new,))), after
            yield Call(name, ("next-turn", -1, 1, ())), after
            yield Call(name, ("next-step", 0, 0, ())), after
        elif name == "replace":
            for old in pending:
                yield Call(name, (old.id, new)), after
                if scope.again:
                    yield Call(name, (old.id, old)), after
            yield Call(name, (new.id, new)), after
        elif name == "remove":
            for old in pending:
                yield Call(name, (old.id,)), after
            yield Call(name, (new.id,)), after
        else:
            yield Call(name), after


FAILING: Final = frozenset({"failed", "raise", "error", "cut"})
COSTS: Final = {"owes": "owes", "tools": "owes", "parallel": "owes", "partial": "streams"}


def _answers(
    session: Session, scope: Scope, spent: Spent, new: Message
) -> Iterator[tuple[Answer, Spent]]:
    for label in session.gates:
        gate, _, key = label.partition(" ")
        names = (key,) if key else ()
        for choice in GATES[gate]:
            if scope.answers and choice not in scope.answers:
                continue
            cost = "failures" if choice in FAILING else COSTS.get(choice)
            after = spent
            if cost is not None:
                if getattr(spent, cost) >= getattr(scope, cost):
                    continue
                after = spent._replace(**{cost: getattr(spent, cost) + 1})
            if choice in ("tools", "parallel"):
                for batch in scope.tools:
                    if choice == "tools" or len(batch) > 1:
                        yield Answer(gate, choice, None, batch), after
            elif choice == "enter":
                yield from _entries(session, scope, after, new)
            else:
                if gate == "tool" and scope.contexts:
                    yield Answer(gate, choice, (new,), names), after
                messages = () if gate == "tool" else None
                yield Answer(gate, choice, messages, names), after


def _entries(
    session: Session, scope: Scope, spent: Spent, new: Message
) -> Iterator[tuple[Answer, Spent]]:
    if session.batch or not scope.rewrite:
        yield Answer("pre-step", "enter"), spent
    if scope.rewrite:
        yield Answer("pre-step", "enter", ()), spent
        yield Answer("pre-step", "enter", (*session.batch[1:], new)), spent
