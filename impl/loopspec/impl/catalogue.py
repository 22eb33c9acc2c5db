"""The catalogue of every seam, event and record, with its keys; `docs/catalogue.md` is made of it.

Names are the strings of the notes. On the wire and in the log keys are camelCase; in Python they
are snake_case. The table stands on its own: it is not derived from the classes that it describes,
so that a test can compare the two and one seam or key more or less fails.

    python -m loopspec.impl.catalogue > docs/catalogue.md
"""

from __future__ import annotations

import sys
from typing import Final, Literal

import attrs


@attrs.frozen
class Key:
    """One key of a payload: its name on the wire, in Python, its type, and when it is there."""

    wire: str
    python: str
    type: str
    when: str = "always"


@attrs.frozen
class Entry:
    """One seam, event or record."""

    kind: Literal["seam", "event", "record"]
    name: str
    how: Literal["serial", "waterfall", "emit", "append"]
    python: str
    says: str
    rules: tuple[str, ...]
    keys: tuple[Key, ...]


TURN: Final = Key("turn", "turn", "whole number, from 1")
STEP: Final = Key("step", "step", "whole number, from 1")
MESSAGE: Final = Key("message", "message", "message")
CALL: Final = Key("call", "call", "call id")
SIGNAL: Final = Key("signal", "signal", "the turn's abort signal")
BATCH: Final = Key("messages", "messages", "the claimed messages, in order")

CATALOGUE: Final = (
    Entry(
        "seam",
        "agent/assemble",
        "serial",
        "Assemble",
        "The batch is claimed; whoever prepares the proposed step does it now. "
        "A failure ends the turn with `error`.",
        ("PS-03", "CL-08", "ER-05"),
        (TURN, STEP, BATCH, SIGNAL),
    ),
    Entry(
        "seam",
        "agent/pre-step",
        "waterfall",
        "PreStep",
        "The one decision before a proposed step: `Enter(messages)` or `Reject()`. "
        "The default enters the claimed batch.",
        ("PS-01", "PS-02", "PS-05", "PS-10"),
        (BATCH, TURN, STEP, SIGNAL),
    ),
    Entry(
        "seam",
        "agent/request",
        "waterfall",
        "Requesting",
        "An attempt of a request is about to be made; the answer is the options that go with it. "
        "A failure ends the turn with `error`, without recovery.",
        ("ST-07", "ST-19"),
        (TURN, STEP, SIGNAL),
    ),
    Entry(
        "seam",
        "agent/request-error",
        "waterfall",
        "RequestFailed",
        "The provider failed: `Retry()` asks again inside the same step, `GiveUp()`, the default, "
        "ends the turn with the failure.",
        ("ST-16", "ST-17", "ST-18", "ST-20"),
        (TURN, STEP, Key("failure", "failure", "`{message, code}`"), SIGNAL),
    ),
    Entry(
        "seam",
        "agent/turn-stopping",
        "serial",
        "TurnStopping",
        "The turn is about to end and nothing is pending for its next step. Whoever objects "
        "delivers a message for it; no answer is read.",
        ("TS-01", "TS-02", "TS-03", "TS-05", "TS-07"),
        (TURN, SIGNAL),
    ),
    Entry(
        "event",
        "agent/inbox/inserted",
        "emit",
        "Inserted",
        "The message is pending.",
        ("LN-01", "LN-05"),
        (MESSAGE,),
    ),
    Entry(
        "event",
        "agent/inbox/claimed",
        "emit",
        "Claimed",
        "The message is the open turn's and never comes back by itself.",
        ("CL-05", "CL-06", "LN-05"),
        (MESSAGE, TURN),
    ),
    Entry(
        "event",
        "agent/inbox/discarded",
        "emit",
        "Discarded",
        "The message left its list other than by a claim.",
        ("LN-01", "LN-04", "LN-09"),
        (MESSAGE,),
    ),
    Entry(
        "event",
        "agent/status",
        "emit",
        "StatusChanged",
        "The agent began to run or went idle.",
        ("DR-01", "DR-02"),
        (Key("status", "status", "`running` or `idle`"),),
    ),
    Entry(
        "event",
        "agent/error",
        "emit",
        "Failed",
        "A turn failed that was not aborted; its end follows.",
        ("TB-12", "TB-13", "ER-07", "ER-11"),
        (
            Key("turn", "turn", "whole number"),
            Key("step", "step", "the last entered step, or 0"),
            Key("error", "error", "string"),
        ),
    ),
    Entry(
        "record",
        "turn/start",
        "append",
        "TurnStart",
        "A turn was opened.",
        ("TB-01", "DR-04"),
        (TURN,),
    ),
    Entry(
        "record",
        "turn/end",
        "append",
        "TurnEnd",
        "The open turn was closed: `completed`, `max-tokens`, `blocked`, "
        "`aborted` with its cause, or `error` with message and code.",
        ("TB-01", "TB-05", "TB-06", "TB-07", "TB-08", "TB-09"),
        (
            TURN,
            Key(
                "reason",
                "reason",
                "`{kind}`, `{kind: aborted, reason: {kind}}` or `{kind: error, "
                "error: {message, code}}`",
            ),
        ),
    ),
    Entry(
        "record",
        "step/start",
        "append",
        "StepStart",
        "A step was opened.",
        ("ST-01", "DR-07"),
        (TURN, STEP),
    ),
    Entry(
        "record",
        "step/end",
        "append",
        "StepEnd",
        "The open step was closed.",
        ("ST-01", "ST-05"),
        (TURN, STEP),
    ),
    Entry(
        "record",
        "agent/inbox/spliced",
        "append",
        "InboxSpliced",
        "One list of the inbox changed; the fold of these records is the inbox.",
        ("IN-02", "IN-03", "IN-04", "IN-05", "SP-03"),
        (
            Key("target", "target", "`next-turn` or `next-step`"),
            Key("start", "start", "whole number, from 0"),
            Key("removedCount", "removed_count", "whole number, from 1", "when any is removed"),
            Key("inserted", "inserted", "array of messages"),
            Key("outcome", "outcome", "`canceled`", "when any is removed other than by a claim"),
        ),
    ),
    Entry(
        "record",
        "user/message",
        "append",
        "Message",
        "A message entered the open step.",
        ("ST-01", "PS-20"),
        (
            Key("id", "id", "string"),
            Key("role", "role", "`user` or `assistant`"),
            Key("source", "source", "`{kind}`, in Python the kind"),
            Key("content", "content", "array of blocks `{type, …}`"),
        ),
    ),
    Entry(
        "record",
        "assistant/message",
        "append",
        "AssistantMessage",
        "The provider answered, or was interrupted by an abort after it had shown text.",
        ("ST-11", "ST-12", "ST-13", "ST-22"),
        (
            TURN,
            STEP,
            MESSAGE,
            Key("calls", "calls", "array of call ids", "when tools are to run"),
            Key("interrupted", "interrupted", "`true`", "when an abort cut the answer"),
        ),
    ),
    Entry(
        "record",
        "tool/call",
        "append",
        "ToolCalled",
        "A call of the reply was taken up; its result follows.",
        ("TC-01", "TC-04", "TC-07"),
        (
            TURN,
            STEP,
            CALL,
            Key("name", "name", "non-empty string"),
            Key("arguments", "arguments", "object"),
        ),
    ),
    Entry(
        "record",
        "tool/result",
        "append",
        "ToolAnswered",
        "A call has its result, in the order of the reply; its contexts follow.",
        ("TC-01", "TC-02", "TC-04", "TC-12"),
        (
            TURN,
            STEP,
            CALL,
            Key("outcome", "outcome", "`ok`, `error`, `aborted` or `skipped`"),
            Key("content", "content", "array of blocks `{type, …}`"),
            Key(
                "code",
                "code",
                "`TOOL_NOT_STARTED` or `TOOL_OUTCOME_UNKNOWN`",
                "when it stands in for a result lost in a crash",
            ),
            Key("cites", "cites", "whole number, from 0", "when the lost call was on record"),
        ),
    ),
    Entry(
        "record",
        "session/end-seed",
        "append",
        "EndSeed",
        "The records up to here are those of an earlier run, or of another session.",
        ("RS-07",),
        (Key("inherited", "inherited", "`true`", "when they were copied from another session"),),
    ),
)
"""The table. Its order is the order of the document."""

PREFACE: Final = """\
# Catalogue of seams, events and records

Made by `python -m loopspec.impl.catalogue` from the table in `impl/loopspec/impl/catalogue.py`; do
not edit. A test compares this page with the table, and the table with the classes.

- A *seam* is awaited: `serial` calls one listener after the other, `waterfall` asks for a value.
- An *event* is told to listeners and gone; their failures are contained.
- A *record* is appended to the session log as `{seq, time, type, data}`; the keys are those of
  `data`.

Keys are camelCase on the wire and snake_case in Python.
"""

HEADINGS: Final = {"seam": "Seams", "event": "Events", "record": "Records"}


def to_markdown() -> str:
    """Return the whole document."""
    parts = [PREFACE]
    for kind, heading in HEADINGS.items():
        parts.append(f"## {heading}\n")
        parts.extend(_section(entry) for entry in CATALOGUE if entry.kind == kind)
    return "\n".join(parts)


def _section(entry: Entry) -> str:
    lines = [
        f"### `{entry.name}`",
        "",
        f"{entry.says} Delivered by `{entry.how}` as `{entry.python}`. "
        f"Rules: {', '.join(entry.rules)}.",
        "",
        "| key | in Python | value | present |",
        "| --- | --- | --- | --- |",
    ]
    lines.extend(
        f"| `{key.wire}` | `{key.python}` | {key.type} | {key.when} |" for key in entry.keys
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(to_markdown())
