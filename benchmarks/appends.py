# ruff: noqa: INP001
"""How many appends a second the session log acknowledges, beside others in the same run.

    python benchmarks/appends.py
    python benchmarks/appends.py --seconds 2 --repeat 5 --json
    TMPDIR=/dev/shm python benchmarks/appends.py     on a disk that has nothing to wait for

Each writer appends a record of about 400 bytes and waits for its acknowledgement, over and over.
`raw` is an append to a plain file and an fsync: the floor of the disk. `aiosqlite` is one
connection of that library with the same settings, a transaction for each append; what it writes is
made before, and nothing is checked or chained. `log` is the session log, which checks, encodes and
chains each record. Both sides have the same writers on the same number of sessions. Absolute
figures are those of this disk at this moment; the ratios of one run are what can be compared.
`cpu us` is the time of the processor for each append, threads included; a busy machine changes it
least.
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

    def __init__(self, waits: list[float], seconds: float, cpu: float) -> None:
        """Keep the rate, the waits and the time of the processor."""
        self.rate = len(waits) / seconds
        self.cpu = cpu / len(waits) * 1e6
        ordered = sorted(waits)
        self.p50 = ordered[len(ordered) // 2] * 1000
        self.p99 = ordered[len(ordered) * 99 // 100] * 1000


async def measured(append: Append, writers: int, seconds: float) -> Measured:
    """Let writers append one after the other until the time is over."""
    waits: list[float] = []
    busy, begun = time.process_time(), time.perf_counter()

    async def write(writer: int) -> None:
        while (at := time.perf_counter()) - begun < seconds:
            await append(writer)
            waits.append(time.perf_counter() - at)

    await asyncio.gather(*(write(number) for number in range(writers)))
    return Measured(waits, time.perf_counter() - begun, time.process_time() - busy)


def raw(folder: Path, seconds: float) -> Measured:
    """Append and fsync a plain file: no wait can be shorter."""
    waits: list[float] = []
    with (folder / "raw").open("ab", buffering=0) as file:
        busy, begun = time.process_time(), time.perf_counter()
        while (at := time.perf_counter()) - begun < seconds:
            file.write(BODY)
            os.fsync(file.fileno())
            waits.append(time.perf_counter() - at)
        return Measured(waits, time.perf_counter() - begun, time.process_time() - busy)


async def by_aiosqlite(folder: Path, writers: int, sessions: int, seconds: float) -> Measured:
    """One connection with the log's settings; each append is a transaction of its own."""
    path = folder / f"aio{writers}-{sessions}.sqlite"
    async with aiosqlite.connect(path, isolation_level=None) as database:
        await database.execute("PRAGMA journal_mode = WAL")
        await database.execute("PRAGMA synchronous = FULL")
        await database.execute(
            "CREATE TABLE record (session INTEGER, seq INTEGER, body BLOB, "
            "PRIMARY KEY (session, seq)) WITHOUT ROWID"
        )
        numbers = [0] * sessions

        async def append(writer: int) -> None:
            session = writer % sessions
            numbers[session] += 1
            # Without BEGIN the statement is a transaction: one trip to the thread, as cheap as can.
            await database.execute(
                "INSERT INTO record VALUES (?, ?, ?)", (session, numbers[session], BODY)
            )

        return await measured(append, writers, seconds)


async def by_log(folder: Path, writers: int, sessions: int, seconds: float) -> Measured:
    """One store; the writers take turns at its sessions."""
    with Store.create(folder / f"log{writers}-{sessions}.sqlite") as store:
        logs = [store.session(f"session {number}") for number in range(sessions)]

        async def append(writer: int) -> None:
            log = logs[writer % sessions]
            log.append("user/message", MESSAGE)
            await log.flush()

        return await measured(append, writers, seconds)


CASES: Final = {
    "1 writer": (1, 1),
    "64 writers, 64 sessions": (64, 64),
    "64 writers, 1 session": (64, 1),
}
"""How many writers write to how many sessions."""


def one_repetition(seconds: float) -> dict[str, Measured]:
    """Measure each kind in turn, on the disk of the temporary folder."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        found = {"raw": raw(folder, seconds)}
        for case, (writers, sessions) in CASES.items():
            aiosqlite_did = by_aiosqlite(folder, writers, sessions, seconds)
            found[f"aiosqlite, {case}"] = asyncio.run(aiosqlite_did)
            found[f"log, {case}"] = asyncio.run(by_log(folder, writers, sessions, seconds))
        return found


def ratios(of: dict[str, Measured]) -> dict[str, float]:
    """What the goals are about."""
    rates = {
        f"{case}, log to aiosqlite, rate": of[f"log, {case}"].rate / of[f"aiosqlite, {case}"].rate
        for case in CASES
    }
    return {**rates, "1 append, log to raw fsync, p50": of["log, 1 writer"].p50 / of["raw"].p50}


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
            "cpu us": statistics.median(run[kind].cpu for run in runs),
        }
        for kind in runs[0]
    }
    found = {name: statistics.median(ratios(run)[name] for run in runs) for name in ratios(runs[0])}
    if options.json:
        whole = {"kinds": table, "ratios": found, "sqlite": sqlite3.sqlite_version}
        sys.stdout.write(json.dumps(whole) + "\n")
        return
    lines = [f"{'':36}{'acknowledged/s':>16}{'p50 ms':>10}{'p99 ms':>10}{'cpu us':>10}"]
    for kind, row in table.items():
        rate, p50, p99, cpu = row.values()
        lines.append(f"{kind:36}{rate:16,.0f}{p50:10.2f}{p99:10.2f}{cpu:10.0f}")
    lines += [f"{name}: {ratio:.1f}" for name, ratio in found.items()]
    lines.append(f"SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
