"""The command as a user runs it: a process of its own, real signals, the texts of the README."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.generated import ROOT
from tests.readme import code_blocks

README = ROOT / "README.md"
PARTS = ("model", "impl", "conformance", "reports")


def loopspec(
    *arguments: str, cwd: Path, impl: Path | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command; `impl` is another folder to take that part from."""
    roots = [str(impl or ROOT / "impl"), *(str(ROOT / part) for part in PARTS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(roots)}
    command = [sys.executable, "-W", "error", "-m", "loopspec", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, input=given, capture_output=True, text=True, timeout=120
    )


def shape(text: str) -> list[str]:
    """The lines of a print-out without what differs from run to run."""
    text = re.sub(r"loopspec-runs/\S+?/", "loopspec-runs/RUN/", text)
    text = re.sub(r"shrunk from \d+", "shrunk from N", text)
    return re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text).strip().splitlines()


def finding(text: str) -> list[str]:
    """The shape of the first finding of a print-out."""
    return shape(text.split("\n\n")[0])


def test_a_check_that_holds_is_zero_and_json(tmp_path: Path) -> None:
    """Stdout is one document, stderr is empty, and the folder lies where it was run."""
    done = loopspec("check", "--examples", "0", "--seed", "1", "--json", cwd=tmp_path)

    assert (0, "") == (done.returncode, done.stderr)
    assert "holds" == json.loads(done.stdout)["verdict"]
    assert 1 == len(list((tmp_path / "loopspec-runs").iterdir()))


def test_the_mutant_of_the_readme_prints_what_stands_there(tmp_path: Path) -> None:
    """And its replay command, given to a shell's words, shows the same breach."""
    shown = next(block for block in code_blocks(README, "text") if block.startswith("REJ broken"))
    command = next(line for line in README.read_text().splitlines() if "--mutant requeue" in line)

    done = loopspec(*shlex.split(command)[1:], "--examples", "0", cwd=tmp_path)

    assert (1, "") == (done.returncode, done.stderr)
    assert shape(shown) == finding(done.stdout)
    replay = next(line for line in done.stdout.splitlines() if line.startswith("replay   "))
    again = loopspec(*shlex.split(replay)[2:], cwd=tmp_path)
    assert 1 == again.returncode
    assert "REJ broken" in again.stdout


def test_the_loop_broken_by_hand_as_the_readme_says_is_found(tmp_path: Path) -> None:
    """The edit is made on a copy; what is printed is what stands in the README."""
    blocks = code_blocks(README, "text")
    shown = next(block for block in blocks if block.startswith("SCOPE broken"))
    edit = next(line for line in README.read_text().splitlines() if line.startswith("sed -i "))
    shutil.copytree(ROOT / "impl", tmp_path / "impl")
    loop = tmp_path / "impl" / "loopspec" / "impl" / "loop.py"
    _, before, after, _ = shlex.split(edit)[2].split("/")
    source = loop.read_text(encoding="utf-8")
    assert 1 == source.count(before)
    loop.write_text(source.replace(before, after), encoding="utf-8")

    done = loopspec(
        "check", "--seed", "4217", "--examples", "0", cwd=tmp_path, impl=tmp_path / "impl"
    )

    assert 1 == done.returncode
    assert shape(shown) == finding(done.stdout)


def test_the_session_of_the_readme_holds(tmp_path: Path) -> None:
    """What a newcomer types first."""
    line = next(line for line in README.read_text().splitlines() if line.startswith("printf "))
    text = shlex.split(line)[1].replace("\\n", "\n")

    done = loopspec("replay", "-", cwd=tmp_path, given=text)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.splitlines()[-1].startswith("holds: ")


def test_an_interrupt_is_130_without_a_traceback(tmp_path: Path) -> None:
    """The signal comes in the middle of a check, after the folder was made."""
    program = (
        "import os, signal\n"
        "from loopspec.conformance import suite\n"
        "from loopspec.cli import main\n"
        "suite.load_corpus = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "main(['check'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert (130, "", "loopspec: interrupted\n") == (done.returncode, done.stdout, done.stderr)
    (folder,) = (tmp_path / "loopspec-runs").iterdir()
    assert not (folder / "run.json").exists()


def test_a_folder_that_cannot_be_written_is_two(tmp_path: Path) -> None:
    """A file where the folder should be, also for root."""
    (tmp_path / "loopspec-runs").write_text("")

    done = loopspec("check", cwd=tmp_path)

    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("loopspec: expected a folder that can be written, got loopspec-")
    assert "Traceback" not in done.stderr
