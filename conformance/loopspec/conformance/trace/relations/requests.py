"""Requests and answers: headers, chunks, replies, what they cite, and how the turn ends by them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.relations.declaring import SURFACES, Wrong, relation
from loopspec.conformance.trace.story import (
    NOT_STARTED,
    OUTCOME_UNKNOWN,
    TRUNCATED,
    Story,
    is_placeholder,
)

__all__ = [
    "answers_follow_headers",
    "cites_what_it_came_from",
    "contexts_differ",
    "failed_answers_are_no_replies",
    "headers_say_why",
    "requests_are_made_in_steps",
    "requests_are_made_in_turns",
    "surfaces_are_declared",
    "truncated_turns_say_so",
]

ANSWERS: Final = (
    "assistant/chunk assistant/attempt text-chunks reasoning-chunks tool-call-chunks "
    "assistant/message"
)


@relation("HEADER", "request/header request/context todo/write")
def requests_are_made_in_turns(story: Story, record: Record) -> Wrong | None:
    """Request header, request context and todos stand in an open turn."""
    return None if story.turn_open else Wrong("SL-05", "no turn is open")


@relation("REQUEST", f"request/header request/context {ANSWERS}", inbox=True)
def requests_are_made_in_steps(story: Story, record: Record) -> Wrong | None:
    """A step has its header and context first, then what the provider answers, then one reply."""
    if record.name.startswith("request/"):
        rule = "ST-08" if record.name == "request/header" else "ST-09"
        if not story.step_open:
            return Wrong(rule, "no step is open")
        return Wrong(rule, "the step has its reply already") if story.replied else None
    if story.replied and record.name != "assistant/message":
        return Wrong("ST-11", "the step has its reply already")
    return None


def same_header(story: Story, record: Record) -> bool:
    """Whether a header is the one before; nobody can tell once a tool has put placeholders in."""
    return story.header == record.data.header and not is_placeholder(str(record.data.header))


@relation("REASON", "request/header")
def headers_say_why(story: Story, record: Record) -> Wrong | None:
    """The first header of a log is `initial`, that of a restart `resume`, any other a change."""
    reason = record.data.reason
    if (reason == "initial") != (story.headers == 0):
        return Wrong("ST-08", f"header {story.headers + 1} of the log gives the reason {reason!r}")
    if reason == "resume" and not story.restarted:
        return Wrong(
            "ST-08", "it gives the reason 'resume', the session was not restarted behind the last"
        )
    if story.headers and story.restarted and reason != "resume":
        return Wrong("ST-08", f"it gives the reason {reason!r}, the session was restarted")
    if reason == "change" and same_header(story, record):
        return Wrong("ST-08", "it gives the reason 'change', it is the one before")
    return None


@relation("TOLD", ANSWERS, inbox=True)
def answers_follow_headers(story: Story, _: Record) -> Wrong | None:
    """In a log with request headers, the first request behind a restart has one."""
    if story.headers and story.restarted:
        return Wrong("ST-08", "the provider answers, the session was restarted and made no header")
    return None


def config_of(header: Any) -> Any:  # noqa: ANN401 - JSON
    """The part of a header that names provider and model."""
    return header.get("config", header) if isinstance(header, dict) else None


@relation("CONTEXT", "request/context", inbox=True)
def contexts_differ(story: Story, record: Record) -> Wrong | None:
    """A request context says what the header asks for, and differs from the last one."""
    config = config_of(story.header)
    if isinstance(config, dict):
        for key in ("provider", "model"):
            asked, told = config.get(key), getattr(record.data, key)
            if asked is not None and asked != told:
                return Wrong("ST-09", f"its {key} is {told!r}, the header asks for {asked!r}")
    if story.context == record.raw and not is_placeholder(str(record.raw)):
        return Wrong("ST-09", "it says what the one before says")
    return None


# --- What the provider is sent ------------------------------------------------------------------


def replaced(surface: Any, place: int) -> bool:  # noqa: ANN401 - JSON
    """Whether a surfaceOp replaces a range of earlier records."""
    if type(surface) is not dict or surface.get("op") != "replace":
        return False
    first = surface.get("startSeq", surface.get("start"))
    last = surface.get("endSeq", surface.get("end"))
    return type(first) is int and type(last) is int and 0 <= first <= last < place


@relation("SURFACE", inbox=True)
def surfaces_are_declared(story: Story, record: Record) -> Wrong | None:
    """Messages and results declare how they join what the model sees; other records do not."""
    surface = record.surface
    if record.name in SURFACES:
        if surface == "append" or replaced(surface, story.seq):
            return None
        if surface is None:
            return Wrong("SL-06", "it does not declare a surfaceOp")
        told = f"its surfaceOp is {str(surface)[:60]!r}; it appends, or replaces an earlier range"
        return Wrong("SL-06", told)
    if surface is None and record.cites is None:
        return None
    what = "surfaceOp" if surface is not None else "sourceEventSeqs"
    return Wrong("SL-06", f"it declares a {what}, and is not seen by the model")


def runs_of(cites: Any) -> list[tuple[int, int]] | None:  # noqa: ANN401 - JSON
    """Cited numbers as runs, neighbours put together; None when they are none."""
    if type(cites) is not list:
        return None
    runs: list[tuple[int, int]] = []
    for each in cites:
        first, last = each if type(each) is list and len(each) == 2 else (each, each)
        if type(first) is not int or type(last) is not int or not 0 <= first <= last:
            return None
        if runs and runs[-1][1] + 1 == first:
            runs[-1] = (runs[-1][0], last)
        else:
            runs.append((first, last))
    return runs


def overlap(runs: list[tuple[int, int]]) -> bool:
    """Whether a number is cited twice."""
    ordered = sorted(runs)
    return any(one[1] >= other[0] for one, other in pairwise(ordered))


@relation("CITES", "user/message assistant/message tool/result system/message", inbox=True)
def cites_what_it_came_from(story: Story, record: Record) -> Wrong | None:
    """A record cites earlier ones: a reply the chunks of its attempt, a result its call.

    Where one reply of a log cites its chunks, and one result its call, all of them do.
    """
    cites, name = record.cites, record.name
    if cites is None:
        if name == "assistant/message" and story.attempt and story.cites_chunks:
            return Wrong("ST-11", "it cites nothing, the replies before it cite their chunks")
        if name == "tool/result" and record.data.call in story.started and story.cites_calls:
            rule = "RS-04" if record.data.code == OUTCOME_UNKNOWN else "SL-04"
            return Wrong(rule, "it cites nothing, the results before it cite their calls")
        return None
    runs = runs_of(cites)
    if runs is None or overlap(runs) or any(last >= story.seq for _, last in runs):
        return Wrong("SL-06", f"it cites {str(cites)[:60]}; it cites earlier records, each once")
    if name == "assistant/message" and runs != story.attempt:
        told = ", ".join(f"{first} to {last}" for first, last in story.attempt[:4]) or "none"
        return Wrong("ST-11", f"it cites {str(cites)[:60]}, the chunks of its attempt are {told}")
    if name == "tool/result":
        call = record.data.call
        if record.data.code == NOT_STARTED:
            return Wrong("RS-04", f"it cites {cites}, the call {call} has not started")
        if runs != [(story.started.get(call, -1),) * 2]:
            return Wrong("SL-04", f"it cites {str(cites)[:60]}, its call {call} is another record")
    return None


# --- How it ends --------------------------------------------------------------------------------


@relation("FAILED", "assistant/message", inbox=True)
def failed_answers_are_no_replies(story: Story, record: Record) -> Wrong | None:
    """What came of a failed attempt is no reply."""
    if story.finish_of(record) == "error" and not record.data.interrupted:
        return Wrong("ST-17", "the provider's answer failed")
    return None


@relation("OUTCOME", "turn/end", inbox=True)
def truncated_turns_say_so(story: Story, record: Record) -> Wrong | None:
    """A turn with a truncated step ends as max-tokens, or is stopped; no other turn does."""
    kind = record.data.reason.kind
    if kind == "completed" and story.truncated:
        return Wrong("OF-02", "the turn ends completed, an answer in it was truncated")
    if kind == TRUNCATED and not story.truncated and not story.unsure:
        return Wrong("TB-06", "the turn ends max-tokens, no answer in it was truncated")
    return None
