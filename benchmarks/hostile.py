# ruff: noqa: INP001
"""Many damaged logs: what verdicts they get, how fast, and in how much memory.

    python benchmarks/hostile.py lines               100,000 logs, one changed line each
    python benchmarks/hostile.py bits                10,000 logs on SQLite, one flipped bit each
    python benchmarks/hostile.py bits --count 500 --json

A log that holds after its bit was flipped is read once more by SQLite: `other rows` counts those
whose rows are not what they were, and has to be 0. The peak is that of this process.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loopspec.conformance.trace import Acceptor, judge_log
from loopspec.conformance.trace.database import judge_database
from tests.conformance import hostile_files


def lines(folder: Path, count: int) -> Counter[str]:
    """Judge so many logs with a changed line."""
    acceptor, found, path = Acceptor(), Counter[str](), folder / "log.jsonl"
    for number in range(count):
        path.write_bytes(hostile_files.mutated_log(number))
        log = judge_log(path, acceptor)
        hostile_files.needs_a_verdict(log)
        found[log.verdict] += 1
    return found


def bits(folder: Path, count: int) -> Counter[str]:
    """Judge so many closed logs with a flipped bit."""
    acceptor, found, path = Acceptor(), Counter[str](), folder / "flipped.sqlite"
    whole = hostile_files.stored(folder / "whole.sqlite")
    content, rows = whole.read_bytes(), hostile_files.rows_of(whole)
    for number in range(count):
        path.write_bytes(hostile_files.flipped(content, number))
        logs = judge_database(path, acceptor)
        for log in logs:
            hostile_files.needs_a_verdict(log)
        verdicts = {log.verdict for log in logs}
        found[next(iter(verdicts)) if len(verdicts) == 1 else "several sessions"] += 1
        if verdicts == {"holds"}:
            found["other rows"] += rows != hostile_files.rows_of(path)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("lines", "bits"))
    parser.add_argument("--count", type=int)
    parser.add_argument("--json", action="store_true", help="figures for a program")
    chosen = parser.parse_args(arguments)
    work, usual = {"lines": (lines, 100_000), "bits": (bits, 10_000)}[chosen.what]
    count = chosen.count or usual
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = work(Path(folder), count)
    figures = {"files": count, "seconds": round(time.perf_counter() - began, 1), **found}
    figures["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if chosen.json:
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        return
    for name, value in figures.items():
        sys.stdout.write(f"{name.replace('_', ' '):<20}{value:>12,}\n")


if __name__ == "__main__":
    main()
