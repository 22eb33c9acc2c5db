"""What checks each rule: mutants, damaged traces, rows, properties, corpus entries, named tests.

Theory. A rule counts as *checked* when a fault is reported with its id and what is repaired is
not. Three kinds of faults are counted: a mutant filed under the rule, whose witness is green on the
shipped loop or table (tests hold that for each of them); a trace of the corpus from which one
observation is missing: the judge then names the rules of the row that owed it, and of the whole
trace it says nothing; and a damaged session log of `trace/damages.toml`, which is broken with
exactly this rule and holds once it is whole. What a rule has besides, a row, a property, a corpus
entry, a named test, is shown, and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import attrs

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.judge import expected_rules
from loopspec.conformance.mutants import load_mutants, load_table_mutants
from loopspec.conformance.rules import GROUPS, Rule
from loopspec.conformance.trace.relations import load_damages
from loopspec.model.playback import play
from loopspec.model.possible import Parting, Possible, after
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import Scenario
from loopspec.model.session import Session
from loopspec.model.table import TABLE
from loopspec.model.words import LISTENERS, Observation

__all__ = ["LOOP_GROUPS", "Evidence", "evidence_of", "is_checked", "is_of_the_loop", "shown"]

LOOP_GROUPS: Final = tuple(GROUPS)[: tuple(GROUPS).index("SL") + 1]
"""The groups of rules about a session's loop and its log; the others are of hosts and plug-ins."""

NAMED_MAX: Final = 2
"""How many names of each kind are shown."""


@attrs.frozen
class Evidence:
    """What there is for one rule, by kind; names, in the order of their registries."""

    mutants: tuple[str, ...] = ()
    table_mutants: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    corpus: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything at all."""
        return any(attrs.astuple(self))


@cache
def all_evidence() -> Mapping[str, Evidence]:
    """The evidence of every rule that has any."""
    found: dict[str, dict[str, list[str]]] = {}

    def add(kind: str, name: str, rules: Iterable[str]) -> None:
        for rule in rules:
            found.setdefault(rule, {}).setdefault(kind, []).append(name)

    for mutant in load_mutants():
        add("mutants", mutant.id, mutant.rules)
    for table_mutant in load_table_mutants():
        if table_mutant.witness:
            add("table_mutants", table_mutant.id, table_mutant.rules)
    for row in TABLE:
        add("rows", row.key, row.rules)
    for each in PROPERTIES:
        add("properties", each.code, each.rules)
    for entry in load_corpus():
        add("corpus", entry.name, entry.rules)
        add("damaged", entry.name, reported_when_damaged(entry.scenario))
    for rule, by in {(row.rule, row.by): None for row in load_damages()}:
        add("logs", by, [rule])
    return MappingProxyType(
        {
            rule: Evidence(**{kind: tuple(names) for kind, names in kinds.items()})
            for rule, kinds in found.items()
        }
    )


def evidence_of(rule: str) -> Evidence:
    """What there is for the rule of that id."""
    return all_evidence().get(rule, Evidence())


def reported_when_damaged(scenario: Scenario) -> tuple[str, ...]:
    """The rules that the judge names when one observation of the run is missing, over all of them.

    Raises AssertionError when it objects to the whole trace.
    """
    trace = play(scenario).trace
    possible = Possible((Session(listeners=LISTENERS, held=scenario.held),))
    rules: dict[str, None] = {}
    for entry, following in pairwise(trace):
        if isinstance(entry, Observation) and isinstance(after(possible, following), Parting):
            rules.update(dict.fromkeys(expected_rules(possible.sessions)))
        kept = after(possible, entry)
        assert isinstance(kept, Possible), f"{scenario} is not explained: {kept}"
        possible = kept
    return tuple(rules)


def is_of_the_loop(rule: Rule) -> bool:
    """Whether a rule is about the loop itself and is to be checked by now."""
    now = rule.stage in ("slice", "truth", "durable")
    return now and rule.prefix in LOOP_GROUPS and rule.home in ("model", "relation", "impl")


def is_checked(rule: Rule) -> bool:
    """Whether a fault is reported with the rule's id."""
    found = evidence_of(rule.id)
    return bool(found.mutants or found.table_mutants or found.damaged or found.logs)


def shown(rule: Rule) -> str:
    """What checks the rule, for the page; why nothing does, where that is so."""
    found = evidence_of(rule.id)
    parts = []
    for kind, names in (
        ("mutant", found.mutants),
        ("mutant of the table", found.table_mutants),
        ("row", found.rows if not is_checked(rule) else ()),
        ("property", found.properties if not is_checked(rule) else ()),
        ("corpus", found.corpus if not is_checked(rule) else ()),
    ):
        if names:
            more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
            parts.append(f"{kind} {', '.join(names[:NAMED_MAX])}{more}")
    if found.damaged:
        parts.append(f"damaged traces of {len(found.damaged)} corpus entries")
    if found.logs:
        parts.append(f"damaged logs, found by {', '.join(found.logs)}")
    if rule.test:
        parts.append(f"test {rule.test.rpartition('/')[2].replace('::', ' ')}")
    if rule.open:
        parts.append(f"not yet: {rule.open}")
    return "; ".join(parts) or f"not yet: {rule.home}, {rule.stage}"
