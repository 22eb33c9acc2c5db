"""JSON schemas of records and events, made from the catalogue.

They are for whoever reads a log or a stream in another language. The keys come from the table of
the catalogue; what a value looks like is said once, in `VALUES`, under the words that the table has
for it. A key with words that are not in `VALUES` is an error, not a key that allows anything.

    python -m loopspec.impl.schemas    # writes the files beside this module
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from loopspec.impl.catalogue import CATALOGUE, Entry, Key
from loopspec.impl.endings import CAUSES, ENDINGS
from loopspec.impl.messages import ROLES
from loopspec.impl.records import OUTCOME_UNKNOWN, TARGETS, TOOL_NOT_STARTED, TOOL_OUTCOMES

__all__ = ["SCHEMAS", "event_schema", "read_schema", "record_schema"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TEXT: Final = {"type": "string", "minLength": 1}
MESSAGE_REF: Final = {"$ref": "#/$defs/message"}


def _object(required: Mapping[str, object], optional: Mapping[str, object] | None = None) -> object:
    """An object with exactly these keys."""
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


PLAIN_ENDINGS: Final = [kind for kind in ENDINGS if kind not in ("aborted", "error")]
ENDING: Final = {
    "oneOf": [
        _object({"kind": {"enum": PLAIN_ENDINGS}}),
        _object(
            {"kind": {"const": "aborted"}, "reason": _object({"kind": {"enum": list(CAUSES)}})}
        ),
        _object(
            {
                "kind": {"const": "error"},
                "error": _object({"message": {"type": "string"}, "code": {"type": "string"}}),
            }
        ),
    ]
}
BLOCK: Final = {
    "oneOf": [
        _object({"type": {"const": "text"}, "text": {"type": "string"}}),
        {
            "type": "object",
            "properties": {"type": {"type": "string", "minLength": 1, "not": {"const": "text"}}},
            "required": ["type"],
        },
    ]
}

VALUES: Final = MappingProxyType(
    {
        "whole number": {"type": "integer"},
        "whole number, from 0": {"type": "integer", "minimum": 0},
        "whole number, from 1": {"type": "integer", "minimum": 1},
        "the last entered step, or 0": {"type": "integer", "minimum": 0},
        "string": {"type": "string"},
        "non-empty string": TEXT,
        "call id": TEXT,
        "array of call ids": {"type": "array", "items": TEXT},
        "object": {"type": "object"},
        "`true`": {"const": True},
        "`ok`, `error`, `aborted` or `skipped`": {"enum": list(TOOL_OUTCOMES)},
        "`TOOL_NOT_STARTED` or `TOOL_OUTCOME_UNKNOWN`": {
            "enum": [TOOL_NOT_STARTED, OUTCOME_UNKNOWN]
        },
        "message": MESSAGE_REF,
        "array of messages": {"type": "array", "items": MESSAGE_REF},
        "array of blocks `{type, …}`": {"type": "array", "items": {"$ref": "#/$defs/block"}},
        "`user` or `assistant`": {"enum": list(ROLES)},
        "`{kind}`, in Python the kind": _object({"kind": TEXT}),
        "`next-turn` or `next-step`": {"enum": list(TARGETS)},
        "`canceled`": {"const": "canceled"},
        "`running` or `idle`": {"enum": ["running", "idle"]},
        "`{kind}`, `{kind: aborted, reason: {kind}}` or `{kind: error, "
        "error: {message, code}}`": ENDING,
    }
)
"""What a value looks like, under the words that the catalogue has for its type."""


def record_schema() -> dict[str, object]:
    """The schema of one record of the session log: `{seq, time, type, data}`."""
    envelope = {"seq": {"type": "integer", "minimum": 0}, "time": {"type": "integer"}}
    records = [
        _object({**envelope, "type": {"const": entry.name}, "data": _data(entry)})
        for entry in CATALOGUE
        if entry.kind == "record"
    ]
    return _document("A record of the session log", records)


def event_schema() -> dict[str, object]:
    """The schema of one event: `{type, data}`."""
    events = [
        _object({"type": {"const": entry.name}, "data": _data(entry)})
        for entry in CATALOGUE
        if entry.kind == "event"
    ]
    return _document("An event of the agent", events)


def _document(title: str, choices: list[object]) -> dict[str, object]:
    message = next(entry for entry in CATALOGUE if entry.name == "user/message")
    return {
        "$schema": DIALECT,
        "title": title,
        "oneOf": choices,
        "$defs": {"message": _data(message), "block": BLOCK},
    }


def _data(entry: Entry) -> object:
    always = {key.wire: _value(key) for key in entry.keys if key.when == "always"}
    sometimes = {key.wire: _value(key) for key in entry.keys if key.when != "always"}
    return _object(always, sometimes)


def _value(key: Key) -> object:
    return TEXT if key.wire == "id" else VALUES[key.type]


SCHEMAS: Final = MappingProxyType(
    {"records.schema.json": record_schema, "events.schema.json": event_schema}
)
"""Name of each schema file and the function that makes its content."""


def text_of(name: str) -> str:
    """The text that the file of that name should have."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=True) + "\n"


def read_schema(name: str) -> dict[str, object]:
    """The schema as it lies in the package, for example `records.schema.json`."""
    text = (files(__name__) / name).read_text(encoding="utf-8")
    schema = json.loads(text)
    assert isinstance(schema, dict), f"{name} is an object"
    return schema
