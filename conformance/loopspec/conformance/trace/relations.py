"""Log relations: what records of a log say of each other, whatever the loop did in between.

Each relation is declared once, with the rules that it checks, a sentence, the records that it
looks at, and two small logs in the notation of `notation`: one that holds and one that breaks it,
which a test runs. What a loop may do next is not said here: that is asked of the model's table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs
from msgspec import UNSET

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.story import (
    NOT_STARTED,
    REPAIR_CODES,
    SPLICED,
    Story,
    is_placeholder,
)
from loopspec.model.words import CAUSES, TARGETS

__all__ = ["RELATIONS", "Relation", "by_record", "seq"]

Check = Callable[[Story, Record], str | None]
"""What is wrong with a record behind a story; None when nothing is."""


@attrs.frozen
class Relation:
    """One sentence about the records of a log.

    `on` are the names of the records that it looks at, empty for all; `inbox` tells that it needs
    a log with inbox records; `note` that a breach is told and does not break the log.
    """

    code: str
    rules: tuple[str, ...]
    sentence: str
    on: tuple[str, ...]
    check: Check
    holds: str
    breaks: str
    inbox: bool = False


def relation(
    code: str, rules: str, on: str, holds: str, breaks: str, inbox: bool = False
) -> Callable[[Check], Relation]:
    """Declare a relation; its sentence is the docstring of its check."""

    def declare(check: Check) -> Relation:
        sentence = " ".join((check.__doc__ or "").split())
        return Relation(
            code, tuple(rules.split()), sentence, tuple(on.split()), check, holds, breaks, inbox
        )

    return declare


# --- Numbers ------------------------------------------------------------------------------------


@relation("SEQ", "SL-01", "", "+T[A] {1 -T[A] }1:blocked", "+T[A] {1 #9 -T[A]")
def seq(story: Story, record: Record) -> str | None:
    """Records are numbered from 0 without a gap, or not at all."""
    if record.seq is None or record.seq == story.seq:
        return None
    return f"its number is {record.seq}, the next one is {story.seq}"


@relation(
    "TURNS",
    "SL-01 TB-01 DR-04 RS-08",
    "turn/start turn/end",
    "+T[A] +T[B] {1 -T[A] }1:blocked +T[C] {2 -T[B] }2:blocked",
    "+T[A] +T[B] {1 -T[A] }1:blocked +T[C] {3 -T[B] }3:blocked",
)
def turns(story: Story, record: Record) -> str | None:
    """Turns count from 1 over the whole log, one is open at most, and each closes once."""
    number = record.data.turn
    if record.name == "turn/start":
        if story.turn_open:
            return f"turn {number} opens, turn {story.turn} is open"
        if number != story.turn + 1:
            return f"turn {number} opens, the next one is {story.turn + 1}"
        return None
    if not story.turn_open:
        return f"turn {number} closes, none is open"
    return f"turn {number} closes, turn {story.turn} is open" if number != story.turn else None


@relation(
    "STEPS",
    "SL-02 ST-01 ST-05 TB-18",
    "step/start step/end turn/end",
    "+T[A] {1 -T[A] (1 uA a )1 }1:completed",
    "+T[A] {1 -T[A] (1 uA a }1:completed",
)
def steps(story: Story, record: Record) -> str | None:
    """Steps count from 1 in each turn, one is open at most, and it closes before its turn."""
    if record.name == "turn/end":
        return f"the turn closes, its step {story.step} is open" if story.step_open else None
    turn, number = record.data.turn, record.data.step
    if not story.turn_open or turn != story.turn:
        now = f"turn {story.turn} is" if story.turn_open else "no turn is"
        return f"it names turn {turn}, {now} open"
    if record.name == "step/start":
        if story.step_open:
            return f"step {number} opens, step {story.step} is open"
        return None if number == story.step + 1 else f"step {number} follows step {story.step}"
    if not story.step_open:
        return f"step {number} closes, none is open"
    return None if number == story.step else f"step {number} closes, step {story.step} is open"


@relation(
    "NAMED",
    "SL-03",
    "assistant/chunk assistant/attempt text-chunks reasoning-chunks tool-call-chunks "
    "assistant/message tool/call tool/result system/message",
    "+T[A] {1 -T[A] (1 uA a )1 }1:completed",
    "+T[A] {1 -T[A] (1 uA a )1 a }1:completed",
)
def names_the_open_step(story: Story, record: Record) -> str | None:
    """Chunks, replies, prompts, tool calls and results name the turn and step that are open."""
    named = (record.data.turn, record.data.step)
    if story.step_open and named == (story.turn, story.step):
        return None
    now = f"{story.turn}.{story.step} is" if story.step_open else "no step is"
    return f"it names step {named[0]}.{named[1]}, {now} open"


CAUSES_EVER: Final = (*CAUSES, "legacy")


@relation(
    "CAUSE",
    "CN-12 TB-11",
    "turn/end",
    "+T[A] {1 -T[A] }1:aborted/user",
    "+T[A] {1 -T[A] }1:aborted/nobody",
)
def aborts_have_a_cause(_: Story, record: Record) -> str | None:
    """An aborted turn names who aborted it; logs of old say it as a text, or not at all."""
    cause = record.data.reason.reason
    if record.data.reason.kind != "aborted" or cause is None or isinstance(cause, str):
        return None
    if cause.kind in CAUSES_EVER:
        return None
    return f"the cause is {cause.kind!r}; causes are {', '.join(CAUSES_EVER)}"


# --- Tools --------------------------------------------------------------------------------------

CALLING: Final = "+T[A] {1 -T[A] (1 uA a:c1,c2 "


@relation(
    "ASKED",
    "SL-04 TC-01 TC-04",
    "tool/call",
    CALLING + "c:c1 r:c1 c:c2 r:c2 )1 (2 a )2 }1:completed",
    CALLING + "c:c2 c:c1 r:c1 r:c2 )1",
)
def calls_were_asked_for(story: Story, record: Record) -> str | None:
    """Calls start in the order in which the reply of their step has asked for them."""
    call, place = record.data.callId, len(story.started)
    if story.asked[place : place + 1] == (call,):
        return None
    if call in story.started:
        return f"the call {call} starts again"
    if call in story.asked:
        return f"the call {call} starts before {story.asked[place]}"
    return f"the call {call} starts, the reply of the step asks for {shown(story.asked)}"


@relation(
    "ANSWERED",
    "SL-04 TC-01",
    "tool/result",
    CALLING + "c:c1 c:c2 r:c1 r:c2 )1 (2 a )2 }1:completed",
    CALLING + "c:c1 c:c2 r:c2 r:c1 )1",
)
def results_follow_their_calls(story: Story, record: Record) -> str | None:
    """A result follows its call, once and in the order asked, or says that it never started."""
    call, place = record.data.call, len(story.answered)
    if story.asked[place : place + 1] == (call,):
        if call in story.started or record.data.code == NOT_STARTED:
            return None
        return f"the call {call} is answered and has not started"
    if call in story.answered:
        return f"the call {call} is answered again"
    if call not in story.asked:
        return f"the call {call} is answered, the reply of the step asks for {shown(story.asked)}"
    return f"the call {call} is answered before {story.asked[place]}"


@relation(
    "UNANSWERED",
    "TC-04 TC-06 TC-08",
    "step/start turn/end",
    CALLING + "c:c1 r:c1 c:c2 r:c2 )1 (2 a )2 }1:completed",
    CALLING + "c:c1 r:c1 c:c2 )1 (2 a )2 }1:completed",
)
def every_call_is_answered(story: Story, record: Record) -> str | None:
    """A turn goes on, or ends well, only when every call that it asked for has its result."""
    left = story.unanswered
    if not left or (record.name == "turn/end" and record.data.reason.kind not in GOES_WELL):
        return None
    return f"{record.name} follows, the calls {shown(left)} have no result"


GOES_WELL: Final = frozenset({"completed", "blocked"})

# --- Requests and surface -----------------------------------------------------------------------


@relation(
    "HEADER",
    "SL-05",
    "request/header request/context",
    "+T[A] {1 -T[A] (1 uA h a )1 }1:completed",
    "h +T[A] {1 -T[A] (1 uA a )1 }1:completed",
)
def requests_are_made_in_turns(story: Story, record: Record) -> str | None:
    """Request header and context stand in an open turn."""
    return None if story.turn_open else "no turn is open"


@relation(
    "REASON",
    "ST-08",
    "request/header",
    "+T[A] {1 -T[A] (1 uA h a )1 }1:completed",
    "+T[A] {1 -T[A] (1 uA h h a )1 }1:completed",
)
def headers_say_why(story: Story, record: Record) -> str | None:
    """The first request header of a log is `initial`, no other is, and `resume` needs a restart."""
    reason = record.data.reason
    if (reason == "initial") != (story.headers == 0):
        return f"header {story.headers + 1} of the log gives the reason {reason!r}"
    if reason == "resume" and not story.restarted:
        return "it gives the reason 'resume', the session was not restarted since the last one"
    return None


SURFACES: Final = frozenset(
    {"user/message", "assistant/message", "tool/result", "system/message", "developer/message"}
)


@relation(
    "SURFACE",
    "SL-06",
    "",
    "+T[A] {1 -T[A] (1 uA a )1 }1:completed",
    "+T[A] {1 -T[A] ^(1 uA a )1 }1:completed",
    inbox=True,
)
def surfaces_are_declared(story: Story, record: Record) -> str | None:
    """Messages and results declare how they join what the model sees; other records do not."""
    surface = record.surface
    if (record.name in SURFACES) == (surface is not None):
        if surface is None or surface == "append" or isinstance(surface, dict):
            return None
        return f"its surfaceOp is {str(surface)[:40]!r}; it appends, or replaces a range"
    if record.name in SURFACES:
        return "it does not declare a surfaceOp"
    return "it declares a surfaceOp, and is not seen by the model"


# --- Restart and fork ---------------------------------------------------------------------------


@relation(
    "REPAIR",
    "RS-03 RS-04 RS-05 TB-10",
    "",
    "+T[A] {1 -T[A] (1 uA a:c1 c:c1 r?c1 )1 }1:interrupted end-seed",
    "+T[A] {1 -T[A] (1 uA a:c1 c:c1 r?c1 )1 }1:completed",
)
def repairs_close_and_say_so(story: Story, record: Record) -> str | None:
    """A repair closes what is open, calls first, then the step, then the turn, then says so."""
    name = record.name
    if story.owes_seed and name != "session/end-seed":
        return "the turn was closed as interrupted, session/end-seed follows that"
    if story.repaired and not (name == "tool/result" and record.data.code in REPAIR_CODES):
        closes = name == "turn/end" and record.data.reason.kind in ("interrupted", "forked")
        if not closes and name != "step/end":
            return "a repair has answered a call, only results and closing records follow that"
    if name == "turn/end" and (record.data.reason.kind == "forked") != story.cut_open:
        if story.cut_open:
            return "a fork was cut inside the turn, which it closes as forked"
        return "the turn is closed as forked, no cut of a fork stands in it"
    return None


@relation(
    "SEED",
    "RS-03 RS-07 RS-09",
    "session/end-seed",
    "+T[A] {1 -T[A] }1:blocked end-seed",
    "+T[A] {1 -T[A] end-seed",
)
def restarts_find_nothing_open(story: Story, record: Record) -> str | None:
    """A restart closes the open turn before it says that the seed ends; a fork closes it then."""
    if story.turn_open and not record.data.inherited:
        return f"the seed ends, turn {story.turn} is open"
    return None


# --- Inbox --------------------------------------------------------------------------------------


@relation(
    "NORMAL",
    "IN-03 IN-04 SP-03 SP-04 IN-01",
    SPLICED,
    "+T[A] !T[A]",
    "+T[A] ~T[0]",
    inbox=True,
)
def splices_are_normalised(story: Story, record: Record) -> str | None:
    """A splice names one of two lists, changes it, and mentions only what it removes."""
    data = record.data
    if data.target not in TARGETS:
        return f"it names the list {data.target!r}; lists are {' and '.join(TARGETS)}"
    removed = data.removedCount
    if removed is not UNSET and removed <= 0:
        return f"it writes a removedCount of {removed}"
    if removed is UNSET and not data.inserted:
        return "it removes nothing and inserts nothing"
    if data.outcome is not UNSET and data.outcome != "canceled":
        return f"its outcome is {data.outcome!r}, the only one is 'canceled'"
    return None


@relation("RANGE", "ID-01 SP-01 SP-02 SP-03", SPLICED, "+T[A] !T[A]", "+T[A] !T[9]", inbox=True)
def splices_stay_inside(story: Story, record: Record) -> str | None:
    """A splice begins and ends inside its list."""
    data = record.data
    length = len(story.items(data.target))
    removed = 0 if data.removedCount is UNSET else data.removedCount
    if 0 <= data.start and data.start + removed <= length:
        return None
    what = f"takes {removed} at {data.start}" if removed else f"inserts at {data.start}"
    return f"it {what}, {data.target} holds {length}"


@relation("TWICE", "ID-01 ID-02 ID-03", SPLICED, "+T[A] *T[A>A]", "+T[A] +S[A]", inbox=True)
def ids_are_pending_once(story: Story, record: Record) -> str | None:
    """An id is pending at most once over both lists."""
    inserted = record.data.inserted
    if not inserted:
        return None
    gone = {each.id for each in story.removed_by(record)}
    seen: set[str] = set()
    for each in inserted:
        if each.id in seen or (each.id in story.pending and each.id not in gone):
            where = story.pending.get(each.id, record.data.target)
            return f"{each.id} is inserted, it is pending in {where}"
        seen.add(each.id)
    return None


@relation(
    "OWN",
    "CL-09 RS-06",
    SPLICED,
    "+T[A] !T[A] +T[A]",
    "+T[A] {1 -T[A] }1:blocked +T[A]",
    inbox=True,
)
def claims_are_for_good(story: Story, record: Record) -> str | None:
    """Nothing that was claimed is put into the inbox again."""
    for each in record.data.inserted:
        if each.id in story.claimed and not is_placeholder(each.id):
            return f"{each.id} is inserted again after its claim"
    return None


@relation(
    "ENTER",
    "ST-01 CL-07 CL-13 PS-20",
    "user/message",
    "+T[A] {1 -T[A] (1 uA xB a )1 }1:completed",
    "+T[A] {1 -T[A] uA (1 a )1 }1:completed",
    inbox=True,
)
def entries_belong_to_a_claim(story: Story, record: Record) -> str | None:
    """A user's message enters once, in a step of the turn that has claimed it."""
    if record.surface not in ("append", None):
        return None
    data = record.data
    if is_placeholder(data.id):
        return None
    if data.id in story.batch:
        if not story.step_open:
            return f"{data.id} enters, no step is open"
        return f"{data.id} enters, the step has its answer already" if story.streamed else None
    if data.id in story.entered:
        return f"{data.id} enters again"
    if data.id in story.claimed:
        return f"{data.id} enters, the open step is not the one that has claimed it"
    if data.id in story.pending or data.source is None or data.source.kind != "user":
        return None
    return f"{data.id} of a user enters, it was never queued"


@relation(
    "SAME",
    "IN-07 IN-06",
    "user/message",
    "+T[A] {1 -T[A] (1 uA a )1 }1:completed",
    "+T[A] {1 -T[A] (1 uA=other a )1 }1:completed",
    inbox=True,
)
def entries_equal_what_was_queued(story: Story, record: Record) -> str | None:
    """A message that enters is the one that was queued, member for member."""
    queued = story.batch.get(record.data.id)
    if queued is None or queued.whole == record.raw or is_placeholder(queued.id):
        return None
    keys = sorted({*queued.whole, *record.raw})
    wrong = [key for key in keys if queued.whole.get(key) != record.raw.get(key)]
    return f"{queued.id} enters with another {' and '.join(wrong)} than was queued"


SHOWN_MAX: Final = 8


def shown(names: tuple[str, ...]) -> str:
    """Some names on one line."""
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return (", ".join(names[:SHOWN_MAX]) or "none") + more


RELATIONS: Final[tuple[Relation, ...]] = (
    seq,
    turns,
    steps,
    names_the_open_step,
    aborts_have_a_cause,
    calls_were_asked_for,
    results_follow_their_calls,
    every_call_is_answered,
    requests_are_made_in_turns,
    headers_say_why,
    surfaces_are_declared,
    repairs_close_and_say_so,
    restarts_find_nothing_open,
    splices_are_normalised,
    splices_stay_inside,
    ids_are_pending_once,
    claims_are_for_good,
    entries_belong_to_a_claim,
    entries_equal_what_was_queued,
)


def by_record(inbox: bool) -> Mapping[str, tuple[Relation, ...]]:
    """The relations that look at each kind of record; those under "" look at every other one.

    `inbox` tells whether the log has inbox records. Numbers are not among them: they are compared
    in the order of the file, whatever order a reading puts records into.
    """
    chosen = [each for each in RELATIONS if (inbox or not each.inbox) and each is not seq]
    names = {name for each in chosen for name in each.on} | SURFACES
    found = {
        name: tuple(each for each in chosen if not each.on or name in each.on) for name in names
    }
    found[""] = tuple(each for each in chosen if not each.on)
    return found
