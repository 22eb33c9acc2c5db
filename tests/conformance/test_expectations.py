"""Expectations of a port: known findings stand apart, and the file never says less than it can."""

from __future__ import annotations

import attrs
import pytest

from loopspec.conformance.expectations import ExpectationError, parse_expectations
from loopspec.conformance.judge import Finding

FILE = """
[[failing]]
pattern = "CN-11/notes/*/*"
reason = "no cause yet"

[[flaky]]
pattern = "**/random/**"
reason = "threads"
"""


def finding(*rules: str) -> Finding:
    """A finding that cites these rules."""
    return Finding("TRACE", rules, (), "", "", (), 0)


def test_a_rule_a_profile_and_a_scenario_name_a_finding() -> None:
    """A star ends at a slash, two do not."""
    known = parse_expectations(FILE)
    assert known.expected(finding("CN-10", "CN-11"), "notes", "corpus/a")
    assert not known.expected(finding("CN-11"), "dsh-0.1", "corpus/a")
    assert not known.expected(finding("CN-11"), "notes", "plain")
    assert known.expected(finding("IN-02"), "notes", "random/7/1")


def test_what_must_fail_and_passes_is_told() -> None:
    """So that a file is shortened when a port gets better; what is flaky may do either."""
    known = parse_expectations(FILE)
    known.ran("notes", "corpus/a")
    known.ran("notes", "random/7/1")
    assert [] == known.idle()
    assert ["expected to fail, and passed 1 times: CN-11/notes/*/* (no cause yet)"] == (
        known.passes()
    )
    known.expected(finding("CN-11"), "notes", "corpus/a")
    assert [] == known.passes()


def test_a_pattern_of_nothing_is_an_error() -> None:
    """A renamed scenario, say."""
    known = parse_expectations(FILE)
    known.ran("dsh-0.1", "corpus/a")
    assert len(known.idle()) == 2
    assert "'CN-11/notes/*/*', which matches nothing" in known.idle()[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[failing]", "expected TOML"),
        ("[[broken]]\n", "expected tables failing and flaky, got 'broken'"),
        ("failing = 3\n", "expected [[failing]]"),
        ('[[failing]]\npattern = "CN-11/notes/*"\n', "expected a text as reason"),
        ('[[failing]]\npattern = "CN-11"\nreason = "x"\n', "RULE/PROFILE/SCENARIO"),
        ('[[failing]]\npattern = "XX-1/notes/*"\nreason = "x"\n', "got 'XX-1'"),
        ('[[failing]]\npattern = "CN-11/note/*"\nreason = "x"\n', "expected a profile"),
        ('[[failing]]\npattern = "CN-11/notes/*"\nreason = "x"\nwhy = 1\n', "got 'why'"),
        ("failing = [3]\n", "expected a table in failing"),
    ],
)
def test_what_is_no_such_file_is_one_sentence(text: str, words: str) -> None:
    """What was expected, and what came."""
    with pytest.raises(ExpectationError) as caught:
        parse_expectations(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_names_a_property_excuses_that_alone() -> None:
    """A rule is about the first finding and what follows; a code is about itself."""
    trace, order = finding("CN-11"), attrs.evolve(finding("IN-02"), code="ORDER")
    by_rule = parse_expectations('[[failing]]\npattern = "CN-11/**"\nreason = "x"\n')
    assert by_rule.excuse((trace, order), "notes", "corpus/a")
    by_code = parse_expectations('[[failing]]\npattern = "TRACE/**"\nreason = "x"\n')
    assert by_code.excuse((trace,), "notes", "corpus/a")
    assert not by_code.excuse((trace, order), "notes", "corpus/a")
