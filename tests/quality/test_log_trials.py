"""The shipped log passes every trial, and each mutant of the log does not pass the one it names."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("apsw", reason="apsw is not installed: no disk can be simulated")

from loopspec import impl
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.mutants import TRIALS, LogMutant, load_log_mutants, mutated_impl
from loopspec.conformance.mutants.registry import mutated_part
from loopspec.conformance.subjects.python import PythonSubject
from tests.generated import ROOT
from tests.impl.folders import on_a_small_disk, quick_folder
from tests.quality.disk_faults import cut_everywhere, scenarios
from tests.quality.log_trials import RUN

MUTANTS: Final = load_log_mutants()

PARTS: Final = ("model", "impl", "conformance", "reports", ".")

PROGRAM: Final = """
import json
import sys
from pathlib import Path

from loopspec import impl
from loopspec.conformance.mutants import load_log_mutants
from loopspec.conformance.mutants.registry import mutated_part
from tests.quality.log_trials import filled

ballast = Path("ballast")
chosen = [each for each in load_log_mutants() if each.id in sys.argv[1:]]
loop = mutated_part("impl", *chosen) if chosen else impl
lost = []
for writer in ("inline",) if chosen else ("inline", "thread"):
    begin = lambda _: ballast.write_bytes(bytes(500_000))
    lost += filled(loop, Path(f"{writer}.sqlite").absolute(), writer, begin, ballast.unlink)
    for left in Path(".").glob("*.sqlite*"):
        left.unlink()
print(json.dumps(lost))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where logs are written and opened."""
    with quick_folder() as made:
        yield made


def test_every_trial_can_be_run() -> None:
    """What the registry names is there, and finds at least one mutant."""
    assert set(TRIALS) == set(RUN) == {each.trial for each in MUTANTS}


@pytest.mark.parametrize("trial", TRIALS)
def test_the_shipped_log_passes(trial: str, folder: Path) -> None:
    """No sentence: no law is broken."""
    assert [] == RUN[trial](impl, folder)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[each.id for each in MUTANTS])
def test_the_trial_finds_the_mutant(mutant: LogMutant, folder: Path) -> None:
    """While the disk is well it is no wreck: a scenario is green on it."""
    copy = mutated_part("impl", mutant)
    outcome = run_scenario(PythonSubject(copy), scenarios()["one-tool"])

    assert () == outcome.findings
    assert RUN[mutant.trial](copy, folder)


@pytest.mark.parametrize(
    ("mutant_id", "sentence"),
    [
        ("claimed-come-back", "gone on behind"),
        ("claim-in-two-commits", "gone on behind"),
        ("request-before-the-flush", "provider asked behind"),
        ("tool-before-the-flush", "tool asked behind"),
    ],
)
def test_what_the_loop_makes_of_a_power_cut_is_judged_too(
    mutant_id: str, sentence: str, folder: Path
) -> None:
    """A fault of the loop is found on a sound log: when it goes on, or when it tells too early."""
    lost = cut_everywhere("one-tool", folder, 0, 7, impl=mutated_impl(mutant_id)).lost

    assert any(each.startswith(sentence) for each in lost)


@pytest.mark.parametrize(
    ("mutant", "breaches"),
    [("", []), ("full-disk-swallowed", ["inline: nothing says that the disk is full"])],
    ids=["shipped", "swallowed"],
)
def test_a_real_disk_that_is_full(mutant: str, breaches: list[str], tmp_path: Path) -> None:
    """One sentence, nothing acknowledged is lost, and it goes on once there is room again.

    The mutant writes in place only: what it leaves open keeps its room.
    """
    (tmp_path / "program.py").write_text(PROGRAM)
    command = on_a_small_disk("1m", f"{sys.executable} ../program.py {mutant}")
    path = os.pathsep.join(str(ROOT / part) for part in PARTS)

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert "" == done.stderr
    assert breaches == json.loads(done.stdout)[: len(breaches) or None]
