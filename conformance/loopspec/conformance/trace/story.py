"""The fold of a log: what its records say so far, for relations and for the model to be asked.

Nothing here decides what a loop may do. `Story` is what was read: the open turn and step, both
lists, which calls were asked for and answered. `asked_of_table` says a record in the words of the
table, for lists that are cut to what a row can tell apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import attrs
from msgspec import UNSET

from loopspec.conformance.trace.acceptor import ENTERED, KEPT, ONE_CALL, named
from loopspec.conformance.trace.ids import Ids
from loopspec.conformance.trace.records import Record
from loopspec.model.words import FIRST, NEXT_STEP, NEXT_TURN, Observation, observation

__all__ = [
    "Pending",
    "Story",
    "asked_of_table",
    "is_claim",
    "is_placeholder",
    "lengths_after",
]

PLACEHOLDER: Final = re.compile(r"\{\{.*\}\}")
NEVER: Final = 99
"""A number that no record of the table carries."""

SPLICED: Final = "agent/inbox/spliced"


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
    started: dict[str, None] = attrs.field(factory=dict)
    answered: dict[str, None] = attrs.field(factory=dict)
    """The calls that have started, and those that have a result, each in order."""
    unanswered: tuple[str, ...] = ()
    """The calls that the step which has just closed left without a result."""
    repaired: bool = False
    """A result that only a repair writes stands in the open turn (RS-04)."""
    splices: int = 0
    headers: int = 0
    restarted: bool = False
    """The session was restarted since the last request header."""
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
        )

    def items(self, target: str) -> list[Pending]:
        """The list that `target` names."""
        return self.next_turn if target == NEXT_TURN else self.next_step

    @property
    def lengths(self) -> tuple[int, int]:
        """How long the lists are for the table."""
        return min(len(self.next_turn), KEPT), min(len(self.next_step), KEPT)

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
        self.entered_here = self.streamed = False
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

    def tell_chunk(self, _: Record) -> None:
        """The provider answers."""
        self.streamed = True

    def tell_reply(self, record: Record) -> None:
        """A reply asks for calls."""
        self.streamed = True
        self.forget_calls()
        self.asked = record.data.calls

    def tell_tool_call(self, record: Record) -> None:
        """A call starts."""
        self.started[record.data.callId] = None

    def tell_tool_result(self, record: Record) -> None:
        """A call is answered."""
        self.answered[record.data.call] = None
        self.repaired = self.repaired or record.data.code in REPAIR_CODES

    def tell_header(self, _: Record) -> None:
        """A request is prepared."""
        self.headers += 1
        self.restarted = False

    def tell_seed(self, record: Record) -> None:
        """A restart, or the cut of a fork."""
        self.owes_seed = False
        self.restarted = True
        self.cut_open = record.data.inherited and self.turn_open
        if not self.turn_open:
            self.ended = ""


NOT_STARTED: Final = "TOOL_NOT_STARTED"
REPAIR_CODES: Final = frozenset({NOT_STARTED, "TOOL_OUTCOME_UNKNOWN"})
"""The failures of results that only a repair writes."""

CHANGES: Final = {
    SPLICED: Story.tell_splice,
    "turn/start": Story.tell_turn_start,
    "turn/end": Story.tell_turn_end,
    "step/start": Story.tell_step_start,
    "step/end": Story.tell_step_end,
    "user/message": Story.tell_user_message,
    "assistant/message": Story.tell_reply,
    "assistant/chunk": Story.tell_chunk,
    "assistant/attempt": Story.tell_chunk,
    "text-chunks": Story.tell_chunk,
    "reasoning-chunks": Story.tell_chunk,
    "tool-call-chunks": Story.tell_chunk,
    "tool/call": Story.tell_tool_call,
    "tool/result": Story.tell_tool_result,
    "request/header": Story.tell_header,
    "session/end-seed": Story.tell_seed,
}

# --- The words of the table ---------------------------------------------------------------------


@lru_cache(maxsize=1024)
def in_words(name: str, *values: Any) -> Observation:  # noqa: ANN401 - values of a record
    """A record of the table."""
    return observation("record", name, *values, listener=FIRST)


ENDINGS: Final = ("completed", "max-tokens", "blocked", "aborted", "error")
"""The kinds of endings that the table knows; the log format leaves them open."""


def asked_of_table(story: Story, record: Record) -> tuple[Observation, ...]:
    """A record as the table would write it, before the story has folded it.

    Nothing when the table is not asked; several when the log leaves open which one it is.

    Numbers are relative: an open turn is 0 and the next one 1; the first step of a turn is 1 and
    every later one 2, of which the table keeps only that a step is open.
    """
    name, data = record.name, record.data
    if name == SPLICED:
        return (splice_in_words(story, record),)
    if name == "turn/start":
        return (in_words(name, data.turn - story.turn),)
    if name == "turn/end":
        return endings(data.turn - story.turn, data.reason.kind, data.reason.reason)
    if name == "step/start":
        follows = data.step == story.step + 1
        return (in_words(name, data.turn - story.turn, (2 if story.step else 1) if follows else 0),)
    if name == "step/end":
        return (in_words(name, data.turn - story.turn, 1 if data.step == story.step else 0),)
    if name == "user/message":
        first = story.step_open and not story.entered_here
        return (in_words(name, ENTERED),) if first and record.surface == "append" else ()
    if name == "assistant/message":
        calls = ONE_CALL if data.calls else ()
        return (in_words(name, data.turn - story.turn, 1, calls, data.interrupted),)
    return ()


def endings(turn: int, kind: str, cause: object) -> tuple[Observation, ...]:
    """The end of a turn; nothing where only a repair writes it, each for a kind of a plug-in."""
    if kind in ("interrupted", "forked"):
        return ()
    who = getattr(cause, "kind", cause)
    word = "disposed" if who == "disposed" else "user"
    return tuple(
        in_words(
            "turn/end",
            turn,
            each,
            word if each == "aborted" else None,
            "" if each == "error" else None,
        )
        for each in ((kind,) if kind in ENDINGS else ENDINGS)
    )


def lengths_after(story: Story, record: Record) -> tuple[int, int]:
    """How long the lists are for the table once a record has changed them."""
    if record.name != SPLICED:
        return story.lengths
    data = record.data
    removed = data.removedCount if isinstance(data.removedCount, int) else 0
    more = len(data.inserted) - removed
    in_turn, in_step = len(story.next_turn), len(story.next_step)
    if data.target == NEXT_TURN:
        in_turn += more
    else:
        in_step += more
    return min(in_turn, KEPT), min(in_step, KEPT)


def splice_in_words(story: Story, record: Record) -> Observation:
    """An edit of lists that are at most `KEPT` long.

    A claim of all is a claim of all there too, and one of the head one of the head. Of any other
    edit it matters what it leaves, so it removes all, or leaves at least one.
    """
    data = record.data
    length = len(story.items(data.target))
    kept = min(length, KEPT)
    removed = 0 if data.removedCount is UNSET else data.removedCount
    outcome = None if data.outcome is UNSET else data.outcome
    if is_claim(record):
        whole = kept if removed == length else NEVER
        taken = whole if data.target == NEXT_STEP else (1 if removed == 1 else NEVER)
        return in_words(
            SPLICED, data.target, data.start if not data.start else NEVER, taken, (), None
        )
    taken = kept if removed == length else min(removed, max(kept - 1, 0))
    inserted = tuple(named("i", index) for index in range(min(len(data.inserted), KEPT)))
    start = kept if data.start == length and not removed else 0
    return in_words(SPLICED, data.target, start, taken, inserted, outcome)
