"""Calls inside the delivery of the abort signal: as right behind the cancel, in the same stack.

No trace shows the delivery of the signal, so that no scenario has this window (decision 0013).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from loopspec.impl import AgentBusy, AgentDisposed, Signal, text_message
from tests.impl.sessions import Session, run

A, B, C, D = (text_message(name) for name in "ABCD")


def refused(call: Callable[[], object]) -> None:
    """Make a call that the agent refuses while it works."""
    with pytest.raises((AgentBusy, AgentDisposed)):
        call()


CALLS: Final[dict[str, Callable[[Session], object]]] = {
    "followup": lambda session: session.agent.followup(C),
    "steer": lambda session: session.agent.steer(C),
    "inject": lambda session: session.agent.inject(C),
    "append": lambda session: session.agent.inbox.append("next-turn", C),
    "remove": lambda session: session.agent.inbox.remove("B"),
    "replace": lambda session: session.agent.inbox.replace("B", C),
    "clear": lambda session: session.agent.inbox.clear(),
    "another cancel": lambda session: session.agent.cancel("parent"),
    "another that keeps": lambda session: session.agent.cancel("parent", keep_inbox=True),
    "dispose": lambda session: session.agent.dispose(),
    "maintenance": lambda session: refused(lambda: session.agent.run_maintenance(session.maintain)),
}
STOPS: Final[dict[str, Callable[[Session], object]]] = {
    "broad": lambda session: session.agent.cancel("user"),
    "keep": lambda session: session.agent.cancel("user", keep_inbox=True),
    "dispose": lambda session: session.agent.dispose(),
}


def told(stop: str, call: str, *, inside: bool) -> list[str]:
    """What is told when the call comes in the delivery of the signal, or behind the stop."""

    async def test(session: Session) -> None:
        signals: list[Signal] = []
        session.bus.on("agent/assemble", lambda payload: signals.append(payload.signal), True)
        session.agent.followup(A)
        session.agent.followup(B)
        heard: list[bool] = []

        def act() -> None:
            heard.append(signals[0].aborted)
            CALLS[call](session)

        if inside:
            signals[0].on_abort(act)
        STOPS[stop](session)
        if not inside:
            act()
        await session.answer("assemble")
        assert heard == [True]
        session.told.append(f"pending {session.pending()} {session.agent.status}")

    done = run(test)
    assert done.failures == []
    return done.told


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("stop", STOPS)
def test_a_call_from_an_abort_listener_is_one_behind_the_stop(stop: str, call: str) -> None:
    """RE-08: the clear is done, the signal aborted, and nothing else has happened yet."""
    assert told(stop, call, inside=True) == told(stop, call, inside=False)


def test_what_an_abort_listener_sends_survives_the_cancel_and_runs() -> None:
    """RE-08: B was discarded before, C goes to next-turn and gets a turn of its own."""
    seen = told("broad", "steer", inside=True)

    assert "spliced next-turn@0-0+C" in seen
    assert seen.index("agent/inbox/discarded B") < seen.index("agent/inbox/inserted C")
    assert "agent/inbox/claimed C 2" in seen
