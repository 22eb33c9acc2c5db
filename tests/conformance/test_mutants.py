"""Every mutant applies, imports, and stays apart from the original and from other mutants."""

import importlib
import sys

import attrs
import pytest

import loopspec.conformance.judge  # noqa: F401  (a module that is there before a copy is made)
from loopspec.conformance.mutants import registry
from loopspec.conformance.mutants.registry import (
    LINES_MAX,
    PROPERTIES,
    LogMutant,
    Mutant,
    MutantError,
    apply_edit,
    find_mutant,
    late_imports,
    load_log_mutants,
    load_mutants,
    mutated_beside,
    mutated_impl,
    mutated_part,
    source_of,
)
from loopspec.model.scenario import parse_scenario

WITNESS_LENGTH_MAX = 6
"""Calls plus answers."""

MUTANTS = load_mutants()
IDS = [mutant.id for mutant in MUTANTS]

FAULT = Mutant(
    id="fault",
    file="model/words.py",
    anchor='NEXT_STEP: Final = "next-step"',
    replacement='NEXT_STEP: Final = "next-stop"',
    sentence="A word is spelled wrongly.",
    code="ORDER",
    rules=("IN-01",),
    witness="",
)


def own_modules() -> dict[str, object]:
    """What `sys.modules` holds of ours."""
    return {name: module for name, module in sys.modules.items() if name.startswith("loopspec")}


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_every_anchor_is_found_once_and_the_part_imports(mutant: Mutant) -> None:
    """A mutant that no longer applies would survive for ever."""
    assert apply_edit(mutant, source_of(mutant)) != source_of(mutant)
    assert mutated_part(mutant.part, mutant).__name__ == f"loopspec.{mutant.part}"


def test_ids_are_unique_and_edits_are_distinct() -> None:
    """No two entries name or make the same fault."""
    assert len(IDS) == len(set(IDS))
    edits = [(mutant.file, mutant.anchor, mutant.replacement) for mutant in MUTANTS]
    assert len(edits) == len(set(edits))


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_every_mutant_says_what_it_breaks(mutant: Mutant) -> None:
    """A sentence, a property code and at least one rule."""
    assert mutant.sentence.endswith(".")
    assert mutant.code in PROPERTIES
    assert mutant.rules
    assert max(len(mutant.anchor.splitlines()), len(mutant.replacement.splitlines())) <= LINES_MAX


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_every_witness_is_a_short_scenario(mutant: Mutant) -> None:
    """It can be pasted into `replay` unchanged, and has at most six actions."""
    witness = parse_scenario(mutant.witness)

    assert str(witness) == mutant.witness
    assert 1 <= len(witness) <= WITNESS_LENGTH_MAX


def test_the_registry_has_its_canary_and_enough_mutants() -> None:
    """The canary runs in every check; the named faults of the first issue are there."""
    assert {"canary", "requeue-on-reject"} <= set(IDS)
    assert len(MUTANTS) >= 25


def test_no_mutated_part_imports_itself_late() -> None:
    """A late import inside a copy would find the original."""
    assert late_imports("impl") == ()


def test_a_copy_is_mutated_as_a_whole_and_leaves_the_original_alone() -> None:
    """Names that other modules of the part import are those of the copy, and only there."""
    original = importlib.import_module("loopspec.model.words")
    before = own_modules()
    copy = mutated_part("model", FAULT)

    assert own_modules() == before
    assert copy.words.NEXT_STEP == "next-stop"
    assert original.NEXT_STEP == "next-step"
    assert importlib.import_module("loopspec.model.words") is original
    assert copy.words.Message is not original.Message
    assert sys.modules["loopspec"].model is sys.modules["loopspec.model"]


def test_a_module_beside_a_mutated_model_leaves_every_shipped_module_where_it_was() -> None:
    """Whoever imports the model later must find the one that was there before."""
    before = own_modules()
    copy = mutated_beside("loopspec.conformance.judge", FAULT)

    assert own_modules() == before
    assert copy is not before["loopspec.conformance.judge"]
    assert sys.modules["loopspec"].model is sys.modules["loopspec.model"]


def test_two_copies_are_alive_at_once() -> None:
    """Each copy keeps its own fault."""
    other = attrs.evolve(FAULT, id="other", replacement='NEXT_STEP: Final = "other"')
    first, second = mutated_part("model", FAULT), mutated_part("model", other)

    assert (first.words.NEXT_STEP, second.words.NEXT_STEP) == ("next-stop", "other")
    assert mutated_part("model").words.NEXT_STEP == "next-step"


def test_a_part_that_was_never_imported_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy does not become the part by being the first one imported."""
    for name in [name for name in sys.modules if registry._inside("loopspec.model", name)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("loopspec.model", raising=False)
    mutated_part("model", FAULT)

    assert not [name for name in sys.modules if registry._inside("loopspec.model", name)]
    assert not hasattr(sys.modules["loopspec"], "model")


def test_sys_modules_is_restored_when_the_copy_does_not_import() -> None:
    """A mutant that is no Python fails with its own error, and nothing stays behind."""
    before = own_modules()
    with pytest.raises(SyntaxError):
        mutated_part("model", attrs.evolve(FAULT, replacement="NEXT_STEP: ="))

    assert own_modules() == before


@pytest.mark.parametrize(
    ("anchor", "found"), [("no such text", "is not in"), ("Final", "times in model/words.py")]
)
def test_a_lost_or_ambiguous_anchor_is_an_error(anchor: str, found: str) -> None:
    """One sentence tells the mutant, the file and what was found."""
    with pytest.raises(MutantError, match=found):
        mutated_part("model", attrs.evolve(FAULT, anchor=anchor))


def test_a_missing_file_is_an_error() -> None:
    """Also when the folder is missing."""
    for file in ("model/nowhere.py", "model/no/where.py"):
        with pytest.raises(MutantError, match="no such module"):
            mutated_part("model", attrs.evolve(FAULT, file=file))


def test_a_mutant_of_another_part_is_refused() -> None:
    """A fault that is not applied would be a survivor."""
    with pytest.raises(MutantError, match="not in part impl"):
        mutated_part("impl", FAULT)


def test_an_unknown_mutant_lists_the_known_ones() -> None:
    """The error says what can be asked for."""
    with pytest.raises(MutantError, match="canary"):
        find_mutant("no-such-mutant")
    with pytest.raises(MutantError, match="canary"):
        mutated_impl("no-such-mutant")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"anchor": "a\nb\nc\nd"}, "1 to 3 lines"),
        ({"replacement": "a"}, "1 to 3 lines"),
        ({"code": "NICE"}, "no property code"),
        ({"colour": "red"}, "unknown keys: colour"),
    ],
)
def test_a_malformed_entry_is_an_error(change: dict[str, object], complaint: str) -> None:
    """The file is checked when it is read."""
    table: dict[str, object] = {
        "id": "x",
        "file": "impl/loop.py",
        "anchor": "a",
        "replacement": "b",
        "sentence": "S.",
        "code": "BAL",
        "rules": ["TB-01"],
        "witness": "followup A",
    }
    assert registry._from_table(table).module == "loopspec.impl.loop"
    with pytest.raises(MutantError, match=complaint):
        registry._from_table(table | change)


@pytest.mark.parametrize("mutant", load_log_mutants(), ids=[each.id for each in load_log_mutants()])
def test_every_mutant_of_the_log_applies_and_is_none_of_the_loop(mutant: LogMutant) -> None:
    """Its anchor is found once, and no id means two faults."""
    assert apply_edit(mutant, source_of(mutant)) != source_of(mutant)
    assert mutant.sentence.endswith(".")
    assert mutant.id not in IDS


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"code": "BAL"}, "no law of the log"),
        ({"trial": "luck"}, "the trials are power cuts"),
        ({"witness": "followup A"}, "unknown keys: witness"),
    ],
)
def test_a_malformed_mutant_of_the_log_is_an_error(
    change: dict[str, object], complaint: str
) -> None:
    """It names a law and a trial, and has no witness."""
    table: dict[str, object] = {
        "id": "x",
        "file": "impl/log.py",
        "anchor": "a",
        "replacement": "b",
        "sentence": "S.",
        "code": "BOUND",
        "rules": [],
        "trial": "slow reader",
    }
    assert "slow reader" == registry._from_table(table, LogMutant).trial
    with pytest.raises(MutantError, match=complaint):
        registry._from_table(table | change, LogMutant)
