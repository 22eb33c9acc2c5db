"""Policies: the answers on which the field disagrees, as values.

Rules of this file. A policy is sets and named choices in one frozen value. A row of the table may
ask a policy; a policy never calls a row. A profile is a named set of values with its source.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs


@attrs.frozen
class Policy:
    """The choices that the contract leaves or that profiles answer differently.

    goes_on_after: ways a turn may end after which the same driver opens the next turn (DR-08).
    after_keep_cancel: `advance` renews the wakes of a preserved queue once the aborted turn has
        closed; `park` leaves it parked until a later wake (Δ2, CN-11).
    wakes: `marks` keeps a late wake with its message, so that none is lost (LB-02); `latch` keeps
        one bit for each activity, set only under an abort or in maintenance (WL-01, WL-06, DR-11).
    refused_clear: what a broad cancel does when its clear is refused, inside a record's listener:
        `abort` all the same, or `throw` before the abort (A8, RE-03, LB-03).
    clear: `pending` removes what was pending when the call began; `live` empties each list as it
        stands when its turn comes (A11, RE-06, RE-07, LB-10).
    cancel_hits: the activity that ran when the call `began`, or the one that runs when the
        `clear` is done: it differs only when a discard listener starts a driver (A11).
    truncation: max-tokens sticks to the `reason` only, or to the whole `outcome`, so that a reply
        owed later is not asked for (A3, OF-03, LB-01).
    disposal: `fact` lets nothing start once disposal began; `cause` looks at the winning cause
        only, so that an earlier cancel lets new work run (A1, A2, WL-07, DI-07, LB-05, LB-06).
    refused_end: behind a turn/end that the log refused, `hold` opens no turn any more and reports
        that to each wake; `forget` opens the next one in a log whose last turn is open (LB-22).
    interceptor: a dispatch interceptor that throws is `contained` like a listener, or `throws` into
        whatever dispatched (A10, LB-11, LB-12).
    passes: a gate that nobody holds is passed `at once`, or with the `next tick` (LN-10).
    aborted_claim: a turn that is aborted while it opens `claims` all the same, or `nothing`, so
        that its input waits for the next turn (CL-07, TB-08).
    awaits: a driver awaits its `gates` alone, or its own `parts` too, so that a tick lies between
        two turns, before the end of a step, around each tool and where it unwinds (LN-10, TB-02).
    aborted_call: a tool call that is aborted while it is recorded `starts` all the same, or is
        `skipped` (TC-04).
    waits: a wait for idle that finds new work where it would be told `settles` all the same, or
        `follows` that work (WI-01, WI-02).
    entry: the messages of a step are recorded when it `opens`, or when its first request is
        `prepared`, and then not at all if that fails or is aborted (ST-01, ST-02, ST-03).
    no_op: a change of nothing inside a record's listener `answers` as it does elsewhere, or is
        `refused` like every other change (RE-01, SP-04, IN-11, IN-12).
    disposed_turn: a turn that opens once disposal began `runs`, or `fails` where it would ask the
        assembly; only a disposal that looks at the cause lets one open (A7, ID-11, LB-07).
    disposed_latch: a maintenance task that was disposed of `replays` the wake that was latched
        under an earlier cause, or has it `forgotten` (A2, WL-07).
    fork: a fork's inbox is `empty`, or it `inherits` what is pending, so that two sessions run the
        same message (ID-10).
    """

    goes_on_after: frozenset[str] = frozenset({"completed", "max-tokens"})
    after_keep_cancel: str = "advance"
    wakes: str = "marks"
    refused_clear: str = "abort"
    clear: str = "pending"
    cancel_hits: str = "began"
    truncation: str = "reason"
    disposal: str = "fact"
    refused_end: str = "hold"
    interceptor: str = "contained"
    passes: str = "at once"
    aborted_claim: str = "claims"
    awaits: str = "gates"
    aborted_call: str = "starts"
    waits: str = "settles"
    entry: str = "opens"
    no_op: str = "answers"
    disposed_turn: str = "runs"
    disposed_latch: str = "replays"
    fork: str = "empty"


NOTES: Final = Policy()
"""The strict reading of both design notes."""

DSH_0_1: Final = attrs.evolve(
    NOTES,
    after_keep_cancel="park",
    wakes="latch",
    refused_clear="throw",
    clear="live",
    cancel_hits="clear",
    truncation="outcome",
    disposal="cause",
    refused_end="forget",
    interceptor="throws",
    passes="next tick",
    aborted_claim="nothing",
    awaits="parts",
    aborted_call="skipped",
    waits="follows",
)
"""The npm release 0.1.0-rc.8, as a list of differences from `notes`."""

DSH_0_2: Final = attrs.evolve(
    DSH_0_1,
    entry="prepared",
    no_op="refused",
    disposed_turn="fails",
    disposed_latch="forgotten",
    fork="inherits",
)
"""The release 0.2.1, as a list of differences from the release 0.1."""


def gates_of(release: Policy) -> Policy:
    """The answers of a release for a loop that awaits its gates alone.

    The four fields that tell what the release does between its own awaits are as in `notes`.
    """
    return attrs.evolve(
        release,
        aborted_claim=NOTES.aborted_claim,
        awaits=NOTES.awaits,
        aborted_call=NOTES.aborted_call,
        waits=NOTES.waits,
    )


PROFILES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "notes": NOTES,
        "notes-park": attrs.evolve(NOTES, after_keep_cancel="park"),
        "dsh-0.1": DSH_0_1,
        "dsh-0.2": DSH_0_2,
        "dsh-0.1-gates": gates_of(DSH_0_1),
        "dsh-0.2-gates": gates_of(DSH_0_2),
    }
)
"""`notes` is the strict reading of both design notes; `notes-park` differs in one value (Δ2).

The shipped loop is judged by the gates of a release, since it has no ticks of its own."""
