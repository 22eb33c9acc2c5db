"""What happens inside an open step: requests until one is answered, then the calls of the answer.

One attempt reads

    [agent/request] → provider → [agent/request-error, after a failure] → again, or the failure

and a failed attempt leaves nothing behind, whatever it had shown (ST-17). An abort wins over
every answer (ST-14, ST-18); the visible text of the attempt that it met is kept (ST-12).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from loopspec.impl.batch import Batch
from loopspec.impl.bus import Bus
from loopspec.impl.endings import Failure
from loopspec.impl.errors import BadArgument, describe
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import DataBlock, JsonObject, Message, TextBlock
from loopspec.impl.payloads import GiveUp, RecoveryDecision, RequestFailed, Requesting, Retry
from loopspec.impl.provider import Provider, ProviderError, Reply, Request
from loopspec.impl.records import AssistantMessage, Record, ToolAnswered
from loopspec.impl.signal import Signal

NO_OPTIONS: Final[JsonObject] = {}


@attrs.frozen
class Outcome:
    """What a finished step amounts to: how the turn may end, unless a reply is owed (OF-01)."""

    reason: str
    owes: bool = False


class Exchange:
    """Asks the provider for one step at a time, and keeps the conversation."""

    def __init__(
        self,
        log: SessionLog,
        bus: Bus,
        provider: Provider,
        batch: Batch,
        records: Iterable[Record],
    ) -> None:
        """Read the conversation so far from the records."""
        self.log = log
        self.bus = bus
        self._provider = provider
        self._batch = batch
        self._history: list[Message] = []
        for record in records:
            self.remember(record)

    def remember(self, record: Record) -> None:
        """Keep the conversation, whoever appended it: the next request is made of it (ST-06)."""
        payload = record.payload
        if isinstance(payload, Message):
            self._history.append(payload)
        elif isinstance(payload, AssistantMessage):
            self._history.append(payload.message)
        elif isinstance(payload, ToolAnswered):
            self._history.append(payload.to_message())

    async def run(
        self, turn: int, step: int, signal: Signal, entering: tuple[Message, ...] = ()
    ) -> Outcome:
        """Ask until there is an answer, record it, and run the calls that it asks for.

        `entering` is recorded once the first request is prepared: the policy value `prepared`.
        """
        request, reply = await self._answered(turn, step, signal, entering)
        # Calls of an answer that was cut by the limit are not run (TC-07).
        calls = reply.calls if reply.kind == "tools" else ()
        self._say(request, reply, calls=tuple(call.id for call in calls))
        if calls:
            concluded = await self._batch.run(turn, step, calls, signal, together=reply.together)
            return Outcome("completed") if concluded else Outcome("", owes=True)
        if reply.kind == "owes":
            return Outcome("", owes=True)
        return Outcome("max-tokens" if reply.kind == "max-tokens" else "completed")

    async def _answered(
        self, turn: int, step: int, signal: Signal, entering: tuple[Message, ...]
    ) -> tuple[Request, Reply]:
        while True:
            request = await self._request(turn, step, signal, entering)
            entering = ()
            failure: Exception | None = None
            try:
                reply = await self._provider.respond(request)
                if not isinstance(reply, Reply):
                    msg = f"the provider must answer a Reply, not {reply!r}."
                    raise BadArgument(msg)
            except Exception as error:
                failure = error
            if signal.aborted and request.shown.strip():
                self._say(request, Reply(), interrupted=True)
            signal._raise_if_aborted()
            if failure is None:
                return request, reply
            await self._recover(request, failure)

    async def _request(
        self, turn: int, step: int, signal: Signal, entering: tuple[Message, ...]
    ) -> Request:
        payload = Requesting(turn, step, signal)
        signal._raise_if_aborted()
        options = await self.bus.waterfall("agent/request", payload, NO_OPTIONS)
        signal._raise_if_aborted()
        if entering:
            for message in entering:
                self.log.append("user/message", message.to_json())
            signal._raise_if_aborted()
        # What is appended while the disk is waited for is not acknowledged, so not asked about.
        history = tuple(self._history)
        await self._durable(signal)
        return Request(turn, step, history, signal, options)

    async def _durable(self, signal: Signal) -> None:
        """Nothing leaves the process before the records that it rests on are acknowledged."""
        await self.log.flush()
        signal._raise_if_aborted()

    async def _recover(self, request: Request, failure: Exception) -> None:
        """Return for another attempt, or raise: the failure, or what a listener raised (ST-20)."""
        payload = RequestFailed(request.turn, request.step, failure_of(failure), request.signal)
        default: RecoveryDecision = GiveUp()
        decision = await self.bus.waterfall("agent/request-error", payload, default)
        request.signal._raise_if_aborted()
        if isinstance(decision, Retry):
            return
        if not isinstance(decision, GiveUp):
            msg = f"agent/request-error must answer Retry or GiveUp, not {decision!r}."
            raise BadArgument(msg)
        raise failure

    def _say(
        self,
        request: Request,
        reply: Reply,
        *,
        calls: tuple[str, ...] = (),
        interrupted: bool = False,
    ) -> None:
        """Record what was shown and what the reply adds to it as one message (ST-11, ST-22)."""
        shown = (TextBlock(request.shown),) if request.shown else ()
        asked: tuple[DataBlock, ...] = tuple(
            call.to_block() for call in reply.calls if call.id in calls
        )
        said = Message(
            f"assistant-{request.turn}-{request.step}",
            "assistant",
            "model",
            (*shown, *reply.content, *asked),
        )
        record = AssistantMessage(request.turn, request.step, said, calls, interrupted)
        self.log.append("assistant/message", record.to_json())


def failure_of(error: Exception) -> Failure:
    """Return what is recorded of an error: a provider's own code, else `UNKNOWN` (TB-09)."""
    code = error.code if isinstance(error, ProviderError) else "UNKNOWN"
    return Failure(describe(error), code)
