"""An event loop under control: one ready callback is one tick, time is virtual, nothing waits.

Rules of this file:

1. Nothing runs unless the suite says so. :meth:`ControlledLoop.settle` runs ready callbacks, one
   at a time, until none is left and no timer is due. That state is called quiescent.
2. Time moves only in :meth:`ControlledLoop.advance`. A timer that is still pending when the loop
   is quiescent is a wait for the wall clock, and reported.
3. There is no selector, no executor and no thread. Whoever asks for one leaves the loop's control:
   that is an error of the adapter (`Uncontrolled`), never a breach of the subject. The error is
   raised where it happens and once more by `settle`, because a subject may swallow the first.
4. A failure in a callback or in a task is never lost. It is collected, handed out by
   :meth:`ControlledLoop.take_failures`, and `close` refuses to forget one.
5. A subject that never becomes quiescent is stopped after a number of ticks (`Spinning`).

The order of ready callbacks is that of asyncio: first in, first out. Calls that the suite makes
between two ticks (`later`, `within`) are no callbacks of the loop, so they shift nobody's place.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple, cast

import attrs

__all__ = [
    "ControlError",
    "ControlledLoop",
    "Failure",
    "LostFailure",
    "Spinning",
    "Uncontrolled",
    "controlled_loop",
]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TICKS_MAX: Final = 10_000
"""Ticks of one `settle`; the longest turn of the corpus takes fewer than a hundred."""


class ControlError(Exception):
    """Base of what goes wrong between the suite and a subject on the controlled loop."""


class Uncontrolled(ControlError):
    """The subject waits for something that the loop does not control.

    An executor, a thread, a selector, a subprocess or a real timer: what happens next would depend
    on the machine, so nothing that follows can be judged. Common causes: a database call sent to a
    thread (give the subject a setting that does it in place), `asyncio.sleep` with a delay, or a
    provider that really opens a connection. It proves nothing against the subject.
    """


class Spinning(ControlError):
    """The subject still had ready callbacks after the last tick it was allowed.

    Usually a driver that starts itself again without a wake (QUIET), or a task that polls.
    """


class LostFailure(ControlError):
    """The loop was closed although failures of callbacks or tasks had not been taken."""


@attrs.frozen
class Failure:
    """An exception that nobody in the subject received: where it was noticed, and what it was."""

    where: str
    error: BaseException | None

    def describe(self) -> str:
        """One line: the place, the type and the text."""
        if self.error is None:
            return self.where
        return f"{self.where}: {type(self.error).__name__}: {self.error}"


class ControlledLoop(asyncio.AbstractEventLoop):
    """The loop. Make one with :func:`controlled_loop`; it lives on the thread that enters it."""

    def __init__(
        self, *, ticks_max: int = TICKS_MAX, timers: bool = False, debug: bool = False
    ) -> None:
        """`timers=True` allows a timer to be pending at quiescence: the caller will `advance`."""
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self.between_ticks: Callable[[], object] | None = None
        self._tasks: list[asyncio.Task[Any]] = []
        self._failures: list[Failure] = []
        self._trespasses: list[str] = []
        self._numbers = itertools.count()
        self._now = 0.0
        self._tick = 0
        self._ticks_max = ticks_max
        self._timers_allowed = timers
        self._debug = debug
        self._closed = False
        self._settling = False
        self._spun = False
        self._abandoned = False
        self._thread = threading.get_ident()

    # --- What the suite does ------------------------------------------------

    @property
    def tick(self) -> int:
        """How many ticks have passed since the loop was made."""
        return self._tick

    def settle(self) -> int:
        """Run until quiescent and return the number of ticks that it took.

        Raises `Spinning` when it does not end, `Uncontrolled` when the subject waits for something
        outside, and `ControlError` when called from inside a tick. An exception of a `later` action
        is the suite's own and passes through.
        """
        if self._settling:
            msg = "settle() was called from inside a tick; return first, then settle."
            raise ControlError(msg)
        before = self._tick
        self._settling = True
        try:
            with self._entered():
                while self._run_one():
                    if self._tick - before >= self._ticks_max:
                        msg = (
                            f"Still busy after {self._ticks_max} ticks. Next would be "
                            f"{self._ready[0] if self._ready else 'an action of the suite'}."
                        )
                        self._spun = True
                        raise Spinning(msg)
        finally:
            self._settling = False
            self._sweep_tasks()
        self._report_trespass()
        return self._tick - before

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """Run `action` between two ticks: 1 is before the next callback, 2 after that one.

        So an action one tick after an observation comes before anything that was scheduled by the
        tick which made it. When nothing is ready the ticks pass all the same, empty.
        """
        heapq.heappush(self._later, (self._tick + ticks - 1, next(self._numbers), action))

    def within(self, action: Callable[[], T]) -> T:
        """Make a call now, in the caller's stack, with this loop as the running one.

        From inside a tick this is an ordinary call; at rest it belongs to no task.
        """
        with self._entered():
            return action()

    def advance(self, seconds: float) -> None:
        """Let virtual time pass, settling at each timer on the way."""
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            self._now = max(self._now, self._timers[0][0])
            self.settle()
        self._now = end
        self.settle()

    def take_failures(self) -> tuple[Failure, ...]:
        """Hand out, once, what failed with nobody there to receive it."""
        self._sweep_tasks()
        taken = tuple(self._failures)
        self._failures.clear()
        return taken

    def run_until_complete(self, future: Awaitable[T] | Generator[Any, None, T]) -> T:
        """Settle and return the result; raise `Uncontrolled` when it is not there by then."""
        task = self.within(lambda: asyncio.ensure_future(cast("Awaitable[T]", future), loop=self))
        # Its outcome goes to the caller of this method, so it is no lost failure.
        self._tasks = [other for other in self._tasks if other is not task]
        self.settle()
        if not task.done():
            msg = f"The loop is quiescent, and {task!r} is not done: nothing will ever finish it."
            raise Uncontrolled(msg)
        return task.result()

    def abandon(self) -> list[tuple[int, Callable[[], None]]]:
        """Run nothing more, as if the process had died; gives back what `later` still holds."""
        self._abandoned = True
        left = sorted(self._later, key=lambda each: each[:2])
        self._later.clear()
        return [(due - self._tick + 1, action) for due, _, action in left]

    def close(self) -> None:
        """Cancel what is still suspended, run it out, and refuse to forget a failure."""
        if self._closed:
            return
        reported = self._spun
        self._abandoned = False
        self._later.clear()
        self._timers_allowed = True
        for task in self._tasks:
            task.cancel()
        try:
            self.settle()
        except Spinning:
            # A subject that was stopped for spinning may go on doing so; it was reported then.
            if not reported:
                raise
        finally:
            self._closed = True
            self._ready.clear()
            self._timers.clear()
            self._tasks.clear()
        if self._failures:
            msg = "Never taken: " + "; ".join(failure.describe() for failure in self._failures)
            raise LostFailure(msg)

    # --- What asyncio asks of a loop ----------------------------------------

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Queue a callback: it is one tick."""
        if self._closed:
            msg = f"The controlled loop is closed; {callback!r} came too late."
            raise RuntimeError(msg)
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As `call_soon` on the loop's own thread; from any other one it is a trespass."""
        if threading.get_ident() != self._thread:
            self._refuse("call_soon_threadsafe from another thread")
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Queue a callback for a virtual moment from now."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Queue a callback for a virtual moment; equal moments keep the order of the calls."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    def create_future(self) -> asyncio.Future[Any]:
        """A plain future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """A task of this loop, remembered until its outcome has been looked at."""
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Collect a failure that asyncio could hand to nobody."""
        self._failures.append(Failure(str(context.get("message")), context.get("exception")))

    def is_running(self) -> bool:
        """Whether a tick or a `within` is going on."""
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def get_debug(self) -> bool:
        """Debug mode: handles and tasks remember where they were made, for a diagnosis."""
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        """Switch debug mode."""
        self._debug = enabled

    def get_task_factory(self) -> None:
        """None: tasks are plain tasks."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing to count: cancelled timers are skipped when they are looked at."""

    # --- Within --------------------------------------------------------------

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """Be the running loop; entering twice is a call from a listener and costs nothing."""
        running = asyncio._get_running_loop()
        if running is self:
            yield
            return
        if running is not None:
            msg = f"{running!r} is running on this thread; drive the controlled loop from outside."
            raise ControlError(msg)
        self._thread = threading.get_ident()
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def _run_one(self) -> bool:
        """Make the suite's due calls, then run one ready callback; False when quiescent.

        `between_ticks` is called before both, so that the suite sees what a tick has left.
        """
        if self._abandoned:
            return False
        if self.between_ticks is not None:
            self.between_ticks()
        self._drop_cancelled()
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])
            self._drop_cancelled()
        while self._later and self._later[0][0] <= self._tick:
            heapq.heappop(self._later)[2]()
        if self._abandoned:
            return False
        while self._ready:
            handle = self._ready.popleft()
            if not handle.cancelled():
                self._tick += 1
                handle._run()
                return True
        if self._later:
            self._tick += 1
            return True
        return False

    def _drop_cancelled(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)

    def _sweep_tasks(self) -> None:
        """Collect exceptions that no one has retrieved, without waiting for the collector."""
        waiting = []
        for task in self._tasks:
            if not task.done():
                waiting.append(task)
            # The flag is asyncio's own "never retrieved"; exception() clears it, so that the task
            # does not report the same failure a second time when it is destroyed.
            elif getattr(task, "_log_traceback", False):
                self._failures.append(Failure(f"task {task.get_name()} failed", task.exception()))
        self._tasks = waiting

    def _refuse(self, what: str) -> NoReturn:
        msg = f"The subject used {what}, which the controlled loop does not offer."
        self._trespasses.append(msg)
        raise Uncontrolled(msg)

    def _report_trespass(self) -> None:
        if self._trespasses:
            first = self._trespasses[0]
            self._trespasses.clear()
            raise Uncontrolled(first)
        self._drop_cancelled()
        if self._timers and not self._timers_allowed:
            when, _, timer = self._timers[0]
            msg = (
                f"Quiescent, but a timer is pending in {when - self._now:g} s: {timer!r}. "
                "Virtual time does not pass by itself."
            )
            raise Uncontrolled(msg)


OUTSIDE: Final = {
    "an executor": ("run_in_executor", "set_default_executor"),
    "a selector": ("add_reader", "remove_reader", "add_writer", "remove_writer"),
    "a signal handler": ("add_signal_handler", "remove_signal_handler"),
    "a socket": (
        "sock_recv",
        "sock_recv_into",
        "sock_recvfrom",
        "sock_recvfrom_into",
        "sock_sendall",
        "sock_sendto",
        "sock_connect",
        "sock_accept",
        "sock_sendfile",
        "getaddrinfo",
        "getnameinfo",
        "create_connection",
        "create_server",
        "create_unix_connection",
        "create_unix_server",
        "create_datagram_endpoint",
        "connect_accepted_socket",
        "start_tls",
        "sendfile",
    ),
    "a pipe": ("connect_read_pipe", "connect_write_pipe"),
    "a subprocess": ("subprocess_exec", "subprocess_shell"),
}
"""Every method of a loop that reaches outside, with the word that the error uses."""


def _refusing(what: str, name: str) -> Callable[..., NoReturn]:
    def refuse(self: ControlledLoop, *_: object, **__: object) -> NoReturn:
        self._refuse(f"{what} ({name})")

    refuse.__name__ = name
    return refuse


for _what, _names in OUTSIDE.items():
    for _name in _names:
        setattr(ControlledLoop, _name, _refusing(_what, _name))


def controlled_loop(
    *, ticks_max: int = TICKS_MAX, timers: bool = False, debug: bool = False
) -> ControlledLoop:
    """A fresh loop at virtual time 0.

    A function, because the abstract base declares every method of every loop abstract for type
    checkers, while at run time what is not needed here is refused by name (`OUTSIDE`).
    """
    make = cast("Callable[..., ControlledLoop]", ControlledLoop)
    return make(ticks_max=ticks_max, timers=timers, debug=debug)
