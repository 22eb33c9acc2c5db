"""CAUSE, WAKE and QUIET: a truthful end, no lost wake, no work that nobody asked for."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.monitor import (
    NEVER,
    Breach,
    Calls,
    Lists,
    cause_of,
    declare,
    is_cancel,
    messages,
    number,
    told,
)
from loopspec.model.words import Answer, Entry, Made, Message, Observation, Rest

IDLE: Final = ""
"""Stands for the cause of a cancel that began while nothing ran."""


class Causes(NamedTuple):
    """The first cause of the activity, and what the last answer makes of the turn."""

    running: bool = False
    turn_open: bool = False
    turn_ended: bool = False
    cause: str | None = None
    canceling: tuple[str | None, ...] = ()
    failed: bool = False
    rejected: bool = False
    reported: str | None = None
    disposing: bool = False
    step: int = 0
    truncating: bool = False
    truncated: bool = False
    unsure: bool = False
    """Whether a cancel has aborted is the policy's: it was refused its clear (A8), or a listener
    of its clear has started the driver (A11)."""


def cause_first_wins(ghost: Causes, entry: Entry) -> tuple[Causes, tuple[Breach, ...]]:
    """CAUSE: A turn says truly why it ended: first cancel, one failure, else the output limit."""
    if isinstance(entry, Made):
        again = entry.call.name == "dispose" and ghost.disposing
        cause = cause_of(entry.call) if is_cancel(entry) and not again else None
        if cause is not None and not ghost.running:
            cause = IDLE
        ghost = ghost._replace(disposing=ghost.disposing or entry.call.name == "dispose")
        return ghost._replace(canceling=(*ghost.canceling, cause)), NEVER
    if isinstance(entry, Answer):
        return _after_answer(ghost, entry), NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.kind == "return":
        asked = ghost.canceling[-1] if ghost.canceling else None
        if seen.name == "dispose" and seen.get("raised") is not None:
            # Whether it has begun all the same is the policy's (A8): another one may be the first.
            ghost = ghost._replace(disposing=False)
        left = ghost._replace(canceling=ghost.canceling[:-1])
        if asked is not None and (seen.get("raised") is not None or asked == IDLE):
            return left._replace(unsure=ghost.unsure or ghost.running), NEVER
        return left._replace(cause=ghost.cause or asked), NEVER
    if seen.name == "agent/status":
        running = seen.get("status") == "running"
        fresh = Causes(running, canceling=ghost.canceling, disposing=ghost.disposing)
        return fresh, NEVER
    if seen.name == "turn/start":
        breach = Breach("CAUSE", (f"the driver was canceled by {ghost.cause}.",), "a turn opened")
        wrong = ghost.cause is not None and not ghost.turn_ended
        opened = Causes(True, True, canceling=ghost.canceling, disposing=ghost.disposing)
        return opened, (breach,) if wrong else NEVER
    if seen.name == "agent/error":
        text = str(seen.get("error"))
        if number(seen, "step") != ghost.step:
            entered = (f"{ghost.step or 'no'} step of the turn was entered.",)
            named = f"the report names step {number(seen, 'step')}"
            return ghost._replace(reported=text), (Breach("CAUSE", entered, named),)
        because = (f"the turn is {'open' if ghost.turn_open else 'not open'}.",)
        wrong = ghost.reported is not None or ghost.cause is not None or not ghost.turn_open
        why = f"it was canceled by {ghost.cause}." if ghost.cause else "one report was made."
        breach = Breach("CAUSE", (*because, why), f"the error {text!r} was reported")
        return ghost._replace(reported=text), (breach,) if wrong else NEVER
    if seen.name == "step/start":
        return ghost._replace(step=number(seen, "step")), NEVER
    if seen.name == "assistant/message":
        return _reply_is_true(ghost, seen)
    if seen.name == "turn/end":
        ended = ghost._replace(
            turn_open=False, turn_ended=True, failed=False, rejected=False, reported=None
        )
        return ended, _end_is_true(ghost, seen)
    return ghost, NEVER


def _after_answer(ghost: Causes, answer: Answer) -> Causes:
    """What an answer makes of the turn; a tool or a maintenance task cannot fail it."""
    if answer.gate in ("tool", "maintenance"):
        return ghost
    if answer.gate == "provider" and answer.choice != "partial":
        ghost = ghost._replace(truncating=answer.choice == "max-tokens")
    failed = answer.choice in ("failed", "raise", "error", "cut", "give-up")
    return ghost._replace(failed=failed, rejected=answer.choice == "reject")


def _reply_is_true(ghost: Causes, seen: Observation) -> tuple[Causes, tuple[Breach, ...]]:
    """A reply says that it was interrupted if and only if the turn was canceled before."""
    interrupted = bool(seen.get("interrupted"))
    after = ghost._replace(truncated=ghost.truncated or (ghost.truncating and not interrupted))
    if ghost.unsure or interrupted == (ghost.cause is not None):
        return after, NEVER
    because = (f"the first cancel of this turn came from {ghost.cause or 'nobody'}.",)
    said = "interrupted" if interrupted else "complete"
    return after, (Breach("CAUSE", because, f"the reply was recorded as {said}"),)


def _end_is_true(ghost: Causes, seen: Observation) -> tuple[Breach, ...]:
    """The reason that is right for what happened in the turn."""
    if ghost.unsure:
        return NEVER
    reason, cause = seen.get("reason"), seen.get("cause")
    said = f"the turn ended as {reason}" + (f" by {cause}" if cause else "")
    if ghost.reported is not None:
        because = (f"the error {ghost.reported!r} was reported in this turn.",)
        right = reason == "error" and seen.get("error") == ghost.reported
        return NEVER if right else (Breach("CAUSE", because, said),)
    if ghost.cause is not None:
        because = (f"the first cancel of this turn came from {ghost.cause}.",)
        right = reason == "aborted" and cause == ghost.cause
        return NEVER if right else (Breach("CAUSE", because, said),)
    expected = ("max-tokens",) if ghost.truncated else ("completed",)
    if ghost.rejected:
        expected = ("blocked",)
    elif ghost.failed:
        expected = ("error",)
    if reason in expected and reason != "error":
        return NEVER
    if reason == "error":
        because = ("an error is reported before the end of its turn.",)
        return (Breach("CAUSE", because, f"{said} without a report"),)
    what = "rejected" if ghost.rejected else "failed" if ghost.failed else "done"
    if what == "done" and ghost.truncated:
        what = "done, behind one that was cut by the output limit"
    return (Breach("CAUSE", (f"nobody canceled, and the last answer was {what}.",), said),)


def cause_at_rest(ghost: Causes, rest: Rest) -> tuple[Breach, ...]:
    """At rest an idle session owes no end of a turn; BAL says so."""
    return NEVER


def an_abort_ends_a_turn(ghost: Causes, entry: Entry) -> bool:
    """Whether a turn ends as aborted."""
    seen = told(entry)
    return seen is not None and seen.name == "turn/end" and seen.get("reason") == "aborted"


CAUSE: Final = declare(
    cause_first_wins,
    cause_at_rest,
    Causes(),
    "CN-05 CN-06 CN-12 TB-02 TB-06 TB-08 TB-09 TB-11 TB-12 TB-13 TB-17 PS-15 ER-07 ER-11 OF-02 "
    "ST-12 ST-14",
    "call answer return agent/status agent/error turn/start turn/end step/start assistant/message",
    "a turn ends as aborted",
    an_abort_ends_a_turn,
)


class Wakes(NamedTuple):
    """What was accepted as due, and whether a driver could still see it."""

    running: bool = False
    maintenance: int = 0
    """Maintenance tasks that have begun and whose end was not told yet."""
    disposing: bool = False
    canceled: bool = False
    ended: bool = False
    owed: tuple[Message, ...] = ()
    lists: Lists = Lists()
    calls: Calls = Calls()
    due: tuple[bool, ...] = ()
    aborts: tuple[bool, ...] = ()


def _after_wakes(ghost: Wakes, entry: Entry) -> Wakes:
    """The ghost after an entry that both WAKE and QUIET read alike."""
    if isinstance(entry, Answer):
        return ghost
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    if isinstance(entry, Made):
        waking = entry.call.name in ("followup", "steer")
        late = not ghost.running or ghost.canceled or ghost.ended
        due = waking and late and not ghost.disposing
        aborts = is_cancel(entry) and ghost.running
        ghost = ghost._replace(due=(*ghost.due, due), aborts=(*ghost.aborts, aborts))
        if entry.call.name == "dispose":
            return ghost._replace(disposing=True, owed=())
        return ghost
    seen = told(entry)
    if seen is None:
        return ghost
    if seen.kind == "return":
        canceled = ghost.canceled or ghost.aborts[-1:] == (True,)
        refused = seen.name == "cancel" and seen.get("raised") is not None
        owed = () if refused else ghost.owed
        return ghost._replace(
            due=ghost.due[:-1], aborts=ghost.aborts[:-1], canceled=canceled, owed=owed
        )
    if seen.name == "agent/status":
        running = seen.get("status") == "running"
        owed = () if running else ghost.owed
        return ghost._replace(running=running, canceled=False, ended=False, owed=owed)
    if seen.name == "maintenance":
        return ghost._replace(maintenance=ghost.maintenance + (1 if seen.kind == "gate" else -1))
    if seen.name == "turn/start":
        return ghost._replace(canceled=False, ended=False)
    if seen.name == "turn/end":
        return ghost._replace(ended=True)
    return ghost


def wake_is_never_lost(ghost: Wakes, entry: Entry) -> tuple[Wakes, tuple[Breach, ...]]:
    """WAKE: A wake that no running driver would see starts one, unless it is taken back."""
    after = _after_wakes(ghost, entry)
    seen = told(entry)
    if seen is None or seen.name != "agent/inbox/spliced":
        return after, NEVER
    lists, removed = after.lists.spliced(seen)
    inserted = messages(seen.get("inserted"))
    owed = tuple(each for each in after.owed if each not in removed)
    inherits = len(owed) < len(after.owed) and after.calls.name == "replace"
    if (after.due and after.due[-1]) or inherits:
        owed += inserted
    return after._replace(owed=owed, lists=lists), NEVER


def wake_at_rest(ghost: Wakes, rest: Rest) -> tuple[Breach, ...]:
    """An idle session has driven every wake whose message is still pending."""
    if rest.status != "idle" or ghost.maintenance:
        return NEVER
    if not ghost.owed:
        return NEVER
    because = (f"{ids(ghost.owed)} asked to wake when no driver would look again.",)
    return (Breach("WAKE", because, "the session is idle and no driver was started for it"),)


def a_wake_comes_late(ghost: Wakes, entry: Entry) -> bool:
    """Whether a waking call comes under an abort or after the last turn's end."""
    waking = isinstance(entry, Made) and entry.call.name in ("followup", "steer")
    return waking and ghost.running and (ghost.canceled or ghost.ended)


WAKE: Final = declare(
    wake_is_never_lost,
    wake_at_rest,
    Wakes(),
    "WL-01 WL-02 WL-05 RT-03 RT-04 RT-09 DR-11 RE-13 LN-10",
    "call return agent/status maintenance turn/start turn/end agent/inbox/spliced",
    "a wake comes under an abort or after the last look",
    a_wake_comes_late,
    strict=True,
)

CREDIT_MAX: Final = 9
ASKING: Final = frozenset(
    {"pre-step", "step/start", "request", "provider", "request-error", "turn-stopping"}
)
"""What a canceled turn must not ask for any more."""


class Work(NamedTuple):
    """How many drivers may start, and whether the open turn was canceled."""

    wakes: Wakes = Wakes()
    credit: int = 0
    turn_open: bool = False


def quiet_without_a_wake(ghost: Work, entry: Entry) -> tuple[Work, tuple[Breach, ...]]:
    """QUIET: Only a wake or an aborted turn starts a driver; a canceled turn asks no more."""
    before = ghost.wakes
    ghost = ghost._replace(wakes=_after_wakes(before, entry))
    seen = told(entry)
    if seen is None:
        at_rest = isinstance(entry, Made) and not entry.inside and not before.maintenance
        if at_rest and not before.running:
            return ghost._replace(credit=0), NEVER
        return ghost, NEVER
    if seen.name == "agent/inbox/spliced" and before.due and before.due[-1]:
        gained = min(CREDIT_MAX, ghost.credit + len(messages(seen.get("inserted"))))
        return ghost._replace(credit=gained), NEVER
    if seen.name == "agent/status" and seen.get("status") == "running":
        breach = Breach("QUIET", ("every wake so far has had its driver.",), "a driver started")
        if before.disposing:
            breach = Breach("QUIET", ("disposal began.",), "a driver started")
            return ghost, (breach,)
        left = max(0, ghost.credit - 1)
        return ghost._replace(credit=left), NEVER if ghost.credit else (breach,)
    if seen.name == "turn/start":
        return ghost._replace(turn_open=True), NEVER
    if seen.name == "turn/end":
        aborted = seen.get("reason") == "aborted"
        return ghost._replace(
            turn_open=False, credit=min(CREDIT_MAX, ghost.credit + aborted)
        ), NEVER
    if seen.name in ASKING and before.canceled and ghost.turn_open:
        step = number(seen, "step")
        breach = Breach(
            "QUIET", ("the open turn was canceled.",), f"{seen.name} of step {step} came"
        )
        return ghost, (breach,)
    return ghost, NEVER


def quiet_at_rest(ghost: Work, rest: Rest) -> tuple[Breach, ...]:
    """At rest nothing more is said than at any other point."""
    return NEVER


def a_canceled_turn_ends(ghost: Work, entry: Entry) -> bool:
    """Whether a canceled turn ends."""
    seen = told(entry)
    return seen is not None and seen.name == "turn/end" and ghost.wakes.canceled


QUIET: Final = declare(
    quiet_without_a_wake,
    quiet_at_rest,
    Work(),
    "CN-06 CN-10 DR-09 PS-15 PS-16 ST-03 RT-07 RT-11 WL-01 IN-15",
    "call return agent/status maintenance turn/start turn/end agent/inbox/spliced pre-step "
    "step/start request provider request-error turn-stopping",
    "a canceled turn ends",
    a_canceled_turn_ends,
    strict=True,
)
