"""The rows of faults: an append that the log refuses, an event at whose dispatch somebody throws.

Theory. A fault is the environment's: a call arms it, and it strikes once, at the next append of
that record or the next dispatch of that event, before anybody is told. A refused append leaves
everything as it was: a call raises and nothing has changed, a boundary was not crossed, whatever
else the loop appends fails the step or the turn that it belongs to, and the next append works. An
interceptor that throws is contained like a listener, or by policy is not.
"""

from typing import Final

from loopspec.model.rows import always, fail, row
from loopspec.model.session import (
    HANDLERS,
    QUIET,
    EndCall,
    Ending,
    Item,
    Session,
    Suspend,
    Tell,
    Turn,
)
from loopspec.model.table_driver import abort_turn
from loopspec.model.table_inbox import tell_event
from loopspec.model.words import Call

REFUSAL: Final = "append-refused"


def arm(session: Session, call: Call) -> Session:
    """The next append or dispatch of that name fails; return."""
    faults = sorted((*session.faults, str(call.args[0])))
    return session.but(faults=tuple(faults)).go(EndCall(call.name))


def strikes(session: Session, frame: Tell) -> bool:
    """Whether a fault is armed for what nobody was told yet; an idle status is never hit."""
    fresh = len(frame.listeners) == len(session.listeners)
    return fresh and frame.name in session.faults and frame.values != ("idle",)


def struck(session: Session, frame: Tell) -> Session:
    """The session without the fault."""
    at = session.faults.index(frame.name)
    return session.but(faults=session.faults[:at] + session.faults[at + 1 :])


def behind(session: Session, frame: str) -> Session:
    """The session without its work up to the first such frame."""
    at = next(index for index, due in enumerate(session.stack) if due.frame == frame)
    return session.but(stack=session.stack[at + 1 :])


# --- Refused records ----------------------------------------------------------------------------


def is_turn_start(session: Session, frame: Tell) -> bool:
    """The record is turn/start."""
    return frame.name == "turn/start"


def open_nothing(session: Session, frame: Tell) -> Session:
    """The number stays free; report with the turn before and step 0; go idle."""
    left = behind(struck(session, frame), "after turn")
    back = left.but(turn=Turn(session.turn - 1), turn_open=False, ending=Ending("error", REFUSAL))
    return back.go(tell_event(back, "agent/error", back.turn, 0, REFUSAL))


def is_turn_start_awaited(session: Session, frame: Tell) -> bool:
    """The record is turn/start, and by policy a driver awaits its parts."""
    return is_turn_start(session, frame) and session.policy.awaits == "parts"


def open_nothing_later(session: Session, frame: Tell) -> Session:
    """The number stays free; report with the turn before and step 0; one tick; go idle."""
    told, *rest = open_nothing(session, frame).stack
    return open_nothing(session, frame).but(stack=(told, Suspend(), *rest), looked=True)


def is_turn_end(session: Session, frame: Tell) -> bool:
    """The record is turn/end."""
    return frame.name == "turn/end"


def leave_open(session: Session, frame: Tell) -> Session:
    """The log keeps an open turn; report it; go idle."""
    left = behind(struck(session, frame), "after turn")
    back = left.but(turn_open=True, ending=Ending("error", REFUSAL))
    return back.go(tell_event(back, "agent/error", back.turn, back.step, REFUSAL))


def is_turn_end_awaited(session: Session, frame: Tell) -> bool:
    """The record is turn/end, and by policy a driver awaits its parts."""
    return is_turn_end(session, frame) and session.policy.awaits == "parts"


def leave_open_later(session: Session, frame: Tell) -> Session:
    """The log keeps an open turn; report it; one tick; go idle."""
    told, *rest = leave_open(session, frame).stack
    return leave_open(session, frame).but(stack=(told, Suspend(), *rest), looked=True)


def belongs_to_an_aborted_turn(session: Session, frame: Tell) -> bool:
    """The loop itself asked for it, in a turn whose signal is aborted."""
    handler = next(due.frame for due in session.stack if due.frame in HANDLERS)
    return session.aborted and handler != "end call"


def abort_struck(session: Session, frame: Tell) -> Session:
    """Unwind as aborted."""
    return abort_turn(struck(session, frame), None)


def is_step_start(session: Session, frame: Tell) -> bool:
    """The record is step/start."""
    return frame.name == "step/start"


def enter_nothing(session: Session, frame: Tell) -> Session:
    """The step was not entered; the turn fails without it."""
    left = behind(struck(session, frame), "after step")
    return fail(left.but(step=session.step - 1), Ending(REFUSAL))


def call_of(session: Session) -> str:
    """The call that a failure would reach; empty where a step or a turn would fail."""
    handler = next(due for due in session.stack if due.frame in HANDLERS)
    return handler.call if isinstance(handler, EndCall) else ""


def clears_for_a_cancel(session: Session, frame: Tell) -> bool:
    """A broad cancel or a disposal clears, and by policy it aborts all the same."""
    return call_of(session) in ("cancel", "dispose") and session.policy.refused_clear == "abort"


def spared(session: Session, quiet: bool) -> Session:
    """Nothing is doomed any more, unless a clear that began earlier is still to go on."""
    doomed = any(due.frame == "clear list" for due in session.stack)

    def spare(item: Item) -> Item:
        mark = QUIET if quiet and item.doomed else item.mark
        return item._replace(mark=mark, doomed=item.doomed and doomed)

    return session.but(
        next_turn=tuple(map(spare, session.next_turn)),
        next_step=tuple(map(spare, session.next_step)),
    )


def abort_all_the_same(session: Session, frame: Tell) -> Session:
    """What could not be removed becomes quiet; abort; raise append-refused."""
    stack = session.stack
    at = next(index for index, due in enumerate(stack) if due.frame in ("unlatch", "end call"))
    end = next(index for index, due in enumerate(stack) if isinstance(due, EndCall))
    raised = EndCall(call_of(session), None, REFUSAL)
    left = struck(session, frame).but(stack=(*stack[at:end], raised, *stack[end + 1 :]))
    return spared(left, quiet=True).but(clear_refused=True)


def clears_for_a_disposal(session: Session, frame: Tell) -> bool:
    """A disposal clears, and by policy the refusal throws."""
    return call_of(session) == "dispose"


def dispose_of_nothing(session: Session, frame: Tell) -> Session:
    """Disposal has not begun; raise append-refused."""
    return append_nothing(session.but(disposal=""), frame)


def append_nothing(session: Session, frame: Tell) -> Session:
    """Unwind with append-refused."""
    return spared(fail(struck(session, frame), Ending(REFUSAL)), quiet=False)


# --- Interceptors that throw --------------------------------------------------------------------


def is_contained(session: Session, frame: Tell) -> bool:
    """By policy an interceptor that throws is contained."""
    return session.policy.interceptor == "contained"


def tell_nobody(session: Session, frame: Tell) -> Session:
    """Nobody is told; go on."""
    return struck(session, frame)


def is_a_restart(session: Session, frame: Tell) -> bool:
    """It is the status of a driver that no call has started."""
    if frame.name != "agent/status":
        return False
    return behind(session, "end driver").stack[0].frame != "end call"


def stay_running(session: Session, frame: Tell) -> Session:
    """The driver is gone, and the status stays running."""
    return behind(struck(session, frame), "end driver")


def is_a_start(session: Session, frame: Tell) -> bool:
    """It is the status of a driver that a call has started."""
    return frame.name == "agent/status"


def raise_running(session: Session, frame: Tell) -> Session:
    """The driver is gone, and the status stays running; the call raises dispatch-failed."""
    return fail(stay_running(session, frame), Ending("dispatch-failed"))


def dispatch_nothing(session: Session, frame: Tell) -> Session:
    """Unwind with dispatch-failed."""
    return fail(struck(session, frame), Ending("dispatch-failed"))


ROWS: Final = (
    row("refuse", "the next append", "ID-05", always, arm),
    row("throw", "at the next dispatch", "ER-08", always, arm),
    row(
        "refused",
        "turn/start, a tick later",
        "TB-03 TB-12",
        is_turn_start_awaited,
        open_nothing_later,
    ),
    row("refused", "turn/start", "TB-03 TB-12", is_turn_start, open_nothing),
    row("refused", "turn/end, a tick later", "TB-04", is_turn_end_awaited, leave_open_later),
    row("refused", "turn/end", "TB-04 TB-01", is_turn_end, leave_open),
    row("refused", "under an abort", "TB-08 TB-13", belongs_to_an_aborted_turn, abort_struck),
    row("refused", "step/start", "ST-04 ER-11", is_step_start, enter_nothing),
    row("refused", "clear of a cancel", "CN-01 RE-03", clears_for_a_cancel, abort_all_the_same),
    row("refused", "clear of a disposal", "RE-02", clears_for_a_disposal, dispose_of_nothing),
    row("refused", "otherwise", "ID-04 ID-05 CL-11 ST-05", always, append_nothing),
    row("thrown", "and contained", "ER-01 WI-06", is_contained, tell_nobody),
    row("thrown", "at the status of a restart", "ER-10", is_a_restart, stay_running),
    row("thrown", "at the status of a start", "ER-10", is_a_start, raise_running),
    row("thrown", "under an abort", "ER-09 TB-08", belongs_to_an_aborted_turn, abort_struck),
    row("thrown", "otherwise", "ER-08 ER-09", always, dispatch_nothing),
)
