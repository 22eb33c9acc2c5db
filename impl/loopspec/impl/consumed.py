"""Which turns used up work, read from the log alone (CW-01 to CW-06)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from loopspec.impl.records import InboxSpliced, Record, StepStart, TurnEnd, TurnStart

UNDONE: Final = ("blocked", "aborted", "interrupted", "error")
"""Endings by which a claimed batch is used up although no step was entered."""


@attrs.frozen
class ConsumedWork:
    """What a log accounts for.

    `turns` are the turns that used up work, in order. `dropped`: since the last of them, pending
    work was discarded and nothing put in its place.
    """

    turns: tuple[int, ...] = ()
    dropped: bool = False


def consumed_work(records: Iterable[Record]) -> ConsumedWork:
    """Fold records, the whole log or a suffix that begins where no turn is open (CW-06)."""
    turns: list[int] = []
    dropped = is_open = entered = claimed = False
    for record in records:
        match record.payload:
            case TurnStart():
                is_open, entered, claimed = True, False, False
            case StepStart():
                entered = True
            case InboxSpliced(removed_count=removed, outcome=None) if removed:
                # Outside a turn nobody claims, so such a removal counts for nothing (CW-03).
                claimed = claimed or is_open
            case InboxSpliced(removed_count=removed, inserted=()) if removed:
                dropped = True
            case TurnEnd(turn=turn, reason=reason):
                if entered or (claimed and reason.kind in UNDONE):
                    turns.append(turn)
                    dropped = False
                is_open, entered, claimed = False, False, False
            case _:
                pass
    return ConsumedWork(tuple(turns), dropped)
