"""TERM and PARK: a turn and a driver go on while there is a reason to, and only then."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.monitor import (
    NEVER,
    Breach,
    Calls,
    Lists,
    declare,
    is_claim,
    messages,
    told,
    tool_of,
)
from loopspec.model.words import Answer, Entry, Made, Message, Observation, Rest

ORDINARY: Final = ("completed", "max-tokens")
"""How a turn ends when it has nothing more to do."""


class Going(NamedTuple):
    """Why the turn, or behind its end the driver, would go on.

    `owes`: the last step owes a reply; `concluded`: a tool has asked to end the turn; `took`: a
    claim since the last step took something; `nothing`: the decision enters nothing; `over` says
    how the last turn ended until the driver opens another or goes idle, `goes_on` whether it must.
    """

    lists: Lists = Lists()
    disposing: bool = False
    steps: int = 0
    owes: bool = False
    concluding: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    concluded: bool = False
    took: bool = False
    nothing: bool = False
    over: str = ""
    goes_on: bool = False


def term_goes_on_for_a_reason(ghost: Going, entry: Entry) -> tuple[Going, tuple[Breach, ...]]:
    """TERM: A turn takes the steps that are owed, a driver the turns that are due, and no more."""
    if isinstance(entry, Made):
        return ghost._replace(disposing=ghost.disposing or entry.call.name == "dispose"), NEVER
    if isinstance(entry, Answer):
        return _going_answered(ghost, entry), NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.name == "agent/inbox/spliced":
        lists, _ = ghost.lists.spliced(seen)
        return ghost._replace(lists=lists, took=ghost.took or is_claim(seen)), NEVER
    if seen.name == "tool":
        return ghost._replace(tools=(*ghost.tools, str(seen.get("call")))), NEVER
    if seen.name == "tool/result":
        ends = seen.get("outcome") == "ok" and seen.get("call") in ghost.concluding
        return ghost._replace(concluded=ghost.concluded or ends), NEVER
    if seen.name in ("turn/start", "agent/status"):
        return _driver(ghost, seen)
    return _turn(ghost, seen)


def _going_answered(ghost: Going, answer: Answer) -> Going:
    """What an answer makes of the step."""
    if answer.gate == "provider" and answer.choice != "partial":
        owes = answer.choice in ("owes", "tools", "parallel")
        return ghost._replace(owes=owes, concluding=(), tools=(), concluded=False)
    if answer.gate == "pre-step":
        nothing = answer.choice == "enter" and answer.messages == ()
        return ghost._replace(nothing=nothing)
    if answer.gate == "tool":
        call = tool_of(answer, ghost.tools)
        left = tuple(each for each in ghost.tools if each != call)
        ends = (call,) if answer.choice == "concludes" else ()
        return ghost._replace(tools=left, concluding=ghost.concluding + ends)
    return ghost


def _more(ghost: Going) -> tuple[str, ...]:
    """Why the turn has to go on, if it has."""
    if ghost.owes and not ghost.concluded:
        return ("the last step owes a reply.",)
    if ghost.lists.next_step:
        return (f"{ids(ghost.lists.next_step)} is pending in next-step.",)
    return ()


def _turn(ghost: Going, seen: Observation) -> tuple[Going, tuple[Breach, ...]]:
    """Inside a turn: a step needs a reason, and an end the want of one."""
    if seen.name == "assemble":
        asked_for = ghost.steps == 0 or ghost.took or (ghost.owes and not ghost.concluded)
        because = ("no reply is owed and nothing was pending in next-step.",)
        breach = Breach("TERM", because, f"step {ghost.steps + 1} was proposed")
        after = ghost._replace(took=False, nothing=False)
        return after, NEVER if asked_for else (breach,)
    if seen.name == "step/start":
        empty = ghost.nothing and not (ghost.owes and not ghost.concluded)
        breach = Breach("TERM", ("the decision enters nothing, and no reply is owed.",), "a step")
        after = ghost._replace(steps=ghost.steps + 1, nothing=False, took=False)
        return after, (breach._replace(however="a step opened"),) if empty else NEVER
    if seen.name == "turn-stopping":
        more = _more(ghost)
        breach = Breach("TERM", more, "the end of the turn was proposed")
        return ghost, (breach,) if more else NEVER
    if seen.name != "turn/end":
        return ghost, NEVER
    reason = str(seen.get("reason"))
    ordinary = reason in ORDINARY
    more = _more(ghost) if ordinary and ghost.steps else ()
    if ghost.nothing and more and not ghost.owes:
        more = ()  # the decision has emptied the step that this input would have had (DR-10)
    breach = Breach("TERM", more, f"the turn ended as {reason}")
    goes_on = ordinary and ghost.steps > 0 and bool(ghost.lists.pending)
    over = reason if ghost.steps or not ordinary else "empty"
    after = Going(ghost.lists, ghost.disposing, over=over, goes_on=goes_on)
    return after, (breach,) if more else NEVER


def _driver(ghost: Going, seen: Observation) -> tuple[Going, tuple[Breach, ...]]:
    """Behind the end of a turn: the next one, or idle."""
    fresh = Going(ghost.lists, ghost.disposing)
    if seen.name == "turn/start":
        breach = Breach("TERM", (f"the turn before ended as {ghost.over}.",), "another one opened")
        wrong = ghost.over != "" and not ghost.goes_on
        return fresh, (breach,) if wrong else NEVER
    left = ghost.goes_on and not ghost.disposing and seen.get("status") == "idle"
    because = (f"the turn ended as {ghost.over} with {ghost.lists} pending.",)
    return fresh, (Breach("TERM", because, "the driver went idle"),) if left else NEVER


def term_at_rest(ghost: Going, rest: Rest) -> tuple[Breach, ...]:
    """A running session waits for somebody."""
    if rest.status == "running" and not rest.gates:
        because = ("the session is running and no gate is open.",)
        return (Breach("TERM", because, "nothing more happens"),)
    return NEVER


def a_turn_takes_another_step(ghost: Going, entry: Entry) -> bool:
    """Whether a second step opens."""
    seen = told(entry)
    return seen is not None and seen.name == "step/start" and ghost.steps > 0


TERM: Final = declare(
    term_goes_on_for_a_reason,
    term_at_rest,
    Going(),
    "DR-08 DR-09 DR-10 RT-05 RT-06 RT-08 TC-08 TC-09 TC-10 OF-04 OF-06 TS-01 TS-03 TS-04 TS-06 "
    "TB-05 TB-14 TB-16 PS-11 PS-12 PS-13 PS-21",
    "dispose answer agent/status assemble turn/start turn/end turn-stopping step/start tool "
    "tool/result agent/inbox/spliced",
    "a turn takes another step",
    a_turn_takes_another_step,
    strict=True,
)


# --- PARK ---------------------------------------------------------------------------------------

NAMED: Final = ("blocked", "error", "empty", "none")
"""Endings behind which a waking message may wait: each is released by any wake."""


class Parked(NamedTuple):
    """The pending messages that asked to wake, and how the last driver ended.

    `entering` are those whose record is being told: they are in no list yet (LN-02), so that a
    refused clear leaves them awake.
    """

    lists: Lists = Lists()
    waking: tuple[Message, ...] = ()
    entering: tuple[Message, ...] = ()
    calls: Calls = Calls()
    disposing: bool = False
    maintenance: int = 0
    stepped: bool = False
    ending: str = "none"


def park_has_a_reason(ghost: Parked, entry: Entry) -> tuple[Parked, tuple[Breach, ...]]:
    """PARK: Only a wake starts a driver, and waits only behind a reject, failure or early stop."""
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    if isinstance(entry, Made):
        return ghost._replace(disposing=ghost.disposing or entry.call.name == "dispose"), NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.kind == "return":
        refused = seen.name == "cancel" and seen.get("raised") is not None
        return ghost._replace(waking=ghost.entering) if refused else ghost, NEVER
    if seen.name == "agent/inbox/spliced":
        return _parked_spliced(ghost, seen), NEVER
    if seen.name == "agent/inbox/inserted":
        return ghost._replace(entering=()), NEVER
    if seen.name == "maintenance":
        more = 1 if seen.kind == "gate" else -1
        return ghost._replace(maintenance=ghost.maintenance + more), NEVER
    if seen.name == "agent/status":
        if seen.get("status") != "running":
            return ghost, NEVER
        because = (f"nobody among {ids(ghost.lists.pending)} asked to wake.",)
        asked = ghost.waking or ghost.calls.name in ("followup", "steer")
        breach = Breach("PARK", because, "a driver started")
        return ghost._replace(ending="none"), NEVER if asked else (breach,)
    if seen.name == "turn/start":
        return ghost._replace(stepped=False), NEVER
    if seen.name == "step/start":
        return ghost._replace(stepped=True), NEVER
    if seen.name == "turn/end":
        reason = str(seen.get("reason"))
        empty = reason == "completed" and not ghost.stepped
        return ghost._replace(ending="empty" if empty else reason, stepped=False), NEVER
    return ghost, NEVER


def _parked_spliced(ghost: Parked, seen: Observation) -> Parked:
    """A waking delivery adds to those that wait to run; a replacement inherits."""
    lists, removed = ghost.lists.spliced(seen)
    inserted = messages(seen.get("inserted"))
    waking = tuple(each for each in ghost.waking if each not in removed)
    inherits = ghost.calls.name == "replace" and len(waking) < len(ghost.waking)
    delivered = ghost.calls.name in ("followup", "steer") and not is_claim(seen)
    woken = inserted if (delivered or inherits) and not ghost.disposing else ()
    after = ghost._replace(lists=lists, waking=waking + woken, entering=woken)
    return after._replace(calls=ghost.calls.inserted(inserted))


def park_at_rest(ghost: Parked, rest: Rest) -> tuple[Breach, ...]:
    """An idle session has run every waking message, or can say why not."""
    if rest.status != "idle" or ghost.maintenance or ghost.disposing:
        return NEVER
    if not ghost.waking or ghost.ending in NAMED:
        return NEVER
    because = (f"{ids(ghost.waking)} asked to wake, and the last turn ended as {ghost.ending}.",)
    return (Breach("PARK", because, "the session is idle, and no reason holds it"),)


def a_wake_is_preserved(ghost: Parked, entry: Entry) -> bool:
    """Whether a turn is aborted while a message that asked to wake is pending."""
    seen = told(entry)
    aborted = seen is not None and seen.name == "turn/end" and seen.get("reason") == "aborted"
    return aborted and bool(ghost.waking)


PARK: Final = declare(
    park_has_a_reason,
    park_at_rest,
    Parked(),
    "DR-09 CN-11 RT-07 RT-11 WL-03 DR-08 RT-03",
    "call answer return agent/status maintenance turn/start turn/end step/start "
    "agent/inbox/spliced agent/inbox/inserted",
    "a turn is aborted with a waking message pending",
    a_wake_is_preserved,
    strict=True,
)
