"""Maintenance, waiting for idle, and disposal."""

from __future__ import annotations

import pytest

from loopspec.impl import (
    AgentBusy,
    AgentClosed,
    AgentDisposed,
    AppendRefused,
    Policy,
    SessionLog,
    text_message,
)
from tests.impl.sessions import Session, run, settle

A, B, C = (text_message(name) for name in "ABC")


def test_a_task_starts_inside_the_call_and_its_value_is_kept() -> None:
    """MN-02, MN-03, MN-10: no record, no status."""

    async def test(session: Session) -> None:
        done = session.agent.run_maintenance(session.maintain)
        assert session.open_gate() == "maintenance"
        assert session.agent.status == "idle"
        await session.answer("maintenance", 7)
        assert done.result() == 7
        assert session.told == []

    run(test)


def test_a_task_that_does_not_wait_is_done_in_the_call() -> None:
    """Nothing is suspended that need not be."""

    async def test(session: Session) -> None:
        async def nothing(_: object) -> int:
            return 3

        assert session.agent.run_maintenance(nothing).result() == 3

    run(test)


@pytest.mark.parametrize("answer", [None, RuntimeError("broken")])
def test_a_wake_meanwhile_is_driven_before_the_task_settles(answer: object) -> None:
    """MN-05, MN-09: whether it failed or not; a quiet message alone is not (MN-04)."""

    async def test(session: Session) -> None:
        done = session.agent.run_maintenance(session.maintain)
        idle = session.agent.when_idle()
        session.agent.followup(A)
        assert session.told[-1] == "agent/inbox/inserted A"
        seen: list[bool] = []
        session.at("turn/start 1", lambda: seen.append(done.done()))
        await session.answer("maintenance", answer)
        assert seen == [False]
        assert done.done()
        assert (done.exception() is None) == (answer is None)
        assert not idle.done()
        await session.step()
        assert idle.done()

    run(test)


def test_quiet_and_removed_messages_start_nothing_afterwards() -> None:
    """MN-04, MN-06."""

    async def test(session: Session) -> None:
        session.agent.run_maintenance(session.maintain)
        session.agent.inject(A)
        session.agent.followup(B)
        session.agent.inbox.remove("B")
        await session.answer("maintenance")
        assert session.agent.status == "idle"
        assert session.pending() == ("", "A")

    run(test)


def test_maintenance_needs_true_idle_and_nothing_else() -> None:
    """MN-01, MN-08: refused while anything runs, also from inside maintenance."""

    async def test(session: Session) -> None:
        session.agent.inject(A)
        session.agent.run_maintenance(session.maintain)
        with pytest.raises(AgentBusy, match="maintenance"):
            session.agent.run_maintenance(session.maintain)
        await session.answer("maintenance")
        session.agent.followup(B)
        with pytest.raises(AgentBusy, match="running"):
            session.agent.run_maintenance(session.maintain)

    run(test)


def test_a_cancel_reaches_maintenance() -> None:
    """CN-08, MN-07, RT-13, WL-09: broad forgets the wake, keep does not; steering is redirected."""

    async def test(session: Session) -> None:
        session.agent.run_maintenance(session.maintain)
        session.agent.followup(A)
        session.agent.cancel("user")
        session.agent.steer(B)
        assert session.pending() == ("B", "")
        session.agent.cancel("parent", keep_inbox=True)
        await session.answer("maintenance")
        assert session.told[-1] == "agent/inbox/claimed B 1"

    run(test)


def test_maintenance_from_an_idle_listener_defers_the_driver_that_is_owed() -> None:
    """WL-12."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.cancel("user")
        session.agent.followup(B)
        session.at("agent/status idle", lambda: session.agent.run_maintenance(session.maintain))
        await session.answer("assemble")
        assert session.told[-1] == "agent/status idle"
        await session.answer("maintenance")
        assert session.told[-1] == "agent/inbox/claimed B 2"

    run(test)


def test_waiting_is_over_at_once_when_idle_and_never_fails() -> None:
    """WI-01, WI-03, WI-04."""

    async def test(session: Session) -> None:
        session.agent.inject(C)
        assert session.agent.when_idle().done()
        session.agent.followup(A)
        waiting = session.agent.when_idle()
        await session.answer("assemble", RuntimeError("broken"))
        assert waiting.result() is None

    run(test)


def test_waiting_follows_what_replaces_the_activity() -> None:
    """WI-02."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        waiting = session.agent.when_idle()
        session.at("agent/status idle", lambda: session.agent.followup(B))
        await session.answer("assemble", RuntimeError("broken"))
        assert not waiting.done()
        await session.answer("assemble", RuntimeError("broken"))
        assert waiting.done()

    run(test)


def test_disposal_ends_what_runs_and_starts_nothing_more() -> None:
    """DI-04 to DI-06, RT-14, A2: deliveries until it is done are recorded, later ones raise."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        gone = session.agent.dispose()
        assert gone is session.agent.dispose()
        assert session.pending() == ("", "")
        session.agent.steer(C)
        assert not gone.done()
        await session.answer("assemble")
        assert gone.done()
        assert session.told[-2:] == ["turn/end 1 aborted disposed", "agent/status idle"]
        assert session.pending() == ("C", "")
        for deliver in (session.agent.followup, session.agent.steer, session.agent.inject):
            with pytest.raises(AgentDisposed):
                deliver(A)
        with pytest.raises(AgentDisposed):
            session.agent.run_maintenance(session.maintain)

    run(test)


def test_a_wake_from_the_idle_listener_of_a_disposal_starts_nothing() -> None:
    """DI-07, A1: so disposal always ends."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.at("agent/status idle", lambda: session.agent.followup(B))
        gone = session.agent.dispose()
        await session.answer("assemble")
        assert gone.done()
        assert session.agent.status == "idle"

    run(test)


def test_disposal_of_an_idle_agent_and_of_maintenance() -> None:
    """Done at once, or when the task has ended."""

    async def idle(session: Session) -> None:
        session.agent.inject(A)
        assert session.agent.dispose().done()
        assert session.pending() == ("", "")

    async def busy(session: Session) -> None:
        session.agent.run_maintenance(session.maintain)
        gone = session.agent.dispose()
        session.agent.followup(A)
        assert not gone.done()
        await session.answer("maintenance")
        assert gone.done()
        assert session.agent.status == "idle"

    run(idle)
    run(busy)


def test_disposal_whose_clear_is_refused_begins_all_the_same() -> None:
    """A8: the refusal is raised, what was pending is parked, and no turn opens any more."""
    refused: list[AppendRefused] = []

    async def test(session: Session) -> None:
        def dispose() -> None:
            with pytest.raises(AppendRefused) as caught:
                session.agent.dispose()
            refused.append(caught.value)

        session.agent.followup(A)
        session.agent.followup(B)
        session.at("turn/end 1 completed", dispose)
        await session.step()
        assert session.told[-1] == "agent/status idle"
        assert session.pending() == ("B", "")
        assert session.agent.dispose().done()

    run(test)
    assert len(refused) == 1


def test_a_disposed_log_can_be_opened_by_another_agent() -> None:
    """What disposal left behind is quiet there."""
    log = SessionLog.in_memory()

    async def first(session: Session) -> None:
        session.agent.followup(A)
        session.agent.dispose()
        session.agent.followup(B)
        await session.answer("assemble")
        other = Session(session.log)
        assert other.pending() == ("B", "")

    run(first, Session(log))


def test_a_closed_agent_refuses_everything_that_starts() -> None:
    """Outside its block there is no task to run anything."""
    agent = Session().agent
    with pytest.raises(AgentClosed):
        agent.run_maintenance(lambda _: settle())
    with pytest.raises(AgentClosed):
        agent.when_idle()


def latch_and_remove(session: Session) -> None:
    """Wake under an abort, take the message away, and leave a quiet one."""
    session.agent.followup(A)
    session.agent.cancel("user")
    session.agent.followup(B)
    session.agent.inbox.remove("B")
    session.agent.inject(C)


@pytest.mark.parametrize(("wakes", "status"), [("marks", "idle"), ("latch", "running")])
def test_a_wake_goes_with_its_message_or_stays_as_a_latch(wakes: str, status: str) -> None:
    """A9, WL-06: under `latch` whatever is pending runs."""

    async def test(session: Session) -> None:
        latch_and_remove(session)
        await session.answer("assemble")
        assert session.agent.status == status

    run(test, Session(policy=Policy(wakes=wakes)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("disposal", "status"), [("fact", "idle"), ("cause", "running")])
def test_disposal_is_a_fact_or_a_cause(disposal: str, status: str) -> None:
    """A2, WL-07: under `cause` a wake behind an earlier cancel is driven."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.cancel("user")
        session.agent.dispose()
        session.agent.followup(B)
        await session.answer("assemble")
        assert session.agent.status == status

    run(test, Session(policy=Policy(disposal=disposal)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("clear", "kept"), [("pending", "C"), ("live", "")])
def test_a_broad_cancel_spares_or_takes_what_comes_meanwhile(clear: str, kept: str) -> None:
    """A11, RE-06: a message for next-turn that a discard listener delivers."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.inject(B)
        session.at("agent/inbox/discarded B", lambda: session.agent.followup(C))
        session.agent.cancel("user")
        assert session.pending() == (kept, "")

    run(test, Session(policy=Policy(clear=clear)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("refused_clear", "aborted"), [("abort", True), ("throw", False)])
def test_a_refused_clear_cancels_or_not(refused_clear: str, aborted: bool) -> None:
    """A8, RE-03."""

    async def test(session: Session) -> None:
        def cancel() -> None:
            with pytest.raises(AppendRefused):
                session.agent.cancel("user")

        session.agent.inject(B)
        session.at("turn/start 1", cancel)
        session.agent.followup(A)
        assert session.gates[0][1] is aborted

    run(test, Session(policy=Policy(refused_clear=refused_clear)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("cancel_hits", "aborted"), [("began", False), ("clear", True)])
def test_a_cancel_hits_the_activity_of_its_beginning_or_of_its_end(
    cancel_hits: str, aborted: bool
) -> None:
    """A11: a discard listener that starts a driver."""

    async def test(session: Session) -> None:
        session.agent.inject(A)
        session.at("agent/inbox/discarded A", lambda: session.agent.followup(B))
        session.agent.cancel("user")
        await session.answer("assemble")
        assert ("turn/end 1 aborted user" in session.told) is aborted

    run(test, Session(policy=Policy(cancel_hits=cancel_hits)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("no_op", "refused"), [("answers", False), ("refused", True)])
def test_a_change_of_nothing_inside_a_record_is_answered_or_refused(
    no_op: str, refused: bool
) -> None:
    """RE-01: a splice, a removal and a replacement without effect; elsewhere they are answered."""
    answers: list[object] = []

    def try_all(session: Session) -> None:
        inbox = session.agent.inbox
        calls = (
            lambda: inbox.splice("next-turn", 0, 0),
            lambda: inbox.remove("C"),
            lambda: inbox.replace("C", B),
        )
        for call in calls:
            try:
                answers.append(call())
            except AppendRefused:
                answers.append("refused")

    async def test(session: Session) -> None:
        session.at("turn/start 1", lambda: try_all(session))
        session.agent.followup(A)
        try_all(session)
        session.agent.cancel("user")
        await session.answer("assemble")

    run(test, Session(policy=Policy(no_op=no_op)))  # type: ignore[arg-type]
    inside = ["refused"] * 3 if refused else [(), False, False]
    assert answers == [*inside, (), False, False]


@pytest.mark.parametrize(("disposed_turn", "gate"), [("runs", "assemble"), ("fails", "")])
def test_a_turn_behind_a_disposal_runs_or_fails(disposed_turn: str, gate: str) -> None:
    """A7: the claim is made either way, and the turn is closed."""

    async def test(session: Session) -> None:
        await session.agent.dispose()
        session.agent.followup(A)
        assert "agent/inbox/claimed A 1" in session.told
        assert session.open_gate() == gate
        if gate:
            await session.step()
        await settle()
        failed = [each for each in session.told if each.startswith("agent/error")]
        assert bool(failed) is not bool(gate)
        assert session.agent.status == "idle"

    policy = Policy(disposal="cause", disposed_turn=disposed_turn)  # type: ignore[arg-type]
    run(test, Session(policy=policy))


@pytest.mark.parametrize(
    ("disposed_latch", "status"), [("replays", "running"), ("forgotten", "idle")]
)
def test_a_maintenance_that_was_disposed_of_replays_its_wake_or_not(
    disposed_latch: str, status: str
) -> None:
    """A2: the wake came under an earlier cause."""

    async def test(session: Session) -> None:
        session.agent.run_maintenance(session.maintain)
        session.agent.cancel("user")
        session.agent.dispose()
        session.agent.followup(A)
        await session.answer("maintenance")
        assert session.agent.status == status

    policy = Policy(wakes="latch", disposal="cause", disposed_latch=disposed_latch)  # type: ignore[arg-type]
    run(test, Session(policy=policy))
