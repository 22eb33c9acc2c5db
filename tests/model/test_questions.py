"""Each open question and each registered deviation is answered in a place that exists."""

import re
import tomllib
from pathlib import Path

import pytest

from loopspec.model.deviations import CHOICES, DEVIATIONS
from loopspec.model.policy import NOTES, PROFILES
from loopspec.model.questions import LAST, PLACES, QUESTIONS, Question
from loopspec.model.table import TABLE

ROOT = Path(__file__).resolve().parents[2]
RULES = tomllib.loads(
    (ROOT / "conformance/loopspec/conformance/rules.toml").read_text(encoding="utf-8")
)


def test_the_three_ranges_are_whole_and_in_order() -> None:
    """Δ, A and LB, each from one to its last."""
    digits = {"Δ": 1, "A": 1, "LB-": 2}
    expected = [
        f"{kind}{number:0{digits[kind]}}"
        for kind, last in LAST.items()
        for number in range(1, last + 1)
    ]

    assert expected == [each.id for each in QUESTIONS]
    assert {each.place for each in QUESTIONS} == set(PLACES)
    assert len({each.says for each in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("each", QUESTIONS, ids=lambda each: each.id)
def test_its_place_exists_and_names_it(each: Question) -> None:
    """A field is registered under the id, a rule's note and a decision speak of it."""
    if each.place == "field":
        assert each.id in DEVIATIONS[each.where]
    elif each.place == "row":
        assert each.where in {row.key for row in TABLE}
    elif each.place == "rule":
        assert re.search(rf"{each.id}(?!\d)", RULES[each.where].get("note", ""))
    elif each.place == "decision":
        (note,) = (ROOT / "docs" / "decisions").glob(f"{each.where}-*.md")
        assert re.search(rf"{each.id}(?!\d)", note.read_text(encoding="utf-8"))


def test_each_field_of_the_policy_is_registered() -> None:
    """Under questions of this list, or under rules where none of them speaks of it."""
    known = {each.id for each in QUESTIONS} | RULES.keys()

    assert DEVIATIONS.keys() == CHOICES.keys()
    for field, ids in DEVIATIONS.items():
        assert ids, field
        assert set(ids) <= known, field


def test_each_value_of_a_profile_is_one_of_its_field() -> None:
    """The one of the notes first."""
    for field, values in CHOICES.items():
        assert values[0] == getattr(NOTES, field)
        assert {getattr(policy, field) for policy in PROFILES.values()} <= set(values)
