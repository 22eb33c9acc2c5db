"""The agent: deliveries, cancel, and the driver that turns pending messages into turns.

One driver works at a time, from the wake that starts it until it goes idle. A turn always reads

    turn/start, claim, assemble, pre-step, [step/start, user/message…, provider,
    assistant/message, step/end, claim, assemble, pre-step]…, turn/end

and closes what it opened on every path. Everything from a waking call up to the first gate is
plain code in the caller's stack (LN-10). The driver awaits listeners and the provider, nothing
else; cancelling sets the turn's signal and is seen at the next look (CN-13).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final

from loopspec.impl.bus import Bus
from loopspec.impl.errors import AgentClosed, AppendRefused, BadArgument
from loopspec.impl.inbox import Inbox, Mark, Pending
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import Message
from loopspec.impl.payloads import Assemble, Enter, Failed, PreStep, PreStepDecision, Reject
from loopspec.impl.payloads import StatusChanged as Status
from loopspec.impl.policy import Policy
from loopspec.impl.provider import Provider, ProviderError, Reply, Request
from loopspec.impl.records import (
    CAUSES,
    NEXT_STEP,
    NEXT_TURN,
    AssistantMessage,
    Ending,
    Failure,
    Record,
    StepEnd,
    StepStart,
    TurnEnd,
    TurnStart,
)
from loopspec.impl.signal import Signal
from loopspec.impl.started import start

IDLE: Final = "idle"
RUNNING: Final = "running"


class Agent:
    """One session's loop: its log, its inbox, its provider and at most one open turn.

    Use it as `async with Agent(log, provider) as agent`; the block owns the driver's task and
    ends when the driver is idle. Messages can be delivered inside the block only.
    """

    def __init__(
        self,
        log: SessionLog,
        provider: Provider,
        *,
        bus: Bus | None = None,
        policy: Policy | None = None,
    ) -> None:
        """Restore the session from its log: turn numbers go on, pending messages stay, quiet."""
        self.bus = Bus() if bus is None else bus
        self.log = log
        self._provider = provider
        self._policy = Policy() if policy is None else policy
        records = log.read()
        self._pending = Pending(log, self.bus, records)
        self.inbox = Inbox(self._pending)
        self._history: list[Message] = []
        self._last_turn = 0
        for record in records:
            self._remember(record)
            if isinstance(record.payload, TurnStart):
                self._last_turn = record.payload.turn
        self._step = 0
        self._status = IDLE
        self._signal: Signal | None = None
        self._has_looked_last = False
        self._tasks: asyncio.TaskGroup | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._leave: list[Callable[[], object]] = []

    # -- what hosts and plug-ins call ---------------------------------------------------------

    @property
    def status(self) -> str:
        """`running` while a driver is at work, else `idle`."""
        return self._status

    def followup(self, message: Message) -> None:
        """Queue a message for a turn of its own, and wake (RT-01)."""
        self._deliver(NEXT_TURN, message, wakes=True)

    def steer(self, message: Message) -> None:
        """Queue a message for the next step, and wake (RT-01)."""
        self._deliver(NEXT_STEP, message, wakes=True)

    def inject(self, message: Message) -> None:
        """Queue a message for the next step, whenever somebody else brings it about (RT-01)."""
        self._deliver(NEXT_STEP, message, wakes=False)

    def cancel(self, cause: str, keep_inbox: bool = False) -> None:
        """Ask the open turn to end, and discard what is pending unless it is to be kept.

        Pending means pending when the call begins: what listeners deliver meanwhile stays, and
        wakes (A11). When discarding is refused the turn is cancelled all the same, the rest
        becomes quiet, and the refusal is raised (A8).
        """
        if cause not in CAUSES:
            msg = f"cause must be one of {', '.join(CAUSES)}, not {cause!r}."
            raise BadArgument(msg)
        # The signal of this moment: a turn that a listener starts during the clear is not meant.
        signal = self._signal
        refusal: AppendRefused | None = None
        if not keep_inbox:
            doomed = self._pending.items()
            try:
                self._pending.clear(doomed)
            except AppendRefused as error:
                self._pending.quieten(doomed)
                refusal = error
        if signal is not None:
            signal._abort(cause)
        if refusal is not None:
            raise refusal

    async def wait_idle(self) -> None:
        """Return when no driver is at work and none is owed; it follows replacements (A4)."""
        while self._status == RUNNING:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    async def __aenter__(self) -> Agent:
        """Open the agent: its driver's task will belong to this block."""
        if self._tasks is not None:
            msg = "the agent is open already."
            raise AgentClosed(msg)
        tasks = asyncio.TaskGroup()
        await tasks.__aenter__()
        self._tasks = tasks
        self._leave = [self.bus.own(tasks.create_task), self.log.subscribe(self._remember)]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the driver; when the block failed, its open turn is aborted as `disposed`."""
        assert self._tasks is not None, "the block was entered"
        try:
            await self._tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            # The block's own error alone needs no group around it: returning lets it pass.
            if group.exceptions != (error,):
                raise
        finally:
            self._tasks = None
            for leave in self._leave:
                leave()

    # -- deliveries ---------------------------------------------------------------------------

    def _deliver(self, target: str, message: Message, *, wakes: bool) -> None:
        if self._tasks is None:
            msg = f"message {getattr(message, 'id', message)!r} came to an agent that is not open."
            raise AgentClosed(msg, "deliver inside `async with agent`.")
        if not isinstance(message, Message):
            msg = f"a message must be a Message, not a {type(message).__name__}."
            raise BadArgument(msg)
        if not wakes:
            self._pending.add(target, message, Mark.QUIET)
            return
        # Judged before the insertion: a listener that cancels meanwhile changes nothing (RT-10).
        is_late = self._signal is not None and self._signal.aborted
        is_due = self._status == IDLE or is_late or self._has_looked_last
        place = NEXT_TURN if is_late else target
        self._pending.add(place, message, Mark.DUE if is_due else Mark.WAKING)
        if self._status == IDLE:
            start(self._tasks.create_task, self._drive())

    # -- the driver ---------------------------------------------------------------------------

    async def _drive(self) -> None:
        """Work until idle; go on at once while a wake is owed a driver."""
        try:
            while True:
                self._begin()
                try:
                    await self._take_turns()
                finally:
                    self._go_idle()
                if self._status == RUNNING or not self._pending.has_due:
                    return
        finally:
            if self._status == IDLE:
                self._release_waiters()

    def _begin(self) -> None:
        self._status = RUNNING
        self._signal = Signal()
        self._has_looked_last = False
        self._pending.pay()
        self.bus.emit("agent/status", Status(RUNNING))

    def _go_idle(self) -> None:
        self._status = IDLE
        self._signal = None
        self._has_looked_last = False
        self.bus.emit("agent/status", Status(IDLE))

    async def _take_turns(self) -> None:
        assert self._signal is not None, "a driver has a signal"
        while not self._signal.aborted:
            ending = await self._take_turn(self._signal)
            if ending is None:
                break
            if self._goes_on(ending) and self._pending.has_pending:
                self._signal = Signal()
                continue
            self._has_looked_last = True
            if ending.kind == "aborted" and self._policy.after_keep_cancel == "advance":
                self._pending.renew()
            # The exit gap: one tick in which a wake finds a driver that has looked for the last
            # time. It is due, and is driven after idle (LB-02).
            await asyncio.sleep(0)
            break
        await self._log_flushed()

    def _goes_on(self, ending: Ending) -> bool:
        """A turn without a step never goes on: an empty first entry parks the rest (TB-14)."""
        return ending.kind in self._policy.goes_on_after and self._step > 0

    async def _take_turn(self, signal: Signal) -> Ending | None:
        """Open a turn, run its steps, close it; None when the log refused a boundary."""
        turn = self._last_turn + 1
        try:
            self.log.append("turn/start", TurnStart(turn).to_json())
        except AppendRefused as error:
            self.bus.emit("agent/error", Failed(self._last_turn, 0, _describe(error)))
            return None
        self._last_turn, self._step = turn, 0
        try:
            ending = await self._run_steps(turn, signal)
        except asyncio.CancelledError:
            signal._abort("disposed")
            self._close_turn(turn, Ending("aborted", cause=signal.cause))
            raise
        except Exception as error:
            # Whatever surfaced, an aborted turn is aborted (TB-08, TB-13).
            if signal.aborted:
                ending = Ending("aborted", cause=signal.cause)
            else:
                ending = Ending("error", error=_failure(error))
        # The ending stands from here: a cancel in the listeners below comes too late (CN-14).
        if ending.error is not None:
            self.bus.emit("agent/error", Failed(turn, self._step, ending.error.message))
        return ending if self._close_turn(turn, ending) else None

    def _close_turn(self, turn: int, ending: Ending) -> bool:
        try:
            self.log.append("turn/end", TurnEnd(turn, ending).to_json())
        except AppendRefused as error:
            self.bus.emit("agent/error", Failed(turn, self._step, _describe(error)))
            return False
        return True

    async def _run_steps(self, turn: int, signal: Signal) -> Ending:
        """Claim, decide, step, and again, until the turn has its ending."""
        reason = ""
        owes = False
        while True:
            batch = self._pending.claim(turn, at_turn_boundary=self._step == 0)
            decision = await self._decide(turn, batch, signal)
            if isinstance(decision, Reject):
                return Ending("blocked")
            if not decision.messages and not owes:
                return Ending(reason or "completed")
            reply = await self._run_step(turn, decision.messages, signal)
            signal._raise_if_aborted()
            owes = reply.kind == "owes"
            if reason != "max-tokens":
                reason = "" if owes else reply.kind.replace("done", "completed")
            if not owes and not self._pending.messages(NEXT_STEP):
                return Ending(reason)

    async def _decide(
        self, turn: int, batch: tuple[Message, ...], signal: Signal
    ) -> PreStepDecision:
        """Assemble, then ask for the one decision; an abort wins over any answer (PS-15)."""
        step = self._step + 1
        await self.bus.serial("agent/assemble", Assemble(turn, step, batch, signal))
        signal._raise_if_aborted()
        proposed: PreStepDecision = Enter(batch)
        payload = PreStep(batch, turn, step, signal)
        decision = await self.bus.waterfall("agent/pre-step", payload, proposed)
        signal._raise_if_aborted()
        if not isinstance(decision, Enter | Reject):
            msg = f"agent/pre-step must answer Enter or Reject, not {decision!r}."
            raise BadArgument(msg)
        return decision

    async def _run_step(self, turn: int, messages: tuple[Message, ...], signal: Signal) -> Reply:
        """Open a step, enter the messages, ask the provider, close the step in any case."""
        step = self._step + 1
        self.log.append("step/start", StepStart(turn, step).to_json())
        self._step = step
        try:
            for message in messages:
                self.log.append("user/message", message.to_json())
            signal._raise_if_aborted()
            await self.log.flush()
            request = Request(turn, step, tuple(self._history), signal)
            reply = await self._provider.respond(request)
            signal._raise_if_aborted()
            if not isinstance(reply, Reply):
                msg = f"the provider must answer a Reply, not {reply!r}."
                raise BadArgument(msg)
            said = Message(f"assistant-{turn}-{step}", "assistant", "model", reply.content)
            self.log.append("assistant/message", AssistantMessage(turn, step, said).to_json())
            return reply
        finally:
            self.log.append("step/end", StepEnd(turn, step).to_json())

    async def _log_flushed(self) -> None:
        try:
            await self.log.flush()
        except Exception as error:
            self.bus.emit("agent/error", Failed(self._last_turn, self._step, _describe(error)))

    def _release_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _remember(self, record: Record) -> None:
        """Keep the conversation, whoever appended it: the next request is made of it (ST-06)."""
        payload = record.payload
        if isinstance(payload, Message):
            self._history.append(payload)
        elif isinstance(payload, AssistantMessage):
            self._history.append(payload.message)


def _failure(error: Exception) -> Failure:
    code = error.code if isinstance(error, ProviderError) else "UNKNOWN"
    return Failure(_describe(error), code)


def _describe(error: BaseException) -> str:
    """Return the messages of an error and of its causes, outermost first (TB-09)."""
    said: list[str] = []
    at: BaseException | None = error
    while at is not None and len(said) < 10:
        said.append(str(at) or type(at).__name__)
        at = at.__cause__
    return ": ".join(said)
