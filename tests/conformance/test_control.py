"""The controlled loop runs real asyncio code, one callback a tick, and admits nothing else."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from loopspec.conformance.control import (
    OUTSIDE,
    ControlError,
    ControlledLoop,
    LostFailure,
    Spinning,
    Uncontrolled,
    controlled_loop,
)


@pytest.fixture
def loop() -> Iterator[ControlledLoop]:
    """A loop that is closed, and so checked for lost failures, after the test."""
    loop = controlled_loop()
    yield loop
    loop.close()


def test_one_ready_callback_is_one_tick(loop: ControlledLoop) -> None:
    """Callbacks run first in, first out, and each one counts once."""
    seen: list[str] = []
    loop.call_soon(seen.append, "a")
    loop.call_soon(lambda: loop.call_soon(seen.append, "c"))
    loop.call_soon(seen.append, "b")

    assert loop.settle() == 4
    assert seen == ["a", "b", "c"]
    assert loop.settle() == 0


def test_a_cancelled_callback_is_no_tick(loop: ControlledLoop) -> None:
    """What was cancelled is skipped without being counted."""
    loop.call_soon(lambda: None).cancel()

    assert loop.settle() == 0


def test_nothing_runs_before_settle(loop: ControlledLoop) -> None:
    """A task made at rest has not started when the call returns."""
    seen: list[str] = []

    async def work() -> None:
        seen.append("started")

    loop.within(lambda: asyncio.ensure_future(work(), loop=loop))
    assert seen == []
    loop.settle()
    assert seen == ["started"]


def test_an_answered_future_resumes_its_task_one_tick_later(loop: ControlledLoop) -> None:
    """The gate of a subject is a bare future; answering it is not yet resuming."""
    gate = loop.create_future()
    seen: list[object] = []

    async def work() -> None:
        seen.append(await gate)

    loop.create_task(work())
    loop.settle()
    gate.set_result("enter")
    assert seen == []
    assert loop.settle() == 1
    assert seen == ["enter"]


def test_task_group_event_and_cancellation_work(loop: ControlledLoop) -> None:
    """The structured parts of asyncio need nothing that the loop does not have."""

    async def waits(event: asyncio.Event) -> str:
        await event.wait()
        return "woken"

    async def main() -> tuple[str, bool]:
        event = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            woken = group.create_task(waits(event), name="woken")
            cancelled = group.create_task(waits(asyncio.Event()))
            await asyncio.sleep(0)
            event.set()
            cancelled.cancel()
        return woken.result(), cancelled.cancelled()

    assert loop.run_until_complete(main()) == ("woken", True)


def test_task_group_collects_the_failure_of_a_child(loop: ControlledLoop) -> None:
    """A failure that a group hands on is not reported a second time by the loop."""

    async def fails() -> None:
        msg = "child"
        raise ValueError(msg)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    with pytest.raises(ExceptionGroup):
        loop.run_until_complete(main())
    assert loop.take_failures() == ()


def test_timeouts_fire_only_when_time_is_advanced() -> None:
    """Virtual time jumps on request, timer by timer."""
    loop = controlled_loop(timers=True)
    seen: list[float] = []

    async def main() -> None:
        await asyncio.sleep(2)
        seen.append(loop.time())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await loop.create_future()
        seen.append(loop.time())

    loop.create_task(main())
    loop.settle()
    assert seen == []
    loop.advance(3)
    assert seen == [2.0]
    loop.advance(60)
    assert seen == [2.0, 7.0]
    assert loop.time() == 63.0
    loop.close()


def test_equal_timers_keep_the_order_of_the_calls() -> None:
    """Two timers for one moment run in the order in which they were set."""
    loop = controlled_loop(timers=True)
    seen: list[int] = []
    for number in range(5):
        loop.call_later(1, seen.append, number)
    loop.call_later(1, seen.append, 99).cancel()
    loop.advance(1)
    loop.close()

    assert seen == [0, 1, 2, 3, 4]


def test_a_timer_pending_at_quiescence_is_reported(loop: ControlledLoop) -> None:
    """A subject that waits for the wall clock is not under control."""
    timer = loop.call_later(30, lambda: None)

    with pytest.raises(Uncontrolled, match="timer is pending in 30 s"):
        loop.settle()
    timer.cancel()
    assert loop.settle() == 0


def test_a_timer_that_was_cancelled_in_time_is_no_wait(loop: ControlledLoop) -> None:
    """A timeout around something that is ready leaves nothing behind."""

    async def main() -> str:
        async with asyncio.timeout(5):
            await asyncio.sleep(0)
        return "done"

    assert loop.run_until_complete(main()) == "done"


def test_later_runs_between_ticks(loop: ControlledLoop) -> None:
    """`later(k)` lets k - 1 callbacks pass and takes nobody's place."""
    seen: list[str] = []

    def observed() -> None:
        seen.append("observed")
        loop.call_soon(seen.append, "x")
        loop.later(2, lambda: seen.append("two later"))
        loop.later(1, lambda: seen.append("one later"))
        loop.later(3, lambda: seen.append("three later"))
        loop.call_soon(seen.append, "y")
        loop.call_soon(seen.append, "z")

    loop.call_soon(observed)
    loop.settle()

    assert seen == ["observed", "one later", "x", "two later", "y", "three later", "z"]


def test_later_passes_empty_ticks_when_nothing_is_ready(loop: ControlledLoop) -> None:
    """An idle subject does not keep an action waiting for ever."""
    seen: list[str] = []
    loop.later(3, lambda: seen.append("made"))

    assert loop.settle() == 2
    assert seen == ["made"]


def test_an_exception_of_a_later_action_passes_through(loop: ControlledLoop) -> None:
    """It is the suite's own, so it is not mistaken for a failure of the subject."""

    def fails() -> None:
        msg = "suite"
        raise LookupError(msg)

    loop.later(1, fails)
    with pytest.raises(LookupError):
        loop.settle()
    assert loop.take_failures() == ()


def test_a_failing_callback_is_collected(loop: ControlledLoop) -> None:
    """Nobody receives the exception of a callback, so the loop keeps it."""
    loop.call_soon(lambda: 1 / 0)
    loop.settle()
    (failure,) = loop.take_failures()

    assert "ZeroDivisionError" in failure.describe()
    assert loop.take_failures() == ()


def test_a_failing_task_is_collected_without_the_collector(loop: ControlledLoop) -> None:
    """A background task without an owner does not die silently."""

    async def fails() -> None:
        msg = "driver died"
        raise ValueError(msg)

    loop.create_task(fails(), name="driver")
    loop.settle()
    (failure,) = loop.take_failures()

    assert failure.describe() == "task driver failed: ValueError: driver died"


def test_close_refuses_to_forget_a_failure() -> None:
    """A failure that was never taken comes back at the end."""
    loop = controlled_loop()
    loop.call_soon(lambda: 1 / 0)
    loop.settle()

    with pytest.raises(LostFailure, match="ZeroDivisionError"):
        loop.close()


def test_close_cancels_what_is_suspended_and_ends_it() -> None:
    """After close no task is left, and new callbacks are refused."""
    loop = controlled_loop()
    ended: list[str] = []

    async def waits() -> None:
        try:
            await loop.create_future()
        finally:
            ended.append("ended")

    loop.create_task(waits())
    loop.settle()
    loop.close()
    loop.close()

    assert ended == ["ended"]
    assert loop.is_closed()
    with pytest.raises(RuntimeError, match="too late"):
        loop.call_soon(lambda: None)


def test_a_spinning_subject_is_stopped() -> None:
    """One clear error after the last tick it was allowed."""
    loop = controlled_loop(ticks_max=50)

    def spin() -> None:
        loop.call_soon(spin)

    loop.call_soon(spin)
    with pytest.raises(Spinning, match="after 50 ticks"):
        loop.settle()
    loop.close()


@pytest.mark.parametrize("name", [name for names in OUTSIDE.values() for name in names])
def test_reaching_outside_is_uncontrolled(name: str) -> None:
    """Every method that would touch the machine is refused by name."""
    loop = controlled_loop()
    with pytest.raises(Uncontrolled, match=name):
        getattr(loop, name)()
    with pytest.raises(Uncontrolled, match=name):
        loop.settle()
    loop.close()


def test_every_method_of_a_loop_is_offered_or_refused() -> None:
    """Nothing is left to the base class that would fail without being recorded."""
    left = {
        name
        for name, value in vars(asyncio.AbstractEventLoop).items()
        if not name.startswith("__") and callable(value) and getattr(ControlledLoop, name) is value
    }

    assert left == {
        "run_forever",
        "stop",
        "shutdown_asyncgens",
        "shutdown_default_executor",
        "set_task_factory",
        "get_exception_handler",
        "set_exception_handler",
        "default_exception_handler",
    }


def test_a_swallowed_trespass_is_reported_by_settle(loop: ControlledLoop) -> None:
    """A subject that catches every exception cannot hide that it used a thread."""
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.to_thread(lambda: None)
        except Exception as error:
            seen.append(str(error))

    loop.create_task(work())
    with pytest.raises(Uncontrolled, match="an executor"):
        loop.settle()
    assert len(seen) == 1
    assert loop.settle() == 0


def test_a_call_from_another_thread_is_refused(loop: ControlledLoop) -> None:
    """A thread that wakes the loop is a thread that the suite does not control."""
    seen: list[str] = []

    def other() -> None:
        try:
            loop.call_soon_threadsafe(lambda: None)
        except Uncontrolled as error:
            seen.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()

    assert "another thread" in seen[0]
    with pytest.raises(Uncontrolled):
        loop.settle()
    assert loop.call_soon_threadsafe(seen.append, "own thread")
    assert loop.settle() == 1


def test_settling_inside_a_tick_is_refused(loop: ControlledLoop) -> None:
    """Only the suite, at rest, may let the subject go on."""
    loop.call_soon(loop.settle)
    loop.settle()
    (failure,) = loop.take_failures()

    assert isinstance(failure.error, ControlError)


def test_a_result_that_never_comes_is_reported(loop: ControlledLoop) -> None:
    """At quiescence a pending future stays pending for ever."""
    with pytest.raises(Uncontrolled, match="nothing will ever finish it"):
        loop.run_until_complete(loop.create_future())


def test_within_makes_the_loop_the_running_one(loop: ControlledLoop) -> None:
    """A call at rest may create tasks, and belongs to none."""
    assert loop.within(lambda: (asyncio.get_running_loop(), asyncio.current_task())) == (loop, None)
    assert loop.within(lambda: loop.within(loop.is_running))
    assert not loop.is_running()


def test_another_running_loop_is_refused(loop: ControlledLoop) -> None:
    """The suite is driven from outside any loop."""

    async def main() -> None:
        with pytest.raises(ControlError, match="drive the controlled loop from outside"):
            loop.settle()

    asyncio.run(main())


def test_debug_mode_is_a_setting() -> None:
    """For a diagnosis the loop remembers where things were made."""
    loop = controlled_loop(debug=True)
    assert loop.get_debug()
    loop.set_debug(False)
    assert not loop.get_debug()
    loop.close()
