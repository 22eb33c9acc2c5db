"""A session for tests: gates that a test holds, and one list of everything that was told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from loopspec.impl import (
    Agent,
    Bus,
    Enter,
    Policy,
    Record,
    Reject,
    Reply,
    Request,
    SessionLog,
    Signal,
    ToolResult,
    ToolUse,
    TurnStopping,
    fixed_clock,
)

EVENTS = (
    "agent/inbox/inserted",
    "agent/inbox/claimed",
    "agent/inbox/discarded",
    "agent/status",
    "agent/error",
)


class Session:
    """An agent whose gates wait for `answer`; `told` is the trace, as short words.

    Assembly, pre-step, provider, tools and maintenance are always held; of `agent/request`,
    `agent/request-error` and `agent/turn-stopping` those that `hold` names.
    """

    def __init__(
        self,
        log: SessionLog | None = None,
        policy: Policy | None = None,
        hold: tuple[str, ...] = (),
    ) -> None:
        """Listen to everything, on a fresh log unless one is given."""
        self.told: list[str] = []
        self.failures: list[tuple[str, Exception]] = []
        self.gates: list[tuple[str, bool, asyncio.Future[Any]]] = []
        self.requests: list[Request] = []
        self.log = SessionLog.in_memory(clock=fixed_clock()) if log is None else log
        self.bus = Bus(lambda name, error: self.failures.append((name, error)))
        self.log.subscribe(lambda record: self.told.append(describe(record)))
        for name in EVENTS:
            self.bus.on(name, self._listener(name))
        self.bus.on("agent/assemble", self._assemble)
        self.bus.on("agent/pre-step", self._pre_step)
        for name in hold:
            is_serial = name == "agent/turn-stopping"
            self.bus.on(name, self._stopping if is_serial else self._asked(name))
        self.agent = Agent(self.log, self, tools=self, bus=self.bus, policy=policy)

    async def answer(self, gate: str, value: Any = None) -> None:  # noqa: ANN401
        """Answer an open gate, an exception by raising it, and let everything run.

        The oldest one is meant; a tool's gate is named by its call.
        """
        names = [kind for kind, _, _ in self.gates]
        index = names.index(gate) if gate.startswith("tool ") else 0
        kind, _, future = self.gates.pop(index)
        assert gate == kind
        if isinstance(value, Exception):
            future.set_exception(value)
        else:
            future.set_result(value)
        await settle()

    async def step(self, reply: Any = None) -> None:  # noqa: ANN401
        """Answer all three gates of one step, the last one with a reply."""
        await self.answer("assemble")
        await self.answer("pre-step")
        await self.answer("provider", Reply() if reply is None else reply)

    def open_gate(self) -> str:
        """Return the kind of the open gate, or nothing."""
        return self.gates[0][0] if self.gates else ""

    def pending(self) -> tuple[str, str]:
        """Return the ids in next-turn and next-step."""
        inbox = self.agent.inbox
        return (
            " ".join(message.id for message in inbox.next_turn),
            " ".join(message.id for message in inbox.next_step),
        )

    def at(self, told: str, action: Callable[[], object]) -> None:
        """Run the action inside the first delivery of what `told` describes."""
        name, _, words = told.partition(" ")
        done = False

        def act(payload: Any) -> None:  # noqa: ANN401
            nonlocal done
            seen = describe(payload) if isinstance(payload, Record) else shorten(name, payload)
            if not done and seen.removeprefix(name).strip() == words and seen.startswith(name):
                done = True
                action()

        if name in EVENTS:
            self.bus.on(name, act)
        else:
            self.log.subscribe(act)

    async def respond(self, request: Request) -> Reply:
        """Be the provider: wait for the test's answer."""
        self.requests.append(request)
        reply: Reply = await self._held("provider", request.signal.aborted)
        return reply

    async def run(self, use: ToolUse) -> ToolResult:
        """Be the tools: wait for the test's answer, which may be messages to hand over first."""
        answer = await self._held(f"tool {use.call.id}", use.signal.aborted)
        if isinstance(answer, tuple):
            *contexts, answer = answer
            use.hand_over(*contexts)
        if isinstance(answer, Exception):
            raise answer
        return ToolResult() if answer is None else answer

    async def maintain(self, signal: Signal) -> object:
        """Be a maintenance task."""
        return await self._held("maintenance", signal.aborted)

    async def _stopping(self, payload: TurnStopping) -> None:
        await self._held("agent/turn-stopping", payload.signal.aborted)

    def _asked(self, name: str) -> Callable[..., Awaitable[object]]:
        async def ask(payload: Any, proceed: Callable[[], Awaitable[object]]) -> object:  # noqa: ANN401
            decision = await self._held(name, payload.signal.aborted)
            return await proceed() if decision is None else decision

        return ask

    async def _assemble(self, payload: Any) -> None:  # noqa: ANN401
        await self._held("assemble", payload.signal.aborted)

    async def _pre_step(
        self,
        payload: Any,  # noqa: ANN401
        proceed: Callable[[], Awaitable[Enter | Reject]],
    ) -> Any:  # noqa: ANN401
        decision = await self._held("pre-step", payload.signal.aborted)
        return await proceed() if decision is None else decision

    async def _held(self, kind: str, aborted: bool) -> Any:  # noqa: ANN401
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.gates.append((kind, aborted, future))
        return await future

    def _listener(self, name: str) -> Callable[[Any], None]:
        return lambda payload: self.told.append(shorten(name, payload))


async def settle() -> None:
    """Let everything that is ready run; nothing here waits for time."""
    for _ in range(10):
        await asyncio.sleep(0)


def run(test: Callable[[Session], Awaitable[None]], session: Session | None = None) -> Session:
    """Run a test inside an open agent; what is left at a gate is aborted afterwards."""

    async def main() -> Session:
        held = Session() if session is None else session
        host = asyncio.ensure_future(inside(held))
        await host
        held.log.close()
        return held

    async def inside(held: Session) -> None:
        class Over(Exception):
            pass

        try:
            async with held.agent:
                await test(held)
                raise Over
        except* Over:
            pass

    return asyncio.run(main())


def describe(record: Record) -> str:
    """Return a record as short words: type, then what a test looks at."""
    data: Any = record.data
    match record.type:
        case "turn/end":
            reason = data["reason"]
            extra = reason.get("reason", {}).get("kind") or reason.get("error", {}).get("message")
            return " ".join(str(w) for w in ("turn/end", data["turn"], reason["kind"], extra) if w)
        case "agent/inbox/spliced":
            inserted = ",".join(message["id"] for message in data["inserted"])
            sign = f"{data['target']}@{data['start']}-{data.get('removedCount', 0)}+{inserted}"
            return f"spliced {sign} {data.get('outcome', '')}".strip()
        case "user/message":
            return f"user/message {data['id']}"
        case "assistant/message":
            words = [record.type, str(data["turn"]), str(data["step"]), *data.get("calls", ())]
            return " ".join([*words, *(["interrupted"] if "interrupted" in data else [])])
        case _:
            keys = ("turn", "step", "call", "outcome")
            return " ".join([record.type, *(str(data[k]) for k in keys if k in data)])


def shorten(name: str, payload: Any) -> str:  # noqa: ANN401
    """Return an event as short words."""
    words = [name]
    for key in ("message", "status", "turn", "step", "error"):
        value = getattr(payload, key, None)
        if value is not None:
            words.append(str(getattr(value, "id", value)))
    return " ".join(words)
