"""What a check writes down: at once, whole, only what is wanted, and up to the last free byte."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from loopspec.conformance import suite
from loopspec.conformance.drive import Outcome
from loopspec.conformance.folder import FolderError
from loopspec.conformance.judge import Finding
from loopspec.conformance.recorded import CaseLine, read_recording
from loopspec.conformance.recorder import KEEPS, NAME, EvidenceFile, kept_by
from loopspec.conformance.reduce import Reduced, reduce_scenario
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.conformance.suite import EFFORTS, Result
from loopspec.model.scenario import Scenario
from tests.conformance.checks import planted
from tests.conformance.recordings import HEADER, outcomes, recording, small_suite


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Every line of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_suite(monkeypatch, 6)


def test_a_file_begins_with_what_the_run_is_and_ends_with_what_it_came_to(tmp_path: Path) -> None:
    """A reader needs neither the command line nor any other file."""
    first, *_, last = lines_of(recording(tmp_path))

    assert {"line": "header", "format": 1} == {key: first[key] for key in ("line", "format")}
    assert {"name": "python", "version": "0.1.0", "lacks": [], "contract": 1} == first["subject"]
    told = {key: first[key] for key in attrs.asdict(HEADER)}
    assert attrs.asdict(HEADER) == told
    assert ("footer", "inconclusive") == (last["line"], last["verdict"])
    assert (3, 3, 6) == (last["scenarios"], last["cases"], last["lines"])
    assert sum(each.actions for each in outcomes()) == last["actions"]


@pytest.mark.usefixtures("_small")
def test_a_case_is_on_disk_before_it_is_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong from there on, the run that showed the finding is kept."""
    record = EvidenceFile(tmp_path, HEADER)
    seen: list[Scenario] = []

    def reducing(
        factory: SubjectFactory, outcome: Outcome, wanted: Finding, profile: str
    ) -> Reduced:
        newest = lines_of(tmp_path / NAME)[-1]
        assert (str(outcome.scenario), "case") == (newest["scenario"], newest["line"])
        seen.append(outcome.scenario)
        return reduce_scenario(factory, outcome, wanted, profile)

    monkeypatch.setattr(suite, "reduce_scenario", reducing)

    suite.check_subject(planted("canary"), examples=0, record=record)
    record.close()

    witnesses = [line for line in lines_of(tmp_path / NAME) if line["line"] == "witness"]
    assert len(seen) == len(witnesses) > 0
    assert "error" not in {line["line"] for line in lines_of(tmp_path / NAME)}


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("mutant", ["", "canary"])
@pytest.mark.parametrize("keep", KEEPS)
def test_only_what_is_wanted_is_kept(keep: str, mutant: str, tmp_path: Path) -> None:
    """All scenarios, those with a finding, or none; what the footer counts stays the same."""
    record = EvidenceFile(tmp_path, attrs.evolve(HEADER, evidence=keep))
    factory = planted(mutant) if mutant else PythonSubject
    result = suite.check_subject(factory, examples=4, record=record)
    record.finish(result)

    lines = lines_of(tmp_path / NAME)
    cases = [line["case"] for line in lines if line["line"] == "case"]
    footer = lines[-1]
    broken = [case for case, _ in footer["findings"]]
    expected = {"all": list(range(1, footer["scenarios"] + 1)), "findings": broken, "none": []}
    assert expected[keep] == cases
    assert sum(stage.scenarios for stage in result.stages) == footer["scenarios"]
    assert sum(stage.actions for stage in result.stages) == footer["actions"]
    assert bool(mutant and keep != "none") == any(line["line"] == "witness" for line in lines)
    assert read_recording(tmp_path).cases == len(cases)


def test_the_longest_effort_keeps_what_it_finds() -> None:
    """Ten thousand traces would be hundreds of megabytes."""
    assert {"quick": "all", "ci": "all", "deep": "findings"} == {
        effort: kept_by(effort) for effort in EFFORTS
    }


def test_a_file_is_never_written_over_another(tmp_path: Path) -> None:
    """Nor through a link in its place."""
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / NAME).symlink_to(target)

    with pytest.raises(FolderError, match=f"cannot write {tmp_path / NAME}: File exists"):
        EvidenceFile(tmp_path, HEADER)

    assert "mine" == target.read_text()


@pytest.mark.parametrize("taken", [0, 1, 60])
@pytest.mark.parametrize("failing", range(1, 7))
def test_a_full_disk_at_any_write_leaves_whole_lines(
    failing: int, taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th write is taken in part or not at all; so is no other behind it."""
    write, calls = os.write, []

    def filling(file: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) == failing and taken:
            return write(file, data[:taken])
        if len(calls) >= failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data)

    monkeypatch.setattr(os, "write", filling)
    with pytest.raises(FolderError, match="No space left on device; what was written so far stays"):
        recording(tmp_path)

    lines = (tmp_path / NAME).read_bytes()
    assert failing - 1 == lines.count(b"\n")
    assert lines == b"" or lines.endswith(b"\n")
    if lines:
        kept = read_recording(tmp_path)
        assert kept.footer is None
        assert min(failing - 2, 3) == sum(isinstance(each, CaseLine) for _, each in kept.lines())


def test_a_run_that_lost_a_line_writes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when there is room again: a gap would look like a run that was never made."""
    record = EvidenceFile(tmp_path, HEADER)
    record.begin("python", "0.1.0", ())

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(FolderError):
            record.case("corpus", outcomes()[0])
    for again in (lambda: record.case("corpus", outcomes()[0]), lambda: record.finish(RESULT)):
        with pytest.raises(FolderError):
            again()

    record.close()
    assert ["header"] == [line["line"] for line in lines_of(tmp_path / NAME)]


RESULT = Result("notes", "quick", 1)


@pytest.mark.usefixtures("_small")
def test_a_full_disk_ends_the_random_stage_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hypothesis catches what a run raises and tries again; the disk is full all the same."""
    record = EvidenceFile(tmp_path, HEADER)
    case = EvidenceFile.case

    def filling(self: EvidenceFile, stage: str, outcome: Outcome, name: str = "") -> int:
        if stage == "random":
            monkeypatch.setattr(os, "write", full)
        return case(self, stage, outcome, name)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(EvidenceFile, "case", filling)
    with pytest.raises(FolderError, match="No space left on device"):
        suite.check_subject(planted("requeue-on-reject"), examples=5, record=record)
    record.close()

    monkeypatch.undo()
    assert "stage" == lines_of(tmp_path / NAME)[-1]["line"]
