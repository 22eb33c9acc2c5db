"""The page of all mutants; `python -m loopspec.conformance.mutants.page` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from loopspec.conformance.mutants.registry import Mutant, load_mutants
from loopspec.model.scenario import parse_scenario

__all__ = ["to_markdown"]

PREFACE = """\
# Mutants: the faults that the suite must find

Made by `python -m loopspec.conformance.mutants.page` from the registry; do not edit. A test
compares the two.

Each mutant is the shipped loop with exactly one fault: one source edit of at most three lines,
applied in memory. `loopspec check --mutant ID` finds it. *Property* is the promise that reports the
fault by itself, with trace inclusion switched off; TRACE means that only trace inclusion does.
*Witness* counts the calls and answers of the pinned scenario, from which no line can be left out.
"""


def to_markdown() -> str:
    """The page as text."""
    mutants = load_mutants()
    lengths = sorted(length_of(each) for each in mutants)
    median = lengths[len(lengths) // 2]
    by_itself = sum(each.code != "TRACE" for each in mutants)
    figures = (
        f"{len(mutants)} mutants, {by_itself} of them reported by a property alone. "
        f"Witnesses: median {median}, longest {lengths[-1]}.\n"
    )
    return "\n".join([PREFACE, figures, *table(mutants)]) + "\n"


def length_of(mutant: Mutant) -> int:
    """Calls and answers of the pinned witness."""
    return len(parse_scenario(mutant.witness, mutant.id))


def table(mutants: Iterable[Mutant]) -> list[str]:
    """One row a mutant, in the order of the registry."""
    rows = [
        f"| `{each.id}` | {each.sentence} | {each.code} | {' '.join(each.rules)} "
        f"| {length_of(each)} |"
        for each in mutants
    ]
    head = "| mutant | what it does | property | rules | witness |"
    return [head, "| --- | --- | --- | --- | --- |", *rows]


if __name__ == "__main__":
    sys.stdout.write(to_markdown())
