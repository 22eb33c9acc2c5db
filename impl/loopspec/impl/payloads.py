"""What listeners get: one frozen class for each seam and each event, and the decisions.

An event says what happened to one message or to the agent; it carries no placement, no outcome
and no index, since the splice record has them (LN-05).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import attrs

from loopspec.impl.endings import Failure
from loopspec.impl.messages import Message
from loopspec.impl.signal import Signal


def _message_tuple(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(messages)


@attrs.frozen
class Assemble:
    """Before the decision, for who prepares the step: serial `agent/assemble`."""

    turn: int
    step: int
    messages: tuple[Message, ...]
    signal: Signal


@attrs.frozen
class PreStep:
    """The claimed batch and the proposed step: waterfall `agent/pre-step` (PS-02)."""

    messages: tuple[Message, ...]
    turn: int
    step: int
    signal: Signal


@attrs.frozen
class Enter:
    """Open the step with exactly these messages, which need not be the claimed ones (PS-20)."""

    messages: tuple[Message, ...] = attrs.field(converter=_message_tuple)


@attrs.frozen
class Reject:
    """Open no step; the claimed batch stays removed and the turn ends `blocked` (PS-10)."""


PreStepDecision: TypeAlias = Enter | Reject


@attrs.frozen
class Requesting:
    """Before each attempt of a request: waterfall `agent/request` (ST-07).

    The answer is the options that the provider gets with the request; by default none.
    """

    turn: int
    step: int
    signal: Signal


@attrs.frozen
class RequestFailed:
    """An attempt failed: waterfall `agent/request-error` decides whether another one follows."""

    turn: int
    step: int
    failure: Failure
    signal: Signal


@attrs.frozen
class Retry:
    """Ask again inside the same step, with the conversation as it is then (ST-16)."""


@attrs.frozen
class GiveUp:
    """Let the turn fail with the failure of the attempt; the default."""


RecoveryDecision: TypeAlias = Retry | GiveUp


@attrs.frozen
class TurnStopping:
    """The turn is about to end: serial `agent/turn-stopping`.

    No answer is read: whoever objects delivers a message for the next step (TS-03).
    """

    turn: int
    signal: Signal


@attrs.frozen
class Inserted:
    """Event `agent/inbox/inserted`: the message is pending."""

    message: Message


@attrs.frozen
class Claimed:
    """Event `agent/inbox/claimed`: the message is the turn's and never comes back by itself."""

    message: Message
    turn: int


@attrs.frozen
class Discarded:
    """Event `agent/inbox/discarded`: the message left its list other than by a claim."""

    message: Message


@attrs.frozen
class StatusChanged:
    """Event `agent/status`: `running` or `idle`, only when it changes (DR-02)."""

    status: str


@attrs.frozen
class Failed:
    """Event `agent/error`: the open turn failed; step is the last entered one, or 0 (TB-12)."""

    turn: int
    step: int
    error: str


SERIALS: Final = {"agent/assemble": Assemble, "agent/turn-stopping": TurnStopping}
WATERFALLS: Final = {
    "agent/pre-step": PreStep,
    "agent/request": Requesting,
    "agent/request-error": RequestFailed,
}
EVENTS: Final = {
    "agent/inbox/inserted": Inserted,
    "agent/inbox/claimed": Claimed,
    "agent/inbox/discarded": Discarded,
    "agent/status": StatusChanged,
    "agent/error": Failed,
}
NAMES: Final = frozenset({*SERIALS, *WATERFALLS, *EVENTS})
"""Every name that the agent dispatches."""
