"""Monitors that the claims of more than one peer share, and the small words that all use."""

from __future__ import annotations

from collections.abc import Iterator

from loopspec.conformance.peers.claims import MET
from loopspec.conformance.peers.story import Story, id_of
from loopspec.model.words import FIRST, Entry, Observation, Rest

__all__ = [
    "dropped_for_good",
    "each_result",
    "failed_tool_is_told",
    "in_order",
    "is_completed",
    "is_gate",
    "is_told",
    "kept_until_dropped",
    "once",
    "one_at_a_time_or_together",
    "tools_before_request",
]


def is_told(entry: Entry, name: str, listener: str = FIRST) -> Observation | None:
    """The entry, if it is the delivery of this record or event to that listener."""
    if isinstance(entry, Observation) and entry.name == name and entry.listener == listener:
        return entry if entry.kind in ("record", "event") else None
    return None


def is_gate(entry: Entry, name: str) -> Observation | None:
    """The entry, if it is the arrival at this gate."""
    if isinstance(entry, Observation) and entry.kind == "gate" and entry.name == name:
        return entry
    return None


def once(story: Story, entry: Entry) -> Iterator[str]:
    """What was queued is in a request once, and what was claimed is in the next one."""
    told = is_told(entry, "user/message")
    if told is not None and id_of(told) in story.target:
        yield f"{id_of(told)} is in a request again" if id_of(told) in story.shown else MET
    if is_gate(entry, "provider"):
        for each in story.entered:
            if each not in story.shown:
                yield f"{each} was claimed, and the request does not hold it"


def in_order(story: Story, entry: Entry) -> Iterator[str]:
    """Each queue is first in, first out."""
    told = is_told(entry, "agent/inbox/claimed")
    if told is None or id_of(told) not in story.pending:
        return
    before = story.queue(story.target.get(id_of(told), ""))
    if len(before) > 1:
        first = before[0]
        yield MET if first == id_of(told) else f"{id_of(told)} enters before {first}"


def kept_until_dropped(story: Story, entry: Entry) -> Iterator[str]:
    """What was queued stays queued until it enters, or until a call drops it."""
    told = is_told(entry, "agent/inbox/discarded")
    if told is not None and not story.drops:
        yield f"{id_of(told)} is dropped by {story.making or 'nobody'}"
    if isinstance(entry, Rest) and story.pending:
        held = {each.id for each in (*entry.next_turn, *entry.next_step)}
        lost = [each for each in story.pending if each not in held]
        yield f"{lost[0]} is in no queue and was never claimed" if lost else MET


def dropped_for_good(story: Story, entry: Entry) -> Iterator[str]:
    """What was dropped never enters, and nothing is left behind a clear."""
    told = is_told(entry, "agent/inbox/claimed") or is_told(entry, "user/message")
    if told is not None and id_of(told) in story.discarded:
        yield f"{id_of(told)} was dropped, and enters"
    if is_told(entry, "agent/inbox/discarded"):
        yield MET
    if isinstance(entry, Rest) and story.cleared:
        for each in (*entry.next_turn, *entry.next_step):
            yield f"{each.id} is still queued behind a clear"


def tools_before_request(story: Story, entry: Entry) -> Iterator[str]:
    """Every call of a reply has run, and has its result, before the next request."""
    if not is_told(entry, "step/end") or not story.calls or story.failed or story.canceled:
        return
    for call in story.calls:
        if call not in story.began:
            yield f"the call {call} was passed over"
        elif call not in story.results:
            yield f"the step ends without the result of {call}"
        else:
            yield MET


def each_result(story: Story, entry: Entry) -> Iterator[str]:
    """Results are told in the order in which the reply asked for them."""
    told = is_told(entry, "tool/result")
    if told is None or len(story.calls) < 2 or story.canceled:
        return
    due = [each for each in story.calls if each not in story.results]
    if due:
        call = str(told.get("call"))
        yield MET if call == due[0] else f"the result of {call} comes before that of {due[0]}"


def one_at_a_time_or_together(story: Story, entry: Entry) -> Iterator[str]:
    """Calls that run alone do not overlap; calls that run side by side all begin."""
    gate = is_gate(entry, "tool")
    if gate is not None and not story.beside and story.began:
        others = [each for each in story.began if each not in story.results]
        yield f"{gate.get('call')} begins while {others[0]} runs" if others else MET
    if isinstance(entry, Rest) and story.beside and len(story.calls) > 1 and not story.canceled:
        waits = [each for each in story.calls if each not in story.began]
        if story.in_step and not story.failed:
            yield f"{waits[0]} has not begun beside the others" if waits else MET


def failed_tool_is_told(story: Story, entry: Entry) -> Iterator[str]:
    """A tool that fails has an error as its result."""
    told = is_told(entry, "tool/result")
    if told is None or str(told.get("call")) not in story.raised:
        return
    yield MET if told.get("outcome") == "error" else f"{told.get('call')} failed, and is told as ok"


def is_completed(entry: Entry) -> bool:
    """Whether a run ends here of itself."""
    told = is_told(entry, "turn/end")
    return told is not None and told.get("reason") == "completed"
