"""A log that refuses: what the driver does when one record, or the flush, does not go through."""

from __future__ import annotations

import asyncio

import pytest

from loopspec.impl import (
    AppendRefused,
    DispatchFailed,
    FlushFailed,
    Policy,
    Record,
    Reply,
    SessionLog,
    text_message,
)
from tests.impl.sessions import Session, run, settle

A, B = text_message("A"), text_message("B")


def refuse(session: Session, *kinds: str) -> None:
    """Make the session's log refuse the next record of each of these types."""
    left = list(kinds)
    append = session.log.append

    def refusing(kind: str, data: object) -> Record:
        if kind in left:
            left.remove(kind)
            msg = f"no {kind}"
            raise AppendRefused(msg)
        return append(kind, data)

    session.log.append = refusing  # type: ignore[method-assign]


def test_refused_turn_start_reports_and_leaves_inbox_and_counter() -> None:
    """TB-03: the number is used by the next turn."""

    async def test(session: Session) -> None:
        refuse(session, "turn/start")
        session.agent.followup(A)
        assert ["agent/error 0 0 no turn/start", "agent/status idle"] == session.told[-2:]
        assert ("A", "") == session.pending()
        session.agent.followup(B)
        assert "turn/start 1" in session.told

    run(test)


def test_refused_turn_end_is_reported_and_not_retried() -> None:
    """TB-04: the driver ends and the rest is parked."""

    async def test(session: Session) -> None:
        refuse(session, "turn/end")
        session.agent.followup(A)
        session.agent.followup(B)
        await session.step()
        assert ["agent/error 1 1 no turn/end", "agent/status idle"] == session.told[-2:]
        assert ("B", "") == session.pending()

    run(test)


@pytest.mark.parametrize("kind", ["step/start", "user/message", "assistant/message", "step/end"])
def test_refused_record_of_a_step_ends_the_turn_with_an_error(kind: str) -> None:
    """ST-04, ST-05, PS-19: the step that was opened is closed, unless its end was refused."""

    async def test(session: Session) -> None:
        refuse(session, kind)
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        if session.open_gate():
            await session.answer("provider", Reply())
        entered = 0 if kind == "step/start" else 1
        assert session.told[-2].startswith("turn/end 1 error")
        assert f"agent/error 1 {entered}" in session.told[-3]
        assert (kind not in ("step/start", "step/end")) == ("step/end 1 1" in session.told)

    run(test)


def test_refused_second_deletion_of_a_claim_loses_the_first_half_and_tells_nobody() -> None:
    """CL-11: durably gone, no claimed event, the turn ends with an error."""

    async def test(session: Session) -> None:
        session.agent.inject(B)
        append, seen = session.log.append, 0

        def refusing(kind: str, data: object) -> Record:
            nonlocal seen
            seen += kind == "agent/inbox/spliced"
            if seen == 3:
                seen += 1
                msg = "no second deletion"
                raise AppendRefused(msg)
            return append(kind, data)

        session.log.append = refusing  # type: ignore[method-assign]
        session.agent.followup(A)
        assert ("A", "") == session.pending()
        assert not [told for told in session.told if told.startswith("agent/inbox/claimed")]
        assert "turn/end 1 error no second deletion" in session.told

    run(test)


def test_failed_flush_asks_no_provider() -> None:
    """A request is made only of acknowledged records."""

    async def test(session: Session) -> None:
        async def flush() -> None:
            msg = "no flush"
            raise FlushFailed(msg)

        session.log.flush = flush  # type: ignore[method-assign]
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert "turn/end 1 error no flush" in session.told
        assert [] == session.requests
        assert "idle" == session.agent.status

    run(test)


# --- Guards of the log, interceptors of the bus -------------------------------------------------


def test_a_guard_refuses_one_record_and_sees_all() -> None:
    """ID-05: nothing is written or told; whoever leaves is not asked any more."""
    log, seen, told = SessionLog.in_memory(), [], []
    log.subscribe(lambda record: told.append(record.type))

    def guard(kind: str, data: object) -> None:
        seen.append((kind, data))
        if len(seen) == 1:
            msg = "not now"
            raise ValueError(msg)

    leave = log.guard(guard)
    with pytest.raises(AppendRefused, match="turn/start was refused: not now"):
        log.append("turn/start", {"turn": 1})
    log.append("turn/start", {"turn": 1})
    leave()
    log.append("step/start", {"turn": 1, "step": 1})

    assert [("turn/start", {"turn": 1})] * 2 == seen
    assert ["turn/start", "step/start"] == told == [record.type for record in log.read()]


def test_a_guard_must_not_append() -> None:
    """RE-01: as little as a record listener may."""
    log = SessionLog.in_memory()
    log.guard(lambda *_: log.append("turn/start", {"turn": 2}))

    with pytest.raises(AppendRefused, match="tried to append it"):
        log.append("turn/start", {"turn": 1})
    assert () == log.read()


def refuse_once(session: Session, kind: str) -> None:
    """Let a guard refuse the next record of a type."""

    def guard(came: str, _: object) -> None:
        if came == kind:
            leave()
            msg = f"no {kind}"
            raise OSError(msg)

    leave = session.log.guard(guard)


@pytest.mark.parametrize("refused_end", ["hold", "forget"])
def test_behind_a_refused_end_the_policy_decides(refused_end: str) -> None:
    """TB-04, LB-22: no turn opens and each wake is told so, or the next one opens."""

    async def test(session: Session) -> None:
        refuse_once(session, "turn/end")
        session.agent.followup(A)
        await session.step()
        session.agent.followup(B)
        opened = [told for told in session.told if told.startswith("turn/start")]
        reports = [told for told in session.told if told.startswith("agent/error")]
        assert len(opened) == (1 if refused_end == "hold" else 2)
        assert len(reports) == (2 if refused_end == "hold" else 1)
        if refused_end == "hold":
            assert "agent/error 1 0 no turn opens while turn 1 has no end on record" in reports[1]
            assert ("B", "") == session.pending()

    run(test, Session(policy=Policy(refused_end=refused_end)))  # type: ignore[arg-type]


def throw_at(session: Session, name: str) -> None:
    """Let an interceptor raise at the next event of a name."""

    def interceptor(came: str, _: object) -> None:
        if came == name:
            leave()
            msg = f"no {name}"
            raise ValueError(msg)

    leave = session.bus.intercept(interceptor)


@pytest.mark.parametrize("name", ["agent/inbox/inserted", "agent/inbox/claimed", "agent/status"])
def test_an_interceptor_that_raises_is_contained(name: str) -> None:
    """ER-08 to ER-10 as LB-11 and LB-12 want them: one event is missing, the turn runs."""

    async def test(session: Session) -> None:
        throw_at(session, name)
        session.agent.followup(A)
        assert not [told for told in session.told if told.startswith(name)]
        assert "assemble" == session.open_gate()
        assert [name] == [failed for failed, _ in session.failures]
        session.failures.clear()
        await session.step()
        assert "turn/end 1 completed" in session.told

    run(test)


def test_by_policy_a_failed_dispatch_of_an_insertion_reaches_the_call() -> None:
    """ER-08: the message is on record and pending, and nobody was woken."""

    async def test(session: Session) -> None:
        throw_at(session, "agent/inbox/inserted")
        with pytest.raises(DispatchFailed, match="agent/inbox/inserted was not dispatched"):
            session.agent.followup(A)
        assert (("A", ""), "idle") == (session.pending(), session.agent.status)

    run(test, Session(policy=Policy(interceptor="throws")))


def test_by_policy_a_failed_dispatch_of_a_claim_costs_the_batch() -> None:
    """ER-09: the turn fails."""

    async def test(session: Session) -> None:
        throw_at(session, "agent/inbox/claimed")
        session.agent.followup(A)
        assert session.told[-1].startswith("turn/end 1 error agent/inbox/claimed was not")
        assert ("", "") == session.pending()

    run(test, Session(policy=Policy(interceptor="throws")))


def test_by_policy_a_failed_dispatch_of_the_status_leaves_the_agent_running() -> None:
    """ER-10: the call raises, and whoever waits for idle waits for ever."""

    async def test(session: Session) -> None:
        throw_at(session, "agent/status")
        with pytest.raises(DispatchFailed):
            session.agent.followup(A)
        waiting = session.agent.when_idle()
        await settle()
        assert ("running", False) == (session.agent.status, waiting.done())
        assert [] == [told for told in session.told if told.startswith("turn/")]

    run(test, Session(policy=Policy(interceptor="throws")))


def test_by_policy_a_failed_dispatch_behind_maintenance_reaches_nobody() -> None:
    """ER-10: no call has started the driver, so the failure is reported and no more."""

    async def test(session: Session) -> None:
        task: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def maintain(_: object) -> None:
            await task

        settled = session.agent.run_maintenance(maintain)
        session.agent.followup(A)
        throw_at(session, "agent/status")
        task.set_result(None)
        await settle()
        assert ("running", True) == (session.agent.status, settled.done())
        assert ["agent/status"] == [failed for failed, _ in session.failures]
        session.failures.clear()

    run(test, Session(policy=Policy(interceptor="throws")))
