"""OWN, LOST and ORDER: one end for each insertion, nothing vanishes, everything in its order."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.monitor import (
    NEVER,
    Breach,
    Calls,
    Lists,
    declare,
    is_cancel,
    is_claim,
    message,
    messages,
    number,
    told,
    tool_of,
    without,
)
from loopspec.model.words import Answer, Entry, Message, Observation, Rest


class Owners(NamedTuple):
    """Who owns each message: a list, a turn that has not announced it yet, or nobody any more."""

    lists: Lists = Lists()
    taken: tuple[Message, ...] = ()
    dropped: tuple[Message, ...] = ()
    turn_open: bool = False
    calls: Calls = Calls()


def own_one_end(ghost: Owners, entry: Entry) -> tuple[Owners, tuple[Breach, ...]]:
    """OWN: Each insertion was asked for and ends once: pending, claimed or discarded."""
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.name == "agent/inbox/spliced":
        return _own_splice(ghost, seen)
    if seen.name == "turn/start":
        return ghost._replace(turn_open=True), NEVER
    if seen.name == "turn/end":
        return ghost._replace(turn_open=False), NEVER
    if seen.name == "agent/inbox/claimed":
        gone = message(seen)
        after = ghost._replace(taken=without(ghost.taken, gone))
        if gone in ghost.taken:
            return after, NEVER
        because = (f"taken by a claim and not yet announced: {ids(ghost.taken)}.",)
        return after, (Breach("OWN", because, f"{gone.id} was announced as claimed"),)
    if seen.name == "agent/inbox/discarded":
        gone = message(seen)
        after = ghost._replace(dropped=without(ghost.dropped, gone))
        if gone in ghost.dropped:
            return after, NEVER
        because = (f"canceled and not yet announced: {ids(ghost.dropped)}.",)
        return after, (Breach("OWN", because, f"{gone.id} was announced as discarded"),)
    return ghost, NEVER


def _own_splice(ghost: Owners, seen: Observation) -> tuple[Owners, tuple[Breach, ...]]:
    """A splice record moves messages from one owner to the next."""
    lists, removed = ghost.lists.spliced(seen)
    inserted = messages(seen.get("inserted"))
    breaches: list[Breach] = []
    if len(removed) != number(seen, "removed"):
        said = f"{seen.get('target')} at {seen.get('start')} lost {number(seen, 'removed')}"
        breaches.append(Breach("OWN", _folded(ghost), f"{said} messages that it does not hold"))
    twice = tuple(m for m in inserted if [p.id for p in lists.pending].count(m.id) > 1)
    if twice:
        breaches.append(Breach("OWN", _folded(ghost), f"{ids(twice)} is pending twice"))
    unasked = tuple(m for m in inserted if not ghost.calls.may_insert(m))
    if unasked:
        name = ghost.calls.name
        who = f"the call under way is {name}" if name else "no call is under way"
        however = f"{ids(unasked)} was inserted into {seen.get('target')} though nobody asked"
        breaches.append(Breach("OWN", (*_folded(ghost), f"{who}."), however))
    if seen.get("outcome") is not None and not removed:
        breaches.append(Breach("OWN", ("nothing was removed.",), "the splice says canceled"))
    if removed and not is_claim(seen) and not ghost.calls.open:
        however = f"{ids(removed)} was taken out of {seen.get('target')} though nobody asked"
        breaches.append(Breach("OWN", (*_folded(ghost), "no call is under way."), however))
    after = ghost._replace(lists=lists, calls=ghost.calls.inserted(inserted))
    if not is_claim(seen):
        return after._replace(dropped=ghost.dropped + removed), tuple(breaches)
    if not ghost.turn_open:
        breaches.append(Breach("OWN", ("no turn is open.",), f"{ids(removed)} was claimed"))
    return after._replace(taken=ghost.taken + removed), tuple(breaches)


def _folded(ghost: Owners) -> tuple[str, ...]:
    """What the lists were before."""
    return (f"the records so far fold to {ghost.lists}.",)


def own_at_rest(ghost: Owners, rest: Rest) -> tuple[Breach, ...]:
    """At rest every removed message has been announced as claimed or as discarded."""
    if ghost.taken:
        because = (f"a claim took {ids(ghost.taken)} out of its list.",)
        return (Breach("OWN", because, "no turn announced it as claimed"),)
    if ghost.dropped:
        because = (f"a cancellation took {ids(ghost.dropped)} out of its list.",)
        return (Breach("OWN", because, "nobody was told that it is discarded"),)
    return NEVER


def a_claim_takes_two(ghost: Owners, entry: Entry) -> bool:
    """Whether one claim takes messages of both lists."""
    seen = told(entry)
    return seen is not None and is_claim(seen) and bool(ghost.taken)


OWN: Final = declare(
    own_one_end,
    own_at_rest,
    Owners(),
    "CL-04 CL-05 CL-07 CL-09 CL-10 LN-07 LN-08 LN-09 ID-01 ID-03 IN-04",
    "call answer return turn/start turn/end agent/inbox/spliced agent/inbox/claimed "
    "agent/inbox/discarded",
    "one claim takes messages of both lists",
    a_claim_takes_two,
)


class Losses(NamedTuple):
    """What must still be told or entered before anything else may follow."""

    lists: Lists = Lists()
    unannounced: tuple[Message, ...] = ()
    batch: tuple[Message, ...] = ()
    entering: tuple[Message, ...] = ()
    canceled: bool = False
    calls: Calls = Calls()


def lost_nothing_vanishes(ghost: Losses, entry: Entry) -> tuple[Losses, tuple[Breach, ...]]:
    """LOST: Nothing vanishes between a record, its notification, the lists and the step."""
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    if is_cancel(entry):
        return ghost._replace(canceled=True), NEVER
    if isinstance(entry, Answer):
        if entry.gate != "pre-step":
            return ghost, NEVER
        chosen = ghost.batch if entry.messages is None else entry.messages
        return ghost._replace(entering=chosen if entry.choice == "enter" else ()), NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.name == "agent/inbox/spliced":
        lists, _ = ghost.lists.spliced(seen)
        new = messages(seen.get("inserted"))
        breach = Breach(
            "LOST", ("the inbox is kept by a cancel.",), f"{seen.get('target')} changed"
        )
        after = ghost._replace(lists=lists, unannounced=ghost.unannounced + new)
        return after, (breach,) if ghost.calls.keeps else NEVER
    if seen.name == "agent/inbox/inserted":
        return ghost._replace(unannounced=without(ghost.unannounced, message(seen))), NEVER
    if seen.name == "pre-step":
        return ghost._replace(batch=messages(seen.get("messages")), entering=()), NEVER
    if seen.name == "turn/start":
        return ghost._replace(canceled=False, entering=(), batch=()), NEVER
    if seen.name == "user/message":
        return ghost._replace(entering=without(ghost.entering, message(seen))), NEVER
    ends_well = seen.name == "turn/end" and seen.get("reason") in ("completed", "max-tokens")
    if seen.name in ("provider", "step/end") or (ends_well and not ghost.canceled):
        because = (f"the pre-step decision enters {ids(ghost.entering)}.",)
        breach = Breach("LOST", because, f"{seen.name} came and no user/message had recorded it")
        breaches = (breach,) if ghost.entering else NEVER
    else:
        breaches = NEVER
    if seen.name in ("provider", "step/end", "turn/end"):
        canceled = ghost.canceled and seen.name != "turn/end"
        return ghost._replace(entering=(), batch=(), canceled=canceled), breaches
    return ghost, NEVER


def lost_at_rest(ghost: Losses, rest: Rest) -> tuple[Breach, ...]:
    """At rest the lists are the fold of the records and every insertion has been announced."""
    if ghost.lists != (rest.next_turn, rest.next_step):
        shown = Lists(rest.next_turn, rest.next_step)
        because = (f"the records fold to {ghost.lists}.",)
        return (Breach("LOST", because, f"the inbox shows {shown}"),)
    if ghost.unannounced:
        because = (f"a record inserted {ids(ghost.unannounced)}.",)
        return (Breach("LOST", because, "no listener was told of it"),)
    return NEVER


def a_kept_inbox_survives(ghost: Losses, entry: Entry) -> bool:
    """Whether a cancel keeps an inbox with pending messages."""
    return is_cancel(entry) and ghost.calls.after(entry).keeps and bool(ghost.lists.pending)


LOST: Final = declare(
    lost_nothing_vanishes,
    lost_at_rest,
    Losses(),
    "IN-02 LN-03 LN-07 CN-03 PS-04 ST-01 ID-05",
    "call answer return pre-step provider turn/start turn/end step/end user/message "
    "agent/inbox/spliced agent/inbox/inserted",
    "a cancel keeps an inbox with pending messages",
    a_kept_inbox_survives,
)


class Tools(NamedTuple):
    """The calls of a reply: not recorded yet, without a result yet, running, and their contexts.

    `given` has what each running call has handed over, `owed` what joins next-step now.
    """

    asked: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    given: tuple[tuple[str, tuple[Message, ...]], ...] = ()
    owed: tuple[Message, ...] = ()

    def answered(self, answer: Answer) -> "Tools":
        """The calls behind the answer of one of them."""
        call = tool_of(answer, self.running)
        running = tuple(each for each in self.running if each != call)
        return self._replace(running=running, given=(*self.given, (call, answer.messages or ())))

    def seen(self, seen: Observation) -> tuple["Tools", tuple[Breach, ...]]:
        """The calls behind an observation about them; they keep the order of the reply."""
        call = str(seen.get("call"))
        if seen.name == "tool":
            return self._replace(running=(*self.running, call)), NEVER
        if seen.name == "assistant/message":
            calls = seen.get("calls")
            assert isinstance(calls, tuple)
            asked = tuple(str(each) for each in calls)
            return Tools(asked, asked), NEVER
        if seen.name == "tool/call":
            because = (f"the reply asks for {', '.join(self.asked) or 'nothing more'}.",)
            breach = Breach("ORDER", because, f"tool/call {call} came first")
            after = self._replace(asked=tuple(each for each in self.asked if each != call))
            return after, NEVER if self.asked[:1] in ((call,), ()) else (breach,)
        breaches = self.missing(seen.name)
        if self.results[:1] not in ((call,), ()):
            because = (f"results are due for {', '.join(self.results)}, in this order.",)
            breaches += (Breach("ORDER", because, f"the result of {call} came first"),)
        owed = next((messages for name, messages in self.given if name == call), ())
        results = tuple(each for each in self.results if each != call)
        given = tuple(each for each in self.given if each[0] != call)
        return self._replace(results=results, given=given, owed=owed), breaches

    def missing(self, came: str, known: frozenset[str] = frozenset()) -> tuple[Breach, ...]:
        """A breach when a context is owed whose id is not `known` to be pending already."""
        if not self.owed or self.owed[0].id in known:
            return NEVER
        because = (f"the result handed over {ids(self.owed)}.",)
        return (Breach("ORDER", because, f"{came} came and it was not in next-step yet"),)


class Orders(NamedTuple):
    """What must come next: notifications of open splices, claimed messages, entered messages."""

    lists: Lists = Lists()
    expected: tuple[tuple[tuple[str, Message], ...], ...] = ()
    taken: tuple[Message, ...] = ()
    took_head: bool = False
    announcing: bool = False
    steps: int = 0
    in_step: bool = False
    batch: tuple[Message, ...] = ()
    entering: tuple[Message, ...] = ()
    calls: Calls = Calls()
    tools: Tools = Tools()


def order_is_kept(ghost: Orders, entry: Entry) -> tuple[Orders, tuple[Breach, ...]]:
    """ORDER: A claim takes next-step, then one next-turn head a turn; all comes in its order."""
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    if isinstance(entry, Answer) and entry.gate == "pre-step":
        chosen = ghost.batch if entry.messages is None else entry.messages
        return ghost._replace(entering=chosen if entry.choice == "enter" else ()), NEVER
    if isinstance(entry, Answer):
        return ghost._replace(
            tools=ghost.tools.answered(entry) if entry.gate == "tool" else ghost.tools
        ), NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.name in ("assistant/message", "tool/call", "tool", "tool/result"):
        tools, breaches = ghost.tools.seen(seen)
        return ghost._replace(tools=tools), breaches
    if seen.name == "agent/inbox/spliced":
        return _order_claim(ghost, seen) if is_claim(seen) else _order_splice(ghost, seen)
    if seen.name in ("agent/inbox/inserted", "agent/inbox/discarded"):
        return _order_notification(ghost, seen)
    if seen.name == "agent/inbox/claimed":
        head = ghost.taken[:1]
        after = ghost._replace(taken=without(ghost.taken, message(seen)), announcing=True)
        if head == (message(seen),):
            return after, NEVER
        because = (f"the claim took {ids(ghost.taken)}, in this order.",)
        breach = Breach("ORDER", because, f"{message(seen).id} was announced as claimed first")
        return after, (breach,)
    if seen.name == "pre-step":
        because = (f"the claim took {ids(ghost.taken)}.",)
        breach = Breach("ORDER", because, "the decision was asked for before it was announced")
        after = ghost._replace(batch=messages(seen.get("messages")), taken=(), announcing=False)
        return after, (breach,) if ghost.taken else NEVER
    if seen.name == "turn/start":
        return ghost._replace(took_head=False, steps=0, taken=(), announcing=False), NEVER
    if seen.name == "step/start":
        return ghost._replace(steps=ghost.steps + 1, in_step=True), NEVER
    if seen.name == "step/end":
        known = frozenset(each.id for each in ghost.lists.pending)
        after = ghost._replace(in_step=False, batch=(), entering=(), tools=Tools())
        return after, ghost.tools.missing("step/end", known)
    if seen.name == "turn/end":
        return Orders(ghost.lists, ghost.expected, calls=ghost.calls), NEVER
    if seen.name == "user/message":
        right = ghost.in_step and ghost.entering[:1] == (message(seen),)
        where = "inside" if ghost.in_step else "outside"
        because = (f"the decision enters {ids(ghost.entering)}, in this order, after step/start.",)
        breach = Breach("ORDER", because, f"user/message {message(seen).id} came {where} a step")
        after = ghost._replace(entering=without(ghost.entering, message(seen)))
        return after, NEVER if right else (breach,)
    return ghost, NEVER


def _order_splice(ghost: Orders, seen: Observation) -> tuple[Orders, tuple[Breach, ...]]:
    """An ordinary splice owes its notifications: discarded each, then inserted each."""
    lists, removed = ghost.lists.spliced(seen)
    owed = tuple(("agent/inbox/discarded", each) for each in removed)
    owed += tuple(("agent/inbox/inserted", each) for each in messages(seen.get("inserted")))
    length, start = len(ghost.lists.of(seen.get("target"))), number(seen, "start")
    after = ghost._replace(lists=lists, expected=(*ghost.expected, owed))
    name = ghost.calls.name or "a tool"
    at_tail = name in ("followup", "steer", "inject", "append", "a tool")
    if name == "a tool" and seen.get("inserted") and (ghost.tools.owed or ghost.tools.results):
        inserted = messages(seen.get("inserted"))
        due = ghost.tools.owed
        after = after._replace(tools=ghost.tools._replace(owed=due[len(inserted) :]))
        if inserted != due[:1] or seen.get("target") != "next-step":
            due_now = ids(due) if due else "nothing more"
            because = (f"the newest result hands over {due_now}, one by one to next-step.",)
            came = f"{ids(inserted)} was inserted into {seen.get('target')}"
            return after, (Breach("ORDER", because, came),)
    if (at_tail and start != length) or (name == "prepend" and start != 0):
        where = "tail" if at_tail else "head"
        because = (f"{name} inserts at the {where} of a list of {length}.",)
        return after, (Breach("ORDER", because, f"the splice began at {start}"),)
    return after, NEVER


def _order_claim(ghost: Orders, seen: Observation) -> tuple[Orders, tuple[Breach, ...]]:
    """A claim deletes all of next-step, then the next-turn head at the first boundary only."""
    lists, removed = ghost.lists.spliced(seen)
    target, count = seen.get("target"), number(seen, "removed")
    after = ghost._replace(lists=lists, taken=ghost.taken + removed)
    wrong = ""
    if number(seen, "start") != 0:
        wrong = f"the claim of {target} began at {seen.get('start')}"
    elif ghost.announcing and ghost.taken:
        wrong = f"{ids(removed)} was taken after claimed messages were announced"
    elif target == "next-turn" and (count != 1 or ghost.took_head):
        wrong = f"{ids(removed)} was claimed from next-turn, which gives one message to a turn"
    elif target == "next-turn" and ghost.steps:
        wrong = f"{ids(removed)} was claimed from next-turn inside a turn"
    elif target == "next-step" and count != len(ghost.lists.next_step):
        wrong = f"only {ids(removed)} was claimed from next-step"
    elif target == "next-step" and ghost.took_head and not ghost.steps and ghost.taken:
        wrong = f"{ids(removed)} was claimed after the next-turn head"
    breaches = (Breach("ORDER", (f"the lists are {ghost.lists}.",), wrong),) if wrong else NEVER
    head = ghost.took_head or target == "next-turn"
    return after._replace(took_head=head, announcing=False), breaches


def _order_notification(ghost: Orders, seen: Observation) -> tuple[Orders, tuple[Breach, ...]]:
    """A notification is the next that the innermost unfinished splice owes."""
    stack = list(ghost.expected)
    while stack and not stack[-1]:
        stack.pop()
    told_now = (seen.name, message(seen))
    if stack and stack[-1][0] == told_now:
        stack[-1] = stack[-1][1:]
        while stack and not stack[-1]:
            stack.pop()
        return ghost._replace(expected=tuple(stack)), NEVER
    owed = ", ".join(f"{name} {each.id}" for name, each in stack[-1]) if stack else "nothing"
    because = (f"the newest splice still owes: {owed}.",)
    breach = Breach("ORDER", because, f"{seen.name} {message(seen).id} came")
    return ghost._replace(expected=tuple(stack)), (breach,)


def order_at_rest(ghost: Orders, rest: Rest) -> tuple[Breach, ...]:
    """At rest nothing more is said than at any other point; LOST and OWN count what is missing."""
    return NEVER


def a_batch_has_two(ghost: Orders, entry: Entry) -> bool:
    """Whether a batch of at least two messages enters."""
    return isinstance(entry, Answer) and entry.choice == "enter" and len(ghost.batch) > 1


ORDER: Final = declare(
    order_is_kept,
    order_at_rest,
    Orders(),
    "CL-01 CL-02 CL-03 CL-04 CL-05 LN-01 LN-04 RT-02 RT-16 IN-10 ST-01 PS-20 TC-01 TC-02 TC-05",
    "call answer return pre-step turn/start turn/end step/start step/end user/message "
    "assistant/message tool tool/call tool/result "
    "agent/inbox/spliced agent/inbox/inserted agent/inbox/discarded "
    "agent/inbox/claimed",
    "a batch of at least two messages enters",
    a_batch_has_two,
)
