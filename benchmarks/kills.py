# ruff: noqa: INP001
"""How many kills, power cuts and failing calls of the disk the session log survives.

    python benchmarks/kills.py                       1,000 kills of each setting, and power cuts
    python benchmarks/kills.py --kills 100 --cuts 3 --json
    python benchmarks/kills.py --kills 0 --scenarios 60 --failing 20

A kill is a real SIGKILL of a process that appends and acknowledges over a pipe. A power cut is
simulated below SQLite: at every write, sync, truncate and delete, with unsynced sectors lost, kept
or torn; of the log alone, and of scenarios of the corpus on the real loop, which goes on with what
was left. A failing disk is one run of a scenario for each of its calls. One loss ends the program
with its place.
"""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.impl.disks import CHECKPOINTS
from tests.impl.folders import quick_folder
from tests.impl.kills import Nursery
from tests.impl.test_power import cut_everywhere
from tests.quality import disk_faults

SETTINGS: Final = ("power", "process")


def killed(durability: str, count: int, seed: int) -> dict[str, object]:
    """Kill that many owners; a loss ends the program."""
    begun, acknowledged, found = time.monotonic(), 0, 0
    with Nursery() as nursery, quick_folder() as folder:
        for number in range(seed, seed + count):
            writer = ("thread", "inline")[number % 2]
            result = nursery.kill_one(folder, durability, writer, number)
            if result.wrong or not result.acknowledged:
                sys.exit(f"kill {number}, {durability}, {writer}: {result.wrong or 'no record'}")
            acknowledged += result.acknowledged
            found += result.found
    return {
        "durability": durability,
        "kills": count,
        "acknowledged": acknowledged,
        "found": found,
        "seconds": round(time.monotonic() - begun, 1),
    }


def cut(durability: str, torn: int, seed: int) -> dict[str, object]:
    """Cut the power everywhere; a loss is an AssertionError that names the cut."""
    begun, states = time.monotonic(), 0
    for pragma in CHECKPOINTS:
        with quick_folder() as folder:
            states += cut_everywhere(folder, durability, torn, seed, pragma)
    return {
        "durability": durability,
        "states": states,
        "seconds": round(time.monotonic() - begun, 1),
    }


def scenarios_cut(count: int, torn: int, seed: int) -> dict[str, object]:
    """Cut the power everywhere in so many scenarios."""
    begun, total = time.monotonic(), disk_faults.Tally()
    for name in list(disk_faults.scenarios())[:count]:
        for pragma in CHECKPOINTS:
            with quick_folder() as folder:
                tally = disk_faults.cut_everywhere(name, folder, torn, seed, pragma)
            total += survived(tally, f"{name}, {pragma}, seed {seed}")
    return {
        "scenarios": count,
        "states": total.tried,
        "gone on with": total.judged,
        "seconds": round(time.monotonic() - begun, 1),
    }


def scenarios_failed(count: int, *, for_good: bool) -> dict[str, object]:
    """Let every call of the disk fail in so many scenarios, as an error and as a full disk."""
    begun, total = time.monotonic(), disk_faults.Tally()
    for name in list(disk_faults.scenarios())[:count]:
        for pragma, failure in itertools.product(disk_faults.WAYS, disk_faults.FAILURES):
            with quick_folder() as folder:
                tally = disk_faults.fail_everywhere(
                    name, folder, for_good=for_good, failure=failure, pragma=pragma
                )
            total += survived(tally, f"{name}, {pragma}, {failure.__name__}")
    return {
        "scenarios": count,
        "failing": "for good" if for_good else "once",
        "calls": total.tried,
        "gone on with": total.judged,
        "not specified": total.unspecified,
        "seconds": round(time.monotonic() - begun, 1),
    }


def survived(tally: disk_faults.Tally, where: str) -> disk_faults.Tally:
    """The tally, unless something was lost."""
    if tally.lost:
        sys.exit(f"{where}: {tally.lost[0]}")
    return tally


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=50, help="torn states of each cut")
    parser.add_argument("--scenarios", type=int, default=disk_faults.CUT)
    parser.add_argument(
        "--torn", type=int, default=disk_faults.TORN, help="of each scenario's cuts"
    )
    parser.add_argument("--failing", type=int, default=disk_faults.FAILED)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    lines = [killed(each, options.kills, options.seed) for each in SETTINGS if options.kills]
    lines += [cut(each, options.cuts, options.seed) for each in SETTINGS if options.cuts]
    lines.append(scenarios_cut(options.scenarios, options.torn, options.seed))
    lines += [scenarios_failed(options.failing, for_good=good) for good in (False, True)]
    if options.json:
        sys.stdout.write(json.dumps(lines) + "\n")
        return
    for line in lines:
        words = [f"{key} {value}" for key, value in line.items()]
        sys.stdout.write("  ".join([*words, "none lost"]) + "\n")


if __name__ == "__main__":
    main()
