# ruff: noqa: INP001
"""How many appends a second the session log acknowledges, beside others in the same run.

    python benchmarks/appends.py
    python benchmarks/appends.py --seconds 2 --repeat 5 --json

Each writer appends a record of about 400 bytes and waits for its acknowledgement, over and over.
`raw` is an append to a plain file and an fsync: the floor of the disk. `aiosqlite` is one
connection of that library with the same settings, a transaction for each append. `log` is the
session log: one session for each writer, in one store. Absolute figures are those of this disk at
this moment; the ratios of one run are what can be compared.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import aiosqlite

from loopspec.impl import Store

TEXT: Final = "x" * 240
MESSAGE: Final = {
    "id": "A",
    "role": "user",
    "source": {"kind": "user"},
    "content": [{"type": "text", "text": TEXT}],
}
BODY: Final = json.dumps({"seq": 0, "time": 0, "type": "user/message", "data": MESSAGE}).encode()
Append = Callable[[int], Awaitable[None]]


class Measured:
    """What one kind of log did in one repetition."""

    def __init__(self, waits: list[float], seconds: float) -> None:
        """Keep the rate and the waits."""
        self.rate = len(waits) / seconds
        ordered = sorted(waits)
        self.p50 = ordered[len(ordered) // 2] * 1000
        self.p99 = ordered[len(ordered) * 99 // 100] * 1000


async def measured(append: Append, writers: int, seconds: float) -> Measured:
    """Let writers append one after the other until the time is over."""
    waits: list[float] = []
    begun = time.perf_counter()

    async def write(writer: int) -> None:
        while (at := time.perf_counter()) - begun < seconds:
            await append(writer)
            waits.append(time.perf_counter() - at)

    await asyncio.gather(*(write(number) for number in range(writers)))
    return Measured(waits, time.perf_counter() - begun)


def raw(folder: Path, seconds: float) -> Measured:
    """Append and fsync a plain file: no wait can be shorter."""
    waits: list[float] = []
    with (folder / "raw").open("ab", buffering=0) as file:
        begun = time.perf_counter()
        while (at := time.perf_counter()) - begun < seconds:
            file.write(BODY)
            os.fsync(file.fileno())
            waits.append(time.perf_counter() - at)
        return Measured(waits, time.perf_counter() - begun)


async def by_aiosqlite(folder: Path, writers: int, seconds: float) -> Measured:
    """One connection with the log's settings; each append is a transaction of its own."""
    async with aiosqlite.connect(folder / f"aio{writers}.sqlite", isolation_level=None) as database:
        await database.execute("PRAGMA journal_mode = WAL")
        await database.execute("PRAGMA synchronous = FULL")
        await database.execute(
            "CREATE TABLE record (session INTEGER, seq INTEGER, body BLOB, "
            "PRIMARY KEY (session, seq)) WITHOUT ROWID"
        )
        numbers = [0] * writers

        async def append(writer: int) -> None:
            numbers[writer] += 1
            # Without BEGIN the statement is a transaction: one trip to the thread, as cheap as can.
            await database.execute(
                "INSERT INTO record VALUES (?, ?, ?)", (writer, numbers[writer], BODY)
            )

        return await measured(append, writers, seconds)


async def by_log(folder: Path, writers: int, seconds: float) -> Measured:
    """One store, one session for each writer."""
    with Store.create(folder / f"log{writers}.sqlite") as store:
        logs = [store.session(f"session {number}") for number in range(writers)]

        async def append(writer: int) -> None:
            logs[writer].append("user/message", MESSAGE)
            await logs[writer].flush()

        return await measured(append, writers, seconds)


def one_repetition(seconds: float) -> dict[str, Measured]:
    """Measure each kind in turn, on the disk of the temporary folder."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        return {
            "raw": raw(folder, seconds),
            "aiosqlite, 1 writer": asyncio.run(by_aiosqlite(folder, 1, seconds)),
            "log, 1 writer": asyncio.run(by_log(folder, 1, seconds)),
            "aiosqlite, 64 writers": asyncio.run(by_aiosqlite(folder, 64, seconds)),
            "log, 64 writers": asyncio.run(by_log(folder, 64, seconds)),
        }


def ratios(of: dict[str, Measured]) -> dict[str, float]:
    """What the goals are about."""
    return {
        "64 writers, log to aiosqlite, rate": of["log, 64 writers"].rate
        / of["aiosqlite, 64 writers"].rate,
        "1 writer, log to aiosqlite, rate": of["log, 1 writer"].rate
        / of["aiosqlite, 1 writer"].rate,
        "1 append, log to raw fsync, p50": of["log, 1 writer"].p50 / of["raw"].p50,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print rates and waits of each repetition's median, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    runs = [one_repetition(options.seconds) for _ in range(options.repeat)]
    table = {
        kind: {
            "acknowledged a second": statistics.median(run[kind].rate for run in runs),
            "p50 ms": statistics.median(run[kind].p50 for run in runs),
            "p99 ms": statistics.median(run[kind].p99 for run in runs),
        }
        for kind in runs[0]
    }
    found = {name: statistics.median(ratios(run)[name] for run in runs) for name in ratios(runs[0])}
    if options.json:
        whole = {"kinds": table, "ratios": found, "sqlite": sqlite3.sqlite_version}
        sys.stdout.write(json.dumps(whole) + "\n")
        return
    lines = [f"{'':24}{'acknowledged/s':>16}{'p50 ms':>10}{'p99 ms':>10}"]
    for kind, row in table.items():
        rate, p50, p99 = row.values()
        lines.append(f"{kind:24}{rate:16,.0f}{p50:10.2f}{p99:10.2f}")
    lines += [f"{name}: {ratio:.1f}" for name, ratio in found.items()]
    lines.append(f"SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
