"""The agent run of pydantic-ai as a subject, in process and under control (extra `peers`).

A run of pydantic-ai is told as a turn, a model request with its tools as a step. Deliveries are the
hooks of a capability and the events of the run's own stream: `step/start` is `before_model_request`
and `step/end` is `after_node_run` behind the tools; `claimed` is an `EnqueuedMessagesEvent`, and
`user/message` is told when a request holds a message for the first time. That something was queued
or dequeued the library does not tell: the adapter looks at the queue right after the call.

The library is used as its documents say; the one private name is that of the queue of a run, into
which the planted faults go. `python -m loopspec.conformance.subjects.pydantic_ai [--fault NAME]`
serves it as a port.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import attrs
from pydantic_ai import Agent, RunContext, ToolFailed
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError, RunCancelled, UserError
from pydantic_ai.messages import (
    EnqueuedMessagesEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from loopspec.conformance.control import (
    ControlError,
    ControlledLoop,
    LostFailure,
    Spinning,
    controlled_loop,
)
from loopspec.conformance.ports.serving import serve
from loopspec.conformance.subjects.contract import Lists
from loopspec.model.session import HELD
from loopspec.model.words import (
    FIRST,
    LAST,
    Answer,
    Call,
    Message,
    Observation,
    Value,
    observation,
)

__all__ = ["FAULTS", "PydanticAISubject", "make"]

PROFILE: Final = "pydantic-ai"
CAPABILITIES: Final = frozenset(
    {"steering", "cancel", "calls-in-listeners", "first-listener", "ticks", "tools", "waiting"}
)
PRIORITIES: Final = {"followup": "when_idle", "steer": "asap"}


def _lose_redirect(queue: Any) -> None:  # noqa: ANN401 - the library's own queue
    """What is still asap when the run would end is forgotten."""
    drain = queue.drain_at_end
    queue.drain_at_end = lambda: ([], drain()[1])


def _accept_late(queue: Any) -> None:  # noqa: ANN401
    """A queue that is closed takes messages all the same."""
    queue.append = partial(list.append, queue)


def _lie_dequeued(queue: Any) -> None:  # noqa: ANN401
    """`dequeue` says that the message is gone, and leaves it."""
    queue.dequeue = lambda _: True


def _idle_before_asap(queue: Any) -> None:  # noqa: ANN401
    """At the end of a run what waits for idle is delivered first."""
    drain = queue.drain_at_end
    queue.drain_at_end = lambda: drain()[::-1]


def _asap_waits(queue: Any) -> None:  # noqa: ANN401
    """What is asap waits for the end of the run like everything else."""
    pop = queue.pop_priority
    queue.pop_priority = lambda priority: [] if priority == "asap" else pop(priority)


FAULTS: Final = MappingProxyType(
    {
        "lost-redirect": _lose_redirect,
        "late-accepted": _accept_late,
        "dequeue-lies": _lie_dequeued,
        "idle-before-asap": _idle_before_asap,
        "asap-waits": _asap_waits,
    }
)
"""Faults that can be planted into the queue of each run, in memory."""


@attrs.define(eq=False)
class _Gate:
    """A place where the run waits for an answer."""

    kind: str
    call: str
    answer: asyncio.Future[Answer]

    @property
    def label(self) -> str:
        return f"{self.kind} {self.call}" if self.call else self.kind


class _Watching(AbstractCapability[None]):  # type: ignore[misc]
    """Tells the hooks and the events of a run."""

    def __init__(self, subject: PydanticAISubject) -> None:
        self._subject = subject

    async def before_run(self, ctx: RunContext[None]) -> None:
        self._subject.began_run(ctx)

    async def before_model_request(self, ctx: RunContext[None], request_context: Any) -> Any:  # noqa: ANN401
        self._subject.began_step(ctx)
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[None],
        *,
        request_context: Any,  # noqa: ANN401
        response: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        del ctx, request_context
        calls = tuple(call.tool_call_id for call in response.tool_calls)
        self._subject.tell_step("assistant/message", calls, False)
        return response

    async def after_node_run(self, ctx: RunContext[None], *, node: Any, result: Any) -> Any:  # noqa: ANN401
        del ctx
        if type(node).__name__ == "CallToolsNode":
            self._subject.tell_step("step/end")
        return result

    async def on_event(self, ctx: RunContext[None], *, event: Any) -> None:  # noqa: ANN401
        del ctx
        self._subject.heard(event)


class PydanticAISubject:
    """One agent, whose runs follow one another."""

    name = PROFILE
    capabilities = CAPABILITIES

    def __init__(self, fault: str | None = None) -> None:
        """Nothing runs yet. Raises KeyError for a fault that there is not."""
        self.version = importlib.metadata.version("pydantic-ai-slim")
        self._plant: Callable[[Any], None] | None = None if fault is None else FAULTS[fault]
        self._loop: ControlledLoop | None = None
        self._observer: Callable[[Observation], None] | None = None

    # --- What the suite does ----------------------------------------------------------------------

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """Begin with a fresh agent that has no run."""
        del held
        self.close()
        self._observer = observer
        self._loop = controlled_loop()
        self._gates: list[_Gate] = []
        self._run: Any = None
        self._active = False
        self._task: asyncio.Task[None] | None = None
        self._history: list[ModelMessage] = []
        self._sent: dict[str, Message] = {}
        self._ids: dict[str, str] = {}
        self._shown: Counter[str] = Counter()
        self._turn = self._step = 0
        self._waiting: list[str] = []
        self._agent = self._made_agent()

    def call(self, call: Call) -> None:
        """Make the call now; what it returned or raised is told."""
        value, raised = self._live.within(lambda: self._made(call))
        self._tell(observation("return", call.name, value, raised))

    def answer(self, answer: Answer) -> bool:
        """Answer the oldest open gate of that kind, of a tool that of its call."""
        for gate in self._gates:
            if gate.kind == answer.gate and (not gate.call or gate.call in (*answer.names, "")):
                self._gates.remove(gate)
                self._live.within(lambda: gate.answer.set_result(answer))  # noqa: B023
                return True
        return False

    def settle(self) -> None:
        """Run until quiescent."""
        loop = self._live
        try:
            loop.settle()
        except Spinning as error:
            self._fault("spinning", str(error))
        for failure in loop.take_failures():
            self._fault("task failed", failure.describe())

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """Run the action between two ticks."""
        self._live.later(ticks, action)

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gates; a canceled run leaves none, so none is aborted."""
        return tuple((gate.label, False) for gate in self._gates)

    def lists(self) -> Lists:
        """What the queue of the newest run holds: when idle, asap."""
        return self._queued("when_idle"), self._queued("asap")

    def status(self) -> str:
        """Whether a run is under way."""
        return "running" if self._active else "idle"

    def folded(self) -> Lists | None:
        """There is no durable log."""
        return None

    def close(self) -> None:
        """End the session; whatever still runs is told to nobody."""
        loop, self._loop = self._loop, None
        self._observer = None
        if loop is not None:
            try:
                loop.close()
            except LostFailure:
                loop.take_failures()

    # --- Calls ----------------------------------------------------------------------------------

    def _made(self, call: Call) -> tuple[Value, str | None]:
        try:
            return self._do(call), None
        except UserError:
            return None, "run-ended"

    def _do(self, call: Call) -> Value:
        match call.name:
            case "followup" | "steer":
                message = call.args[0]
                assert isinstance(message, Message)
                return self._send(call.name, message)
            case "remove":
                return self._dropping(lambda: self._dequeue(str(call.args[0])))
            case "clear":
                return self._dropping(self._dequeue_all)
            case "cancel":
                if call.args[1] == "drop":
                    self._dropping(self._dequeue_all)
                if self._run is not None:
                    self._run.cancel()
                return None
            case "when-idle":
                self._when_idle()
                return None
        msg = f"expected a call that pydantic-ai has, got {call.name}"
        raise ControlError(msg)

    def _send(self, name: str, message: Message) -> Value:
        self._sent[message.id] = message
        if name == "followup" and not self._active:
            self._active = True
            self._task = self._live.create_task(self._go(message.id), name="run")
        elif self._run is None:
            msg = "there is no run yet"
            raise UserError(msg)
        else:
            self._keep(message, self._run.enqueue(message.id, priority=PRIORITIES[name]))
        return None

    def _keep(self, message: Message, enqueued: str | None) -> None:
        assert enqueued is not None
        self._sent[message.id] = message
        self._ids[enqueued] = message.id
        self._tell_twice("event", "agent/inbox/inserted", message)

    def _dequeue(self, message: str) -> bool:
        known = {mine: theirs for theirs, mine in self._ids.items()}
        return self._run is not None and bool(self._run.dequeue(known.get(message, message)))

    def _dequeue_all(self) -> None:
        for pending in tuple(self._run.pending_messages) if self._run is not None else ():
            self._run.dequeue(pending.enqueue_id)

    def _dropping(self, make: Callable[[], Value]) -> Value:
        """Make a call and tell what is gone from the queue behind it."""
        before = (*self._queued("asap"), *self._queued("when_idle"))
        value = make()
        left = (*self._queued("asap"), *self._queued("when_idle"))
        for message in before:
            if message not in left:
                self._tell_twice("event", "agent/inbox/discarded", message)
        return value

    def _queued(self, priority: str) -> tuple[Message, ...]:
        pending = () if self._run is None else tuple(self._run.pending_messages)
        mine = [self._ids[each.enqueue_id] for each in pending if each.priority == priority]
        return tuple(self._sent[each] for each in mine)

    def _when_idle(self) -> None:
        if self._task is None or self._task.done():
            self._live.later(1, lambda: self._tell(observation("settled", "when-idle", None)))
        else:
            self._waiting.append("when-idle")

    # --- The run ----------------------------------------------------------------------------------

    def _made_agent(self) -> Agent[None, str]:
        agent = Agent(
            FunctionModel(stream_function=self._requested),
            output_type=str,
            capabilities=[_Watching(self)],
        )
        agent.tool(self._executed, name="alone", sequential=True)
        agent.tool(self._executed, name="beside")
        return agent

    async def _go(self, prompt: str) -> None:
        reason, cause, error = "completed", None, None
        try:
            async with self._agent.iter(prompt, message_history=self._history) as run:
                self._run = run
                if self._plant is not None:
                    self._plant(run._graph_run.state.pending_messages)
                async for _ in run:
                    pass
            self._history = run.all_messages()
        except RunCancelled as canceled:
            reason, cause, self._history = "aborted", "user", canceled.all_messages()
        except ModelHTTPError:
            reason, error, self._history = "error", "provider failed", run.all_messages()
        except UserError as refused:
            reason, error = "error", refused.message
        self._active = False
        self._gates.clear()
        self._tell_twice("record", "turn/end", self._turn, reason, cause, error)
        if not self._active:
            self._tell_twice("event", "agent/status", "idle")
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self._tell(observation("settled", each, None))

    async def _held(self, kind: str, call: str = "") -> Answer:
        gate = _Gate(kind, call, asyncio.get_running_loop().create_future())
        self._gates.append(gate)
        named: tuple[Value, ...] = (call,) if call else ()
        self._tell(observation("gate", kind, self._turn, self._step, *named))
        try:
            return await gate.answer
        finally:
            if gate in self._gates:
                self._gates.remove(gate)

    async def _requested(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        del info
        shown = Counter(_prompts(messages))
        for each in shown - self._shown:
            if each in self._sent:
                self._tell_twice("record", "user/message", self._sent[each])
        self._shown = shown
        answer = await self._held("provider")
        if answer.choice == "error":
            raise ModelHTTPError(500, "held")
        if answer.choice not in ("done", "tools", "parallel"):
            msg = f"expected an answer that this provider has, got {answer.choice}"
            raise ControlError(msg)
        name = "alone" if answer.choice == "tools" else "beside"
        for number, call in enumerate(answer.names):
            yield {number: DeltaToolCall(name=name, json_args="{}", tool_call_id=call)}
        if not answer.names:
            yield "done"

    async def _executed(self, ctx: RunContext[None]) -> str:
        answer = await self._held("tool", str(ctx.tool_call_id))
        for message in answer.messages or ():
            self._keep(message, ctx.enqueue(message.id))
        if answer.choice == "raise":
            raise ToolFailed("tool raised")
        return "ok"

    # --- What it tells ----------------------------------------------------------------------------

    def began_run(self, ctx: RunContext[None]) -> None:
        """A run begins; until its own handle is there, its context takes the same calls."""
        self._run = ctx
        self._turn, self._step = self._turn + 1, 0
        self._tell_twice("record", "turn/start", self._turn)
        self._tell_twice("event", "agent/status", "running")

    def began_step(self, ctx: RunContext[None]) -> None:
        """A request is prepared."""
        self._step = ctx.run_step
        self.tell_step("step/start")

    def tell_step(self, name: str, *values: Value) -> None:
        """A record of the step that is under way."""
        self._tell_twice("record", name, self._turn, self._step, *values)

    def heard(self, event: object) -> None:
        """An event of the run's own stream."""
        if isinstance(event, EnqueuedMessagesEvent):
            mine = self._ids.get(event.enqueue_id)
            if mine is None or list(_prompts(event.messages)) != [mine]:
                self._fault("unreadable", f"an event of {event.enqueue_id} holds {event.messages}")
            else:
                self._tell_twice("event", "agent/inbox/claimed", self._sent[mine], self._turn)
        elif isinstance(event, FunctionToolCallEvent):
            self.tell_step("tool/call", event.part.tool_call_id)
        elif isinstance(event, FunctionToolResultEvent):
            failed = getattr(event.part, "outcome", "success") != "success"
            self.tell_step("tool/result", event.part.tool_call_id, "error" if failed else "ok")

    @property
    def _live(self) -> ControlledLoop:
        assert self._loop is not None
        return self._loop

    def _tell(self, seen: Observation) -> None:
        if self._observer is not None:
            self._observer(seen)

    def _tell_twice(self, kind: str, name: str, *values: Value) -> None:
        for listener in (FIRST, LAST):
            self._tell(observation(kind, name, *values, listener=listener))

    def _fault(self, name: str, error: str) -> None:
        self._tell(Observation("fault", name, (("error", error),)))


def _prompts(messages: Any) -> list[str]:  # noqa: ANN401 - a sequence of the library's messages
    """The texts of the user's prompts in messages, in order."""
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


def make() -> PydanticAISubject:
    """A fresh subject without a fault."""
    return PydanticAISubject()


def main() -> None:
    """Serve it as a port."""
    parser = argparse.ArgumentParser(prog="python -m loopspec.conformance.subjects.pydantic_ai")
    parser.add_argument("--fault", choices=tuple(FAULTS), help="plant this fault")
    fault = parser.parse_args().fault
    serve(lambda: PydanticAISubject(fault), PROFILE)


if __name__ == "__main__":
    main()
