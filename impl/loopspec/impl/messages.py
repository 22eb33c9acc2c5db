"""Messages: an id, a role, a source and content blocks, frozen all the way down.

A message that was accepted never changes. Lists, records and events hold the same frozen
object; a caller who keeps the dictionary that a block was made from can change only that
dictionary (IN-06). `to_json` gives the keys of the log, `from_json` reads them strictly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, cast

import attrs

from loopspec.impl.canonical import freeze, thaw
from loopspec.impl.errors import MessageInvalid

ROLES: Final = ("user", "assistant")

JsonObject: TypeAlias = Mapping[str, object]


def _frozen_mapping(data: JsonObject) -> JsonObject:
    return cast("JsonObject", freeze(data))


@attrs.frozen
class TextBlock:
    """Plain text."""

    text: str

    def to_json(self) -> dict[str, object]:
        """Return the block as the log has it."""
        return {"type": "text", "text": self.text}


@attrs.frozen
class DataBlock:
    """A block of any other kind: its `type` and its other keys, which the loop only carries."""

    kind: str
    data: JsonObject = attrs.field(factory=dict, converter=_frozen_mapping, hash=False)

    def to_json(self) -> dict[str, object]:
        """Return the block as the log has it."""
        return {**cast("dict[str, object]", thaw(self.data)), "type": self.kind}


Block: TypeAlias = TextBlock | DataBlock


def block_tuple(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return the blocks as a tuple; raises `MessageInvalid` for anything that is no block."""
    content = tuple(blocks)
    for block in content:
        if not isinstance(block, TextBlock | DataBlock):
            msg = f"content must be TextBlock or DataBlock objects, not {type(block).__name__}."
            raise MessageInvalid(msg)
    return content


@attrs.frozen
class Message:
    """One input with an identity.

    The id is unique among pending messages only; `source` names who produced the message
    (`user`, a plug-in, …) and never decides how it is treated.
    """

    id: str
    role: str
    source: str
    content: tuple[Block, ...] = attrs.field(converter=block_tuple)

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    def to_json(self) -> dict[str, object]:
        """Return the message with the keys of the log: id, role, source, content."""
        return {
            "id": self.id,
            "role": self.role,
            "source": {"kind": self.source},
            "content": [block.to_json() for block in self.content],
        }

    @classmethod
    def from_json(cls, data: object, where: str = "message") -> Message:
        """Read a message strictly; raises `MessageInvalid`, one sentence that names the key."""
        known = exact_keys(data, where, ("id", "role", "source", "content"))
        role = text_at(known, "role", where)
        if role not in ROLES:
            msg = f"{where}.role must be one of {', '.join(ROLES)}, not {role!r}."
            raise MessageInvalid(msg)
        source = exact_keys(known["source"], f"{where}.source", ("kind",))
        content = known["content"]
        if not isinstance(content, list | tuple):
            msg = f"{where}.content must be an array, not {content!r}."
            raise MessageInvalid(msg)
        return cls(
            id=text_at(known, "id", where),
            role=role,
            source=text_at(source, "kind", f"{where}.source"),
            content=tuple(
                block_of(item, f"{where}.content[{index}]") for index, item in enumerate(content)
            ),
        )


def text_message(message_id: str, text: str | None = None, *, source: str = "user") -> Message:
    """Return a user message of one text block; the text defaults to the id."""
    return Message(message_id, "user", source, (TextBlock(message_id if text is None else text),))


def exact_keys(
    data: object, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> JsonObject:
    """Return the object if it has the required keys and no others but the optional ones."""
    if not isinstance(data, Mapping):
        msg = f"{where} must be an object, not {data!r}."
        raise MessageInvalid(msg)
    for key in required:
        if key not in data:
            msg = f"{where} lacks the key {key!r}."
            raise MessageInvalid(msg)
    for key in data:
        if key not in required and key not in optional:
            msg = f"{where} has the key {key!r}, which it may not have."
            raise MessageInvalid(msg)
    return data


def text_at(data: JsonObject, key: str, where: str) -> str:
    """Return the non-empty string at a key."""
    value = data[key]
    if not isinstance(value, str) or not value:
        msg = f"{where}.{key} must be a non-empty string, not {value!r}."
        raise MessageInvalid(msg)
    return value


def count_at(data: JsonObject, key: str, where: str, least: int) -> int:
    """Return the whole number at a key; raises `MessageInvalid` below `least`."""
    value = data[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        msg = f"{where}.{key} must be a whole number of at least {least}, not {value!r}."
        raise MessageInvalid(msg)
    return value


def turn_and_step(data: JsonObject, where: str) -> tuple[int, int]:
    """Return the numbers under `turn` and `step`."""
    return count_at(data, "turn", where, 1), count_at(data, "step", where, 1)


def one_of(data: JsonObject, key: str, where: str, allowed: tuple[str, ...]) -> str:
    """Return the string at a key, which has to be one of those allowed."""
    value = text_at(data, key, where)
    if value not in allowed:
        msg = f"{where}.{key} must be one of {', '.join(allowed)}, not {value!r}."
        raise MessageInvalid(msg)
    return value


def block_of(data: object, where: str) -> Block:
    """Read one content block strictly; raises `MessageInvalid`."""
    if not isinstance(data, Mapping):
        msg = f"{where} must be an object, not {data!r}."
        raise MessageInvalid(msg)
    if "type" not in data:
        msg = f"{where} lacks the key 'type'."
        raise MessageInvalid(msg)
    kind = text_at(data, "type", where)
    if kind != "text":
        return DataBlock(kind, {key: item for key, item in data.items() if key != "type"})
    text = exact_keys(data, where, ("type", "text"))["text"]
    if not isinstance(text, str):
        msg = f"{where}.text must be a string, not {text!r}."
        raise MessageInvalid(msg)
    return TextBlock(text)
