"""The one function that makes a subject's strings safe to show."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopspec.reports.text import clean, clean_lines

FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("##[error]x", "#\\x23[error]x"),
        ("##VSO[task]", "#\\x23VSO[task]"),
        ("## a heading", "## a heading"),
        ("größe → \u00a0 日本", "größe → \u00a0 日本"),
    ],
)
def test_what_acts_on_a_reader_is_shown_and_the_rest_kept(text: str, shown: str) -> None:
    """Control, format and separator characters are spelled out; letters of any script are not."""
    assert shown == clean(text)


def test_a_long_text_says_how_much_is_missing() -> None:
    """The cut is counted in characters of the original."""
    assert "aaa… (7 more)" == clean("a" * 10, limit=3)


@given(st.text(st.characters()))
def test_nothing_that_acts_on_a_terminal_survives(text: str) -> None:
    """Whatever the text, what is left prints and stays on one line."""
    assert not FORBIDDEN.search(clean(text))


@given(st.text(st.characters()))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    """A sink behind a sink does no harm."""
    once = clean(text, 10_000)

    assert once == clean(once, 100_000)


def test_lines_are_kept_and_counted() -> None:
    """A scenario stays a list of lines; too many are counted."""
    assert ["a", "b\\x1b"] == clean_lines("a\nb\x1b\n")
    assert ["a", "… (2 more lines)"] == clean_lines("a\nb\nc", lines_max=1)
