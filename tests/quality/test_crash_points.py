"""Every scenario of the corpus, cut at every durable append: die there, refuse it, go on.

A crash inside the delivery of a record is made by the first listener (nobody else knows of the
record yet) or by the last one (everybody does), and one tick later. What is left of the scenario
runs on the session that is opened from the log. Whatever that is, some session of the model must
explain it and every law must hold.
"""

import os
from collections.abc import Iterator
from typing import Final

import attrs
import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import Line, Scenario, Window
from loopspec.model.words import FIRST, LAST, RECORDS, Call, Observation

NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
"""Whether there is time for all of it."""

CORPUS: Final = load_corpus()[:: 1 if NIGHT else 3]
"""Every third entry; `make night` cuts all of them."""

PARTS: Final = 8
"""The corpus is tried in parts, so that a failure is near its entry."""


def appends(scenario: Scenario) -> Iterator[tuple[str, int]]:
    """Each record that the shipped loop appends in a scenario, by name and number."""
    counts: dict[str, int] = {}
    for entry in run_scenario(PythonSubject(), scenario).trace:
        if isinstance(entry, Observation) and entry.kind == "record" and entry.listener == FIRST:
            counts[entry.name] = counts.get(entry.name, 0) + 1
            yield entry.name, counts[entry.name]


def dying(scenario: Scenario, window: Window) -> Scenario:
    """The scenario with a crash in a window, and a flushed delivery and a crash behind it all."""
    lines = (Line(Call("crash"), window), *scenario.lines, Line(Call("flush")), Line(Call("crash")))
    return attrs.evolve(scenario, lines=lines)


def windows(name: str, number: int) -> Iterator[Window]:
    """Before anybody else knows of the record, once all do, and a tick later."""
    yield Window("in", name, number, FIRST)
    yield Window("in", name, number, LAST)
    yield Window("after", name, number, "", 1)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_at_every_append_of_the_corpus_is_survived(part: int) -> None:
    """No finding, whichever append it was; the crash happened in each run."""
    tried = 0
    for entry in CORPUS[part::PARTS]:
        for name, number in appends(entry.scenario):
            for window in windows(name, number):
                outcome = run_scenario(PythonSubject(), dying(entry.scenario, window))
                assert () == outcome.findings, f"{entry.name}: {window}"
                assert outcome.made[0] or "crash" in str(entry.scenario)
                tried += 1
    assert 120 <= tried


@pytest.mark.parametrize("part", range(PARTS))
def test_a_refusal_of_every_append_of_the_corpus_is_survived(part: int) -> None:
    """Each append is refused once; nothing is found, and a crash behind it opens the log.

    Scenarios with faults of their own are left out: what a crash leaves behind two refused ends,
    of a step and of its turn, is not specified.
    """
    tried = 0
    for entry in CORPUS[part::PARTS]:
        if "refuse" in str(entry.scenario):
            continue
        for name, number in appends(entry.scenario):
            if number > 1 or name not in RECORDS:
                continue
            lines = (Line(Call("refuse", (name,))), *entry.scenario.lines, Line(Call("crash")))
            outcome = run_scenario(PythonSubject(), attrs.evolve(entry.scenario, lines=lines))
            assert () == outcome.findings, f"{entry.name}: {name}"
            tried += 1
    assert 15 <= tried
