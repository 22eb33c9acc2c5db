"""A witness as a sequence of messages between lanes, with both lists at every line.

Lanes: caller, inbox, loop, hook, provider, log. The delivery to the last listener is left out where
it follows that to the first at once; where something came in between, it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopspec.conformance.judge import Finding
from loopspec.model.describe import answer_text, call_text, observation_text
from loopspec.model.properties.facts import Facts, moment
from loopspec.model.words import Answer, Entry, Made, Observation, Rest

__all__ = ["diagram"]

INBOX_CALLS = frozenset({"append", "prepend", "splice", "replace", "remove", "clear", "inject"})


def lanes_of(entry: Entry) -> tuple[str, str, str]:
    """From which lane to which an entry goes, and of what kind it is."""
    if isinstance(entry, Made):
        return "caller", "inbox" if entry.call.name in INBOX_CALLS else "loop", "call"
    if isinstance(entry, Answer):
        return ("provider" if entry.gate == "provider" else "hook"), "loop", "answer"
    if isinstance(entry, Rest):
        return "loop", "caller", "event"
    if entry.kind == "return":
        return "inbox" if entry.name in INBOX_CALLS else "loop", "caller", "return"
    if entry.kind == "gate":
        return "loop", "provider" if entry.name == "provider" else "hook", "gate"
    owner = "inbox" if entry.name.startswith("agent/inbox/") else "loop"
    if entry.kind == "record":
        return owner, "log", "record"
    return owner, "caller", "event"


def label_of(entry: Entry) -> str:
    """What an entry says, on one line."""
    if isinstance(entry, Made):
        return call_text(entry.call)
    if isinstance(entry, Answer):
        return answer_text(entry)
    if isinstance(entry, Rest):
        return f"at rest, {entry.status}"
    return observation_text(entry)


def is_echo(before: Entry | None, entry: Entry | None) -> bool:
    """Whether an entry only repeats the one before it to the last listener."""
    return (
        isinstance(entry, Observation)
        and entry.listener == "last"
        and isinstance(before, Observation)
        and before == entry._replace(listener="first")
    )


def diagram(trace: Sequence[Entry], finding: Finding | None = None) -> list[dict[str, object]]:
    """The lines of a witness up to its finding, as `run.json` holds them."""
    lines: list[dict[str, object]] = []
    facts = Facts()
    before: Entry | None = None
    for position, entry in enumerate(trace):
        at = moment(facts, entry)
        facts = at.now if at is not None else facts
        parted = finding is not None and position == finding.position
        if (not is_echo(before, entry) and not isinstance(entry, Rest)) or parted:
            sender, receiver, kind = lanes_of(entry)
            lines.append(
                {
                    "from": sender,
                    "to": receiver,
                    "label": label_of(entry),
                    "kind": kind,
                    "next_turn": [message.id for message in facts.lists.next_turn],
                    "next_step": [message.id for message in facts.lists.next_step],
                    "status": facts.status,
                    "model": " or ".join(finding.allowed) or None if finding and parted else None,
                    "parted": parted,
                }
            )
        before = entry
        if parted:
            break
    return lines
