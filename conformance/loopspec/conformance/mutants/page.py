"""The pages of all mutants.

`python -m loopspec.conformance.mutants.page` prints those of the loop; with `table` as its argument
those of the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from loopspec.conformance.mutants.registry import (
    LAWS,
    TRIALS,
    Mutant,
    TableMutant,
    load_log_mutants,
    load_mutants,
    load_table_mutants,
)
from loopspec.model.scenario import parse_scenario

__all__ = ["table_page", "to_markdown"]

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
    return "\n".join([PREFACE, figures, *table(mutants), "", *log_section()]) + "\n"


LOG_PREFACE = """\
## Mutants of the session log

On a sound disk no scenario shows them, so each is found by a trial of the log instead: a fault of
the disk or a slow reader, on scenarios of the real loop where that can be. The shipped log passes
every trial (`tests/quality/test_log_trials.py`), and while the disk is well each mutant is green on
a scenario. Where the loop itself forgets a commit, or what it was for, a scenario with a crash
shows it: see `claimed-come-back`, `claim-in-two-commits` and `request-before-the-flush` above.
"""


def log_section() -> list[str]:
    """The mutants of the log, the laws and the trials."""
    rows = [
        f"| `{each.id}` | {each.sentence} | {each.code} | {' '.join(each.rules)} | {each.trial} |"
        for each in load_log_mutants()
    ]
    head = "| mutant | what it does | law | rules | trial |"
    laws = [f"- {code}: {sentence}" for code, sentence in LAWS.items()]
    trials = [f"- *{name}*: {what}." for name, what in TRIALS.items()]
    table = [head, "| --- | --- | --- | --- | --- |", *rows]
    return [LOG_PREFACE, *table, "", *laws, "", *trials]


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


TABLE_PREFACE = """\
# Mutants of the table

Made by `python -m loopspec.conformance.mutants.page table` from the registry; do not edit. A test
compares the two.

Each is the specification with exactly one fault, and three judges look at it. *Inclusion*: the
product search compares it with the shipped table; the figure counts the lines of the shortest
scenario on which the two part, under the profile that is named. *Law*: the first law that breaks
while 2,000 states of each default scope are explored. *Transcripts*: how many of 160 recorded
sessions of the genuine loop it refuses under `dsh-0.1`. Laws are few and weak against single
faults; strength comes from inclusion. `loopspec differ notes mutant:ID` shows one of them.
"""


def table_page() -> str:
    """The page of the table's mutants as text."""
    mutants = load_table_mutants()
    apart = [each for each in mutants if each.witness]
    lengths = sorted(length_of(each) for each in apart)
    figures = (
        f"{len(mutants)} mutants: {len(apart)} told apart by inclusion (median "
        f"{lengths[len(lengths) // 2]} lines, longest {lengths[-1]}), "
        f"{sum(each.code != 'TRACE' for each in mutants)} seen by a law, "
        f"{sum(each.transcripts > 0 for each in mutants)} refused by transcripts.\n"
    )
    head = "| mutant | what it does | rules | inclusion | law | transcripts |"
    rows = [table_row(each) for each in mutants]
    alike = [
        f"- `{each.id}` is equivalent: {each.equivalent}" for each in mutants if each.equivalent
    ]
    page = [TABLE_PREFACE, figures, head, "| --- | --- | --- | --- | --- | --- |", *rows]
    return "\n".join([*page, "", *alike]).rstrip() + "\n"


def table_row(each: TableMutant) -> str:
    """One mutant of the table with what finds it."""
    found = "equivalent"
    if each.witness:
        found = f"{length_of(each)}, {parse_scenario(each.witness, each.id).profile}"
    law = "none" if each.code == "TRACE" else each.code
    return (
        f"| `{each.id}` | {each.sentence} | {' '.join(each.rules)} | {found} | {law} "
        f"| {each.transcripts or 'none'} |"
    )


if __name__ == "__main__":
    sys.stdout.write(table_page() if sys.argv[1:] == ["table"] else to_markdown())
