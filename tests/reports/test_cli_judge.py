"""`loopspec judge` as a command: the same verdict, an equal run, one sentence of damage."""

import json
from pathlib import Path

import pytest

from loopspec.cli import judge as verb
from loopspec.cli import shell
from loopspec.conformance import folder as place
from loopspec.conformance import retrial, suite
from tests.conformance.checks import cover_of
from tests.conformance.recordings import edited, recording, small_suite, without_footer
from tests.conformance.test_suite import BlindJudge

CHECK = ["check", "--seed", "7"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("", 0),
        ("--mutant requeue-on-reject", 1),
        ("--profile dsh-0.1", 3),
        ("--profile dsh-0.1 --mutant requeue-on-reject", 1),
        ("--answers dsh-0.1", 1),
    ],
)
def test_a_run_is_judged_again_to_the_same_and_its_run_json_made_again(
    options: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Byte for byte; what the folder holds is not written over, what is missing is.

    Only a whole check holds; of the others a part is enough.
    """
    examples = "6" if "--mutant" in options else "0"
    if code:
        small_suite(monkeypatch, 20 if "--answers" in options else 70)
    else:
        examples = "0"
        monkeypatch.setattr(suite, "cover_rows", lambda _, name: cover_of(name))
    assert code == shell.run([*CHECK, "--examples", examples, *options.split()])
    printed = capsys.readouterr().out
    (folder,) = Path("loopspec-runs").iterdir()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    assert code == shell.run(["judge"])

    out, err = capsys.readouterr()
    assert "" == err
    assert ": the same (recorded " in out.splitlines()[1]
    assert printed.splitlines()[-1] == out.splitlines()[-1]
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    gone = ["run.json", "report.html", *(name for name in before if name.startswith("witness-"))]
    assert (code == 1) == (len(gone) > 2)
    for name in gone:
        (folder / name).unlink()
    assert code == shell.run(["judge", str(folder)])
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_json_tells_both_verdicts_and_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One document on stdout, with each case of which another thing is said."""
    recording(Path(), mutant="requeue-on-reject")
    monkeypatch.setattr(retrial, "Judge", BlindJudge)

    assert 3 == shell.run(["judge", ".", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert (True, 3, False) == (document["ended"], document["scenarios"], document["same"])
    assert {"verdict": "inconclusive", "profile": "notes"} == document["recorded"]
    change = {"case": 1, "stage": "corpus", "recorded": ["REJ", "OWN"], "now": []}
    assert [change] == document["changes"]
    assert document["verdict"] == document["run"]["verdict"]


def test_another_verdict_is_said_with_the_first_cases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some by name, the rest by number."""
    recording(Path(), mutant="canary")
    monkeypatch.setattr(retrial, "Judge", BlindJudge)
    monkeypatch.setattr(verb, "SHOWN_MAX", 1)

    shell.run(["judge", "."])

    _, also, second, third, *rest = capsys.readouterr().out.splitlines()
    assert "recorded by loopspec 1" == also
    assert ": another verdict or other findings (recorded inconclusive, now " in second
    assert third.startswith("  case 1 (corpus): recorded ")
    assert third.endswith(", now nothing")
    assert rest[0].startswith("  … (")


def test_a_killed_run_is_told_as_such_and_can_be_rendered_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three, the one reason, and a run.json that `report` reads."""
    folder = Path("loopspec-runs/run")
    folder.mkdir(parents=True)
    without_footer(recording(folder))
    assert 2 == shell.run(["report", str(folder)])
    assert "loopspec judge" in capsys.readouterr().err

    assert 3 == shell.run(["judge"])

    reason = "the run ended after 3 scenarios without a footer"
    assert f"verdict  inconclusive (exit 3): {reason}" == capsys.readouterr().out.splitlines()[-1]
    assert 0 == shell.run(["report", str(folder)])
    assert reason in capsys.readouterr().out


def test_another_profile_leaves_the_folder_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Its run.json would say something that the run was not made for."""
    recording(Path())

    assert 3 == shell.run(["judge", ".", "--profile", "notes-park"])

    assert "judged again by profile notes-park: " in capsys.readouterr().out
    assert ["run.jsonl"] == [path.name for path in Path().iterdir()]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nowhere"], "expected a run folder, nowhere does not exist"),
        (["empty"], "expected run.jsonl in empty, there is none"),
        ([], "expected a run folder below loopspec-runs, there is none"),
        (["damaged"], "case 1 comes a second time, first on line 2"),
        (["damaged", "--profile", "nosuch"], "expected a profile (notes, "),
        (["damaged", "more"], "unexpected extra argument"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence_and_two(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr; nothing on stdout, no traceback, nothing written."""
    Path("empty").mkdir()
    Path("damaged").mkdir()
    edited(recording(Path("damaged")), lambda lines: lines.append(lines[1]))

    assert 2 == shell.run(["judge", *arguments])

    out, err = capsys.readouterr()
    assert "" == out
    assert part in err.splitlines()[0]
    assert ["run.jsonl"] == [path.name for path in Path("damaged").iterdir()]


def test_runs_that_have_grown_large_are_told_and_none_is_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, behind the verdict; the exit code is that of the verdict."""
    monkeypatch.setattr(place.runs_warning, "__defaults__", (10,))
    small_suite(monkeypatch, 3)

    assert 3 == shell.run([*CHECK, "--examples", "0"])

    out, err = capsys.readouterr()
    assert out.splitlines()[-1].startswith("verdict  inconclusive (exit 3): ")
    first, hint = err.splitlines()
    assert first.startswith("loopspec: loopspec-runs holds ")
    assert first.endswith(" bytes in 1 folders; none is ever removed by itself")
    assert "  hint: remove the run folders that you do not need" == hint
    assert 1 == len(list(Path("loopspec-runs").iterdir()))
