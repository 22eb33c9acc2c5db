"""Tools: which calls a reply has asked for, which have started, and which have their result."""

from __future__ import annotations

from typing import Final

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.relations.declaring import Wrong, relation, shown
from loopspec.conformance.trace.story import NOT_STARTED, OUTCOME_UNKNOWN, Story

__all__ = ["calls_were_asked_for", "every_call_is_answered", "results_follow_their_calls"]


@relation("ASKED", "tool/call")
def calls_were_asked_for(story: Story, record: Record) -> Wrong | None:
    """Calls start in the order in which the reply of their step has asked for them."""
    call, place = record.data.callId, len(story.started)
    if story.asked[place : place + 1] == (call,):
        return None
    if story.truncated_here:
        return Wrong("TC-07", f"the call {call} starts, the reply of the step was truncated")
    if call in story.started:
        return Wrong("TC-01", f"the call {call} starts again")
    if call in story.asked:
        return Wrong("TC-01", f"the call {call} starts before {story.asked[place]}")
    asked = shown(story.asked)
    return Wrong("TC-01", f"the call {call} starts, the reply of the step asks for {asked}")


@relation("ANSWERED", "tool/result")
def results_follow_their_calls(story: Story, record: Record) -> Wrong | None:
    """A result follows its call, once and in the order asked, or says that it never started."""
    call, place, code = record.data.call, len(story.answered), record.data.code
    if story.asked[place : place + 1] == (call,):
        if call not in story.started:
            if code == NOT_STARTED:
                return None
            rule = "RS-04" if code == OUTCOME_UNKNOWN else "SL-04"
            return Wrong(rule, f"the call {call} is answered and has not started")
        if code == NOT_STARTED:
            return Wrong("RS-04", f"the call {call} has started, its result says that it has not")
        return None
    if call in story.answered:
        return Wrong("TC-01", f"the call {call} is answered again")
    if call not in story.asked:
        asked = shown(story.asked)
        return Wrong(
            "SL-04", f"the call {call} is answered, the reply of the step asks for {asked}"
        )
    return Wrong("TC-01", f"the call {call} is answered before {story.asked[place]}")


OWED: Final = {
    "completed": "TC-08",
    "max-tokens": "TC-08",
    "blocked": "TC-08",
    "aborted": "TC-04",
    "interrupted": "RS-03",
    "forked": "RS-03",
}
"""Endings behind which every call has its result, with the rule; only a failure leaves some out."""


@relation("UNANSWERED", "step/start turn/end")
def every_call_is_answered(story: Story, record: Record) -> Wrong | None:
    """A turn goes on, or ends in another way than by a failure, only when every call is answered.

    An answer of which nobody knows whether it was truncated may leave its calls out (TC-07).
    """
    left = story.unanswered
    if not left:
        return None
    ends = record.data.reason.kind if record.name == "turn/end" else ""
    if ends and (ends not in OWED or (ends == "max-tokens" and story.unsure)):
        return None
    rule = OWED.get(ends, "TC-08")
    return Wrong(rule, f"{record.name} follows, the calls {shown(left)} have no result")
