"""The rule list is complete, well formed, and the page made from it is current."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from loopspec.conformance.evidence import (
    LOOP_GROUPS,
    evidence_of,
    is_checked,
    is_of_the_loop,
    reported_when_damaged,
    shown,
)
from loopspec.conformance.rules import (
    GROUPS,
    HOMES,
    STAGES,
    Rule,
    RulesError,
    load_rules,
    parse_rules,
    render_page,
    rules_of,
)
from loopspec.conformance.trace.relations import load_damages
from loopspec.model.scenario import parse_scenario

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "rules.md"

# The contract numbers the rules of each group from 1 without a gap; this is its last number.
LAST_NUMBERS: Final = {
    "IN": 16,
    "SP": 8,
    "ID": 11,
    "LN": 11,
    "CL": 13,
    "RT": 18,
    "DR": 12,
    "TB": 18,
    "PS": 25,
    "ST": 23,
    "TC": 12,
    "OF": 6,
    "TS": 10,
    "CN": 17,
    "WL": 14,
    "MN": 10,
    "WI": 7,
    "DI": 11,
    "ER": 11,
    "RE": 13,
    "RS": 12,
    "CW": 6,
    "SL": 7,
    "HM": 11,
    "RP": 14,
    "CM": 10,
    "UI": 17,
    "WC": 10,
    "PL": 9,
    "CK": 8,
    "CO": 6,
}

# In these places the contract itself leaves the order of its numbers.
MOVED: Final = {
    "TC": ("TC-12", "TC-11"),
    "CN": ("CN-17", "CN-16"),
    "WL": ("WL-14", "WL-13"),
    "PL": ("PL-09", "PL-04"),
}

# Where the profile `notes` overrides what the contract says of the upstream snapshot.
OVERRIDDEN: Final = (
    *("CN-11", "DI-07", "DR-09", "DR-11", "RE-03", "RE-06", "RE-07", "RE-13", "RT-10"),
    *("RP-04", "RP-05", "RP-06", "RP-07", "RP-08", "UI-16", "WL-06", "WL-07"),
)

TABLE: Final = '[IN-01]\nsays = "A fact."\nhome = "model"\nstage = "slice"\n'


def every_rule() -> list[Rule]:
    """Give all rules in order."""
    return list(load_rules().values())


def test_there_are_376_rules() -> None:
    """The pinned ranges and the list agree on the size of the contract."""
    assert sum(LAST_NUMBERS.values()) == len(load_rules()) == 376


def test_groups_come_in_the_order_of_the_contract() -> None:
    """Groups are contiguous and ordered as pinned."""
    assert list(LAST_NUMBERS) == list(GROUPS)
    assert list(LAST_NUMBERS) == list(dict.fromkeys(rule.prefix for rule in every_rule()))
    assert every_rule() == [rule for prefix in GROUPS for rule in rules_of(prefix)]


@pytest.mark.parametrize("prefix", LAST_NUMBERS)
def test_group_is_complete(prefix: str) -> None:
    """Each number of the group occurs once."""
    expected = [f"{prefix}-{number:02}" for number in range(1, LAST_NUMBERS[prefix] + 1)]
    assert expected == sorted(rule.id for rule in rules_of(prefix))


@pytest.mark.parametrize("prefix", LAST_NUMBERS)
def test_group_is_in_the_order_of_the_contract(prefix: str) -> None:
    """Numbers rise, but for the one that the contract puts before its place."""
    ids = [rule.id for rule in rules_of(prefix)]
    expected = sorted(ids)
    if prefix in MOVED:
        early, follower = MOVED[prefix]
        expected.remove(early)
        expected.insert(expected.index(follower), early)
    assert expected == ids


def test_each_rule_is_one_short_sentence() -> None:
    """One period at the end, none before it but inside a wire name, at most 160 characters."""
    sentence = re.compile(r"\S(?:[^.!?\n]|\.(?=\w))*\.")
    odd = [rule.id for rule in every_rule() if not sentence.fullmatch(rule.says)]
    long = [rule.id for rule in every_rule() if len(rule.says) > 160]
    assert (odd, long) == ([], [])


def test_no_sentence_occurs_twice() -> None:
    """Two rules that say the same would be one rule."""
    sentences = [rule.says.casefold() for rule in every_rule()]
    assert sorted(set(sentences)) == sorted(sentences)


def test_no_sentence_calls_the_provider_a_model() -> None:
    """The glossary keeps the word model for the state machine, which no rule speaks of."""
    assert not [rule.id for rule in every_rule() if re.search(r"\bmodel", rule.says, re.I)]


def test_home_and_stage_are_known() -> None:
    """Every home and stage is used, and none but these."""
    assert set(HOMES) == {rule.home for rule in every_rule()}
    assert set(STAGES) == {rule.stage for rule in every_rule()}


def test_out_of_scope_is_never_and_gives_its_reason() -> None:
    """Home out and stage never go together, and both need a note."""
    for rule in every_rule():
        assert (rule.home == "out") == (rule.stage == "never"), rule.id
        assert rule.home not in {"out", "port"} or rule.note, rule.id


def test_port_rules_wait_for_other_subjects() -> None:
    """A rule that our own loop cannot show is not checked before there are other subjects."""
    assert {"any-loop"} == {rule.stage for rule in every_rule() if rule.home == "port"}


@pytest.mark.parametrize("id_", OVERRIDDEN)
def test_override_is_noted(id_: str) -> None:
    """Where the profile differs from the snapshot, the note names the difference."""
    assert re.search(r"Δ\d+|\bA\d+|\bLB-\d\d", load_rules()[id_].note)


def test_notes_name_only_existing_rules() -> None:
    """A rule id in a note is the id of a rule."""
    known = load_rules()
    pattern = re.compile(rf"\b(?:{'|'.join(GROUPS)})-\d\d\b")
    named = {id_ for rule in every_rule() for id_ in pattern.findall(rule.note + rule.says)}
    assert named <= set(known)


DUE: Final = [rule for rule in load_rules().values() if is_of_the_loop(rule)]


def test_the_groups_of_the_loop_are_the_first_twenty_three() -> None:
    """A to W of the contract: the loop, and what its log says."""
    assert (LOOP_GROUPS[0], LOOP_GROUPS[-1], len(LOOP_GROUPS)) == ("IN", "SL", 23)
    assert len(DUE) > 270


@pytest.mark.parametrize("rule", DUE, ids=lambda rule: rule.id)
def test_each_rule_of_the_loop_is_checked_by_something_or_says_why_not(rule: Rule) -> None:
    """Never both: what is open has nothing that checks it."""
    has_any = bool(evidence_of(rule.id)) or bool(rule.test)

    assert has_any is not bool(rule.open)
    assert "not yet" not in shown(rule) or rule.open
    assert rule.home != "impl" or rule.test


@pytest.mark.parametrize(
    "rule", [rule for rule in load_rules().values() if rule.test], ids=lambda rule: rule.id
)
def test_a_named_test_exists_and_cites_its_rule(rule: Rule) -> None:
    """By its id, in the docstring."""
    path, _, name = rule.test.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    named = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == name]

    assert len(named) == 1
    assert rule.id in (ast.get_docstring(named[0]) or "")


def test_a_rule_counts_as_checked_by_a_mutant_a_damaged_trace_or_a_damaged_log() -> None:
    """A row, a property, a corpus entry or a test alone is no fault that was reported."""
    rules = load_rules()
    only_named = [rule.id for rule in DUE if rule.test and not is_checked(rule)]

    assert is_checked(rules["CL-03"])
    assert "IN-16" in only_named
    assert is_checked(rules["ST-08"])
    assert not is_checked(rules["CW-01"])
    assert all(is_checked(rules[row.rule]) for row in load_damages())
    assert sum(is_checked(rule) for rule in DUE) >= 220


def test_a_missing_observation_is_reported_with_the_rules_of_its_row() -> None:
    """A turn that is never opened in the record names the rule that says so."""
    reported = reported_when_damaged(parse_scenario("followup A\n"))

    assert {"CL-07", "TB-01", "CL-05"} <= set(reported)
    assert "TS-03" not in reported


def test_page_is_current() -> None:
    """docs/rules.md is what the list says now."""
    assert render_page() == PAGE.read_text("utf-8")


def test_rule_without_note_has_an_empty_one() -> None:
    """A note is optional."""
    assert Rule("IN-01", "A fact.", "model", "slice", "") == parse_rules(TABLE)["IN-01"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (TABLE + 'why = "x"\n', "rule IN-01: unknown key 'why', the keys are"),
        (TABLE.replace('says = "A fact."\n', ""), "rule IN-01: says is missing"),
        (TABLE.replace('home = "model"\n', ""), "rule IN-01: home is missing"),
        (TABLE.replace('stage = "slice"\n', ""), "rule IN-01: stage is missing"),
        (TABLE.replace("model", "attic"), "rule IN-01: unknown home 'attic', expected one of"),
        (TABLE.replace("slice", "later"), "rule IN-01: unknown stage 'later', expected one of"),
        (TABLE.replace("IN-01", "XX-01"), "rule 'XX-01': expected a group such as IN"),
        (TABLE.replace('"A fact."', "7"), "rule IN-01: says must be a text that is not empty"),
        (TABLE.replace('"A fact."', '""'), "rule IN-01: says must be a text that is not empty"),
        ('IN-01 = "x"\n', "rule IN-01: expected a table, found 'x'"),
        (TABLE + TABLE, "the rule list is not TOML:"),
    ],
)
def test_damaged_list_is_refused_in_one_sentence(text: str, complaint: str) -> None:
    """The error names rule and fault on one line."""
    with pytest.raises(RulesError) as caught:
        parse_rules(text)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_unknown_group_is_refused_with_those_that_exist() -> None:
    """Asking for a group that is not there lists the groups."""
    with pytest.raises(RulesError, match=r"no rule group 'ZZ', there are IN, SP, .*, CO"):
        rules_of("ZZ")
