"""Trials of the session log: each takes an implementation and gives a sentence for each breach.

They are named in the registry of mutants (`TRIALS`). The shipped log passes every one of them, and
a mutant of the log does not pass its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest import mock

import apsw

from loopspec import impl as shipped
from tests.impl.disks import SPILLS, Disk
from tests.quality.disk_faults import cut_everywhere, fail_everywhere, found

FLUSHED: Final = 5
"""Records of one flush."""

RECORDS_MAX: Final = 5_000
"""By then a small disk is full."""

WAL_PAGES: Final = 20
"""How many pages a write-ahead log has when it is moved into the file."""


def power_cuts(impl: ModuleType, folder: Path) -> list[str]:
    """Every power cut of a scenario."""
    return cut_everywhere("one-tool", folder, 1, 7, impl=impl).lost


def failing_disk(impl: ModuleType, folder: Path) -> list[str]:
    """Every call of the disk in a scenario, failing once, for good, and full."""
    lost = list[str]()
    for for_good, failure in ((False, apsw.FullError), (True, apsw.IOError)):
        tally = fail_everywhere(
            "nested-send", folder, for_good=for_good, failure=failure, pragma=SPILLS, impl=impl
        )
        lost += tally.lost
    return lost


def writer_thread(impl: ModuleType, folder: Path) -> list[str]:
    """Every call of the disk below the thread, failing once; what was flushed must be there."""
    number, lost = 0, list[str]()
    while True:
        number += 1
        disk, path = Disk(), folder / f"{number}.sqlite"
        disk.fails_at = number
        acknowledged = 0
        with (
            mock.patch.object(impl.logfile, "sync_folder", disk.folder_synced),
            suppress(impl.LoopError),
        ):
            log = impl.SessionLog.create(path, connect=disk.connect)
            with log:
                for turn in range(3):
                    append(log, turn)
                    asyncio.run(log.flush())
                    acknowledged += 1
        if disk.calls < number:
            return lost
        disk.heal()
        try:
            if path.exists() and len(found(path)) < acknowledged:
                lost.append(f"call {number} failed: an acknowledged record is gone")
        except shipped.LoopError as error:
            lost.append(f"call {number} failed: {error}")


def slow_reader(impl: ModuleType, folder: Path) -> list[str]:
    """A reader that stops half way keeps no page of the write-ahead log from being moved."""
    path = folder / "read.sqlite"
    with impl.Store.create(path) as store:
        store._file._connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        log = store.session("main")
        readers = []
        for number in range(40):
            append(log, number)
            asyncio.run(log.flush())
            if number % 10 == 5:
                readers.append(store._file.rows("main"))
                next(readers[-1])
        size = path.with_name(f"{path.name}-wal").stat().st_size
    if size > 2 * WAL_PAGES * 4120:
        return [f"the write-ahead log has {size} bytes"]
    return []


def full_disk(impl: ModuleType, folder: Path) -> list[str]:
    """A file that may not grow, which SQLite takes for a full disk, by either writer."""

    def limited(log: Any) -> None:  # noqa: ANN401
        log._file._connection.execute("PRAGMA max_page_count = 12")

    lost = list[str]()
    for writer in ("inline", "thread"):
        lost += filled(impl, folder / f"{writer}.sqlite", writer, limited, lambda: None)
    return lost


def filled(
    impl: ModuleType,
    path: Path,
    writer: str,
    begin: Callable[[Any], None],
    end: Callable[[], None],
) -> list[str]:
    """Write until the disk is full, and go on as far as the log lets; then there is room again.

    `begin` limits the log once it has a record, `end` makes room.
    """
    log = impl.SessionLog.create(path, writer=writer)
    refused = ""
    acknowledged, number = written(log, 0)
    begin(log)
    try:
        while number < RECORDS_MAX:
            acknowledged, number = written(log, number)
    except impl.LoopError as error:
        refused = str(error)
    lost = [] if "full" in refused else [f"{writer}: nothing says that the disk is full"]
    with suppress(impl.LoopError):
        acknowledged, _ = written(log, number)
    with suppress(impl.LoopError):
        log.close()
    try:
        # A full disk may have no room for what SQLite needs to read; it may not lose a record.
        still = shipped.SessionLog.open(path, writer="inline")
        if len(still.read()) < acknowledged:
            lost.append(f"{writer}, still full: an acknowledged record is gone")
        with suppress(shipped.FlushFailed):
            still.close()
    except shipped.LogUnreadable as error:
        if not any(each in str(error) for each in ("full", "cannot open")):
            lost.append(f"{writer}, still full: {error}")
    end()
    try:
        with shipped.SessionLog.open(path, writer="inline") as again:
            before = len(again.read())
            written(again, before)
        if not acknowledged <= before == len(found(path)) - FLUSHED:
            lost.append(f"{writer}: an acknowledged record is gone")
    except shipped.LoopError as error:
        lost.append(f"{writer}: {error}")
    return lost


def written(log: Any, number: int) -> tuple[int, int]:  # noqa: ANN401
    """Append some messages and flush: how many are acknowledged, and the number of the next."""
    for each in range(number, number + FLUSHED):
        append(log, each)
    asyncio.run(log.flush())
    return log._next_seq, number + FLUSHED


def append(log: Any, number: int) -> None:  # noqa: ANN401
    """Append a message of about half a page."""
    block = {"type": "text", "text": "x" * 2000}
    message = {"role": "user", "source": {"kind": "user"}, "content": [block]}
    log.append("user/message", {**message, "id": str(number)})


RUN: Final[Mapping[str, Callable[[ModuleType, Path], list[str]]]] = {
    "power cuts": power_cuts,
    "failing disk": failing_disk,
    "writer thread": writer_thread,
    "full disk": full_disk,
    "slow reader": slow_reader,
}
"""Each trial by its name in the registry."""
