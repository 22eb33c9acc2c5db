"""The driver: turns pending messages into turns, from the wake that starts it until it goes idle.

A turn always reads

    turn/start, claim, assemble, pre-step, [step/start, user/message…, the exchange, step/end,
    claim, assemble, pre-step]…, [turn-stopping]…, turn/end

and closes what it opened on every path. Everything up to the first listener or provider that
really waits is plain code in the caller's stack (LN-10). The driver awaits listeners, the
provider and tools, nothing else; cancelling sets the turn's signal and is seen at the next look
(CN-13).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from loopspec.impl.activity import IDLE, RUNNING, Activity
from loopspec.impl.bus import Bus
from loopspec.impl.endings import Ending
from loopspec.impl.errors import (
    AgentDisposed,
    AppendRefused,
    BadArgument,
    DispatchFailed,
    TurnLeftOpen,
    describe,
)
from loopspec.impl.exchange import Exchange, Outcome, failure_of
from loopspec.impl.inbox import Pending
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import Message
from loopspec.impl.payloads import (
    Assemble,
    Enter,
    Failed,
    PreStep,
    PreStepDecision,
    Reject,
    TurnStopping,
)
from loopspec.impl.payloads import StatusChanged as Status
from loopspec.impl.policy import Policy
from loopspec.impl.records import NEXT_STEP, Record, StepEnd, StepStart, TurnEnd, TurnStart
from loopspec.impl.signal import Signal


class Driver:
    """Runs turns for one agent; `drive` is one running interval, or several in a row."""

    def __init__(
        self,
        log: SessionLog,
        bus: Bus,
        pending: Pending,
        exchange: Exchange,
        now: Activity,
        policy: Policy,
        records: Iterable[Record],
    ) -> None:
        """Turn numbers go on from the highest one of the records (DR-04, RS-08)."""
        self.log = log
        self.bus = bus
        self._pending = pending
        self._exchange = exchange
        self._now = now
        self._policy = policy
        self._step = 0
        self._last_turn = 0
        self._left_open = False
        for record in records:
            if isinstance(record.payload, TurnStart):
                self._last_turn = max(self._last_turn, record.payload.turn)

    async def drive(self, signal: Signal) -> None:
        """Work until idle; go on at once while a wake is owed a driver."""
        try:
            while True:
                try:
                    await self._take_turns(signal)
                finally:
                    self._go_idle()
                if not self._now.owes_a_driver:
                    return
                try:
                    signal = self.begin()
                except DispatchFailed as error:
                    # Nobody called: the failure reaches no one, and no driver runs (ER-10).
                    self.bus.contain("agent/status", error)
                    return
        finally:
            self._now.converge()

    def begin(self) -> Signal:
        """Be running from now on; raises `DispatchFailed` where that could not be told."""
        signal = self._now.begin(RUNNING)
        self.bus.emit("agent/status", Status(RUNNING))
        return signal

    def _go_idle(self) -> None:
        self._now.end()
        self.bus.emit("agent/status", Status(IDLE))

    async def _take_turns(self, signal: Signal) -> None:
        while not signal.aborted:
            ending = await self._take_turn(signal)
            if ending is None:
                self._now.has_looked_last = True
                break
            if self._goes_on(ending) and self._pending.has_pending:
                signal = self._now.renew_signal()
                continue
            self._now.has_looked_last = True
            if ending.kind == "aborted" and self._advances:
                self._pending.renew()
            # The exit gap: one tick in which a wake finds a driver that has looked for the last
            # time. It is due, and is driven after idle (LB-02).
            await asyncio.sleep(0)
            break
        await self._log_flushed()

    @property
    def _advances(self) -> bool:
        """Whether an aborted turn renews the wakes of a queue that was kept (Δ2)."""
        return self._policy.after_keep_cancel == "advance" and self._now.may_start

    def _goes_on(self, ending: Ending) -> bool:
        """An empty first entry parks the rest (TB-14); nothing opens once disposal began (A1)."""
        is_empty = ending.kind == "completed" and self._step == 0
        return ending.kind in self._policy.goes_on_after and not is_empty and self._now.may_start

    async def _take_turn(self, signal: Signal) -> Ending | None:
        """Open a turn, run its steps, close it; None when the log refused a boundary."""
        if self._left_open and self._policy.refused_end == "hold":
            msg = f"no turn opens while turn {self._last_turn} has no end on record."
            error = TurnLeftOpen(msg, "make a new agent of this log: that repairs it.")
            self.bus.emit("agent/error", Failed(self._last_turn, 0, describe(error)))
            return None
        turn = self._last_turn + 1
        try:
            self.log.append("turn/start", TurnStart(turn).to_json())
        except AppendRefused as refusal:
            self.bus.emit("agent/error", Failed(self._last_turn, 0, describe(refusal)))
            return None
        self._last_turn, self._step, self._left_open = turn, 0, False
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
                ending = Ending("error", error=failure_of(error))
        # The ending stands from here: a cancel in the listeners below comes too late (CN-14).
        if ending.error is not None:
            self.bus.emit("agent/error", Failed(turn, self._step, ending.error.message))
        return ending if self._close_turn(turn, ending) else None

    def _close_turn(self, turn: int, ending: Ending) -> bool:
        try:
            self.log.append("turn/end", TurnEnd(turn, ending).to_json())
        except AppendRefused as error:
            self._left_open = True
            self.bus.emit("agent/error", Failed(turn, self._step, describe(error)))
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
            outcome = await self._run_step(turn, decision.messages, signal)
            signal._raise_if_aborted()
            owes = outcome.owes
            if reason != "max-tokens":
                reason = outcome.reason
            elif self._policy.truncation == "outcome":
                owes = False
            if owes or self._has_next_step:
                continue
            # Whoever objects to the end of the turn delivers something for its next step (TS-03).
            await self.bus.serial("agent/turn-stopping", TurnStopping(turn, signal))
            signal._raise_if_aborted()
            if not self._has_next_step:
                return Ending(reason)

    @property
    def _has_next_step(self) -> bool:
        """Prompts do not extend the turn, only what is meant for its next step does (RT-06)."""
        return bool(self._pending.messages(NEXT_STEP))

    async def _decide(
        self, turn: int, batch: tuple[Message, ...], signal: Signal
    ) -> PreStepDecision:
        """Assemble, then ask for the one decision; an abort wins over any answer (PS-15)."""
        step = self._step + 1
        if self._now.fails_turns and not signal.aborted:
            msg = "the session is disposed"
            raise AgentDisposed(msg)
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

    async def _run_step(self, turn: int, messages: tuple[Message, ...], signal: Signal) -> Outcome:
        """Open a step, enter the messages, let it be answered, close the step in any case."""
        step = self._step + 1
        self.log.append("step/start", StepStart(turn, step).to_json())
        self._step = step
        try:
            if self._policy.entry == "prepared":
                return await self._exchange.run(turn, step, signal, messages)
            for message in messages:
                self.log.append("user/message", message.to_json())
            return await self._exchange.run(turn, step, signal)
        finally:
            self.log.append("step/end", StepEnd(turn, step).to_json())

    async def _log_flushed(self) -> None:
        try:
            await self.log.flush()
        except Exception as error:
            self.bus.emit("agent/error", Failed(self._last_turn, self._step, describe(error)))
