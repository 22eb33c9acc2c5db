"""Mutants: subjects with exactly one named fault, kept as data and applied in memory."""

from loopspec.conformance.mutants.registry import (
    LAWS,
    TRIALS,
    LogMutant,
    Mutant,
    MutantError,
    TableMutant,
    find_mutant,
    find_table_mutant,
    load_log_mutants,
    load_mutants,
    load_table_mutants,
    mutated_beside,
    mutated_impl,
    mutated_part,
    source_of,
)

__all__ = [
    "LAWS",
    "TRIALS",
    "LogMutant",
    "Mutant",
    "MutantError",
    "TableMutant",
    "find_mutant",
    "find_table_mutant",
    "load_log_mutants",
    "load_mutants",
    "load_table_mutants",
    "mutated_beside",
    "mutated_impl",
    "mutated_part",
    "source_of",
]
