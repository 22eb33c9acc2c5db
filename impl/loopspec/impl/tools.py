"""Tools: what a reply may ask for, and whoever runs it.

A tool is asked with one `ToolUse` and answers a `ToolResult`; what it raises is its result too.
Messages that it hands over join next-step once its result is on record, quietly (TC-02).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

import attrs

from loopspec.impl.canonical import freeze
from loopspec.impl.errors import BadArgument
from loopspec.impl.messages import Block, DataBlock, JsonObject, Message, block_tuple
from loopspec.impl.signal import Signal


def _frozen(data: JsonObject) -> JsonObject:
    return cast("JsonObject", freeze(data))


def _messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(messages)


@attrs.frozen
class ToolCall:
    """One call that a reply asks for; the id tells it from the others of the same reply."""

    id: str
    name: str = "tool"
    arguments: JsonObject = attrs.field(factory=dict, converter=_frozen, hash=False)

    def to_block(self) -> DataBlock:
        """Return the call as a block of the message that asks for it."""
        return DataBlock(
            "tool-call", {"id": self.id, "name": self.name, "arguments": self.arguments}
        )


@attrs.frozen
class ToolResult:
    """What a tool answers.

    `contexts` are messages for the next step. `concludes`: no reply is owed to this batch, the
    turn may end (TC-09).
    """

    content: tuple[Block, ...] = attrs.field(default=(), converter=block_tuple)
    contexts: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    concludes: bool = False


class ToolUse:
    """One call under way: which one, in which step, and the signal to watch (CN-13)."""

    def __init__(self, turn: int, step: int, call: ToolCall, signal: Signal) -> None:
        """Start with no message handed over."""
        self.turn = turn
        self.step = step
        self.call = call
        self.signal = signal
        self._handed: list[Message] = []

    @property
    def handed_over(self) -> tuple[Message, ...]:
        """What was handed over so far."""
        return tuple(self._handed)

    def hand_over(self, *contexts: Message) -> None:
        """Give messages for the next step before the answer: they count even if it fails."""
        for message in contexts:
            if not isinstance(message, Message):
                msg = f"a context must be a Message, not a {type(message).__name__}."
                raise BadArgument(msg)
            self._handed.append(message)


class Tools(Protocol):
    """What the loop needs of whoever runs tools."""

    async def run(self, use: ToolUse) -> ToolResult:
        """Run one call; watch `use.signal`, since nobody ends the call by force (CN-13)."""
        ...


class NoTools:
    """Knows no tool, so every call fails."""

    async def run(self, use: ToolUse) -> ToolResult:
        """Raise `BadArgument` that names the tool."""
        msg = f"there is no tool {use.call.name!r}."
        raise BadArgument(msg, "give the agent tools: Agent(log, provider, tools=...).")
