"""Requests: visible text, interruption, the request hook, recovery, and the stop check."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopspec.impl import (
    GiveUp,
    Policy,
    ProviderCut,
    ProviderError,
    Reply,
    Retry,
    TextBlock,
    text_message,
)
from tests.impl.sessions import Session, run

A, B, C = (text_message(name) for name in "ABC")
HOOKS = ("agent/request", "agent/request-error")
STOP = ("agent/turn-stopping",)


async def asked(session: Session) -> None:
    """Open a turn up to its request."""
    session.agent.followup(A)
    await session.answer("assemble")
    await session.answer("pre-step")
    session.told.clear()


def said(session: Session) -> list[str]:
    """Return the text of each assistant's message."""
    return [
        record.data["message"]["content"][0]["text"]  # type: ignore[index]
        for record in session.log.read()
        if record.type == "assistant/message"
    ]


def test_text_that_was_shown_opens_the_message() -> None:
    """ST-11: the answer follows it."""

    async def test(session: Session) -> None:
        await asked(session)
        session.requests[0].show("so ")
        session.requests[0].show("far")
        await session.answer("provider", Reply("done", (TextBlock("good"),)))
        assert session.told[0] == "assistant/message 1 1"
        assert said(session) == ["so far"]

    run(test)


@pytest.mark.parametrize("answer", [Reply(), ProviderCut(), ProviderError(), RuntimeError("late")])
def test_an_abort_keeps_what_was_visible(answer: object) -> None:
    """ST-12, ST-14: flagged, before the step's end, whatever the provider answers then."""

    async def test(session: Session) -> None:
        await asked(session)
        session.requests[0].show("so far")
        session.agent.cancel("user")
        await session.answer("provider", answer)
        assert session.told == [
            "assistant/message 1 1 interrupted",
            "step/end 1 1",
            "turn/end 1 aborted user",
            "agent/status idle",
        ]
        session.agent.followup(B)
        await session.step()
        assert [message.text for message in session.requests[1].messages] == ["A", "so far", "B"]

    run(test)


def test_blank_text_is_not_visible() -> None:
    """ST-13: nothing is recorded of it."""

    async def test(session: Session) -> None:
        await asked(session)
        session.requests[0].show(" ")
        session.agent.cancel("user")
        await session.answer("provider", ProviderCut())
        assert session.told[0] == "step/end 1 1"

    run(test)


def test_no_text_is_taken_under_an_abort() -> None:
    """ST-10: showing it raises."""

    async def test(session: Session) -> None:
        await asked(session)
        session.agent.cancel("user")
        with pytest.raises(ProviderCut):
            session.requests[0].show("late")
        assert session.requests[0].shown == ""

    run(test)


def test_a_request_hook_gives_options_and_may_fail() -> None:
    """ST-07, ST-19: its failure is not offered to recovery."""

    async def test(session: Session) -> None:
        await asked(session)
        await session.answer("agent/request", {"model": "small"})
        assert session.requests[0].options == {"model": "small"}
        await session.answer("provider", Reply("owes"))
        await session.answer("assemble")
        await session.answer("pre-step")
        await session.answer("agent/request", RuntimeError("no"))
        assert session.told[-4:] == [
            "step/end 1 2",
            "agent/error 1 2 no",
            "turn/end 1 error no",
            "agent/status idle",
        ]

    run(test, Session(hold=HOOKS))


def test_a_cancel_at_the_request_hook_makes_no_request() -> None:
    """An abort wins over its answer."""

    async def test(session: Session) -> None:
        await asked(session)
        session.agent.cancel("user")
        await session.answer("agent/request")
        assert session.requests == []
        assert session.told[:2] == ["step/end 1 1", "turn/end 1 aborted user"]

    run(test, Session(hold=HOOKS))


def test_a_retry_stays_in_the_step_and_reads_the_conversation_again() -> None:
    """ST-16, ST-17, ST-23: nothing is left of the failed attempt."""

    async def test(session: Session) -> None:
        await asked(session)
        await session.answer("agent/request")
        session.requests[0].show("lost")
        await session.answer("provider", ProviderError("busy", "BUSY"))
        session.log.append("user/message", C.to_json())
        await session.answer("agent/request-error", Retry())
        await session.answer("agent/request")
        assert [message.id for message in session.requests[1].messages] == ["A", "C"]
        assert session.requests[1].shown == ""
        await session.answer("provider", Reply("done", (TextBlock("good"),)))
        assert said(session) == ["good"]
        assert session.told[-4:-2] == ["assistant/message 1 1", "step/end 1 1"]

    run(test, Session(hold=HOOKS))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (GiveUp(), "busy"),
        (None, "busy"),
        (RuntimeError("broken hook"), "broken hook"),
        ("retry", "agent/request-error must answer Retry or GiveUp, not 'retry'."),
    ],
)
def test_without_a_retry_the_turn_fails(answer: object, error: str) -> None:
    """ST-16, ST-20: with the failure, or with what the hook raised."""

    async def test(session: Session) -> None:
        await asked(session)
        await session.answer("agent/request")
        await session.answer("provider", ProviderError("busy"))
        await session.answer("agent/request-error", answer)
        assert session.told[-2] == f"turn/end 1 error {error}"

    run(test, Session(hold=HOOKS))


@pytest.mark.parametrize("answer", [Retry(), GiveUp(), RuntimeError("late")])
def test_a_cancel_during_recovery_wins(answer: object) -> None:
    """ST-18: and the failed attempt's text is no message (ST-17)."""

    async def test(session: Session) -> None:
        await asked(session)
        await session.answer("agent/request")
        session.requests[0].show("lost")
        await session.answer("provider", ProviderError("busy"))
        session.agent.cancel("user")
        await session.answer("agent/request-error", answer)
        assert session.told == ["step/end 1 1", "turn/end 1 aborted user", "agent/status idle"]

    run(test, Session(hold=HOOKS))


def test_steering_at_the_stop_check_extends_the_turn() -> None:
    """TS-03, TS-05: and the check is made again; a prompt waits for its own turn (TS-04)."""

    async def test(session: Session) -> None:
        await asked(session)
        await session.answer("provider", Reply())
        assert session.told[-1] == "step/end 1 1"
        session.agent.steer(B)
        session.agent.followup(C)
        await session.answer("agent/turn-stopping")
        await session.step()
        await session.answer("agent/turn-stopping")
        assert session.told[-1] == "agent/inbox/claimed C 2"

    run(test, Session(hold=STOP))


def test_the_stop_check_is_skipped_when_input_is_pending_or_a_reply_is_owed() -> None:
    """TS-01, TS-06."""

    async def test(session: Session) -> None:
        await asked(session)
        session.agent.inject(B)
        await session.answer("provider", Reply())
        assert session.open_gate() == "assemble"
        await session.step(Reply("owes"))
        assert session.open_gate() == "assemble"

    run(test, Session(hold=STOP))


def test_a_stop_check_may_fail_and_be_cancelled() -> None:
    """TS-07, TS-08: what was staged stays parked."""

    async def test(session: Session) -> None:
        await asked(session)
        await session.answer("provider", Reply())
        session.agent.inject(B)
        await session.answer("agent/turn-stopping", RuntimeError("torn"))
        assert session.told[-3:-1] == ["agent/error 1 1 torn", "turn/end 1 error torn"]
        assert session.pending() == ("", "B")
        session.agent.followup(C)
        await session.step()
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("agent/turn-stopping")
        assert session.told[-2] == "turn/end 2 aborted user"

    run(test, Session(hold=STOP))


def test_the_first_answer_ends_the_stop_check() -> None:
    """TS-02: None and False are no answers, and none is looked at."""
    heard: list[str] = []

    def answering(name: str, answer: object) -> Callable[[object], object]:
        def listener(_: object) -> object:
            heard.append(name)
            return answer

        return listener

    async def test(session: Session) -> None:
        for name, answer in (("none", None), ("false", False), ("zero", 0), ("late", None)):
            session.bus.on("agent/turn-stopping", answering(name, answer))
        session.agent.followup(A)
        await session.step()
        assert session.told[-2:] == ["turn/end 1 completed", "agent/status idle"]

    run(test)
    assert heard == ["none", "false", "zero"]


@pytest.mark.parametrize(("truncation", "gate"), [("reason", "assemble"), ("outcome", "")])
def test_truncation_sticks_to_the_reason_or_to_the_outcome(truncation: str, gate: str) -> None:
    """A3: whether a reply that is owed later is still asked for."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        session.agent.steer(B)
        await session.answer("provider", Reply("max-tokens"))
        await session.step(Reply("owes"))
        assert session.open_gate() == gate
        if gate:
            await session.step()
        assert "turn/end 1 max-tokens" in session.told

    run(test, Session(policy=Policy(truncation=truncation)))  # type: ignore[arg-type]


PREPARED = Policy(entry="prepared")


@pytest.mark.parametrize("how", ["raises", "is aborted", "is answered"])
def test_messages_enter_once_the_request_is_prepared(how: str) -> None:
    """ST-02 under `prepared`: behind the request hook, and not at all if that comes to nothing."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert session.open_gate() == "agent/request"
        assert session.told[-1] == "step/start 1 1"
        if how == "is aborted":
            session.agent.cancel("user")
        await session.answer("agent/request", RuntimeError("no") if how == "raises" else None)
        entered = "user/message A" in session.told
        assert entered is (how == "is answered")
        if entered:
            assert [message.id for message in session.requests[0].messages] == ["A"]
            await session.answer("provider", RuntimeError("down"))
            await session.answer("agent/request-error", Retry())
            await session.answer("agent/request")
            await session.answer("provider", Reply())
        assert session.told.count("user/message A") == int(entered)
        assert "step/end 1 1" in session.told

    run(test, Session(policy=PREPARED, hold=("agent/request", "agent/request-error")))


def test_an_abort_while_messages_enter_late_asks_nobody() -> None:
    """The signal is looked at once more behind them."""

    async def test(session: Session) -> None:
        session.at("user/message A", lambda: session.agent.cancel("user", keep_inbox=True))
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert session.requests == []
        assert "turn/end 1 aborted user" in session.told

    run(test, Session(policy=PREPARED))
