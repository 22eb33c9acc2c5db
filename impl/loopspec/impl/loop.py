"""The agent: what hosts and plug-ins call. Deliveries, cancel, maintenance, waiting, disposal.

A waking delivery to an idle agent starts the driver, whose first part runs in the caller's stack
(LN-10); every other call returns at once as well. What the driver does is in `driver`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from loopspec.impl.activity import IDLE, MAINTENANCE, RUNNING, Activity
from loopspec.impl.batch import Batch
from loopspec.impl.bus import Bus
from loopspec.impl.driver import Driver
from loopspec.impl.endings import CAUSES
from loopspec.impl.errors import (
    AgentBusy,
    AgentClosed,
    AgentDisposed,
    AppendRefused,
    BadArgument,
    DispatchFailed,
)
from loopspec.impl.exchange import Exchange
from loopspec.impl.inbox import Inbox, Item, Mark, Pending
from loopspec.impl.log import SessionLog
from loopspec.impl.maintenance import maintain
from loopspec.impl.messages import Message
from loopspec.impl.policy import Policy
from loopspec.impl.provider import Provider
from loopspec.impl.records import NEXT_STEP, NEXT_TURN
from loopspec.impl.resume import go_on
from loopspec.impl.signal import Signal
from loopspec.impl.started import start
from loopspec.impl.tools import NoTools, Tools

T = TypeVar("T")


class Agent:
    """One session's loop: its log, its inbox, its provider, its tools, at most one open turn.

    Use it as `async with Agent(log, provider) as agent`; the block owns every task of the agent
    and ends when nothing runs. Messages can be delivered inside the block only.
    """

    def __init__(
        self,
        log: SessionLog,
        provider: Provider,
        *,
        tools: Tools | None = None,
        bus: Bus | None = None,
        policy: Policy | None = None,
    ) -> None:
        """Restore the session from its log: turn numbers go on, pending messages stay, quiet.

        What a crash left open is closed first, and the end of the seed is marked
        (`resume.go_on`). Raises `LogUnreadable` and adds
        nothing when a splice of the log does not fit, `LogBusy` while another agent runs on it.
        """
        self.bus = Bus() if bus is None else bus
        self.log = log
        self._policy = Policy() if policy is None else policy
        self.bus.throws = self._policy.interceptor == "throws"
        records = go_on(log)
        self._pending = Pending(log, self.bus, records, self._policy.no_op)
        self.inbox = Inbox(self._pending, self._policy.clear)
        self._now = Activity(self._pending, self.bus, self._policy)
        batch = Batch(log, self._pending, NoTools() if tools is None else tools, self._spawn)
        self._exchange = Exchange(log, self.bus, provider, batch, records)
        self._driver = Driver(
            log, self.bus, self._pending, self._exchange, self._now, self._policy, records
        )
        self._tasks: asyncio.TaskGroup | None = None
        self._leave: list[Callable[[], object]] = []

    @property
    def status(self) -> str:
        """`running` while a driver is at work, else `idle`: maintenance too (DR-01)."""
        return self._now.status

    # -- deliveries ---------------------------------------------------------------------------

    def followup(self, message: Message) -> None:
        """Queue a message for a turn of its own, and wake (RT-01)."""
        self._deliver(NEXT_TURN, message, wakes=True)

    def steer(self, message: Message) -> None:
        """Queue a message for the next step, and wake (RT-01)."""
        self._deliver(NEXT_STEP, message, wakes=True)

    def inject(self, message: Message) -> None:
        """Queue a message for the next step, whenever somebody else brings it about (RT-01)."""
        self._deliver(NEXT_STEP, message, wakes=False)

    def _deliver(self, target: str, message: Message, *, wakes: bool) -> None:
        self._need_open(f"message {getattr(message, 'id', message)!r} came to")
        if not isinstance(message, Message):
            msg = f"a message must be a Message, not a {type(message).__name__}."
            raise BadArgument(msg)
        if not wakes:
            self._pending.add(target, message, Mark.QUIET)
            return
        # Judged before the insertion: a listener that cancels meanwhile changes nothing (RT-10).
        now = self._now
        is_late = now.aborted
        is_due = now.phase != RUNNING or is_late or now.has_looked_last
        mark = Mark.DUE if is_due and now.may_start else Mark.WAKING
        place = NEXT_TURN if is_late else target
        self._pending.add(place, message, mark)
        if (is_late or now.phase == MAINTENANCE) and now.latches:
            now.latch()
        if now.phase == IDLE and now.may_start:
            self._start_driver()

    def _start_driver(self) -> None:
        start(self._spawn, self._driver.drive(self._driver.begin()))

    def _start_driver_for_nobody(self) -> None:
        """Start a driver that no call waits for: a failed dispatch reaches nobody (ER-10)."""
        try:
            self._start_driver()
        except DispatchFailed as error:
            self.bus.contain("agent/status", error)

    # -- cancel and disposal ------------------------------------------------------------------

    def cancel(self, cause: str, keep_inbox: bool = False) -> None:
        """Ask what runs to end, and discard what is pending unless it is to be kept.

        Pending means pending when the call begins: what listeners deliver meanwhile stays, and
        wakes (A11). When discarding is refused the activity is cancelled all the same, the rest
        becomes quiet, and the refusal is raised (A8). Maintenance is cancelled likewise (CN-08).
        """
        if cause not in CAUSES:
            msg = f"cause must be one of {', '.join(CAUSES)}, not {cause!r}."
            raise BadArgument(msg)
        # The signal of this moment: a turn that a listener starts during the clear is not meant.
        signal = self._now.signal
        refusal: AppendRefused | None = None
        if not keep_inbox:
            doomed = self._pending.items()
            try:
                self._clear(doomed)
            except AppendRefused as error:
                if self._policy.refused_clear == "throw":
                    raise
                self._pending.quieten(doomed)
                refusal = error
            self._now.forget_wakes()
        if self._policy.cancel_hits == "clear":
            signal = self._now.signal
        if signal is not None:
            signal._abort(cause)
        if refusal is not None:
            raise refusal

    def _clear(self, doomed: tuple[Item, ...]) -> None:
        if self._policy.clear == "live":
            self._pending.clear_live()
        else:
            self._pending.clear(doomed)

    def dispose(self) -> asyncio.Future[None]:
        """End the agent: cancel everything as `disposed`, let what runs end, start nothing more.

        The result is settled when nothing runs; a second call shares it (DI-04). Until then
        deliveries are recorded and wake nobody (RT-14); afterwards they raise `AgentDisposed`
        (A7). Whoever works for the open turn must not wait for it: that turn ends first.
        """
        if self._now.disposal is None:
            # The fact comes first: what listeners deliver during the clear starts nothing (A2).
            self._now.disposal = asyncio.get_running_loop().create_future()
            try:
                self.cancel("disposed")
            except AppendRefused:
                if self._policy.refused_clear == "throw":
                    self._now.disposal = None
                raise
            finally:
                self._now.finish_disposal()
        return self._now.disposal

    @property
    def disposal(self) -> asyncio.Future[None] | None:
        """What `dispose` returned, or would have if its clear had not been refused; else None."""
        return self._now.disposal

    # -- maintenance and waiting --------------------------------------------------------------

    def run_maintenance(self, task: Callable[[Signal], Awaitable[T]]) -> asyncio.Future[T]:
        """Run a task while no driver does; it begins inside this call (MN-02).

        The result has what the task returned or raised; it is settled once a driver that became
        due meanwhile has started (MN-09). Raises `AgentBusy`, and changes nothing, while anything
        runs (MN-01); `AgentDisposed` once disposal began. Pending messages are no hindrance
        (MN-08).
        """
        self._need_tasks("maintenance was asked of")
        if not self._now.may_start:
            msg = "maintenance was asked of an agent whose disposal began."
            raise AgentDisposed(msg)
        if self._now.phase != IDLE:
            msg = f"maintenance was asked of an agent that is in phase {self._now.phase}."
            raise AgentBusy(msg, "wait until it is idle: `await agent.wait_idle()`.")
        settled: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        signal = self._now.begin(MAINTENANCE)
        start(
            self._spawn, maintain(self._now, task, signal, settled, self._start_driver_for_nobody)
        )
        return settled

    def when_idle(self) -> asyncio.Future[None]:
        """Return a future that is settled when nothing runs and no driver is owed.

        At once on an idle agent (WI-01); it follows what replaces the present activity (WI-02)
        and never fails (WI-03). It says nothing of any message (WI-04).
        """
        self._need_tasks("somebody waited for")
        return self._now.wait()

    async def wait_idle(self) -> None:
        """Return when nothing runs: as `when_idle`, and still true when the caller goes on."""
        while self._now.phase != IDLE:
            await self._now.wait()

    # -- the block that owns the tasks ----------------------------------------------------------

    async def __aenter__(self) -> Agent:
        """Open the agent: its tasks will belong to this block.

        What a crash had left open is closed durably by then, so that it is closed once.
        """
        if self._tasks is not None:
            msg = "the agent is open already."
            raise AgentClosed(msg)
        await self.log.flush()
        end = self.log.drive(lambda: not self._now.disposed)
        tasks = asyncio.TaskGroup()
        await tasks.__aenter__()
        self._tasks = tasks
        remember = self.log.subscribe(self._exchange.remember)
        self._leave = [self.bus.own(tasks.create_task), remember, end]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what runs; when the block failed, its open turn is aborted as `disposed`."""
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

    def _spawn(self, coroutine: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:  # noqa: ANN401
        assert self._tasks is not None, "nothing starts outside the block"
        return self._tasks.create_task(coroutine, **options)

    def _need_open(self, what: str) -> None:
        self._need_tasks(what)
        if self._now.refuses:
            msg = f"{what} an agent that was disposed."
            raise AgentDisposed(msg)

    def _need_tasks(self, what: str) -> None:
        if self._tasks is None:
            msg = f"{what} an agent that is not open."
            raise AgentClosed(msg, "do it inside `async with agent`.")
