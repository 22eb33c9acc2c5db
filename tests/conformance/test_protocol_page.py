"""docs/protocol.md: its talks are had again, and no message of the protocol is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports import page, schemas
from loopspec.conformance.ports.meanings import CHOICES, VALUES
from loopspec.conformance.ports.vectors import vectors
from loopspec.conformance.ports.words import text_of
from loopspec.model import table_inbox
from loopspec.model.rows import REFUSED
from loopspec.model.words import CAUSES, ERROR_TEXTS, GATES
from tests.readme import code_blocks

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def talks() -> list[tuple[list[str], list[str]]]:
    """The lines of each talk on the page: commands, and answers put together again."""
    found = []
    for block in code_blocks(PAGE, "text"):
        lines = block.replace("\n    ", "").splitlines()
        asked = [line[2:] for line in lines if line.startswith("> ")]
        found.append((asked, [line[2:] for line in lines if line.startswith("< ")]))
    return found


@pytest.mark.parametrize("number", range(len(page.TALKS)))
def test_the_template_answers_as_the_page_says(number: int) -> None:
    """Every line, byte by byte: whoever types the commands sees these answers."""
    asked, answers = talks()[number]
    assert len(asked) == len(answers) > 2
    again = page.talk_with([line.encode() for line in asked])
    assert answers == [line.decode() for line in again]


def test_every_line_of_the_talks_fits_its_schema() -> None:
    """Commands by their own, answers by that of the command, without the checksum."""
    kinds = {kind: name for name, kind in wire.ANSWERS.items()}
    for asked, answers in talks():
        for line, answer in zip(asked, answers, strict=True):
            command, data = json.loads(line), json.loads(answer)
            if not isinstance(data.get("sum"), bool):
                data.pop("sum")
            kind = "failed" if "failed" in data else kinds[wire.ANSWER_OF[command["do"]]]
            jsonschema.validate(
                command, schemas.read_schema(f"command.{command['do']}.schema.json")
            )
            jsonschema.validate(data, schemas.read_schema(f"answer.{kind}.schema.json"))


def test_every_command_has_an_example_that_fits() -> None:
    """A command that is added to the protocol needs one, and a heading on the page."""
    assert list(page.SAMPLES) == list(wire.COMMANDS)
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^### `?([a-z-]+)`?$", text, re.MULTILINE)
    assert {*wire.COMMANDS, *wire.ANSWERS} <= set(headings)
    for name, command in page.SAMPLES.items():
        schema = schemas.read_schema(f"command.{name}.schema.json")
        jsonschema.validate(json.loads(text_of(command)), schema)
        assert text_of(command).decode() in text
    for name in (*wire.SEEN, "return", "settled", "opened", "made", "fault"):
        assert f"| `{name}` |" in text


def test_every_choice_of_every_gate_has_a_meaning() -> None:
    """In the order of the model, and none that it does not have."""
    assert {gate: tuple(choices) for gate, choices in CHOICES.items()} == GATES


def values_of(answers: Any) -> set[tuple[str, str]]:  # noqa: ANN401 - any JSON
    """Name and key of each entry in these answers, with the word under it."""
    entries = [entry for answer in answers for entry in answer["trace"]]
    keys = ("reason", "cause", "error", "outcome", "raised")
    return {
        (f"{key} {entry['saw']}", entry[key])
        for entry in entries
        for key in keys
        if isinstance(entry.get(key), str)
    }


def test_every_word_that_the_model_answers_with_has_a_meaning() -> None:
    """Those of the whole corpus, and those that its source names."""
    told = {
        (f"{key} {name}", value)
        for head, values in VALUES.items()
        for key, *names in [re.findall(r"`([^`]+)`", head)]
        for name in names
        for value in values
    }
    seen = {each for vector in vectors().vectors for each in values_of(vector.answers)}
    assert len(seen) > 15
    assert seen <= told
    raised = set()
    for path in Path(table_inbox.__file__).parent.glob("table_*.py"):
        raised |= set(re.findall(r'EndCall\([^)]*"([a-z-]+)"\)', path.read_text(encoding="utf-8")))
    words = {("raised return", each) for each in raised | set(REFUSED)}
    words |= {("cause turn/end", each) for each in CAUSES}
    words |= {("error agent/error", each) for each in {*ERROR_TEXTS.values(), *REFUSED}}
    assert len(raised) > 4
    assert words <= told
    assert {each for each in told if each[0] == "raised return"} <= words
