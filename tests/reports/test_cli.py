"""The command line, run in this process: sentences, exit codes, streams."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from loopspec.cli import shell
from loopspec.cli.exits import CouldNotRun
from loopspec.cli.outcome import tell
from loopspec.cli.progress import ProgressLine
from tests.reports import samples


@pytest.mark.parametrize("name", samples.ALL)
def test_report_renders_any_verdict_and_says_so_with_zero(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To render a broken run is no failure of rendering."""
    folder = samples.write(tmp_path / "run", samples.ALL[name]())
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"

    code = shell.run(["report", str(folder), "--html", str(page), "--junit", str(junit)])

    out, err = capsys.readouterr()
    assert 0 == code
    assert f"wrote {junit}\n" == err
    assert "verdict  " in out.splitlines()[-1]
    assert page.read_text().startswith("<!doctype html>")
    assert junit.read_text().startswith("<?xml")
    assert {"run", "page.html", "junit.xml"} == {path.name for path in tmp_path.iterdir()}


def test_report_json_is_one_ascii_document_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe into a JSON reader works, and so does a terminal."""
    folder = samples.write(tmp_path, samples.hostile())

    assert 0 == shell.run(["report", str(folder), "--json"])

    out, _ = capsys.readouterr()
    assert out.isascii()
    assert "\x1b" not in out
    assert samples.HOSTILE == json.loads(out)["subject"]["name"]


def test_report_without_a_folder_takes_the_newest_judged_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names begin with a time stamp; a folder without run.json was never judged."""
    runs = tmp_path / "loopspec-runs"
    samples.write(runs / "20260101-000000-check", samples.broken())
    samples.write(runs / "20260102-000000-check", samples.holds())
    (runs / "20260103-000000-check").mkdir()
    monkeypatch.chdir(tmp_path)

    assert 0 == shell.run(["report"])

    assert "verdict  holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ["chek"],
            f"expected one of {', '.join(shell.VERBS)}, got 'chek'",
        ),
        (["check", "--effort", "huge"], "'huge' is not one of 'quick', 'ci', 'deep'"),
        (["check", "--nosuch"], "--nosuch"),
        (["replay"], "Missing argument 'FILE'"),
        (["report", "nowhere"], "expected a run folder, nowhere does not exist"),
        (["report"], "expected a run folder below loopspec-runs, there is none"),
        (["explore", "--scope", "queue", "--graph", "g.png"], "not g.png"),
        (["explore", "--graph", "g.dot"], "none was named"),
    ],
)
def test_misuse_is_one_sentence_on_stderr_and_two(
    arguments: list[str],
    part: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What was expected, what came, where; nothing on stdout."""
    monkeypatch.chdir(tmp_path)

    assert 2 == shell.run(arguments)

    out, err = capsys.readouterr()
    first, *hints = err.splitlines()
    assert "" == out
    assert part in first
    assert first.startswith("loopspec: ")
    assert all(line.startswith("  hint: ") for line in hints)


@pytest.mark.parametrize("name", samples.ALL)
def test_a_finished_run_leaves_a_page_and_its_exit_code(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Page, print-out and exit code all come from the folder."""
    run = samples.ALL[name]()
    folder = samples.write(tmp_path, run)

    assert run["exit"] == tell(folder, as_json=False)

    assert f"report   {folder / 'report.html'}"[:200] in capsys.readouterr().out
    assert f"<title>{run['verdict']}: " in (folder / "report.html").read_text()


def test_a_run_that_cannot_be_read_back_could_not_run(tmp_path: Path) -> None:
    """A suite that writes nonsense gets no verdict out of it."""
    with pytest.raises(CouldNotRun, match="there is none"):
        tell(tmp_path, as_json=True)


def test_no_verb_is_answered_with_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The bare command teaches, on stderr, since it has no result."""
    assert 2 == shell.run([])

    out, err = capsys.readouterr()
    assert "" == out
    assert "Start with:" in err


def test_a_page_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path and the reason of the system."""
    folder = samples.write(tmp_path / "run", samples.holds())
    page = tmp_path / "missing" / "page.html"

    assert 2 == shell.run(["report", str(folder), "--html", str(page)])

    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_a_page_without_a_possible_name_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Empty, or longer than a file system takes."""
    folder = samples.write(tmp_path / "run", samples.holds())

    assert 2 == shell.run(["report", str(folder), "--html", name])

    err = capsys.readouterr().err
    assert "internal error" not in err
    assert 1 == len(err.splitlines())


def fails_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code when a verb raises this."""

    @click.command("report")
    def command() -> None:
        raise error

    monkeypatch.setattr("loopspec.cli.report.command", command)
    return shell.run(["report"])


@pytest.mark.parametrize(
    ("error", "code", "part"),
    [
        (CouldNotRun("no disk", "buy one"), 2, "loopspec: no disk\n  hint: buy one\n"),
        (KeyboardInterrupt(), 130, "loopspec: interrupted\n"),
        (ValueError("x\x1b"), 2, "internal error: ValueError: x\\x1b at test_cli.py:"),
    ],
)
def test_every_failure_has_its_exit_code(
    error: BaseException,
    code: int,
    part: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An interrupt is 130; our own bug is 2, one sentence, no traceback."""
    monkeypatch.delenv("LOOPSPEC_DEBUG", raising=False)

    assert code == fails_with(error, monkeypatch)

    err = capsys.readouterr().err
    assert part in err
    assert "Traceback" not in err


def test_debug_shows_the_traceback_of_our_own_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """LOOPSPEC_DEBUG=1 is for those who mend it."""
    monkeypatch.setenv("LOOPSPEC_DEBUG", "1")

    assert 2 == fails_with(ValueError("x"), monkeypatch)

    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    """`loopspec report | head -1` ends quietly, with none of the verdicts' exit codes."""
    folder = samples.write(tmp_path, samples.holds())
    program = (
        "import os, sys; from loopspec.cli import main; r, w = os.pipe(); os.close(r); "
        f"os.dup2(w, 1); main(['report', {str(folder)!r}])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)

    assert (141, b"") == (done.returncode, done.stderr)


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_behind_stdout_is_one_sentence(tmp_path: Path) -> None:
    """The result is lost, so it could not run; and Python does not complain again at exit."""
    folder = samples.write(tmp_path, samples.holds())

    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "loopspec", "report", str(folder)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )

    assert 2 == done.returncode
    assert "loopspec: cannot read or write a stream: No space left on device\n" == done.stderr


@pytest.mark.parametrize("closed", ["stdout", "stderr", "stdin"])
def test_a_closed_stream_is_no_traceback(closed: str) -> None:
    """`>&-`, `2>&-` and `<&-` leave Python without the stream."""
    program = f"import sys; sys.{closed} = None; from loopspec.cli import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", program, "replay", "-"], capture_output=True, text=True, timeout=60
    )

    assert (3 if closed == "stderr" else 2) == done.returncode
    assert "Traceback" not in done.stderr


def test_an_interrupt_that_a_finalizer_swallows_comes_again() -> None:
    """Python would print it and go on."""
    program = (
        "import click, loopspec.cli.report as report\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        raise KeyboardInterrupt\n"
        "@click.command('report')\n"
        "def command():\n"
        "    Last()\n"
        "    while True: pass\n"
        "report.command = command\n"
        "from loopspec.cli import main; main()\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "report"], capture_output=True, text=True, timeout=60
    )

    assert (130, "loopspec: interrupted\n") == (done.returncode, done.stderr)


def test_python_m_loopspec_is_the_command() -> None:
    """Where the script is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "loopspec", "--help"], capture_output=True, text=True, timeout=60
    )

    assert 0 == done.returncode
    assert "explore" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    """What `--help` costs is decided by what it imports; a clock would measure the machine."""
    program = (
        "import sys; from loopspec.cli import shell; shell.run(['--help']); "
        "heavy = {'rich', 'jinja2', 'msgspec', 'attrs', 'networkx', 'hypothesis', 'pytest', "
        "'asyncio', 'sqlite3', 'loopspec.model', 'loopspec.impl', 'loopspec.conformance'}; "
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )

    assert ("", 0) == (done.stderr, done.returncode)


def test_progress_says_nothing_unless_somebody_watches(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not a terminal: not a byte."""
    with ProgressLine(clock=iter(range(0, 1000, 10)).__next__, watched=lambda: False) as line:
        line.update("random", 1, 10)

    assert ("", "") == capsys.readouterr()


def test_progress_appears_after_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Short work shows no bar; long work shows how far it is."""
    ticks = iter([0.0, 1.9, 2.1])
    with ProgressLine(clock=lambda: next(ticks), watched=lambda: True) as line:
        line.update("random", 1, 10)
        assert "" == capsys.readouterr().err
        line.update("random", 4, 10)
        line.update("random", 5, 10)

    out, err = capsys.readouterr()
    assert "" == out
    assert "random" in err
