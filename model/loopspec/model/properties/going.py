"""TERM and PARK: a turn and a driver go on while there is a reason to, and only then."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.facts import INSERTED, SPLICED, WAKING, Facts, Moment
from loopspec.model.properties.monitor import NEVER, Breaches, Stepped, breach_if, declare
from loopspec.model.words import Answer, Message, Rest

ORDINARY: Final = ("completed", "max-tokens")
"""How a turn ends when it has nothing more to do."""


class Going(NamedTuple):
    """Why the turn, or behind its end the driver, would go on.

    `owes`: the last step owes a reply, which no tool of it has `concluded`; `took`: a claim since
    the last step took something; `nothing`: the decision enters nothing; `goes_on`: the last turn
    has ended, and the driver must open another.
    """

    owes: bool = False
    concluded: bool = False
    took: bool = False
    nothing: bool = False
    goes_on: bool = False

    @property
    def reply_due(self) -> bool:
        """Whether another request is due."""
        return self.owes and not self.concluded

    def more(self, facts: Facts) -> str:
        """Why the turn has to go on, if it has."""
        if self.reply_due:
            return "the last step owes a reply."
        waiting = facts.lists.next_step
        return f"{ids(waiting)} is pending in next-step." if waiting else ""


def term_goes_on_for_a_reason(ghost: Going, at: Moment) -> Stepped[Going]:
    """TERM: A turn takes the steps that are owed, a driver the turns that are due, and no more."""
    was, because, however, after = at.was, "", "", ghost
    match at.name:
        case "answer":
            after = _answered(ghost, at.answer)
        case "agent/inbox/spliced":
            after = ghost._replace(took=ghost.took or at.is_claim)
        case "tool/result":
            use = next((use for use in was.tools if use.call == at.get("call")), None)
            if use is not None and use.concludes and at.get("outcome") == "ok":
                after = ghost._replace(concluded=True)
        case "turn/start":
            after = Going()
            if was.looked and not ghost.goes_on:
                because = f"the turn before ended as {was.ending}."
                however = "another one opened"
        case "agent/status":
            after = Going()
            if ghost.goes_on and not was.disposal and not at.now.running:
                because = f"the turn ended as {was.ending} with {was.lists} pending."
                however = "the driver went idle"
        case "assemble":
            after = ghost._replace(took=False, nothing=False)
            if was.step and not ghost.took and not ghost.reply_due:
                because = "no reply is owed and nothing was pending in next-step."
                however = f"step {was.step + 1} was proposed"
        case "step/start":
            after = ghost._replace(took=False, nothing=False)
            if ghost.nothing and not ghost.reply_due:
                because = "the decision enters nothing, and no reply is owed."
                however = "a step opened"
        case "turn-stopping":
            because, however = ghost.more(was), "the end of the turn was proposed"
        case "turn/end":
            return _ended(ghost, at)
    return after, breach_if(because, "TERM", because, however)


def _answered(ghost: Going, answer: Answer) -> Going:
    """What an answer makes of the step."""
    if answer.gate == "provider" and answer.choice != "partial":
        owes = answer.choice in ("owes", "tools", "parallel")
        return ghost._replace(owes=owes, concluded=False)
    if answer.gate == "pre-step":
        return ghost._replace(nothing=answer.choice == "enter" and answer.messages == ())
    return ghost


def _ended(ghost: Going, at: Moment) -> Stepped[Going]:
    """A turn ends in the ordinary way for want of a reason to go on; then the driver may have one.

    A decision that enters nothing has emptied the step that pending input would have had (DR-10).
    """
    reason = str(at.get("reason"))
    ordinary = reason in ORDINARY and at.was.step > 0
    emptied = ghost.nothing and not ghost.owes
    more = ghost.more(at.was) if ordinary and not emptied else ""
    after = Going(goes_on=ordinary and bool(at.was.lists.pending))
    return after, breach_if(more, "TERM", more, f"the turn ended as {reason}")


def term_at_rest(ghost: Going, facts: Facts, rest: Rest) -> Breaches:
    """A running session waits for somebody."""
    stuck = rest.status == "running" and not rest.gates
    because = "the session is running and no gate is open."
    return breach_if(stuck, "TERM", because, "nothing more happens")


TERM: Final = declare(
    term_goes_on_for_a_reason,
    Going(),
    "DR-08 DR-09 DR-10 RT-05 RT-06 RT-08 TC-08 TC-09 TC-10 OF-04 OF-06 TS-01 TS-03 TS-04 TS-06 "
    "TB-05 TB-14 TB-16 PS-11 PS-12 PS-13 PS-21",
    "answer agent/status assemble turn/start turn/end turn-stopping step/start tool/result "
    "agent/inbox/spliced",
    "a turn takes another step",
    lambda ghost, at: at.name == "step/start" and at.was.step > 0,
    term_at_rest,
    strict=True,
)


# --- PARK ---------------------------------------------------------------------------------------

NAMED: Final = ("blocked", "error", "empty", "none")
"""Endings behind which a waking message may wait: each is released by any wake."""


class Parked(NamedTuple):
    """The pending messages that asked to wake.

    `entering` are those whose record is being told: they are in no list yet (LN-02), so that a
    refused clear leaves them awake.
    """

    waking: tuple[Message, ...] = ()
    entering: tuple[Message, ...] = ()


def park_has_a_reason(ghost: Parked, at: Moment) -> Stepped[Parked]:
    """PARK: Only a wake starts a driver, and waits only behind a reject, failure or early stop."""
    if at.name == "return":
        refused = at.seen.name == "cancel" and at.get("raised") is not None
        return ghost._replace(waking=ghost.entering) if refused else ghost, NEVER
    if at.name == INSERTED:
        return ghost._replace(entering=()), NEVER
    if at.name == SPLICED:
        return _parked_spliced(ghost, at), NEVER
    if at.name == "turn/end" or not at.now.running:
        return ghost, NEVER
    unasked = not ghost.waking and at.was.call.name not in WAKING
    because = f"nobody among {ids(at.was.lists.pending)} asked to wake."
    return ghost, breach_if(unasked, "PARK", because, "a driver started")


def _parked_spliced(ghost: Parked, at: Moment) -> Parked:
    """A waking delivery adds to those that wait to run; a replacement inherits."""
    name = at.was.call.name
    waking = tuple(each for each in ghost.waking if each not in at.removed)
    inherits = name == "replace" and len(waking) < len(ghost.waking)
    delivered = name in WAKING and not at.is_claim
    woken = at.inserted if (delivered or inherits) and not at.was.disposal else ()
    return Parked(waking + woken, woken)


def park_at_rest(ghost: Parked, facts: Facts, rest: Rest) -> Breaches:
    """An idle session has run every waking message, or can say why not."""
    ending = facts.ending or "none"
    idle = rest.status == "idle" and not facts.maintenance and not facts.disposal
    because = f"{ids(ghost.waking)} asked to wake, and the last turn ended as {ending}."
    wrong = idle and ghost.waking and ending not in NAMED
    return breach_if(wrong, "PARK", because, "the session is idle, and no reason holds it")


PARK: Final = declare(
    park_has_a_reason,
    Parked(),
    "DR-09 CN-11 RT-07 RT-11 WL-03 DR-08 RT-03",
    "return agent/status turn/end agent/inbox/spliced agent/inbox/inserted",
    "a turn is aborted with a waking message pending",
    lambda ghost, at: (
        at.name == "turn/end" and at.get("reason") == "aborted" and bool(ghost.waking)
    ),
    park_at_rest,
    strict=True,
)
