"""The fast ways of an append say yes to nothing that the slow ones refuse."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import json
import random
import uuid
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopspec.impl import RecordInvalid
from loopspec.impl.canonical import DEPTH_MAX, encoded
from loopspec.impl.errors import MessageInvalid
from loopspec.impl.records import RECORDS
from loopspec.impl.shapes import SHAPES

MESSAGE: Final = {
    "id": "A",
    "role": "user",
    "source": {"kind": "user"},
    "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": ""}],
}
SAMPLES: Final[dict[str, list[dict[str, Any]]]] = {
    "turn/start": [{"turn": 1}],
    "step/start": [{"turn": 1, "step": 2}],
    "step/end": [{"turn": 1, "step": 2}],
    "agent/inbox/spliced": [
        {"target": "next-turn", "start": 0, "inserted": [MESSAGE, MESSAGE]},
        {
            "target": "next-step",
            "start": 3,
            "removedCount": 1,
            "inserted": [],
            "outcome": "canceled",
        },
    ],
    "user/message": [MESSAGE],
    "assistant/message": [
        {"turn": 1, "step": 1, "message": MESSAGE},
        {"turn": 1, "step": 1, "message": MESSAGE, "calls": ["X"], "interrupted": True},
    ],
    "tool/result": [
        {
            "turn": 1,
            "step": 1,
            "call": "X",
            "outcome": "skipped",
            "content": MESSAGE["content"],
            "code": "TOOL_NOT_STARTED",
            "cites": 0,
        }
    ],
    "session/end-seed": [{}],
}
STRANGE: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2**64, 1.0, 1.5, "", "A", "user", "text", "canceled"),
    *([], {}, ["X"], [""], [1], {"kind": ""}, {"kind": "x"}, {"type": "text"}, [MESSAGE]),
    *([{"type": "image"}], {"type": "text", "text": 1}, (), ("X",), {"id": "A"}),
)


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every value inside a value, as what holds it and where."""
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys:
        yield value, key
        yield from places(value[key])  # type: ignore[index]


def has_shape(kind: str, data: object) -> bool:
    """Whether the shape says yes."""
    try:
        msgspec.convert(data, SHAPES[kind])
    except msgspec.ValidationError:
        return False
    return True


def test_records_without_open_ends_have_a_shape_that_knows_them() -> None:
    """Only a tool's arguments and the reason of an ending are left to their class."""
    assert {"turn/end", "tool/call"} == RECORDS.keys() - SHAPES.keys()
    assert SAMPLES.keys() == SHAPES.keys()
    for kind, samples in SAMPLES.items():
        for data in samples:
            assert has_shape(kind, data), (kind, data)
            assert data == RECORDS[kind].from_json(data).to_json()


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_a_shape_accepts_its_class_accepts(kind: str) -> None:
    """Values replaced, left out or added at every place, and two of them at a time."""
    chance, refused = random.Random(kind), 0
    for number in range(600):
        data = copy.deepcopy(SAMPLES[kind][number % len(SAMPLES[kind])])
        for _ in range(1 + number % 2):
            held, key = chance.choice([(data, "turn"), (data, "more"), *places(data)])
            if chance.random() < 0.8 or (held is data and key not in data):
                held[key] = copy.deepcopy(chance.choice(STRANGE))
            else:
                del held[key]
        try:
            RECORDS[kind].from_json(data)
        except MessageInvalid:
            refused += 1
            assert not has_shape(kind, data), data
    assert refused > 100


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def all_text(value: object) -> bool:
    """Whether every string of a value is Unicode text, and every number finite."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


@given(value=JSON.filter(all_text))
def test_canonical_bytes_read_back_as_the_value(value: object) -> None:
    """In the same types, with sorted keys and no blanks, and equal for equal values."""
    body, plain = encoded(value, "x")
    for again in (plain, json.loads(body)):
        assert repr_sorted(value) == repr_sorted(again)
    assert body == encoded(as_others_hold_it(value), "x")[0]


def repr_sorted(value: object) -> str:
    """A text that differs where a type does: 1, 1.0 and true are three values."""
    return json.dumps(value, sort_keys=True)


def as_others_hold_it(value: object) -> object:
    """The same value in types that only the slow way knows."""
    if isinstance(value, dict):
        return MappingProxyType({key: as_others_hold_it(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(as_others_hold_it(item) for item in value)
    return value


@dataclasses.dataclass
class Point:
    """An object that the encoder knows how to write."""

    x: int = 1


class Colour(enum.Enum):
    """So is this."""

    RED = "red"


NOT_JSON: Final[tuple[object, ...]] = (
    *(uuid.UUID(int=1), b"x", bytearray(b"x"), memoryview(b"x"), {1, 2}, frozenset(), Point()),
    *(Colour.RED, decimal.Decimal("1.5"), datetime.date(2026, 1, 1), datetime.timedelta(1)),
    *(float("nan"), float("inf"), "\ud800", {1: "a"}, {None: 1}, {"\udfff": 1}, object(), 1j),
)


@pytest.mark.parametrize("strange", NOT_JSON, ids=lambda each: type(each).__name__)
def test_what_an_encoder_would_turn_into_json_is_refused(strange: object) -> None:
    """A record that reads back as something else than was appended is none."""
    for value in (strange, [strange], {"a": {"b": [0, strange]}}):
        with pytest.raises(RecordInvalid, match="x"):
            encoded(value, "x")


@pytest.mark.parametrize("deep", [DEPTH_MAX, DEPTH_MAX + 1, 3000])
def test_depth_is_counted_and_brackets_in_text_are_not(deep: int) -> None:
    """Also where the encoder itself would give up."""
    value: Any = "[" * 500
    for _ in range(deep):
        value = [value]
    if deep > DEPTH_MAX:
        with pytest.raises(RecordInvalid, match="deeper than"):
            encoded(value, "x")
    else:
        assert value == encoded(value, "x")[1]
    wide = [{"a": [number]} for number in range(deep)]
    assert wide == encoded(wide, "x")[1]


def test_a_record_keeps_nothing_of_what_was_appended() -> None:
    """What the caller changes afterwards changes neither data nor payload (IN-06)."""
    from loopspec.impl import SessionLog

    data = copy.deepcopy(MESSAGE)
    with SessionLog.in_memory() as log:
        record = log.append("user/message", data)
        data["content"].clear()  # type: ignore[attr-defined]
        data["id"] = "B"
        assert isinstance(record.data, Mapping)
        assert ("A", "A") == (record.data["id"], record.payload.id)  # type: ignore[union-attr]
        assert (record,) == log.read()
        assert record != log.append("user/message", data)
        assert "'id': 'A'" in repr(record)
        for name in ("seq", "data", "payload"):
            with pytest.raises(AttributeError):
                setattr(record, name, 1)
