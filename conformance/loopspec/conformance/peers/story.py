"""What a trace of a peer has told so far: the facts that claims are judged by.

Rules of this file. A peer is not our loop: it has no records of its queues, so a message is pending
from `inserted` until `claimed` or `discarded`. Facts are taken from the delivery to the first
listener; the second only shows in which order deliveries come. A *run* is what stands between
`turn/start` and `turn/end`; a *step* is one request with its tools.
"""

from __future__ import annotations

import attrs

from loopspec.model.words import (
    FIRST,
    LAST,
    NEXT_STEP,
    NEXT_TURN,
    Answer,
    Entry,
    Made,
    Message,
    Observation,
)

__all__ = ["STEERING", "WAITING", "Story", "id_of"]

STEERING = NEXT_STEP
"""The list of what enters before the next request."""

WAITING = NEXT_TURN
"""The list of what enters when the loop would otherwise stop."""


def id_of(seen: Observation) -> str:
    """The id of the message that an observation carries."""
    message = seen.get("message")
    return message.id if isinstance(message, Message) else ""


@attrs.define
class Story:
    """The facts behind the entries that were added; messages are named by their ids."""

    per_run: bool = False
    """Whether each run has queues of its own, so that what one has left is gone with it."""
    target: dict[str, str] = attrs.field(factory=dict)
    """Of each message that was sent to a queue, to which."""
    pending: list[str] = attrs.field(factory=list)
    """In the order of their insertion."""
    claimed: list[str] = attrs.field(factory=list)
    queued: set[str] = attrs.field(factory=set)
    """All that ever was in a queue."""
    discarded: set[str] = attrs.field(factory=set)
    removed: set[str] = attrs.field(factory=set)
    """What a `remove` has said to be gone."""
    subject: str = ""
    """The id of the message that the last `remove` was about."""
    waited: tuple[str, ...] = ()
    """What was pending when the last call was made."""
    hooked: list[str] = attrs.field(factory=list)
    """What was queued inside the delivery of the step's start."""
    shown: set[str] = attrs.field(factory=set)
    """What some request has held."""
    entered: list[str] = attrs.field(factory=list)
    """What was claimed since the last request."""
    fresh: list[str] = attrs.field(factory=list)
    """What was shown for the first time since the last request."""
    at_start: tuple[str, ...] = ()
    """What was pending when the step began and was not dropped since."""
    at_end: tuple[str, ...] = ()
    """What was pending when the last step ended and was not dropped since."""
    late: set[str] = attrs.field(factory=set)
    """What was queued in a run behind its last step."""
    calls: tuple[str, ...] = ()
    began: list[str] = attrs.field(factory=list)
    results: list[str] = attrs.field(factory=list)
    concluded: set[str] = attrs.field(factory=set)
    raised: set[str] = attrs.field(factory=set)
    beside: bool = False
    """Whether the calls were asked for side by side."""
    running: bool = False
    steps: int = 0
    """Steps that have ended in this run."""
    in_step: bool = False
    in_start: bool = False
    """Whether the start of a step is being told."""
    requests: int = 0
    """Requests since the step began."""
    replied: bool = False
    """Whether the step has its reply."""
    canceled: bool = False
    resumed: bool = False
    """Whether the run before this one was canceled."""
    failed: bool = False
    """Whether the last reply of this run was cut off or an error."""
    heard: Observation | None = None
    """The record that the first listener has heard, until the last one has too."""
    busy: bool = False
    """Whether the loop says that it runs."""
    cleared: bool = False
    """Whether nothing was queued since the last clear."""
    making: str = ""
    """The call that is being made, with its mode."""

    def add(self, entry: Entry) -> None:
        """Take one more entry."""
        if isinstance(entry, Made):
            self._made(entry)
        elif isinstance(entry, Answer):
            self._answered(entry)
        elif isinstance(entry, Observation):
            self._seen(entry)

    def queue(self, target: str, ids: tuple[str, ...] | list[str] | None = None) -> list[str]:
        """Of what is pending, or of `ids`, what went to one queue."""
        return [
            each
            for each in (self.pending if ids is None else ids)
            if self.target.get(each) == target
        ]

    def left(self, ids: tuple[str, ...], target: str) -> list[str]:
        """Which of `ids` still wait in one queue."""
        return [each for each in self.queue(target, list(ids)) if each in self.pending]

    @property
    def stops_here(self) -> bool:
        """Whether the last reply asks for nothing more: no calls, or all of them concluded."""
        return all(call in self.concluded for call in self.calls)

    @property
    def drops(self) -> bool:
        """Whether the call that is being made drops what is queued."""
        return self.making in ("clear", "remove", "cancel drop")

    def _made(self, entry: Made) -> None:
        call = entry.call
        self.waited = tuple(self.pending)
        self.subject = str(call.args[0]) if call.name == "remove" else self.subject
        self.making = f"{call.name} {call.args[1]}" if call.name == "cancel" else call.name
        if call.name in ("followup", "steer"):
            message = call.args[0]
            assert isinstance(message, Message)
            self.target[message.id] = STEERING if call.name == "steer" else WAITING
        if call.name == "cancel" and self.running:
            self.canceled = True

    def _answered(self, entry: Answer) -> None:
        if entry.gate == "provider":
            self.beside = entry.choice == "parallel"
        if entry.gate == "tool":
            (self.concluded if entry.choice == "concludes" else self.raised).update(
                entry.names if entry.choice in ("concludes", "raise") else ()
            )
            for message in entry.messages or ():
                self.target[message.id] = STEERING

    def _seen(self, seen: Observation) -> None:
        if seen.kind == "return":
            if self.making == "remove" and seen.get("value") is True:
                self.removed.add(self.subject)
            self.cleared = self.cleared or self.making == "clear"
            self.making = ""
        elif seen.kind == "gate":
            self._gate(seen)
        elif seen.listener == LAST:
            self.heard = None if seen.kind == "record" else self.heard
            self.in_start = self.in_start and seen.name != "step/start"
        elif seen.listener == FIRST:
            if seen.name.startswith("agent/inbox/"):
                self._inbox(seen.name.removeprefix("agent/inbox/"), id_of(seen))
            else:
                self._record(seen)

    def _gate(self, seen: Observation) -> None:
        if seen.name == "tool":
            self.began.append(str(seen.get("call")))
        else:
            self.requests += 1
            self.entered, self.fresh = [], []

    def _inbox(self, what: str, message: str) -> None:
        if what == "inserted":
            self.pending.append(message)
            self.queued.add(message)
            self.cleared = False
            if self.in_start:
                self.hooked.append(message)
            if self.busy and not self.in_step:
                self.late.add(message)
            return
        if message in self.pending:
            self.pending.remove(message)
        if what == "claimed":
            self.claimed.append(message)
            self.entered.append(message)
        else:
            self.discarded.add(message)
            self.at_start = tuple(each for each in self.at_start if each != message)
            self.at_end = tuple(each for each in self.at_end if each != message)
            self.hooked = [each for each in self.hooked if each != message]

    def _record(self, seen: Observation) -> None:
        self.heard = seen if seen.kind == "record" else self.heard
        match seen.name:
            case "turn/start":
                self.resumed = self.canceled
                self.running, self.steps, self.canceled, self.failed = True, 0, False, False
                self.requests = 0
                self.calls, self.at_end = (), ()
                self.late.clear()
                if self.per_run:
                    self.pending.clear()
                if self.per_run and self.resumed:
                    # A cancel ends the stream of events too: what it cut off is told by nobody.
                    self.queued.clear()
            case "turn/end":
                self.running = self.in_step = False
            case "step/start":
                self.in_step, self.requests, self.at_start = True, 0, tuple(self.pending)
                self.hooked, self.in_start, self.replied = [], True, False
                self.late.clear()
            case "step/end":
                self.in_step, self.at_end = False, tuple(self.pending)
                self.steps += 1
            case "agent/status":
                self.busy = seen.get("status") == "running"
            case "user/message":
                self.shown.add(id_of(seen))
                self.fresh.append(id_of(seen))
            case "assistant/message":
                calls = seen.get("calls")
                assert isinstance(calls, tuple)
                self.calls = tuple(str(each) for each in calls)
                self.failed, self.replied = bool(seen.get("interrupted")), True
                self.began, self.results = [], []
                self.concluded.clear()
                self.raised.clear()
            case "tool/result":
                self.results.append(str(seen.get("call")))
