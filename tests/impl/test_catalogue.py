"""The catalogue is the page, and it is what the classes really have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from loopspec.impl import TextBlock, text_message
from loopspec.impl.catalogue import CATALOGUE, Entry, to_markdown
from loopspec.impl.endings import Ending
from loopspec.impl.payloads import EVENTS, SERIALS, WATERFALLS
from loopspec.impl.records import (
    OUTCOME_UNKNOWN,
    RECORDS,
    AssistantMessage,
    EndSeed,
    InboxSpliced,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnStart,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "catalogue.md"
SOURCE = Path(__file__).resolve().parents[2] / "impl" / "loopspec" / "impl"
KINDS: dict[tuple[str, str], Any] = {
    ("seam", "serial"): SERIALS,
    ("seam", "waterfall"): WATERFALLS,
    ("event", "emit"): EVENTS,
    ("record", "append"): RECORDS,
}
FULL_RECORDS: dict[str, Any] = {
    "turn/start": TurnStart(1),
    "turn/end": TurnEnd(1, Ending("completed")),
    "step/start": StepStart(1, 1),
    "step/end": StepEnd(1, 1),
    "agent/inbox/spliced": InboxSpliced("next-turn", 0, 1, (text_message("A"),), "canceled"),
    "user/message": text_message("A"),
    "assistant/message": AssistantMessage(1, 1, text_message("A"), ("X",), True),
    "tool/call": ToolCalled(1, 1, "X", "read", {"path": "a"}),
    "tool/result": ToolAnswered(1, 1, "X", "error", (TextBlock("?"),), OUTCOME_UNKNOWN, 3),
    "session/end-seed": EndSeed(inherited=True),
}


def entries(*kinds: str) -> list[Any]:
    """Return the entries of some kinds as parameters with names."""
    return [pytest.param(e, id=f"{e.kind} {e.name}") for e in CATALOGUE if e.kind in kinds]


def test_page_is_made_of_the_table() -> None:
    """`python -m loopspec.impl.catalogue > docs/catalogue.md` brings it up to date."""
    assert to_markdown() == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "how"), KINDS)
def test_table_lists_each_class_and_no_other(kind: str, how: str) -> None:
    """One seam, event or record more or less fails here."""
    listed = {e.name: e.python for e in CATALOGUE if (e.kind, e.how) == (kind, how)}
    assert {name: held.__name__ for name, held in KINDS[kind, how].items()} == listed


@pytest.mark.parametrize("entry", entries("seam", "event", "record"))
def test_python_keys_are_the_fields_of_the_class_in_order(entry: Entry) -> None:
    """One key more or less fails here."""
    fields = attrs.fields(KINDS[entry.kind, entry.how][entry.name])
    assert [field.name for field in fields] == [key.python for key in entry.keys]


@pytest.mark.parametrize("entry", entries("record"))
def test_wire_keys_are_what_the_record_writes(entry: Entry) -> None:
    """Checked on a record that has every key; and what it writes it reads."""
    record = FULL_RECORDS[entry.name]
    assert [key.wire for key in entry.keys] == list(record.to_json())
    assert record == RECORDS[entry.name].from_json(record.to_json())


@pytest.mark.parametrize("entry", entries("seam", "event", "record"))
def test_wire_is_camel_case_of_python(entry: Entry) -> None:
    """One spelling on each side, and a fixed way between them."""
    for key in entry.keys:
        first, *rest = key.python.split("_")
        assert first + "".join(word.title() for word in rest) == key.wire


def test_names_in_the_code_are_those_of_the_table() -> None:
    """Whatever the code dispatches or appends by a literal name is listed."""
    # An append of a given time has the time first.
    call = re.compile(r'\.(?:emit|serial|waterfall|append|append_at\([^"\n]*)\(?\s*"([a-z/-]+)"')
    used = {n for path in SOURCE.glob("*.py") for n in call.findall(path.read_text("utf-8"))}
    assert {entry.name for entry in CATALOGUE} == used


def test_names_are_listed_once() -> None:
    """A name means one thing."""
    names = [entry.name for entry in CATALOGUE]
    assert len(set(names)) == len(names)
