"""Killing an owner for real: a process appends and acknowledges over a pipe until SIGKILL.

One process, the nursery, has everything imported and forks an owner for each kill, which costs a
few milliseconds instead of a start of Python. The moment is drawn from the seed: after how many
acknowledgements, and how long the killer spins afterwards.

    python tests/impl/kills.py nursery
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from loopspec.impl import SessionLog

ROOT: Final = Path(__file__).resolve().parents[2]


def batch_sizes(seed: int) -> Iterator[int]:
    """Return how many records each flush of an owner covers; some are long."""
    rng = random.Random(seed)
    while True:
        yield rng.choice((1, 1, 2, 3, 20))


def own(path: str, durability: Any, writer: Any, seed: int) -> None:  # noqa: ANN401
    """Append, flush and acknowledge until somebody ends this process."""

    async def main() -> None:
        log = SessionLog.create(path, durability=durability, writer=writer)
        count = 0
        for size in batch_sizes(seed):
            for _ in range(size):
                count += 1
                log.append("turn/start", {"turn": count})
            await log.flush()
            os.write(1, b"acknowledged %d\n" % count)

    asyncio.run(main())


def nurse() -> None:
    """Fork an owner for each line, and say when it began and when it ended."""
    for line in sys.stdin:
        path, durability, writer, seed = line.split()
        child = os.fork()
        if not child:
            own(path, durability, writer, int(seed))
        os.write(1, b"began %d\n" % child)
        os.waitpid(child, 0)
        os.write(1, b"ended 0\n")


@attrs.frozen
class Killed:
    """What is left of a killed owner: acknowledged and found records, and what is wrong."""

    acknowledged: int
    found: int
    wrong: str = ""


class Nursery:
    """The process that forks owners; use it in a `with`."""

    def __init__(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), "nursery"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "impl")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Nursery:
        """Return the nursery."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it: its input is over."""
        self._process.communicate()

    def kill_one(self, folder: Path, durability: str, writer: str, seed: int) -> Killed:
        """Let an owner run, kill it at a moment of the seed, and look at what is left."""
        assert self._process.stdin is not None
        rng = random.Random(seed)
        path = folder / f"{seed}-{durability}-{writer}.sqlite"
        self._process.stdin.write(f"{path} {durability} {writer} {seed}\n")
        self._process.stdin.flush()
        waits_for, spins = rng.randrange(1, 40), rng.randrange(20_000)
        pid = seen = last = 0
        for word, number in self._told():
            if word == "ended":
                break
            if word == "began":
                pid = number
            else:
                seen, last = seen + 1, number
            if pid and seen >= waits_for:
                for _ in range(spins):
                    pass
                # The owner may be gone by a fault of its own; that shows in what it left.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return looked_at(path, last, seed)

    def _told(self) -> Iterator[tuple[str, int]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, number = line.split()
            yield word, int(number)


def looked_at(path: Path, acknowledged: int, seed: int) -> Killed:
    """Open what a killed owner left, and compare it with what it acknowledged."""
    with SessionLog.open(path, writer="inline") as log:
        turns = [record.data["turn"] for record in log.read()]
        remark = log.remark
    whole = 0
    for size in batch_sizes(seed):
        if whole >= len(turns):
            break
        whole += size
    wrong = [
        sentence
        for broken, sentence in (
            (turns != list(range(1, len(turns) + 1)), "the records are not a prefix"),
            (len(turns) < acknowledged, "an acknowledged record is gone"),
            (whole != len(turns), "half a batch is there"),
            ("ended without closing" not in remark, "the log says that it was closed"),
        )
        if broken
    ]
    return Killed(acknowledged, len(turns), "; ".join(wrong))


if __name__ == "__main__":
    nurse()
