"""A scenario on the specification and on a subject, side by side."""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from loopspec.conformance.diagram import is_echo
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.model.describe import entry_text
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import Scenario
from loopspec.model.words import Entry

__all__ = ["Pair", "SideBySide", "alone", "replay_scenario"]


class Pair(NamedTuple):
    """One line of a replay: what the model has, what the subject did, whether they agree."""

    model: str
    subject: str
    same: bool


class SideBySide(NamedTuple):
    """A replay: its lines, the subject's outcome, and the index at which the two part."""

    pairs: tuple[Pair, ...]
    outcome: Outcome
    expected: Outcome
    parted: int | None


def replay_scenario(
    factory: SubjectFactory, scenario: Scenario, profile: str | None = None
) -> SideBySide:
    """Run a scenario on the model and on a subject and lay the traces side by side.

    Where both agree, a delivery to the last listener right behind that to the first is left out.
    """
    name = profile or scenario.profile
    expected = run_scenario(ModelSubject(PROFILES[name]), scenario, profile=name)
    outcome = run_scenario(factory(), scenario, profile=name)
    pairs: list[Pair] = []
    parted: int | None = None
    for index, (left, right) in enumerate(zip_longest(expected.trace, outcome.trace)):
        same = left == right
        if same and index and is_echo(expected.trace[index - 1], left):
            continue
        if not same and parted is None:
            parted = len(pairs)
        pairs.append(Pair(line(left), line(right), same))
    return SideBySide(tuple(pairs), outcome, expected, parted)


def alone(outcome: Outcome) -> SideBySide:
    """A replay that was judged without the model, whose column stays empty."""
    pairs = [
        Pair("", line(entry), True)
        for index, entry in enumerate(outcome.trace)
        if not (index and is_echo(outcome.trace[index - 1], entry))
    ]
    return SideBySide(tuple(pairs), outcome, outcome, None)


def line(entry: Entry | None) -> str:
    """One entry, or nothing where a column has ended."""
    return "" if entry is None else entry_text(entry)
