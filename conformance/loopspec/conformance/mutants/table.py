"""Mutants of the table: told apart by the product search, seen by laws, refused by transcripts.

Laws are few and weak against single faults; strength comes from inclusion. So each mutant is put
to three judges: the product search on narrow scopes, under `notes` and then under `dsh-0.1`; the
laws while the first states of each default scope are explored; and recorded transcripts of the
genuine loop. `python -m loopspec.conformance.mutants.table ID [FOLDER]` prints what they say.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import attrs

from loopspec.conformance.mutants.registry import (
    Mutant,
    find_table_mutant,
    mutated_beside,
    mutated_part,
)
from loopspec.model.alphabets import NARROW_SCOPES
from loopspec.model.differ import STATES_MAX, Alike, Machine, Parted, differ, shipped
from loopspec.model.policy import PROFILES, Policy

__all__ = ["JUDGED_BY", "laws_that_see", "machine_of", "refused_transcripts", "told_apart"]

JUDGED_BY: Final = ("notes", "dsh-0.1", "dsh-0.2")
"""The profiles under which a mutant may part from the shipped table, in this order."""

EXPLORED_MAX: Final = 2_000
"""How many states of each default scope the laws look at."""


def machine_of(mutant: Mutant, policy: Policy) -> Machine:
    """The table with that fault, under a policy."""
    copy = mutated_part("model", mutant)
    own = copy.policy.Policy(**attrs.asdict(policy, recurse=False))
    return Machine(mutant.id, own, copy.session, copy.table, copy.words)


def told_apart(mutant: Mutant, states_max: int = STATES_MAX) -> Parted | Alike:
    """The shortest scenario on which a mutant parts from the shipped table.

    The profile of the scenario is the first under which there is one.
    """
    pairs, complete = 0, True
    for profile in JUDGED_BY:
        policy = PROFILES[profile]
        right = machine_of(mutant, policy)
        found = differ(shipped(profile, policy), right, NARROW_SCOPES, states_max)
        if isinstance(found, Parted):
            return found
        pairs += found.pairs
        complete = complete and found.complete
    return Alike(pairs, complete)


def laws_that_see(mutant: Mutant, states_max: int = EXPLORED_MAX) -> tuple[str, ...]:
    """The laws that break while the first states of each default scope are explored."""
    copy = mutated_part("model", mutant)
    seen: dict[str, None] = {}
    for scope in copy.scopes.DEFAULT_SCOPES:
        try:
            explored = copy.explore.explore(scope, states_max=states_max)
        except AssertionError:  # the table breaks its own rules; that is no law
            continue
        seen.update((found.property, None) for found in explored.found)
    return tuple(seen)


def refused_transcripts(mutant: Mutant, folder: Path, profile: str = "dsh-0.1") -> int:
    """How many recorded transcripts the table with that fault does not explain."""
    copy = mutated_beside("loopspec.conformance.transcripts", mutant)
    refused = 0
    for transcript in copy.read_transcripts(folder):
        try:
            refused += copy.check_transcript(transcript, profile).parted is not None
        except AssertionError:
            refused += 1
    return refused


def main(arguments: list[str]) -> None:
    """Print what the judges say of one mutant, as JSON."""
    mutant = find_table_mutant(arguments[0])
    found = told_apart(mutant)
    said: dict[str, object] = {"id": mutant.id, "pairs": found.pairs}
    if isinstance(found, Parted):
        said |= {"witness": str(found.scenario), "scope": found.scope}
    if len(arguments) > 1:
        said["transcripts"] = refused_transcripts(mutant, Path(arguments[1]))
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    said["laws"] = laws_that_see(mutant)
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
