"""What an agent does right now: nothing, maintenance, or driving; and who waits for the end of it.

At most one activity runs at a time. Each has a signal of its own, which dies with it, so that a
cancel never reaches the next one (CN-06). Whether a driver is owed to somebody when an activity
ends is decided here and nowhere else (WL-01, LB-02).
"""

from __future__ import annotations

import asyncio
from typing import Final

from loopspec.impl.bus import Bus
from loopspec.impl.inbox import Pending
from loopspec.impl.policy import Policy
from loopspec.impl.signal import Signal

IDLE: Final = "idle"
MAINTENANCE: Final = "maintenance"
RUNNING: Final = "running"


class Activity:
    """The phase of one agent, the signal of what runs, and how far its disposal is."""

    def __init__(self, pending: Pending, bus: Bus, policy: Policy) -> None:
        """Start idle, with nobody waiting."""
        self._pending = pending
        self._bus = bus
        self._policy = policy
        self._waiters: list[asyncio.Future[None]] = []
        self._latched = False
        self._replays = False
        self._is_open = False
        self.phase = IDLE
        self.signal: Signal | None = None
        self.has_looked_last = False
        self.disposal: asyncio.Future[None] | None = None
        self.disposed = False

    @property
    def status(self) -> str:
        """The public status: maintenance reads `idle` (DR-01, MN-03)."""
        return RUNNING if self.phase == RUNNING else IDLE

    @property
    def aborted(self) -> bool:
        """True while the activity that runs was asked to end."""
        return self.signal is not None and self.signal.aborted

    @property
    def may_start(self) -> bool:
        """False once disposal began, where its fact decides (A1, A2)."""
        return self.disposal is None or self._policy.disposal == "cause"

    @property
    def fails_turns(self) -> bool:
        """True once disposal began, where a turn that opens later is to fail (A7)."""
        return self.disposal is not None and self._policy.disposed_turn == "fails"

    @property
    def refuses(self) -> bool:
        """True once disposal is done, where its fact decides (A7)."""
        return self.disposed and self._policy.disposal == "fact"

    @property
    def owes_a_driver(self) -> bool:
        """True when nothing runs and some wake was accepted for which no driver started."""
        if self.phase != IDLE or not self.may_start:
            return False
        if self._policy.wakes == "latch":
            return self._replays and self._pending.has_pending
        return self._pending.has_due

    def begin(self, phase: str) -> Signal:
        """Start an activity with a fresh signal."""
        self.phase = phase
        self._is_open = True
        self.has_looked_last = False
        if phase == RUNNING:
            self._replays = False
            self._pending.pay()
        return self.renew_signal()

    def renew_signal(self) -> Signal:
        """Give the activity a fresh signal: a driver does so for each turn (DR-06, WL-08)."""
        self._latched = False
        self.signal = Signal(self._bus.contain)
        return self.signal

    def end(self) -> None:
        """Retire the signal; the phase is idle."""
        forgets = self.phase == MAINTENANCE and self._policy.disposed_latch == "forgotten"
        is_forgotten = forgets and self.disposal is not None
        self._replays = self._replays or (self._latched and not is_forgotten)
        self._latched = False
        self.phase = IDLE
        self.signal = None
        self.has_looked_last = False

    @property
    def latches(self) -> bool:
        """Whether a wake of this moment is latched: nobody who runs will look at it (WL-01).

        An activity that ends as `disposed` latches nothing (RT-14, WL-07).
        """
        is_disposed = self.signal is not None and self.signal.cause == "disposed"
        return (self.aborted or self.phase == MAINTENANCE) and not is_disposed

    def latch(self) -> None:
        """Remember one wake for the end of this activity; only the policy `latch` looks at it."""
        self._latched = True

    def forget_wakes(self) -> None:
        """A broad cancel forgets a latched wake (CN-02)."""
        self._latched = False

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is settled at the next `converge`, at once when nothing runs."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.phase == IDLE:
            waiter.set_result(None)
        else:
            self._waiters.append(waiter)
        return waiter

    def converge(self) -> None:
        """Tell whoever waits, if nothing runs; disposal that began is done then (DI-04)."""
        if self.phase != IDLE:
            return
        self._replays = False
        self._is_open = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            _settle(waiter)
        self.finish_disposal()

    def finish_disposal(self) -> None:
        """Disposal that began is done if nothing runs: nothing ever will again (DI-04)."""
        if not self._is_open and self.disposal is not None and not self.disposed:
            self.disposed = True
            _settle(self.disposal)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
