"""CAUSE, WAKE and QUIET: a truthful end, no lost wake, no work that nobody asked for."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.facts import SPLICED, WAKING, Facts, Moment
from loopspec.model.properties.monitor import NEVER, Breaches, Stepped, breach_if, declare
from loopspec.model.words import Answer, Message, Rest


class Causes(NamedTuple):
    """What the answers so far make of the turn, and what was reported of it.

    `last` is what the last answer was: done, failed or rejected. `truncating`: the provider's was
    cut by the output limit; `truncated`: so was a reply that is recorded.
    """

    last: str = "done"
    reported: str | None = None
    truncating: bool = False
    truncated: bool = False


def cause_first_wins(ghost: Causes, at: Moment) -> Stepped[Causes]:
    """CAUSE: A turn says truly why it ended: first cancel, one failure, else the output limit."""
    if at.name == "answer":
        return _after_answer(ghost, at.answer), NEVER
    if at.name == "agent/status":
        return Causes(), NEVER
    if at.name == "turn/start":
        because = f"the driver was canceled by {at.was.cause}."
        wrong = at.was.cause and not at.was.unsure and not at.was.looked
        return Causes(), breach_if(wrong, "CAUSE", because, "a turn opened")
    if at.name == "agent/error":
        return ghost._replace(reported=str(at.get("error"))), _report_is_true(ghost, at)
    if at.name == "assistant/message":
        interrupted = bool(at.get("interrupted"))
        truncated = ghost.truncated or (ghost.truncating and not interrupted)
        because = f"the first cancel of this turn came from {at.was.cause or 'nobody'}."
        said = f"the reply was recorded as {'interrupted' if interrupted else 'complete'}"
        wrong = not at.was.unsure and interrupted == (at.was.cause == "")
        return ghost._replace(truncated=truncated), breach_if(wrong, "CAUSE", because, said)
    ended = ghost._replace(last="done", reported=None)
    return ended, NEVER if at.was.unsure else _end_is_true(ghost, at)


def _after_answer(ghost: Causes, answer: Answer) -> Causes:
    """What an answer makes of the turn; a tool or a maintenance task cannot fail it."""
    if answer.gate in ("tool", "maintenance"):
        return ghost
    if answer.gate == "provider" and answer.choice != "partial":
        ghost = ghost._replace(truncating=answer.choice == "max-tokens")
    failed = answer.choice in ("failed", "raise", "error", "cut", "give-up")
    rejected = answer.choice == "reject"
    return ghost._replace(last="rejected" if rejected else "failed" if failed else "done")


def _report_is_true(ghost: Causes, at: Moment) -> Breaches:
    """An error is reported once, inside its turn, of its step, and not of a canceled turn."""
    was, step = at.was, at.number("step")
    if step != was.step:
        because = f"{was.step or 'no'} step of the turn was entered."
        return breach_if(step != was.step, "CAUSE", because, f"the report names step {step}")
    cause = "" if was.unsure else was.cause
    opened = f"the turn is {'open' if was.turn_open else 'not open'}."
    why = f"it was canceled by {cause}." if cause else "one report was made."
    wrong = ghost.reported is not None or cause or not was.turn_open
    reported = f"the error {str(at.get('error'))!r} was reported"
    return breach_if(wrong, "CAUSE", opened, reported, why)


def _end_is_true(ghost: Causes, at: Moment) -> Breaches:
    """The reason that is right for what happened in the turn."""
    reason, cause, first = at.get("reason"), at.get("cause"), at.was.cause
    said = f"the turn ended as {reason}" + (f" by {cause}" if cause else "")
    if ghost.reported is not None:
        because = f"the error {ghost.reported!r} was reported in this turn."
        right = reason == "error" and at.get("error") == ghost.reported
    elif first:
        because = f"the first cancel of this turn came from {first}."
        right = reason == "aborted" and cause == first
    elif reason == "error":
        because, right = "an error is reported before the end of its turn.", False
        said += " without a report"
    else:
        done = "max-tokens" if ghost.truncated else "completed"
        right = reason == {"rejected": "blocked", "failed": "error", "done": done}[ghost.last]
        limit = ghost.last == "done" and ghost.truncated
        what = "done, behind one that was cut by the output limit" if limit else ghost.last
        because = f"nobody canceled, and the last answer was {what}."
    return breach_if(not right, "CAUSE", because, said)


CAUSE: Final = declare(
    cause_first_wins,
    Causes(),
    "CN-05 CN-06 CN-12 TB-02 TB-06 TB-08 TB-09 TB-11 TB-12 TB-13 TB-17 PS-15 ER-07 ER-11 OF-02 "
    "ST-12 ST-14",
    "answer agent/status agent/error turn/start turn/end assistant/message",
    "a turn ends as aborted",
    lambda ghost, at: at.name == "turn/end" and at.get("reason") == "aborted",
)


Owed = tuple[Message, ...]
"""The pending messages whose wake has had no driver yet."""

NOTHING_OWED: Final[Owed] = ()


def wake_is_never_lost(owed: Owed, at: Moment) -> Stepped[Owed]:
    """WAKE: A wake that no running driver would see starts one, unless it is taken back."""
    if at.name == "call":
        return () if at.made.call.name == "dispose" else owed, NEVER
    if at.name == "return":
        refused = at.seen.name == "cancel" and at.get("raised") is not None
        return () if refused else owed, NEVER
    if at.name == "agent/status":
        return () if at.now.running else owed, NEVER
    left = tuple(each for each in owed if each not in at.removed)
    inherits = len(left) < len(owed) and at.was.call.name == "replace"
    return left + at.inserted if at.was.call.due or inherits else left, NEVER


def wake_at_rest(owed: Owed, facts: Facts, rest: Rest) -> Breaches:
    """An idle session has driven every wake whose message is still pending."""
    idle = rest.status == "idle" and not facts.maintenance
    because = f"{ids(owed)} asked to wake when no driver would look again."
    however = "the session is idle and no driver was started for it"
    return breach_if(idle and owed, "WAKE", because, however)


WAKE: Final = declare(
    wake_is_never_lost,
    NOTHING_OWED,
    "WL-01 WL-02 WL-05 RT-03 RT-04 RT-09 DR-11 RE-13 LN-10",
    "call return agent/status agent/inbox/spliced",
    "a wake comes under an abort or after the last look",
    lambda owed, at: (
        at.name == "call"
        and at.made.call.name in WAKING
        and at.was.running
        and (at.was.cause != "" or at.was.looked)
    ),
    wake_at_rest,
    strict=True,
)

CREDIT_MAX: Final = 9
ASKING: Final = "pre-step step/start request provider request-error turn-stopping"
"""What a canceled turn must not ask for any more."""


def quiet_without_a_wake(credit: int, at: Moment) -> Stepped[int]:
    """QUIET: Only a wake or an aborted turn starts a driver; a canceled turn asks no more."""
    was = at.was
    if at.name == "call":
        return 0 if was.activity == "" and not at.made.inside else credit, NEVER
    if at.name == SPLICED:
        return min(CREDIT_MAX, credit + was.call.due * len(at.inserted)), NEVER
    if at.name == "turn/end":
        return min(CREDIT_MAX, credit + (at.get("reason") == "aborted")), NEVER
    if at.name == "agent/status" and not at.now.running:
        return credit, NEVER
    if at.name == "agent/status":
        because = "disposal began." if was.disposal else "every wake so far has had its driver."
        wrong = was.disposal or not credit
        return max(0, credit - 1), breach_if(wrong, "QUIET", because, "a driver started")
    because, came = "the open turn was canceled.", f"{at.name} of step {at.number('step')} came"
    return credit, breach_if(was.cause and was.turn_open, "QUIET", because, came)


QUIET: Final = declare(
    quiet_without_a_wake,
    0,
    "CN-06 CN-10 DR-09 PS-15 PS-16 ST-03 RT-07 RT-11 WL-01 IN-15",
    f"call agent/status turn/end agent/inbox/spliced {ASKING}",
    "a canceled turn ends",
    lambda credit, at: at.name == "turn/end" and at.was.cause != "",
    strict=True,
)
