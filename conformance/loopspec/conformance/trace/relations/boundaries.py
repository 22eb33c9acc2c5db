"""Numbers and boundaries: records, turns and steps, and what names them."""

from __future__ import annotations

from typing import Final

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.relations.declaring import Wrong, relation
from loopspec.conformance.trace.story import Story
from loopspec.model.words import CAUSES

__all__ = ["aborts_have_a_cause", "head", "names_the_open_step", "seq", "steps", "turns"]


@relation("SEQ")
def seq(story: Story, record: Record) -> Wrong | None:
    """Records are numbered from 0 without a gap, or not at all."""
    if record.seq == story.seq and story.numbered:
        return None
    if record.seq is None:
        return Wrong("SL-01", "it has no number, those before it have") if story.numbered else None
    if not story.numbered:
        return Wrong("SL-01", f"its number is {record.seq}, those before it have none")
    return Wrong("SL-01", f"its number is {record.seq}, the next one is {story.seq}")


@relation("HEAD", "session")
def head(story: Story, _: Record) -> Wrong | None:
    """A log has one header, in front of its records."""
    if not story.headed and not story.seq:
        return None
    return Wrong("SL-07", "a header came, the log has begun already")


@relation("TURNS", "turn/start turn/end")
def turns(story: Story, record: Record) -> Wrong | None:
    """Turns count from 1 over the whole log, one is open at most, and each closes once."""
    number = record.data.turn
    if record.name == "turn/start":
        if story.turn_open:
            return Wrong("TB-01", f"turn {number} opens, turn {story.turn} is open")
        if number != story.turn + 1:
            rule = "RS-08" if story.behind_seed else "SL-01"
            return Wrong(rule, f"turn {number} opens, the next one is {story.turn + 1}")
        return None
    if not story.turn_open:
        return Wrong("TB-01", f"turn {number} closes, none is open")
    if number != story.turn:
        return Wrong("TB-01", f"turn {number} closes, turn {story.turn} is open")
    return None


@relation("STEPS", "step/start step/end turn/end")
def steps(story: Story, record: Record) -> Wrong | None:
    """Steps count from 1 in each turn, one is open at most, and it closes before its turn."""
    if record.name == "turn/end":
        open_step = f"the turn closes, its step {story.step} is open"
        return Wrong("TB-18", open_step) if story.step_open else None
    turn, number = record.data.turn, record.data.step
    if not story.turn_open or turn != story.turn:
        now = f"turn {story.turn} is" if story.turn_open else "no turn is"
        return Wrong("SL-02", f"it names turn {turn}, {now} open")
    if record.name == "step/start":
        if story.step_open:
            return Wrong("ST-05", f"step {number} opens, step {story.step} is open")
        if number == story.step + 1:
            return None
        return Wrong("SL-02", f"step {number} follows step {story.step}")
    if not story.step_open:
        return Wrong("ST-05", f"step {number} closes, none is open")
    if number == story.step:
        return None
    return Wrong("SL-02", f"step {number} closes, step {story.step} is open")


@relation(
    "NAMED",
    "assistant/chunk assistant/attempt text-chunks reasoning-chunks tool-call-chunks "
    "assistant/message tool/call tool/result system/message",
)
def names_the_open_step(story: Story, record: Record) -> Wrong | None:
    """Chunks, replies, prompts, tool calls and results name the turn and step that are open."""
    named = (record.data.turn, record.data.step)
    if story.step_open and named == (story.turn, story.step):
        return None
    now = f"{story.turn}.{story.step} is" if story.step_open else "no step is"
    return Wrong("SL-03", f"it names step {named[0]}.{named[1]}, {now} open")


CAUSES_EVER: Final = (*CAUSES, "legacy")


@relation("CAUSE", "turn/end")
def aborts_have_a_cause(_: Story, record: Record) -> Wrong | None:
    """An aborted turn names who aborted it; logs of old say it as a text, or not at all."""
    cause = record.data.reason.reason
    if record.data.reason.kind != "aborted" or cause is None or isinstance(cause, str):
        return None
    if cause.kind in CAUSES_EVER:
        return None
    return Wrong("CN-12", f"the cause is {cause.kind!r}; causes are {', '.join(CAUSES_EVER)}")
