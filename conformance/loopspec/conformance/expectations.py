"""Expectations of a port: which of its findings are known, so that a new one stands out.

A TOML file beside the port, with tables `failing` and `flaky`:

    [[failing]]
    pattern = "CN-11/notes/*"
    reason = "our cancel has no cause yet, see issue 12"

A pattern is `RULE/PROFILE/SCENARIO`: a rule of the contract or the code of a property, a profile,
the name of a scenario (`corpus/NAME`, `cover/N`, `random/SEED/N`). `*` stands for any part without
a slash, `**` for anything. A finding matches when one of its rules or its code does. What is
*failing* must fail: a pass breaks the run, so that the file never says less than the port can. What
is *flaky* may do either. A pattern that matches nothing that exists is an error of the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NoReturn

import attrs

from loopspec.conformance.judge import SENTENCES, Finding
from loopspec.conformance.peers import PEERS
from loopspec.conformance.rules import load_rules
from loopspec.model.policy import PROFILES

__all__ = ["Expectation", "ExpectationError", "Expectations", "parse_expectations"]

KINDS: Final = ("failing", "flaky")
KEYS: Final = ("pattern", "reason")
BYTES_MAX: Final = 1_000_000


class ExpectationError(ValueError):
    """A file that says something else than expectations; the text is one sentence."""


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression over the whole of `RULE/PROFILE/SCENARIO`."""
    parts = re.split(r"(\*\*|\*)", pattern)
    stars = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(stars.get(part) or re.escape(part) for part in parts))


@attrs.define(eq=False)
class Expectation:
    """One pattern of the file, and what became of it in this run."""

    kind: str
    pattern: str
    reason: str
    failed: int = 0
    """Scenarios whose finding it matched."""
    met: int = 0
    """Scenarios that ran and that it could have matched."""
    expression: re.Pattern[str] = attrs.field(init=False)
    names: tuple[str, ...] = attrs.field(init=False)
    """Rules that stand for all that it may mean."""

    def __attrs_post_init__(self) -> None:
        """Compile the pattern once, and choose a rule to ask it with."""
        self.expression = compiled(self.pattern)
        rule = self.pattern.partition("/")[0]
        meant = [name for name in known_names() if compiled(rule).fullmatch(name)]
        self.names = known_names() if "**" in rule else tuple(meant[:1])

    def matches(self, rules: Iterable[str], profile: str, scenario: str) -> bool:
        """Whether one of the rules, in this profile and scenario, is meant."""
        return any(self.expression.fullmatch(f"{rule}/{profile}/{scenario}") for rule in rules)


@cache
def known_names() -> tuple[str, ...]:
    """Everything that may stand before the first slash."""
    claims = [claim.code for peer in PEERS.values() for claim in peer.claims]
    return (*load_rules(), *SENTENCES, *claims)


@attrs.define(eq=False)
class Expectations:
    """What is expected of one port, and what was seen of it."""

    all: tuple[Expectation, ...] = ()

    def ran(self, profile: str, scenario: str) -> None:
        """A scenario ran on the port."""
        for each in self.all:
            each.met += each.matches(each.names, profile, scenario)

    def expected(self, finding: Finding, profile: str, scenario: str) -> Expectation | None:
        """The expectation that a finding is one of, counted; None when it is news."""
        rules = (finding.code, *finding.rules)
        for each in self.all:
            if each.matches(rules, profile, scenario):
                each.failed += 1
                return each
        return None

    def excuse(self, findings: Sequence[Finding], profile: str, scenario: str) -> bool:
        """Whether everything that was found in a scenario is expected.

        A pattern that names a rule is about the first finding, and what follows from it; one that
        names a property, or TRACE, excuses that alone.
        """
        first, *rest = findings
        known = self.expected(first, profile, scenario)
        if known is None:
            return False
        if known.names and known.names[0] not in SENTENCES:
            return True
        return all(self.expected(each, profile, scenario) for each in rest)

    def passes(self) -> list[str]:
        """What was to fail and did not, one sentence each."""
        return [
            f"expected to fail, and passed {each.met} times: {each.pattern} ({each.reason})"
            for each in self.all
            if each.kind == "failing" and each.met and not each.failed
        ]

    def idle(self) -> list[str]:
        """Patterns that nothing of this run could have matched, one sentence each."""
        return [
            f"expected a pattern of something that ran, got {each.pattern!r}, which matches nothing"
            for each in self.all
            if not each.met
        ]


def parse_expectations(text: str) -> Expectations:
    """Read the text of a file. Raises ExpectationError with one sentence."""
    if len(text) > BYTES_MAX:
        refuse(f"expected at most {BYTES_MAX} characters, got {len(text)}")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse(f"expected TOML, got: {error}")
    found: list[Expectation] = []
    for kind, tables in data.items():
        if kind not in KINDS:
            refuse(f"expected tables {' and '.join(KINDS)}, got {kind!r}")
        if not isinstance(tables, list):
            refuse(f"expected [[{kind}]], got {kind} = {tables!r}")
        found += [expectation(kind, table) for table in tables]
    return Expectations(tuple(found))


def expectation(kind: str, table: Any) -> Expectation:  # noqa: ANN401 - TOML
    """One table of the file."""
    if not isinstance(table, dict):
        refuse(f"expected a table in {kind}, got {table!r}")
    for key in table:
        if key not in KEYS:
            refuse(f"{kind}: expected the keys {' and '.join(KEYS)}, got {key!r}")
    for key in KEYS:
        value = table.get(key)
        if not isinstance(value, str) or not value.strip():
            refuse(f"{kind}: expected a text as {key} in every table, got {value!r}")
    pattern = table["pattern"]
    rule, slash, rest = pattern.partition("/")
    if "**" not in pattern and rest.count("/") < 1:
        refuse(f"{kind}: expected a pattern RULE/PROFILE/SCENARIO, got {pattern!r}")
    if slash and not any(compiled(rule).fullmatch(name) for name in known_names()):
        refuse(f"{kind}: expected a rule or a property before the slash, got {rule!r}")
    profile = rest.partition("/")[0]
    profiles = (*PROFILES, *PEERS)
    if "*" not in rule + profile and profile not in profiles:
        refuse(f"{kind}: expected a profile ({', '.join(profiles)}), got {profile!r}")
    return Expectation(kind, pattern, table["reason"])


def refuse(sentence: str) -> NoReturn:
    """Refuse the file."""
    raise ExpectationError(sentence)
