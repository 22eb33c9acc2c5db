"""The profile `pi`: what the documents of @mariozechner/pi-agent-core 0.73.1 claim.

The documents are the README of the package and the comments of its type declarations
(`dist/agent.d.ts`, `dist/types.d.ts`); what only its code does is claimed by nobody. Our followup
is `prompt` while the agent is idle and `followUp` while it says that it is processing; steer is
`steer`, a cancel is `abort`, with `clearAllQueues` before it where it drops.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from loopspec.conformance.peers.claims import MET, Claim, Peer
from loopspec.conformance.peers.story import STEERING, WAITING, Story, id_of
from loopspec.conformance.peers.watches import (
    dropped_for_good,
    each_result,
    failed_tool_is_told,
    in_order,
    is_completed,
    is_gate,
    is_told,
    kept_until_dropped,
    once,
    one_at_a_time_or_together,
    tools_before_request,
)
from loopspec.model.words import FIRST, LAST, Entry, Observation, Rest

__all__ = ["PI"]

TOLD: Final = (
    "turn/start",
    "turn/end",
    "step/start",
    "step/end",
    "assistant/message",
    "tool/call",
    "tool/result",
)
"""What the loop itself tells its listeners."""


def one_at_a_time(story: Story, entry: Entry) -> Iterator[str]:
    """At most one queued message enters before a request."""
    told = is_told(entry, "agent/inbox/claimed")
    if told is not None:
        yield f"{id_of(told)} enters beside {story.entered[-1]}" if story.entered else MET


def steering_next(story: Story, entry: Entry) -> Iterator[str]:
    """Steering that was queued when a step ended is in the next request, which comes."""
    waits = story.left(story.at_end, STEERING)
    if is_gate(entry, "provider") and story.steps and not story.requests:
        queued = story.queue(STEERING, list(story.at_end))
        if queued:
            yield MET if queued[0] in story.entered else f"the request passes over {queued[0]}"
    if is_completed(entry) and waits:
        yield f"the run ends, and {waits[0]} still waits"


def followup_last(story: Story, entry: Entry) -> Iterator[str]:
    """A follow-up enters only when no tool has to be answered and nobody steers."""
    told = is_told(entry, "agent/inbox/claimed")
    if told is None or story.target.get(id_of(told)) != WAITING or not story.steps:
        return
    steering = story.left(story.at_end, STEERING)
    if not story.stops_here:
        yield f"{id_of(told)} enters, and the tools of the last reply want an answer"
    else:
        yield f"{id_of(told)} enters before {steering[0]}, which steers" if steering else MET


def followup_runs(story: Story, entry: Entry) -> Iterator[str]:
    """What was queued when a step ended is run before the run ends."""
    if not is_completed(entry):
        return
    if story.queue(WAITING, list(story.at_end)) or any(
        story.target.get(each) == WAITING for each in story.claimed
    ):
        waits = story.left(story.at_end, WAITING)
        yield f"the run ends, and {waits[0]} still waits" if waits else MET


def not_stranded(story: Story, entry: Entry) -> Iterator[str]:
    """A follow-up that was queued while the agent said that it runs does not wait for another."""
    if not isinstance(entry, Rest) or entry.status != "idle" or story.canceled or story.failed:
        return
    stranded = [each for each in story.queue(WAITING) if each in story.late]
    if story.target:
        text = "was queued while the agent was processing; it is idle, and nothing will run it"
        yield f"{stranded[0]} {text}" if stranded else MET


def goes_on(story: Story, entry: Entry) -> Iterator[str]:
    """Only where every tool of a batch ends the run is the reply to the tools left out."""
    if not story.calls or story.canceled or story.failed:
        return
    if is_gate(entry, "provider") and story.steps and not story.requests:
        alone = story.stops_here and not story.entered
        yield "all tools end the run, and a request follows" if alone else MET
    if is_completed(entry):
        owed = [each for each in story.calls if each not in story.concluded]
        yield f"the run ends, and nobody answers the result of {owed[0]}" if owed else MET


def idle_behind_listeners(story: Story, entry: Entry) -> Iterator[str]:
    """Who waits for idle waits for the listeners of the end too."""
    if isinstance(entry, Observation) and entry.kind == "settled" and entry.name == "when-idle":
        yield "who waits for idle goes on while the run lasts" if story.running else MET


def listeners_in_order(story: Story, entry: Entry) -> Iterator[str]:
    """A listener has heard an event before the next one does, and both before the next event."""
    if not isinstance(entry, Observation) or entry.name not in TOLD or entry.kind != "record":
        return
    want = LAST if story.heard == (entry._replace(listener=FIRST)) else FIRST
    if entry.listener != want:
        yield f"the {entry.listener} listener hears {entry.name} out of order"
    elif want == LAST:
        yield MET
    elif story.heard is not None:
        yield f"{entry.name} is told before the last listener has heard {story.heard.name}"


def one_request_a_step(story: Story, entry: Entry) -> Iterator[str]:
    """A step is one request and its tools."""
    if is_told(entry, "step/end"):
        yield MET if story.requests == 1 else f"a step ends behind {story.requests} requests"
    if is_gate(entry, "provider") and not story.in_step:
        yield "a request is made outside of a step"


def abort_ends(story: Story, entry: Entry) -> Iterator[str]:
    """Behind a reply that an abort has cut off no request follows."""
    if is_gate(entry, "provider") and story.failed:
        yield "a request follows a reply that was cut off"
    told = is_told(entry, "turn/end")
    if told is not None and story.failed:
        reason = told.get("reason")
        yield MET if reason != "completed" else f"the run is told as {reason}"


README: Final = "README.md"
AGENT: Final = "dist/agent.d.ts"
TYPES: Final = "dist/types.d.ts"

CLAIMS: Final = (
    Claim(
        "PI-ONE",
        "Before one request at most one queued message enters.",
        'Steering mode: "one-at-a-time" (default) or "all"',
        f"{README}, Agent Options",
        one_at_a_time,
        "a queued message enters",
    ),
    Claim(
        "PI-ORDER",
        "Each queue is first in, first out.",
        "Queue a message to be injected after the current assistant turn finishes.",
        f"{AGENT}, Agent.steer and Agent.followUp",
        in_order,
        "one of several that wait enters",
    ),
    Claim(
        "PI-STEER",
        "What steers when a step ends is in the next request, and that request comes.",
        "When steering messages are detected after a turn completes: [...] Steering messages are "
        "injected. The LLM responds on the next turn",
        f"{README}, Steering and Follow-up",
        steering_next,
        "a step ends while something steers",
    ),
    Claim(
        "PI-LAST",
        "A follow-up enters only when no tools want an answer and nobody steers.",
        "Follow-up messages are checked only when there are no more tool calls and no steering "
        "messages.",
        f"{README}, Steering and Follow-up",
        followup_last,
        "a follow-up enters behind a step",
    ),
    Claim(
        "PI-RUNS",
        "A run does not end over a follow-up that was queued when its last step ended.",
        "If any are queued, they are injected and another turn runs.",
        f"{README}, Steering and Follow-up",
        followup_runs,
        "a run ends that has had follow-ups",
    ),
    Claim(
        "PI-IDLE-GAP",
        "A follow-up that was queued while the agent was processing is run without another call.",
        "Follow-up messages let you queue work after the agent would otherwise stop. [...] "
        "`agent.state.isStreaming` remains `true` until the run fully settles, including awaited "
        "`agent_end` subscribers.",
        f"{README}, Steering and Follow-up, Agent State",
        not_stranded,
        "the agent is idle behind a run",
    ),
    Claim(
        "PI-KEPT",
        "What is queued stays so until it enters or a clear drops it; an abort drops nothing.",
        "Use clearSteeringQueue, clearFollowUpQueue, or clearAllQueues to drop queued messages. "
        "[...] Abort the current run, if one is active.",
        f"{README}, Steering and Follow-up; {AGENT}, Agent.abort",
        kept_until_dropped,
        "the agent rests while something is queued",
    ),
    Claim(
        "PI-CLEAR",
        "A clear leaves nothing queued, and what it dropped never enters.",
        "Remove all queued steering and follow-up messages.",
        f"{AGENT}, Agent.clearAllQueues",
        dropped_for_good,
        "a clear drops something",
    ),
    Claim(
        "PI-ONCE",
        "What enters is in the next request, and in no request twice.",
        "If messages are returned, they are added to the context before the next LLM call.",
        f"{TYPES}, AgentLoopConfig.getSteeringMessages",
        once,
        "a request holds a message that was sent",
    ),
    Claim(
        "PI-TOOLS",
        "Steering passes over no tool: each call of a reply runs, and has a result.",
        "Tool calls from the current assistant message are not skipped.",
        f"{TYPES}, AgentLoopConfig.getSteeringMessages",
        tools_before_request,
        "a step with tools ends",
    ),
    Claim(
        "PI-RESULTS",
        "Results are told in the order of the calls.",
        "In parallel mode, tool completion events follow tool completion order, but persisted "
        "toolResult messages still follow assistant source order.",
        f"{README}, With Tool Calls",
        each_result,
        "one of several results is told",
    ),
    Claim(
        "PI-MODES",
        "Sequential tools run one by one; parallel ones are all begun.",
        "`parallel` (default): preflight tool calls sequentially, execute allowed tools "
        "concurrently [...] `sequential`: execute tool calls one by one",
        f"{README}, With Tool Calls",
        one_at_a_time_or_together,
        "one of several tools begins",
    ),
    Claim(
        "PI-GOES-ON",
        "The reply to the tools is left out only where every tool of the batch ends the run.",
        "The loop only stops early when every finalized tool result in that batch sets "
        "`terminate: true`. Mixed batches continue normally.",
        f"{README}, With Tool Calls",
        goes_on,
        "a step with tools is over",
    ),
    Claim(
        "PI-ERROR",
        "A tool that throws has an error as its result.",
        "Thrown errors are caught by the agent and reported to the LLM as tool errors with "
        "`isError: true`.",
        f"{README}, Error Handling",
        failed_tool_is_told,
        "a tool throws",
    ),
    Claim(
        "PI-SETTLES",
        "Who waits for idle waits for the listeners of `agent_end` too.",
        "`await agent.waitForIdle()` and `await agent.prompt(...)` only settle after awaited "
        "`agent_end` listeners finish.",
        f"{README}, Event Types",
        idle_behind_listeners,
        "somebody who waited for idle goes on",
    ),
    Claim(
        "PI-LISTENERS",
        "An event is heard by the listeners in their order, and by all before the next event.",
        "`Agent.subscribe()` listeners are awaited in registration order.",
        f"{README}, Event Types",
        listeners_in_order,
        "the last listener hears an event",
    ),
    Claim(
        "PI-STEP",
        "A turn of pi is one request with its tools.",
        "New turn begins (one LLM call + tool executions)",
        f"{README}, Event Types",
        one_request_a_step,
        "a step ends",
    ),
    Claim(
        "PI-ABORT",
        "Behind a reply that was cut off or failed no request follows, and the run ends so.",
        "Cancel current operation [...] Abort the current run, if one is active.",
        f"{README}, Control; {AGENT}, Agent.abort",
        abort_ends,
        "a run ends behind a reply that was cut off",
    ),
)

SCENARIOS: Final = MappingProxyType(
    {
        "one-at-a-time": "followup A; steer B; steer C; followup D; followup E; provider: done; "
        "provider: done; provider: done; provider: done; provider: done",
        "steering-beside-tools": "followup A; provider: parallel x y; steer B; tool y: result; "
        "tool x: raise; provider: done",
        "steering-between-tools": "followup A; provider: tools x y; steer B; tool x: result; "
        "tool y: result; provider: done",
        "followup-behind-tools": "followup A; followup B; provider: tools x; tool x: result; "
        "provider: done; provider: done",
        "tools-that-end": "followup A; provider: parallel x y; tool x: concludes; "
        "tool y: concludes",
        "one-of-two-ends": "followup A; provider: parallel x y; tool x: concludes; tool y: result; "
        "provider: done",
        "kept-by-an-abort": "followup A; steer B; followup C; when-idle; cancel user keep; "
        "provider: cut; followup D; provider: done; provider: done",
        "cleared": "followup A; steer B; followup C; clear; provider: done",
        "dropped": "followup A; steer B; followup C; cancel user drop; provider: cut; followup D; "
        "provider: done",
        "idle-steering": "followup A; provider: done; steer B; followup C; provider: done",
        "at-the-end-of-a-step": "in step/end#1 first: steer B; in step/end#1 last: followup C; "
        "followup A; provider: done; provider: done; provider: done",
        "failed": "followup A; followup B; provider: error; followup C; provider: done",
        "at-the-end": "in turn/end#1 last: followup B; followup A; provider: done",
    }
)
"""What the claims are about, by name; `; ` separates lines."""

PI: Final = Peer(
    name="pi",
    package="@mariozechner/pi-agent-core",
    version="0.73.1",
    documents="README.md and the comments of dist/*.d.ts in the package",
    claims=CLAIMS,
    calls=("followup", "steer", "clear", "cancel keep", "cancel drop", "when-idle"),
    choices=MappingProxyType(
        {
            "provider": ("done", "tools", "parallel", "max-tokens", "error", "cut"),
            "tool": ("result", "concludes", "raise"),
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
    aborted="cut",
)
