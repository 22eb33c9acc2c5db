"""The calls of one reply: run one after the other or side by side, committed in their order.

Each call gets one `tool/call` and one `tool/result`, also when the turn is aborted before it
starts; only a failure of the loop's own stops that (TC-04, TC-06). Whatever the order in which
bodies finish, results and contexts are on record in the order of the reply (TC-01).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import attrs

from loopspec.impl.errors import AppendRefused, BadArgument
from loopspec.impl.inbox import Mark, Pending
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import Block, TextBlock
from loopspec.impl.records import NEXT_STEP, ToolAnswered, ToolCalled
from loopspec.impl.signal import Signal
from loopspec.impl.started import start
from loopspec.impl.tools import ToolCall, ToolResult, Tools, ToolUse

Spawn = Callable[..., "asyncio.Task[Any]"]


@attrs.frozen
class Done:
    """How a body ended: with a result, or failed."""

    result: ToolResult
    failed: bool = False


class Batch:
    """Runs the calls of one step's reply."""

    def __init__(self, log: SessionLog, pending: Pending, tools: Tools, spawn: Spawn) -> None:
        """`spawn` makes the tasks of bodies that run side by side."""
        self.log = log
        self._pending = pending
        self._tools = tools
        self._spawn = spawn
        self._open: set[str] = set()
        self._answered: set[str] = set()

    async def run(
        self, turn: int, step: int, calls: tuple[ToolCall, ...], signal: Signal, *, together: bool
    ) -> bool:
        """Run all calls; True when one of them concluded the turn (TC-09, TC-10)."""
        uses = [ToolUse(turn, step, call, signal) for call in calls]
        self._open, self._answered = set(), set()
        try:
            return await (self._side_by_side(uses) if together else self._one_by_one(uses))
        except asyncio.CancelledError:
            with contextlib.suppress(AppendRefused):  # then a repair answers the rest
                self._answer_rest(uses)
            raise

    async def _one_by_one(self, uses: list[ToolUse]) -> bool:
        concluded = False
        for use in uses:
            if use.signal.aborted:
                self._skip(use)
                continue
            await self._call(use)
            done = await self._done(use)
            concluded = self._commit(use, done) or concluded
        return concluded

    async def _side_by_side(self, uses: list[ToolUse]) -> bool:
        concluded = False
        bodies: dict[ToolUse, asyncio.Future[Done]] = {}
        try:
            for use in uses:
                if use.signal.aborted:
                    break
                await self._call(use)
                bodies[use] = asyncio.get_running_loop().create_future()
                start(self._spawn, self._settle(use, bodies[use]))
            for use in uses:
                if use in bodies:
                    concluded = self._commit(use, await bodies[use]) or concluded
                else:
                    self._skip(use)
        finally:
            # Whatever went wrong here, no body is left to run behind the step's end (TC-06).
            for body in bodies.values():
                await body
        return concluded

    async def _settle(self, use: ToolUse, body: asyncio.Future[Done]) -> None:
        try:
            body.set_result(await self._done(use))
        finally:
            body.cancel()

    async def _done(self, use: ToolUse) -> Done:
        try:
            result = await self._tools.run(use)
            if not isinstance(result, ToolResult):
                msg = f"a tool must answer a ToolResult, not {result!r}."
                raise BadArgument(msg)
        except Exception as error:
            said = str(error) or type(error).__name__
            return Done(ToolResult((TextBlock(said),)), failed=True)
        return Done(result)

    async def _call(self, use: ToolUse) -> None:
        """Record the call, durably: a crash must not leave an effect without a trace."""
        self._record_call(use)
        await self.log.flush()

    def _skip(self, use: ToolUse) -> None:
        self._record_call(use)
        self._record_result(use, "skipped", ())

    def _commit(self, use: ToolUse, done: Done) -> bool:
        """Record the result, then insert its contexts; True when it concludes the turn.

        Contexts that were handed over count, whatever became of the call (TC-05); a conclusion
        counts only from a call that went well (TC-12).
        """
        outcome = "error" if done.failed else "aborted" if use.signal.aborted else "ok"
        self._record_result(use, outcome, done.result.content)
        for message in (*use.handed_over, *done.result.contexts):
            self._pending.add(NEXT_STEP, message, Mark.QUIET)
        return done.result.concludes and outcome == "ok"

    def _answer_rest(self, uses: list[ToolUse]) -> None:
        """Give each call without a result one: the task that owns the session was cancelled.

        The turn is closed behind this, and no turn may close over a call that nobody answered
        (TC-04).
        """
        for use in uses:
            if use.call.id in self._open:
                self._record_result(use, "aborted", ())
            elif use.call.id not in self._answered:
                self._skip(use)

    def _record_call(self, use: ToolUse) -> None:
        call = use.call
        self._open.add(call.id)
        record = ToolCalled(use.turn, use.step, call.id, call.name, call.arguments)
        self.log.append("tool/call", record.to_json())

    def _record_result(self, use: ToolUse, outcome: str, content: tuple[Block, ...]) -> None:
        self._open.discard(use.call.id)
        self._answered.add(use.call.id)
        record = ToolAnswered(use.turn, use.step, use.call.id, outcome, content)
        self.log.append("tool/result", record.to_json())
