"""Scenarios of the corpus on the real loop, with power cuts and failing calls of the disk.

ACK-POWER, PREFIX and BATCH at every write and sync, REFUSED and NO-PHANTOM at every call. `make
night` cuts sixty scenarios, which is at least 50,000 states, and lets every call of twenty fail.
That a breach would be seen is held by the mutants of the log (`test_log_trials.py`).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("apsw", reason="apsw is not installed: no disk can be simulated")

import apsw

from tests.impl.disks import CHECKPOINTS
from tests.impl.folders import quick_folder
from tests.quality.disk_faults import (
    CUT,
    FAILED,
    FAILURES,
    TORN,
    WAYS,
    Tally,
    cut_everywhere,
    fail_everywhere,
    scenarios,
)

NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
"""Whether there is time for all of it."""

STATES_EACH: Final = 834 if NIGHT else 30
"""How many states a scenario has at least: together 50,000 in the night."""

NAMES: Final = tuple(scenarios())


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the states of a disk are written and opened."""
    with quick_folder() as made:
        yield made


@pytest.mark.parametrize("name", NAMES[: CUT if NIGHT else 3])
def test_every_power_cut_of_a_scenario_is_survived(name: str, folder: Path) -> None:
    """Nothing acknowledged is lost, and the loop goes on from what is left as specified."""
    total = Tally()
    for pragma in CHECKPOINTS if NIGHT else CHECKPOINTS[:1]:
        total += cut_everywhere(name, folder, TORN if NIGHT else 1, 7, pragma)

    assert [] == total.lost
    assert total.judged > 2
    assert total.tried >= STATES_EACH


@pytest.mark.parametrize("for_good", [False, True] if NIGHT else [False])
@pytest.mark.parametrize("failure", FAILURES if NIGHT else FAILURES[:1])
@pytest.mark.parametrize("name", NAMES[: FAILED if NIGHT else 1])
def test_every_failing_call_of_a_scenario_is_survived(
    name: str, failure: type[apsw.Error], for_good: bool, folder: Path
) -> None:
    """The loop lives on or says why not; what was acknowledged is there, and it goes on from it."""
    total = Tally()
    for pragma in WAYS if NIGHT else WAYS[-1:]:
        total += fail_everywhere(name, folder, for_good=for_good, failure=failure, pragma=pragma)

    assert [] == total.lost
    assert total.judged > 2
    assert total.tried > 20
