"""The profile `pydantic-ai`: what the documents of pydantic-ai-slim 2.68.0 claim.

The documents are the docstrings of its public API and the events that they name. Our followup is a
new run while none is under way and `AgentRun.enqueue(priority='when_idle')` within one; steer is
`enqueue(priority='asap')`, remove is `dequeue`, a cancel is `AgentRun.cancel`, with everything
dequeued before it where it drops.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from loopspec.conformance.peers.claims import MET, Claim, Peer
from loopspec.conformance.peers.story import STEERING, WAITING, Story, id_of
from loopspec.conformance.peers.watches import (
    failed_tool_is_told,
    in_order,
    is_completed,
    is_gate,
    is_told,
    once,
    one_at_a_time_or_together,
    tools_before_request,
)
from loopspec.model.words import Entry, Made, Observation, Rest

__all__ = ["PYDANTIC_AI"]


def asap_next(story: Story, entry: Entry) -> Iterator[str]:
    """What is queued asap when a request is prepared is in that request."""
    if is_gate(entry, "provider") and not story.requests:
        for each in story.queue(STEERING, list(story.at_start)):
            waits = each in story.pending
            yield f"the request is made, and {each} still waits" if waits else MET


def nothing_left(story: Story, entry: Entry) -> Iterator[str]:
    """A run that comes to its end has delivered all that it accepted."""
    if is_completed(entry) and (story.pending or story.claimed):
        waits = f"the run ends, and {''.join(story.pending[:1])} was never delivered"
        yield waits if story.pending else MET


def idle_waits(story: Story, entry: Entry) -> Iterator[str]:
    """What waits for idle enters only where the run would end."""
    told = is_told(entry, "agent/inbox/claimed")
    if told is None or story.target.get(id_of(told)) != WAITING:
        return
    if not story.steps:
        yield f"{id_of(told)} enters before the first reply"
    else:
        owed = f"{id_of(told)} enters, and the run has tools to answer"
        yield owed if story.calls else MET


def idle_after_asap(story: Story, entry: Entry) -> Iterator[str]:
    """What is asap enters before what waits for idle."""
    told = is_told(entry, "agent/inbox/claimed")
    if told is None or not story.entered:
        return
    targets = [story.target.get(each) for each in story.entered]
    if story.target.get(id_of(told)) == STEERING and WAITING in targets:
        # What is queued once the end was looked at comes behind what was taken there.
        if id_of(told) in story.at_end:
            yield f"{id_of(told)}, which is asap, enters behind {story.entered[-1]}"
    elif story.target.get(id_of(told)) == WAITING and STEERING in targets:
        yield MET


def event_of_each(story: Story, entry: Entry) -> Iterator[str]:
    """Each queued message that a request holds was told as delivered, and only such."""
    told = is_told(entry, "agent/inbox/claimed")
    if told is not None and id_of(told) not in story.pending:
        yield f"{id_of(told)} is told as delivered, and was not queued"
    if is_gate(entry, "provider"):
        for each in story.fresh:
            queued = each in story.queued
            silent = f"{each} is in the request, and was not told as delivered"
            if queued:
                yield MET if each in story.claimed else silent


def refused_behind_the_end(story: Story, entry: Entry) -> Iterator[str]:
    """Nothing is accepted behind the end of a run."""
    if not isinstance(entry, Observation) or entry.kind != "return" or story.running:
        return
    if story.making == "steer":
        accepted = "a message is accepted, and the run has ended"
        yield MET if entry.get("raised") is not None else accepted


def dequeue_is_true(story: Story, entry: Entry) -> Iterator[str]:
    """`dequeue` says whether the message was still queued, and it is gone then."""
    told = is_told(entry, "agent/inbox/claimed") or is_told(entry, "user/message")
    if told is not None and id_of(told) in story.removed:
        yield f"{id_of(told)} was dequeued, and is delivered"
    if isinstance(entry, Observation) and entry.kind == "return" and story.making == "remove":
        queued = story.subject in story.waited and story.running
        answer = f"dequeue says {entry.get('value')} of {story.subject}"
        yield MET if entry.get("value") is queued else answer
    if isinstance(entry, Rest):
        held = {each.id for each in (*entry.next_turn, *entry.next_step)}
        for each in sorted(held & story.removed):
            yield f"{each} was dequeued, and is still queued"


def cancel_is_terminal(story: Story, entry: Entry) -> Iterator[str]:
    """Behind a cancel the run asks for nothing more, and ends as canceled."""
    if not story.canceled:
        return
    if is_gate(entry, "provider") and story.running:
        yield "the run was canceled, and makes a request"
    told = is_told(entry, "turn/end")
    if told is not None:
        reason = told.get("reason")
        yield MET if reason == "aborted" else f"the run was canceled, and ends {reason}"
    if isinstance(entry, Rest) and (story.running or entry.gates):
        yield "the run was canceled, and does not end"


def canceled_goes_on(story: Story, entry: Entry) -> Iterator[str]:
    """A new prompt goes on behind a canceled run with all that it has left."""
    if not story.resumed or not story.running:
        return
    if is_gate(entry, "provider") and not story.steps and not story.requests:
        yield MET
    told = is_told(entry, "turn/end")
    if told is not None and not story.canceled and not story.steps and not story.requests:
        yield f"the run behind a canceled one ends without a request: {told.get('error')}"


def cancel_over(story: Story, entry: Entry) -> Iterator[str]:
    """A cancel behind the end does nothing."""
    if isinstance(entry, Made) and entry.call.name == "cancel" and not story.running:
        yield MET
    if story.making.startswith("cancel") and not story.canceled:
        told = isinstance(entry, Observation) and entry.kind in ("record", "gate")
        raised = isinstance(entry, Observation) and entry.get("raised") is not None
        if told or raised:
            assert isinstance(entry, Observation)
            yield f"a cancel behind the end comes to {entry.name}"


def failure_is_seen(story: Story, entry: Entry) -> Iterator[str]:
    """A tool that fails does not end the run: the model sees it."""
    yield from failed_tool_is_told(story, entry)
    told = is_told(entry, "turn/end")
    if told is not None and story.in_step and story.replied and story.raised and not story.canceled:
        yield "the run ends with the failure of a tool"


def hook_reaches_its_request(story: Story, entry: Entry) -> Iterator[str]:
    """What a hook before a request queues asap is in that request."""
    if is_gate(entry, "provider") and not story.requests:
        for each in story.queue(STEERING, story.hooked):
            late = f"{each} was queued before the request by a hook, and is not in it"
            yield late if each in story.pending else MET


ENQUEUE: Final = "AgentRun.enqueue, docstring (pydantic_ai/run.py)"
PRIORITY: Final = "PendingMessagePriority, docstring (pydantic_ai/_enqueue.py)"
DEQUEUE: Final = "RunContext.dequeue and AgentRun.dequeue, docstrings"
CANCEL: Final = "AgentRun.cancel, docstring (pydantic_ai/run.py)"

CLAIMS: Final = (
    Claim(
        "PA-ASAP",
        "What is queued asap when a request is prepared is in that request.",
        "Delivered at the earliest opportunity — either prepended to the next [request], or, if "
        "the agent would otherwise terminate before another request, used to redirect the run",
        PRIORITY,
        asap_next,
        "a step begins while something is asap",
    ),
    Claim(
        "PA-HOOK",
        "What a hook before a request queues asap is in that request.",
        "From a `before_model_request` hook, that's the request being prepared.",
        "RunContext.enqueue, docstring (pydantic_ai/_run_context.py)",
        hook_reaches_its_request,
        "a hook steers before a request",
    ),
    Claim(
        "PA-DRAINED",
        "A run that completes has delivered everything that it accepted.",
        "Bare iteration now advances through AgentRun.next() like every other way of driving a "
        "run, so pending messages always drain",
        "UndrainedPendingMessagesError, docstring (pydantic_ai/exceptions.py)",
        nothing_left,
        "a run completes that had something queued",
    ),
    Claim(
        "PA-IDLE",
        "What waits for idle enters only where the run would otherwise end.",
        "Delivered only when the agent would otherwise terminate [...]. Doesn't interrupt "
        "in-flight work.",
        PRIORITY,
        idle_waits,
        "something that waits for idle enters",
    ),
    Claim(
        "PA-AFTER",
        "What waits for idle enters behind what is asap.",
        "`'when_idle'` — only when the agent would otherwise end, after `'asap'` messages.",
        ENQUEUE,
        idle_after_asap,
        "both enter before one request",
    ),
    Claim(
        "PA-ORDER",
        "Messages of one priority are delivered in the order in which they were queued.",
        "Emits one EnqueuedMessagesEvent per drained enqueue call, in enqueue order",
        "PendingMessageDrainCapability, docstring (capabilities/_pending_messages.py)",
        in_order,
        "one of several that wait enters",
    ),
    Claim(
        "PA-ONCE",
        "What is delivered is in the next request, and in no request twice.",
        "Emitted at delivery time, carrying the delivered content itself — the same objects held "
        "in the run's message history",
        "EnqueuedMessagesEvent, docstring (pydantic_ai/messages.py)",
        once,
        "a request holds a message that was sent",
    ),
    Claim(
        "PA-EVENT",
        "Each queued message that a request holds was told as delivered, with its own id.",
        "The `enqueue_id` of the queued message, echoed on the EnqueuedMessagesEvent emitted when "
        "it's delivered",
        ENQUEUE,
        event_of_each,
        "a request holds a message that was queued",
    ),
    Claim(
        "PA-LATE",
        "Behind the end of a run nothing is accepted: enqueue raises.",
        "UserError: If the run has ended, since there'd be nowhere to deliver the message.",
        ENQUEUE,
        refused_behind_the_end,
        "somebody steers behind the end of a run",
    ),
    Claim(
        "PA-DEQUEUE",
        "Dequeue says whether the message was still queued, and it is never delivered then.",
        "`True` if the message was still queued and is now removed, or `False` if it was already "
        "delivered, dequeued, or never queued in this run, including once the run has ended.",
        DEQUEUE,
        dequeue_is_true,
        "somebody dequeues a message",
    ),
    Claim(
        "PA-CANCEL",
        "Behind a cancel the run asks for nothing more, and ends as canceled.",
        "The run stops what it is doing — the in-flight model request is torn down, in-flight tool "
        "tasks are cancelled and drained [...]. Cancellation is terminal",
        CANCEL,
        cancel_is_terminal,
        "a canceled run ends",
    ),
    Claim(
        "PA-RESUME",
        "The history of a canceled run can be gone on with, by a new prompt too.",
        "pass it as `message_history` to a new run (with a new user prompt or not) to resume the "
        "conversation; any tool calls that never produced a result are automatically closed out",
        "RunCancelled, docstring (pydantic_ai/exceptions.py)",
        canceled_goes_on,
        "a run follows one that was canceled",
    ),
    Claim(
        "PA-OVER",
        "A cancel behind the end of a run does nothing.",
        "Idempotent; a no-op once the run has finished",
        CANCEL,
        cancel_over,
        "somebody cancels behind the end of a run",
    ),
    Claim(
        "PA-TOOLS",
        "Each call of a reply runs, and has its result, before the step is over.",
        "it runs alone, with tools the model emitted before it",
        "ToolDefinition.sequential, docstring (pydantic_ai/tools.py)",
        tools_before_request,
        "a step with tools ends",
    ),
    Claim(
        "PA-ALONE",
        "A sequential tool runs alone; the others are all begun side by side.",
        "Whether this tool acts as a barrier that runs alone, not overlapping with other tool "
        "calls.",
        "Tool.sequential, docstring (pydantic_ai/tools.py)",
        one_at_a_time_or_together,
        "one of several tools begins",
    ),
    Claim(
        "PA-FAILED",
        "A tool that fails does not end the run: the model sees the failure.",
        "the call is done and failed — the model sees the result and adapts, without consuming "
        "the retry budget",
        "building-pydantic-ai-agents/references/CAPABILITIES-AND-HOOKS.md in the package",
        failure_is_seen,
        "a tool fails",
    ),
)

SCENARIOS: Final = MappingProxyType(
    {
        "both-priorities": "followup A; followup B; followup C; steer D; steer E; provider: done; "
        "provider: done; provider: done",
        "asap-beside-tools": "followup A; provider: parallel x y; steer B; tool y: result; "
        "tool x: raise; provider: done",
        "queued-by-a-hook": "in step/start#1 first: steer B; in step/start#2 last: steer C; "
        "followup A; provider: tools x; tool x: result; provider: done",
        "queued-by-a-tool": "followup A; provider: tools x y; tool x: result B; tool y: result; "
        "provider: done",
        "at-the-last-step": "in step/end#1 first: steer B; in step/end#1 last: followup C; "
        "followup A; provider: done; provider: done; provider: done",
        "dequeued": "followup A; followup B; steer C; remove C; remove C; provider: done; "
        "provider: done; remove B",
        "cleared": "followup A; followup B; steer C; clear; provider: done",
        "canceled-at-the-request": "followup A; steer B; when-idle; cancel user keep; followup C; "
        "provider: done",
        "canceled-beside-tools": "followup A; provider: parallel x y; tool x: result; "
        "cancel user drop; followup B; provider: done",
        "canceled-at-a-result": "in tool/result#1 first: cancel user keep; followup A; "
        "provider: tools x; tool x: result; followup B",
        "late": "in turn/end#1 first: steer B; followup A; provider: done; steer C; "
        "cancel user keep",
    }
)
"""What the claims are about, by name; `; ` separates lines."""

PYDANTIC_AI: Final = Peer(
    name="pydantic-ai",
    package="pydantic-ai-slim",
    version="2.68.0",
    documents="the docstrings of its public API",
    claims=CLAIMS,
    calls=("followup", "steer", "remove", "clear", "cancel keep", "cancel drop", "when-idle"),
    choices=MappingProxyType(
        {
            "provider": ("done", "tools", "parallel", "error"),
            "tool": ("result", "raise"),
        }
    ),
    moments=(
        "turn/start",
        "step/start",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "agent/inbox/claimed",
        "turn/end",
        "agent/status",
    ),
    scenarios=SCENARIOS,
    per_run=True,
    module="loopspec.conformance.subjects.pydantic_ai",
)
