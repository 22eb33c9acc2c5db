"""The provider: whoever answers one step's request, usually a language model.

The loop knows four answers (`done`, `owes` a reply to itself, `tools` to run, `max-tokens`) and
failure. Visible text may be shown before the answer: it survives an abort (ST-12).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias, cast

import attrs

from loopspec.impl.canonical import freeze
from loopspec.impl.errors import BadArgument
from loopspec.impl.messages import Block, JsonObject, Message, TextBlock, block_tuple
from loopspec.impl.signal import Signal
from loopspec.impl.tools import ToolCall

ReplyKind: TypeAlias = Literal["done", "owes", "tools", "max-tokens"]

REPLY_KINDS: Final = ("done", "owes", "tools", "max-tokens")


def _options(options: JsonObject) -> JsonObject:
    return cast("JsonObject", freeze(options))


def _calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(calls)


class ProviderError(Exception):
    """The provider failed; message and code go into the turn's end verbatim (TB-09)."""

    def __init__(self, message: str = "provider failed", code: str = "PROVIDER") -> None:
        """Keep the message for people and the code for machines."""
        super().__init__(message)
        self.code = code


class ProviderCut(ProviderError):
    """The answer was cut off: after an abort that is the abort, otherwise a failure."""

    def __init__(self, message: str = "provider failed", code: str = "PROVIDER_CUT") -> None:
        """Keep the message for people and the code for machines."""
        super().__init__(message, code)


@attrs.define(eq=False)
class Request:
    """One attempt's request: what was said so far, and the signal to watch while answering.

    `options` are what the listeners of `agent/request` made of them. `shown` is the text that was
    shown for this attempt; it opens the message of the answer.
    """

    turn: int
    step: int
    messages: tuple[Message, ...]
    signal: Signal
    options: JsonObject = attrs.field(factory=dict, converter=_options)
    shown: str = attrs.field(default="", init=False)

    def show(self, text: str) -> None:
        """Hand over visible text before the answer.

        Raises `ProviderCut` on an aborted signal, and the text is not taken (ST-10).
        """
        if self.signal.aborted:
            raise ProviderCut
        self.shown += text


@attrs.frozen
class Reply:
    """One step's answer.

    `done`: the turn may end. `owes`: another step must follow. `tools`: `calls` are run, side by
    side if `together`, and another step follows unless one concludes. `max-tokens`: cut by the
    output limit; it stays the reason of the turn (OF-02), and its calls are not run (TC-07).
    """

    kind: ReplyKind = attrs.field(default="done", validator=attrs.validators.in_(REPLY_KINDS))
    content: tuple[Block, ...] = attrs.field(default=(), converter=block_tuple)
    calls: tuple[ToolCall, ...] = attrs.field(default=(), converter=_calls)
    together: bool = False

    def __attrs_post_init__(self) -> None:
        """Raise `BadArgument` when the calls do not fit the kind."""
        ids = [call.id for call in self.calls]
        if len(set(ids)) != len(ids):
            msg = f"the calls of a reply must have different ids, not {', '.join(ids)}."
            raise BadArgument(msg)
        if (self.kind == "tools") != bool(ids) and self.kind != "max-tokens":
            msg = f"a reply of kind {self.kind!r} has {len(ids)} calls."
            raise BadArgument(msg, "calls belong to `tools`, which has one at least.")


class Provider(Protocol):
    """What the loop needs of a provider."""

    async def respond(self, request: Request) -> Reply:
        """Answer one request, or raise `ProviderError`; watch `request.signal` (CN-13)."""
        ...


class ScriptedProvider:
    """Answers from a list: for examples and tests.

    An exception in the script is raised instead of answered. A script that has run out answers
    `done`. Each answer takes one turn of the event loop, as a real one would.
    """

    def __init__(self, script: Iterable[Reply | Exception] = ()) -> None:
        """Keep the script; `requests` will hold every request that was made."""
        self._script = deque(script)
        self.requests: list[Request] = []

    async def respond(self, request: Request) -> Reply:
        """Give the next answer of the script."""
        self.requests.append(request)
        await asyncio.sleep(0)
        if request.signal.aborted:
            raise ProviderCut
        if not self._script:
            return Reply("done", (TextBlock("done"),))
        answer = self._script.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer
