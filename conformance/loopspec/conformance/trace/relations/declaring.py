"""What a log relation is, and the table of damaged logs that says which rules it checks.

`damages.toml` beside the package has one row for each rule that a trace reports: the relation, the
rule, a small log that holds, the same log damaged, and the record at which the damage is found.
A relation cites the rules of its rows and no other, and a test judges both logs of every row.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

import attrs

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.story import Story

__all__ = ["SURFACES", "Check", "Damage", "Relation", "Wrong", "load_damages", "relation", "shown"]

SURFACES: Final = frozenset(
    {"user/message", "assistant/message", "tool/result", "system/message", "developer/message"}
)
"""The records that join what the provider is sent."""


class Wrong(NamedTuple):
    """What is wrong with a record: the rule that it breaks, and how."""

    rule: str
    how: str


Check = Callable[[Story, Record], Wrong | None]
"""What is wrong with a record behind a story; None when nothing is."""


@attrs.frozen
class Damage:
    """A log that breaks a rule and the same log whole, both in the notation.

    `record` counts records from 1, the header not among them; `by` is the relation that finds it,
    MODEL where the table refuses and SHAPE where a member is missing.
    """

    by: str
    rule: str
    holds: str
    breaks: str
    record: int
    header: Mapping[str, Any] = attrs.field(factory=dict)


@cache
def load_damages() -> tuple[Damage, ...]:
    """The rows of the table, in its order."""
    text = resources.files("loopspec.conformance.trace").joinpath("damages.toml").read_text("utf-8")
    return tuple(Damage(**row) for row in tomllib.loads(text)["damage"])


@attrs.frozen
class Relation:
    """One sentence about the records of a log.

    `on` are the names of the records that it looks at, empty for all; `inbox` tells that it needs
    a log with inbox records.
    """

    code: str
    sentence: str
    on: tuple[str, ...]
    check: Check
    inbox: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that it checks."""
        return tuple(dict.fromkeys(row.rule for row in load_damages() if row.by == self.code))


def relation(code: str, on: str = "", inbox: bool = False) -> Callable[[Check], Relation]:
    """Declare a relation; its sentence is the docstring of its check."""

    def declare(check: Check) -> Relation:
        sentence = " ".join((check.__doc__ or "").split())
        return Relation(code, sentence, tuple(on.split()), check, inbox)

    return declare


SHOWN_MAX: Final = 8


def shown(names: tuple[str, ...]) -> str:
    """Some names on one line."""
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return (", ".join(names[:SHOWN_MAX]) or "none") + more
