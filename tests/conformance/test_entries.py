"""Entries of a trace as JSON: what is read back is what was seen, and nothing else is read."""

import json
from typing import Any, get_args

import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.entries import EntryError, entry_from_json, entry_json, trace_text
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.model.words import (
    CALLS,
    Answer,
    Block,
    Call,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
    text_message,
)

A = text_message("A")
ODD = Message('"\n', "\u202e", "\x1b[2J", (Block("", "\ud800"), Block("image", "")))


def through(entry: Entry) -> Entry:
    """An entry, written and read."""
    return entry_from_json(json.loads(json.dumps(entry_json(entry))))


def test_every_trace_of_the_corpus_is_read_back_equal() -> None:
    """Every kind of entry stands in it."""
    kinds = set()
    for each in load_corpus():
        trace = run_scenario(ModelSubject(), each.scenario).trace
        lines = trace_text(trace).splitlines()
        assert trace == tuple(entry_from_json(json.loads(line)) for line in lines)
        kinds |= {type(entry) for entry in trace}

    assert set(get_args(Entry)) == kinds


@pytest.mark.parametrize(
    "entry",
    [
        Made(Call("splice", ("next-turn", -1, 0, (A, ODD))), True),
        Answer("pre-step", "enter", ()),
        Answer("provider", "parallel", None, ("x", "y")),
        Answer("tool", "result", (ODD,), ("x",)),
        Rest((ODD,), (), "", (("tool x", True), ("pre-step", False))),
        Observation("return", "nosuch", (("value", (1, (True, None), "x")),)),
        Observation("record", "turn/start", (("turn", 1), ("turn", 2)), "first"),
        Observation("event", "call", (("call", "x"),), "last"),
        Observation("fault", "", (), ""),
    ],
)
def test_odd_entries_are_read_back_equal(entry: Entry) -> None:
    """Ids that are no ids, a key told twice, a name like a kind; also the types in it."""
    again = through(entry)

    assert entry == again
    assert repr(entry) == repr(again)


CALL = entry_json(Made(Call("steer", (A,)), False))
SEEN = entry_json(Observation("record", "turn/start", (("turn", 1),), "first"))
REST = entry_json(Rest((A,), (), "idle", (("pre-step", False),)))
ANSWER = entry_json(Answer("pre-step", "enter", (A,)))


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ([], "an entry of a trace as an object, got []"),
        ({}, "an entry (call, answer, rest, record, "),
        ({"noise": "x", "data": {}, "listener": ""}, "got 'noise'"),
        (CALL | {"call": "shout"}, "a call (followup, steer, "),
        (CALL | {"args": []}, "1 arguments of steer, got []"),
        (CALL | {"args": ["A"]}, "an argument that is a message, got 'A'"),
        (CALL | {"inside": 1}, "true or false, got 1"),
        (CALL | {"more": 1}, "a call with the keys call, args, inside, got"),
        ({"call": "clear", "inside": False}, "a call with the keys"),
        ({"call": "cancel", "args": ["god", "keep"], "inside": False}, "that is a cause"),
        ({"call": "append", "args": ["there", CALL["args"][0]], "inside": False}, "a target"),
        (
            {"call": "splice", "args": ["next-turn", 0, "1", []], "inside": False},
            "an argument that is a count, got '1'",
        ),
        (
            {"call": "splice", "args": ["next-turn", 0, 1, ["A"]], "inside": False},
            "expected messages, got 'A'",
        ),
        (ANSWER | {"answer": "heaven"}, "a gate (assemble, "),
        (ANSWER | {"choice": "yes"}, "an answer at pre-step (enter, reject, raise), got 'yes'"),
        (ANSWER | {"choice": ["enter"]}, "an answer at pre-step"),
        (ANSWER | {"names": [1]}, "a text, got 1"),
        (ANSWER | {"messages": "A"}, "a list, got 'A'"),
        (REST | {"gates": [["pre-step"]]}, "a gate and whether it is aborted"),
        (REST | {"rest": None}, "a text, got None"),
        (REST | {"next_step": [{"id": "A"}]}, "a message with the keys id, role, "),
        (SEEN | {"listener": "third"}, "a listener (first, last or empty), got 'third'"),
        (SEEN | {"data": 1}, "a list, got 1"),
        (SEEN | {"data": [["turn"]]}, "pairs of key and value"),
        (SEEN | {"data": {"turn": 1.5}}, "a message, got 1.5"),
        (SEEN | {"data": {"turn": 2**63}}, "a message, got 9223372036854775808"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(data: object, part: str) -> None:
    """What was expected and what came."""
    with pytest.raises(EntryError) as caught:
        entry_from_json(data)

    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    """It would end the reader's own stack."""
    value: Any = 1
    for _ in range(60):
        value = [value]

    with pytest.raises(EntryError):
        entry_from_json(SEEN | {"data": {"turn": value}})


def test_every_call_has_arguments_of_known_kinds() -> None:
    """A new kind of argument needs a check of its own, or is a text."""
    kinds = {kind for args in CALLS.values() for kind in args}

    assert {"message", "messages", "start", "count", "target", "cause", "mode", "id"} <= kinds
