"""The provider: whoever answers one step's request, usually a language model.

The loop knows three answers (`done`, `owes` a reply to itself, `max-tokens`) and failure.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias

import attrs

from loopspec.impl.messages import Block, Message, TextBlock, block_tuple
from loopspec.impl.signal import Signal

ReplyKind: TypeAlias = Literal["done", "owes", "max-tokens"]

REPLY_KINDS: Final = ("done", "owes", "max-tokens")


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


@attrs.frozen
class Request:
    """One step's request: what was said so far, and the signal to watch while answering."""

    turn: int
    step: int
    messages: tuple[Message, ...]
    signal: Signal


@attrs.frozen
class Reply:
    """One step's answer.

    `done`: the turn may end. `owes`: another step must follow (what tools will use).
    `max-tokens`: cut by the output limit; it stays the reason of the turn (OF-02).
    """

    kind: ReplyKind = attrs.field(default="done", validator=attrs.validators.in_(REPLY_KINDS))
    content: tuple[Block, ...] = attrs.field(default=(), converter=block_tuple)


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
