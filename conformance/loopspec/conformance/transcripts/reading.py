"""Transcripts as they were recorded: files, commands, and the calls that commands make.

A transcript is a JSON object with `ops`, the commands, and `reports`, what was observed after each
had settled. Numbers of a splice are those of the recording language: not-a-number and infinities
are written as strings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from loopspec.model.words import NEXT_STEP, NEXT_TURN, Call, Message, text_message

__all__ = ["TranscriptError", "call_of", "message_of", "read_transcripts"]

SPLICE_MAX: Final = 10_000
"""Where the infinities of a splice are clamped: no list of a recording is as long."""


class TranscriptError(ValueError):
    """A transcript that cannot be read; the text says what was expected, what came and where."""


def read_transcripts(path: Path) -> Iterator[dict[str, Any]]:
    """The transcripts of a file, one JSON object a line, or of all such files of a folder.

    Raises TranscriptError with one sentence for anything else.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise TranscriptError(f"expected *.jsonl files in {path}, got none")
    for file in files:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TranscriptError(f"expected a transcript file, got {file}: {error}") from error
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                transcript = json.loads(line)
            except (ValueError, RecursionError) as error:
                msg = f"{file}, line {number}: expected one JSON object, got {line[:40]!r}"
                raise TranscriptError(msg) from error
            try:
                needs_commands_and_reports(transcript)
            except TranscriptError as error:
                raise TranscriptError(f"{file}, line {number}: {error}") from error
            yield transcript


def needs_commands_and_reports(transcript: object) -> None:
    """A transcript is an object with as many reports as commands, the first of which is `new`.

    Raises TranscriptError with one sentence when it is not so, or when a command cannot be read.
    """
    if not isinstance(transcript, dict) or not {"ops", "reports"} <= transcript.keys():
        raise TranscriptError("expected an object with 'ops' and 'reports'")
    ops, reports = transcript["ops"], transcript["reports"]
    if not isinstance(ops, list) or not isinstance(reports, list) or len(ops) != len(reports):
        raise TranscriptError("expected as many reports as commands, each in a list")
    if not all(isinstance(op, dict) and isinstance(op.get("op"), str) for op in ops):
        raise TranscriptError("expected commands that are objects with a name under 'op'")
    if not ops or ops[0]["op"] != "new" or not isinstance(ops[0].get("gates"), list):
        raise TranscriptError("expected a first command 'new' with its list of 'gates'")
    if not isinstance(transcript.get("n", 0), int):
        raise TranscriptError(f"expected a number under 'n', got {transcript['n']!r}")
    for op in ops:
        try:
            call_of(op)
        except (KeyError, TypeError, AttributeError) as error:
            raise TranscriptError(f"expected a command that can be read, got {op}") from error


def whole(value: object, limit: int) -> int:
    """A JavaScript number as a splice takes it: truncated, not-a-number 0, infinities clamped."""
    number = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan, "-0": -0.0}.get(
        value if isinstance(value, str) else "", value
    )
    if not isinstance(number, int | float):
        raise TranscriptError(f"expected a number of a splice, got {value!r}")
    if math.isnan(number):
        return 0
    return int(max(-limit, min(limit, number)))


def is_negative_zero(value: object) -> bool:
    """Whether a start truncates to negative zero, which upstream cannot write down (LB-13)."""
    return value == "-0" or (isinstance(value, float) and -1 < value < 0)


def message_of(name: object) -> Message:
    """A message by its id, as the driver of the recordings made it."""
    if not isinstance(name, str):
        raise TranscriptError(f"expected a message id, got {name!r}")
    return made_once(name)


made_once: Final = lru_cache(maxsize=1024)(text_message)
"""The message of an id; most reports name the same few."""


def cause_of(op: Mapping[str, Any]) -> str:
    """The word of a cancel's cause."""
    return str(op["cause"]["kind"])


def call_of(op: Mapping[str, Any]) -> Call | None:
    """The call that a command makes; None for answers and the driver's own commands."""
    kind = op["op"]
    if kind in ("followup", "steer", "inject"):
        return Call(kind, (message_of(op["m"]),))
    if kind == "send":
        message = message_of(op["m"])
        if op["wakeup"]:
            return Call("followup" if op["target"] == NEXT_TURN else "steer", (message,))
        if op["target"] == NEXT_STEP:
            return Call("inject", (message,))
        return Call("append", (NEXT_TURN, message))
    if kind in ("append", "prepend"):
        return Call(kind, (op["target"], message_of(op["m"])))
    if kind == "splice":
        inserted = tuple(message_of(name) for name in op["ins"] or ())
        start, count = whole(op["start"], SPLICE_MAX), whole(op["del"], SPLICE_MAX)
        return Call("splice", (op["target"], start, count, inserted))
    if kind == "replace":
        return Call("replace", (op["id"], message_of(op["m"])))
    if kind == "remove":
        return Call("remove", (op["id"],))
    if kind == "clear":
        return Call("clear")
    if kind == "cancel":
        return Call("cancel", (cause_of(op), "keep" if op.get("keep") else "drop"))
    return {
        "maint": Call("maintenance"),
        "whenIdle": Call("when-idle"),
        "dispose": Call("dispose"),
    }.get(kind)
