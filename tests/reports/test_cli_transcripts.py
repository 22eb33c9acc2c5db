"""`loopspec transcripts`: what it prints, what it answers, and how it says that it cannot run."""

import copy
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from loopspec.cli import shell
from loopspec.cli.accepting import judge_all
from tests.conformance.test_transcripts import PARKED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two transcripts."""
    (tmp_path / "some.jsonl").write_text(f"{json.dumps(PARKED)}\n" * 2, "utf-8")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and output."""
    result = CliRunner().invoke(shell.group, ["transcripts", *arguments], standalone_mode=False)
    assert None is result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout


def test_transcripts_are_accepted_under_the_profile_of_the_release(folder: Path) -> None:
    """Counts, the histogram, rows, and the verdict last."""
    code, text = run(str(folder), "--jobs", "1")

    assert 0 == code
    assert "accepted  2 of 2 transcripts" in text
    assert "sessions: 1 after 10 settled commands" in text
    assert "verdict   holds (exit 0)" in text.splitlines()[-1]


def test_under_the_notes_each_parting_names_its_difference(folder: Path) -> None:
    """It is a registered one, so the answer is still 0."""
    code, text = run(str(folder), "--profile", "notes", "--jobs", "1")

    assert 0 == code
    assert "accepted  0 of 2" in text
    assert "4 pre" in text
    assert "Δ2 after_keep_cancel" in text


def test_edits_are_counted_by_kind(folder: Path) -> None:
    """All of them, and as JSON."""
    code, text = run(str(folder), "--edits", "all", "--jobs", "1", "--json")
    edits = json.loads(text)["edits"]

    assert 0 == code
    assert edits["tried"] == edits["refused"]
    assert [] == edits["missed"]
    assert "swap" in edits["tried"]


def test_an_unexplained_transcript_is_broken(folder: Path) -> None:
    """Its command and what was seen there are printed."""
    lie = copy.deepcopy(PARKED)
    lie["reports"][1]["st"] = "idle"
    (folder / "some.jsonl").write_text(json.dumps(lie), "utf-8")
    code, text = run(str(folder))

    assert 1 == code
    assert "unexplained" in text
    assert "verdict   broken (exit 1)" in text


def test_the_result_does_not_depend_on_the_number_of_processes() -> None:
    """A sample is chosen by the seed and the number of the transcript."""
    told: list[tuple[str, int, int | None]] = []
    given = [{**PARKED, "n": number} for number in range(5)]

    def counts(jobs: int) -> list[object]:
        found = judge_all(given, "dsh-0.1", "sample", 3, jobs, lambda *a: told.append(a))
        return [(each.accepted, each.edits) for each in found]

    assert counts(1) == counts(2)
    assert ("transcripts", 5, 5) == told[-1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["no-such-folder"], "no-such-folder"),
        ([".", "--profile", "nice"], "there is no profile 'nice'"),
    ],
)
def test_misuse_is_one_sentence(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, with exit code 2."""
    assert 2 == shell.run(["transcripts", *arguments])
    said = capsys.readouterr().err.splitlines()
    assert complaint in said[0]
    assert 1 == len(said)
