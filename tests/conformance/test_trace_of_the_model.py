"""Every log that the model writes is taken: cut lists and relative numbers refuse nothing."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from loopspec.conformance.trace import Acceptor, judge_records
from loopspec.model.words import FIRST, Entry, Message, Observation
from tests.model.walks import HOOKED, WIDE, walk

SURFACES = {"user/message", "assistant/message", "tool/result"}
PLAIN = attrs.evolve(WIDE, resend=False, rewrite=False, owes=0, deaths=0)
PLAIN_HOOKED = attrs.evolve(HOOKED, resend=False, rewrite=False, owes=0, deaths=0)
"""Without what only the model has: a log shows the calls for which a reply is owed.

And without crashes: a trace tells records that are in no log then.
"""

ONE = Acceptor()


def message(each: Message) -> dict[str, Any]:
    """A message as a log has it."""
    content = [{"type": block.kind, "text": block.text} for block in each.blocks]
    source = {"kind": each.source}
    return {"id": each.id, "role": each.role, "source": source, "content": content}


def data_of(seen: Observation) -> dict[str, Any]:
    """The data of a record, from what a listener was told."""
    told = dict(seen.data)
    if seen.name == "user/message":
        assert isinstance(told["message"], Message)
        return message(told["message"])
    if seen.name == "agent/inbox/spliced":
        inserted = told["inserted"]
        assert isinstance(inserted, tuple)
        data: dict[str, Any] = {"target": told["target"], "start": told["start"]}
        data["inserted"] = [message(each) for each in inserted if isinstance(each, Message)]
        data |= {"removedCount": told["removed"]} if told["removed"] else {}
        return data | ({"outcome": told["outcome"]} if told["outcome"] else {})
    if seen.name == "turn/end":
        reason = {"kind": told["reason"], "error": {"message": told["error"]}}
        cause = {"reason": {"kind": told["cause"]}} if told["cause"] else {}
        return {"turn": told["turn"], "reason": reason | cause}
    if seen.name == "assistant/message":
        calls = told.pop("calls")
        assert isinstance(calls, tuple)
        blocks = [{"type": "tool-call", "id": call} for call in calls]
        return told | {"message": {"content": blocks}}
    if "call" in told:
        told["callId"] = told.pop("call")
    return told


def log_of(trace: list[Entry]) -> Iterator[dict[str, Any]]:
    """The records of a trace as a log."""
    seq = 0
    for entry in trace:
        told = isinstance(entry, Observation) and entry.kind == "record"
        if told and isinstance(entry, Observation) and entry.listener == FIRST:
            surface = {"surfaceOp": "append"} if entry.name in SURFACES else {}
            yield {"type": entry.name, "seq": seq, "data": data_of(entry), **surface}
            seq += 1


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_every_log_that_the_model_writes_holds(first: int) -> None:
    """With calls inside deliveries, aborts, failures, tools, maintenance and disposal."""
    turns = 0
    for seed in range(first, first + 20):
        records = list(log_of(walk(seed, 40, PLAIN_HOOKED if seed % 2 else PLAIN).trace))
        judged = judge_records(records, ONE)
        turns += judged.turns
        assert judged.verdict in ("holds", "skipped"), (seed, judged.finding)

    assert turns > 10
