"""What the caller sees: lists, status and gates at rest, and the result or error of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loopspec.conformance.transcripts.reading import message_of
from loopspec.conformance.transcripts.relations import Disagreement, Relations, expect
from loopspec.model.session import Item, Session, Turn
from loopspec.model.words import NEXT_STEP, NEXT_TURN, Call, Message, Observation, Rest

__all__ = ["GATE_NAMES", "NOT_JSON", "compare", "gate_payload", "rest_shown", "resumed"]

REENTER: Final = "session append cannot reenter while another append is being published"
NOT_JSON: Final = "carries non-JSON-serializable data"
GATE_NAMES: Final = {"model": "provider", "maint": "maintenance"}
"""Gates that the recordings call otherwise."""

SHOWN: Final = frozenset({"tr", "nt", "ns", "st", "g", "r", "err"})


def resumed(start: Session, given: Mapping[str, Any]) -> Session:
    """The session that a resume begins with: lists restored and quiet, numbers kept (RS-01).

    Splices of an inherited seed are not folded (ID-08, ID-10).
    """
    seed_length = given.get("meta", {}).get("seedLength") or 0
    lists: dict[str, list[Item]] = {NEXT_TURN: [], NEXT_STEP: []}
    turn = 0
    for event in given["events"]:
        data = event["data"]
        if event["type"] == "turn/start":
            turn = max(turn, data["turn"])
        elif event["type"] == "agent/inbox/spliced" and event["seq"] >= seed_length:
            items = [Item(message_of(m["id"])) for m in data["inserted"]]
            begin = data["start"]
            lists[data["target"]][begin : begin + data.get("removedCount", 0)] = items
    return start.but(
        next_turn=tuple(lists[NEXT_TURN]), next_step=tuple(lists[NEXT_STEP]), turn=Turn(turn)
    )


def rest_shown(report: Mapping[str, Any]) -> Rest:
    """The projections of a report, in the words of traces."""
    if not report.keys() <= SHOWN:
        raise Disagreement(f"saw a report with {sorted(report)}")
    gates = []
    for name, data, aborted in report["g"]:
        shown = f"tool {data['callId']}" if name == "tool" else GATE_NAMES.get(name, name)
        gates.append((shown, aborted))
    next_turn = tuple(message_of(name) for name in report["nt"])
    next_step = tuple(message_of(name) for name in report["ns"])
    return Rest(next_turn, next_step, report["st"], tuple(gates))


def gate_payload(
    name: str, data: Mapping[str, Any], session: Session, relations: Relations
) -> Mapping[str, Any]:
    """What an open gate shows."""
    turn, step = int(session.turn), session.step
    if name == "pre-step":
        batch = [message.id for message in session.batch]
        return {"turn": turn, "step": step + 1, "messages": batch}
    if name == "model":
        return {"req": relations.history}
    if name == "request":
        return {"turn": turn, "step": step}
    if name == "request-error":
        failure = relations.errors.get("provider")
        return {"turn": turn, "step": step, "failure": failure}
    if name == "tool":
        call = data["callId"]
        return {"callId": call, "name": relations.tool_names.get(call)}
    if name == "turn-stopping":
        return {"turn": turn}
    return {"aborted": False} if name == "maint" else {}


def compare(
    number: int,
    session: Session,
    op: Mapping[str, Any],
    call: Call,
    returned: Observation,
    result: object,
    error: str | None,
) -> None:
    """The result or error of a call beside the model's; `number` names the agent."""
    raised = returned.get("raised")
    if raised is None:
        value = returned.get("value")
        wanted: object = list(value) if isinstance(value, tuple) else value
        if error is not None or result != wanted or type(result) is not type(wanted):
            raise Disagreement(f"saw {result!r} {error!r}, the model returns {wanted!r}")
        return
    text = REENTER
    if raised == "busy":
        text = f'agent "a{number + 1}" already has active work'
    elif raised == "duplicate-id":
        text = f'message "{repeated(session, call)}" is already pending'
    fits = result is None and error == text
    expect(fits, f"saw {result!r} {error!r}, the model raises {raised} of {op['op']}")


def repeated(session: Session, call: Call) -> str:
    """The id that a refused insertion repeats."""
    if call.name != "splice":
        message = call.args[-1]
        assert isinstance(message, Message)
        return message.id
    target, start, count, inserted = call.args
    assert isinstance(start, int)
    assert isinstance(count, int)
    assert isinstance(inserted, tuple)
    items = list(session.items(str(target)))
    begin = max(0, len(items) + start) if start < 0 else min(start, len(items))
    del items[begin : begin + max(0, min(count, len(items) - begin))]
    other = session.next_step if target == NEXT_TURN else session.next_turn
    taken = {item.message.id for item in (*items, *other)}
    for message in inserted:
        assert isinstance(message, Message)
        if message.id in taken:
            return message.id
        taken.add(message.id)
    return ""
