# ruff: noqa: INP001
"""How long each mutant of the loop lives: seconds on its pinned witness, and who reports it.

    python benchmarks/mutants.py                 # all, a line each
    python benchmarks/mutants.py canary --json

Two times: that of the judged run alone, and with the import of the faulty copy before it.
"""

import argparse
import json
import statistics
import sys
import time
from typing import NamedTuple

from loopspec.conformance.drive import run_scenario
from loopspec.conformance.mutants import Mutant, load_mutants, mutated_impl
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario


class Life(NamedTuple):
    """How one mutant fared on its witness; seconds of the judged run, and with the import."""

    mutant: str
    property: str
    rules: tuple[str, ...]
    length: int
    seconds: float
    with_import: float

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.mutant:<34} {self.property:<8} {self.length:>2} actions "
            f"{self.seconds:>8.4f} s {self.with_import:>7.3f} s  {' '.join(self.rules)}"
        )


def measured(mutant: Mutant) -> Life:
    """One mutant on its witness; raises SystemExit when it survives."""
    witness = parse_scenario(mutant.witness)
    began = time.perf_counter()
    impl = mutated_impl(mutant.id)
    imported = time.perf_counter()
    outcome = run_scenario(PythonSubject(impl), witness)
    ended = time.perf_counter()
    if not outcome.findings:
        sys.exit(f"{mutant.id} survives its witness: it is no mutant, or the judge is blind")
    judged, whole = round(ended - imported, 4), round(ended - began, 3)
    return Life(mutant.id, mutant.code, mutant.rules, len(witness), judged, whole)


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(f"{text}\n")


def main() -> None:
    """Measure the named mutants, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mutants", nargs="*", metavar="ID")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    wanted = [each for each in load_mutants() if not given.mutants or each.id in given.mutants]
    if not wanted:
        parser.error(f"expected ids of mutants, got {' '.join(given.mutants)}")
    lives = [measured(each) for each in wanted]
    if given.json:
        say(json.dumps([life._asdict() for life in lives], indent=1))
        return
    for life in lives:
        say(str(life))
    spent = [life.seconds for life in lives]
    median, longest = statistics.median(spent), max(spent)
    say(f"{len(lives)} mutants, median {median:.4f} s, longest {longest:.4f} s")


if __name__ == "__main__":
    main()
