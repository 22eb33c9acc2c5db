"""Power cuts and failing disks: what is acknowledged stays, and the log is a gap-free prefix.

Every write, sync, truncate and delete of a small scenario is a place to cut the power, and every
call of the disk is one that fails, once or for good. What is left is opened by Python's own SQLite.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, cast
from unittest import mock

import attrs
import pytest

from loopspec.impl import (
    AppendRefused,
    FlushFailed,
    LogUnreadable,
    LoopError,
    SessionLog,
    Store,
    fixed_clock,
    logfile,
)
from loopspec.impl.logfile import HowWritten

pytest.importorskip("apsw", reason="apsw is not installed: no disk can be simulated")

import apsw

from tests.impl.disks import CHECKPOINTS, SPILLS, Disk, states
from tests.impl.folders import quick_folder

BATCHES: Final = ((1, 2), (3,), (1, 4, 2))
"""Records of each flush, for each time that the log is opened; in between it is closed."""

BOUNDARIES: Final = (0, 1, 3, 6, 7, 11, 13)
"""Numbers of records at which a transaction may end."""


@attrs.define
class History:
    """What a run was told: appends that returned, and how many were acknowledged, and when."""

    accepted: list[str] = attrs.field(factory=list)
    acknowledged: list[tuple[int, int]] = attrs.field(factory=list)
    created: int = -1
    retried: int = 0

    def owed(self, cut: int) -> int:
        """How many records were acknowledged before a change."""
        return max((count for at, count in self.acknowledged if at <= cut), default=0)


def play(
    disk: Disk,
    path: Path,
    history: History,
    durability: str,
    pragma: str = CHECKPOINTS[0],
    writer: HowWritten = "inline",
) -> None:
    """Append, flush, close and open again; raises what the log raises."""
    setting = cast("Literal['power', 'process']", durability)
    with mock.patch.object(logfile, "sync_folder", disk.folder_synced):
        _play(disk, path, history, setting, pragma, writer)


def _play(
    disk: Disk,
    path: Path,
    history: History,
    setting: Literal["power", "process"],
    pragma: str,
    writer: HowWritten,
) -> None:
    for number, batches in enumerate(BATCHES):
        make = Store.open if number else Store.create
        store = make(path, durability=setting, writer=writer, connect=disk.connect)
        try:
            connection = store._file._connection
            assert connection is not None
            connection.execute(f"PRAGMA {pragma}")
            if not number:
                history.created = len(disk.changes)
            log = store.session("main", clock=fixed_clock())
            for size in batches:
                for _ in range(size):
                    text = f"{len(history.accepted)} {'x' * 700}"
                    try:
                        log.append("user/message", message(text))
                    except AppendRefused:
                        # It works, or it is refused alike; nothing was taken by the first.
                        log.append("user/message", message(text))
                        history.retried += 1
                    history.accepted.append(text)
                asyncio.run(log.flush())
                history.acknowledged.append((len(disk.changes), len(history.accepted)))
        finally:
            store.close()


def message(text: str) -> dict[str, object]:
    """Return a user message."""
    block = {"type": "text", "text": text}
    return {"id": "A", "role": "user", "source": {"kind": "user"}, "content": [block]}


def found(path: Path) -> tuple[list[str], str]:
    """Return the texts on record, and what the log says of its end."""
    with SessionLog.open(path, writer="inline") as log:
        texts = [record.payload.content[0].text for record in log.read()]  # type: ignore[union-attr]
        return texts, log.remark


def cut_everywhere(
    folder: Path, durability: str, torn: int, seed: int, pragma: str = CHECKPOINTS[0]
) -> int:
    """Cut the power at every change of the scenario; returns how many states were opened."""
    disk, history, rng = Disk(), History(), random.Random(seed)
    play(disk, folder / "whole.sqlite", history, durability, pragma)
    count = 0
    for cut in range(history.created, len(disk.changes) + 1):
        for kind, files in states(disk.changes, cut, torn, rng):
            count += 1
            place = folder / str(count)
            place.mkdir()
            for name, content in files.items():
                (place / name).write_bytes(content)
            texts, remark = found(place / "whole.sqlite")
            where = f"{durability}, cut before change {cut}, {kind}"
            assert texts == history.accepted[: len(texts)], where
            assert len(texts) in BOUNDARIES, where
            if durability == "power":
                assert len(texts) >= history.owed(cut), where
            if cut < len(disk.changes) and len(texts) < history.owed(cut):
                assert remark, where
            for file in place.iterdir():
                file.unlink()
            place.rmdir()
    return count


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the states of a disk are written and opened."""
    with quick_folder() as made:
        yield made


@pytest.mark.parametrize("pragma", CHECKPOINTS)
@pytest.mark.parametrize("durability", ["power", "process"])
def test_every_power_cut_leaves_what_was_acknowledged(
    folder: Path, durability: str, pragma: str
) -> None:
    """ACK-POWER, PREFIX, BATCH; without an fsync for each commit only the last two."""
    assert cut_everywhere(folder, durability, torn=1, seed=7, pragma=pragma) > 250


def test_the_simulation_sees_a_commit_without_its_sync(folder: Path) -> None:
    """The law that `power` keeps is broken by `process` on the same disk."""
    disk, history = Disk(), History()
    play(disk, folder / "whole.sqlite", history, "process")
    lost = 0
    for cut in range(history.created, len(disk.changes) + 1):
        kept = next(files for _, files in states(disk.changes, cut, 0, random.Random(1)))
        for name, content in kept.items():
            (folder / f"{cut}").mkdir(exist_ok=True)
            (folder / f"{cut}" / name).write_bytes(content)
        lost += len(found(folder / f"{cut}" / "whole.sqlite")[0]) < history.owed(cut)
    assert lost > 0


def fail_everywhere(
    folder: Path, *, for_good: bool, failure: type[apsw.Error], writer: HowWritten = "inline"
) -> tuple[int, int]:
    """Let every call of the disk fail in a run of its own: how many did, and how many retries went.

    A retry is an append that was refused and went well when it was tried again.
    """
    number = retried = 0
    while True:
        number += 1
        disk, history = Disk(), History()
        disk.fails_at, disk.fails_on, disk.failure = number, for_good, failure
        path = folder / f"{number}.sqlite"
        failed: LoopError | None = None
        try:
            play(disk, path, history, "power", SPILLS, writer)
        except LoopError as error:
            failed = error
        if disk.calls < number:
            return number - 1, retried
        disk.heal()
        retried += history.retried
        where = f"call {number} failed: {failed}"
        if history.created < 0:
            assert isinstance(failed, LogUnreadable), where
            assert not path.exists(), where
            continue
        assert failed is None or isinstance(failed, AppendRefused | FlushFailed | LogUnreadable), (
            where
        )
        texts, _ = found(path)
        assert texts == history.accepted[: len(texts)], where
        assert len(texts) >= history.owed(len(disk.changes)), where
        assert len(texts) in BOUNDARIES, where


@pytest.mark.parametrize("failure", [apsw.IOError, apsw.FullError], ids=["io", "full"])
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_every_failing_call_of_the_disk_loses_nothing_that_was_acknowledged(
    folder: Path, failure: type[apsw.Error], for_good: bool
) -> None:
    """REFUSED: one of our errors in a sentence, and a whole prefix to open again."""
    count, retried = fail_everywhere(folder, for_good=for_good, failure=failure)
    assert count > 100
    assert (retried == 0) == for_good


def test_failing_calls_below_the_writing_thread_lose_nothing_either(folder: Path) -> None:
    """There a refusal is met by the flush, and every append before it was taken."""
    count, retried = fail_everywhere(folder, for_good=False, failure=apsw.IOError, writer="thread")
    assert (count > 100, retried) == (True, 0)
