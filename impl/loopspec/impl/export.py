"""Export and import: a session's records as lines of JSON in the shape of version 4.

The first line is the header, each other line one record with its number, time, type and data.
Records that join what the model sees say so (`surfaceOp`), a tool's result names its call's record.
Arguments of calls are JSON texts there, and results are messages of the role `tool`; reading an
export back gives the same records.

Records are read through SQLite, so a log can be exported while it is in use.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from loopspec.impl.canonical import from_bytes, thaw, to_bytes
from loopspec.impl.errors import BadArgument, LogUnreadable, MessageInvalid, RecordInvalid
from loopspec.impl.inbox import fold_inbox
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import exact_keys
from loopspec.impl.records import (
    OUTCOME_UNKNOWN,
    TOOL_NOT_STARTED,
    AssistantMessage,
    EndSeed,
    Record,
    ToolAnswered,
    ToolCalled,
)
from loopspec.impl.shapes import checked_record

VERSION: Final = 4
SURFACE: Final = ("user/message", "assistant/message", "tool/result")
ENVELOPE: Final = ("type", "seq", "time", "data")
FAILURES: Final = {
    "aborted": ("AbortError", "ABORTED"),
    "skipped": ("AbortError", "ABORTED_BEFORE_DISPATCH"),
    "error": ("ToolError", "TOOL_FAILED"),
    TOOL_NOT_STARTED: ("ToolNotStartedError", TOOL_NOT_STARTED),
    OUTCOME_UNKNOWN: ("ToolOutcomeUnknownError", OUTCOME_UNKNOWN),
}
"""Name and code of an error, for each outcome of a call and each code of a repaired one."""

OUTCOMES: Final = {code: outcome for outcome, (_, code) in FAILURES.items()}


def export_lines(records: Sequence[Record], session: str) -> Iterator[bytes]:
    """Return the lines of an export, the header first, each with its line end."""
    seeded = any(record.payload == EndSeed(inherited=True) for record in records)
    yield _line(
        {
            "type": "session",
            "version": VERSION,
            "id": session,
            "createdAt": records[0].time if records else 0,
            "isSeeded": seeded,
            "delegationDepth": 0,
        }
    )
    called: dict[str, int] = {}
    for record in records:
        if isinstance(record.payload, ToolCalled):
            called[record.payload.call] = record.seq
        elif isinstance(record.payload, AssistantMessage):
            called.clear()
        envelope: dict[str, object] = {
            "type": record.type,
            "seq": record.seq,
            "time": record.time,
            "data": _data_out(record),
        }
        if record.type in SURFACE:
            envelope["surfaceOp"] = "append"
        if isinstance(record.payload, ToolAnswered) and record.payload.call in called:
            envelope["sourceEventSeqs"] = [called[record.payload.call]]
        yield _line(envelope)


def export_session(log: SessionLog, path: Path | str) -> None:
    """Write a session to a new file, durably.

    Raises `BadArgument` when something is at the path, `LogUnreadable` when it cannot be written.
    """
    target = Path(path)
    try:
        with target.open("xb") as file:
            try:
                file.writelines(export_lines(log.read(), log.session))
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                with contextlib.suppress(OSError):
                    target.unlink()
                raise
    except FileExistsError:
        msg = f"cannot export to {target}: the file exists."
        raise BadArgument(msg, "choose another path.") from None
    except OSError as error:
        msg = f"cannot export to {target}: {error.strerror or error}."
        raise LogUnreadable(msg) from error


def import_lines(lines: Iterable[bytes]) -> tuple[Record, ...]:
    """Read an export back; raises `LogUnreadable` with one sentence that names the line."""
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            stored = from_bytes(line)
            if number == 1:
                _check_header(stored)
            else:
                records.append(_record_in(stored, len(records)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            msg = f"line {number} is not one of an export: {type(error).__name__}: {error}."
            raise LogUnreadable(msg) from error
        except (MessageInvalid, RecordInvalid) as error:
            msg = f"line {number} is not one of an export: {error.sentence}"
            raise LogUnreadable(msg) from error
    if not records and not lines:
        msg = "an export has a header at least; this one is empty."
        raise LogUnreadable(msg)
    fold_inbox(records)
    return tuple(records)


def import_session(path: Path | str, log: SessionLog) -> None:
    """Fill an empty log with the records of an export, told to nobody.

    Raises `LogUnreadable` when the file is no export, `BadArgument` when the log has records.
    """
    if log.read():
        msg = f"an export was read for the session {log.session!r}, which has records already."
        raise BadArgument(msg)
    try:
        lines = Path(path).read_bytes().splitlines(keepends=True)
    except OSError as error:
        msg = f"cannot read the export {path}: {error.strerror or error}."
        raise LogUnreadable(msg) from error
    if lines and not lines[-1].endswith(b"\n"):
        msg = f"line {len(lines)} of {path} has no end: the export is torn."
        raise LogUnreadable(msg)
    for record in import_lines(lines):
        log.append_at(record.time, record.type, record.payload.to_json(), tell=False)


def _line(value: Mapping[str, object]) -> bytes:
    return to_bytes(value, str(value["type"])) + b"\n"


# -- records to lines -----------------------------------------------------------------------------


def _data_out(record: Record) -> dict[str, object]:
    payload = record.payload
    data = payload.to_json()
    if isinstance(payload, ToolCalled):
        data["callId"] = data.pop("call")
        data["arguments"] = _text(payload.arguments)
    elif isinstance(payload, AssistantMessage):
        message = cast("dict[str, Any]", data["message"])
        for block in message["content"]:
            if block["type"] == "tool-call" and block.get("id") in payload.calls:
                block["arguments"] = _text(block["arguments"])
        data.pop("calls", None)
        # Which calls are run is told by their blocks, unless the provider gave others besides.
        if payload.calls != _calls_of(message):
            data["calls"] = list(payload.calls)
        data["stream"] = []
    elif isinstance(payload, ToolAnswered):
        return _result_out(record.seq, payload)
    return data


def _result_out(seq: int, payload: ToolAnswered) -> dict[str, object]:
    kind = "tool" if payload.code is None else "interrupted-tool"
    data: dict[str, object] = {
        "turn": payload.turn,
        "step": payload.step,
        "message": {
            "id": f"{kind}-result-{payload.call}-{seq}",
            "role": "tool",
            "toolCallId": payload.call,
            "isError": payload.outcome != "ok",
            "source": {"kind": "tool", "callId": payload.call},
            "content": [block.to_json() for block in payload.content],
        },
    }
    if payload.outcome != "ok":
        name, code = FAILURES[payload.code or payload.outcome]
        data["error"] = {"name": name, "code": code}
    return data


def _calls_of(message: Mapping[str, Any]) -> tuple[str, ...]:
    blocks = (block for block in message["content"] if block["type"] == "tool-call")
    return tuple(str(block.get("id")) for block in blocks)


def _text(arguments: object) -> str:
    return json.dumps(thaw(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# -- lines to records -----------------------------------------------------------------------------


def _check_header(stored: object) -> None:
    keys = ("type", "version", "id", "createdAt", "isSeeded", "delegationDepth")
    header = exact_keys(stored, "the header", keys)
    if header["type"] != "session" or header["version"] != VERSION:
        msg = f"its header says {header['type']!r} of version {header['version']!r}"
        raise ValueError(msg)


def _record_in(stored: object, expected: int) -> Record:
    optional = ("surfaceOp", "sourceEventSeqs")
    envelope = exact_keys(stored, "a record", ENVELOPE, optional)
    kind, seq, time = envelope["type"], envelope["seq"], envelope["time"]
    if seq != expected or not isinstance(time, int):
        msg = f"expected record {expected} with a whole time, got {seq!r} at {time!r}"
        raise ValueError(msg)
    data = cast("dict[str, Any]", thaw(envelope["data"]))
    if kind == "tool/call":
        data["call"] = data.pop("callId")
        data["arguments"] = _arguments(data["arguments"])
    elif kind == "assistant/message":
        calls = tuple(data.get("calls", _calls_of(data["message"])))
        for block in data["message"]["content"]:
            if block["type"] == "tool-call" and block.get("id") in calls:
                block["arguments"] = _arguments(block["arguments"])
        data.pop("stream")
        data.pop("calls", None)
        if calls:
            data["calls"] = list(calls)
    elif kind == "tool/result":
        cited = cast("Sequence[int]", envelope.get("sourceEventSeqs", ()))
        data = _result_in(data, cited)
    return checked_record(expected, time, str(kind), data)


def _result_in(data: Mapping[str, Any], cited: Sequence[int]) -> dict[str, Any]:
    message = data["message"]
    result = {
        "turn": data["turn"],
        "step": data["step"],
        "call": message["toolCallId"],
        "outcome": "ok",
        "content": message["content"],
    }
    if message["isError"]:
        outcome = OUTCOMES[data["error"]["code"]]
        result["outcome"] = outcome if outcome in ("aborted", "skipped") else "error"
        if outcome in (TOOL_NOT_STARTED, OUTCOME_UNKNOWN):
            result["code"] = outcome
            if cited:
                result["cites"] = cited[0]
    return result


def _arguments(text: str) -> object:
    arguments = json.loads(text)
    if not isinstance(arguments, dict):
        msg = f"the arguments of a call are a JSON object, not {text!r}"
        raise TypeError(msg)
    return arguments
