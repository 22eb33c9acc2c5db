"""The schema files are made from the catalogue, fit real logs, and refuse damaged ones.

Checked by a small checker of our own, which knows the few keywords that the schemas use and fails
on any other: a validator passes over a keyword that it does not know, so a misspelt one would allow
everything.
"""

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from loopspec.impl import (
    Agent,
    Bus,
    Reject,
    Reply,
    ScriptedProvider,
    SessionLog,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolUse,
    text_message,
)
from loopspec.impl.canonical import thaw
from loopspec.impl.catalogue import CATALOGUE
from loopspec.impl.payloads import EVENTS
from loopspec.impl.schemas import SCHEMAS, read_schema, text_of
from tests.generated import ROOT


class Reader:
    """A tool that finds something and adds context."""

    async def run(self, use: ToolUse) -> ToolResult:
        """Answer at once."""
        found = text_message(f"found-{use.call.id}", source="plug-in")
        return ToolResult((TextBlock("found"),), contexts=(found,))


TYPES = {"object": dict, "array": list, "string": str, "integer": int}
NOTES = {"$schema", "title", "$defs"}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:  # noqa: ANN401
    """Whether a value fits a schema."""
    return all(fits_keyword(value, word, schema, root) for word in schema if word not in NOTES)


def fits_keyword(value: Any, word: str, schema: dict[str, Any], root: dict[str, Any]) -> bool:  # noqa: ANN401
    """Whether a value fits one keyword of a schema; an unknown keyword is an error."""
    wanted = schema[word]
    match word:
        case "$ref":
            return fits(value, root["$defs"][wanted.removeprefix("#/$defs/")], root)
        case "type":
            return isinstance(value, TYPES[wanted]) and not isinstance(value, bool)
        case "const":
            return bool(value == wanted)
        case "enum":
            return bool(value in wanted)
        case "minimum":
            return bool(value >= wanted)
        case "minLength":
            return bool(len(value) >= wanted)
        case "not":
            return not fits(value, wanted, root)
        case "oneOf":
            return [fits(value, each, root) for each in wanted].count(True) == 1
        case "items":
            return all(fits(each, wanted, root) for each in value)
        case "required":
            return all(key in value for key in wanted)
        case "properties":
            return all(fits(value[key], each, root) for key, each in wanted.items() if key in value)
        case "additionalProperties":
            return wanted is False and all(key in schema["properties"] for key in value)
    raise AssertionError(f"the checker knows no keyword {word!r}")


def fitting(name: str) -> Callable[[object], bool]:
    """A function that tells whether a value fits the schema file of that name."""
    schema = read_schema(name)
    return lambda value: fits(value, schema, schema)


def lived(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records and events of a session with a completed, a canceled and a rejected turn."""
    events: list[dict[str, Any]] = []
    bus = Bus()

    def tell(name: str) -> Callable[[Any], None]:
        def told(payload: Any) -> None:  # noqa: ANN401
            fields = attrs.asdict(payload, recurse=False)
            data = {
                key: value.to_json() if key == "message" else value for key, value in fields.items()
            }
            events.append({"type": name, "data": data})

        return told

    for name in EVENTS:
        bus.on(name, tell(name))

    async def decide(payload: Any, inner: Callable[[], Any]) -> object:  # noqa: ANN401
        if any(message.id == "bad" for message in payload.messages):
            return Reject()
        if any(message.id == "torn" for message in payload.messages):
            msg = "torn"
            raise RuntimeError(msg)
        return await inner()

    async def live(log: SessionLog) -> None:
        provider = ScriptedProvider([Reply("tools", calls=(ToolCall("X", "read", {"a": [1]}),))])
        async with Agent(log, provider, tools=Reader(), bus=bus) as agent:
            agent.followup(text_message("A"))
            await agent.wait_idle()
            agent.steer(text_message("B"))
            agent.inject(text_message("C", source="plug-in"))
            agent.cancel("parent")
            await agent.wait_idle()
            for message_id in ("bad", "torn"):
                agent.followup(text_message(message_id))
                await agent.wait_idle()

    bus.on("agent/pre-step", decide)
    with SessionLog.create(path) as log:
        asyncio.run(live(log))
        log.append("session/end-seed", {})
        records = [
            {"seq": each.seq, "time": each.time, "type": each.type, "data": thaw(each.data)}
            for each in log.read()
        ]
    return records, events


@pytest.mark.parametrize("name", SCHEMAS)
def test_files_are_made_from_the_catalogue(name: str) -> None:
    """`python -m loopspec.impl.schemas` brings them up to date."""
    path = ROOT / "impl" / "loopspec" / "impl" / "schemas" / name
    assert text_of(name) == path.read_text(encoding="utf-8")


def test_what_a_session_leaves_fits(tmp_path: Path) -> None:
    """Every kind of record and event is among them."""
    records, events = lived(tmp_path / "session.sqlite")

    assert [] == [each for each in records if not fitting("records.schema.json")(each)]
    assert [] == [each for each in events if not fitting("events.schema.json")(each)]
    known = {entry.name for entry in CATALOGUE if entry.kind != "seam"}
    assert known == {each["type"] for each in (*records, *events)}


def test_a_record_with_one_key_more_or_less_or_of_another_type_does_not_fit(
    tmp_path: Path,
) -> None:
    """Each key of each kind of record, damaged one at a time."""
    fit = fitting("records.schema.json")
    records, _ = lived(tmp_path / "session.sqlite")
    optional = {
        (entry.name, key.wire) for entry in CATALOGUE for key in entry.keys if key.when != "always"
    }
    for record in records:
        assert not fit({**record, "extra": 1})
        assert not fit({**record, "data": {**record["data"], "extra": 1}})
        for key in record["data"]:
            wrong, fewer = copy.deepcopy(record), copy.deepcopy(record)
            wrong["data"][key] = None
            del fewer["data"][key]
            assert not fit(wrong), (record["type"], key)
            assert fit(fewer) == ((record["type"], key) in optional), (record["type"], key)
