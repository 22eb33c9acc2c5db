"""Every fault of the table is told apart from the shipped table, or equivalent for a reason."""

from collections import Counter
from itertools import count

import pytest

from loopspec.conformance.mutants import TableMutant, load_table_mutants
from loopspec.conformance.mutants.registry import (
    LINES_MAX,
    apply_edit,
    find_table_mutant,
    mutated_beside,
    mutated_part,
    source_of,
)
from loopspec.conformance.mutants.table import machine_of, refused_transcripts, told_apart
from loopspec.conformance.rules import load_rules
from loopspec.model.differ import Parted
from loopspec.model.playback import play
from loopspec.model.policy import NOTES
from loopspec.model.scenario import parse_scenario
from tests.conformance import transcripts_at_hand as at_hand

MUTANTS = load_table_mutants()
IDS = [mutant.id for mutant in MUTANTS]
APART = [mutant for mutant in MUTANTS if mutant.witness]
SEARCHED = (
    "turns-by-twos",
    "claim-the-newest",
    "no-latch-under-an-abort",
    "steering-does-not-wake",
)
"""Mutants whose shortest scenario is searched again here; the search is quick for these."""

MOVES_MAX = 2_000
"""A play that has not come to rest after so many moves never will."""

LENGTH_MAX = 8
"""Lines of a witness."""


def length(mutant: TableMutant) -> int:
    """Calls and answers of the witness."""
    return len(parse_scenario(mutant.witness))


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_every_fault_is_one_small_edit_that_applies(mutant: TableMutant) -> None:
    """A fault whose anchor is lost would be equivalent for ever."""
    assert mutant.file.startswith("model/table_")
    assert apply_edit(mutant, source_of(mutant)) != source_of(mutant)
    assert max(len(mutant.anchor.splitlines()), len(mutant.replacement.splitlines())) <= LINES_MAX
    assert mutant.sentence.endswith(".")
    assert set(mutant.rules) <= load_rules().keys()


@pytest.mark.parametrize("mutant", APART, ids=[mutant.id for mutant in APART])
def test_the_witness_tells_the_fault_from_the_shipped_table(mutant: TableMutant) -> None:
    """Played on both, under the profile of its header."""
    scenario = parse_scenario(mutant.witness)
    copy = mutated_part("model", mutant)
    shipped = play(scenario)
    moves = count()

    def move(session: object) -> object:
        """As the table, for as long as a play may take."""
        assert next(moves) < MOVES_MAX, "it goes on for ever"
        return copy.table.move(session)

    copy.playback.move = move
    try:
        faulty = copy.playback.play(copy.scenario.parse_scenario(mutant.witness)).trace
    except AssertionError as error:  # the table breaks its own rules
        faulty = str(error)

    assert shipped.trace != faulty
    assert shipped.skipped == ()
    assert 1 <= len(scenario) <= LENGTH_MAX


def test_the_faults_are_many_and_few_of_them_are_equivalent() -> None:
    """What is equivalent says why, and in which scopes it was searched."""
    lengths = sorted(length(mutant) for mutant in APART)
    equivalent = [mutant for mutant in MUTANTS if not mutant.witness]

    assert len(APART) >= 40
    assert lengths[len(lengths) // 2] <= 4
    assert all("narrow scopes" in mutant.equivalent for mutant in equivalent)
    assert not [mutant.id for mutant in APART if mutant.equivalent]
    assert len(set(IDS)) == len(IDS)
    edits = Counter((mutant.file, mutant.anchor, mutant.replacement) for mutant in MUTANTS)
    assert 1 == max(edits.values())


@pytest.mark.parametrize("name", SEARCHED)
def test_the_search_finds_a_scenario_of_the_pinned_length(name: str) -> None:
    """What is pinned is what the search finds."""
    mutant = find_table_mutant(name)
    found = told_apart(mutant)

    assert isinstance(found, Parted)
    assert length(mutant) == len(found.scenario)


def test_a_faulty_table_has_the_policy_that_it_is_given() -> None:
    """In the classes of its own import."""
    machine = machine_of(find_table_mutant("turns-by-twos"), NOTES)

    assert NOTES.wakes == machine.policy.wakes
    assert machine.policy is not NOTES
    assert machine.table is not None


def test_what_uses_the_model_is_bound_to_the_faulty_one() -> None:
    """And only the copy is."""
    from loopspec.conformance import transcripts

    copy = mutated_beside("loopspec.conformance.transcripts", find_table_mutant("turns-by-twos"))

    assert copy is not transcripts
    assert copy.check_transcript is not transcripts.check_transcript


def test_transcripts_refuse_as_many_as_is_pinned() -> None:
    """For one fault; the page was measured for all of them."""
    mutant = find_table_mutant("claim-before-the-turn")

    assert mutant.transcripts == refused_transcripts(mutant, at_hand.folder())
