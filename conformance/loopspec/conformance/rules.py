"""The rules of the contract and where each of them is checked.

`rules.toml` beside this module holds one table per rule, in the order of the contract; every other
place names a rule by its id alone. The page `docs/rules.md` is made from it:

    python -m loopspec.conformance.rules > docs/rules.md
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

import attrs

HOMES: Final = ("model", "relation", "impl", "port", "out")
STAGES: Final = ("slice", "truth", "durable", "any-loop", "host", "never")

GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "IN": "Inbox",
        "SP": "Splice",
        "ID": "Validation and identity",
        "LN": "Events and their order",
        "CL": "Claim",
        "RT": "Delivery",
        "DR": "Driver and status",
        "TB": "Turn boundaries",
        "PS": "Pre-step",
        "ST": "Steps and requests",
        "TC": "Tools",
        "OF": "Outcome of steps",
        "TS": "Turn-stopping",
        "CN": "Cancel",
        "WL": "Wakes and their replay",
        "MN": "Maintenance",
        "WI": "Waiting for idle",
        "DI": "Lifecycle",
        "ER": "Failures of listeners",
        "RE": "Calls inside listeners",
        "RS": "Resume, repair, fork",
        "CW": "Accounting of work",
        "SL": "Session log",
        "HM": "Host snapshots",
        "RP": "Queue calls",
        "CM": "Client",
        "UI": "Dock and conversation",
        "WC": "Staged workspace context",
        "PL": "Other plug-ins",
        "CK": "Compaction and checkpoints",
        "CO": "Consumers",
    }
)

_REQUIRED: Final = ("says", "home", "stage")
_KEYS: Final = (*_REQUIRED, "note", "test", "open")

_PAGE_HEAD: Final = """\
# Rules

Made from `conformance/loopspec/conformance/rules.toml` by `python -m loopspec.conformance.rules`.

Each rule of the contract has one home, the place where it is checked: `model` (the state machine
and its monitors), `relation` (a relation over the session log), `impl` (a test of our own
implementation), `port` (meaningful only for other subjects) or `out` (out of scope). Its stage is
the stage of the project at which it is checked first. The sentences hold under the profile
`notes`.

A rule counts as checked when a fault is reported with its id and what is repaired is not: a mutant
that is filed under it, a trace of the corpus from which an observation is missing, or a damaged
session log (`conformance/loopspec/conformance/trace/damages.toml`) of which `loopspec trace` says
that it breaks this rule. What else there is for it is shown where that is all: rows, properties,
corpus entries; a test that is named stands for what no trace shows.

A note names the difference between notes and upstream code (Δ), the open question (A) or the fault
still present upstream (LB) that stands behind a sentence.
"""


class RulesError(Exception):
    """The rule list is not what the rest of the suite relies on; the text says where and why."""


@attrs.frozen
class Rule:
    """One rule of the contract: its id, what it says, and where and when it is checked.

    `test` names the test that checks what no trace shows; `open` says why nothing checks it yet.
    """

    id: str
    says: str
    home: str
    stage: str
    note: str = ""
    test: str = ""
    open: str = ""
    since: int = 1
    """The revision of the contract with which it came."""

    @property
    def prefix(self) -> str:
        """The group of the rule, the letters of its id."""
        return self.id.partition("-")[0]


def parse_rules(text: str) -> Mapping[str, Rule]:
    """Read a rule list and give its rules by id, in the order of the text.

    Raises RulesError when the text is no TOML, or when a rule has an unknown group, key, home or
    stage, or lacks a field.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        msg = f"the rule list is not TOML: {fault}"
        raise RulesError(msg) from fault
    return MappingProxyType({id_: _rule(id_, table) for id_, table in tables.items()})


@cache
def load_rules() -> Mapping[str, Rule]:
    """Give the rules that ship with the suite by id, in the order of the contract.

    Raises RulesError as parse_rules does.
    """
    text = resources.files("loopspec.conformance").joinpath("rules.toml").read_text("utf-8")
    return parse_rules(text)


def rules_of(prefix: str) -> tuple[Rule, ...]:
    """Give the rules of one group, in order; raises RulesError for an unknown prefix."""
    if prefix not in GROUPS:
        msg = f"no rule group {prefix!r}, there are {', '.join(GROUPS)}"
        raise RulesError(msg)
    return tuple(rule for rule in load_rules().values() if rule.prefix == prefix)


def render_page() -> str:
    """Give the page `docs/rules.md`: the counts, then a table for each group."""
    rules = load_rules().values()
    parts = [_PAGE_HEAD, _counts_table(Counter((rule.home, rule.stage) for rule in rules))]
    parts.append(_checked_sentence(rules))
    for prefix, title in GROUPS.items():
        parts.append(f"## {prefix}: {title}\n\n{_rules_table(rules_of(prefix))}")
    return "\n".join(parts)


def _rule(id_: str, table: object) -> Rule:
    prefix, _, number = id_.partition("-")
    if prefix not in GROUPS or not number.isdecimal():
        msg = f"rule {id_!r}: expected a group such as IN, a hyphen and a number"
        raise RulesError(msg)
    if not isinstance(table, dict):
        msg = f"rule {id_}: expected a table, found {table!r}"
        raise RulesError(msg)
    fields: dict[str, str] = {}
    since = table.get("since", 1)
    if type(since) is not int or since < 1:
        msg = f"rule {id_}: since must be a whole number from 1, found {since!r}"
        raise RulesError(msg)
    for key, value in table.items():
        if key == "since":
            continue
        if key not in _KEYS:
            msg = f"rule {id_}: unknown key {key!r}, the keys are {', '.join(_KEYS)}"
            raise RulesError(msg)
        if not isinstance(value, str) or not value:
            msg = f"rule {id_}: {key} must be a text that is not empty, found {value!r}"
            raise RulesError(msg)
        fields[key] = value
    for key in _REQUIRED:
        if key not in fields:
            msg = f"rule {id_}: {key} is missing"
            raise RulesError(msg)
    for key, allowed in (("home", HOMES), ("stage", STAGES)):
        if fields[key] not in allowed:
            msg = f"rule {id_}: unknown {key} {fields[key]!r}, expected one of {', '.join(allowed)}"
            raise RulesError(msg)
    return Rule(id=id_, **fields, since=since)


def _counts_table(counts: Counter[tuple[str, str]]) -> str:
    rows = []
    for home in HOMES:
        numbers = [counts[home, stage] for stage in STAGES]
        rows.append((home, *map(str, numbers), str(sum(numbers))))
    sums = [sum(counts[home, stage] for home in HOMES) for stage in STAGES]
    rows.append(("all", *map(str, sums), str(sum(sums))))
    return _table(("home", *STAGES, "all"), rows)


def _checked_sentence(rules: Iterable[Rule]) -> str:
    from loopspec.conformance.evidence import LOOP_GROUPS, is_checked, is_of_the_loop

    asked = [rule for rule in rules if is_of_the_loop(rule)]
    checked = sum(is_checked(rule) for rule in asked)
    waiting = sum(bool(rule.open) for rule in asked)
    named = sum(bool(rule.test) and not is_checked(rule) for rule in asked)
    rest = len(asked) - checked - waiting - named
    groups = f"{LOOP_GROUPS[0]} to {LOOP_GROUPS[-1]}"
    return (
        f"Of the {len(asked)} rules of the groups {groups} that are due by now, {checked} count as "
        f"checked; {named} more have a named test, {waiting} wait, and the other {rest} have rows, "
        "properties or corpus entries.\n"
    )


def _rules_table(rules: tuple[Rule, ...]) -> str:
    from loopspec.conformance.evidence import shown

    rows = [(rule.id, rule.says, rule.home, rule.stage, shown(rule), rule.note) for rule in rules]
    return _table(("id", "says", "home", "stage", "checked by", "note"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(_cell(text) for text in line) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    # Bytes, since the page holds a Δ and the encoding of stdout is the terminal's choice.
    sys.stdout.buffer.write(render_page().encode("utf-8"))
