"""ACK-KILL: what was acknowledged is there after SIGKILL at any moment, by either setting."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from loopspec.impl import SessionLog
from tests.impl.folders import quick_folder
from tests.impl.kills import Nursery, batch_sizes, looked_at

KILLS = 50

if not hasattr(os, "fork"):
    pytest.skip("this system cannot fork", allow_module_level=True)


def test_killed_owners_leave_what_they_acknowledged() -> None:
    """Also PREFIX and BATCH; 1,000 kills of each setting are in the benchmarks."""
    with Nursery() as nursery, quick_folder() as folder:
        results = [
            nursery.kill_one(
                folder, ("power", "process")[seed % 2], ("thread", "inline")[seed // 2 % 2], seed
            )
            for seed in range(KILLS)
        ]
    assert [""] * KILLS == [result.wrong for result in results]
    assert all(result.acknowledged for result in results)


def test_a_loss_would_be_seen(tmp_path: Path) -> None:
    """A record that is gone, half a batch and a seal that should not be there are told."""
    seed = next(seed for seed in range(100) if next(batch_sizes(seed)) == 20)
    path = tmp_path / "session.sqlite"
    with SessionLog.create(path, writer="inline") as log:
        log.append("turn/start", {"turn": 1})
    wrong = looked_at(path, 2, seed).wrong
    assert "acknowledged record is gone; half a batch is there; the log says that" in wrong
    log = SessionLog.open(path, writer="inline")
    for turn in range(3, 22):
        log.append("turn/start", {"turn": turn})
    asyncio.run(log.flush())
    log._file.give_up("its owner is killed")
    assert "the records are not a prefix" == looked_at(path, 20, seed).wrong
