"""What may not leave before its commit, where the paths to it are rare."""

from __future__ import annotations

import asyncio

from loopspec.impl import Reply, Retry
from tests.impl.sessions import Session, run
from tests.impl.test_flush import A, B, Held


def test_retry_waits_for_a_commit_too() -> None:
    """Retry waits for a commit too."""

    async def main(session: Session) -> None:
        held = Held(session)
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        await held.returns()
        await session.answer("provider", RuntimeError("torn"))
        session.log.append("user/message", B.to_json())
        await session.answer("agent/request-error", Retry())
        assert (1, 1) == (len(session.requests), len(held.waiting))
        await held.returns()
        assert 2 == len(session.requests)
        del session.log.flush

    run(main, Session(hold=("agent/request-error",)))


def test_idle_is_told_after_the_commit_of_what_came_in_the_exit_gap() -> None:
    """Idle is told after the commit of what came in the exit gap."""

    async def main(session: Session) -> None:
        held = Held(session)
        loop = asyncio.get_running_loop()
        session.at("turn/end 1 completed", lambda: loop.call_soon(session.agent.inject, B))
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        await held.returns()
        await session.answer("provider", Reply())
        assert "agent/status idle" not in session.told
        assert ("", "B") == session.pending()
        ((seen, _),) = held.waiting
        assert len(session.log.read()) == seen
        await held.returns()
        assert "agent/status idle" == session.told[-1]
        del session.log.flush

    run(main)
