"""A record in the words of the table, for lists that are cut to what a row can tell apart."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from msgspec import UNSET

from loopspec.conformance.trace.acceptor import ENTERED, KEPT, ONE_CALL, named
from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.story import SPLICED, TRUNCATED, Story, is_claim
from loopspec.model.words import FIRST, NEXT_STEP, NEXT_TURN, Observation, observation

__all__ = ["asked_of_table", "lengths_after"]

NEVER: Final = 99
"""A number that no record of the table carries."""


@lru_cache(maxsize=1024)
def in_words(name: str, *values: Any) -> Observation:  # noqa: ANN401 - values of a record
    """A record of the table."""
    return observation("record", name, *values, listener=FIRST)


ENDINGS: Final = ("completed", "max-tokens", "blocked", "aborted", "error")
"""The kinds of endings that the table knows; the log format leaves them open."""


def asked_of_table(story: Story, record: Record) -> tuple[Observation, ...]:
    """A record as the table would write it, before the story has folded it.

    Nothing when the table is not asked; several when the log leaves open which one it is.

    Numbers are relative: an open turn is 0 and the next one 1; the first step of a turn is 1 and
    every later one 2, of which the table keeps only that a step is open.
    """
    name, data = record.name, record.data
    if name == SPLICED:
        return (splice_in_words(story, record),)
    if name == "turn/start":
        return (in_words(name, data.turn - story.turn),)
    if name == "turn/end":
        return endings(data.turn - story.turn, data.reason.kind, data.reason.reason)
    if name == "step/start":
        follows = data.step == story.step + 1
        return (in_words(name, data.turn - story.turn, (2 if story.step else 1) if follows else 0),)
    if name == "step/end":
        return (in_words(name, data.turn - story.turn, 1 if data.step == story.step else 0),)
    if name == "user/message":
        first = story.step_open and not story.entered_here
        return (in_words(name, ENTERED),) if first and record.surface == "append" else ()
    if name == "assistant/message":
        # The calls of a truncated answer are not run (TC-07), so the table does not have them.
        calls = ONE_CALL if data.calls and story.finish_of(record) != TRUNCATED else ()
        return (in_words(name, data.turn - story.turn, 1, calls, data.interrupted),)
    return ()


def endings(turn: int, kind: str, cause: object) -> tuple[Observation, ...]:
    """The end of a turn; nothing where only a repair writes it, each for a kind of a plug-in."""
    if kind in ("interrupted", "forked"):
        return ()
    who = getattr(cause, "kind", cause)
    word = "disposed" if who == "disposed" else "user"
    return tuple(
        in_words(
            "turn/end",
            turn,
            each,
            word if each == "aborted" else None,
            "" if each == "error" else None,
        )
        for each in ((kind,) if kind in ENDINGS else ENDINGS)
    )


def lengths_after(story: Story, record: Record) -> tuple[int, int]:
    """How long the lists are for the table once a record has changed them."""
    if record.name != SPLICED:
        return story.lengths
    data = record.data
    removed = data.removedCount if isinstance(data.removedCount, int) else 0
    more = len(data.inserted) - removed
    in_turn, in_step = len(story.next_turn), len(story.next_step)
    if data.target == NEXT_TURN:
        in_turn += more
    else:
        in_step += more
    return min(in_turn, KEPT), min(in_step, KEPT)


def splice_in_words(story: Story, record: Record) -> Observation:
    """An edit of lists that are at most `KEPT` long.

    A claim of all is a claim of all there too, and one of the head one of the head. Of any other
    edit it matters what it leaves, so it removes all, or leaves at least one.
    """
    data = record.data
    length = len(story.items(data.target))
    kept = min(length, KEPT)
    removed = 0 if data.removedCount is UNSET else data.removedCount
    outcome = None if data.outcome is UNSET else data.outcome
    if is_claim(record):
        whole = kept if removed == length else NEVER
        taken = whole if data.target == NEXT_STEP else (1 if removed == 1 else NEVER)
        return in_words(
            SPLICED, data.target, data.start if not data.start else NEVER, taken, (), None
        )
    taken = kept if removed == length else min(removed, max(kept - 1, 0))
    inserted = tuple(named("i", index) for index in range(min(len(data.inserted), KEPT)))
    start = kept if data.start == length and not removed else 0
    return in_words(SPLICED, data.target, start, taken, inserted, outcome)
