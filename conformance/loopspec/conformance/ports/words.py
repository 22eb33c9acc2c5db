"""Between the words of a trace and the messages of the protocol, both ways.

What comes from a port has been checked against its struct already, so nothing here can fail on it:
an entry of a report becomes an observation with the keys of its name, in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from loopspec.conformance.ports import messages as wire
from loopspec.model.scenario import Line
from loopspec.model.words import (
    CALLS,
    KEYS,
    OPENED_KEYS,
    RETURN_KEYS,
    SETTLED_KEYS,
    Answer,
    Block,
    Call,
    Message,
    Observation,
    Value,
)

__all__ = ["answer_command", "call_command", "hook_of", "lists_of", "messages_of", "observed"]


def message_of(given: wire.Message) -> Message:
    """A message in the words of the trace."""
    return Message(
        given.id,
        given.role,
        given.source,
        tuple([Block(block.kind, block.text) for block in given.blocks]),
    )


def messages_of(given: tuple[wire.Message, ...]) -> tuple[Message, ...]:
    """Messages in the words of the trace."""
    return tuple([message_of(each) for each in given])


def lists_of(
    given: wire.Report | wire.Folded,
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Both lists, next-turn first."""
    return messages_of(given.next_turn), messages_of(given.next_step)


def message_to(message: Message) -> wire.Message:
    """A message as it is sent."""
    blocks = tuple(wire.Block(block.kind, block.text) for block in message.blocks)
    return wire.Message(message.id, message.role, message.source, blocks)


TRANSLATED: Final[dict[str, Callable[[Any], Value]]] = {
    "message": message_of,
    "messages": messages_of,
    "inserted": messages_of,
}
"""The keys whose values are messages."""

_PLANS: Final = {
    name: (
        wire.KIND_OF[name],
        tuple((key, TRANSLATED.get(key)) for key in KEYS[name]),
        wire.KIND_OF[name] != "gate",
    )
    for name in KEYS
}


def observed(entry: Any) -> Observation:  # noqa: ANN401 - one of the structs of an entry
    """An entry of a report as an observation; not for `made`, which is none."""
    name = entry.__struct_config__.tag
    plan = _PLANS.get(name)
    if plan is not None:
        kind, keys, delivered = plan
        data = tuple(
            [
                (key, getattr(entry, key) if change is None else change(getattr(entry, key)))
                for key, change in keys
            ]
        )
        return Observation(kind, name, data, entry.by if delivered else "")
    if name == "return":
        told: tuple[Value, ...] = (entry.value, entry.raised)
        return Observation("return", entry.call, tuple(zip(RETURN_KEYS, told, strict=True)))
    if name == "settled":
        return Observation("settled", entry.call, ((SETTLED_KEYS[0], entry.error),))
    if name == "opened":
        told = (
            entry.turn,
            messages_of(entry.next_turn),
            messages_of(entry.next_step),
            entry.repaired,
        )
        return Observation("opened", entry.call, tuple(zip(OPENED_KEYS, told, strict=True)))
    return Observation("fault", entry.name, (("error", entry.error),))


def _sent(value: Value) -> Any:  # noqa: ANN401 - the field of a struct
    """An argument as the field of a command."""
    if isinstance(value, Message):
        return message_to(value)
    if isinstance(value, tuple):
        return tuple(_sent(each) for each in value)
    return value


def call_command(call: Call, seq: int = 0) -> wire.Command:
    """The command that makes a call."""
    kind = wire.CALL_COMMANDS[call.name]
    given = {key: _sent(arg) for key, arg in zip(CALLS[call.name], call.args, strict=True)}
    return kind(seq=seq, **given)


def answer_command(answer: Answer, seq: int = 0) -> wire.Answer:
    """The command that answers a gate."""
    given = None if answer.messages is None else tuple(map(message_to, answer.messages))
    return wire.Answer(
        seq=seq, gate=answer.gate, choice=answer.choice, messages=given, calls=answer.names
    )


def hook_of(number: int, line: Line) -> wire.Hook:
    """A line with a window as a hook."""
    window, call = line.window, line.action
    assert isinstance(call, Call), "only calls have windows"
    delivered = wire.KIND_OF.get(window.name) in ("record", "event")
    if window.kind == "in":
        who, ticks = window.listener or ("last" if delivered else ""), 0
    else:
        who, ticks = "first" if delivered else "", window.ticks
    return wire.Hook(
        hook=number,
        at=window.name,
        by=who,  # type: ignore[arg-type]
        n=window.number,
        k=ticks,
        call=call_command(call),  # type: ignore[arg-type]
    )


def text_of(command: msgspec.Struct) -> bytes:
    """A command or an answer as the line that is sent, without its end."""
    return msgspec.json.encode(command)
