"""The fold of a log: what its records say so far, for relations and for the model to be asked.

Nothing here decides what a loop may do. `Story` is what was read: the open turn and step, both
lists, which calls were asked for and answered, what the provider has said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
from msgspec import UNSET

from loopspec.conformance.trace.acceptor import KEPT
from loopspec.conformance.trace.ids import Ids
from loopspec.conformance.trace.records import Record
from loopspec.model.words import NEXT_TURN

__all__ = [
    "Pending",
    "Story",
    "is_claim",
    "is_placeholder",
]

PLACEHOLDER: Final = re.compile(r"\{\{.*\}\}")

SPLICED: Final = "agent/inbox/spliced"
NOT_STARTED: Final = "TOOL_NOT_STARTED"
OUTCOME_UNKNOWN: Final = "TOOL_OUTCOME_UNKNOWN"
REPAIR_CODES: Final = frozenset({NOT_STARTED, OUTCOME_UNKNOWN})
"""The failures of results that only a repair writes."""

TRUNCATED: Final = "max-tokens"
"""Why a provider stops at the output limit, and how a turn ends then."""

UNSAID: Final = "unsaid"
"""Why a provider stopped where it did not say: as if it was done (ST-21)."""


def is_placeholder(message_id: str) -> bool:
    """Whether an id was put in by a tool that normalised the log, so that it names nothing."""
    return "{{" in message_id and PLACEHOLDER.search(message_id) is not None


@attrs.frozen(slots=True)
class Pending:
    """A pending or claimed message: its id, and the whole of it for comparing."""

    id: str
    whole: Mapping[str, Any]


def is_claim(record: Record) -> bool:
    """Whether a splice is a claim: a pure deletion without an outcome (IN-04, CL-04)."""
    data = record.data
    removed = 0 if data.removedCount is UNSET else data.removedCount
    return removed > 0 and not data.inserted and data.outcome is UNSET


@attrs.define
class Story:
    """What the records of one log have said so far."""

    turn: int = 0
    turn_open: bool = False
    step: int = 0
    """The newest step of the newest turn."""
    step_open: bool = False
    ended: str = ""
    """How the last turn ended, until the next one opens or the session restarts."""
    seq: int = 0
    """The number of the next record."""
    numbered: bool | None = None
    next_turn: list[Pending] = attrs.field(factory=list)
    next_step: list[Pending] = attrs.field(factory=list)
    pending: dict[str, str] = attrs.field(factory=dict)
    """The id of each pending message with the list that holds it."""
    batch: dict[str, Pending] = attrs.field(factory=dict)
    """What the open proposal has claimed and no record has entered yet."""
    batch_step: int = 0
    """How many steps the turn had when the batch was claimed."""
    claimed: Ids = attrs.field(factory=Ids)
    entered: Ids = attrs.field(factory=Ids)
    entered_here: bool = False
    """A message has entered the open step."""
    streamed: bool = False
    """The open step has something of the provider's answer."""
    asked: tuple[str, ...] = ()
    """The calls of the last reply in the open step."""
    started: dict[str, int] = attrs.field(factory=dict)
    answered: dict[str, None] = attrs.field(factory=dict)
    """The calls that have started, each with its number, and those that have a result, in order."""
    unanswered: tuple[str, ...] = ()
    """The calls that the step which has just closed left without a result."""
    repaired: bool = False
    """A result that only a repair writes stands in the open turn (RS-04)."""
    attempt: list[tuple[int, int]] = attrs.field(factory=list)
    """The numbers of the chunks of the newest attempt in the open step, as runs."""
    finish: str = ""
    """Why the provider stopped in that attempt; empty while it has not said so."""
    replied: bool = False
    """The open step has its reply."""
    truncated_here: bool = False
    """The reply of the open step was truncated."""
    truncated: bool = False
    """A reply of the open turn was truncated."""
    unsure: bool = False
    """A reply of the open turn does not tell why the provider stopped."""
    cites_chunks: bool = False
    cites_calls: bool = False
    """A reply has cited its chunks, a result its call."""
    splices: int = 0
    headers: int = 0
    header: Any = None
    context: Any = None
    """The last request header and the last request context."""
    restarted: bool = False
    """The session was restarted since the last request header."""
    headed: bool = False
    """The log has a header."""
    seeded: bool | None = None
    """Whether the header says that a seed was inherited; None where it does not say."""
    behind_seed: bool = False
    """A seed has ended since the last turn opened."""
    ends_seed: str = ""
    """How the last record ends a seed: `restart`, `cut` of a fork, or it does not."""
    cut_open: bool = False
    """A fork was cut inside the open turn."""
    owes_seed: bool = False
    """A turn was closed by a repair, which writes session/end-seed next (RS-07)."""
    last: str = ""
    """The name of the last record."""

    def copy(self) -> Story:
        """The same story, to go on with in another way."""
        return attrs.evolve(
            self,
            next_turn=list(self.next_turn),
            next_step=list(self.next_step),
            pending=dict(self.pending),
            batch=dict(self.batch),
            claimed=self.claimed.copy(),
            entered=self.entered.copy(),
            started=dict(self.started),
            answered=dict(self.answered),
            attempt=list(self.attempt),
        )

    def items(self, target: str) -> list[Pending]:
        """The list that `target` names."""
        return self.next_turn if target == NEXT_TURN else self.next_step

    @property
    def lengths(self) -> tuple[int, int]:
        """How long the lists are for the table."""
        return min(len(self.next_turn), KEPT), min(len(self.next_step), KEPT)

    @property
    def closing(self) -> bool:
        """Whether a repair is under way in the open turn, or has to be: only closers follow."""
        return self.repaired or self.cut_open

    def without_pending(self) -> Story:
        """The same story with empty lists, as a fork that does not inherit them."""
        lists: dict[str, Any] = {"next_turn": [], "next_step": [], "pending": {}}
        return attrs.evolve(self, **lists).copy()

    def removed_by(self, record: Record) -> list[Pending]:
        """What a splice takes out of its list."""
        data = record.data
        count = 0 if data.removedCount is UNSET else data.removedCount
        return self.items(data.target)[data.start : data.start + count]

    # --- What a record changes ---

    def tell(self, record: Record) -> None:
        """Fold one record."""
        self.seq += record.members
        self.last = record.name
        self.ends_seed = ""
        change = CHANGES.get(record.name)
        if change is not None:
            change(self, record)

    def tell_splice(self, record: Record) -> None:
        """A list changes; what is claimed is owned by the open proposal."""
        data = record.data
        items = self.items(data.target)
        gone = self.removed_by(record)
        whole = record.raw["inserted"]
        added = [Pending(one.id, each) for one, each in zip(data.inserted, whole, strict=True)]
        items[data.start : data.start + len(gone)] = added
        for each in gone:
            self.pending.pop(each.id, None)
        for each in added:
            self.pending[each.id] = data.target
        self.splices += 1
        if is_claim(record):
            if self.batch_step != self.step:
                self.batch.clear()
                self.batch_step = self.step
            for each in gone:
                self.claimed.add(each.id)
                self.batch[each.id] = each

    def tell_turn_start(self, record: Record) -> None:
        """A turn opens."""
        self.turn, self.turn_open, self.step, self.step_open = record.data.turn, True, 0, False
        self.ended, self.repaired, self.cut_open = "", False, False
        self.truncated = self.unsure = self.behind_seed = False
        self.batch.clear()
        self.batch_step = 0
        self.forget_calls()

    def tell_turn_end(self, record: Record) -> None:
        """A turn closes; what it claimed and did not enter is gone (CL-09)."""
        reason = record.data.reason
        self.turn_open = self.step_open = False
        self.ended = reason.kind
        self.owes_seed = reason.kind == "interrupted"
        self.repaired = self.cut_open = False
        self.batch.clear()
        self.forget_calls()

    def tell_step_start(self, record: Record) -> None:
        """A step opens."""
        self.step, self.step_open = record.data.step, True
        self.entered_here = self.streamed = self.replied = self.truncated_here = False
        self.attempt.clear()
        self.finish = ""
        self.forget_calls()

    def tell_step_end(self, _: Record) -> None:
        """A step closes, and its calls are forgotten (SL-04)."""
        self.step_open = False
        self.batch.clear()
        left = tuple(call for call in self.asked if call not in self.answered)
        self.forget_calls()
        self.unanswered = left

    def forget_calls(self) -> None:
        """No call is asked for."""
        self.asked = self.unanswered = ()
        self.started.clear()
        self.answered.clear()

    def tell_user_message(self, record: Record) -> None:
        """A message enters; a surface replacement is no input."""
        if record.surface in ("append", None):
            message_id = record.data.id
            self.batch.pop(message_id, None)
            if message_id:
                self.entered.add(message_id)
            self.entered_here = self.entered_here or self.step_open

    def tell_chunk(self, record: Record) -> None:
        """The provider answers; behind the end of an attempt another one begins."""
        self.streamed = True
        if self.finish:
            self.attempt.clear()
        first = self.seq - record.members
        if self.attempt and self.attempt[-1][1] == first - 1:
            first, _ = self.attempt.pop()
        self.attempt.append((first, self.seq - 1))
        self.finish = record.data.finish

    def tell_attempt(self, _: Record) -> None:
        """An attempt has failed."""
        self.streamed = True

    def finish_of(self, record: Record) -> str:
        """Why the provider stopped before it gave this reply; empty where nothing tells."""
        if record.data.finish:
            return str(record.data.finish)
        told = record.data.stream or self.attempt
        return (self.finish or UNSAID) if told else ""

    def tell_reply(self, record: Record) -> None:
        """A reply asks for calls, unless it was truncated (TC-07)."""
        finish = self.finish_of(record)
        self.streamed = self.replied = True
        self.forget_calls()
        self.truncated_here = finish == TRUNCATED
        self.truncated = self.truncated or self.truncated_here
        self.unsure = self.unsure or not finish
        self.cites_chunks = self.cites_chunks or (record.cites is not None and bool(self.attempt))
        self.asked = () if self.truncated_here else record.data.calls

    def tell_tool_call(self, record: Record) -> None:
        """A call starts."""
        self.started[record.data.callId] = self.seq - 1

    def tell_tool_result(self, record: Record) -> None:
        """A call is answered."""
        self.answered[record.data.call] = None
        self.cites_calls = self.cites_calls or record.cites is not None
        self.repaired = self.repaired or record.data.code in REPAIR_CODES

    def tell_header(self, record: Record) -> None:
        """A request is prepared."""
        self.headers += 1
        self.header = record.data.header
        self.restarted = False

    def tell_context(self, record: Record) -> None:
        """A request is sent to somewhere else."""
        self.context = record.raw

    def tell_seed(self, record: Record) -> None:
        """A restart, or the cut of a fork."""
        self.owes_seed = False
        self.restarted = self.behind_seed = True
        self.ends_seed = "cut" if record.data.inherited else "restart"
        self.cut_open = record.data.inherited and self.turn_open
        if not self.turn_open:
            self.ended = ""


CHANGES: Final = {
    SPLICED: Story.tell_splice,
    "turn/start": Story.tell_turn_start,
    "turn/end": Story.tell_turn_end,
    "step/start": Story.tell_step_start,
    "step/end": Story.tell_step_end,
    "user/message": Story.tell_user_message,
    "assistant/message": Story.tell_reply,
    "assistant/chunk": Story.tell_chunk,
    "assistant/attempt": Story.tell_attempt,
    "text-chunks": Story.tell_chunk,
    "reasoning-chunks": Story.tell_chunk,
    "tool-call-chunks": Story.tell_chunk,
    "tool/call": Story.tell_tool_call,
    "tool/result": Story.tell_tool_result,
    "request/header": Story.tell_header,
    "request/context": Story.tell_context,
    "session/end-seed": Story.tell_seed,
}
