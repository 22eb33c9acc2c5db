"""The corpus as data: one file a scenario, with what it is about in comment lines at its head.

Rules of this file. A corpus file is an ordinary scenario, so it can be replayed as it is. Its first
lines are comments: a title of one sentence, then `rules:` (ids of the contract), `source:` (a
probe, a fault of the past, a report from the field, or a phrase) and `red on:` (mutants that have
the fault). Each entry is green on the specification and on the shipped loop; no two take the same
set of rows. The file's name without its suffix is the entry's name.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from loopspec.model.scenario import Scenario, ScenarioError, parse_scenario

__all__ = ["SUFFIX", "CorpusEntry", "CorpusError", "load_corpus", "parse_entry"]

SUFFIX: Final = ".scenario"
KEYS: Final = ("rules", "source", "red on")
"""What the comment lines behind the title say, in this order."""

NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RULE: Final = re.compile(r"[A-Z]{2}-[0-9]{2}")


class CorpusError(ValueError):
    """A corpus file that cannot be read; the text says what was expected, what came and where."""


@attrs.frozen
class CorpusEntry:
    """One scenario with what it is about.

    `red_on` names mutants that this scenario finds; `source` says where it comes from.
    """

    name: str
    title: str
    rules: tuple[str, ...]
    source: str
    red_on: tuple[str, ...]
    scenario: Scenario


@cache
def load_corpus() -> tuple[CorpusEntry, ...]:
    """Every entry, ordered by name; raises CorpusError with one sentence for the first bad file."""
    found = sorted(
        (file.name.removesuffix(SUFFIX), file)
        for file in files(__package__).iterdir()
        if file.name.endswith(SUFFIX)
    )
    return tuple(parse_entry(name, file.read_text(encoding="utf-8")) for name, file in found)


def parse_entry(name: str, text: str) -> CorpusEntry:
    """Read one corpus file; raises CorpusError with one sentence that names the entry."""
    if not NAME.fullmatch(name):
        msg = f"{name}: expected a name of small letters and digits joined by '-', got {name!r}"
        raise CorpusError(msg)
    head = [line.removeprefix("#").strip() for line in text.split("\n")[: 1 + len(KEYS)]]
    title = head[0]
    if not text.startswith("# ") or not title.endswith("."):
        msg = f"{name}: expected a sentence behind '# ' in line 1, got {text[:60]!r}"
        raise CorpusError(msg)
    values = [_value(name, number, key, head) for number, key in enumerate(KEYS, 2)]
    rules, source, red_on = values[0].split(), values[1], values[2].split()
    for rule in rules:
        if not RULE.fullmatch(rule):
            raise CorpusError(f"{name}: expected rule ids such as CL-03 in line 2, got {rule!r}")
    try:
        scenario = parse_scenario(text, name)
    except ScenarioError as error:
        raise CorpusError(str(error)) from error
    if not scenario.lines:
        raise CorpusError(f"{name}: expected at least one call or answer, got none")
    return CorpusEntry(name, title, tuple(rules), source, tuple(red_on), scenario)


def _value(name: str, number: int, key: str, head: list[str]) -> str:
    """What the comment line of that number says under its key."""
    came = head[number - 1] if number <= len(head) else ""
    found, colon, value = came.partition(":")
    if found != key or not colon or not value.strip():
        msg = f"{name}: expected '# {key}: ...' in line {number}, got {came!r}"
        raise CorpusError(msg)
    return value.strip()
