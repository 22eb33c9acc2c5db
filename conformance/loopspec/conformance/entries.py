"""Entries of a trace as JSON, both ways: what is read back is equal to what was seen.

A call, an answer and a rest are told by their first key; any other entry is an observation, whose
first key is its kind. A message is an object, a tuple is a list, so that neither is taken for the
other. The keys of an observation stand in its order; an adapter may tell one key twice, and then
they are pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from loopspec.conformance.subjects.guarded import INTEGER_MAX, KINDS, WHO
from loopspec.conformance.visible import whole_characters
from loopspec.model.words import (
    CALLS,
    CAUSES,
    GATES,
    TARGETS,
    Answer,
    Block,
    Call,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
    Value,
)

__all__ = ["EntryError", "entry_from_json", "entry_json", "trace_text"]

DEPTH_MAX: Final = 40
WORDS: Final = {"target": TARGETS, "cause": CAUSES, "mode": ("keep", "drop")}
"""Arguments of calls that are one of a few words."""


class EntryError(ValueError):
    """JSON that is no entry of a trace; the text says what was expected and what came."""


def entry_json(entry: Entry) -> dict[str, Any]:
    """One entry of a trace as JSON."""
    if isinstance(entry, Made):
        return {"call": entry.call.name, "args": _plain(entry.call.args), "inside": entry.inside}
    if isinstance(entry, Answer):
        return {
            "answer": entry.gate,
            "choice": entry.choice,
            "messages": _plain(entry.messages),
            "names": list(entry.names),
        }
    if isinstance(entry, Rest):
        return {
            "rest": entry.status,
            "next_turn": _plain(entry.next_turn),
            "next_step": _plain(entry.next_step),
            "gates": [list(gate) for gate in entry.gates],
        }
    data: Any = {key: _plain(value) for key, value in entry.data}
    if len(data) < len(entry.data):
        data = [[key, _plain(value)] for key, value in entry.data]
    return {entry.kind: entry.name, "data": data, "listener": entry.listener}


def trace_text(trace: Iterable[Entry]) -> str:
    """A trace as JSON lines, one entry a line."""
    return "".join(whole_characters(json.dumps(entry_json(entry))) + "\n" for entry in trace)


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Message):
        blocks = [{"kind": block.kind, "text": block.text} for block in value.blocks]
        return {"id": value.id, "role": value.role, "source": value.source, "blocks": blocks}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


# --- Back again -----------------------------------------------------------------------------------


def entry_from_json(data: object) -> Entry:
    """The entry that was written; raises EntryError for anything else."""
    if not isinstance(data, dict):
        _refuse("an entry of a trace as an object", data)
    if "call" in data:
        return _made(data)
    if "answer" in data:
        return _answer(data)
    if "rest" in data:
        return _rest(data)
    return _observation(data)


def _made(data: dict[str, Any]) -> Made:
    _keys(data, "a call", "call", "args", "inside")
    name = data["call"]
    if not isinstance(name, str) or name not in CALLS:
        _refuse(f"a call ({', '.join(CALLS)})", name)
    args = data["args"]
    if not isinstance(args, list) or len(args) != len(CALLS[name]):
        _refuse(f"{len(CALLS[name])} arguments of {name}", args)
    given = tuple(_argument(kind, _value(arg)) for kind, arg in zip(CALLS[name], args, strict=True))
    return Made(Call(name, given), _flag(data["inside"]))


def _argument(kind: str, value: Value) -> Value:
    """The argument of a call, of the type that its kind has."""
    types = {"message": Message, "messages": tuple, "start": int, "count": int}
    if not isinstance(value, types.get(kind, str)) or value not in WORDS.get(kind, (value,)):
        _refuse(f"an argument that is a {kind}", value)
    if kind == "messages" and isinstance(value, tuple):
        for each in value:
            if not isinstance(each, Message):
                _refuse("messages", each)
    return value


def _answer(data: dict[str, Any]) -> Answer:
    _keys(data, "an answer", "answer", "choice", "messages", "names")
    gate, choice, messages = data["answer"], data["choice"], data["messages"]
    if not isinstance(gate, str) or gate not in GATES:
        _refuse(f"a gate ({', '.join(GATES)})", gate)
    if choice not in GATES[gate]:
        _refuse(f"an answer at {gate} ({', '.join(GATES[gate])})", choice)
    names = tuple(_text(name) for name in _list(data["names"]))
    return Answer(gate, choice, None if messages is None else _messages(messages), names)


def _rest(data: dict[str, Any]) -> Rest:
    _keys(data, "a rest", "rest", "next_turn", "next_step", "gates")
    gates = []
    for each in _list(data["gates"]):
        if not isinstance(each, list) or len(each) != 2:
            _refuse("a gate and whether it is aborted", each)
        gates.append((_text(each[0]), _flag(each[1])))
    lists = _messages(data["next_turn"]), _messages(data["next_step"])
    return Rest(*lists, _text(data["rest"]), tuple(gates))


def _observation(data: dict[str, Any]) -> Observation:
    kind = next(iter(data), "")
    if kind not in KINDS:
        _refuse(f"an entry (call, answer, rest, {', '.join(KINDS)})", kind)
    _keys(data, f"a {kind}", kind, "data", "listener")
    told = data["data"]
    pairs = list(told.items()) if isinstance(told, dict) else _list(told)
    if any(not isinstance(pair, list | tuple) or len(pair) != 2 for pair in pairs):
        _refuse("pairs of key and value", told)
    if data["listener"] not in WHO:
        _refuse("a listener (first, last or empty)", data["listener"])
    values = tuple((_text(key), _value(value)) for key, value in pairs)
    return Observation(kind, _text(data[kind]), values, data["listener"])


def _messages(value: object) -> tuple[Message, ...]:
    return tuple(_message(each) for each in _list(value))


def _message(value: object) -> Message:
    if not isinstance(value, dict):
        _refuse("a message", value)
    _keys(value, "a message", "id", "role", "source", "blocks")
    blocks = []
    for block in _list(value["blocks"]):
        if not isinstance(block, dict):
            _refuse("a block of a message", block)
        _keys(block, "a block", "kind", "text")
        blocks.append(Block(_text(block["kind"]), _text(block["text"])))
    name, role, source = (_text(value[key]) for key in ("id", "role", "source"))
    return Message(name, role, source, tuple(blocks))


def _value(value: object, depth: int = 0) -> Value:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and -INTEGER_MAX <= value < INTEGER_MAX:
        return value
    if isinstance(value, list) and depth < DEPTH_MAX:
        return tuple(_value(each, depth + 1) for each in value)
    return _message(value)


def _keys(data: dict[str, Any], what: str, *keys: str) -> None:
    if tuple(data) != keys:
        _refuse(f"{what} with the keys {', '.join(keys)}", ", ".join(data))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        _refuse("a list", value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        _refuse("a text", value)
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        _refuse("true or false", value)
    return value


def _refuse(expected: str, given: object) -> NoReturn:
    msg = f"expected {expected}, got {ascii(given)[:80]}"
    raise EntryError(msg)
