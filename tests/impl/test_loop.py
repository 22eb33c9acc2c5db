"""The driver and the deliveries: order, endings, cancel, marks. One rule or two for each test."""

from __future__ import annotations

import asyncio

import pytest

from loopspec.impl import (
    Agent,
    AgentClosed,
    AppendRefused,
    Assemble,
    BadArgument,
    DuplicateMessageId,
    Enter,
    Policy,
    ProviderCut,
    ProviderError,
    Reject,
    Reply,
    ScriptedProvider,
    SessionLog,
    text_message,
)
from tests.impl.sessions import Session, run, settle

A, B, C, D = (text_message(name) for name in "ABCD")


def test_wake_on_idle_is_synchronous_up_to_assembly() -> None:
    """LN-10 and P47: parked context precedes the prompt, and the call returns after the gate."""

    async def test(session: Session) -> None:
        session.agent.inject(B)
        session.agent.followup(A)
        assert [
            "spliced next-step@0-0+B",
            "agent/inbox/inserted B",
            "spliced next-turn@0-0+A",
            "agent/inbox/inserted A",
            "agent/status running",
            "turn/start 1",
            "spliced next-step@0-1+",
            "spliced next-turn@0-1+",
            "agent/inbox/claimed B 1",
            "agent/inbox/claimed A 1",
        ] == session.told
        assert "assemble" == session.open_gate()

    run(test)


def test_one_undisturbed_turn_reads_in_the_canonical_order() -> None:
    """From assembly to idle: step, messages, answer, step end, turn end, status."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        seen = len(session.told)
        await session.step()
        assert [
            "step/start 1 1",
            "user/message A",
            "assistant/message 1 1",
            "step/end 1 1",
            "turn/end 1 completed",
            "agent/status idle",
        ] == session.told[seen:]
        assert "idle" == session.agent.status
        assert [("A", "user")] == [(m.id, m.role) for m in session.requests[0].messages]

    run(test)


def test_each_followup_of_a_burst_gets_its_own_turn_in_one_running_interval() -> None:
    """RT-03, DR-03, DR-08."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        await session.step()
        assert "running" == session.agent.status
        await session.step()
        assert 1 == session.told.count("agent/status running")
        assert ["turn/end 1 completed", "turn/start 2"] == [
            told for told in session.told if told in ("turn/end 1 completed", "turn/start 2")
        ]

    run(test)


def test_steering_joins_the_next_step_and_a_followup_does_not() -> None:
    """RT-05, RT-06, CL-01."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        session.agent.steer(B)
        session.agent.followup(C)
        await session.answer("pre-step")
        await session.answer("provider", Reply())
        assert "agent/inbox/claimed B 1" == session.told[-1]
        assert ("C", "") == session.pending()

    run(test)


def test_owed_reply_opens_a_step_without_messages() -> None:
    """PS-12: an empty entry at a continuation that owes a reply still asks the provider."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.step(Reply("owes"))
        await session.answer("assemble")
        await session.answer("pre-step", Enter(()))
        assert "step/start 1 2" == session.told[-1]
        await session.answer("provider", Reply())
        assert "turn/end 1 completed" in session.told

    run(test)


def test_empty_first_entry_completes_and_parks_the_rest() -> None:
    """TB-14."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        await session.answer("assemble")
        await session.answer("pre-step", Enter(()))
        assert ["turn/end 1 completed", "agent/status idle"] == session.told[-2:]
        assert ("B", "") == session.pending()

    run(test)


def test_empty_entry_after_a_finished_step_ends_with_the_earlier_outcome_and_goes_on() -> None:
    """PS-13, TB-16: the driver opens the next turn."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        session.agent.inject(C)
        await session.step(Reply("max-tokens"))
        await session.answer("assemble")
        await session.answer("pre-step", Enter(()))
        assert "turn/end 1 max-tokens" in session.told
        assert "agent/inbox/claimed B 2" == session.told[-1]

    run(test)


def test_max_tokens_stays_the_reason_and_does_not_suppress_an_owed_reply() -> None:
    """OF-02 with A3."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.inject(B)
        await session.step(Reply("max-tokens"))
        await session.step(Reply("owes"))
        await session.step(Reply("done"))
        assert "step/start 1 3" in session.told
        assert "turn/end 1 max-tokens" in session.told

    run(test)


def test_reject_opens_no_step_and_puts_nothing_back() -> None:
    """PS-10, CL-09, DR-09: blocked, the batch is gone, the tail is parked."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        await session.answer("assemble")
        seen = len(session.told)
        await session.answer("pre-step", Reject())
        assert ["turn/end 1 blocked", "agent/status idle"] == session.told[seen:]
        assert ("B", "") == session.pending()

    run(test)


@pytest.mark.parametrize(
    ("gates", "error"),
    [
        (("assemble",), RuntimeError("assembly failed")),
        (("assemble", "pre-step"), RuntimeError("pre-step raised")),
        (("assemble", "pre-step", "provider"), ProviderError()),
        (("assemble", "pre-step", "provider"), ProviderCut()),
    ],
)
def test_failure_at_a_gate_is_reported_once_and_ends_the_turn(
    gates: tuple[str, ...], error: Exception
) -> None:
    """TB-09, TB-12, ER-07, ER-11: agent/error before turn/end, with the last entered step."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        for gate in gates[:-1]:
            await session.answer(gate)
        await session.answer(gates[-1], error)
        step = 1 if gates[-1] == "provider" else 0
        ended = [f"agent/error 1 {step} {error}", f"turn/end 1 error {error}", "agent/status idle"]
        assert ended == session.told[-3:]
        assert step == session.told.count("step/end 1 1")

    run(test)


@pytest.mark.parametrize("value", [RuntimeError("late"), None, Reject()])
def test_abort_wins_over_every_answer_of_the_pre_step(value: object) -> None:
    """PS-15, TB-13."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        session.agent.cancel("user", keep_inbox=True)
        session.agent.cancel("parent", keep_inbox=True)
        await session.answer("pre-step", value)
        assert ["turn/end 1 aborted user", "agent/status idle"] == session.told[-2:]
        assert not [told for told in session.told if told.startswith(("agent/error", "step/"))]

    run(test)


def test_abort_during_assembly_skips_the_decision() -> None:
    """PS-16."""

    async def test(session: Session) -> None:
        session.at("agent/inbox/claimed A 1", lambda: session.agent.cancel("user"))
        session.agent.followup(A)
        await session.answer("assemble")
        assert "turn/end 1 aborted user" in session.told
        assert "" == session.open_gate()

    run(test)


def test_cancel_in_the_listener_of_step_start_enters_the_messages_and_asks_nobody() -> None:
    """ST-02, ST-03."""

    async def test(session: Session) -> None:
        session.at("step/start 1 1", lambda: session.agent.cancel("user"))
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert ["user/message A", "step/end 1 1", "turn/end 1 aborted user"] == session.told[-4:-1]
        assert [] == session.requests

    run(test)


def test_answer_after_an_abort_leaves_no_assistant_message() -> None:
    """A provider that ignores the signal is awaited, and its answer is not used."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        session.agent.cancel("user")
        await session.answer("provider", Reply())
        assert ["step/end 1 1", "turn/end 1 aborted user"] == session.told[-3:-1]

    run(test)


def test_keep_cancel_advances_the_preserved_queue_after_idle() -> None:
    """4.1 row 2: running, idle, running, idle; the head first."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("assemble")
        assert [
            "turn/end 1 aborted user",
            "agent/status idle",
            "agent/status running",
            "turn/start 2",
            "spliced next-turn@0-1+",
            "agent/inbox/claimed B 2",
        ] == session.told[-6:]

    run(test)


def test_policy_park_leaves_the_preserved_queue_but_drives_a_late_wake() -> None:
    """The park reading of 4.1 row 2."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("assemble")
        assert "idle" == session.agent.status
        session.agent.followup(C)
        session.agent.cancel("user", keep_inbox=True)
        session.agent.followup(D)
        await session.answer("assemble")
        assert "agent/inbox/claimed C 3" == session.told[-1]

    run(test, Session(policy=Policy(after_keep_cancel="park")))


def test_aborted_turn_with_only_quiet_messages_parks() -> None:
    """4.1 row 3."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.inbox.append("next-turn", B)
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("assemble")
        assert "idle" == session.agent.status
        assert ("B", "") == session.pending()

    run(test)


def test_wakes_after_an_abort_go_to_next_turn_and_are_driven() -> None:
    """RT-09, RT-11, WL-02 to WL-05, P37."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.steer(B)
        session.agent.cancel("user", keep_inbox=True)
        session.agent.steer(C)
        session.agent.inject(D)
        assert ("C", "B D") == session.pending()
        await session.answer("assemble")
        claims = [told for told in session.told if told.startswith("agent/inbox/claimed")]
        assert [f"agent/inbox/claimed {name}" for name in ("A 1", "B 2", "D 2", "C 2")] == claims

    run(test)


def test_wake_in_the_exit_gap_runs_after_idle() -> None:
    """LB-02 and the one tick of the gap: status reads running at the call, and nothing is lost."""

    async def test(session: Session) -> None:
        loop = asyncio.get_running_loop()
        seen: list[str] = []

        def in_the_gap() -> None:
            seen.append(session.agent.status)
            session.agent.steer(B)

        session.at("turn/end 1 completed", lambda: loop.call_soon(in_the_gap))
        session.agent.followup(A)
        await session.step()
        assert ["running"] == seen
        assert [
            "turn/end 1 completed",
            "spliced next-step@0-0+B",
            "agent/inbox/inserted B",
            "agent/status idle",
            "agent/status running",
            "turn/start 2",
        ] == session.told[-8:-2]

    run(test)


def test_exit_gap_is_one_tick_long() -> None:
    """A callback that is scheduled in the gap finds the agent idle."""

    async def test(session: Session) -> None:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        session.at(
            "turn/end 1 completed",
            lambda: loop.call_soon(
                lambda: loop.call_soon(lambda: seen.append(session.agent.status))
            ),
        )
        session.agent.followup(A)
        await session.step()
        assert ["idle"] == seen

    run(test)


def test_keep_cancel_at_turn_end_touches_a_retired_signal() -> None:
    """CN-14: the queued message runs as the next turn of the same driver."""

    async def test(session: Session) -> None:
        session.at("turn/end 1 completed", lambda: session.agent.cancel("user", keep_inbox=True))
        session.agent.followup(A)
        session.agent.followup(B)
        await session.step()
        assert "agent/inbox/claimed B 2" == session.told[-1]
        await session.step()
        assert "turn/end 2 completed" in session.told
        assert 1 == session.told.count("agent/status running")

    run(test)


def test_keep_cancel_from_the_running_listener_opens_no_turn_and_parks() -> None:
    """CN-09, TB-02, 4.1 row 5: idle in the same stack."""

    async def test(session: Session) -> None:
        session.at("agent/status running", lambda: session.agent.cancel("user", keep_inbox=True))
        session.agent.followup(A)
        assert ["agent/status running", "agent/status idle"] == session.told[-2:]
        assert ("A", "") == session.pending()
        session.agent.followup(B)
        assert "agent/inbox/claimed A 1" == session.told[-1]

    run(test)


def test_wake_from_the_idle_listener_starts_a_driver_at_once() -> None:
    """WL-11: the check for due messages then finds a running agent."""

    async def test(session: Session) -> None:
        session.at("agent/status idle", lambda: session.agent.followup(B))
        session.agent.followup(A)
        await session.step()
        assert "assemble" == session.open_gate()
        await session.step()
        assert 2 == session.told.count("agent/status running")
        assert "idle" == session.agent.status

    run(test)


def test_followup_from_the_error_listener_stays_parked() -> None:
    """WL-13, P10: error report, insertion, turn end."""

    async def test(session: Session) -> None:
        session.at("agent/error 1 0 no", lambda: session.agent.followup(B))
        session.agent.followup(A)
        await session.answer("assemble", RuntimeError("no"))
        assert ("B", "") == session.pending()
        assert [
            "agent/error 1 0 no",
            "spliced next-turn@0-0+B",
            "agent/inbox/inserted B",
            "turn/end 1 error no",
            "agent/status idle",
        ] == session.told[-5:]

    run(test)


def test_cancel_in_the_error_listener_comes_too_late() -> None:
    """The ending was computed before it was reported."""

    async def test(session: Session) -> None:
        session.at("agent/error 1 0 no", lambda: session.agent.cancel("user"))
        session.agent.followup(A)
        await session.answer("assemble", RuntimeError("no"))
        assert "turn/end 1 error no" in session.told

    run(test)


def test_nested_followup_from_the_inserted_listener_starts_the_driver_inside() -> None:
    """RE-10, P59: the outer send finds the driver running."""

    async def test(session: Session) -> None:
        session.at("agent/inbox/inserted A", lambda: session.agent.followup(B))
        session.agent.followup(A)
        assert "agent/inbox/claimed A 1" == session.told[-1]
        assert 1 == session.told.count("agent/status running")
        assert ("B", "") == session.pending()

    run(test)


def test_message_removed_before_the_claim_leaves_an_empty_turn() -> None:
    """RE-11, RT-15, CL-12."""

    async def test(session: Session) -> None:
        session.at("agent/inbox/inserted A", lambda: session.agent.inbox.remove("A"))
        session.agent.followup(A)
        assert ["agent/status running", "turn/start 1"] == session.told[-2:]
        await session.answer("assemble")
        await session.answer("pre-step")
        assert ["turn/end 1 completed", "agent/status idle"] == session.told[-2:]

    run(test)


def test_broad_cancel_discards_next_step_first_and_then_aborts() -> None:
    """CN-01, IN-14."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        session.agent.inject(C)
        session.agent.inject(D)
        seen = len(session.told)
        session.agent.cancel("user")
        assert [
            "spliced next-step@0-2+ canceled",
            "agent/inbox/discarded C",
            "agent/inbox/discarded D",
            "spliced next-turn@0-1+ canceled",
            "agent/inbox/discarded B",
        ] == session.told[seen:]
        await session.answer("assemble")
        assert ["turn/end 1 aborted user", "agent/status idle"] == session.told[-2:]

    run(test)


def test_delivery_during_a_broad_cancel_stays_and_wakes() -> None:
    """A11, instead of RE-06: only what was pending when the call began is removed."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.inject(B)
        session.agent.followup(C)
        session.at("agent/inbox/discarded B", lambda: session.agent.followup(D))
        session.agent.cancel("user")
        assert ("D", "") == session.pending()
        await session.answer("assemble")
        assert "agent/inbox/claimed D 2" == session.told[-1]

    run(test)


def test_replacement_made_during_a_broad_cancel_stays() -> None:
    """A replacement is a new insertion; it inherits the mark, so it wakes."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.inject(B)
        session.agent.followup(C)
        session.at("agent/inbox/discarded B", lambda: session.agent.inbox.replace("C", D))
        session.agent.cancel("user")
        assert ("D", "") == session.pending()
        await session.answer("assemble")
        assert "agent/inbox/claimed D 2" == session.told[-1]

    run(test)


def test_broad_cancel_on_idle_clears_and_does_not_abort_what_a_listener_starts() -> None:
    """CN-07 with A11: the signal of the moment of the call is the one that is meant."""

    async def test(session: Session) -> None:
        session.agent.inject(A)
        session.at("agent/inbox/discarded A", lambda: session.agent.followup(B))
        session.agent.cancel("user")
        await session.step()
        assert "turn/end 1 completed" in session.told

    run(test)


def test_broad_cancel_whose_clear_is_refused_aborts_and_quietens_the_rest() -> None:
    """A8, RE-02: the refusal is raised after the abort; nothing drives the rest but a new wake."""

    async def test(session: Session) -> None:
        raised: list[AppendRefused] = []

        def cancel() -> None:
            try:
                session.agent.cancel("parent")
            except AppendRefused as error:
                raised.append(error)

        session.at("step/start 1 1", cancel)
        session.agent.followup(A)
        session.agent.followup(B)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert 1 == len(raised)
        assert ["turn/end 1 aborted parent", "agent/status idle"] == session.told[-2:]
        assert ("B", "") == session.pending()

    run(test)


def test_inbox_mutation_in_a_record_listener_is_refused_and_changes_nothing() -> None:
    """RE-01, RE-02, ER-03: contained, and the outer call goes on."""

    async def test(session: Session) -> None:
        refused: list[str] = []

        def mutate() -> None:
            inbox = session.agent.inbox
            for name, call in (
                ("followup", lambda: session.agent.followup(B)),
                ("remove", lambda: inbox.remove("C")),
                ("splice", lambda: inbox.splice("next-step", 0, 1)),
                ("clear", inbox.clear),
            ):
                with pytest.raises(AppendRefused):
                    call()
                refused.append(name)
            assert not inbox.remove("Z")
            assert () == inbox.splice("next-turn", 0, 0)
            with pytest.raises(DuplicateMessageId):
                session.agent.followup(C)

        session.agent.inject(C)
        session.at("spliced next-turn@0-0+A", mutate)
        session.agent.followup(A)
        assert ["followup", "remove", "splice", "clear"] == refused
        assert "assemble" == session.open_gate()

    run(test)


def test_duplicate_id_wakes_nobody() -> None:
    """ID-03, ID-04."""

    async def test(session: Session) -> None:
        session.agent.inject(A)
        with pytest.raises(DuplicateMessageId):
            session.agent.followup(A)
        assert "idle" == session.agent.status

    run(test)


def test_claimed_id_may_be_sent_again() -> None:
    """ID-06, RE-12: uniqueness looks at what is pending only."""

    async def test(session: Session) -> None:
        session.at("agent/inbox/claimed A 1", lambda: session.agent.inject(A))
        session.agent.followup(A)
        await session.step()
        await session.step()
        assert 2 == session.told.count("user/message A")

    run(test)


def test_decision_may_rewrite_the_batch() -> None:
    """PS-20."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step", Enter((C, D)))
        assert ["step/start 1 1", "user/message C", "user/message D"] == session.told[-3:]

    run(test)


def test_decision_that_is_none_of_the_two_is_an_error() -> None:
    """PS-18."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step", "enter")
        assert "turn/end 1 error agent/pre-step must answer Enter or Reject, not 'enter'." in (
            session.told
        )

    run(test)


def test_throwing_listeners_of_records_and_events_change_nothing() -> None:
    """ER-01, ER-04, ER-06."""

    def fail(_: object) -> None:
        raise RuntimeError

    async def test(session: Session) -> None:
        session.log.subscribe(fail, prepend=True)
        for name in ("agent/inbox/inserted", "agent/inbox/claimed", "agent/status"):
            session.bus.on(name, fail, prepend=True)
        session.agent.followup(A)
        await session.step()
        assert ["turn/end 1 completed", "agent/status idle"] == session.told[-2:]

    log = SessionLog.in_memory(on_failure=lambda name, error: None)
    run(test, Session(log))


def test_wait_idle_follows_the_driver_that_replaces_the_first() -> None:
    """An aborted turn whose queue advances is not idle for who waits."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        waiter = asyncio.ensure_future(session.agent.wait_idle())
        session.agent.cancel("user", keep_inbox=True)
        await session.answer("assemble")
        assert not waiter.done()
        await session.step()
        assert waiter.done()
        await session.agent.wait_idle()

    run(test)


def test_turn_numbers_and_pending_messages_survive_a_reopened_log() -> None:
    """DR-04, Δ13: restored quiet, nothing woken, the conversation goes into the next request."""

    async def first(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        session.agent.inject(C)
        await session.answer("assemble")
        await session.answer("pre-step", Reject())

    log = SessionLog.in_memory()
    records: list[tuple[str, object]] = []
    log.subscribe(lambda record: records.append((record.type, record.data)))
    run(first, Session(log))
    again = SessionLog.in_memory()
    for kind, data in records:
        again.append(kind, data)

    async def second(session: Session) -> None:
        assert ("B", "C") == session.pending()
        await settle()
        assert "idle" == session.agent.status
        session.agent.followup(D)
        assert "agent/inbox/claimed B 2" == session.told[-1]

    run(second, Session(again))


def test_block_that_fails_aborts_its_open_turn_and_balances_it() -> None:
    """Whoever cancels the host gets closed boundaries, with the cause disposed."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")

    session = run(test)
    assert ["step/end 1 1", "turn/end 1 aborted disposed", "agent/status idle"] == (
        session.told[-3:]
    )


def test_host_cancelled_before_the_driver_task_ran_balances_the_turn_too() -> None:
    """The first part of the driver ran by hand; the task never got to its first step."""

    async def test(session: Session) -> None:
        session.agent.followup(A)

    assert "turn/end 1 aborted disposed" in run(test).told


def test_delivery_outside_the_block_is_refused() -> None:
    """A7: an error, never a turn."""

    async def main() -> None:
        with SessionLog.in_memory() as log:
            agent = Agent(log, ScriptedProvider())
            with pytest.raises(AgentClosed):
                agent.followup(A)
            async with agent:
                agent.followup(A)
            with pytest.raises(AgentClosed):
                agent.inject(B)
            assert "turn/end" == log.read()[-1].type

    asyncio.run(main())


def test_error_of_the_block_comes_out_as_it_is() -> None:
    """No exception group around the one error that the caller raised."""

    async def main() -> None:
        with SessionLog.in_memory() as log:
            async with Agent(log, ScriptedProvider()) as agent:
                agent.followup(A)
                raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(main())


def test_unknown_cause_is_refused() -> None:
    """CN-12: four causes."""

    async def test(session: Session) -> None:
        with pytest.raises(BadArgument):
            session.agent.cancel("weather")

    run(test)


def test_send_from_an_abort_observer_survives_the_clear() -> None:
    """RE-08: it comes after the clear and with an aborted signal."""

    async def test(session: Session) -> None:
        def watch(payload: Assemble) -> None:
            payload.signal.on_abort(lambda: session.agent.steer(B))

        session.bus.on("agent/assemble", watch, prepend=True)
        session.agent.followup(A)
        session.agent.cancel("user")
        assert ("B", "") == session.pending()
        await session.answer("assemble")
        assert "agent/inbox/claimed B 2" == session.told[-1]

    run(test)


def test_timeout_in_the_first_gate_belongs_to_the_driver_task() -> None:
    """The step by hand runs as the driver's task, not as whoever delivered."""

    async def main() -> None:
        tasks: list[asyncio.Task[object] | None] = []
        with SessionLog.in_memory() as log:
            async with Agent(log, ScriptedProvider()) as agent:

                async def assemble(_: object) -> None:
                    tasks.append(asyncio.current_task())
                    await asyncio.sleep(0)
                    tasks.append(asyncio.current_task())

                agent.bus.on("agent/assemble", assemble)
                agent.followup(A)
                await agent.wait_idle()
        assert tasks[0] is tasks[1]
        assert tasks[0] is not asyncio.current_task()

    asyncio.run(main())


def test_claim_is_not_reachable_from_a_plug_in() -> None:
    """No public attribute of the agent or of its inbox claims."""
    with SessionLog.in_memory() as log:
        agent = Agent(log, ScriptedProvider())
        public = [
            name
            for owner in (agent, agent.inbox)
            for name in dir(owner)
            if not name.startswith("_")
        ]
    assert not [name for name in public if "claim" in name or "pending" == name]
