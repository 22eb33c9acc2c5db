"""Reading a run folder: whole runs are read, everything else is refused in one sentence."""

import json
from pathlib import Path

import pytest

from loopspec.reports.run import ReportError, read_run
from tests.reports import samples


@pytest.mark.parametrize("name", samples.ALL)
def test_a_whole_run_is_read(name: str, tmp_path: Path) -> None:
    """Folder and file name the same run."""
    folder = samples.write(tmp_path / "run", samples.ALL[name]())

    assert read_run(folder) == read_run(folder / "run.json")


def test_a_field_of_a_later_minor_version_is_ignored(tmp_path: Path) -> None:
    """The same format may grow fields."""
    run = samples.holds() | {"weather": "fine"}

    assert "holds" == read_run(samples.write(tmp_path, run)).verdict


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """The sentence has the path in it."""
    assert_refused(tmp_path / "nowhere", "RUN_MISSING", "nowhere does not exist")


def test_a_run_that_was_never_judged_is_told_from_no_run(tmp_path: Path) -> None:
    """Evidence comes first: a trace without run.json is a run that ended early."""
    assert_refused(tmp_path, "RUN_MISSING", "there is none")
    (tmp_path / "run.trace.jsonl").touch()
    assert_refused(tmp_path, "RUN_MISSING", "before it was judged")


@pytest.mark.parametrize(
    ("content", "code", "part"),
    [
        ("", "RUN_NOT_JSON", "is not JSON"),
        ('{"format": 1', "RUN_NOT_JSON", "is not JSON"),
        ("[" * 100_000, "RUN_FOREIGN", "no run of loopspec"),
        ('{"x": ' + "[" * 100_000, "RUN_NOT_JSON", "is not JSON"),
        ('{"format": NaN}', "RUN_NOT_JSON", "is not JSON"),
        ("[]", "RUN_FOREIGN", "no run of loopspec"),
        ('{"name": "x"}', "RUN_FOREIGN", "missing required field `format`"),
        ('{"format": 2, "verb": "check"}', "RUN_NEWER", "written by a newer version"),
        ('{"format": 0, "verb": "check"}', "RUN_SHAPE", "expected 1"),
        ('{"format": 1, "verb": "check"}', "RUN_SHAPE", "missing required field `verdict`"),
    ],
)
def test_what_is_no_run_is_refused(content: str, code: str, part: str, tmp_path: Path) -> None:
    """Not JSON, somebody else's JSON, a newer format and a damaged run are told apart."""
    (tmp_path / "run.json").write_text(content)

    assert_refused(tmp_path, code, part)


def test_a_wrong_value_is_placed(tmp_path: Path) -> None:
    """The sentence says where in the file the value stands."""
    run = samples.broken()
    run["findings"][0]["diagram"][3]["from"] = "moon"

    assert_refused(samples.write(tmp_path, run), "RUN_SHAPE", "$.findings[0].diagram[3].from")


@pytest.mark.parametrize("change", [{"exit": 0}, {"verdict": "holds", "exit": 0}])
def test_a_run_that_contradicts_itself_is_refused(
    change: dict[str, object], tmp_path: Path
) -> None:
    """Verdict, exit code and findings agree, or nothing is shown."""
    folder = samples.write(tmp_path, samples.broken() | change)

    assert_refused(folder, "RUN_CONTRADICTS", "contradicts itself")


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """Only a regular file is read."""
    (tmp_path / "run.json").mkdir()

    assert_refused(tmp_path, "RUN_MISSING", "there is none")


def test_reading_changes_nothing(tmp_path: Path) -> None:
    """A report is a pure function of the folder."""
    folder = samples.write(tmp_path, samples.broken())
    before = json.loads((folder / "run.json").read_text())

    read_run(folder)

    assert before == json.loads((folder / "run.json").read_text())
    assert ["run.json"] == [path.name for path in folder.iterdir()]


def assert_refused(folder: Path, code: str, part: str) -> None:
    """Reading fails with this code, in one line that has this part."""
    with pytest.raises(ReportError) as caught:
        read_run(folder)

    assert code == caught.value.code
    assert part in caught.value.sentence
    assert "\n" not in caught.value.sentence
