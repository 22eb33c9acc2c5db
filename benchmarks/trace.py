# ruff: noqa: INP001
"""How fast session logs are checked, beside a bare parse of the same bytes in the same run.

    python benchmarks/trace.py                       a slim log of one million records
    python benchmarks/trace.py --records 100000 --variant queue
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
from large_log import VARIANTS, write_log

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
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--variant", choices=VARIANTS, default="slim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="figures for a program")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        records = write_log(path, chosen.variant, chosen.records, chosen.seed)
        size = path.stat().st_size
        _, parsing = seconds_of(lambda: parse(path))
        before = peak_mib()
        acceptor = Acceptor()
        judged, judging = seconds_of(lambda: judge_log(path, acceptor))
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
    }
    if chosen.json:
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        return
    for name, value in figures.items():
        shown = f"{value:,}" if isinstance(value, int) and name != "seed" else str(value)
        sys.stdout.write(f"{name.replace('_', ' '):<28}{shown:>14}\n")


if __name__ == "__main__":
    main()
