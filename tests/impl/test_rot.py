"""Flipped bits: a log that is accepted has exactly the records that were written.

One bit of a closed log, or of a write-ahead log that a killed owner left, is flipped at a time. The
log is refused with a sentence, or has every record; a left-over write-ahead log may lose its tail,
since nothing can tell that from an earlier end, but then the log says that it was not closed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from loopspec.impl import LogUnreadable, SessionLog, fixed_clock
from tests.impl.folders import quick_folder

FLIPS: Final = 5000
NAME: Final = "session.sqlite"
TURNS: Final = 12


def written(folder: Path, turns: int = TURNS) -> SessionLog:
    """Append to the log of a folder, one commit a record."""
    path = folder / NAME
    make = SessionLog.open if path.exists() else SessionLog.create
    log = make(path, clock=fixed_clock(), writer="inline")
    for turn in range(1, turns + 1):
        log.append("turn/start", {"turn": turn})
        asyncio.run(log.flush())
    return log


def contents(folder: Path) -> dict[str, bytearray]:
    """Return the files of a log."""
    return {
        name: bytearray((folder / name).read_bytes())
        for name in (NAME, f"{NAME}-wal")
        if (folder / name).exists()
    }


def accepted(folder: Path, files: dict[str, bytearray]) -> tuple[list[bytes], str] | None:
    """Write the files, open the log, and return its bodies and its remark; None if refused."""
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        log = SessionLog.open(folder / NAME, writer="inline", durability="process")
    except LogUnreadable:
        return None
    try:
        return [body for _, body in log._file.rows(log.session)], log.remark
    finally:
        log._file.give_up("it was read")


def flipped(
    files: dict[str, bytearray], name: str, count: int, seed: int
) -> Iterator[dict[str, bytearray]]:
    """Return the files again and again, with one bit of one of them flipped each time."""
    rng = random.Random(seed)
    for _ in range(count):
        at, bit = rng.randrange(len(files[name])), 1 << rng.randrange(8)
        files[name][at] ^= bit
        yield files
        files[name][at] ^= bit


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the damaged logs are written and opened."""
    with quick_folder() as made:
        yield made


def test_no_flipped_bit_of_a_closed_log_is_accepted_as_whole(folder: Path) -> None:
    """ROT: refused, or in bytes that hold nothing."""
    written(folder).close()
    files = contents(folder)
    whole, _ = accepted(folder, files) or ([], "")
    assert TURNS == len(whole)
    refused = 0
    for damaged in flipped(files, NAME, FLIPS, seed=3):
        found = accepted(folder, damaged)
        refused += found is None
        assert found is None or whole == found[0]
    assert refused > FLIPS / 20


@pytest.mark.parametrize("before", [0, 5], ids=["new", "closed once"])
def test_no_flipped_bit_of_a_left_over_write_ahead_log_is_hidden(folder: Path, before: int) -> None:
    """A shorter prefix says that the log was not closed, also when it was closed long ago."""
    if before:
        written(folder, before).close()
    log = written(folder)
    files = contents(folder)
    whole = [body for _, body in log._file.rows(log.session)]
    log._file.give_up("its owner is killed")
    assert before + TURNS == len(whole)
    shorter = 0
    for damaged in flipped(files, f"{NAME}-wal", FLIPS // 2, seed=4):
        found = accepted(folder, damaged)
        assert found is not None
        assert whole[: len(found[0])] == found[0]
        assert "ended without closing" in found[1]
        shorter += len(found[0]) < len(whole)
    assert shorter > FLIPS / 40
