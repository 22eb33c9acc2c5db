"""Going on with a session: what a crash left open is closed, once, and nothing is done again.

A crash ends the log anywhere. `crash_tail` says what closes it: one error result for each tool
request without an answer, in the order of the transcript, then the end of the open step, then the
end of the open turn as `interrupted` (RS-03). No tool runs again and no message comes back: a
claimed batch is lost with its turn (RS-02, RS-06). A log in which nothing is open gets nothing, so
repairing twice is repairing once (RS-05).

A session that goes on has its own log as its seed, and a copy begins with that of another, times
and all. Either seed is followed by one `session/end-seed`, which tells a reader where the next run
begins; an inherited one says so (RS-07).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from loopspec.impl.endings import Ending
from loopspec.impl.errors import BadArgument, ForkRefused
from loopspec.impl.inbox import CANCELED, fold_inbox
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import TextBlock
from loopspec.impl.records import (
    NEXT_STEP,
    NEXT_TURN,
    OUTCOME_UNKNOWN,
    TOOL_NOT_STARTED,
    AssistantMessage,
    EndSeed,
    InboxSpliced,
    Payload,
    Record,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnStart,
)

SAYS: Final = {
    TOOL_NOT_STARTED: "The session was interrupted before this call was started. "
    "Ask again if it is still needed.",
    OUTCOME_UNKNOWN: "The session was interrupted after this call was started, and no result is on "
    "record: whether it had an effect is unknown. Ask again only if it does no harm twice; "
    "otherwise look first.",
}
"""What the model reads instead of a result."""


@attrs.define
class _Open:
    """What is open at a place of the log: the turn, its step, and the calls without a result."""

    turn: int = 0
    step: int = 0
    asked: dict[str, int | None] = attrs.field(factory=dict)

    def take(self, record: Record) -> None:
        """Go on by one record; an asked call is remembered with the number of its `tool/call`."""
        match record.payload:
            case TurnStart(turn=turn):
                self.turn, self.step, self.asked = turn, 0, {}
            case TurnEnd():
                self.turn, self.step, self.asked = 0, 0, {}
            case StepStart(step=step):
                self.step, self.asked = step, {}
            case StepEnd():
                self.step, self.asked = 0, {}
            case AssistantMessage(calls=calls):
                self.asked.update(dict.fromkeys(calls))
            case ToolCalled(call=call):
                self.asked[call] = record.seq
            case ToolAnswered(call=call):
                self.asked.pop(call, None)
            case _:
                pass


def crash_tail(records: Iterable[Record]) -> tuple[tuple[str, Payload], ...]:
    """Return the records that close what is open at the end, each with its type; maybe none."""
    at = _open_after(records)
    if not at.turn:
        return ()
    closers: list[tuple[str, Payload]] = []
    if at.step:
        closers.extend(
            ("tool/result", _unanswered(at, call, started)) for call, started in at.asked.items()
        )
        closers.append(("step/end", StepEnd(at.turn, at.step)))
    closers.append(("turn/end", TurnEnd(at.turn, Ending("interrupted"))))
    return tuple(closers)


def repair(log: SessionLog) -> tuple[Record, ...]:
    """Close what a crash left open and return all records; nothing is woken.

    The times of the added records repeat the last real one. Raises `LogUnreadable` and adds nothing
    when a splice does not fit what came before (RS-12), `LogBusy` while an agent runs on the log
    (RS-11).
    """
    log.need_idle()
    records = log.read()
    fold_inbox(records)
    return (*records, *_close(log, records))


def go_on(log: SessionLog) -> tuple[Record, ...]:
    """Repair a log for the next run, mark where that begins, and return all records.

    An empty log gets no mark, nor does one that ends with one (RS-07). Raises as `repair` does.
    """
    records = repair(log)
    if not records or isinstance(records[-1].payload, EndSeed):
        return records
    mark = log.append_at(records[-1].time, "session/end-seed", EndSeed().to_json(), tell=False)
    return (*records, mark)


def seed(log: SessionLog, records: Sequence[Record]) -> None:
    """Begin an empty log with the records of another: with their times, told to nobody (RS-07).

    What is open at their end is closed; one inherited `session/end-seed` follows unless they end
    with one.
    Raises `BadArgument` when the log is not empty, `LogUnreadable` when a splice does not fit.
    """
    if log.read():
        msg = f"a seed was given to the session {log.session!r}, which has records already."
        raise BadArgument(msg)
    fold_inbox(records)
    for record in records:
        log.append_at(record.time, record.type, record.payload.to_json(), tell=False)
    _close(log, records)
    if records and records[-1].payload != EndSeed(inherited=True):
        log.append_at(
            records[-1].time, "session/end-seed", EndSeed(inherited=True).to_json(), tell=False
        )


def fork(
    source: SessionLog, target: SessionLog, length: int | None = None, *, inherits: bool = False
) -> None:
    """Begin an empty log with the first `length` records of another, all by default.

    What is pending there stays with the parent: the copy discards it, so that no message runs in
    two sessions (ID-10), unless the fork `inherits` it. Raises `BadArgument` when the source has
    not so many records, `ForkRefused` when they end inside an open turn (RS-09), and what `seed`
    raises.
    """
    records = source.read()
    if length is not None:
        if not 0 <= length <= len(records):
            msg = f"a fork takes 0 to {len(records)} records of {source.session!r}, not {length}."
            raise BadArgument(msg)
        records = records[:length]
    at = _open_after(records)
    if at.turn:
        msg = f"record {len(records)} of session {source.session!r} is inside turn {at.turn}."
        raise ForkRefused(msg, "fork where no turn is open.")
    seed(target, records)
    if inherits:
        return
    for name, pending in zip((NEXT_TURN, NEXT_STEP), fold_inbox(records), strict=True):
        if pending:
            dropped = InboxSpliced(name, 0, len(pending), (), CANCELED)
            time = records[-1].time
            target.append_at(time, "agent/inbox/spliced", dropped.to_json(), tell=False)


def _open_after(records: Iterable[Record]) -> _Open:
    at = _Open()
    for record in records:
        at.take(record)
    return at


def _close(log: SessionLog, records: Sequence[Record]) -> tuple[Record, ...]:
    return tuple(
        log.append_at(records[-1].time, kind, payload.to_json(), tell=False)
        for kind, payload in crash_tail(records)
    )


def _unanswered(at: _Open, call: str, started: int | None) -> ToolAnswered:
    code = TOOL_NOT_STARTED if started is None else OUTCOME_UNKNOWN
    content = (TextBlock(SAYS[code]),)
    return ToolAnswered(at.turn, at.step, call, "error", content, code, started)
