"""The page of profiles: every policy field, what it answers, and where its values part.

`python -m loopspec.model.profiles` prints it. The scenarios are found when the page is made, by
the product search, so a row that changes changes the page.
"""

import sys
from collections.abc import Iterator
from functools import cache
from inspect import getdoc
from typing import Any, Final

import attrs

from loopspec.model.alphabets import NARROW_SCOPES
from loopspec.model.deviations import CHOICES, DEVIATIONS, UNDER
from loopspec.model.differ import Parted, differ, shipped
from loopspec.model.policy import PROFILES, Policy
from loopspec.model.questions import QUESTIONS

__all__ = ["parted_by", "profiles_page", "says", "shown_as", "switched"]

PREFACE: Final = """\
# Profiles: the answers on which the field disagrees

Made by `python -m loopspec.model.profiles`; do not edit. A test compares the two.

A policy is a value of named fields, and a profile is a policy with a name. Rows of the table may
ask a policy; a policy never calls a row. For each value other than that of `notes` the product
search has found the shortest scenario on which the two part: paste it into a file for `loopspec
replay`, or ask again with `loopspec differ PROFILE FIELD=VALUE`, where PROFILE is the one that
the scenario names.
"""

WIDENING: Final = (800, 3_200, 12_800)
"""How many pairs of each scope are compared at most: first few, then more."""


def shown_as(value: object) -> str:
    """A value of a policy as it is typed."""
    return "+".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def says() -> dict[str, str]:
    """What each field means, as the class says it."""
    found: dict[str, str] = {}
    name = ""
    for line in (getdoc(Policy) or "").splitlines()[2:]:
        head, colon, rest = line.partition(":")
        if colon and head in CHOICES:
            name, line = head, rest
        if name:
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def base_of(field: str) -> str:
    """The profile beside whose other answers a field makes a difference: `notes` but for a few."""
    return UNDER.get(field, "notes")


def switched(field: str, value: object, policy: Policy | None = None) -> Policy:
    """A policy, by default that of `notes` or of the field's own base, with one other value."""
    changes: dict[str, Any] = {field: value}
    return attrs.evolve(PROFILES[base_of(field)] if policy is None else policy, **changes)


@cache
def parted_by(field: str, value: object) -> Parted:
    """The shortest scenario on which a value parts from that of `notes`; left is the base.

    Where it takes a call between two ticks that only the other value has, that one leads the
    search. Raises AssertionError for a value that makes no difference: it should not be one.
    """
    base = base_of(field)
    here, there = shipped(base, PROFILES[base]), shipped(f"{field}={value}", switched(field, value))
    for most in WIDENING:
        found = differ(here, there, NARROW_SCOPES, most)
        if isinstance(found, Parted):
            return found
        found = differ(there, here, NARROW_SCOPES, most)
        if isinstance(found, Parted):
            return attrs.evolve(found, left=found.right, right=found.left)
    raise AssertionError(f"{field}={value} makes no difference")


def profiles_page() -> str:
    """The page as text."""
    lines = [PREFACE, *profile_lines(), *field_lines(), *question_lines()]
    return "\n".join(lines).rstrip() + "\n"


def profile_lines() -> Iterator[str]:
    """The profiles beside each other."""
    yield "## Profiles"
    yield ""
    yield f"| field | {' | '.join(f'`{name}`' for name in PROFILES)} | registered as |"
    yield f"| --- |{' --- |' * (len(PROFILES) + 1)}"
    for field in CHOICES:
        values = [shown_as(getattr(policy, field)) for policy in PROFILES.values()]
        first, *others = values
        shown = [first, *(f"**{value}**" if value != first else value for value in others)]
        ids = ", ".join(DEVIATIONS.get(field, ())) or "none"
        yield f"| `{field}` | {' | '.join(shown)} | {ids} |"
    yield ""


def field_lines() -> Iterator[str]:
    """One section a field."""
    for field, values in CHOICES.items():
        yield f"## {field}"
        yield ""
        yield says()[field]
        yield ""
        if field in UNDER:
            yield f"It makes a difference beside the other answers of `{UNDER[field]}`."
            yield ""
        for value in values[1:]:
            found = parted_by(field, value)
            yield f"`{shown_as(values[0])}` and `{shown_as(value)}` part on:"
            yield ""
            yield "```scenario"
            yield str(found.scenario).rstrip()
            yield "```"
            yield ""
            yield f"- `{shown_as(values[0])}`: {brief(found.left)}"
            yield f"- `{shown_as(value)}`: {brief(found.right)}"
            yield ""


def question_lines() -> Iterator[str]:
    """Where each registered question is answered."""
    yield "## Open questions and deviations: where each is answered"
    yield ""
    yield "Δ: notes and release differ. A: the contract leaves it open. LB: a fault of the release."
    yield "A rule is one of [rules](rules.md), whose note says it; a row one of"
    yield "[transitions](transitions.md); a decision one of [decisions](decisions/README.md)."
    yield ""
    yield "| id | question | answered by |"
    yield "| --- | --- | --- |"
    for each in QUESTIONS:
        where = f"`{each.where}`" if each.place in ("field", "row") else each.where
        yield f"| {each.id} | {each.says} | {each.place} {where} |"


def brief(did: tuple[str, ...]) -> str:
    """The first thing that one side does, or where it stands."""
    first = did[0]
    if first.startswith("= "):
        return f"stands {' '.join(first.removeprefix('= ').split())}"
    return first


if __name__ == "__main__":
    sys.stdout.write(profiles_page())
