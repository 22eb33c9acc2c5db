"""Every mutant dies on its witness, for the reason that it is filed under, and is no wreck."""

import os
from collections import defaultdict
from functools import cache
from types import ModuleType

import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.judge import TRACE
from loopspec.conformance.mutants import Mutant, find_mutant, load_mutants, mutated_impl
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import Scenario, parse_scenario

NIGHT = bool(os.environ.get("LOOPSPEC_NIGHT"))
"""Whether there is time for all of it."""

WITNESS_LENGTH_MAX = 6
"""Calls plus answers."""

CORPUS = load_corpus()
SAMPLED = sorted(CORPUS, key=lambda entry: len(entry.scenario))[:: 1 if NIGHT else 6]
"""Every sixth entry, the short ones first; `make night` asks all of them."""

MUTANTS = load_mutants()
IDS = [mutant.id for mutant in MUTANTS]


@cache
def mutated(mutant_id: str) -> ModuleType:
    """One copy of the implementation for all tests of a mutant."""
    return mutated_impl(mutant_id)


def run(mutant: Mutant, scenario: Scenario, inclusion: bool = True) -> Outcome:
    """One scenario on the loop with that fault."""
    return run_scenario(PythonSubject(impl=mutated(mutant.id)), scenario, inclusion=inclusion)


@cache
def codes_of(mutant: Mutant) -> frozenset[str]:
    """What the properties report of the witness by themselves."""
    outcome = run(mutant, parse_scenario(mutant.witness), inclusion=False)
    return frozenset(finding.code for finding in outcome.findings)


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_the_witness_is_red_on_the_mutant_and_green_on_the_shipped_loop(mutant: Mutant) -> None:
    """The fault is in the edit alone, and every line of the witness is made."""
    witness = parse_scenario(mutant.witness)
    shipped = run_scenario(PythonSubject(), witness)

    assert run(mutant, witness).findings
    assert shipped.findings == ()
    assert all(shipped.made)
    assert len(witness) <= WITNESS_LENGTH_MAX


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_the_code_reports_the_witness_without_inclusion(mutant: Mutant) -> None:
    """A mutant counts for a property only if the property sees it by itself."""
    if mutant.code == TRACE:
        assert codes_of(mutant) == set()
    else:
        assert mutant.code in codes_of(mutant)


def test_each_property_has_a_mutant_that_it_alone_reports() -> None:
    """Otherwise it could be deleted and nobody would notice."""
    alone = {codes_of(mutant) for mutant in MUTANTS if len(codes_of(mutant)) == 1}

    assert alone == {frozenset({each.code}) for each in PROPERTIES}


def test_the_canary_dies_of_almost_anything() -> None:
    """Whatever a run looks at, it must find the canary."""
    canary = find_mutant("canary")
    for entry in CORPUS:
        outcome = run(canary, entry.scenario)
        turns = any(name == "turn/start is told" for name in outcome.rows)
        assert bool(outcome.findings) or not turns


@pytest.mark.parametrize("mutant", MUTANTS[1:], ids=IDS[1:])
def test_a_mutant_leaves_half_of_the_corpus_green(mutant: Mutant) -> None:
    """What breaks nearly every run says nothing about the suite."""
    enough = len(SAMPLED) - len(SAMPLED) // 2
    green = 0
    for position, entry in enumerate(SAMPLED):
        green += not run(mutant, entry.scenario).findings
        if green >= enough or position + 1 - green > len(SAMPLED) - enough:
            break

    assert green >= enough


def test_every_entry_of_the_corpus_is_red_on_its_mutants() -> None:
    """Each entry finds every mutant that it names."""
    green = defaultdict(list)
    for entry in CORPUS:
        for mutant_id in entry.red_on:
            if not run(find_mutant(mutant_id), entry.scenario).findings:
                green[entry.name].append(mutant_id)

    assert not green


def test_every_mutant_is_named_by_an_entry_of_the_corpus() -> None:
    """The canary is not: it is there for the judge, not for the loop."""
    named = {mutant_id for entry in CORPUS for mutant_id in entry.red_on}

    assert named == set(IDS) - {"canary"}
