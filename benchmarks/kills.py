# ruff: noqa: INP001
"""How many kills and power cuts the session log survives.

    python benchmarks/kills.py                       1,000 kills of each setting, and power cuts
    python benchmarks/kills.py --kills 100 --cuts 3 --json

A kill is a real SIGKILL of a process that appends and acknowledges over a pipe. A power cut is
simulated below SQLite: at every write, sync, truncate and delete, with unsynced sectors lost, kept
or torn. One loss ends the run with its seed.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.impl.folders import quick_folder
from tests.impl.kills import Nursery
from tests.impl.test_power import CHECKPOINTS, cut_everywhere

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=50, help="torn states of each cut")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    lines = [killed(setting, options.kills, options.seed) for setting in SETTINGS]
    lines += [cut(setting, options.cuts, options.seed) for setting in SETTINGS]
    if options.json:
        sys.stdout.write(json.dumps(lines) + "\n")
        return
    for line in lines:
        words = [f"{key} {value}" for key, value in line.items()]
        sys.stdout.write("  ".join([*words, "none lost"]) + "\n")


if __name__ == "__main__":
    main()
