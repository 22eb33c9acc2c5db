"""The bus: containment, order, and the waterfall's chain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from loopspec.impl import Bus, UnknownName

Next = Callable[[], Awaitable[str]]


def collecting_bus() -> tuple[Bus, list[str]]:
    """A bus and the failures that it contained."""
    failures: list[str] = []
    return Bus(lambda name, error: failures.append(f"{name}: {error}")), failures


def test_emit_contains_each_listener_by_itself() -> None:
    """ER-01: the second failure and the last listener are reached."""
    bus, failures = collecting_bus()
    told: list[object] = []

    def fail(_: object) -> None:
        msg = "no"
        raise RuntimeError(msg)

    bus.on("news", fail)
    bus.on("news", fail)
    bus.on("news", told.append)
    bus.emit("news", 1)
    assert [1] == told
    assert ["news: no", "news: no"] == failures


def test_emit_contains_the_later_failure_of_an_asynchronous_listener() -> None:
    """ER-01: its coroutine runs in the lent task group, and its failure ends nothing."""
    bus, failures = collecting_bus()

    async def fail(_: object) -> None:
        await asyncio.sleep(0)
        msg = "late"
        raise RuntimeError(msg)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            release = bus.own(tasks.create_task)
            bus.on("news", fail)
            bus.emit("news", 1)
            release()

    asyncio.run(main())
    assert ["news: late"] == failures


def test_emit_reports_an_asynchronous_listener_that_nobody_can_own() -> None:
    """A background task without an owner is never made."""
    bus, failures = collecting_bus()

    async def listener(_: object) -> None:
        raise AssertionError

    bus.on("news", listener)
    bus.emit("news", 1)
    assert 1 == len(failures)
    assert "asynchronous" in failures[0]


def test_listeners_are_resolved_before_the_first_call() -> None:
    """ER-02: who joins or leaves during a dispatch changes the next one."""
    bus, _ = collecting_bus()
    told: list[str] = []

    def first(_: object) -> None:
        told.append("first")
        leave()
        bus.on("news", lambda _: told.append("late"))

    bus.on("news", first)
    leave = bus.on("news", lambda _: told.append("second"))
    bus.emit("news", 1)
    assert ["first", "second"] == told
    bus.emit("news", 1)
    assert ["first", "second", "first", "late"] == told
    leave()


def test_prepended_listener_comes_first() -> None:
    """PS-06."""
    bus, _ = collecting_bus()
    told: list[str] = []
    bus.on("news", lambda _: told.append("b"))
    bus.on("news", lambda _: told.append("a"), prepend=True)
    bus.emit("news", 1)
    assert ["a", "b"] == told


def test_serial_awaits_in_order_and_raises_the_first_failure() -> None:
    """ER-05."""
    bus, failures = collecting_bus()
    told: list[str] = []

    async def slow(_: object) -> None:
        await asyncio.sleep(0)
        told.append("slow")

    def fail(_: object) -> None:
        told.append("fail")
        raise KeyError

    bus.on("ask", slow)
    bus.on("ask", fail)
    bus.on("ask", lambda _: told.append("never"))
    with pytest.raises(KeyError):
        asyncio.run(bus.serial("ask", 1))
    assert ["slow", "fail"] == told
    assert [] == failures


def test_waterfall_nests_and_settles_from_inner_to_outer() -> None:
    """PS-05, PS-06."""
    bus, _ = collecting_bus()

    async def outer(_: object, proceed: Next) -> str:
        return f"outer({await proceed()})"

    async def inner(_: object, proceed: Next) -> str:
        return f"inner({await proceed()})"

    bus.on("ask", inner)
    bus.on("ask", outer, prepend=True)
    assert "outer(inner(default))" == asyncio.run(bus.waterfall("ask", 1, "default"))


def test_waterfall_listener_that_does_not_proceed_hides_the_rest() -> None:
    """PS-07; a listener need not be asynchronous."""
    bus, _ = collecting_bus()
    bus.on("ask", lambda _payload, _proceed: "mine")
    bus.on("ask", lambda _payload, _proceed: pytest.fail("hidden"))
    assert "mine" == asyncio.run(bus.waterfall("ask", 1, "default"))


def test_waterfall_second_proceed_reaches_those_not_reached_before() -> None:
    """PS-08: the chain is consumed, then the default answers again."""
    bus, _ = collecting_bus()

    async def twice(_: object, proceed: Next) -> str:
        return " ".join([await proceed(), await proceed(), await proceed()])

    bus.on("ask", twice)
    bus.on("ask", lambda _payload, _proceed: "one")
    bus.on("ask", lambda _payload, _proceed: "two")
    assert "one two default" == asyncio.run(bus.waterfall("ask", 1, "default"))


def test_waterfall_failure_is_raised() -> None:
    """ER-05."""
    bus, _ = collecting_bus()

    async def fail(_: object, _proceed: Next) -> str:
        raise KeyError

    bus.on("ask", fail)
    with pytest.raises(KeyError):
        asyncio.run(bus.waterfall("ask", 1, "default"))


def test_misspelt_agent_name_is_refused_with_the_known_ones() -> None:
    """A listener that could never be called is a mistake worth a sentence."""
    bus, _ = collecting_bus()
    with pytest.raises(UnknownName, match="agent/pre-step"):
        bus.on("agent/prestep", lambda _: None)


def test_nothing_suspends_without_listeners() -> None:
    """A seam that nobody listens to costs no tick."""
    bus, _ = collecting_bus()
    with pytest.raises(StopIteration):
        bus.serial("agent/assemble", 1).send(None)
