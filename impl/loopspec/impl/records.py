"""The records of the session log: one class for each type, with the exact keys on the wire.

`RECORDS` is the closed list: the log takes nothing else, and each record is read by its class
before it is stored, so that a wrong key or value is refused where it is written. The catalogue
describes these classes to people; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, cast

import attrs
import msgspec
from msgspec.structs import force_setattr

from loopspec.impl.canonical import freeze, thaw
from loopspec.impl.endings import Ending
from loopspec.impl.errors import MessageInvalid, RecordInvalid
from loopspec.impl.messages import (
    Block,
    DataBlock,
    JsonObject,
    Message,
    block_of,
    count_at,
    exact_keys,
    one_of,
    text_at,
    turn_and_step,
)

NEXT_TURN: Final = "next-turn"
NEXT_STEP: Final = "next-step"
TARGETS: Final = (NEXT_TURN, NEXT_STEP)
TOOL_OUTCOMES: Final = ("ok", "error", "aborted", "skipped")
TOOL_NOT_STARTED: Final = "TOOL_NOT_STARTED"
OUTCOME_UNKNOWN: Final = "TOOL_OUTCOME_UNKNOWN"


@attrs.frozen
class TurnStart:
    """A turn was opened; turns count from 1 over the whole log (DR-04)."""

    turn: int

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {"turn": self.turn}

    @classmethod
    def from_json(cls, data: object) -> TurnStart:
        """Read the data strictly; raises `MessageInvalid`."""
        return cls(count_at(exact_keys(data, "turn/start", ("turn",)), "turn", "turn/start", 1))


@attrs.frozen
class TurnEnd:
    """The open turn was closed, with its reason (TB-01)."""

    turn: int
    reason: Ending

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {"turn": self.turn, "reason": self.reason.to_json()}

    @classmethod
    def from_json(cls, data: object) -> TurnEnd:
        """Read the data strictly; raises `MessageInvalid`."""
        known = exact_keys(data, "turn/end", ("turn", "reason"))
        reason = Ending.from_json(known["reason"], "turn/end.reason")
        return cls(count_at(known, "turn", "turn/end", 1), reason)


@attrs.frozen
class StepStart:
    """A step was opened; steps count from 1 in each turn (DR-07)."""

    turn: int
    step: int

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {"turn": self.turn, "step": self.step}

    @classmethod
    def from_json(cls, data: object) -> StepStart:
        """Read the data strictly; raises `MessageInvalid`."""
        return cls(*turn_and_step(exact_keys(data, "step/start", ("turn", "step")), "step/start"))


@attrs.frozen
class StepEnd:
    """The open step was closed, however it went (ST-05)."""

    turn: int
    step: int

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {"turn": self.turn, "step": self.step}

    @classmethod
    def from_json(cls, data: object) -> StepEnd:
        """Read the data strictly; raises `MessageInvalid`."""
        return cls(*turn_and_step(exact_keys(data, "step/end", ("turn", "step")), "step/end"))


@attrs.frozen
class InboxSpliced:
    """One list of the inbox changed: the only durable trace of the inbox (IN-02 to IN-05)."""

    target: str
    start: int
    removed_count: int
    inserted: tuple[Message, ...]
    outcome: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the data of the record; keys that say nothing are left out (IN-03)."""
        data: dict[str, object] = {"target": self.target, "start": self.start}
        if self.removed_count:
            data["removedCount"] = self.removed_count
        data["inserted"] = [message.to_json() for message in self.inserted]
        if self.outcome is not None:
            data["outcome"] = self.outcome
        return data

    @classmethod
    def from_json(cls, data: object) -> InboxSpliced:
        """Read the data strictly; raises `MessageInvalid`."""
        where = "agent/inbox/spliced"
        optional = ("removedCount", "outcome")
        known = exact_keys(data, where, ("target", "start", "inserted"), optional)
        inserted = known["inserted"]
        if not isinstance(inserted, list | tuple):
            msg = f"{where}.inserted must be an array, not {inserted!r}."
            raise MessageInvalid(msg)
        removed = count_at(known, "removedCount", where, 1) if "removedCount" in known else 0
        outcome = one_of(known, "outcome", where, ("canceled",)) if "outcome" in known else None
        return cls(
            target=one_of(known, "target", where, TARGETS),
            start=count_at(known, "start", where, 0),
            removed_count=removed,
            inserted=tuple(
                Message.from_json(item, f"{where}.inserted[{index}]")
                for index, item in enumerate(inserted)
            ),
            outcome=outcome,
        )


@attrs.frozen
class AssistantMessage:
    """What the provider answered, or the visible part of it when an abort met it (ST-11, ST-12).

    `calls` are the ids of the tool calls that the step runs; the calls are blocks of the message.
    """

    turn: int
    step: int
    message: Message
    calls: tuple[str, ...] = ()
    interrupted: bool = False

    def to_json(self) -> dict[str, object]:
        """Return the data of the record; keys that say nothing are left out."""
        data: dict[str, object] = {"turn": self.turn, "step": self.step}
        data["message"] = self.message.to_json()
        if self.calls:
            data["calls"] = list(self.calls)
        if self.interrupted:
            data["interrupted"] = True
        return data

    @classmethod
    def from_json(cls, data: object) -> AssistantMessage:
        """Read the data strictly; raises `MessageInvalid`."""
        where = "assistant/message"
        known = exact_keys(data, where, ("turn", "step", "message"), ("calls", "interrupted"))
        message = Message.from_json(known["message"], f"{where}.message")
        calls = known.get("calls", ())
        if not isinstance(calls, list | tuple) or not all(isinstance(id_, str) for id_ in calls):
            msg = f"{where}.calls must be an array of strings, not {calls!r}."
            raise MessageInvalid(msg)
        interrupted = known.get("interrupted", False)
        if not isinstance(interrupted, bool):
            msg = f"{where}.interrupted must be true or false, not {interrupted!r}."
            raise MessageInvalid(msg)
        return cls(*turn_and_step(known, where), message, tuple(calls), interrupted)


@attrs.frozen
class ToolCalled:
    """A call of the open step's reply was taken up, or passed over under an abort (TC-04)."""

    turn: int
    step: int
    call: str
    name: str
    arguments: JsonObject

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {
            "turn": self.turn,
            "step": self.step,
            "call": self.call,
            "name": self.name,
            "arguments": cast("dict[str, object]", thaw(self.arguments)),
        }

    @classmethod
    def from_json(cls, data: object) -> ToolCalled:
        """Read the data strictly; raises `MessageInvalid`."""
        where = "tool/call"
        known = exact_keys(data, where, ("turn", "step", "call", "name", "arguments"))
        arguments = known["arguments"]
        if not isinstance(arguments, Mapping):
            msg = f"{where}.arguments must be an object, not {arguments!r}."
            raise MessageInvalid(msg)
        return cls(
            *turn_and_step(known, where),
            call=text_at(known, "call", where),
            name=text_at(known, "name", where),
            arguments=cast("JsonObject", freeze(arguments)),
        )


@attrs.frozen
class ToolAnswered:
    """A call has its result: `ok`, `error`, `aborted`, or `skipped` when it never began.

    A result that stands in for one lost in a crash has a `code`, and `cites` the number of the
    call's `tool/call` when there is one (RS-04).
    """

    turn: int
    step: int
    call: str
    outcome: str
    content: tuple[Block, ...] = ()
    code: str | None = None
    cites: int | None = None

    def to_json(self) -> dict[str, object]:
        """Return the data of the record; keys that say nothing are left out."""
        data: dict[str, object] = {
            "turn": self.turn,
            "step": self.step,
            "call": self.call,
            "outcome": self.outcome,
            "content": [block.to_json() for block in self.content],
        }
        if self.code is not None:
            data["code"] = self.code
        if self.cites is not None:
            data["cites"] = self.cites
        return data

    def to_message(self) -> Message:
        """Return the result as the next request has it."""
        result = DataBlock("tool-result", {"call": self.call, "outcome": self.outcome})
        name = f"result-{self.turn}-{self.step}-{self.call}"
        return Message(name, "user", "tool", (result, *self.content))

    @classmethod
    def from_json(cls, data: object) -> ToolAnswered:
        """Read the data strictly; raises `MessageInvalid`."""
        where = "tool/result"
        required = ("turn", "step", "call", "outcome", "content")
        known = exact_keys(data, where, required, ("code", "cites"))
        codes = (TOOL_NOT_STARTED, OUTCOME_UNKNOWN)
        content = known["content"]
        if not isinstance(content, list | tuple):
            msg = f"{where}.content must be an array, not {content!r}."
            raise MessageInvalid(msg)
        return cls(
            *turn_and_step(known, where),
            call=text_at(known, "call", where),
            outcome=one_of(known, "outcome", where, TOOL_OUTCOMES),
            content=tuple(
                block_of(item, f"{where}.content[{index}]") for index, item in enumerate(content)
            ),
            code=one_of(known, "code", where, codes) if "code" in known else None,
            cites=count_at(known, "cites", where, 0) if "cites" in known else None,
        )


@attrs.frozen
class EndSeed:
    """Up to here the log is of an earlier run, or inherited from another session (RS-07)."""

    inherited: bool = False

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {"inherited": True} if self.inherited else {}

    @classmethod
    def from_json(cls, data: object) -> EndSeed:
        """Read the data strictly; raises `MessageInvalid`."""
        known = exact_keys(data, "session/end-seed", (), ("inherited",))
        inherited = known.get("inherited", False)
        if not isinstance(inherited, bool):
            msg = f"session/end-seed.inherited must be true or left out, not {inherited!r}."
            raise MessageInvalid(msg)
        return cls(inherited)


Payload: TypeAlias = (
    TurnStart
    | TurnEnd
    | StepStart
    | StepEnd
    | InboxSpliced
    | Message
    | AssistantMessage
    | ToolCalled
    | ToolAnswered
    | EndSeed
)
PayloadClass: TypeAlias = (
    type[TurnStart]
    | type[TurnEnd]
    | type[StepStart]
    | type[StepEnd]
    | type[InboxSpliced]
    | type[Message]
    | type[AssistantMessage]
    | type[ToolCalled]
    | type[ToolAnswered]
    | type[EndSeed]
)

RECORDS: Final[dict[str, PayloadClass]] = {
    "turn/start": TurnStart,
    "turn/end": TurnEnd,
    "step/start": StepStart,
    "step/end": StepEnd,
    "agent/inbox/spliced": InboxSpliced,
    "user/message": Message,
    "assistant/message": AssistantMessage,
    "tool/call": ToolCalled,
    "tool/result": ToolAnswered,
    "session/end-seed": EndSeed,
}
"""Every type of record, with the class that reads and writes its data."""


class Record(msgspec.Struct, frozen=True, eq=False):
    """One durable row: its number (dense from 0), its time in ms, its type and its data.

    It is made after its data was checked. What nobody asks for is never built: most records are
    written without anybody reading them back.
    """

    seq: int
    time: int
    type: str
    _plain: object
    _data: JsonObject | None = None
    _payload: Payload | None = None

    @property
    def data(self) -> JsonObject:
        """The data, which nobody can change."""
        if self._data is None:
            force_setattr(self, "_data", freeze(self._plain))
        return cast("JsonObject", self._data)

    @property
    def payload(self) -> Payload:
        """The data again, read by the class of its type."""
        if self._payload is None:
            force_setattr(self, "_payload", read_payload(self.type, self._plain))
        return cast("Payload", self._payload)

    def __eq__(self, other: object) -> bool:
        """Equal in number, time, type and data."""
        if not isinstance(other, Record):
            return NotImplemented
        return (self.seq, self.time, self.type, self.data) == (
            *(other.seq, other.time, other.type, other.data),
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show what is on record."""
        shown = thaw(self.data)
        return f"Record(seq={self.seq}, time={self.time}, type={self.type!r}, data={shown!r})"


def read_payload(kind: str, data: object) -> Payload:
    """Read the data of a record by its class; raises `RecordInvalid` with one sentence."""
    if kind not in RECORDS:
        msg = f"{kind!r} is no type of record; the types are {', '.join(RECORDS)}."
        raise RecordInvalid(msg)
    try:
        return RECORDS[kind].from_json(data)
    except MessageInvalid as error:
        raise RecordInvalid(error.sentence) from error
