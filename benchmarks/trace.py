# ruff: noqa: INP001
"""How fast session logs are checked, beside a bare parse of the same bytes in the same run.

    python benchmarks/trace.py                       a slim log of one million records
    python benchmarks/trace.py --records 100000 --variant queue
    python benchmarks/trace.py --variant fat         50,000 records with long texts
    python benchmarks/trace.py --variant chunks      the oldest format, packed chunks
    python benchmarks/trace.py --faults              and copies with one fault in the last 1 %
    python benchmarks/trace.py --forks 1000          forks of one parent of 1,000 records
    python benchmarks/trace.py --json

Processor time of this process; the peak is that of its resident set. A bare parse decodes every
line and looks at nothing.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from large_log import FAULTS, VARIANTS, write_fault, write_forks, write_log

from loopspec.conformance.trace import Acceptor, Judged, judge_log


def seconds_of(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a piece of work gave, and the processor seconds that it took."""
    begun = time.process_time()
    done = work()
    return done, time.process_time() - begun


def parse(path: Path) -> int:
    """Decode each line of a file."""
    decode = msgspec.json.Decoder().decode
    count = 0
    with path.open("rb") as file:
        for line in file:
            decode(line)
            count += 1
    return count


def peak_mib() -> int:
    """The peak of the resident set so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int)
    parser.add_argument("--faults", action="store_true", help="also copies with one fault")
    parser.add_argument("--forks", type=int, default=0, help="so many forks instead of one log")
    parser.add_argument("--variant", choices=VARIANTS, default="slim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="figures for a program")
    chosen = parser.parse_args(arguments)
    if chosen.forks:
        told(forks(chosen.forks, chosen.records or 1_000, chosen.seed), chosen.json)
        return
    wanted = chosen.records or (50_000 if chosen.variant == "fat" else 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        records = write_log(path, chosen.variant, wanted, chosen.seed)
        size = path.stat().st_size
        _, parsing = seconds_of(lambda: parse(path))
        before = peak_mib()
        acceptor = Acceptor()
        judged, judging = seconds_of(lambda: judge_log(path, acceptor))
        found = faults(path, acceptor) if chosen.faults else {}
    assert isinstance(judged, Judged)
    figures = {
        "variant": chosen.variant,
        "seed": chosen.seed,
        "verdict": judged.verdict,
        "records": records,
        "bytes": size,
        "records_per_second": round(records / judging),
        "bare_parse_per_second": round(records / parsing),
        "times_a_bare_parse": round(judging / parsing, 1),
        "peak_mib": peak_mib(),
        "peak_mib_before": before,
        "sets_and_records_looked_up": len(acceptor.known),
        "possible_sessions_peak": judged.peak,
        **found,
    }
    told(figures, chosen.json)


def faults(path: Path, acceptor: Acceptor) -> dict[str, str]:
    """Each fault in a copy of a log: whether it was found at its record, and by which rules."""
    found, copy = {}, path.with_name("faulty.jsonl")
    for fault in FAULTS:
        line = write_fault(path, copy, fault)
        finding = judge_log(copy, acceptor).finding
        at = finding.line if finding is not None else 0
        where = "right record" if at == line else f"record {at:,}, expected {line:,}"
        rules = f"{finding.code} {finding.rules[0]}" if finding is not None else "not found"
        found[f"fault_{fault}"] = f"{where}, {rules}" if line else "no record can have it"
    return found


def forks(count: int, records: int, seed: int) -> dict[str, Any]:
    """Figures of many forks of one parent."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        total = write_forks(folder, count, records, seed)
        before, acceptor = peak_mib(), Acceptor()
        paths = sorted(folder.iterdir())
        logs, judging = seconds_of(lambda: [judge_log(path, acceptor) for path in paths])
    return {
        "variant": "forks",
        "seed": seed,
        "verdict": ", ".join(sorted({log.verdict for log in logs})),
        "forks": count,
        "records": total,
        "records_per_second": round(total / judging),
        "peak_mib": peak_mib(),
        "peak_mib_before": before,
    }


def told(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, for people or for a program."""
    if as_json:
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        return
    for name, value in figures.items():
        shown = f"{value:,}" if isinstance(value, int) and name != "seed" else str(value)
        sys.stdout.write(f"{name.replace('_', ' '):<28}{shown:>14}\n")


if __name__ == "__main__":
    main()
