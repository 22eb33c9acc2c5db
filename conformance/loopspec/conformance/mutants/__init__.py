"""Mutants: subjects with exactly one named fault, kept as data and applied in memory."""

from loopspec.conformance.mutants.registry import (
    Mutant,
    MutantError,
    find_mutant,
    load_mutants,
    mutated_impl,
    mutated_part,
    source_of,
)

__all__ = [
    "Mutant",
    "MutantError",
    "find_mutant",
    "load_mutants",
    "mutated_impl",
    "mutated_part",
    "source_of",
]
