"""Whatever leaves the process waits for the commit of the records that it rests on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from loopspec.impl import (
    FlushFailed,
    Reply,
    SessionLog,
    ToolCall,
    fixed_clock,
    text_message,
)
from tests.impl.sessions import Session, run, settle
from tests.impl.test_refusals import refuse

A, B = text_message("A"), text_message("B")
TOOLS = Reply("tools", calls=(ToolCall("X"), ToolCall("Y")))


class Held:
    """The flush of a log, held until the test lets it return; the number of records at its call."""

    def __init__(self, session: Session) -> None:
        """Hold every flush of the session's log from now on."""
        self.waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._log = session.log
        session.log.flush = self._flush  # type: ignore[method-assign]

    async def _flush(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((len(self._log.read()), future))
        await future

    async def returns(self, error: Exception | None = None) -> None:
        """Let the oldest flush return, or fail, and everything run."""
        _, future = self.waiting.pop(0)
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
        await settle()


def held_run(test: Callable[[Session, Held], Awaitable[None]]) -> Session:
    """Run a test on a session whose flushes are held."""

    async def main(session: Session) -> None:
        held = Held(session)
        await test(session, held)
        # What the test leaves at a gate is aborted when the block ends; no flush holds it up.
        del session.log.flush
        while held.waiting:
            await held.returns()

    return run(main)


def test_request_is_made_after_the_commit_and_holds_no_later_record() -> None:
    """Nobody outside hears of a message whose record may still be lost."""

    async def test(session: Session, held: Held) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert ([], 1) == (session.requests, len(held.waiting))
        session.log.append("user/message", B.to_json())
        await held.returns()
        (request,) = session.requests
        assert ["A"] == [message.id for message in request.messages]

    held_run(test)


def test_request_is_not_made_when_the_turn_is_cancelled_meanwhile() -> None:
    """The turn ends as aborted; the provider is not asked."""

    async def test(session: Session, held: Held) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        session.agent.cancel("user")
        await held.returns()
        assert [] == session.requests
        assert "turn/end 1 aborted user" in session.told

    held_run(test)


@pytest.mark.parametrize("together", [False, True])
def test_tool_starts_after_the_commit_of_its_call(together: bool) -> None:
    """A crash never leaves an effect without a trace."""

    async def test(session: Session, held: Held) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        await held.returns()
        reply = Reply("tools", calls=TOOLS.calls, together=together)
        await session.answer("provider", reply)
        for call in ("X", "Y"):
            assert f"tool/call 1 1 {call}" == session.told[-1]
            assert f"tool {call}" not in [kind for kind, _, _ in session.gates]
            ((seen, _),) = held.waiting
            assert len(session.log.read()) == seen
            await held.returns()
            assert f"tool {call}" in [kind for kind, _, _ in session.gates]
            if not together:
                await session.answer(f"tool {call}")

    held_run(test)


def test_idle_is_told_after_the_commit_of_the_turn() -> None:
    """Whoever waits for idle may rely on what the turn recorded."""

    async def test(session: Session, held: Held) -> None:
        session.agent.followup(A)
        idle = session.agent.when_idle()
        await session.answer("assemble")
        await session.answer("pre-step")
        await held.returns()
        await session.answer("provider", Reply())
        assert ("turn/end 1 completed", "running") == (session.told[-1], session.agent.status)
        assert not idle.done()
        await held.returns()
        assert ("agent/status idle", True) == (session.told[-1], idle.done())

    held_run(test)


@pytest.mark.parametrize("refused", [False, True])
def test_wake_while_the_last_commit_is_waited_for_gets_its_driver(refused: bool) -> None:
    """The driver has looked for the last time, so another one starts after it."""

    async def test(session: Session, held: Held) -> None:
        if refused:
            refuse(session, "turn/start")
            session.agent.followup(A)
        else:
            session.agent.followup(A)
            await session.answer("assemble")
            await session.answer("pre-step")
            await held.returns()
            await session.answer("provider", Reply())
        assert "running" == session.agent.status
        session.agent.followup(B)
        await held.returns()
        number = 1 if refused else 2
        assert f"turn/start {number}" in session.told[session.told.index("agent/status idle") :]

    held_run(test)


def test_commit_that_fails_before_a_request_ends_the_driver() -> None:
    """The provider is not asked, the failure is told, and nothing follows on the dead log."""

    async def test(session: Session, held: Held) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        session.log.close()
        await held.returns(FlushFailed("the disk is gone."))
        assert [] == session.requests
        assert [t for t in session.told if t.startswith("agent/error 1 1") and "closed" in t]
        assert "agent/status idle" == session.told[-1]

    held_run(test)


def test_agent_on_a_log_with_a_writing_thread_finds_everything_acknowledged(tmp_path: Path) -> None:
    """The same loop over the log as hosts have it: every request rests on committed records."""
    path = tmp_path / "session.sqlite"
    log = SessionLog.create(path, clock=fixed_clock())

    async def test(session: Session) -> None:
        session.agent.followup(A)
        while session.open_gate() != "provider":
            if session.gates:
                await session.answer(session.open_gate())
            await asyncio.sleep(0)
        assert [] == log._file.writer.tail(log.session)
        await session.answer("provider")
        await session.agent.wait_idle()
        assert [] == log._file.writer.tail(log.session)

    told = run(test, Session(log)).told
    with SessionLog.open(path) as again:
        assert ("turn/end", "") == (again.read()[-1].type, again.remark)
    assert "agent/status idle" == told[-1]
