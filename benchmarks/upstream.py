# ruff: noqa: INP001
"""How fast the genuine loop answers behind its adapter, one by one and in batches.

The scenarios are the corpus and those that were recorded of the release. Without the judge the same
lines are only sent again, so the difference is what judging costs. Seconds are of the wall clock,
the fastest of some repetitions.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.subjects.port import BATCH_MAX, Port, PortSubject
from loopspec.conformance.upstream.observed import load_observed

ADAPTER: Final = Path(__file__).resolve().parents[1] / "impl" / "adapters" / "dsh" / "adapter.mjs"
COMMANDS: Final = msgspec.json.Decoder(
    wire.Hello | wire.Reset | wire.CallCommand | wire.Answer | wire.Bye
)


def judged(port: Port) -> None:
    """Every scenario, judged by the profile of the release."""
    for each in (*load_corpus(), *load_observed()):
        run_scenario(PortSubject(port), each.scenario, profile="dsh-0.1")


def recorded(port: Port) -> list[Any]:
    """The commands that judging sends."""
    lines: list[bytes] = []
    port.watch = lambda way, line: lines.append(line) if way == ">" else None
    judged(port)
    port.watch = lambda way, line: None
    commands = [COMMANDS.decode(line) for line in lines]
    return [each for each in commands if not isinstance(each, wire.Hello)]


def singly(port: Port, commands: Sequence[Any]) -> None:
    """One command a line."""
    for each in commands:
        port.ask(each, wire.Report)


def together(port: Port, commands: Sequence[Any]) -> None:
    """As many commands a line as a port takes."""
    for at in range(0, len(commands), BATCH_MAX):
        port.ask(wire.Batch(commands=tuple(commands[at : at + BATCH_MAX])), wire.Reports)


def fastest(work: Callable[[], object], repeat: int) -> float:
    """Seconds of the fastest repetition."""
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def main() -> None:
    """Print commands a second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of each (default: 3)")
    options = parser.parse_args()
    port = Port(["node", str(ADAPTER)], profile="dsh-0.1")
    try:
        starts = []
        for _ in range(options.repeat):
            began = time.perf_counter()
            port.start()
            starts.append(time.perf_counter() - began)
        commands = recorded(port)
        rates = {
            "one a line, judged": fastest(lambda: judged(port), options.repeat),
            "one a line": fastest(lambda: singly(port, commands), options.repeat),
            f"{BATCH_MAX} a line": fastest(lambda: together(port, commands), options.repeat),
        }
    finally:
        port.stop()
    sys.stdout.write(f"start and hello: {statistics.median(starts):.3f} s\n")
    for name, seconds in rates.items():
        sys.stdout.write(f"{name}: {len(commands) / seconds:,.0f} commands a second\n")


if __name__ == "__main__":
    main()
