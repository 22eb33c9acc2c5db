"""Vectors: the corpus as data, in the words of the port protocol."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import jsonschema
import msgspec
import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.ports import schemas
from loopspec.conformance.ports import vectors as made
from loopspec.conformance.ports.serving import DECODER, Server
from loopspec.conformance.subjects.contract import CAPABILITIES
from loopspec.conformance.subjects.python import PythonSubject


@cache
def notes() -> made.Vectors:
    """The vectors of the strict reading."""
    return made.vectors()


def test_every_scenario_of_the_corpus_is_one() -> None:
    """With its rules; the numbers of `minimum` add up."""
    document = notes()
    assert [(each.name, each.rules) for each in load_corpus()] == [
        (each.name, each.rules) for each in document.vectors
    ]
    assert Counter(each.needs for each in document.vectors) == {
        each.needs: each.vectors for each in document.minimum
    }
    assert {need for each in document.vectors for need in each.needs} <= set(CAPABILITIES)


def test_the_shipped_loop_gives_these_answers() -> None:
    """What the specification answers is what a loop that conforms does, command by command."""
    server = Server(PythonSubject())
    for vector in notes().vectors[::6]:
        for command, answer in zip(vector.commands, vector.answers, strict=True):
            report: Any = server.answer_to(command)
            assert made.told(report, both=True) == answer, vector.name


def test_the_text_is_the_document() -> None:
    """It can be read back by the structs, by the decoder of the protocol, and by its schema."""
    text = made.text_of(notes())
    back = msgspec.json.decode(text, type=made.Vectors)
    assert back == notes()
    data = json.loads(text)
    for command in data["vectors"][0]["commands"]:
        DECODER.decode(json.dumps(command))
    for each in data["vectors"][::20]:
        part = {**data, "vectors": [each]}
        jsonschema.validate(part, schemas.read_schema("vectors.schema.json"))


def test_a_port_without_first_listener_or_assembly_has_vectors_too() -> None:
    """Their traces show neither."""
    document = made.vectors("notes", ("assemble-gate", "first-listener"))
    text = made.text_of(document)
    assert "assemble" not in {
        each["gate"] for v in document.vectors for a in v.answers for each in a["gates"]
    }
    assert '"by":"first","target"' not in text
    assert min(len(each.needs) for each in document.minimum) == 0


def test_a_foreign_profile_is_refused() -> None:
    """By its name."""
    with pytest.raises(KeyError):
        made.vectors("none")
