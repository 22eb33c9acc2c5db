"""What a log says of consumed work: the last turn that accounts for some, and what was dropped.

Theory. A reader that wants the last turn that *did* something cannot take the last `turn/end`: a
turn may end completed without a step, and then nothing was consumed. A turn accounts for work when
it entered a step, or when it claimed input and did not complete (CW-01, CW-02). Work that was
discarded without a replacement leaves a mark until the next turn that accounts (CW-04, CW-05). The
fold needs the records alone, and may begin anywhere in a log (CW-06).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from loopspec.model.words import Observation

LOSING: Final = frozenset({"blocked", "aborted", "interrupted", "error"})
"""The ends of a turn after which what it claimed is consumed though no step was entered."""


class Consumed(NamedTuple):
    """What is known from the records so far.

    `turn` and `reason` are those of the last turn that accounts for work, 0 and empty before one
    does; `dropped` tells that work was discarded since. The rest is about the open turn.
    """

    turn: int = 0
    reason: str = ""
    dropped: bool = False
    turn_open: bool = False
    stepped: bool = False
    claimed: bool = False


def consumed(records: Iterable[Observation], before: Consumed = Consumed()) -> Consumed:  # noqa: B008
    """The fold of records, each seen once, behind what is known `before` (CW-01 to CW-06)."""
    known = before
    for record in records:
        known = after_record(known, record)
    return known


def after_record(known: Consumed, record: Observation) -> Consumed:
    """What is known after one more record."""
    match record.name:
        case "turn/start":
            return known._replace(turn_open=True, stepped=False, claimed=False)
        case "step/start":
            return known._replace(stepped=True)
        case "agent/inbox/spliced" if record.get("removed"):
            if record.get("inserted"):
                return known
            if record.get("outcome") is not None:
                return known._replace(dropped=True)
            return known._replace(claimed=known.claimed or known.turn_open)
        case "turn/end":
            return _after_turn(known, record)
    return known


def _after_turn(known: Consumed, record: Observation) -> Consumed:
    """A turn that accounts becomes the last one, and forgets what was dropped before."""
    reason, turn = str(record.get("reason")), record.get("turn")
    closed = known._replace(turn_open=False, stepped=False, claimed=False)
    if not (known.stepped or (known.claimed and reason in LOSING)):
        return closed
    return closed._replace(turn=turn if isinstance(turn, int) else 0, reason=reason, dropped=False)
