"""SCOPE and DUP: what a delivery, a claim and a cancel reach, and that nothing happens twice."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.facts import CLAIMED, ENDING, SPLICED, Facts, Moment
from loopspec.model.properties.monitor import NEVER, Breaches, Stepped, breach_if, declare
from loopspec.model.words import NEXT_STEP, NEXT_TURN, Message, Rest


class Aim(NamedTuple):
    """What a call under way has to reach, judged when it is made (RT-10).

    `place` is the list that it delivers to, empty where it may be any; `doomed` what it still has
    to remove, and None for a call that clears nothing.
    """

    place: str = ""
    doomed: tuple[Message, ...] | None = None


Aims = tuple[Aim, ...]
"""Those of the calls under way, innermost last."""

NO_AIMS: Final[Aims] = ()


def scope_is_kept(ghost: Aims, at: Moment) -> Stepped[Aims]:
    """SCOPE: A delivery reaches its list, a claim the open turn, a cancel what was there then."""
    was = at.was
    if at.name == "call":
        return (*ghost, _aim(at)), NEVER
    if at.name == "return":
        doomed = ghost[-1].doomed if ghost else ()
        because = f"{ids(doomed or ())} was pending when {at.seen.name} began."
        left = doomed and at.get("raised") is None
        return ghost[:-1], breach_if(left, "SCOPE", because, "it returned and had not removed it")
    if at.name == CLAIMED:
        wrong = was.turn_open and at.number("turn") != was.turn
        came = f"claimed names turn {at.number('turn')}"
        return ghost, breach_if(wrong, "SCOPE", f"turn {was.turn} is open.", came)
    kept = (
        each
        if each.doomed is None
        else each._replace(doomed=tuple(m for m in each.doomed if m not in at.removed))
        for each in ghost
    )
    return tuple(kept), _spliced(ghost[-1], at) if ghost else NEVER


def _aim(at: Moment) -> Aim:
    """What a call has to reach: where it delivers and what it clears."""
    was, call = at.was, at.now.call
    place = {"followup": NEXT_TURN, "steer": NEXT_STEP, "inject": NEXT_STEP}.get(call.name, "")
    if call.name == "steer" and was.activity == ENDING:
        place = ""
    elif call.name == "steer" and was.cause:
        place = NEXT_TURN
    again = call.name == "dispose" and was.disposal != ""
    clears = call.name == "clear" or (call.cause != "" and not call.keeps and not again)
    refused = any(each.recorded for each in at.now.calls)
    return Aim(place, was.lists.pending if clears and not refused else None)


def _spliced(aim: Aim, at: Moment) -> Breaches:
    """A splice goes to the list of its call and takes away what its call may."""
    name, target = at.was.call.name, at.get("target")
    if at.inserted and aim.place not in ("", target):
        how = "under an aborted signal" if at.was.cause else "under no aborted signal"
        because = f"{name} was made {how}, so it goes to {aim.place}."
        return breach_if(aim, "SCOPE", because, f"{ids(at.inserted)} went to {target}")
    if aim.doomed is None or at.is_claim:
        return NEVER
    later = tuple(each for each in at.removed if each not in aim.doomed)
    because = f"{ids(later)} came after {name} began."
    return breach_if(later, "SCOPE", because, "it was removed all the same")


def scope_at_rest(ghost: Aims, facts: Facts, rest: Rest) -> Breaches:
    """At rest each open gate shows whether the signal is aborted."""
    aborted = facts.cause != ""
    wrong = [gate for gate, shown in rest.gates if shown != aborted and facts.activity != ENDING]
    because = f"the activity was {'' if aborted else 'not '}canceled."
    return breach_if(wrong, "SCOPE", because, f"at {wrong and wrong[0]} its signal reads otherwise")


SCOPE: Final = declare(
    scope_is_kept,
    NO_AIMS,
    "RT-01 RT-05 RT-09 RT-10 RT-11 RT-13 CL-06 CN-01 CN-06 CN-07 CN-08 CN-16 IN-14 RE-06 RE-08",
    "call return agent/inbox/spliced agent/inbox/claimed",
    "a clear begins with something pending",
    lambda ghost, at: (
        at.name == "call"
        and (at.made.call.name in ("clear", "dispose") or at.made.call.args[1:] == ("drop",))
        and bool(at.was.lists.pending)
    ),
    scope_at_rest,
    strict=True,
)


# --- DUP ----------------------------------------------------------------------------------------

ONCE: Final = frozenset(
    {"followup", "steer", "inject", "append", "prepend", "splice", "replace", "remove"}
)
"""Calls that make one change at most."""


def dup_nothing_twice(answered: bool, at: Moment) -> Stepped[bool]:
    """DUP: Nothing happens twice: one change for a call, one reply an answer, one result a tool."""
    was = at.was
    if at.name == "answer":
        return answered or at.answer.gate == "provider", NEVER
    if at.name == "provider":
        return False, NEVER
    if at.name == SPLICED:
        if not at.number("removed") and not at.inserted:
            return answered, breach_if(at, "DUP", "nothing changed.", "a splice was recorded")
        again = was.call.changed and was.call.name in ONCE and not at.is_claim
        because = "the call has made its one change."
        return answered, breach_if(again, "DUP", because, "another splice was recorded")
    if at.name == "assistant/message":
        because = "the provider has not answered again."
        return False, breach_if(not answered, "DUP", because, "a reply was recorded")
    if at.name in ("step/start", "step/end"):
        left = ", ".join(use.call for use in was.tools)
        because = f"the reply asks for {left}."
        return False, breach_if(left, "DUP", because, "no result came of it")
    return answered, _tool_twice(at)


def _tool_twice(at: Moment) -> Breaches:
    """Each call of a reply is recorded once, and its result once behind it."""
    call = str(at.get("call"))
    asked = [use.call for use in at.was.tools if use.stage == "asked"]
    begun = [use.call for use in at.was.tools if use.stage != "asked"]
    wrong = call not in (asked if at.name == "tool/call" else begun)
    because = f"calls to come: {', '.join(asked) or '-'}."
    also = f"results to come: {', '.join(begun) or '-'}."
    return breach_if(wrong, "DUP", because, f"{at.name} {call} came", also)


DUP: Final = declare(
    dup_nothing_twice,
    False,
    "SP-04 ST-11 ST-12 ST-13 ST-17 TC-04 CN-17",
    "answer provider step/start step/end assistant/message tool/call tool/result "
    "agent/inbox/spliced",
    "a tool is called",
    lambda answered, at: at.name == "tool/call",
)
