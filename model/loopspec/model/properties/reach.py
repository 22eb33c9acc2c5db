"""SCOPE and DUP: what a delivery, a claim and a cancel reach, and that nothing happens twice."""

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
    messages,
    number,
    told,
)
from loopspec.model.words import (
    NEXT_STEP,
    NEXT_TURN,
    Answer,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
)

UNSURE: Final = "ending"
"""A maintenance task was answered; when it ends is not told."""


class Reach(NamedTuple):
    """Which signal counts, and what each call under way has to reach.

    `recording` says that a record is being told, whose change has not been made yet (LN-02).
    `recorded` remembers it for each call under way. `activity` is empty, running, maintenance or
    `UNSURE`. `places` has the list that each call under way delivers to, empty where it may be any;
    `doomed` has what it still has to remove, and None for a call that clears nothing.
    """

    activity: str = ""
    aborted: bool = False
    disposing: bool = False
    turn: int = 0
    turn_open: bool = False
    recording: bool = False
    lists: Lists = Lists()
    calls: Calls = Calls()
    places: tuple[str, ...] = ()
    recorded: tuple[bool, ...] = ()
    aborts: tuple[bool, ...] = ()
    doomed: tuple[tuple[Message, ...] | None, ...] = ()


def scope_is_kept(ghost: Reach, entry: Entry) -> tuple[Reach, tuple[Breach, ...]]:
    """SCOPE: A delivery reaches its list, a claim the open turn, a cancel what was there then."""
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    if isinstance(entry, Made):
        return _reach_of(ghost, entry), NEVER
    if isinstance(entry, Answer):
        ends = entry.gate == "maintenance"
        return ghost._replace(activity=UNSURE) if ends else ghost, NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.kind == "return":
        return _returned(ghost, seen)
    if ghost.recording != (seen.kind == "record"):
        ghost = ghost._replace(recording=seen.kind == "record")
    if seen.name == "maintenance":
        if seen.kind == "gate":
            return ghost._replace(activity="maintenance", aborted=False), NEVER
        over = ghost.activity == UNSURE
        return ghost._replace(activity="", aborted=False) if over else ghost, NEVER
    if seen.name == "agent/status":
        running = seen.get("status") == "running"
        return ghost._replace(activity="running" if running else "", aborted=False), NEVER
    if seen.name == "turn/start":
        return ghost._replace(turn=number(seen, "turn"), turn_open=True, aborted=False), NEVER
    if seen.name == "turn/end":
        return ghost._replace(turn_open=False), NEVER
    if seen.name == "agent/inbox/claimed":
        breach = Breach(
            "SCOPE", (f"turn {ghost.turn} is open.",), f"claimed names turn {number(seen, 'turn')}"
        )
        wrong = ghost.turn_open and number(seen, "turn") != ghost.turn
        return ghost, (breach,) if wrong else NEVER
    if seen.name == "agent/inbox/spliced":
        return _reach_spliced(ghost, seen)
    return ghost, NEVER


def _reach_of(ghost: Reach, made: Made) -> Reach:
    """What a call has to reach, judged when it is made (RT-10)."""
    name = made.call.name
    place = {"followup": NEXT_TURN, "steer": NEXT_STEP, "inject": NEXT_STEP}.get(name, "")
    if name == "steer" and ghost.aborted:
        place = NEXT_TURN
    if name == "steer" and ghost.activity == UNSURE:
        place = ""
    again = name == "dispose" and ghost.disposing
    clears = name == "clear" or (is_cancel(made) and not again and made.call.args[1:] != ("keep",))
    recording = made.inside and ghost.recording
    clears = clears and not recording and not any(ghost.recorded)
    return ghost._replace(
        recorded=(*ghost.recorded, recording),
        recording=recording,
        places=(*ghost.places, place),
        aborts=(*ghost.aborts, is_cancel(made) and not again and ghost.activity != ""),
        doomed=(*ghost.doomed, ghost.lists.pending if clears else None),
        disposing=ghost.disposing or name == "dispose",
    )


def _returned(ghost: Reach, seen: Observation) -> tuple[Reach, tuple[Breach, ...]]:
    """A cancel has aborted by now what ran when it began, and a clear has cleared."""
    doomed = ghost.doomed[-1] if ghost.doomed else None
    after = ghost._replace(
        aborted=ghost.aborted or ghost.aborts[-1:] == (True,),
        places=ghost.places[:-1],
        recorded=ghost.recorded[:-1],
        recording=ghost.recorded[-1:] == (True,),
        aborts=ghost.aborts[:-1],
        doomed=ghost.doomed[:-1],
    )
    if not doomed or seen.get("raised") is not None:
        return after, NEVER
    because = (f"{ids(doomed)} was pending when {seen.name} began.",)
    return after, (Breach("SCOPE", because, "it returned and had not removed it"),)


def _reach_spliced(ghost: Reach, seen: Observation) -> tuple[Reach, tuple[Breach, ...]]:
    """A splice goes to the list of its call and takes away what its call may."""
    lists, removed = ghost.lists.spliced(seen)
    after = ghost._replace(
        lists=lists,
        calls=ghost.calls.inserted(messages(seen.get("inserted"))),
        doomed=tuple(
            None if each is None else tuple(m for m in each if m not in removed)
            for each in ghost.doomed
        ),
    )
    place = ghost.places[-1] if ghost.places else ""
    inserted = messages(seen.get("inserted"))
    if inserted and place and place != seen.get("target"):
        how = "under an aborted signal" if ghost.aborted else "under no aborted signal"
        because = (f"{ghost.calls.name} was made {how}, so it goes to {place}.",)
        return after, (Breach("SCOPE", because, f"{ids(inserted)} went to {seen.get('target')}"),)
    mine = ghost.doomed[-1] if ghost.doomed else None
    if mine is not None and removed and not is_claim(seen):
        later = tuple(each for each in removed if each not in mine)
        if later:
            because = (f"{ids(later)} came after {ghost.calls.name} began.",)
            return after, (Breach("SCOPE", because, "it was removed all the same"),)
    return after, NEVER


def scope_at_rest(ghost: Reach, rest: Rest) -> tuple[Breach, ...]:
    """At rest each open gate shows whether the signal is aborted."""
    wrong = next((gate for gate, aborted in rest.gates if aborted != ghost.aborted), None)
    if wrong is None or ghost.activity == UNSURE:
        return NEVER
    because = (f"the activity was {'' if ghost.aborted else 'not '}canceled.",)
    return (Breach("SCOPE", because, f"at {wrong} its signal reads otherwise"),)


def a_clear_takes_something(ghost: Reach, entry: Entry) -> bool:
    """Whether a clear or a broad cancel begins with something pending."""
    clears = isinstance(entry, Made) and entry.call.name in ("clear", "dispose")
    drops = isinstance(entry, Made) and entry.call.args[1:] == ("drop",)
    return (clears or drops) and bool(ghost.lists.pending)


SCOPE: Final = declare(
    scope_is_kept,
    scope_at_rest,
    Reach(),
    "RT-01 RT-05 RT-09 RT-10 RT-11 RT-13 CL-06 CN-01 CN-06 CN-07 CN-08 CN-16 IN-14 RE-06 RE-08",
    "call answer return agent/status agent/error maintenance turn/start turn/end step/start "
    "step/end user/message assistant/message tool/call tool/result agent/inbox/spliced "
    "agent/inbox/claimed agent/inbox/inserted agent/inbox/discarded assemble pre-step request "
    "provider request-error tool turn-stopping",
    "a clear begins with something pending",
    a_clear_takes_something,
    strict=True,
)


# --- DUP ----------------------------------------------------------------------------------------

ONCE: Final = frozenset(
    {"followup", "steer", "inject", "append", "prepend", "splice", "replace", "remove"}
)
"""Calls that make one change at most."""

MANY: Final = -1


class Once(NamedTuple):
    """What may still happen once: changes of the calls under way, a reply, results of calls."""

    changes: tuple[int, ...] = ()
    answered: bool = False
    asked: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


def dup_nothing_twice(ghost: Once, entry: Entry) -> tuple[Once, tuple[Breach, ...]]:
    """DUP: Nothing happens twice: one change for a call, one reply an answer, one result a tool."""
    if isinstance(entry, Made):
        return ghost._replace(
            changes=(*ghost.changes, 1 if entry.call.name in ONCE else MANY)
        ), NEVER
    if isinstance(entry, Answer):
        if entry.gate != "provider":
            return ghost, NEVER
        return ghost._replace(answered=True), NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.kind == "return":
        return ghost._replace(changes=ghost.changes[:-1]), NEVER
    if seen.name == "agent/inbox/spliced":
        return _change(ghost, seen)
    if seen.name == "provider":
        return ghost._replace(answered=False), NEVER
    if seen.name == "assistant/message":
        return _reply(ghost, seen)
    if seen.name in ("tool/call", "tool/result"):
        return _tool(ghost, seen)
    if seen.name in ("step/end", "step/start"):
        left = ghost.asked + ghost.running
        breach = Breach("DUP", (f"the reply asks for {', '.join(left)}.",), "no result came of it")
        after = ghost._replace(asked=(), running=(), answered=False)
        return after, (breach,) if left else NEVER
    return ghost, NEVER


def _change(ghost: Once, seen: Observation) -> tuple[Once, tuple[Breach, ...]]:
    """A record of the inbox says that something changed, once a call."""
    if not number(seen, "removed") and not seen.get("inserted"):
        return ghost, (Breach("DUP", ("nothing changed.",), "a splice was recorded"),)
    if not ghost.changes or is_claim(seen) or ghost.changes[-1] == MANY:
        return ghost, NEVER
    breach = Breach("DUP", ("the call has made its one change.",), "another splice was recorded")
    spent = ghost._replace(changes=(*ghost.changes[:-1], 0))
    return spent, NEVER if ghost.changes[-1] else (breach,)


def _reply(ghost: Once, seen: Observation) -> tuple[Once, tuple[Breach, ...]]:
    """A reply is recorded once for an answer of the provider."""
    asked = seen.get("calls")
    assert isinstance(asked, tuple)
    after = ghost._replace(answered=False, asked=tuple(str(each) for each in asked))
    breach = Breach("DUP", ("the provider has not answered again.",), "a reply was recorded")
    return after, NEVER if ghost.answered else (breach,)


def _tool(ghost: Once, seen: Observation) -> tuple[Once, tuple[Breach, ...]]:
    """Each call of a reply is recorded once, and its result once behind it."""
    call = str(seen.get("call"))
    pool = ghost.asked if seen.name == "tool/call" else ghost.running
    left = tuple(each for each in pool if each != call)
    because = (
        f"calls to come: {', '.join(ghost.asked) or '-'}.",
        f"results to come: {', '.join(ghost.running) or '-'}.",
    )
    breach = () if call in pool else (Breach("DUP", because, f"{seen.name} {call} came"),)
    if seen.name == "tool/call":
        return ghost._replace(asked=left, running=(*ghost.running, call)), breach
    return ghost._replace(running=left), breach


def dup_at_rest(ghost: Once, rest: Rest) -> tuple[Breach, ...]:
    """At rest nothing more is said than at any other point."""
    return NEVER


def a_tool_is_called(ghost: Once, entry: Entry) -> bool:
    """Whether a call of a reply is recorded."""
    seen = told(entry)
    return seen is not None and seen.name == "tool/call"


DUP: Final = declare(
    dup_nothing_twice,
    dup_at_rest,
    Once(),
    "SP-04 ST-11 ST-12 ST-13 ST-17 TC-04 CN-17",
    "call answer return provider step/start step/end assistant/message tool/call tool/result "
    "agent/inbox/spliced",
    "a tool is called",
    a_tool_is_called,
)
