"""A check that is killed, and one whose disk is full: what was seen until then can be judged."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from loopspec.cli import shell
from loopspec.conformance.recorder import NAME
from tests.generated import ROOT
from tests.impl.folders import on_a_small_disk

PARTS = ("model", "impl", "conformance", "reports")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in PARTS)}
DEADLINE_S = 120
CORPUS = 5

PROGRAM = f"""
from loopspec.cli import main, progress
from loopspec.conformance import corpus, suite
from loopspec.model.cover import Cover

class Told(progress.ProgressLine):
    def update(self, label, done, total=None):
        print(label, done, flush=True)

whole = corpus.load_corpus()
suite.load_corpus = lambda: whole[:{CORPUS}]
suite.cover_rows = lambda *_: Cover((), frozenset(), frozenset(), frozenset())
progress.ProgressLine = Told
main(["check", "--seed", "3", "--examples", "100000"])
"""


def cases_in(folder: Path) -> int:
    """Whole lines of cases in a file of evidence."""
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    return sum(b'"line":"case"' in line for line in lines if line.endswith(b"\n"))


@pytest.mark.parametrize("wanted", [1, 12, 40])
def test_a_killed_check_loses_at_most_the_scenario_under_way(
    wanted: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every scenario that was told before the signal is there, and is judged again."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    deadline = threading.Timer(DEADLINE_S, child.kill)
    deadline.start()
    told = ""
    for told in child.stdout:
        if told == f"random {wanted}\n":
            break
    child.send_signal(signal.SIGKILL)
    assert -signal.SIGKILL == child.wait(DEADLINE_S)
    child.stdout.close()
    deadline.cancel()
    assert f"random {wanted}\n" == told, "the stage was not reached before the deadline"
    (folder,) = (tmp_path / "loopspec-runs").iterdir()
    assert not (folder / "run.json").exists()
    monkeypatch.chdir(tmp_path)

    assert 3 == shell.run(["judge", "--json"])

    document = json.loads(capsys.readouterr().out)
    count = cases_in(folder)
    assert count >= CORPUS + wanted
    assert (False, count) == (document["ended"], document["scenarios"])
    stages = {stage["name"]: stage["scenarios"] for stage in document["run"]["stages"]}
    assert {"corpus": CORPUS, "cover": 0, "random": count - CORPUS} == stages
    reason = f"the run ended after {count} scenarios without a footer"
    assert document["run"]["reasons"][0].startswith(reason)


def full_disk(command: list[str], folder: Path, limit: int | None) -> tuple[int, str, str]:
    """Run a check in a folder; `limit` is the largest file that the system lets it write."""

    def less() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        preexec_fn=less,
    )
    return done.returncode, done.stdout.splitlines()[-1], done.stderr


def told_of_a_full_disk(
    done: tuple[int, str, str], folder: Path, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and two; what was written stays, in whole lines, and is judged."""
    code, newest, errors = done
    path = folder.relative_to(folder.parents[1]) / NAME
    expected = (
        f"loopspec: cannot write {path}: {reason}; what was written so far stays in {path.parent}\n"
    )
    assert (2, expected) == (code, errors)
    assert newest.startswith("random ")
    count = cases_in(folder)
    assert count > CORPUS
    assert (folder / NAME).read_bytes().endswith(b"\n")

    assert 3 == shell.run(["judge", str(folder)])

    out = capsys.readouterr().out
    assert f": the run ended after {count} scenarios without a footer" in out.splitlines()[-1]


def test_a_full_disk_is_one_sentence_and_what_was_written_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit on the size of a file stands for the disk, and needs no rights."""
    done = full_disk([sys.executable, "-c", PROGRAM], tmp_path, 300_000)

    (folder,) = (tmp_path / "loopspec-runs").iterdir()
    told_of_a_full_disk(done, folder, "File too large", capsys)


def test_a_real_disk_that_is_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file system of half a megabyte; what is on it is copied out before it goes."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    script = f"{sys.executable} ../program.py; code=$?; cp -r loopspec-runs ../kept; exit $code"

    done = full_disk(on_a_small_disk("512k", script), tmp_path, None)

    (folder,) = (tmp_path / "kept" / "loopspec-runs").iterdir()
    told_of_a_full_disk(done, folder, "No space left on device", capsys)
