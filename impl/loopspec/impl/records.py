"""The records of the session log: one class for each type, with the exact keys on the wire.

`RECORDS` is the closed list: the log takes nothing else, and each record is read by its class
before it is stored, so that a wrong key or value is refused where it is written. The catalogue
describes these classes to people; a test compares the two.
"""

from __future__ import annotations

from typing import Final, TypeAlias, cast

import attrs

from loopspec.impl.canonical import freeze
from loopspec.impl.errors import MessageInvalid, RecordInvalid
from loopspec.impl.messages import JsonObject, Message, exact_keys, text_at

NEXT_TURN: Final = "next-turn"
NEXT_STEP: Final = "next-step"
TARGETS: Final = (NEXT_TURN, NEXT_STEP)
CAUSES: Final = ("user", "parent", "hook", "disposed")
ENDINGS: Final = ("completed", "max-tokens", "blocked", "aborted", "error")


@attrs.frozen
class Failure:
    """Why a turn ended in `error`: a message for people, a code for machines (TB-09)."""

    message: str
    code: str = "UNKNOWN"

    def to_json(self) -> dict[str, object]:
        """Return the failure as the log has it."""
        return {"message": self.message, "code": self.code}


@attrs.frozen
class Ending:
    """How a turn ended: one of `ENDINGS`, with the cause of an abort or the failure of an error."""

    kind: str
    cause: str | None = None
    error: Failure | None = None

    def to_json(self) -> dict[str, object]:
        """Return the `reason` of a `turn/end`."""
        if self.kind == "aborted":
            return {"kind": self.kind, "reason": {"kind": self.cause}}
        if self.error is not None:
            return {"kind": self.kind, "error": self.error.to_json()}
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, data: object, where: str = "reason") -> Ending:
        """Read the `reason` of a `turn/end` strictly; raises `MessageInvalid`."""
        loose = exact_keys(data, where, ("kind",), ("reason", "error"))
        kind = _one_of(loose, "kind", where, ENDINGS)
        if kind == "aborted":
            reason = exact_keys(data, where, ("kind", "reason"))["reason"]
            cause = exact_keys(reason, f"{where}.reason", ("kind",))
            return cls(kind, cause=_one_of(cause, "kind", f"{where}.reason", CAUSES))
        if kind == "error":
            inner = exact_keys(data, where, ("kind", "error"))["error"]
            error = exact_keys(inner, f"{where}.error", ("message", "code"))
            message, code = error["message"], error["code"]
            if not isinstance(message, str) or not isinstance(code, str):
                msg = f"{where}.error must have a message and a code that are strings."
                raise MessageInvalid(msg)
            return cls(kind, error=Failure(message, code))
        exact_keys(data, where, ("kind",))
        return cls(kind)


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
        return cls(_count(exact_keys(data, "turn/start", ("turn",)), "turn", "turn/start", 1))


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
        return cls(_count(known, "turn", "turn/end", 1), reason)


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
        return cls(*_turn_and_step(exact_keys(data, "step/start", ("turn", "step")), "step/start"))


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
        return cls(*_turn_and_step(exact_keys(data, "step/end", ("turn", "step")), "step/end"))


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
        removed = _count(known, "removedCount", where, 1) if "removedCount" in known else 0
        outcome = _one_of(known, "outcome", where, ("canceled",)) if "outcome" in known else None
        return cls(
            target=_one_of(known, "target", where, TARGETS),
            start=_count(known, "start", where, 0),
            removed_count=removed,
            inserted=tuple(
                Message.from_json(item, f"{where}.inserted[{index}]")
                for index, item in enumerate(inserted)
            ),
            outcome=outcome,
        )


@attrs.frozen
class AssistantMessage:
    """What the provider answered in a step that was not aborted."""

    turn: int
    step: int
    message: Message

    def to_json(self) -> dict[str, object]:
        """Return the data of the record."""
        return {"turn": self.turn, "step": self.step, "message": self.message.to_json()}

    @classmethod
    def from_json(cls, data: object) -> AssistantMessage:
        """Read the data strictly; raises `MessageInvalid`."""
        where = "assistant/message"
        known = exact_keys(data, where, ("turn", "step", "message"))
        message = Message.from_json(known["message"], f"{where}.message")
        return cls(*_turn_and_step(known, where), message)


Payload: TypeAlias = (
    TurnStart | TurnEnd | StepStart | StepEnd | InboxSpliced | Message | AssistantMessage
)
PayloadClass: TypeAlias = (
    type[TurnStart]
    | type[TurnEnd]
    | type[StepStart]
    | type[StepEnd]
    | type[InboxSpliced]
    | type[Message]
    | type[AssistantMessage]
)

RECORDS: Final[dict[str, PayloadClass]] = {
    "turn/start": TurnStart,
    "turn/end": TurnEnd,
    "step/start": StepStart,
    "step/end": StepEnd,
    "agent/inbox/spliced": InboxSpliced,
    "user/message": Message,
    "assistant/message": AssistantMessage,
}
"""Every type of record, with the class that reads and writes its data."""


@attrs.frozen
class Record:
    """One durable row: its number (dense from 0), its time in ms, its type and its data.

    `payload` is the data again, read by the class of its type.
    """

    seq: int
    time: int
    type: str
    data: JsonObject
    payload: Payload = attrs.field(eq=False, repr=False)


def read_payload(kind: str, data: object) -> Payload:
    """Read the data of a record by its class; raises `RecordInvalid` with one sentence."""
    if kind not in RECORDS:
        msg = f"{kind!r} is no type of record; the types are {', '.join(RECORDS)}."
        raise RecordInvalid(msg)
    try:
        return RECORDS[kind].from_json(data)
    except MessageInvalid as error:
        raise RecordInvalid(error.sentence) from error


def frozen_record(seq: int, time: int, kind: str, data: object) -> Record:
    """Return a checked record with data that no listener can change."""
    payload = read_payload(kind, data)
    return Record(seq, time, kind, cast("JsonObject", freeze(data)), payload)


def _count(data: JsonObject, key: str, where: str, least: int) -> int:
    value = data[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        msg = f"{where}.{key} must be a whole number of at least {least}, not {value!r}."
        raise MessageInvalid(msg)
    return value


def _turn_and_step(data: JsonObject, where: str) -> tuple[int, int]:
    return _count(data, "turn", where, 1), _count(data, "step", where, 1)


def _one_of(data: JsonObject, key: str, where: str, allowed: tuple[str, ...]) -> str:
    value = text_at(data, key, where)
    if value not in allowed:
        msg = f"{where}.{key} must be one of {', '.join(allowed)}, not {value!r}."
        raise MessageInvalid(msg)
    return value
