"""OWN, LOST and ORDER: one end for each insertion, nothing vanishes, everything in its order."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.facts import (
    CLAIMED,
    DISCARDED,
    INSERTED,
    SPLICED,
    Facts,
    Lists,
    Moment,
    Proposal,
)
from loopspec.model.properties.monitor import NEVER, Breaches, Stepped, breach_if, declare
from loopspec.model.words import NEXT_STEP, NEXT_TURN, Rest


def own_one_end(ghost: None, at: Moment) -> Stepped[None]:
    """OWN: Each insertion was asked for and ends once: pending, claimed or discarded."""
    if at.name == SPLICED:
        return ghost, _own_splice(at)
    claimed = at.name == CLAIMED
    held = at.was.taken if claimed else at.was.still(DISCARDED)
    why, how = ("taken by a claim", "claimed") if claimed else ("canceled", "discarded")
    because = f"{why} and not yet announced: {ids(held)}."
    however = f"{at.message.id} was announced as {how}"
    return ghost, breach_if(at.message not in held, "OWN", because, however)


def _own_splice(at: Moment) -> Breaches:
    """What is wrong with a splice record, which moves messages from one owner to the next."""
    was, name, target = at.was, at.was.call.name, at.get("target")
    inserted, removed, count = at.inserted, at.removed, at.number("removed")
    pending = [each.id for each in at.now.lists.pending]
    twice = tuple(each for each in inserted if pending.count(each.id) > 1)
    unasked = tuple(each for each in inserted if not was.may_insert(each))
    folded = f"the records so far fold to {was.lists}."
    calls = f"the call under way is {name}." if name else "no call is under way."
    short = f"{target} at {at.get('start')} lost {count} messages that it does not hold"
    put = f"{ids(unasked)} was inserted into {target} though nobody asked"
    took = f"{ids(removed)} was taken out of {target} though nobody asked"
    canceled = at.get("outcome") is not None and not removed
    taken = removed and not at.is_claim and not name
    outside = at.is_claim and not was.turn_open
    return (
        *breach_if(len(removed) != count, "OWN", folded, short),
        *breach_if(twice, "OWN", folded, f"{ids(twice)} is pending twice"),
        *breach_if(unasked, "OWN", folded, put, calls),
        *breach_if(canceled, "OWN", "nothing was removed.", "the splice says canceled"),
        *breach_if(taken, "OWN", folded, took, calls),
        *breach_if(outside, "OWN", "no turn is open.", f"{ids(removed)} was claimed"),
    )


def own_at_rest(ghost: None, facts: Facts, rest: Rest) -> Breaches:
    """At rest every removed message has been announced as claimed or as discarded."""
    if facts.taken:
        because = f"a claim took {ids(facts.taken)} out of its list."
        return breach_if(facts.taken, "OWN", because, "no turn announced it as claimed")
    dropped = facts.still(DISCARDED)
    because = f"a cancellation took {ids(dropped)} out of its list."
    return breach_if(dropped, "OWN", because, "nobody was told that it is discarded")


OWN: Final = declare(
    own_one_end,
    None,
    "CL-04 CL-05 CL-07 CL-09 CL-10 LN-07 LN-08 LN-09 ID-01 ID-03 IN-04",
    "agent/inbox/spliced agent/inbox/claimed agent/inbox/discarded",
    "one claim takes messages of both lists",
    lambda ghost, at: at.name == SPLICED and at.is_claim and bool(at.was.taken),
    own_at_rest,
)


def lost_nothing_vanishes(ghost: Proposal, at: Moment) -> Stepped[Proposal]:
    """LOST: Nothing vanishes between a record, its notification, the lists and the step."""
    if at.name == SPLICED:
        because, however = "the inbox is kept by a cancel.", f"{at.get('target')} changed"
        return ghost, breach_if(at.was.call.keeps, "LOST", because, however)
    after = ghost.after(at)
    if at.name not in ("provider", "step/end", "turn/end"):
        return after, NEVER
    cut = at.was.cause or at.was.unsure or at.get("reason") not in ("completed", "max-tokens")
    left = () if at.name == "turn/end" and cut else ghost.entering
    because = f"the pre-step decision enters {ids(left)}."
    however = f"{at.name} came and no user/message had recorded it"
    return after, breach_if(left, "LOST", because, however)


def lost_at_rest(ghost: Proposal, facts: Facts, rest: Rest) -> Breaches:
    """At rest the lists are the fold of the records and every insertion has been announced."""
    shown, untold = Lists(rest.next_turn, rest.next_step), facts.still(INSERTED)
    if facts.lists != shown:
        because = f"the records fold to {facts.lists}."
        return breach_if(shown, "LOST", because, f"the inbox shows {shown}")
    because = f"a record inserted {ids(untold)}."
    return breach_if(untold, "LOST", because, "no listener was told of it")


LOST: Final = declare(
    lost_nothing_vanishes,
    Proposal(),
    "IN-02 LN-03 LN-07 CN-03 PS-04 ST-01 ID-05",
    "call answer pre-step user/message provider step/end turn/start turn/end agent/inbox/spliced",
    "a cancel keeps an inbox with pending messages",
    lambda ghost, at: at.name == "call" and at.now.call.keeps and bool(at.was.lists.pending),
    lost_at_rest,
)


class Order(NamedTuple):
    """What the claims of the open turn have done.

    `took_head`: they have taken from next-turn; `announcing`: what the newest took is being told.
    """

    took_head: bool = False
    announcing: bool = False
    proposal: Proposal = Proposal()


def order_is_kept(ghost: Order, at: Moment) -> Stepped[Order]:
    """ORDER: A claim takes next-step, then one next-turn head a turn; all comes in its order."""
    was = ghost.proposal
    ghost = ghost._replace(proposal=was.after(at))
    if at.name in ("turn/start", "turn/end"):
        return Order(), NEVER
    because, however = "", ""
    if at.name == SPLICED and at.is_claim:
        because, however = f"the lists are {at.was.lists}.", _claim_out_of_order(ghost, at)
        head = ghost.took_head or at.get("target") == NEXT_TURN
        ghost = ghost._replace(took_head=head, announcing=False)
    elif at.name == SPLICED:
        because, however = _splice_out_of_order(at)
    elif at.name in (INSERTED, DISCARDED):
        owed = at.was.untold[-1] if at.was.untold else ()
        shown = ", ".join(f"{name} {each.id}" for name, each in owed) or "nothing"
        because = f"the newest splice still owes: {shown}."
        if owed[:1] != ((at.name, at.message),):
            however = f"{at.name} {at.message.id} came"
    elif at.name == CLAIMED:
        because = f"the claim took {ids(at.was.taken)}, in this order."
        if at.was.taken[:1] != (at.message,):
            however = f"{at.message.id} was announced as claimed first"
        ghost = ghost._replace(announcing=True)
    elif at.name == "pre-step":
        because = f"the claim took {ids(at.was.taken)}."
        if at.was.taken:
            however = "the decision was asked for before it was announced"
        ghost = ghost._replace(announcing=False)
    elif at.name == "user/message":
        because = f"the decision enters {ids(was.entering)}, in this order, after step/start."
        if not at.was.step_open or was.entering[:1] != (at.message,):
            where = "inside" if at.was.step_open else "outside"
            however = f"user/message {at.message.id} came {where} a step"
    elif at.name not in ("answer", "provider"):
        return ghost, _tools_out_of_order(at)
    return ghost, breach_if(however, "ORDER", because, however)


def _claim_out_of_order(ghost: Order, at: Moment) -> str:
    """A claim deletes all of next-step, then the next-turn head at the first boundary only."""
    was, target, removed = at.was, at.get("target"), ids(at.removed)
    if at.number("start") != 0:
        return f"the claim of {target} began at {at.get('start')}"
    if ghost.announcing and was.taken:
        return f"{removed} was taken after claimed messages were announced"
    if target == NEXT_TURN and (at.number("removed") != 1 or ghost.took_head):
        return f"{removed} was claimed from next-turn, which gives one message to a turn"
    if target == NEXT_TURN and was.step:
        return f"{removed} was claimed from next-turn inside a turn"
    if target == NEXT_STEP and at.number("removed") != len(was.lists.next_step):
        return f"only {removed} was claimed from next-step"
    if target == NEXT_STEP and ghost.took_head and not was.step and was.taken:
        return f"{removed} was claimed after the next-turn head"
    return ""


def _splice_out_of_order(at: Moment) -> tuple[str, str]:
    """A call inserts at its end of the list, a tool its contexts one by one at the tail."""
    was, start, target = at.was, at.number("start"), at.get("target")
    name, length = was.call.name or "a tool", len(was.lists.of(target))
    handed = name == "a tool" and at.inserted and (was.owed or was.tools)
    if handed and (at.inserted != was.owed[:1] or target != NEXT_STEP):
        due = ids(was.owed) if was.owed else "nothing more"
        because = f"the newest result hands over {due}, one by one to next-step."
        return because, f"{ids(at.inserted)} was inserted into {target}"
    at_tail = name in ("followup", "steer", "inject", "append", "a tool")
    if not (at_tail and start != length) and not (name == "prepend" and start != 0):
        return "", ""
    because = f"{name} inserts at the {'tail' if at_tail else 'head'} of a list of {length}."
    return because, f"the splice began at {start}"


def _tools_out_of_order(at: Moment) -> Breaches:
    """The calls of a reply and their results keep its order, each with its contexts behind it."""
    was, call = at.was, str(at.get("call"))
    if at.name == "tool/call":
        asked = [use.call for use in was.tools if use.stage == "asked"]
        because = f"the reply asks for {', '.join(asked) or 'nothing more'}."
        return breach_if(
            asked and asked[0] != call, "ORDER", because, f"tool/call {call} came first"
        )
    # At the end of the step an id that is pending already has kept its context out (ID-03).
    known = [each.id for each in was.lists.pending if at.name == "step/end"]
    because = f"the result handed over {ids(was.owed)}."
    late = f"{at.name} came and it was not in next-step yet"
    breaches = breach_if(was.owed and was.owed[0].id not in known, "ORDER", because, late)
    due = [use.call for use in was.tools]
    wrong = at.name == "tool/result" and due and due[0] != call
    because = f"results are due for {', '.join(due)}, in this order."
    return breaches + breach_if(wrong, "ORDER", because, f"the result of {call} came first")


ORDER: Final = declare(
    order_is_kept,
    Order(),
    "CL-01 CL-02 CL-03 CL-04 CL-05 LN-01 LN-04 RT-02 RT-16 IN-10 ST-01 PS-20 TC-01 TC-02 TC-05",
    "answer pre-step provider turn/start turn/end step/end user/message tool/call tool/result "
    "agent/inbox/spliced agent/inbox/inserted agent/inbox/discarded agent/inbox/claimed",
    "a batch of at least two messages enters",
    lambda ghost, at: (
        at.name == "answer" and at.answer.choice == "enter" and len(ghost.proposal.batch) > 1
    ),
)
