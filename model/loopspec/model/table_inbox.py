"""The rows of the inbox: calls, the one splice, its notifications, clear and cancel.

Theory. Every change of a list is one `Splice`: it commits a durable record, whose listeners still
see the old list; then the list changes; then each removed message is discarded and each inserted
one announced, in order (LN-01 to LN-04). A claim is a pure deletion without outcome and without
these notifications. Inside a record's listening frame no append is possible, so a splice fails
there and its call raises (RE-01, RE-02); duplicate ids are noticed first (ID-03).

A delivery is judged when it is called, before its insertion (RT-10): *due* when no driver that
will look again can see it, else *waking*; quiet when it does not ask to wake.
"""

from typing import Final

from loopspec.model.rows import Row, always, fails, nothing, row
from loopspec.model.session import (
    DUE,
    QUIET,
    WAKING,
    Abort,
    Change,
    Clear,
    EndCall,
    Frame,
    Item,
    Listening,
    Session,
    Splice,
    Start,
    Tell,
    Unlatch,
    Wake,
    find,
)
from loopspec.model.words import (
    EVENTS,
    KEYS,
    NEXT_STEP,
    NEXT_TURN,
    Call,
    Message,
    Observation,
)

# --- Calls: deliveries --------------------------------------------------------------------------


def signal_is_aborted(session: Session, _: object) -> bool:
    """The signal of the running driver is aborted."""
    return session.aborted


def is_disposed(session: Session, _: object) -> bool:
    """The session is disposed, and the policy looks at the fact."""
    return session.disposal == "done" and session.policy.disposal == "fact"


def disposal_began(session: Session, _: object) -> bool:
    """Disposal began, and the policy looks at the fact."""
    return bool(session.disposal) and session.policy.disposal == "fact"


def disposing_and_aborted(session: Session, _: object) -> bool:
    """Disposal began, the policy looks at the fact, and the signal is aborted."""
    return disposal_began(session, None) and session.aborted


def maintenance_runs(session: Session, _: object) -> bool:
    """A maintenance task runs."""
    return session.maintenance


def driver_has_looked(session: Session, _: object) -> bool:
    """The driver has looked for the last time."""
    return session.looked


def loop_is_idle(session: Session, _: object) -> bool:
    """Neither a driver nor a maintenance task runs."""
    return not session.active


def deliver(session: Session, call: Call, target: str, mark: str, *frames: Frame) -> Session:
    """Insert the message at the tail of `target` with `mark`, run `frames`, then return."""
    message = call.args[0]
    assert isinstance(message, Message)
    tail = len(session.items(target))
    return session.go(Splice(target, tail, 0, (Item(message, mark),)), *frames, EndCall(call.name))


def queue_due(session: Session, call: Call) -> Session:
    """Insert at the tail of next-turn as due; wake; return."""
    return deliver(session, call, NEXT_TURN, DUE, Wake())


def queue_late(session: Session, call: Call) -> Session:
    """Insert at the tail of next-turn as due; wake late; return."""
    return deliver(session, call, NEXT_TURN, DUE, Wake(True))


def queue_waking(session: Session, call: Call) -> Session:
    """Insert at the tail of next-turn as waking; wake; return."""
    return deliver(session, call, NEXT_TURN, WAKING, Wake())


def steer_due(session: Session, call: Call) -> Session:
    """Insert at the tail of next-step as due; wake; return."""
    return deliver(session, call, NEXT_STEP, DUE, Wake())


def steer_late(session: Session, call: Call) -> Session:
    """Insert at the tail of next-step as due; wake late; return."""
    return deliver(session, call, NEXT_STEP, DUE, Wake(True))


def steer_waking(session: Session, call: Call) -> Session:
    """Insert at the tail of next-step as waking; wake; return."""
    return deliver(session, call, NEXT_STEP, WAKING, Wake())


def raise_disposed(session: Session, call: Call) -> Session:
    """Raise disposed; nothing is inserted."""
    return session.go(EndCall(call.name, None, "disposed"))


def inject_quiet(session: Session, call: Call) -> Session:
    """Insert at the tail of next-step as quiet; return."""
    return deliver(session, call, NEXT_STEP, QUIET)


DELIVERIES: Final = (
    row("followup", "after disposal", "ID-11", is_disposed, raise_disposed),
    row("followup", "once disposal began", "RT-14 DI-06", disposal_began, queue_waking),
    row("followup", "under an aborted signal", "RT-09 WL-05", signal_is_aborted, queue_late),
    row("followup", "during maintenance", "RT-13 MN-05", maintenance_runs, queue_late),
    row("followup", "after the last look", "DR-11 RE-13", driver_has_looked, queue_due),
    row("followup", "while idle", "RT-01 RT-03 LN-10", loop_is_idle, queue_due),
    row("followup", "while running", "RT-06 RT-12 RT-18", always, queue_waking),
    row("steer", "after disposal", "ID-11", is_disposed, raise_disposed),
    row(
        "steer",
        "once disposal began, under an abort",
        "RT-14 RT-09",
        disposing_and_aborted,
        queue_waking,
    ),
    row("steer", "once disposal began", "RT-14", disposal_began, steer_waking),
    row("steer", "under an aborted signal", "RT-09 WL-05", signal_is_aborted, queue_late),
    row("steer", "during maintenance", "RT-13 MN-05", maintenance_runs, steer_late),
    row("steer", "after the last look", "DR-11 RE-13", driver_has_looked, steer_due),
    row("steer", "while idle", "RT-01 RT-04", loop_is_idle, steer_due),
    row("steer", "while running", "RT-05 RT-12", always, steer_waking),
    row("inject", "after disposal", "ID-11", is_disposed, raise_disposed),
    row("inject", "at any time", "RT-01 RT-07 RT-11 MN-04", always, inject_quiet),
)

# --- Calls: the inbox ---------------------------------------------------------------------------


def normalised(start: int, count: int, length: int) -> tuple[int, int]:
    """Start and count inside a list of `length`: negatives count from the end (SP-01, SP-02)."""
    begin = max(0, length + start) if start < 0 else min(start, length)
    return begin, max(0, min(count, length - begin))


def append_quiet(session: Session, call: Call) -> Session:
    """Insert at the tail of the target as quiet; return."""
    target, message = call.args
    assert isinstance(target, str)
    assert isinstance(message, Message)
    tail = len(session.items(target))
    return session.go(Splice(target, tail, 0, (Item(message),)), EndCall(call.name))


def prepend_quiet(session: Session, call: Call) -> Session:
    """Insert at index 0 of the target as quiet; return."""
    target, message = call.args
    assert isinstance(target, str)
    assert isinstance(message, Message)
    return session.go(Splice(target, 0, 0, (Item(message),)), EndCall(call.name))


def splice_quiet(session: Session, call: Call) -> Session:
    """Normalise, then one splice whose insertions are quiet; return what it removed."""
    target, start, count, messages = call.args
    assert isinstance(target, str)
    assert isinstance(start, int)
    assert isinstance(count, int)
    assert isinstance(messages, tuple)
    items = session.items(target)
    begin, removed = normalised(start, count, len(items))
    value = tuple(item.message for item in items[begin : begin + removed])
    inserted = tuple(Item(message) for message in messages if isinstance(message, Message))
    return session.go(Splice(target, begin, removed, inserted), EndCall(call.name, value))


def message_is_pending(session: Session, call: Call) -> bool:
    """A message with that id is pending, in either list."""
    return find(session, str(call.args[0])) is not None


def remove_found(session: Session, call: Call) -> Session:
    """One canceled deletion where the message is; return True."""
    place = find(session, str(call.args[0]))
    assert place is not None
    return session.go(Splice(place[0], place[1], 1), EndCall(call.name, True))


def replace_found(session: Session, call: Call) -> Session:
    """One splice in place, which inherits the mark; return True."""
    place = find(session, str(call.args[0]))
    message = call.args[1]
    assert place is not None
    assert isinstance(message, Message)
    mark = session.items(place[0])[place[1]].mark
    return session.go(Splice(*place, 1, (Item(message, mark),)), EndCall(call.name, True))


def answer_false(session: Session, call: Call) -> Session:
    """Return False."""
    return session.go(EndCall(call.name, False))


def inbox_is_empty(session: Session, _: object) -> bool:
    """Both lists are empty."""
    return not session.pending


def append_is_impossible(session: Session, _: object) -> bool:
    """A listener of a record runs."""
    return any(type(due) is Listening and due.to == "record" for due in session.stack)


def no_op_is_refused(session: Session, _: object) -> bool:
    """A listener of a record runs, and by policy even a change of nothing is refused there."""
    return append_is_impossible(session, None) and session.policy.no_op == "refused"


def answer_none(session: Session, call: Call) -> Session:
    """Return."""
    return session.go(EndCall(call.name))


def refuse_append(session: Session, call: Call) -> Session:
    """Raise append-refused."""
    return session.go(EndCall(call.name, None, "append-refused"))


def doom(session: Session) -> Session:
    """All that is pending now will be removed by the clear that follows (A11)."""
    return session.but(
        next_turn=tuple(item._replace(doomed=True) for item in session.next_turn),
        next_step=tuple(item._replace(doomed=True) for item in session.next_step),
    )


def clear_both(session: Session, call: Call) -> Session:
    """Doom what is pending; clear next-step, then next-turn; return."""
    return doom(session).go(Clear(NEXT_STEP), Clear(NEXT_TURN), EndCall(call.name))


EDITS: Final = (
    row("append", "at any time", "IN-10 IN-15", always, append_quiet),
    row("prepend", "at any time", "IN-10", always, prepend_quiet),
    row("splice", "at any time", "SP-01 SP-02 SP-03 SP-06 SP-07 SP-08", always, splice_quiet),
    row("replace", "of a pending message", "IN-12 LN-04", message_is_pending, replace_found),
    row("replace", "of nothing, refused", "RE-01", no_op_is_refused, refuse_append),
    row("replace", "of a message that is not pending", "IN-12", always, answer_false),
    row("remove", "of a pending message", "IN-11 LN-08", message_is_pending, remove_found),
    row("remove", "of nothing, refused", "RE-01", no_op_is_refused, refuse_append),
    row("remove", "of a message that is not pending", "IN-11", always, answer_false),
    row("clear", "of an empty inbox", "IN-14", inbox_is_empty, answer_none),
    row("clear", "inside a record's listener", "RE-02", append_is_impossible, refuse_append),
    row("clear", "of pending messages", "IN-14", always, clear_both),
)

# --- Calls: cancel ------------------------------------------------------------------------------


def inbox_is_kept(session: Session, call: Call) -> bool:
    """The call keeps the inbox."""
    return call.args[1] == "keep"


def abort_only(session: Session, call: Call) -> Session:
    """Abort; return."""
    return session.go(Abort(str(call.args[0])), EndCall(call.name))


def forget_then_abort(session: Session, call: Call) -> Session:
    """Forget a latched wake; abort; return."""
    return session.go(Unlatch(), Abort(str(call.args[0])), EndCall(call.name))


def refused_clear_throws(session: Session, call: Call) -> bool:
    """A listener of a record runs, and by policy a refused clear throws."""
    return append_is_impossible(session, call) and session.policy.refused_clear == "throw"


def quiet_then_abort(session: Session, call: Call) -> Session:
    """Make what is pending quiet; abort; raise append-refused."""
    rest = session.with_marks((WAKING, DUE), QUIET).but(clear_refused=True)
    return rest.go(Abort(str(call.args[0])), EndCall(call.name, None, "append-refused"))


def idle_when_it_began(session: Session, call: Call) -> bool:
    """Nothing runs, and by policy a cancel hits what ran when it began."""
    return not session.active and session.policy.cancel_hits == "began"


def clear_then_abort(session: Session, call: Call) -> Session:
    """Doom what is pending; clear next-step, then next-turn; forget a latch; abort; return."""
    return doom(session).go(*drop_frames(str(call.args[0])), EndCall(call.name))


def drop_frames(cause: str) -> tuple[Frame, ...]:
    """What a broad cancel does, in order."""
    return Clear(NEXT_STEP), Clear(NEXT_TURN), Unlatch(), Abort(cause)


def forget_latch(session: Session, _: Unlatch) -> Session:
    """No wake is latched."""
    return session.but(latch=False)


def set_cause(session: Session, frame: Abort) -> Session:
    """The signal is aborted with this cause."""
    return session.but(cause=frame.cause)


CANCELS: Final = (
    row("cancel", "that keeps the inbox", "CN-03 CN-05 CN-15 WL-14", inbox_is_kept, abort_only),
    row("cancel", "of an empty inbox", "CN-02 CN-15 RE-04", inbox_is_empty, forget_then_abort),
    row("cancel", "whose refused clear throws", "RE-02 RE-03", refused_clear_throws, refuse_append),
    row("cancel", "whose clear is refused", "RE-02 RE-03", append_is_impossible, quiet_then_abort),
    row("cancel", "of the inbox while idle", "CN-07 CN-06 IN-14", idle_when_it_began, clear_both),
    row("cancel", "of the inbox too", "CN-01 CN-16 IN-14 MN-07", always, clear_then_abort),
    row("unlatch", "", "CN-02", always, forget_latch),
    row("abort", "while idle", "CN-07 CN-06", loop_is_idle, nothing),
    row("abort", "after the first cause", "CN-05 CN-15", signal_is_aborted, nothing),
    row("abort", "of the activity", "CN-05 CN-08 CN-10 CN-12", always, set_cause),
)

# --- Clear --------------------------------------------------------------------------------------


def list_is_empty_and_clear_is_live(session: Session, frame: Clear) -> bool:
    """The list is empty, and by policy a clear takes what it finds."""
    return session.policy.clear == "live" and not session.items(frame.target)


def clear_is_live(session: Session, frame: Clear) -> bool:
    """By policy a clear takes what it finds."""
    return session.policy.clear == "live"


def remove_all(session: Session, frame: Clear) -> Session:
    """Remove the whole list."""
    return session.go(Splice(frame.target, 0, len(session.items(frame.target))))


def nothing_is_doomed(session: Session, frame: Clear) -> bool:
    """Nothing in this list is left to remove."""
    return not any(item.doomed for item in session.items(frame.target))


def remove_first_run(session: Session, frame: Clear) -> Session:
    """Remove the first run of neighbours that are to go; then look again."""
    items = session.items(frame.target)
    start = next(index for index, item in enumerate(items) if item.doomed)
    end = start
    while end < len(items) and items[end].doomed:
        end += 1
    return session.go(Splice(frame.target, start, end - start), frame)


CLEARS: Final = (
    row("clear list", "found empty", "IN-14", list_is_empty_and_clear_is_live, nothing),
    row("clear list", "as it stands", "IN-14 RE-06 RE-07", clear_is_live, remove_all),
    row("clear list", "when nothing is left to remove", "IN-14", nothing_is_doomed, nothing),
    row("clear list", "run by run", "IN-14 RE-06 RE-07", always, remove_first_run),
)

# --- Splice, change, notifications --------------------------------------------------------------


def changes_nothing(session: Session, frame: Splice) -> bool:
    """It removes nothing and inserts nothing."""
    return not frame.removed and not frame.inserted


def repeats_an_id(session: Session, frame: Splice) -> bool:
    """With the removal applied, an id would be pending twice (ID-02)."""
    if not frame.inserted:
        return False
    items = session.items(frame.target)
    other = session.next_step if frame.target == NEXT_TURN else session.next_turn
    kept = items[: frame.start] + items[frame.start + frame.removed :] + other + frame.inserted
    return len({item.message.id for item in kept}) < len(kept)


raise_duplicate = fails("Unwind with duplicate-id.", "duplicate-id")

raise_refused = fails("Unwind with append-refused.", "append-refused")


def is_claim(session: Session, frame: Splice) -> bool:
    """It is part of a claim."""
    return frame.claim


def removes(session: Session, frame: Splice) -> bool:
    """It removes at least one message."""
    return frame.removed > 0


def commit(session: Session, frame: Splice, outcome: str | None) -> Session:
    """Tell the record; change the list; discard what was removed; announce what was inserted."""
    gone = session.items(frame.target)[frame.start : frame.start + frame.removed]
    inserted = tuple(item.message for item in frame.inserted)
    record = (frame.target, frame.start, frame.removed, inserted, outcome)
    told = () if frame.claim else gone
    return session.go(
        Tell("record", "agent/inbox/spliced", record, session.listeners),
        Change(frame.target, frame.start, frame.removed, frame.inserted),
        *(tell_event(session, "agent/inbox/discarded", item.message) for item in told),
        *(tell_event(session, "agent/inbox/inserted", message) for message in inserted),
    )


def tell_event(session: Session, name: str, *values: Message | str | int | None) -> Tell:
    """A live event on its way to each listener."""
    return Tell("event", name, values, session.listeners)


def commit_claim(session: Session, frame: Splice) -> Session:
    """Record a deletion without outcome; change the list; notify nobody."""
    return commit(session, frame, None)


def commit_cancellation(session: Session, frame: Splice) -> Session:
    """Record with outcome canceled; change the list; discarded each; inserted each."""
    return commit(session, frame, "canceled")


def commit_insertion(session: Session, frame: Splice) -> Session:
    """Record without outcome; change the list; inserted each."""
    return commit(session, frame, None)


def edited(session: Session, frame: Change) -> tuple[Item, ...]:
    """The list after the change."""
    items = session.items(frame.target)
    return items[: frame.start] + frame.inserted + items[frame.start + frame.removed :]


def empties_a_parked_inbox(session: Session, frame: Change) -> bool:
    """Nothing runs and nothing would be pending."""
    other = session.next_step if frame.target == NEXT_TURN else session.next_turn
    return not session.active and not other and not edited(session, frame)


def change_and_forget(session: Session, frame: Change) -> Session:
    """The list changes; why it was parked is forgotten."""
    changed = session.with_items(frame.target, edited(session, frame))
    return changed.but(ending=None, clear_refused=False)


def change(session: Session, frame: Change) -> Session:
    """The list changes."""
    return session.with_items(frame.target, edited(session, frame))


SPLICES: Final = (
    row("splice frame", "would repeat an id", "ID-01 ID-02 ID-03", repeats_an_id, raise_duplicate),
    row("splice frame", "refused, even of nothing", "RE-01", no_op_is_refused, raise_refused),
    row("splice frame", "changes nothing", "SP-04 CL-12", changes_nothing, nothing),
    row(
        "splice frame", "in a record's listener", "RE-01 ID-04", append_is_impossible, raise_refused
    ),
    row("splice frame", "of a claim", "CL-04 CL-11 LN-09", is_claim, commit_claim),
    row("splice frame", "that removes", "IN-04 LN-01 LN-04", removes, commit_cancellation),
    row("splice frame", "that inserts", "IN-02 IN-03 LN-01", always, commit_insertion),
    row("change", "of the last parked message", "LN-03", empties_a_parked_inbox, change_and_forget),
    row("change", "of the list", "LN-02 LN-03", always, change),
)


def tell_next(session: Session, frame: Tell) -> Session:
    """The listener runs; then the next listener is told."""
    rest = frame.listeners[1:]
    later: tuple[Frame, ...] = (frame._replace(listeners=rest),) if rest else ()
    return session.go(Listening(frame.kind, frame.name), *later)


def see_delivery(session: Session, frame: Tell) -> Observation:
    """What the listener is told."""
    data = tuple(zip(KEYS[frame.name], frame.values, strict=True))
    return Observation(frame.kind, frame.name, data, frame.listeners[0])


def see_return(session: Session, frame: EndCall) -> Observation:
    """What the caller gets."""
    value = frame.value
    if isinstance(value, tuple):
        ids = tuple(message.id for message in value)
        return Observation("return", frame.call, (("value", ids), ("raised", frame.raised)))
    return Observation("return", frame.call, (("value", value), ("raised", frame.raised)))


def told(name: str, rules: str) -> Row:
    """The row that delivers one kind of record or event to the next listener."""
    kind = "event" if name in EVENTS else "record"
    return row(name, "is told", rules, always, tell_next, f"{kind} {name}", see_delivery)


def raises(session: Session, frame: EndCall) -> bool:
    """The call failed."""
    return frame.raised is not None


def late_wake_is_latched(session: Session, frame: Wake) -> bool:
    """By policy it is latched: it is late, or its own insertion has begun a maintenance task."""
    late = frame.late or session.maintenance
    return late and session.cause != "disposed" and session.policy.wakes == "latch"


def latch_wake(session: Session, _: Wake) -> Session:
    """The wake is latched."""
    return session.but(latch=True)


def start_driver(session: Session, _: Wake) -> Session:
    """Start a driver."""
    return session.go(Start())


NOTIFICATIONS: Final = (
    told("agent/inbox/spliced", "IN-02 IN-05 LN-02"),
    told("agent/inbox/inserted", "LN-01 LN-05 LN-07 RE-05"),
    told("agent/inbox/discarded", "LN-01 LN-05 RE-05"),
    told("agent/inbox/claimed", "CL-05 CL-06 LN-05"),
    row("listening", "ends", "ER-01 ER-03", always, nothing),
    row("end call", "by raising", "ID-03 ID-05 RE-02", raises, nothing, "return", see_return),
    row("end call", "by returning", "RT-18 SP-06", always, nothing, "return", see_return),
    row("wake", "once disposal began", "RT-14 DI-07", disposal_began, nothing),
    row("wake", "while idle", "RT-03 RT-15 RE-11", loop_is_idle, start_driver),
    row("wake", "late", "WL-10 RT-13 MN-05", late_wake_is_latched, latch_wake),
    row("wake", "while an activity runs", "RT-12 RE-10 WL-11", always, nothing),
)

ROWS: Final = DELIVERIES + EDITS + CANCELS + CLEARS + SPLICES + NOTIFICATIONS
