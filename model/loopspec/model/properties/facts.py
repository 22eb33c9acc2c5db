"""What a trace says of its session, folded once for all properties.

Rules of this file. The *facts* are what the first listener, the callers and the gates were told so
far, and what a call or an answer that they made means when nothing goes wrong. The fold believes
what it is told: whether it was right is for the properties to say, each of which looks at a
*moment*, which is one entry between the facts before and behind it.
"""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.session import NO_TURN, Turn
from loopspec.model.words import (
    CALLS,
    LAST,
    NEXT_STEP,
    NEXT_TURN,
    Answer,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
    Value,
)

WAKING: Final = ("followup", "steer")
"""Calls that ask for a driver."""

SPLICED: Final = "agent/inbox/spliced"
INSERTED: Final = "agent/inbox/inserted"
DISCARDED: Final = "agent/inbox/discarded"
CLAIMED: Final = "agent/inbox/claimed"

OPENED: Final = "opened"
"""The name of the moment in which a session is opened from a log: all before it is over."""

ENDING: Final = "ending"
"""The activity of a maintenance task that was answered; when it ends is not told."""


def number(seen: Observation, key: str) -> int:
    """A number that an observation carries."""
    value = seen.get(key)
    return value if isinstance(value, int) else 0


def messages(value: Value) -> tuple[Message, ...]:
    """The messages of a tuple, or the one message."""
    each = value if isinstance(value, tuple) and not isinstance(value, Message) else (value,)
    return tuple(one for one in each if isinstance(one, Message))


def without(pool: tuple[Message, ...], *gone: Message) -> tuple[Message, ...]:
    """`pool` without the first of each that is gone."""
    left = list(pool)
    for each in gone:
        if each in left:
            left.remove(each)
    return tuple(left)


class Lists(NamedTuple):
    """Both lists as the fold of the splice records; the only inbox that a property knows."""

    next_turn: tuple[Message, ...] = ()
    next_step: tuple[Message, ...] = ()

    def of(self, target: Value) -> tuple[Message, ...]:
        """The list that `target` names."""
        return self.next_turn if target == NEXT_TURN else self.next_step

    def spliced(self, seen: Observation) -> "Lists":
        """The lists after a splice record."""
        items, start = self.of(seen.get("target")), number(seen, "start")
        end = start + number(seen, "removed")
        changed = items[:start] + messages(seen.get("inserted")) + items[end:]
        if seen.get("target") == NEXT_TURN:
            return self._replace(next_turn=changed)
        return self._replace(next_step=changed)

    @property
    def pending(self) -> tuple[Message, ...]:
        """All pending messages, next-step first."""
        return self.next_step + self.next_turn

    def __str__(self) -> str:
        """Both lists on one line."""
        return f"next-turn {ids(self.next_turn)}, next-step {ids(self.next_step)}"


class UnderWay(NamedTuple):
    """A call under way, as it was judged when it was made (RT-10).

    `wanted` is what it may still insert. `cause` is the one with which it aborts, empty for a call
    that aborts nothing, and `activity` what ran then. `recorded`: it was made while a record was
    told, whose change had not been made yet (LN-02). `due`: it asks to wake, and no driver that
    looks again can see it. `changed`: it has changed a list.
    """

    name: str = ""
    wanted: tuple[Message, ...] = ()
    cause: str = ""
    keeps: bool = False
    activity: str = ""
    recorded: bool = False
    due: bool = False
    changed: bool = False


class Use(NamedTuple):
    """A tool call of the newest reply, until its result is recorded.

    `stage` is asked, recorded, running or answered; `given` the contexts that its answer hands
    over; `concludes` tells that it asks to end the turn.
    """

    call: str
    stage: str = "asked"
    given: tuple[Message, ...] = ()
    concludes: bool = False


class Facts(NamedTuple):
    """What is known from a trace so far."""

    lists: Lists = Lists()
    calls: tuple[UnderWay, ...] = ()
    """The calls under way, innermost last."""
    recording: bool = False
    """A record is told, and its change has not been made yet (LN-02)."""
    untold: tuple[tuple[tuple[str, Message], ...], ...] = ()
    """The notifications that each splice still owes, newest last; a claim owes others."""
    taken: tuple[Message, ...] = ()
    """What claims took and nobody was told of yet."""
    turn: Turn = NO_TURN
    turn_open: bool = False
    step: int = 0
    """The last step entered in the open turn."""
    step_open: bool = False
    tools: tuple[Use, ...] = ()
    """The tool calls without a result, in the order of the reply."""
    owed: tuple[Message, ...] = ()
    """The contexts that join next-step now, behind the result of their tool."""
    status: str = "idle"
    """The last published status."""
    ending: str = ""
    """How the last turn of this driver ended; empty before that and while a turn is open."""
    cause: str = ""
    """The first cause with which the activity's signal was aborted, once that call returned."""
    unsure: bool = False
    """Whether a cancel has aborted is the policy's: it was refused its clear (A8), or a listener
    of its clear has started the driver (A11)."""
    maintenance: int = 0
    """Maintenance tasks that have begun and whose end was not told yet."""
    answered: bool = False
    """The newest of them was answered."""
    disposal: str = ""
    """Empty, begun, unsure or done; it has raised, and whether it began is the policy's (A8)."""

    @property
    def call(self) -> UnderWay:
        """The innermost call under way; one without a name when there is none."""
        return self.calls[-1] if self.calls else NOBODY

    @property
    def running(self) -> bool:
        """Whether a driver runs, as was published."""
        return self.status == "running"

    @property
    def activity(self) -> str:
        """What has a signal: empty, running, maintenance or `ENDING`."""
        if self.running:
            return "running"
        return ("maintenance", ENDING)[self.answered] if self.maintenance else ""

    @property
    def looked(self) -> bool:
        """Whether the driver may have looked for the last time: its turn has ended."""
        return self.running and self.ending != ""

    def still(self, notification: str) -> tuple[Message, ...]:
        """The messages for which splices still owe a notification of this name."""
        return tuple(each for owed in self.untold for name, each in owed if name == notification)

    def may_insert(self, wanted: Message) -> bool:
        """Whether the innermost call or a tool asked for this insertion and has not had it yet."""
        given = any(wanted in use.given for use in self.tools)
        return given or wanted in self.owed or wanted in self.call.wanted


NOBODY: Final = UnderWay()


class Moment(NamedTuple):
    """One entry between the facts before and behind it.

    `name` is that of an observation; `return`, `call` or `answer` for these.
    """

    was: Facts
    entry: Entry
    now: Facts
    name: str

    @property
    def seen(self) -> Observation:
        """The entry, which is an observation."""
        assert isinstance(self.entry, Observation), f"{self.entry} is an observation"
        return self.entry

    @property
    def made(self) -> Made:
        """The entry, which is a call."""
        assert isinstance(self.entry, Made), f"{self.entry} is a call"
        return self.entry

    @property
    def answer(self) -> Answer:
        """The entry, which is an answer."""
        assert isinstance(self.entry, Answer), f"{self.entry} is an answer"
        return self.entry

    @property
    def message(self) -> Message:
        """The message that the observation carries."""
        return messages(self.seen.get("message"))[0]

    @property
    def inserted(self) -> tuple[Message, ...]:
        """What a splice inserted."""
        return messages(self.seen.get("inserted"))

    @property
    def removed(self) -> tuple[Message, ...]:
        """What a splice took out of its list."""
        return removed_by(self.was, self.seen)

    @property
    def is_claim(self) -> bool:
        """Whether a splice is a claim."""
        return is_claim(self.seen)

    def number(self, key: str) -> int:
        """A number that the observation carries."""
        return number(self.seen, key)

    def get(self, key: str) -> Value:
        """What the observation carries under a key."""
        return self.seen.get(key)


def removed_by(facts: Facts, seen: Observation) -> tuple[Message, ...]:
    """What a splice record takes out of its list."""
    start = number(seen, "start")
    return facts.lists.of(seen.get("target"))[start : start + number(seen, "removed")]


def is_claim(seen: Observation) -> bool:
    """Whether a splice record is a claim: a pure deletion without an outcome (IN-04, CL-04)."""
    inserts = bool(seen.get("inserted")) or seen.get("outcome") is not None
    return number(seen, "removed") > 0 and not inserts


def moment(was: Facts, entry: Entry) -> Moment | None:
    """An entry with the facts; None for a rest and for what only the last listener is told."""
    if isinstance(entry, Made):
        return Moment(was, entry, _made(was, entry), "call")
    if isinstance(entry, Answer):
        return Moment(was, entry, _answered(was, entry), "answer")
    if isinstance(entry, Rest) or entry.listener == LAST:
        return None
    if entry.kind == "return":
        return Moment(was, entry, _returned(was, entry), "return")
    if entry.kind == OPENED:
        lists = Lists(messages(entry.get(NEXT_TURN)), messages(entry.get(NEXT_STEP)))
        return Moment(was, entry, Facts(lists, turn=Turn(number(entry, "turn"))), OPENED)
    now = was
    if was.recording != (entry.kind == "record"):
        now = was._replace(recording=entry.kind == "record")
    tell = _inbox if entry.name.startswith("agent/inbox/") else _driver
    return Moment(was, entry, tell(now, entry), entry.name)


def _made(facts: Facts, made: Made) -> Facts:
    """A call begins: what it will do is judged now."""
    name, args = made.call
    pairs = zip(CALLS[name], args, strict=True)
    wanted = (messages(value) for kind, value in pairs if kind.startswith("message"))
    cause = str(args[0]) if name == "cancel" else ""
    if name == "dispose" and facts.disposal in ("", "unsure"):
        cause = "disposed"
    late = not facts.running or facts.looked or facts.cause != ""
    call = UnderWay(
        name,
        sum(wanted, ()),
        cause,
        args[1:] == ("keep",),
        facts.activity if cause else "",
        made.inside and facts.recording,
        name in WAKING and late and not facts.disposal,
    )
    disposal = "begun" if name == "dispose" and not facts.disposal else facts.disposal
    calls = (*facts.calls, call)
    return facts._replace(calls=calls, recording=call.recorded, disposal=disposal)


def _returned(facts: Facts, seen: Observation) -> Facts:
    """A call ends: by now it has aborted what ran when it began."""
    call, raised = facts.call, seen.get("raised") is not None
    after = facts._replace(calls=facts.calls[:-1], recording=call.recorded)
    if seen.name == "dispose" and raised:
        after = after._replace(disposal="unsure")
    if not call.cause:
        return after
    if facts.running and (raised or call.activity != "running"):
        after = after._replace(unsure=True)
    return after._replace(cause=facts.cause or call.cause) if call.activity else after


def _answered(facts: Facts, answer: Answer) -> Facts:
    """An answer says how a tool has ended, and that maintenance is ending."""
    if answer.gate == "tool":
        running = [use.call for use in facts.tools if use.stage == "running"]
        name, concludes = (*answer.names, *running, "")[0], answer.choice == "concludes"
        done = Use(name, "answered", answer.messages or (), concludes)
        return facts._replace(tools=tuple(done if u.call == name else u for u in facts.tools))
    return facts._replace(answered=True) if answer.gate == "maintenance" else facts


def _inbox(facts: Facts, seen: Observation) -> Facts:
    """A splice changes a list and owes notifications; a notification is one that was owed."""
    if seen.name != SPLICED:
        told = messages(seen.get("message"))[0]
        if seen.name == CLAIMED:
            return facts._replace(taken=without(facts.taken, told))
        return facts._replace(untold=_told(facts.untold, (seen.name, told)))
    removed, inserted = removed_by(facts, seen), messages(seen.get("inserted"))
    after = facts._replace(lists=facts.lists.spliced(seen))
    if is_claim(seen):
        return after._replace(taken=facts.taken + removed)
    owed = (*((DISCARDED, each) for each in removed), *((INSERTED, each) for each in inserted))
    after = after._replace(untold=(*facts.untold, owed) if owed else facts.untold)
    if not facts.calls:
        return after._replace(owed=facts.owed[len(inserted) :])
    call = facts.call._replace(wanted=without(facts.call.wanted, *inserted), changed=True)
    return after._replace(calls=(*facts.calls[:-1], call))


def _told(
    untold: tuple[tuple[tuple[str, Message], ...], ...], told: tuple[str, Message]
) -> tuple[tuple[tuple[str, Message], ...], ...]:
    """What is untold behind a notification, which is the innermost splice's that owes it."""
    for index in reversed(range(len(untold))):
        owed = untold[index]
        if told in owed:
            place = owed.index(told)
            left = owed[:place] + owed[place + 1 :]
            return (*untold[:index], *((left,) if left else ()), *untold[index + 1 :])
    return untold


def _driver(facts: Facts, seen: Observation) -> Facts:
    """What the driver records and publishes, and the gates at which it arrives."""
    turn, step, reason = Turn(number(seen, "turn")), number(seen, "step"), seen.get("reason")
    match seen.name:
        case "agent/status":
            status = str(seen.get("status"))
            ending = "" if status == "running" else facts.ending
            return facts._replace(status=status, ending=ending, cause="", unsure=False)
        case "turn/start":
            opened = facts._replace(turn=turn, turn_open=True, step=0, step_open=False)
            return opened._replace(ending="", cause="", unsure=False)
        case "turn/end":
            ending = "empty" if reason == "completed" and not facts.step else str(reason)
            closed = facts._replace(turn=turn, turn_open=False, step=0, step_open=False)
            return closed._replace(ending=ending, tools=(), owed=())
        case "step/start":
            return facts._replace(step=step, step_open=True)
        case "step/end":
            return facts._replace(step_open=False, tools=(), owed=())
        case "maintenance":
            return _maintenance(facts, seen)
        case "dispose":
            return facts._replace(disposal="done")
    return _tools(facts, seen)


def _maintenance(facts: Facts, seen: Observation) -> Facts:
    """A maintenance task begins, or its end is told, perhaps when the next one has begun."""
    change = 1 if seen.kind == "gate" else -1
    after = facts._replace(maintenance=facts.maintenance + change)
    if change < 0 < after.maintenance:
        return after
    after = after._replace(answered=False)
    return after if facts.running else after._replace(cause="", unsure=False)


def _tools(facts: Facts, seen: Observation) -> Facts:
    """A reply asks for tool calls, each of which is recorded, runs and has a result."""
    if seen.name == "assistant/message":
        calls = seen.get("calls")
        assert isinstance(calls, tuple), f"{seen} carries calls"
        return facts._replace(tools=tuple(Use(str(each)) for each in calls), owed=())
    name = str(seen.get("call"))
    if seen.name == "tool/result":
        left = tuple(use for use in facts.tools if use.call != name)
        owed = tuple(each for use in facts.tools if use.call == name for each in use.given)
        return facts._replace(tools=left, owed=owed)
    stage = {"tool/call": "recorded", "tool": "running"}.get(seen.name)
    if stage is None:
        return facts
    staged = (use._replace(stage=stage) if use.call == name else use for use in facts.tools)
    return facts._replace(tools=tuple(staged))


class Proposal(NamedTuple):
    """The batch of the open proposal, and what the decision enters that no record has yet.

    Not among the facts: few properties need it, and it tells many runs apart.
    """

    batch: tuple[Message, ...] = ()
    entering: tuple[Message, ...] = ()

    def after(self, at: Moment) -> "Proposal":
        """The proposal behind a moment."""
        match at.name:
            case "pre-step":
                return Proposal(messages(at.get("messages")))
            case "answer" if at.answer.gate == "pre-step":
                chosen = self.batch if at.answer.messages is None else at.answer.messages
                return Proposal(self.batch, chosen if at.answer.choice == "enter" else ())
            case "user/message":
                return self._replace(entering=without(self.entering, at.message))
            case "provider" | "step/end" | "turn/start" | "turn/end":
                return Proposal()
        return self
