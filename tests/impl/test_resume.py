"""Resuming: what a crash left open is closed once, nothing is done again; seeds and forks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from loopspec.impl import (
    Agent,
    BadArgument,
    ForkRefused,
    LogBusy,
    LogUnreadable,
    Record,
    Reply,
    ScriptedProvider,
    SessionLog,
    ToolCall,
    crash_tail,
    fixed_clock,
    fold_inbox,
    fork,
    repair,
    seed,
    text_message,
)
from loopspec.impl.records import TurnStart
from loopspec.impl.resume import go_on
from tests.impl.sessions import Session, describe, run, settle

A, B, C = text_message("A"), text_message("B"), text_message("C")
CALLS = (ToolCall("X"), ToolCall("Y"), ToolCall("Z"))
COMPLETED = {"kind": "completed"}


def log_of(*rows: tuple[str, object]) -> SessionLog:
    """Return a log in memory with these records, times 10 apart."""
    log = SessionLog.in_memory(clock=fixed_clock(10, 10))
    for kind, data in rows:
        log.append(kind, data)
    return log


def words(records: tuple[Record, ...]) -> list[str]:
    """Return records as short words."""
    return [describe(record) for record in records]


def splice(target: str, start: int, removed: int, *inserted: str, **more: object) -> Any:  # noqa: ANN401
    """Return a splice record."""
    data: dict[str, object] = {"target": target, "start": start}
    if removed:
        data["removedCount"] = removed
    messages = [text_message(name).to_json() for name in inserted]
    return "agent/inbox/spliced", {**data, "inserted": messages, **more}


def full_session() -> tuple[Record, ...]:
    """Return the records of a session with a queue, two steps and three calls."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        session.agent.followup(B)
        session.agent.inject(C)
        await session.step(Reply("tools", calls=CALLS))
        for call in CALLS:
            await session.answer(f"tool {call.id}")
        await session.step()
        await session.step()

    kept: list[Record] = []
    log = SessionLog.in_memory(clock=fixed_clock())
    log.subscribe(kept.append)
    run(test, Session(log))
    return tuple(kept)


def cut(records: tuple[Record, ...], length: int) -> SessionLog:
    """Return a log with the first records, as a crash leaves it."""
    return log_of(*((record.type, record.payload.to_json()) for record in records[:length]))


LENGTHS = range(len(full_session()) + 1)


@pytest.mark.parametrize("length", LENGTHS)
def test_every_crash_is_closed_once_and_the_session_goes_on(length: int) -> None:
    """RS-01, RS-02, RS-03, RS-05, RS-06, RS-08, at each record of a session."""
    whole = full_session()
    log = cut(whole, length)
    before = log.read()
    pending = fold_inbox(before)
    turns = [r.payload.turn for r in before if isinstance(r.payload, TurnStart)]

    told: list[str] = []
    log.subscribe(lambda record: told.append(record.type))
    repaired = repair(log)
    added = repaired[length:]
    assert before == repaired[:length]
    assert repaired == log.read() == repair(log)
    assert () == crash_tail(repaired)
    assert [] == told
    assert pending == fold_inbox(repaired)
    assert {record.time for record in added} <= {before[-1].time} if before else not added

    opened = [record.type for record in before].count("turn/start")
    closed = [record.type for record in repaired].count("turn/end")
    assert opened == closed
    kinds = [record.type for record in added]
    expected = ["tool/result", "step/end", "turn/end"]
    assert kinds == sorted(kinds, key=expected.index)
    asked = [c for r in repaired if r.type == "assistant/message" for c in r.data.get("calls", ())]  # type: ignore[attr-defined]
    assert asked == [record.data["call"] for record in repaired if record.type == "tool/result"]

    async def go_on(session: Session) -> None:
        await settle()
        assert ([], "idle") == (session.told, session.agent.status)
        assert pending == (session.agent.inbox.next_turn, session.agent.inbox.next_step)
        session.agent.followup(text_message("D"))
        assert f"turn/start {max(turns, default=0) + 1}" in session.told

    run(go_on, Session(log))


@pytest.mark.parametrize("length", LENGTHS)
def test_crash_during_the_repair_leaves_what_the_next_one_completes(length: int) -> None:
    """RS-05: behind any number of closers the rest follows, and then the mark, once."""
    whole = go_on(cut(full_session(), length))
    for done in range(length, len(whole) + 1):
        again = cut(whole, done)
        went_on = go_on(again)
        assert [each.payload for each in whole] == [each.payload for each in went_on]
        assert went_on == go_on(again)


def test_session_that_goes_on_is_marked_once_whatever_was_open() -> None:
    """RS-07: not in an empty log, and not behind a mark; the mark is told to nobody."""
    for log in (log_of(), closed_turn(), log_of(("turn/start", {"turn": 1}))):
        told: list[Record] = []
        log.subscribe(told.append)
        for _ in range(3):
            Agent(log, ScriptedProvider())
        marks = [record.type == "session/end-seed" for record in log.read()]
        assert marks == [False] * (len(marks) - 1) + [True] * bool(marks)
        assert [] == told


def test_fork_of_a_log_that_ends_with_a_mark_says_that_it_inherits() -> None:
    """RS-07: a reader tells the copy from another run of the same session."""
    source, child = closed_turn(), SessionLog.in_memory()
    go_on(source)
    fork(source, child, inherits=True)
    assert [{}, {"inherited": True}] == [dict(record.data) for record in child.read()[-2:]]


def test_calls_without_result_are_answered_in_the_order_of_the_transcript() -> None:
    """RS-03, RS-04: one was answered, one started and is cited, one never started."""
    message = text_message("M").to_json()
    asked = {"turn": 1, "step": 1, "message": message, "calls": ["X", "Y", "Z"]}

    def call(name: str) -> dict[str, object]:
        return {"turn": 1, "step": 1, "call": name, "name": "tool", "arguments": {}}

    answered = {"turn": 1, "step": 1, "call": "Y", "outcome": "ok", "content": []}
    log = log_of(
        ("turn/start", {"turn": 1}),
        ("step/start", {"turn": 1, "step": 1}),
        ("assistant/message", asked),
        ("tool/call", call("Y")),
        ("tool/call", call("Z")),
        ("tool/result", answered),
    )
    added = repair(log)[6:]
    assert [
        "tool/result 1 1 X error",
        "tool/result 1 1 Z error",
        "step/end 1 1",
        "turn/end 1 interrupted",
    ] == words(added)
    assert [("TOOL_NOT_STARTED", None), ("TOOL_OUTCOME_UNKNOWN", 4)] == [
        (record.data.get("code"), record.data.get("cites")) for record in added[:2]
    ]
    assert {60} == {record.time for record in added}


def test_request_after_a_repair_has_an_answer_to_every_call() -> None:
    """The conversation that the provider gets is whole again."""
    whole = full_session()
    length = next(r.seq for r in whole if r.type == "tool/result")

    async def test(session: Session) -> None:
        session.agent.followup(text_message("D"))
        await session.answer("assemble")
        await session.answer("pre-step")
        results = [m for m in session.requests[0].messages if m.source == "tool"]
        assert ["X", "Y", "Z"] == [m.content[0].data["call"] for m in results]  # type: ignore[union-attr]
        assert "unknown" in results[0].text
        assert "before this call was started" in results[1].text

    run(test, Session(cut(whole, length)))


def test_idle_injected_message_enters_the_first_later_turn_ahead_of_its_prompt() -> None:
    """RS-10."""
    log = log_of(splice("next-step", 0, 0, "A"))

    async def test(session: Session) -> None:
        session.agent.followup(B)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert ["user/message A", "user/message B"] == [
            word for word in session.told if word.startswith("user/message")
        ]

    run(test, Session(log))


@pytest.mark.parametrize(
    "bad",
    [splice("next-turn", 0, 1), splice("next-step", 0, 0, "A"), splice("next-turn", 3, 0, "B")],
    ids=["removes what is not there", "id twice", "behind the end"],
)
def test_invalid_splice_blocks_the_resume_and_leaves_the_log_alone(bad: Any) -> None:  # noqa: ANN401
    """RS-12: the record is named, and the open turn is not closed either."""
    rows = [("turn/start", {"turn": 1})]
    if bad[1]["inserted"]:
        rows.append(splice("next-turn", 0, 0, "A"))
    log = log_of(*rows, bad)
    before = log.read()
    for resume in (repair, lambda log: Agent(log, ScriptedProvider())):
        with pytest.raises(LogUnreadable, match=f"record {len(rows)}"):
            resume(log)
    assert before == log.read()


def test_live_session_is_not_repaired_by_a_second_resume() -> None:
    """RS-11: neither its open turn nor anything else is touched."""

    async def test(session: Session) -> None:
        session.agent.followup(A)
        before = session.log.read()
        with pytest.raises(LogBusy, match="is live"):
            Agent(session.log, ScriptedProvider())
        with pytest.raises(LogBusy, match="is live"):
            repair(session.log)
        assert before == session.log.read()
        assert "running" == session.agent.status

    session = run(test)
    assert "turn/end 1 aborted disposed" in session.told


def test_two_agents_made_for_one_log_do_not_run_at_once() -> None:
    """The second block is refused while the first is open, and may follow it."""

    async def main() -> None:
        with SessionLog.in_memory() as log:
            one, two = (Agent(log, ScriptedProvider()) for _ in range(2))
            async with one:
                with pytest.raises(LogBusy):
                    await two.__aenter__()
            async with two:
                pass

    asyncio.run(main())


def test_repair_survives_in_the_file(tmp_path: Path) -> None:
    """A log that ended without closing in an open turn is whole after one resume."""
    path = tmp_path / "session.sqlite"
    log = SessionLog.create(path)
    log.append("turn/start", {"turn": 1})
    asyncio.run(log.flush())
    log._file.give_up("the test drops it")
    with SessionLog.open(path) as log:
        assert "ended without closing" in log.remark
        Agent(log, ScriptedProvider())
    with SessionLog.open(path) as log:
        closed = ["turn/start 1", "turn/end 1 interrupted", "session/end-seed"]
        assert closed == words(log.read())
        assert "" == log.remark


# -- seeds and forks -------------------------------------------------------------------------------


def closed_turn() -> SessionLog:
    """Return a log of one turn, with a message pending behind it."""
    return log_of(
        ("turn/start", {"turn": 4}),
        ("turn/end", {"turn": 4, "reason": COMPLETED}),
        splice("next-turn", 0, 0, "A"),
    )


def test_seed_is_followed_by_one_mark_unless_it_ends_with_one() -> None:
    """RS-07; its times are kept, and no observer hears of it."""
    told: list[Record] = []
    child, grandchild = SessionLog.in_memory(), SessionLog.in_memory()
    child.subscribe(told.append)
    grandchild.subscribe(told.append)
    seed(child, closed_turn().read())
    seed(grandchild, child.read())
    assert [] == told
    assert child.read() == grandchild.read()
    assert ["spliced next-turn@0-0+A", "session/end-seed"] == words(child.read())[2:]
    assert [10, 20, 30, 30] == [record.time for record in child.read()]


def test_turn_numbers_and_pending_messages_go_on_behind_a_seed() -> None:
    """RS-08, RS-01."""
    log = SessionLog.in_memory()
    seed(log, closed_turn().read())

    async def test(session: Session) -> None:
        assert ("A", "") == session.pending()
        session.agent.followup(B)
        assert "agent/inbox/claimed A 5" == session.told[-1]

    run(test, Session(log))


def test_seed_with_a_crash_tail_is_closed_before_its_mark() -> None:
    """The mark stands behind the closers; an empty seed has none."""
    log = SessionLog.in_memory()
    seed(log, log_of(("turn/start", {"turn": 1})).read())
    assert ["turn/start 1", "turn/end 1 interrupted", "session/end-seed"] == words(log.read())
    empty = SessionLog.in_memory()
    seed(empty, ())
    assert () == empty.read()


def test_seed_for_a_log_with_records_or_with_a_bad_splice_is_refused() -> None:
    """The log stays as it was."""
    log = closed_turn()
    with pytest.raises(BadArgument, match="has records already"):
        seed(log, log.read())
    fresh = SessionLog.in_memory()
    with pytest.raises(LogUnreadable):
        seed(fresh, log_of(splice("next-turn", 0, 1)).read())
    assert (3, ()) == (len(log.read()), fresh.read())


@pytest.mark.parametrize("length", [-1, 4, 99])
def test_fork_of_more_records_than_there_are_is_refused(length: int) -> None:
    """And of fewer than none; nothing is copied."""
    source, target = closed_turn(), SessionLog.in_memory()
    with pytest.raises(BadArgument, match="0 to 3 records"):
        fork(source, target, length)
    assert () == target.read()


def test_fork_inside_an_open_turn_is_refused() -> None:
    """RS-09: at a closed turn it is a seed."""
    source = closed_turn()
    target = SessionLog.in_memory()
    with pytest.raises(ForkRefused, match="inside turn 4"):
        fork(source, target, 1)
    assert () == target.read()
    fork(source, target, 2)
    assert ["turn/start 4", "turn/end 4 completed", "session/end-seed"] == words(target.read())


@pytest.mark.parametrize(("inherits", "pending"), [(False, ((), ())), (True, ((A,), ()))])
def test_fork_leaves_what_is_pending_to_the_parent(inherits: bool, pending: object) -> None:
    """ID-10: the copy discards it, unless it inherits; the parent keeps it either way."""
    source, child = closed_turn(), SessionLog.in_memory()
    fork(source, child, inherits=inherits)

    assert pending == fold_inbox(child.read())
    assert ((A,), ()) == fold_inbox(source.read())
