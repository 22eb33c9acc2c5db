"""Why the table refuses a record, in words: the situation, and the rules that it is about.

The table has decided already; what stands here only finds the words. The first entry of `REASONS`
that fits is said, and the last one always fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
from msgspec import UNSET

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.story import SPLICED, Pending, Story, is_claim
from loopspec.model.words import NEXT_STEP, NEXT_TURN

__all__ = ["REASONS", "Reason", "came", "reason_of", "situation"]

SHOWN_MAX: Final = 4


@attrs.frozen
class Reason:
    """What a refused record breaks: rules, a sentence, and when that is the matter."""

    rules: tuple[str, ...]
    sentence: str
    when: Callable[[Story, Record], bool]


def because(rules: str, sentence: str, when: Callable[[Story, Record], bool]) -> Reason:
    """Declare a reason."""
    return Reason(tuple(rules.split()), sentence, when)


def claims(story: Story, record: Record) -> bool:
    """Whether the record is a claim."""
    return record.name == SPLICED and is_claim(record)


def claims_outside(story: Story, record: Record) -> bool:
    """Whether it claims while no turn is open."""
    return claims(story, record) and not story.turn_open


def claims_part(story: Story, record: Record) -> bool:
    """Whether it claims less or other than a turn's first boundary takes."""
    if not claims(story, record):
        return False
    data = record.data
    if data.target == NEXT_STEP:
        return bool(data.start) or data.removedCount != len(story.next_step)
    return bool(data.start) or data.removedCount != 1


def later(when: Callable[[Story, Record], bool]) -> Callable[[Story, Record], bool]:
    """The same, at a boundary between two steps."""
    return lambda story, record: story.step > 0 and when(story, record)


def ends(*kinds: str) -> Callable[[Story, Record], bool]:
    """Whether a turn ends in one of these ways."""

    def when(_: Story, record: Record) -> bool:
        return record.name == "turn/end" and record.data.reason.kind in kinds

    return when


def claims_a_prompt_later(story: Story, record: Record) -> bool:
    """Whether it claims from next-turn where only next-step is claimed."""
    return claims(story, record) and record.data.target == NEXT_TURN and story.step > 0


def claims_in_another_order(story: Story, record: Record) -> bool:
    """Whether it claims from next-turn while next-step holds something."""
    return claims(story, record) and record.data.target == NEXT_TURN and bool(story.next_step)


def leaves_a_claim_out(story: Story, record: Record) -> bool:
    """Whether a boundary passes while it had something to claim."""
    if record.name not in ("step/start", "turn/end") or not story.turn_open:
        return False
    owed = bool(story.next_step) or (not story.step and bool(story.next_turn))
    return owed and not story.batch


def opens_unasked(*ended: str) -> Callable[[Story, Record], bool]:
    """Whether a turn opens, which nothing woke, behind one that ended so."""
    return lambda story, record: record.name == "turn/start" and story.ended in ended


def opens_behind_a_restart(story: Story, record: Record) -> bool:
    """Whether a turn opens, which nothing woke since the restart."""
    return record.name == "turn/start" and story.behind_seed


def opens_first(story: Story, record: Record) -> bool:
    """Whether the first turn opens, which nothing woke."""
    return record.name == "turn/start" and not story.turn


def edits_wrongly(story: Story, record: Record) -> bool:
    """Whether an edit says of itself what it is not."""
    if record.name != SPLICED:
        return False
    removes = record.data.removedCount is not UNSET
    return removes != (record.data.outcome is not UNSET)


def edits(story: Story, record: Record) -> bool:
    """Whether a list is edited."""
    return record.name == SPLICED


REASONS: Final = (
    because("CL-07", "A claim stands in the turn that makes it.", claims_outside),
    because("CL-01", "Only a turn's first boundary claims from next-turn.", claims_a_prompt_later),
    because("CL-01", "A claim between two steps takes all of next-step.", later(claims_part)),
    because(
        "CL-02",
        "A claim takes all of next-step, then one from the head of next-turn.",
        claims_part,
    ),
    because("CL-02", "Next-step is claimed before next-turn.", claims_in_another_order),
    because("CL-08", "A claim is made at a boundary, once.", claims),
    because("CL-01", "A boundary between two steps claims next-step.", later(leaves_a_claim_out)),
    because("CL-02", "A turn's first boundary claims what is pending.", leaves_a_claim_out),
    because(
        "DI-03", "Behind a restart a turn opens once a delivery wakes.", opens_behind_a_restart
    ),
    because("RT-07", "The first turn opens behind a delivery that wakes.", opens_first),
    because(
        "DR-08",
        "A turn opens behind a wake, or behind a turn that ended well with messages pending.",
        opens_unasked("completed", "max-tokens"),
    ),
    because(
        "DR-09",
        "Behind a turn that did not end well, a turn opens once a delivery wakes.",
        lambda _, record: record.name == "turn/start",
    ),
    because(
        "IN-04",
        "A splice that removes is canceled, unless it is a claim; one that only inserts is not.",
        edits_wrongly,
    ),
    because("RE-01", "No call edits a list at this place.", edits),
    because(
        "ST-01",
        "A step opens in a turn behind a decision to enter.",
        lambda _, record: record.name == "step/start",
    ),
    because(
        "ST-01",
        "Messages that enter stand right behind the start of their step.",
        lambda _, record: record.name == "user/message",
    ),
    because(
        "ST-12",
        "A reply is marked interrupted only under an abort, and is the only one of its step.",
        lambda _, record: record.name == "assistant/message" and record.data.interrupted,
    ),
    because(
        "ST-11",
        "A step that has entered something, or owes a reply, has one reply.",
        lambda _, record: record.name == "assistant/message",
    ),
    because(
        "ST-05",
        "A step closes behind its reply, or behind what made it fail.",
        lambda _, record: record.name == "step/end",
    ),
    because("TB-06", "A turn ends max-tokens behind a truncated answer.", ends("max-tokens")),
    because("TB-07", "A turn ends blocked behind a decision that rejects.", ends("blocked")),
    because("TB-08", "A turn ends aborted when its signal was.", ends("aborted")),
    because("TB-09", "A turn ends in error behind a failure.", ends("error")),
    because(
        "TB-05",
        "A turn ends completed when its last step owes nothing, or when nothing entered.",
        lambda _, record: record.name == "turn/end",
    ),
    because("TB-01", "The table does not write this record here.", lambda _story, _record: True),
)


def reason_of(story: Story, record: Record) -> Reason:
    """The first reason that fits a refused record."""
    return next(each for each in REASONS if each.when(story, record))


def ids(items: list[Pending]) -> str:
    """Some messages on one line."""
    if not items:
        return "nothing"
    shown = ", ".join(each.id for each in items[:SHOWN_MAX])
    more = len(items) - SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def situation(story: Story) -> str:
    """Where a log stands: its boundaries and its lists."""
    if story.turn_open:
        now = f"turn {story.turn} is open"
        if story.step:
            now += f", its step {story.step} is {'open' if story.step_open else 'closed'}"
        if story.batch:
            now += f", it has claimed {ids(list(story.batch.values()))}"
    elif story.turn:
        now = f"turn {story.turn} is closed" + (f" as {story.ended}" if story.ended else "")
    else:
        now = "no turn has opened"
    return f"{now}; next-turn holds {ids(story.next_turn)}, next-step holds {ids(story.next_step)}"


def came(record: Record) -> str:
    """What a record says, in one line."""
    name, data = record.name, record.data
    if name == SPLICED:
        parts = [f"{data.target}@{data.start}"]
        if data.removedCount is not UNSET:
            parts.append(f"-{data.removedCount}")
        if data.inserted:
            some = ",".join(each.id for each in data.inserted[:SHOWN_MAX])
            parts.append(f"+{some}" + ("..." if len(data.inserted) > SHOWN_MAX else ""))
        if data.outcome is not UNSET:
            parts.append(data.outcome)
        return f"{name} {' '.join(parts)} came"
    if name == "turn/end":
        return f"{name} {data.turn} {data.reason.kind} came"
    if name == "turn/start":
        return f"{name} {data.turn} came"
    if name == "user/message":
        return f"{name} {data.id} came"
    return f"{name} {data.turn}.{data.step} came"
