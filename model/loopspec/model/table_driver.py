"""The rows of the driver: from a wake to idle, one turn and one step at a time.

Theory. A driver is the frames between `Start` and `EndDriver`. It runs inside the waking call up
to its first await (LN-10). A turn opens before it claims (CL-07); the claim takes all of next-step
and, at a turn boundary, the head of next-turn, and from then on the turn owns the batch (CL-09).
One awaited decision stands between the claim and the step (PS-01). Whatever happens inside, an
open step is closed by `CloseStep` and an open turn by `CloseTurn`, in that order (TB-18): a
failure unwinds to them. An abort wins over whatever the awaited answer was (TB-08, PS-15).

After `turn/end` the driver looks once more: it goes on, or goes idle one tick later. In the same
tick as the idle status, a message that is due starts a new driver (LB-02).
"""

from typing import Final

from loopspec.model.rows import always, fail, nothing, row
from loopspec.model.session import (
    DUE,
    QUIET,
    WAKING,
    AfterIdle,
    AfterStep,
    AfterTurn,
    Arrive,
    Assembled,
    Claim,
    CloseStep,
    CloseTurn,
    Decided,
    EndDriver,
    Ending,
    EnterStep,
    GoIdle,
    Listening,
    OpenTurn,
    Replied,
    Request,
    Session,
    Splice,
    Start,
    Suspend,
    Tell,
    Turn,
)
from loopspec.model.table_inbox import (
    loop_is_idle,
    signal_is_aborted,
    start_driver,
    tell_event,
    told,
)
from loopspec.model.words import ERROR_TEXTS, NEXT_STEP, NEXT_TURN, Message, Observation

ABORTED: Final = Ending("aborted")


def abort_turn(session: Session, _: object) -> Session:
    """Unwind as aborted."""
    return fail(session, ABORTED)


def tell_record(session: Session, name: str, *values: Message | str | int | None) -> Tell:
    """A durable record on its way to each listener."""
    return Tell("record", name, values, session.listeners)


# --- Start, open, claim -------------------------------------------------------------------------


def start(session: Session, _: Start) -> Session:
    """Status running, with a fresh signal; every due becomes waking; then open a turn, go idle."""
    paid = session.with_marks((DUE,), WAKING)
    fresh = paid.but(running=True, cause=None, looked=False, ending=None, clear_refused=False)
    status = tell_event(session, "agent/status", "running")
    return fresh.go(status, OpenTurn(), GoIdle(), EndDriver())


def open_no_turn(session: Session, _: OpenTurn) -> Session:
    """No turn opens."""
    return session.but(ending=Ending("none"))


def open_turn(session: Session, _: OpenTurn) -> Session:
    """Record turn/start with the next number; claim at a turn boundary; close it, look again."""
    number = Turn(session.turn + 1)
    fresh = session.but(turn=number, turn_open=True, step=0, outcome=None, owes=False, ending=None)
    return fresh.go(
        tell_record(session, "turn/start", number), Claim(True), CloseTurn(), AfterTurn()
    )


def claim(session: Session, frame: Claim) -> Session:
    """Delete next-step and, at a turn boundary, the next-turn head; claimed each; assemble."""
    head = session.next_turn[:1] if frame.at_turn_boundary else ()
    batch = tuple(item.message for item in session.next_step + head)
    return session.but(batch=batch).go(
        Splice(NEXT_STEP, 0, len(session.next_step), claim=True),
        Splice(NEXT_TURN, 0, len(head), claim=True),
        *(tell_event(session, "agent/inbox/claimed", message, session.turn) for message in batch),
        Arrive("assemble"),
    )


OPENINGS: Final = (
    row("start", "a driver", "DR-03 DR-06 DR-07", always, start),
    told("agent/status", "DR-01 DR-02 DR-12"),
    row("open turn", "when already aborted", "TB-02 CN-09", signal_is_aborted, open_no_turn),
    row("open turn", "with the next number", "CL-07 DR-04 TB-01", always, open_turn),
    told("turn/start", "TB-01 CL-07"),
    row("claim", "the batch", "CL-01 CL-02 CL-03 CL-08 CL-12 CL-13", always, claim),
)

# --- Gates and awaits ---------------------------------------------------------------------------


def suspend_at(session: Session, frame: Arrive) -> Session:
    """The hook runs up to its await; then the driver is suspended at the gate."""
    return session.go(Listening("gate", frame.gate), Suspend(frame.gate))


def see_assemble(session: Session, _: Arrive) -> Observation:
    """Turn and proposed step."""
    return Observation("gate", "assemble", (("turn", session.turn), ("step", session.step + 1)))


def see_pre_step(session: Session, _: Arrive) -> Observation:
    """Turn, proposed step and the claimed batch."""
    data = (("turn", session.turn), ("step", session.step + 1), ("messages", session.batch))
    return Observation("gate", "pre-step", data)


def see_provider(session: Session, _: Arrive) -> Observation:
    """Turn and step of the request."""
    return Observation("gate", "provider", (("turn", session.turn), ("step", session.step)))


def arrives_at_assemble(session: Session, frame: Arrive) -> bool:
    """The gate is assemble."""
    return frame.gate == "assemble"


def arrives_at_pre_step(session: Session, frame: Arrive) -> bool:
    """The gate is pre-step."""
    return frame.gate == "pre-step"


def cut(session: Session, frame: Suspend) -> Session:
    """The driver's frames wait as the task; the caller's rest goes on."""
    behind = next(i for i, due in enumerate(session.stack) if due.frame == "end driver") + 1
    gates = (frame.gate,) if frame.gate else ()
    return session.but(stack=session.stack[behind:], task=session.stack[:behind], gates=gates)


def resume(session: Session, _: None) -> Session:
    """The task's frames run."""
    return session.but(stack=session.task, task=())


AWAITS: Final = (
    row(
        "arrive",
        "at assemble",
        "PS-03 CL-08",
        arrives_at_assemble,
        suspend_at,
        "gate assemble",
        see_assemble,
    ),
    row(
        "arrive",
        "at pre-step",
        "PS-01 PS-02 PS-20",
        arrives_at_pre_step,
        suspend_at,
        "gate pre-step",
        see_pre_step,
    ),
    row(
        "arrive",
        "at the provider",
        "ST-01 ST-06",
        always,
        suspend_at,
        "gate provider",
        see_provider,
    ),
    row("suspend", "the driver", "LN-10 CN-13", always, cut),
    row("event loop", "resumes the driver", "LN-10", always, resume),
)

# --- Pre-step -----------------------------------------------------------------------------------


def assembly_failed(session: Session, frame: Assembled) -> bool:
    """The assembly failed."""
    return frame.choice == "failed"


def fail_assembly(session: Session, _: Assembled) -> Session:
    """Unwind with that error."""
    return fail(session, Ending("error", ERROR_TEXTS["assemble"]))


def propose(session: Session, _: Assembled) -> Session:
    """Ask for the pre-step decision."""
    return session.go(Arrive("pre-step"))


def hook_raised(session: Session, frame: Decided) -> bool:
    """The hook raised."""
    return frame.choice == "raise"


def fail_decision(session: Session, _: Decided) -> Session:
    """Unwind with that error; the batch stays removed."""
    return fail(session, Ending("error", ERROR_TEXTS["pre-step"]))


def rejected(session: Session, frame: Decided) -> bool:
    """The decision is to reject."""
    return frame.choice == "reject"


def block_turn(session: Session, _: Decided) -> Session:
    """The turn ends blocked; the batch stays removed."""
    return fail(session, Ending("blocked"))


def entering(session: Session, frame: Decided) -> tuple[Message, ...]:
    """The messages of an entering decision."""
    return session.batch if frame.messages is None else frame.messages


def enters_nothing_first(session: Session, frame: Decided) -> bool:
    """Nothing enters and the turn has no step yet."""
    return not entering(session, frame) and session.step == 0


def end_empty(session: Session, _: Decided) -> Session:
    """The turn ends as an empty completed turn, after which the driver stops."""
    return fail(session, Ending("empty"))


def enters_nothing_after_an_outcome(session: Session, frame: Decided) -> bool:
    """Nothing enters and no reply is owed."""
    return not entering(session, frame) and not session.owes


def end_with_outcome(session: Session, _: object) -> Session:
    """The turn ends with the outcome of its steps."""
    assert session.outcome is not None
    return fail(session, Ending(session.outcome))


def enter(session: Session, frame: Decided) -> Session:
    """Enter the step with exactly these messages."""
    return session.go(EnterStep(entering(session, frame)))


DECISIONS: Final = (
    row("assembled", "under an aborted signal", "PS-15 PS-16 TB-08", signal_is_aborted, abort_turn),
    row("assembled", "with a failure", "TB-09", assembly_failed, fail_assembly),
    row("assembled", "", "PS-03", always, propose),
    row("decided", "under an aborted signal", "PS-15 TB-08 TB-13", signal_is_aborted, abort_turn),
    row("decided", "by raising", "PS-14 CL-09 ER-05", hook_raised, fail_decision),
    row("decided", "to reject", "PS-10 TB-07 TB-15 CL-09", rejected, block_turn),
    row("decided", "to enter nothing first", "PS-11 TB-14", enters_nothing_first, end_empty),
    row(
        "decided",
        "to enter nothing after an outcome",
        "PS-13 TB-16 DR-10",
        enters_nothing_after_an_outcome,
        end_with_outcome,
    ),
    row("decided", "to enter", "PS-04 PS-05 PS-12 PS-20", always, enter),
)

# --- Step ---------------------------------------------------------------------------------------


def enter_step(session: Session, frame: EnterStep) -> Session:
    """Record step/start, then user/message each; request; close the step; decide what follows."""
    number = session.step + 1
    return session.but(step=number, batch=()).go(
        tell_record(session, "step/start", session.turn, number),
        *(tell_record(session, "user/message", message) for message in frame.messages),
        Request(),
        CloseStep(),
        AfterStep(),
    )


def request(session: Session, _: Request) -> Session:
    """Call the provider."""
    return session.go(Arrive("provider"))


def provider_failed(session: Session, frame: Replied) -> bool:
    """The provider failed, or cut its answer without an abort."""
    return frame.choice in ("error", "cut")


def fail_step(session: Session, _: Replied) -> Session:
    """Unwind with that error."""
    return fail(session, Ending("error", ERROR_TEXTS["provider"]))


def tell_reply(session: Session, outcome: str | None, owes: bool) -> Session:
    """Record assistant/message and fold the outcome: once max-tokens, always (OF-02)."""
    kept = "max-tokens" if session.outcome == "max-tokens" else outcome
    record = tell_record(session, "assistant/message", session.turn, session.step)
    return session.but(outcome=kept, owes=owes).go(record)


def was_truncated(session: Session, frame: Replied) -> bool:
    """The answer was cut by the output limit."""
    return frame.choice == "max-tokens"


def reply_truncated(session: Session, _: Replied) -> Session:
    """Record assistant/message; the outcome is max-tokens; no reply is owed."""
    return tell_reply(session, "max-tokens", owes=False)


def owes_a_reply(session: Session, frame: Replied) -> bool:
    """The step owes a reply."""
    return frame.choice == "owes"


def reply_owing(session: Session, _: Replied) -> Session:
    """Record assistant/message; no outcome unless it is max-tokens; a reply is owed."""
    return tell_reply(session, None, owes=True)


def reply_done(session: Session, _: Replied) -> Session:
    """Record assistant/message; the outcome is completed unless it is max-tokens."""
    return tell_reply(session, "completed", owes=False)


def close_step(session: Session, _: CloseStep) -> Session:
    """Record step/end."""
    return session.go(tell_record(session, "step/end", session.turn, session.step))


def has_failed(session: Session, _: object) -> bool:
    """The ending of the turn is decided."""
    return session.ending is not None


def goes_on(session: Session, _: AfterStep) -> bool:
    """A reply is owed or next-step has input."""
    return session.owes or bool(session.next_step)


def continue_turn(session: Session, _: AfterStep) -> Session:
    """Claim for a continuation."""
    return session.go(Claim(False))


STEPS: Final = (
    row("enter step", "", "ST-01 ST-02 CL-13", always, enter_step),
    told("step/start", "ST-01 ST-03"),
    told("user/message", "ST-01 IN-07"),
    row("request", "under an aborted signal", "ST-02 ST-03", signal_is_aborted, abort_turn),
    row("request", "the provider", "ST-01", always, request),
    row("replied", "under an aborted signal", "TB-08 CN-13", signal_is_aborted, abort_turn),
    row("replied", "with a failure", "TB-09", provider_failed, fail_step),
    row("replied", "up to the output limit", "TB-06", was_truncated, reply_truncated),
    row("replied", "owing a reply", "OF-01 TC-08", owes_a_reply, reply_owing),
    row("replied", "to the end", "TB-05", always, reply_done),
    told("assistant/message", "ST-01 CN-17"),
    row("close step", "", "ST-01 ST-05 TB-18", always, close_step),
    told("step/end", "ST-05 TB-18"),
    row(
        "after step", "under an aborted signal", "TB-08 TB-13 CN-17", signal_is_aborted, abort_turn
    ),
    row("after step", "that failed", "TB-18", has_failed, nothing),
    row("after step", "with more to do", "CL-01 RT-05 RT-08 OF-06", goes_on, continue_turn),
    row("after step", "with nothing more to do", "TB-05 TB-06 PS-21", always, end_with_outcome),
)

# --- Close, look again, go idle -----------------------------------------------------------------


def owes_a_report(session: Session, frame: CloseTurn) -> bool:
    """The turn failed and the failure was not reported."""
    assert session.ending is not None
    return session.ending.kind == "error" and not frame.reported


def report(session: Session, frame: CloseTurn) -> Session:
    """Report agent/error with the last entered step; then close the turn."""
    assert session.ending is not None
    event = tell_event(session, "agent/error", session.turn, session.step, session.ending.error)
    return session.go(event, frame._replace(reported=True))


def close_turn(session: Session, _: CloseTurn) -> Session:
    """Record turn/end with the reason; what was claimed stays claimed."""
    ending = session.ending
    assert ending is not None
    reason = "completed" if ending.kind == "empty" else ending.kind
    cause = session.cause if ending.kind == "aborted" else None
    record = tell_record(session, "turn/end", session.turn, reason, cause, ending.error)
    return session.but(turn_open=False, batch=()).go(record)


def driver_goes_on(session: Session, _: AfterTurn) -> bool:
    """The turn ended on the ordinary path and something is pending."""
    assert session.ending is not None
    return session.ending.kind in session.policy.goes_on_after and bool(session.pending)


def roll(session: Session, _: AfterTurn) -> Session:
    """A fresh signal; open the next turn."""
    return session.but(cause=None).go(OpenTurn())


def wakes_are_renewed(session: Session, _: AfterTurn) -> bool:
    """The turn was aborted, a waking message is pending, and the policy advances."""
    assert session.ending is not None
    aborted = session.ending.kind == "aborted"
    waking = any(item.mark != QUIET for item in session.pending)
    return aborted and waking and session.policy.after_keep_cancel == "advance"


def renew(session: Session, _: AfterTurn) -> Session:
    """Every waking message becomes due; one tick; go idle."""
    return session.with_marks((WAKING,), DUE).but(looked=True).go(Suspend(None))


def stop(session: Session, _: AfterTurn) -> Session:
    """One tick; go idle."""
    return session.but(looked=True).go(Suspend(None))


def go_idle(session: Session, _: GoIdle) -> Session:
    """Status idle; then look whether anything is due."""
    idle = session.but(running=False, cause=None, looked=False, step=0, outcome=None, owes=False)
    return idle.go(tell_event(session, "agent/status", "idle"), AfterIdle())


def something_is_due(session: Session, _: AfterIdle) -> bool:
    """Still idle, and something is due."""
    return not session.running and any(item.mark == DUE for item in session.pending)


def drive_again(session: Session, _: AfterIdle) -> Session:
    """Start a driver."""
    return session.go(Start())


def a_driver_runs(session: Session, _: AfterIdle) -> bool:
    """An idle listener has started a driver."""
    return session.running


def nothing_is_pending(session: Session, _: AfterIdle) -> bool:
    """Nothing is pending."""
    return not session.pending


def forget(session: Session, _: AfterIdle) -> Session:
    """How the last turn ended is forgotten."""
    return session.but(ending=None, clear_refused=False)


CLOSINGS: Final = (
    row("close turn", "that failed, with a report", "TB-12 ER-07 ER-11", owes_a_report, report),
    told("agent/error", "TB-12 TB-13 ER-07"),
    row("close turn", "", "TB-01 TB-05 TB-11 TB-18", always, close_turn),
    told("turn/end", "TB-01 TB-18 CN-14"),
    row("after turn", "with work in the lists", "DR-08 DR-10 TB-17 CN-06", driver_goes_on, roll),
    row("after turn", "with wakes to renew", "WL-01 CN-04", wakes_are_renewed, renew),
    row("after turn", "with nothing to drive", "DR-09 CN-11", always, stop),
    row("go idle", "", "DR-12 WL-02", always, go_idle),
    row(
        "after idle", "with something due", "WL-01 WL-02 WL-03 DR-11", something_is_due, drive_again
    ),
    row("after idle", "behind a new driver", "WL-11", a_driver_runs, nothing),
    row("after idle", "with nothing pending", "DR-12", nothing_is_pending, forget),
    row("after idle", "with parked messages", "DR-09 CN-11", always, nothing),
    row("end driver", "", "DR-03", always, nothing),
)

ROWS: Final = OPENINGS + AWAITS + DECISIONS + STEPS + CLOSINGS

__all__ = ["ROWS", "loop_is_idle", "start_driver"]
