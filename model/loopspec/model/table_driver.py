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

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from loopspec.model.rows import Row, always, chose, fail, fails, nothing, row
from loopspec.model.session import (
    DUE,
    QUIET,
    WAKING,
    AfterIdle,
    AfterTurn,
    Arrive,
    Assembled,
    Claim,
    CloseClaim,
    CloseTurn,
    Converged,
    Decided,
    EndDriver,
    Ending,
    EnterStep,
    Frame,
    GoIdle,
    Listening,
    OpenGate,
    OpenTurn,
    Recovered,
    Requested,
    Session,
    Settle,
    Splice,
    Start,
    Stopping,
    Suspend,
    Tell,
    ToolDone,
    Turn,
)
from loopspec.model.table_inbox import disposal_began, signal_is_aborted, tell_event, told
from loopspec.model.words import ERROR_TEXTS, NEXT_STEP, NEXT_TURN, Message, Observation, Value

ABORTED: Final = Ending("aborted")


def abort_turn(session: Session, _: object) -> Session:
    """Unwind as aborted."""
    return fail(session, ABORTED)


def tell_record(session: Session, name: str, *values: Value) -> Tell:
    """A durable record on its way to each listener."""
    return Tell("record", name, values, session.listeners)


# --- Start, open, claim -------------------------------------------------------------------------


def start(session: Session, _: Start) -> Session:
    """Status running, with a fresh signal; every due becomes waking; then open a turn, go idle."""
    paid = session.with_marks((DUE,), WAKING)
    fresh = paid.but(
        running=True, cause=None, latch=False, looked=False, ending=None, clear_refused=False
    )
    status = tell_event(session, "agent/status", "running")
    return fresh.go(status, OpenTurn(), GoIdle(), EndDriver())


def open_no_turn(session: Session, _: OpenTurn) -> Session:
    """No turn opens."""
    return session.but(ending=Ending("none"))


def aborted_before_an_await(session: Session, _: OpenTurn) -> bool:
    """The signal is aborted, and by policy a driver awaits its parts."""
    return session.aborted and session.policy.awaits == "parts"


def open_none_later(session: Session, frame: OpenTurn) -> Session:
    """No turn opens; one tick."""
    return open_no_turn(session, frame).but(looked=True).go(Suspend())


def open_turn(session: Session, _: OpenTurn) -> Session:
    """Record turn/start with the next number; claim at a turn boundary; close it, look again."""
    number = Turn(session.turn + 1)
    fresh = session.but(turn=number, turn_open=True, step=0, outcome=None, owes=False, ending=None)
    return fresh.go(
        tell_record(session, "turn/start", number), Claim(True), CloseTurn(), AfterTurn()
    )


def end_was_refused(session: Session, _: OpenTurn) -> bool:
    """The log's last turn is open, since its end was refused, and by policy that holds."""
    return session.turn_open and session.policy.refused_end == "hold"


def report_open_turn(session: Session, _: OpenTurn) -> Session:
    """Report agent/error with the turn that is open and step 0; no turn opens."""
    text = "turn-left-open"
    report = tell_event(session, "agent/error", session.turn, 0, text)
    return session.but(ending=Ending("error", text)).go(report)


def claims_nothing_aborted(session: Session, _: Claim) -> bool:
    """The signal is aborted, and by policy nothing is claimed then."""
    return session.aborted and session.policy.aborted_claim == "nothing"


def awaits_parts(session: Session, _: object) -> bool:
    """By policy a driver awaits its parts."""
    return session.policy.awaits == "parts"


def claim_guarded(session: Session, frame: Claim) -> Session:
    """As otherwise, with a handler behind the claim."""
    return claim_then(session, frame, CloseClaim(), Arrive("assemble"))


def claim(session: Session, frame: Claim) -> Session:
    """Delete next-step and, at a turn boundary, the next-turn head; claimed each; assemble."""
    return claim_then(session, frame, Arrive("assemble"))


def claim_then(session: Session, frame: Claim, *then: Frame) -> Session:
    """The session that claims, and goes on with other frames."""
    head = session.next_turn[:1] if frame.at_turn_boundary else ()
    batch = tuple(item.message for item in session.next_step + head)
    return session.but(batch=batch).go(
        Splice(NEXT_STEP, 0, len(session.next_step), claim=True),
        Splice(NEXT_TURN, 0, len(head), claim=True),
        *(tell_event(session, "agent/inbox/claimed", message, session.turn) for message in batch),
        *then,
    )


def claim_failed(session: Session, _: CloseClaim) -> bool:
    """The claim has failed."""
    return session.ending is not None


def leave_claim(session: Session, _: CloseClaim) -> Session:
    """Assemble nothing; one tick; close the turn."""
    return session.but(stack=session.stack[1:], looked=True).go(Suspend())


OPENINGS: Final = (
    row("start", "a driver", "DR-03 DR-06 DR-07", always, start),
    told("agent/status", "DR-01 DR-02 DR-12 WI-07"),
    row("open turn", "once disposal began", "DI-09 DI-07", disposal_began, open_no_turn),
    row(
        "open turn",
        "when already aborted, a tick later",
        "TB-02 CN-09",
        aborted_before_an_await,
        open_none_later,
    ),
    row("open turn", "when already aborted", "TB-02 CN-09", signal_is_aborted, open_no_turn),
    row("open turn", "behind one without an end", "TB-04", end_was_refused, report_open_turn),
    row("open turn", "with the next number", "CL-07 DR-04 TB-01", always, open_turn),
    told("turn/start", "TB-01 CL-07"),
    row("claim", "nothing under an aborted signal", "TB-08", claims_nothing_aborted, abort_turn),
    row("claim", "the batch, guarded", "CL-01 CL-02 CL-03 CL-08", awaits_parts, claim_guarded),
    row("claim", "the batch", "CL-01 CL-02 CL-03 CL-08 CL-12 CL-13", always, claim),
    row("close claim", "that failed", "LN-10 CL-11", claim_failed, leave_claim),
    row("close claim", "", "CL-09", always, nothing),
)

# --- Gates and awaits ---------------------------------------------------------------------------


def see_assemble(session: Session, _: Arrive) -> Observation:
    """Turn and proposed step."""
    return Observation("gate", "assemble", (("turn", session.turn), ("step", session.step + 1)))


def see_pre_step(session: Session, _: Arrive) -> Observation:
    """Turn, proposed step and the claimed batch."""
    data = (("turn", session.turn), ("step", session.step + 1), ("messages", session.batch))
    return Observation("gate", "pre-step", data)


def see_open_step(session: Session, frame: Arrive) -> Observation:
    """Turn and open step."""
    return Observation("gate", frame.gate, (("turn", session.turn), ("step", session.step)))


def see_turn(session: Session, _: Arrive) -> Observation:
    """The turn."""
    return Observation("gate", "turn-stopping", (("turn", session.turn),))


def see_maintenance(session: Session, _: Arrive) -> Observation:
    """Nothing but that it runs."""
    return Observation("gate", "maintenance")


def see_tool(session: Session, frame: OpenGate) -> Observation:
    """Turn, step and call."""
    call = frame.label.partition(" ")[2]
    data = (("turn", session.turn), ("step", session.step), ("call", call))
    return Observation("gate", "tool", data)


def arrives_at(gate: str) -> Callable[[Session, Arrive], bool]:
    """The guard of a held gate."""

    def guard(session: Session, frame: Arrive) -> bool:
        return frame.gate == gate and gate in session.held

    guard.__doc__ = f"The gate is {gate}, and somebody holds it."
    return guard


def suspend_at(session: Session, frame: Arrive) -> Session:
    """The gate opens and its hook runs up to its await; then the driver is suspended there."""
    opened = session.but(gates=(*session.gates, frame.label))
    return opened.go(Listening("gate", frame.gate), Suspend(frame.label))


def has_not_waited(session: Session, frame: OpenGate) -> bool:
    """By policy a driver awaits its parts, and no tick has passed."""
    return session.policy.awaits == "parts" and not frame.waited


def open_later(session: Session, frame: OpenGate) -> Session:
    """One tick; then look again."""
    return session.go(Suspend(), frame._replace(waited=True))


def call_is_skipped(session: Session, _: OpenGate) -> bool:
    """The signal is aborted, and by policy a call that was only recorded does not start."""
    return session.aborted and session.policy.aborted_call == "skipped"


def skip_recorded(session: Session, frame: OpenGate) -> Session:
    """It has its answer: it was skipped."""
    done = ToolDone(frame.label.partition(" ")[2], "skipped")
    return session.but(finished=(*session.finished, done))


def open_beside(session: Session, frame: OpenGate) -> Session:
    """What was recorded is durable; the gate opens and its body runs up to its await; go on."""
    opened = session.flushed().but(gates=(*session.gates, frame.label))
    return opened.go(Listening("gate", "tool"))


UNOPPOSED: Final[Mapping[str, Frame]] = MappingProxyType(
    {
        "assemble": Assembled("assembled"),
        "pre-step": Decided("enter", None),
        "request": Requested("go"),
        "request-error": Recovered("give-up"),
        "turn-stopping": Stopping("nothing"),
    }
)
"""What follows a gate at which nobody objects."""


def passes_at_once(session: Session, _: Arrive) -> bool:
    """By policy a gate that nobody holds is passed at once."""
    return session.policy.passes == "at once"


def disposal_fails_the_turn(session: Session, frame: Arrive) -> bool:
    """At assembly, disposal began, by policy the turn fails, and its signal is not aborted."""
    fails = session.policy.disposed_turn == "fails" and frame.gate == "assemble"
    return fails and bool(session.disposal) and not session.aborted


def fail_disposed(session: Session, _: Arrive) -> Session:
    """Unwind with that error."""
    return fail(session, Ending("error", ERROR_TEXTS["disposed"]))


def pass_gate(session: Session, frame: Arrive) -> Session:
    """Nobody objects; go on."""
    return session.go(UNOPPOSED[frame.gate])


def pass_later(session: Session, frame: Arrive) -> Session:
    """Nobody objects; one tick; go on."""
    return session.go(Suspend(), UNOPPOSED[frame.gate])


def cut(session: Session, frame: Suspend) -> Session:
    """The driver's frames wait as the task; the caller's rest goes on."""
    behind = next(i for i, due in enumerate(session.stack) if due.frame == "end driver") + 1
    stack, task = session.stack[behind:], session.stack[:behind]
    return session.but(stack=stack, task=task, awaited=frame.gate)


def settle(session: Session, call: str, error: str | None = None) -> Session:
    """The session in which something that a call began has settled."""
    return settle_frame(session, Settle(call, error))


def settle_frame(session: Session, frame: Settle) -> Session:
    """It has settled, behind a driver in its exit gap."""
    return session.but(settling=(*session.settling, frame._replace(behind=session.looked)))


def something_has_settled(session: Session, _: None) -> bool:
    """Something has settled and was not told yet, and no driver goes first."""
    return bool(session.settling) and not (session.task and session.settling[0].behind)


def tell_settlement(session: Session, _: None) -> Session:
    """Whoever awaits the oldest settlement is told."""
    return session.but(settling=session.settling[1:])


def see_settlement(session: Session, _: None) -> Observation:
    """What has settled, and how."""
    oldest = session.settling[0]
    return Observation("settled", oldest.call, (("error", oldest.error),))


def follows(session: Session, call: str) -> bool:
    """Whether what has settled is this call, and by policy follows what runs again."""
    oldest = session.settling[0].call if something_has_settled(session, None) else ""
    return oldest == call and session.active and session.policy.waits == "follows"


def a_wait_goes_on(session: Session, _: None) -> bool:
    """What has settled is a wait for idle, something runs again, and by policy it follows that."""
    return follows(session, "when-idle")


def wait_again(session: Session, _: None) -> Session:
    """It waits again."""
    return session.but(settling=session.settling[1:], waiters=session.waiters + 1)


def a_disposal_goes_on(session: Session, _: None) -> bool:
    """What has settled is a disposal, something runs again, and by policy it waits for that."""
    return follows(session, "dispose")


def dispose_again(session: Session, _: None) -> Session:
    """Disposal is not done."""
    return session.but(settling=session.settling[1:], disposal="begun")


def a_disposal_is_slower(session: Session, _: None) -> bool:
    """A disposal has settled before something else, and by policy it awaits its parts."""
    calls = [settled.call for settled in session.settling]
    later = any(call != "dispose" for call in calls)
    return later and calls[0] == "dispose" and session.policy.awaits == "parts"


def tell_last(session: Session, _: None) -> Session:
    """It settles behind the rest."""
    return session.but(settling=(*session.settling[1:], session.settling[0]))


def resume(session: Session, _: None) -> Session:
    """The task's frames run; whatever has settled comes next."""
    settling = tuple(settled._replace(behind=False) for settled in session.settling)
    return session.but(stack=session.task, task=(), awaited="", settling=settling)


def arrival(gate: str, rules: str, sees: Callable[[Session, Arrive], Observation]) -> Row:
    """The row that arrives at one kind of gate."""
    return row("arrive", f"at {gate}", rules, arrives_at(gate), suspend_at, f"gate {gate}", sees)


AWAITS: Final = (
    row("arrive", "once disposed of", "ID-11", disposal_fails_the_turn, fail_disposed),
    arrival("assemble", "PS-03 CL-08", see_assemble),
    arrival("pre-step", "PS-01 PS-02 PS-20", see_pre_step),
    arrival("request", "ST-07", see_open_step),
    arrival("provider", "ST-01 ST-06", see_open_step),
    arrival("request-error", "ST-16 ST-19", see_open_step),
    arrival("turn-stopping", "TS-01 TS-05", see_turn),
    arrival("maintenance", "MN-02", see_maintenance),
    row("arrive", "where nobody objects", "PS-04 ST-16", passes_at_once, pass_gate),
    row("arrive", "where nobody objects, a tick later", "LN-10", always, pass_later),
    row("open gate", "of a tool, a tick later", "TC-01 LN-10", has_not_waited, open_later),
    row("open gate", "of a call that was aborted", "TC-04", call_is_skipped, skip_recorded),
    row("open gate", "of a tool", "TC-01", always, open_beside, "gate tool", see_tool),
    row("suspend", "the driver", "LN-10 CN-13", always, cut),
    row("event loop", "lets a disposal settle last", "DI-04", a_disposal_is_slower, tell_last),
    row("event loop", "lets a wait go on", "WI-02", a_wait_goes_on, wait_again),
    row("event loop", "lets a disposal go on", "DI-04", a_disposal_goes_on, dispose_again),
    row(
        "event loop",
        "tells what has settled",
        "WI-03 DI-04 MN-02",
        something_has_settled,
        tell_settlement,
        "settled",
        see_settlement,
    ),
    row("event loop", "resumes the driver", "LN-10", always, resume),
)

# --- Pre-step -----------------------------------------------------------------------------------

assembly_failed = chose("The assembly failed.", "failed")

fail_assembly = fails("Unwind with that error.", "error", ERROR_TEXTS["assemble"])


def propose(session: Session, _: Assembled) -> Session:
    """Ask for the pre-step decision."""
    return session.go(Arrive("pre-step"))


hook_raised = chose("The hook raised.", "raise")

fail_decision = fails(
    "Unwind with that error; the batch stays removed.", "error", ERROR_TEXTS["pre-step"]
)

rejected = chose("The decision is to reject.", "reject")

block_turn = fails("The turn ends blocked; the batch stays removed.", "blocked")


def entering(session: Session, frame: Decided) -> tuple[Message, ...]:
    """The messages of an entering decision."""
    return session.batch if frame.messages is None else frame.messages


def enters_nothing_first(session: Session, frame: Decided) -> bool:
    """Nothing enters and the turn has no step yet."""
    return not entering(session, frame) and session.step == 0


end_empty = fails(
    "The turn ends as an empty completed turn, after which the driver stops.", "empty"
)


def enters_nothing_more(session: Session, frame: Decided) -> bool:
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
        enters_nothing_more,
        end_with_outcome,
    ),
    row("decided", "to enter", "PS-04 PS-05 PS-12 PS-20", always, enter),
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
    goes_on = session.ending.kind in session.policy.goes_on_after
    return goes_on and bool(session.pending) and not disposal_began(session, None)


def roll(session: Session, _: AfterTurn) -> Session:
    """A fresh signal; nothing is latched; open the next turn."""
    return session.but(cause=None, latch=False, clear_refused=False).go(OpenTurn())


def driver_goes_on_later(session: Session, frame: AfterTurn) -> bool:
    """As below, and by policy a driver awaits its parts."""
    return driver_goes_on(session, frame) and session.policy.awaits == "parts"


def roll_later(session: Session, _: AfterTurn) -> Session:
    """A fresh signal; nothing is latched; one tick; open the next turn."""
    fresh = session.but(cause=None, latch=False, clear_refused=False)
    return fresh.go(Suspend(), OpenTurn())


def wakes_are_renewed(session: Session, _: AfterTurn) -> bool:
    """The turn was aborted, a waking message is pending, and the policy advances."""
    assert session.ending is not None
    aborted = session.ending.kind == "aborted" and not disposal_began(session, None)
    waking = any(item.mark != QUIET for item in session.pending)
    return aborted and waking and session.policy.after_keep_cancel == "advance"


def renew(session: Session, _: AfterTurn) -> Session:
    """Every waking message becomes due; one tick; go idle."""
    return session.with_marks((WAKING,), DUE).but(looked=True).go(Suspend())


def stop(session: Session, _: AfterTurn) -> Session:
    """One tick; go idle."""
    return session.but(looked=True).go(Suspend())


def go_idle(session: Session, _: GoIdle) -> Session:
    """What was recorded is durable; status idle; look whether anything is due; tell who waits."""
    idle = session.flushed().but(
        running=False, cause=None, latch=False, looked=False, step=0, outcome=None, owes=False
    )
    status = tell_event(session, "agent/status", "idle")
    return idle.go(status, AfterIdle(session.latch), Converged())


def something_is_due(session: Session, frame: AfterIdle) -> bool:
    """Nothing runs, something is due, and disposal has not begun."""
    due = any(item.mark == DUE for item in session.pending)
    marks = session.policy.wakes == "marks"
    return due and marks and not session.active and not disposal_began(session, None)


def a_wake_was_latched(session: Session, frame: AfterIdle) -> bool:
    """Nothing runs, a wake was latched, and something is pending."""
    return frame.latched and not session.active and bool(session.pending)


def latched_behind_maintenance(session: Session, frame: AfterIdle) -> bool:
    """A wake was latched, and an idle listener has started a maintenance task."""
    return frame.latched and session.maintenance


def latch_again(session: Session, _: AfterIdle) -> Session:
    """The maintenance task inherits the latched wake."""
    return session.but(latch=True)


def drive(session: Session, _: AfterIdle) -> Session:
    """Start a driver."""
    return session.go(Start())


def an_activity_runs(session: Session, _: object) -> bool:
    """An idle listener has started a driver or a maintenance task."""
    return session.active


def nothing_is_pending(session: Session, _: AfterIdle) -> bool:
    """Nothing is pending."""
    return not session.pending


def forget(session: Session, _: AfterIdle) -> Session:
    """How the last turn ended is forgotten."""
    return session.but(ending=None, clear_refused=False)


def somebody_waits(session: Session, _: Converged) -> bool:
    """Somebody waits for idle."""
    return session.waiters > 0


def tell_waiter(session: Session, frame: Converged) -> Session:
    """The oldest waiter is settled; then look again."""
    return settle(session.but(waiters=session.waiters - 1), "when-idle").go(frame)


def disposal_is_under_way(session: Session, _: Converged) -> bool:
    """Disposal began and is not done."""
    return session.disposal == "begun"


def finish_disposal(session: Session, _: Converged) -> Session:
    """Disposal is done, and settled."""
    return settle(session.but(disposal="done"), "dispose")


CLOSINGS: Final = (
    row("close turn", "that failed, with a report", "TB-12 ER-07 ER-11", owes_a_report, report),
    told("agent/error", "TB-12 TB-13 ER-07"),
    row("close turn", "", "TB-01 TB-05 TB-11 TB-18 OF-05", always, close_turn),
    told("turn/end", "TB-01 TB-18 CN-14"),
    row(
        "after turn",
        "with work in the lists, a tick later",
        "DR-08 TB-17 LN-10",
        driver_goes_on_later,
        roll_later,
    ),
    row(
        "after turn",
        "with work in the lists",
        "DR-08 DR-10 TB-17 CN-06 WL-08",
        driver_goes_on,
        roll,
    ),
    row("after turn", "with wakes to renew", "WL-01 CN-04", wakes_are_renewed, renew),
    row("after turn", "with nothing to drive", "DR-09 CN-11", always, stop),
    row("go idle", "", "DR-12 WL-02", always, go_idle),
    row("after idle", "with something due", "WL-01 WL-02 WL-03 DR-11", something_is_due, drive),
    row("after idle", "with a latched wake", "WL-01 WL-02 WL-06", a_wake_was_latched, drive),
    row(
        "after idle",
        "with a latched wake, behind maintenance",
        "WL-12",
        latched_behind_maintenance,
        latch_again,
    ),
    row("after idle", "behind a new activity", "WL-11 WL-12", an_activity_runs, nothing),
    row("after idle", "with nothing pending", "DR-12", nothing_is_pending, forget),
    row("after idle", "with parked messages", "DR-09 CN-11", always, nothing),
    row("converged", "but for a new activity", "WI-02", an_activity_runs, nothing),
    row("converged", "with a waiter", "WI-02 WI-03 WI-04 WI-05", somebody_waits, tell_waiter),
    row("converged", "under disposal", "DI-04", disposal_is_under_way, finish_disposal),
    row("converged", "with nobody waiting", "WI-04", always, nothing),
    row("settle", "what a call began", "MN-02 MN-09", always, settle_frame),
    row("end driver", "", "DR-03", always, nothing),
)

ROWS: Final = OPENINGS + AWAITS + DECISIONS + CLOSINGS
