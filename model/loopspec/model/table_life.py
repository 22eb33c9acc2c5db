"""The rows of a session's life: maintenance, waiting for idle, disposal.

Theory. Maintenance is an activity without a turn: it has a signal, its status reads idle, and
wakes that come meanwhile are driven when it ends (MN-05). Waiting for idle follows whatever
replaces the activity that it saw (WI-02). Disposal is a broad cancel that cannot be undone: from
its call on nothing starts any more, and it settles once nothing runs (DI-04).

A session is opened from its log: after a crash from what the last flush made durable, after a
disposal from all of it, as a fork from a copy. Pending messages come back and wake nobody; what was
claimed does not come back; what was open is closed by a repair, once (RS-01 to RS-08).
"""

from typing import Final

from loopspec.model.rows import always, nothing, row
from loopspec.model.session import (
    DUE,
    QUIET,
    WAKING,
    Abort,
    AfterIdle,
    Arrive,
    Converged,
    EndCall,
    EndDriver,
    Item,
    Kept,
    MaintenanceDone,
    Opened,
    Session,
    Settle,
    fold_of,
)
from loopspec.model.table_driver import settle
from loopspec.model.table_inbox import (
    append_is_impossible,
    disposal_began,
    doom,
    drop_frames,
    loop_is_idle,
    raise_disposed,
    refuse_append,
)
from loopspec.model.words import ERROR_TEXTS, TARGETS, Call, Observation, observation


def something_runs(session: Session, _: Call) -> bool:
    """A driver or a maintenance task runs."""
    return session.active


def raise_busy(session: Session, call: Call) -> Session:
    """Raise busy; nothing changes."""
    return session.go(EndCall(call.name, None, "busy"))


def start_maintenance(session: Session, call: Call) -> Session:
    """A fresh signal; the task runs up to its first await; return."""
    begun = session.but(maintenance=True, cause=None, latch=False)
    return begun.go(Arrive("maintenance"), EndDriver(), EndCall(call.name))


def end_maintenance(session: Session, frame: MaintenanceDone) -> Session:
    """Nothing runs; look whether anything is due; the task is settled; see who waits."""
    error = ERROR_TEXTS["maintenance"] if frame.choice == "raise" else None
    ended = session.but(maintenance=False, cause=None, latch=False)
    return ended.go(AfterIdle(session.latch), Settle("maintenance", error), Converged())


def a_disposal_forgets(session: Session, _: MaintenanceDone) -> bool:
    """Disposal began, and by policy the task replays no wake then."""
    return bool(session.disposal) and session.policy.disposed_latch == "forgotten"


def end_disposed(session: Session, frame: MaintenanceDone) -> Session:
    """No wake is latched; else as without disposal."""
    return end_maintenance(session.but(latch=False), frame)


def settle_at_once(session: Session, call: Call) -> Session:
    """Settled already; return."""
    return settle(session, call.name).go(EndCall(call.name))


def wait(session: Session, call: Call) -> Session:
    """One more waits; return."""
    return session.but(waiters=session.waiters + 1).go(EndCall(call.name))


def is_disposing(session: Session, _: Call) -> bool:
    """Disposal began already."""
    return bool(session.disposal)


def answer_again(session: Session, call: Call) -> Session:
    """Return; the disposal under way is shared."""
    return session.go(EndCall(call.name))


def clear_is_refused(session: Session, _: Call) -> bool:
    """A listener of a record runs, and something is pending."""
    return append_is_impossible(session, None) and bool(session.pending)


def refused_clear_throws(session: Session, _: Call) -> bool:
    """A listener of a record runs, something is pending, and by policy the refusal throws."""
    return clear_is_refused(session, _) and session.policy.refused_clear == "throw"


def dispose_all_the_same(session: Session, call: Call) -> Session:
    """Disposal begins: make what is pending quiet; abort; raise append-refused."""
    rest = session.with_marks((WAKING, DUE), QUIET).but(clear_refused=True, disposal="begun")
    refused = EndCall(call.name, None, "append-refused")
    return rest.go(Abort("disposed"), Converged(), refused)


def dispose(session: Session, call: Call) -> Session:
    """Disposal begins: doom what is pending; clear; abort; settled if nothing runs; return."""
    begun = doom(session).but(disposal="begun")
    return begun.go(*drop_frames("disposed"), Converged(), EndCall(call.name))


# --- Opened from a log --------------------------------------------------------------------------


def flush(session: Session, call: Call) -> Session:
    """All that was recorded is durable; return."""
    return session.flushed().go(EndCall(call.name))


def opened(session: Session, log: Kept, by: str) -> Session:
    """A session with the lists and turn numbers of a log, all quiet, and the log repaired.

    The mark behind it (RS-07) is told to nobody and folds to nothing, so it is no part of a trace.
    """
    lost = [f"tool/result {call} not-started" for call in log.called[log.started :]]
    left = [f"tool/result {call} outcome-unknown" for call in log.called[: log.started]]
    closed = ["step/end"] * log.step_open + ["turn/end interrupted"] * log.turn_open
    whole = Kept(log.next_turn, log.next_step, log.turn)
    fresh = Session(
        policy=session.policy,
        listeners=session.listeners,
        held=session.held,
        next_turn=tuple(Item(message) for message in log.next_turn),
        next_step=tuple(Item(message) for message in log.next_step),
        turn=log.turn,
        kept=None if session.kept is None else whole,
    )
    return fresh.go(Opened(by, (*left, *lost, *closed)))


def crash(session: Session, call: Call) -> Session:
    """Nothing is left but what is durable; open it."""
    assert session.kept is not None
    return opened(session, session.kept, call.name)


def is_live(session: Session, _: Call) -> bool:
    """Disposal is not done."""
    return session.disposal != "done"


def raise_log_busy(session: Session, call: Call) -> Session:
    """Raise log-busy; nothing changes."""
    return session.go(EndCall(call.name, None, "log-busy"))


def open_again(session: Session, call: Call) -> Session:
    """Open the log, or a copy of it."""
    return opened(session, fold_of(session), call.name)


def turn_is_open(session: Session, _: Call) -> bool:
    """A turn is open."""
    return session.turn_open


def refuse_fork(session: Session, call: Call) -> Session:
    """Raise fork-refused; nothing is copied."""
    return session.go(EndCall(call.name, None, "fork-refused"))


def fork_inherits(session: Session, _: Call) -> bool:
    """By policy a fork takes over what is pending."""
    return session.policy.fork == "inherits"


def fork_empty(session: Session, call: Call) -> Session:
    """Open a copy of the log without what is pending, and go on with that."""
    return opened(session, Kept(turn=session.turn), call.name)


def see_opened(session: Session, frame: Opened) -> Observation:
    """The number of the last turn, both lists, and what the repair appended."""
    lists = [tuple(item.message for item in session.items(target)) for target in TARGETS]
    return observation("opened", frame.by, session.turn, *lists, frame.repaired)


LOGS: Final = (
    row("flush", "at rest", "DR-05", always, flush),
    row("crash", "at any time", "RS-01 RS-02 RS-03 RS-04 RS-05 RS-06 RS-08", always, crash),
    row("resume", "of a live session", "RS-11", is_live, raise_log_busy),
    row("resume", "after disposal", "RS-01 RS-07 RS-08", always, open_again),
    row("fork", "inside an open turn", "RS-09", turn_is_open, refuse_fork),
    row("fork", "with what is pending", "ID-10", fork_inherits, open_again),
    row("fork", "without what is pending", "ID-10 RS-08", always, fork_empty),
    row("opened", "from a log", "RS-01 RS-10", always, nothing, "opened", see_opened),
)

LIVES: Final = (
    row("maintenance", "once disposal began", "MN-01 ID-11", disposal_began, raise_disposed),
    row("maintenance", "while something runs", "MN-01", something_runs, raise_busy),
    row("maintenance", "while idle", "MN-02 MN-03 MN-08 MN-10", always, start_maintenance),
    row("maintenance done", "once disposed of", "WL-07", a_disposal_forgets, end_disposed),
    row("maintenance done", "", "MN-05 MN-06 MN-09 WL-09 WL-12", always, end_maintenance),
    row("when-idle", "while idle", "WI-01", loop_is_idle, settle_at_once),
    row("when-idle", "while something runs", "WI-02 WI-04", always, wait),
    row("dispose", "again", "DI-04", is_disposing, answer_again),
    row("dispose", "whose refused clear throws", "RE-02", refused_clear_throws, refuse_append),
    row("dispose", "whose clear is refused", "RE-02 RE-03", clear_is_refused, dispose_all_the_same),
    row("dispose", "", "DI-04 DI-05 DI-06 DI-09 DI-10", always, dispose),
)

ROWS: Final = LIVES + LOGS
