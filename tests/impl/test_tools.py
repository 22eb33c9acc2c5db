"""Tools: order of calls, results and contexts; conclusions; and what an abort makes of them."""

from __future__ import annotations

import asyncio

import pytest

from loopspec.impl import (
    Agent,
    BadArgument,
    DataBlock,
    Reply,
    ScriptedProvider,
    SessionLog,
    Signal,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolUse,
    text_message,
)
from tests.impl.sessions import Session, run

A, C, D = (text_message(name) for name in "ACD")


def asks(*names: str, together: bool = False) -> Reply:
    """Return a reply that asks for calls."""
    return Reply("tools", calls=tuple(ToolCall(name) for name in names), together=together)


async def ask(session: Session, *names: str, together: bool = False) -> None:
    """Open a turn and let the provider ask for calls."""
    session.agent.followup(A)
    await session.step(asks(*names, together=together))
    session.told.clear()


def test_calls_run_one_after_the_other_and_a_reply_is_owed() -> None:
    """TC-08: the turn goes on without a stop check; the results are in the next request."""

    async def test(session: Session) -> None:
        await ask(session, "X", "Y")
        assert session.open_gate() == "tool X"
        await session.answer("tool X", ToolResult((TextBlock("found"),)))
        assert session.open_gate() == "tool Y"
        await session.answer("tool Y")
        assert session.told == [
            "tool/result 1 1 X ok",
            "tool/call 1 1 Y",
            "tool/result 1 1 Y ok",
            "step/end 1 1",
        ]
        await session.step()
        said, first, _ = session.requests[1].messages[1:]
        assert said.content == (ToolCall("X").to_block(), ToolCall("Y").to_block())
        result = DataBlock("tool-result", {"call": "X", "outcome": "ok"})
        assert first.content == (result, TextBlock("found"))

    run(test)


def test_calls_side_by_side_are_committed_in_the_order_of_the_reply() -> None:
    """TC-01: each result as soon as those before it are on record."""

    async def test(session: Session) -> None:
        await ask(session, "X", "Y", "Z", together=True)
        assert [gate for gate, _, _ in session.gates] == ["tool X", "tool Y", "tool Z"]
        await session.answer("tool Y", ToolResult(contexts=(C,)))
        assert session.told == []
        await session.answer("tool X")
        assert [word for word in session.told if word.startswith("tool")] == [
            "tool/result 1 1 X ok",
            "tool/result 1 1 Y ok",
        ]
        await session.answer("tool Z")
        assert session.told[-1] == "agent/inbox/claimed C 1"

    run(test)


def test_contexts_join_next_step_behind_their_result() -> None:
    """TC-02: one splice each, at the tail, quietly; also when the tool failed."""

    async def test(session: Session) -> None:
        await ask(session, "X", "Y")
        await session.answer("tool X", ToolResult(contexts=(C, D)))
        assert session.told == [
            "tool/result 1 1 X ok",
            "spliced next-step@0-0+C",
            "agent/inbox/inserted C",
            "spliced next-step@1-0+D",
            "agent/inbox/inserted D",
            "tool/call 1 1 Y",
        ]
        await session.answer("tool Y", (text_message("E"), RuntimeError("broken")))
        assert session.told[-3:] == [
            "agent/inbox/claimed C 1",
            "agent/inbox/claimed D 1",
            "agent/inbox/claimed E 1",
        ]

    run(test)


def test_one_conclusion_is_enough() -> None:
    """TC-09, TC-10: the turn ends, whatever a later call of the batch answers."""

    async def test(session: Session) -> None:
        await ask(session, "X", "Y")
        await session.answer("tool X", ToolResult(concludes=True))
        await session.answer("tool Y")
        assert session.told[-2:] == ["turn/end 1 completed", "agent/status idle"]

    run(test)


def test_a_conclusion_with_contexts_is_followed_by_a_step() -> None:
    """TC-09: what is pending for the next step still extends the turn."""

    async def test(session: Session) -> None:
        await ask(session, "X")
        await session.answer("tool X", ToolResult(contexts=(C,), concludes=True))
        assert session.told[-1] == "agent/inbox/claimed C 1"

    run(test)


@pytest.mark.parametrize("together", [False, True])
def test_an_abort_drains_what_runs_and_skips_the_rest(together: bool) -> None:
    """TC-04, TC-05: unstarted calls are on record too, and contexts stay parked."""

    async def test(session: Session) -> None:
        if together:
            session.at("tool/call 1 1 X", lambda: session.agent.cancel("user"))
        await ask(session, "X", "Y", together=together)
        if not together:
            session.agent.cancel("user")
        await session.answer("tool X", ToolResult(contexts=(C,), concludes=True))
        assert session.told == [
            "tool/result 1 1 X aborted",
            "spliced next-step@0-0+C",
            "agent/inbox/inserted C",
            "tool/call 1 1 Y",
            "tool/result 1 1 Y skipped",
            "step/end 1 1",
            "turn/end 1 aborted user",
            "agent/status idle",
        ]
        assert session.pending() == ("", "C")

    run(test)


def test_a_cancel_in_the_observer_of_the_message_skips_its_calls() -> None:
    """CN-17: the message stays whole."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.at("assistant/message 1 1 X", lambda: session.agent.cancel("user"))
        await session.step(asks("X"))
        assert session.told[-5:] == [
            "tool/call 1 1 X",
            "tool/result 1 1 X skipped",
            "step/end 1 1",
            "turn/end 1 aborted user",
            "agent/status idle",
        ]
        assert "assistant/message 1 1 X" in session.told

    run(test)


@pytest.mark.parametrize("together", [False, True])
def test_a_failure_of_the_loop_itself_leaves_no_body_behind(together: bool) -> None:
    """TC-06, TC-11: a context that cannot be pending ends the turn; what was started is awaited."""

    async def test(session: Session) -> None:
        session.agent.inject(C)
        session.agent.followup(A)
        await session.step(asks("X", "Y", together=together))
        session.agent.inject(D)
        await session.answer("tool X", ToolResult(contexts=(D,)))
        if together:
            assert session.open_gate() == "tool Y"
            await session.answer("tool Y")
        assert session.told[-3].startswith("agent/error 1 1 a message with the id 'D'")
        assert not [word for word in session.told if word.startswith("tool/result 1 1 Y")]

    run(test)


def test_an_answer_that_is_no_result_and_a_missing_tool_are_errors_of_the_call() -> None:
    """The turn goes on with them."""

    async def test(session: Session) -> None:
        await ask(session, "X")
        await session.answer("tool X", "nothing")
        assert session.told[0] == "tool/result 1 1 X error"

    run(test)

    async def main() -> None:
        provider = ScriptedProvider([asks("X")])
        with SessionLog.in_memory() as log:
            async with Agent(log, provider) as agent:
                agent.followup(A)
                await agent.wait_idle()
        assert "there is no tool 'tool'" in provider.requests[1].messages[-1].text

    asyncio.run(main())


def test_calls_of_a_cut_answer_are_not_run() -> None:
    """TC-07, ST-22: nor are they part of its message."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.step(Reply("max-tokens", calls=(ToolCall("X"),)))
        assert session.told[-4:] == [
            "assistant/message 1 1",
            "step/end 1 1",
            "turn/end 1 max-tokens",
            "agent/status idle",
        ]

    run(test)


def test_replies_with_calls_that_do_not_fit_are_refused() -> None:
    """At the moment of making them."""
    for calls in ((), (ToolCall("X"), ToolCall("X"))):
        with pytest.raises(BadArgument):
            Reply("tools", calls=calls)
    with pytest.raises(BadArgument):
        Reply("done", calls=(ToolCall("X"),))
    with pytest.raises(BadArgument, match="context"):
        asyncio.run(_hand_over_a_word())


async def _hand_over_a_word() -> None:
    ToolUse(1, 1, ToolCall("X"), Signal()).hand_over("word")  # type: ignore[arg-type]


@pytest.mark.parametrize("together", [False, True])
def test_a_session_whose_task_is_cancelled_leaves_no_call_unanswered(together: bool) -> None:
    """TC-04: whoever cancels the task of the session ends the turn, behind a result for each."""
    log = SessionLog.in_memory()
    waiting = asyncio.Event()

    class Tools:
        async def run(self, use: ToolUse) -> ToolResult:
            waiting.set()
            await asyncio.Event().wait()
            raise AssertionError(use)

    async def own() -> None:
        provider = ScriptedProvider([asks("X", "Y", together=together)])
        async with Agent(log, provider, tools=Tools()) as agent:
            agent.followup(A)
            await asyncio.Event().wait()

    async def main() -> None:
        owner = asyncio.create_task(own())
        await waiting.wait()
        owner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await owner

    asyncio.run(main())
    told = [(each.type, str(each.data.get("call"))) for each in log.read()]
    results = [call for kind, call in told if kind == "tool/result"]
    assert sorted(results) == ["X", "Y"]
    kinds = [kind for kind, _ in told]
    assert kinds.index("step/end") > len(kinds) - kinds[::-1].index("tool/result") - 1
    assert kinds[-1] == "turn/end"
