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

from loopspec.conformance.drive import run_scenario
from loopspec.conformance.mutants import Mutant, load_mutants, mutated_impl
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario


def measured(mutant: Mutant) -> dict[str, object]:
    """One mutant on its witness; raises SystemExit when it survives."""
    witness = parse_scenario(mutant.witness)
    began = time.perf_counter()
    impl = mutated_impl(mutant.id)
    imported = time.perf_counter()
    outcome = run_scenario(PythonSubject(impl), witness)
    ended = time.perf_counter()
    if not outcome.findings:
        sys.exit(f"{mutant.id} survives its witness: it is no mutant, or the judge is blind")
    return {
        "mutant": mutant.id,
        "property": mutant.code,
        "rules": list(mutant.rules),
        "length": len(witness),
        "seconds": round(ended - imported, 4),
        "with_import": round(ended - began, 3),
    }


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
        say(json.dumps(lives, indent=1))
        return
    for life in lives:
        rules = " ".join(map(str, life["rules"])) if isinstance(life["rules"], list) else ""
        say(
            f"{life['mutant']:<34} {life['property']:<8} {life['length']:>2} actions "
            f"{life['seconds']:>8.4f} s {life['with_import']:>7.3f} s  {rules}"
        )
    spent = [float(str(life["seconds"])) for life in lives]
    say(
        f"{len(lives)} mutants, median {statistics.median(spent):.4f} s, longest {max(spent):.4f} s"
    )


if __name__ == "__main__":
    main()
