"""What an adapter offers: the one interface between the suite and anything that it judges.

The suite makes calls, holds every gate, answers it, and sees what the subject does. A subject is
driven from outside any event loop; it does nothing between two calls of the suite except inside
`settle`. Everything a subject does is told to the observer while it happens, so that a call made
by the observer lands inside that very delivery.

Whose fault is it? What the *subject* does wrong is an observation that no possible session can
make, or one that never comes: the suite turns both into findings. What the *adapter* does wrong is
an exception (`ControlError` and its children): the run could not be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias

import attrs

from loopspec.model.scenario import Line, Scenario
from loopspec.model.scope import Scope
from loopspec.model.session import HELD
from loopspec.model.words import Answer, Call, Message, Observation

__all__ = [
    "CAPABILITIES",
    "FAULTS",
    "Armed",
    "Lists",
    "Observer",
    "Subject",
    "SubjectFactory",
    "need_of",
    "needed",
    "within",
]

Lists: TypeAlias = tuple[tuple[Message, ...], tuple[Message, ...]]
"""Pending messages: next-turn, next-step."""

CAPABILITIES: Final = {
    "steering": "steer and inject: deliveries to the next step",
    "edits": "append, prepend, splice, replace, remove and clear",
    "cancel": "cancel, with a cause, with and without the inbox",
    "calls-in-listeners": "calls can be made inside the delivery of a record or an event",
    "first-listener": "deliveries to a listener before all others are seen",
    "ticks": "a call can be made a number of ticks after an observation",
    "assemble-gate": "the assembly of the prompt is held until it is answered",
    "fold": "the durable log can be read back and folded",
    "tools": "tool calls, side by side too, with contexts and conclusions",
    "streaming": "visible text before the answer of the provider",
    "seams": "the gates request, request-error and turn-stopping are held when they are asked for",
    "maintenance": "maintenance tasks, with their settlement",
    "waiting": "waiting for idle, with its settlement",
    "disposal": "disposal, with its settlement",
    "faults": "the log can be made to refuse a record, and an interceptor of the bus to throw",
    "crashes": "flush, crash, resume and fork: a session is opened again from its log",
}
"""What a subject may declare, with what it means. What is not declared is skipped, not held.

Every subject has `followup` and the gates `assemble`, `pre-step` and `provider`.
"""

CALLS_NEED: Final = {
    "steer": "steering",
    "inject": "steering",
    "append": "edits",
    "prepend": "edits",
    "splice": "edits",
    "replace": "edits",
    "remove": "edits",
    "clear": "edits",
    "cancel": "cancel",
    "maintenance": "maintenance",
    "when-idle": "waiting",
    "dispose": "disposal",
    "refuse": "faults",
    "throw": "faults",
    "flush": "crashes",
    "crash": "crashes",
    "resume": "crashes",
    "fork": "crashes",
}
ANSWERS_NEED: Final = {"tools": "tools", "parallel": "tools", "partial": "streaming"}
WINDOWS_NEED: Final = {"in": "calls-in-listeners", "after": "ticks"}


def need_of(action: Call | Answer) -> str | None:
    """The capability without which a subject cannot take an action; None when each can."""
    if isinstance(action, Call):
        return CALLS_NEED.get(action.name)
    return ANSWERS_NEED.get(action.choice)


def needed(scenario: Scenario) -> frozenset[str]:
    """The capabilities without which a subject cannot play a scenario."""
    needs = {need_of(line.action) for line in scenario.lines}
    needs |= {WINDOWS_NEED.get(line.window.kind) for line in scenario.lines}
    seams = {"seams"} if scenario.held - HELD else set()
    return frozenset(each for each in needs if each is not None) | seams


def within(scope: Scope, capabilities: frozenset[str]) -> Scope:
    """The part of a scope that a subject with these capabilities can play."""
    can = (None, *capabilities)
    if scope.faults and "faults" not in can:
        return attrs.evolve(scope, calls=())
    return attrs.evolve(
        scope,
        calls=tuple(name for name in scope.calls if CALLS_NEED.get(name) in can),
        inside=scope.inside if "calls-in-listeners" in can else 0,
        between=scope.between and "ticks" in can,
        tools=scope.tools if "tools" in can else (),
        streams=scope.streams if "streaming" in can else 0,
        gates=scope.gates if "seams" in can else (),
    )


FAULTS: Final = {
    "task failed": "an exception of a task or callback that nobody in the subject received",
    "listener failed": "an exception that the subject's own bus contained, though ours never raise",
    "spinning": "the subject did not come to rest",
    "unreadable": "a record or payload that lacks the keys of its kind",
}
"""Names of observations of kind *fault* (key: error). No possible session makes one, so each is a
finding about the subject and never a crash of the adapter."""


class Observer(Protocol):
    """Receives every observation, synchronously, inside the delivery that it reports."""

    def __call__(self, observation: Observation, /) -> None:
        """Look at it; calls of the subject made here land in the window of this delivery."""


class Subject(Protocol):
    """One implementation under test, one session at a time.

    The suite opens a fresh session, drives it, and closes it; thousands of times, so opening has to
    be cheap. A subject keeps nothing from one session to the next.
    """

    @property
    def name(self) -> str:
        """A short name for reports and replay commands."""

    @property
    def version(self) -> str:
        """The version of what is under test."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What this adapter can do, in the words of `CAPABILITIES`."""

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """Begin a fresh session: empty inbox, idle, quiescent. Called first, and after `close`.

        `held` are the kinds of gates that the suite answers. At any other nobody listens, so the
        subject passes it at once.
        """

    def call(self, call: Call) -> None:
        """Make the call now, in the caller's stack.

        Called at rest, from inside the observer, or from an action given to `later`. What it
        returned or raised goes to the observer as a Return observation before `call` returns.

        `crash` ends the session where it is, even inside a delivery: what it was doing is never
        told again, nothing that was not flushed is left, and the session that is opened from the
        log is told as an Opened observation. So are a `resume` and a `fork` that succeed.
        """

    def answer(self, answer: Answer) -> bool:
        """Answer the oldest open gate of that kind; False, and nothing done, when there is none.

        A tool's answer names its call (`names`), and goes to the gate of that call. What a
        settlement brings (`settled`) is told in the tick in which it comes about.

        The subject goes on one tick later, so a call made between this and `settle` is made after
        the answer and before the subject acts on it.
        """

    def settle(self) -> None:
        """Run until quiescent: nothing is ready and no timer is due.

        Raises `Uncontrolled` when the subject waits for something that the adapter does not
        control. A subject that does not come to rest makes a fault observation instead.
        """

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """Run `action` that many of the subject's own ticks later, between two of them.

        One tick later is before anything that the tick now running has scheduled.
        """

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gates in the order of their arrival: kind, and whether its signal is aborted.

        A tool's gate is called `tool` and its call, as in `tool X`.
        """

    def lists(self) -> Lists:
        """What the subject itself says is pending."""

    def status(self) -> str:
        """What the subject itself says it is: idle or running."""

    def folded(self) -> Lists | None:
        """The fold of the durable log, read back and folded by the adapter; None if it cannot."""

    def close(self) -> None:
        """End the session and free what it holds; observations made while closing are dropped."""


class Armed(Protocol):
    """A subject that is given the calls of a window before it begins, as a port is.

    It makes them by itself, and never has `later` called.
    """

    def arm(self, line: Line, made: Callable[[], None], /) -> None:
        """Make the call of `line` when its window comes, and tell `made` right before.

        Called between `open` and the first call or answer.
        """

    def expect(self, actions: Sequence[Call | Answer], /) -> None:
        """Be told what will be asked at rest, in order, if all goes as it should."""


SubjectFactory: TypeAlias = Callable[[], Subject]
"""What the public door takes: a fresh subject for each run."""
