"""Restarts and forks: what a repair closes, and where a seed ends."""

from __future__ import annotations

from typing import Final

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.relations.declaring import Wrong, relation
from loopspec.conformance.trace.story import REPAIR_CODES, Story

__all__ = ["repairs_close_and_say_so", "restarts_find_nothing_open", "seeds_end_at_their_length"]

END_SEED: Final = "session/end-seed"


@relation("REPAIR")
def repairs_close_and_say_so(story: Story, record: Record) -> Wrong | None:
    """A repair closes what is open, calls first, then the step, then the turn, then says so."""
    if not (story.owes_seed or story.closing or record.name == "turn/end"):
        return None
    name = record.name
    if story.owes_seed and name != END_SEED:
        return Wrong("TB-10", f"the turn was closed as interrupted, {END_SEED} follows that")
    if name == "turn/end" and (record.data.reason.kind == "forked") != story.cut_open:
        if story.cut_open:
            return Wrong("RS-09", "a fork was cut inside the turn, which it closes as forked")
        return Wrong("RS-09", "the turn is closed as forked, no cut of a fork stands in it")
    if story.closing and not (name == "tool/result" and record.data.code in REPAIR_CODES):
        closes = name == "turn/end" and record.data.reason.kind in ("interrupted", "forked")
        if not closes and name != "step/end":
            return Wrong("RS-03", "a repair has begun, only results and closing records follow")
    return None


@relation("SEED", END_SEED)
def restarts_find_nothing_open(story: Story, record: Record) -> Wrong | None:
    """A restart closes the open turn before it says that the seed ends; a fork closes it then.

    A seed that ends so already is not told to end again.
    """
    if record.data.inherited:
        if story.seeded is False:
            return Wrong("RS-07", "an inherited seed ends, the header says that there is none")
        return Wrong("RS-07", "the seed ends again") if story.ends_seed == "cut" else None
    if story.turn_open:
        return Wrong("RS-03", f"the seed ends, turn {story.turn} is open")
    return Wrong("RS-07", "the seed ends again") if story.ends_seed else None


@relation("CUT")
def seeds_end_at_their_length(story: Story, record: Record) -> Wrong | None:
    """Where a header counts the inherited records, they end there, outside a turn, and say so."""
    if record.name != END_SEED and not story.ends_seed:
        return Wrong("RS-07", f"the seed has {story.seq} records, {END_SEED} follows them")
    if story.turn_open:
        return Wrong("RS-09", f"the seed has {story.seq} records, turn {story.turn} is open there")
    return None
