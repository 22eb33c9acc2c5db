"""`loopspec check` as a command: run folders, exit codes, sentences."""

import json
from pathlib import Path

import pytest

from loopspec.cli import shell
from loopspec.conformance import suite
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.reports import read_run
from tests.conformance.checks import REJECT, cover_of
from tests.conformance.test_suite import Uncontrollable

CHECK = ["check", "--examples", "0", "--seed", "7"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(suite, "cover_rows", lambda _, profile: cover_of(profile))


def test_a_check_that_holds_leaves_a_folder_and_zero(capsys: pytest.CaptureFixture[str]) -> None:
    """The last lines are counts, report and verdict; stderr is silent when nobody watches."""
    assert 0 == shell.run(CHECK)

    out, err = capsys.readouterr()
    (folder,) = Path("loopspec-runs").iterdir()
    counts, report, verdict = out.splitlines()[-3:]
    assert counts.startswith("counts   ")
    assert " actions per second, " in counts
    assert f"report   {folder / 'report.html'}" == report
    assert "verdict  holds (exit 0)" == verdict
    assert "" == err
    assert len(out.splitlines()) < 60


@pytest.mark.parametrize("profile", ["notes-park", "dsh-0.1", "dsh-0.2"])
def test_the_shipped_loop_holds_under_the_answers_of_each_profile(
    profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is given the answers of the profile as its own policy; laws of others are skipped."""
    shell.run([*CHECK, "--profile", profile, "--json"])

    document = json.loads(capsys.readouterr().out)
    assert [] == document["findings"]
    verdicts = {each["code"]: each["verdict"] for each in document["properties"]}
    assert "skipped" == verdicts["PARK"]
    assert "holds" == verdicts["BAL"]
    assert 100 < document["stages"][0]["scenarios"], "the whole corpus is judged"


def test_every_window_is_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """`--cells` is long."""
    assert 0 == shell.run([*CHECK, "--cells"])

    assert "calls made, driver idle" in capsys.readouterr().out


def test_a_mutant_is_broken_named_and_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed replay command, run as it stands, shows the same breach."""
    assert 1 == shell.run([*CHECK, "--mutant", "requeue-on-reject"])

    out, _ = capsys.readouterr()
    assert "subject   python, mutant requeue-on-reject " in out
    assert "verdict  broken (exit 1): OWN, REJ" == out.splitlines()[-1]
    replay = next(line for line in out.splitlines() if line.startswith("replay   "))
    words = replay.split()
    assert ["replay", "loopspec", "replay"] == words[:3]
    assert REJECT == Path(words[3]).read_text(encoding="utf-8")

    assert 1 == shell.run(words[2:])
    assert "REJ broken: " in capsys.readouterr().out


@pytest.mark.parametrize("mutant", ["goes-on-after-error", "disposal-is-a-cancel"])
def test_a_wrong_default_of_the_policy_is_broken_too(
    mutant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A profile says how the loop differs from its defaults, which are under test themselves."""
    assert 1 == shell.run([*CHECK, "--mutant", mutant])

    assert "verdict  broken (exit 1)" in capsys.readouterr().out


def test_a_printed_witness_can_be_pasted_into_replay(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands below the witness line, copied as it is, is a file that replay takes."""
    shell.run([*CHECK, "--mutant", "claim-two-prompts"])
    lines = capsys.readouterr().out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("  witness")) + 1
    end = next(at for at in range(begin, len(lines)) if not lines[at].startswith(" " * 12))
    pasted = lines[begin:end]
    Path("pasted.scenario").write_text("\n".join(pasted) + "\n", encoding="utf-8")

    assert 1 == shell.run(["replay", "pasted.scenario", "--mutant", "claim-two-prompts"])
    assert 0 == shell.run(["replay", "pasted.scenario"])


def test_json_is_the_run_that_the_folder_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """One document on stdout and nothing else."""
    assert 0 == shell.run([*CHECK, "--json", "--out", "elsewhere"])

    (folder,) = Path("elsewhere").iterdir()
    document = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "run.json").read_text()) == document
    assert ("notes", 7) == (document["profile"], document["seed"])
    assert document["again"].endswith("--effort quick --seed 7 --examples 0")
    assert not Path("loopspec-runs").exists()


def test_without_a_seed_one_is_chosen_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Every run can be repeated."""
    assert 0 == shell.run(["check", "--examples", "0", "--json"])

    seed = json.loads(capsys.readouterr().out)["seed"]
    assert 0 <= seed < 2**31


def test_report_reads_what_check_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    """The newest run, the run by name, as text, page, JUnit and JSON."""
    shell.run(CHECK)
    first = capsys.readouterr().out
    (folder,) = Path("loopspec-runs").iterdir()

    assert 0 == shell.run(["report"])
    again = capsys.readouterr().out
    assert 0 == shell.run(["report", str(folder), "--html", "p.html", "--junit", "j.xml"])
    assert "report   " in first
    assert first.splitlines()[:-4] == again.splitlines()[:-3]
    assert (folder / "report.html").read_text() == Path("p.html").read_text()


def test_an_adapter_that_loses_control_is_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not broken: nothing was learnt about the subject, and the folder says so."""
    monkeypatch.setattr(PythonSubject, "call", Uncontrollable.call)

    assert 2 == shell.run(CHECK)

    assert "verdict  error (exit 2): corpus: a thread was asked for" in capsys.readouterr().out
    assert "error" == read_run(next(Path("loopspec-runs").iterdir())).verdict


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ["--profile", "nosuch"],
            "expected a profile (notes, notes-park, dsh-0.1, dsh-0.2, "
            "dsh-0.1-gates, dsh-0.2-gates), got 'nosuch'",
        ),
        (["--mutant", "requeue"], "expected one of"),
        (["--mutant", "\x1b[2J"], "got '\\x1b[2J'"),
        (["--seed", "many"], "'many' is not a valid integer"),
        (["--examples", "-1"], "-1 is not in the range x>=0"),
        (["--effort", "huge"], "'huge' is not one of"),
        (["--out", "taken"], "is a file"),
        (["--out", "taken/below"], "expected a folder that can be written, got taken/below"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_two(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr; nothing on stdout, no traceback, no folder."""
    Path("taken").write_text("")

    assert 2 == shell.run([*CHECK, *arguments])

    out, err = capsys.readouterr()
    first, *hints = err.splitlines()
    assert "" == out
    assert part in first
    assert first.startswith("loopspec: ")
    assert all(line.startswith("  hint: ") for line in hints)
    assert not Path("loopspec-runs").exists()


def test_an_interrupt_is_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the middle of a stage."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "run_scenario", interrupted)

    assert 130 == shell.run(CHECK)

    assert ("", "loopspec: interrupted\n") == capsys.readouterr()
