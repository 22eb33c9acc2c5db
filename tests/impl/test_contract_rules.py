"""Rules that no trace shows: shared objects, listeners that fail, what a request holds."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from loopspec.impl import (
    Claimed,
    DataBlock,
    Discarded,
    Enter,
    Inserted,
    Message,
    PreStep,
    Reject,
    Reply,
    SessionLog,
    TextBlock,
    text_message,
)
from tests.impl.sessions import EVENTS, Session, run

A, B, C = (text_message(name) for name in "ABC")


def test_two_ordered_lists_hold_whole_messages_by_id() -> None:
    """IN-01: every block of a message is there, and an id finds it in either list."""
    whole = Message("W", "user", "user", (TextBlock("text"), DataBlock("image", {"text": "x"})))

    async def test(session: Session) -> None:
        inbox = session.agent.inbox
        for target, message in (("next-turn", A), ("next-turn", whole), ("next-step", B)):
            inbox.append(target, message)
        assert inbox.next_turn == (A, whole)
        assert inbox.next_step == (B,)
        assert inbox.replace("B", C)
        assert inbox.remove("A")
        left = session.agent.inbox
        assert [*left.next_turn, *left.next_step] == [whole, C]

    run(test)


def test_one_frozen_message_is_shared_by_lists_events_and_decision() -> None:
    """IN-06: the same object everywhere, and nobody can change it."""
    seen: list[Any] = []

    async def test(session: Session) -> None:
        for name in ("agent/inbox/inserted", "agent/inbox/claimed", "agent/inbox/discarded"):
            session.bus.on(name, lambda payload: seen.append(payload.message))
        session.bus.on(
            "agent/assemble", lambda payload: seen.extend(payload.messages), prepend=True
        )
        session.agent.inbox.append("next-turn", A)
        (listed,) = session.agent.inbox.next_turn
        seen.append(listed)
        session.agent.followup(B)
        assert {id(each) for each in seen if each.id == "A"} == {id(listed)}
        assert sum(each.id == "A" for each in seen) == 4
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            listed.id = "other"  # type: ignore[misc]

    run(test)


def test_a_recorded_message_is_equal_and_stored_on_its_own() -> None:
    """IN-07: what the record holds is no object of the inbox."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.step()
        (record,) = (each for each in session.log.read() if each.type == "user/message")
        assert record.payload == A
        assert record.payload is not A

    run(test)


def test_a_list_that_was_read_does_not_change() -> None:
    """IN-08: removing while one goes through it skips nothing."""

    async def test(session: Session) -> None:
        inbox = session.agent.inbox
        for message in (A, B, C):
            inbox.append("next-turn", message)
        before = inbox.next_turn
        for message in before:
            assert inbox.remove(message.id)
        assert before == (A, B, C)
        assert inbox.next_turn == ()

    run(test)


@pytest.mark.parametrize("target", ["next-turn", "next-step"])
def test_something_is_pending_when_either_list_has_a_message(target: str) -> None:
    """IN-09: quiet ones count."""

    async def test(session: Session) -> None:
        assert not session.agent.inbox.has_pending
        session.agent.inbox.append(target, A)
        assert session.agent.inbox.has_pending
        session.agent.inbox.remove("A")
        assert not session.agent.inbox.has_pending

    run(test)


def test_the_inbox_has_no_limit_and_merges_nothing() -> None:
    """IN-16: a thousand messages that differ in their ids only stay a thousand, in order."""
    many = [attrs.evolve(A, id=f"m{number}") for number in range(1_000)]

    async def test(session: Session) -> None:
        for message in many:
            session.agent.inject(message)
        assert list(session.agent.inbox.next_step) == many
        session.agent.followup(B)
        claimed = [each for each in session.told if each.startswith("agent/inbox/claimed m")]
        assert len(claimed) == 1_000

    run(test)


def test_an_inbox_event_carries_its_message_alone_and_a_claim_its_turn() -> None:
    """LN-05."""
    fields = {kind: set(attrs.fields_dict(kind)) for kind in (Inserted, Discarded, Claimed)}

    assert fields == {
        Inserted: {"message"},
        Discarded: {"message"},
        Claimed: {"message", "turn"},
    }


def test_a_claimed_batch_and_the_inbox_do_not_reach_each_other() -> None:
    """CL-13: an edit behind the claim misses it, and the batch cannot be extended."""
    offered: list[PreStep] = []

    async def decide(payload: PreStep, proceed: Any) -> Enter | Reject:  # noqa: ANN401
        offered.append(payload)
        decision: Enter | Reject = await proceed()
        return decision

    async def test(session: Session) -> None:
        session.bus.on("agent/pre-step", decide, prepend=True)
        session.agent.followup(A)
        assert not session.agent.inbox.remove("A")
        session.agent.inbox.append("next-step", B)
        await session.answer("assemble")
        assert offered[0].messages == (A,)
        assert isinstance(offered[0].messages, tuple)
        assert session.pending() == ("", "B")

    run(test)


def test_a_live_driver_counts_its_turns_itself() -> None:
    """DR-05: a turn/start that somebody else appends moves no number."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.step()
        session.log.append("turn/start", {"turn": 7})
        session.agent.followup(B)
        assert "agent/inbox/claimed B 2" in session.told

    run(test)


def test_a_request_is_made_of_the_records() -> None:
    """ST-06: neither what is pending nor what was claimed and not entered is in it."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        session.agent.inject(C)
        await session.answer("pre-step", Enter((B,)))
        assert [message.id for message in session.requests[0].messages] == ["B"]
        recorded = [each for each in session.log.read() if each.type == "user/message"]
        assert [each.payload for each in recorded] == list(session.requests[0].messages)

    run(test)


def test_a_later_request_holds_the_interrupted_text() -> None:
    """ST-15."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        session.requests[0].show("half")
        session.agent.cancel("user")
        await session.answer("provider", Reply())
        session.agent.followup(B)
        await session.answer("assemble")
        await session.answer("pre-step")
        _, cut, _ = session.requests[1].messages
        assert cut.role == "assistant"
        assert cut.content == (TextBlock("half"),)

    run(test)


def test_an_answer_that_does_not_say_why_it_ends_is_finished() -> None:
    """ST-21: a reply without a kind ends the turn as completed."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.step(Reply(content=(TextBlock("text"),)))
        assert "turn/end 1 completed" in session.told

    run(test)


def fail(_: object) -> None:
    """Be a listener that raises."""
    raise RuntimeError


def test_a_status_listener_that_raises_stops_nobody() -> None:
    """WI-06: those behind it are told, the driver works, who waits is told."""

    async def test(session: Session) -> None:
        session.bus.on("agent/status", fail, prepend=True)
        session.agent.followup(A)
        waiter = session.agent.when_idle()
        await session.step()
        assert session.told.count("agent/status running") == 1
        assert session.told.count("agent/status idle") == 1
        assert waiter.done()

    assert [name for name, _ in run(test).failures] == ["agent/status"] * 2


@pytest.mark.parametrize("ends", ["completed", "error"])
def test_listeners_that_raise_change_neither_this_turn_nor_the_next(ends: str) -> None:
    """ER-04, ER-06: of every record and every event, the report of a failure too."""

    async def test(session: Session) -> None:
        session.log.subscribe(fail, prepend=True)
        for name in EVENTS:
            session.bus.on(name, fail, prepend=True)
        for turn, message in ((1, A), (2, B)):
            session.agent.followup(message)
            if ends == "error":
                await session.answer("assemble", RuntimeError("no"))
                expected = f"turn/end {turn} error no"
            else:
                await session.step()
                expected = f"turn/end {turn} completed"
            assert [expected, "agent/status idle"] == session.told[-2:]

    log = SessionLog.in_memory(on_failure=lambda name, error: None)
    assert run(test, Session(log)).failures
