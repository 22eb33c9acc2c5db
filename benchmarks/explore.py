# ruff: noqa: INP001
"""How fast the explorer is and how much memory it takes, for each default scope.

Each scope is explored in fresh processes: its memory is the growth of the peak of the resident set
over that of the same process before the search, its time is the processor time of the fastest of
some repetitions. Nothing is measured while another scope is explored.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from loopspec.model.explore import explore
from loopspec.model.scopes import DEFAULT_SCOPES

SCOPES: Final = {scope.name: scope for scope in DEFAULT_SCOPES}
UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""What `ru_maxrss` counts in, in bytes."""


class Measured(NamedTuple):
    """One exploration: what was found, and what it took."""

    scope: str
    states: int
    transitions: int
    seconds: float
    bytes: int

    @property
    def rate(self) -> float:
        """States a second."""
        return self.states / self.seconds

    @property
    def each(self) -> float:
        """Bytes a state."""
        return self.bytes / self.states

    def as_json(self) -> dict[str, object]:
        """The figures with the two that follow from them."""
        figures = self._asdict() | {"states_per_second": self.rate, "bytes_per_state": self.each}
        return {name: round(v, 3) if isinstance(v, float) else v for name, v in figures.items()}


def peak() -> int:
    """The largest resident set of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def measure(name: str, memo: bool) -> Measured:
    """Explore one scope in this process, which should be fresh."""
    before, begun = peak(), time.process_time()
    found = explore(SCOPES[name], memo=memo)
    seconds = time.process_time() - begun
    return Measured(name, found.states, found.transitions, seconds, peak() - before)


def measure_apart(name: str, memo: bool, repeat: int) -> Measured:
    """Explore one scope in fresh processes, one after another; the fastest."""
    command = [sys.executable, __file__, "--here", "--scope", name, *([] if memo else ["--plain"])]
    runs = [
        Measured(*json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
        for _ in range(repeat)
    ]
    return min(runs, key=lambda run: run.seconds)


def table(measured: Sequence[Measured]) -> str:
    """The figures for a terminal."""
    lines = [
        f"{'scope':<12}{'states':>9}{'transitions':>13}{'seconds':>9}{'states/s':>10}{'B/state':>9}"
    ]
    lines += [
        f"{m.scope:<12}{m.states:>9,}{m.transitions:>13,}{m.seconds:>9.2f}{m.rate:>10,.0f}"
        f"{m.each:>9,.0f}"
        for m in measured
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scope", action="append", choices=SCOPES, help="only this one; repeats")
    parser.add_argument("--repeat", type=int, default=3, help="processes a scope (3)")
    parser.add_argument("--plain", action="store_true", help="without sharing of runs")
    parser.add_argument("--json", action="store_true", help="figures for a program")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    names = chosen.scope or list(SCOPES)
    if chosen.here:
        sys.stdout.write(json.dumps(measure(names[0], not chosen.plain)))
        return
    measured = [measure_apart(name, not chosen.plain, chosen.repeat) for name in names]
    text = json.dumps([m.as_json() for m in measured], indent=1) if chosen.json else table(measured)
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
