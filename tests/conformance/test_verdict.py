"""What a run folder says: written whole, read back equal, with evidence that stands on its own."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from loopspec.cli import shell
from loopspec.conformance import drive, suite
from loopspec.conformance.entries import entry_json
from loopspec.conformance.folder import FolderError, new_folder
from loopspec.conformance.judge import judge
from loopspec.conformance.subjects.python import PythonSubject, fold_records
from loopspec.conformance.suite import Result
from loopspec.conformance.verdict import EXITS, run_document, write_document, write_evidence
from loopspec.impl import SessionLog
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import parse_scenario
from loopspec.model.table import TABLE
from loopspec.model.words import Rest
from loopspec.reports import Run, print_run, read_run, to_html, to_junit
from tests.conformance.checks import (
    REJECT,
    checked,
    checked_loop,
    checked_mutant,
    cover_of,
    run,
)
from tests.conformance.test_suite import BlindJudge, Uncontrollable


def blinded() -> Result:
    """A check by a judge that sees nothing."""
    with mock.patch.object(drive, "Judge", BlindJudge):
        return checked(PythonSubject)


RESULTS: dict[str, Callable[[], Result]] = {
    "holds": checked_loop,
    "broken": lambda: checked_mutant("requeue-on-reject"),
    "error": lambda: checked(Uncontrollable),
    "inconclusive": blinded,
}


def written(folder: Path, result: Result) -> Run:
    """The run as it is read back from the folder that was written."""
    replays = [f"loopspec replay {number}" for number in range(len(result.found))]
    started = "2026-01-02T03:04:05+00:00"
    write_document(folder, run_document(result, "check", replays, started, "loopspec check"))
    return read_run(folder)


@pytest.mark.parametrize("verdict", RESULTS)
def test_every_verdict_is_read_back_and_rendered(verdict: str, tmp_path: Path) -> None:
    """What the judge writes is what reports read; nothing is left half-written."""
    result = RESULTS[verdict]()

    seen = written(tmp_path, result)

    assert (verdict, EXITS[verdict]) == (seen.verdict, seen.exit)
    assert result.reasons == list(seen.reasons)
    assert [stage.name for stage in result.stages] == [stage.name for stage in seen.stages]
    assert ["run.json"] == [path.name for path in tmp_path.iterdir()]
    assert verdict in to_html(seen)
    assert to_junit(seen)
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as file:
        print_run(seen, file)
    assert f"verdict  {verdict} (exit {EXITS[verdict]})" in (tmp_path / "out.txt").read_text()


def test_a_run_lists_every_property_and_every_row(tmp_path: Path) -> None:
    """Those of the model, in its order, with the same sentences."""
    seen = written(tmp_path, checked_loop())

    assert [each.code for each in PROPERTIES] == [each.code for each in seen.properties]
    assert [each.sentence for each in PROPERTIES] == [each.sentence for each in seen.properties]
    assert [(row.owner, row.name) for row in TABLE] == [(row.frame, row.name) for row in seen.rows]
    assert len(TABLE) == seen.counts["rows_total"]
    assert sum(1 for cell in seen.cells if cell.reached) == seen.counts["cells_reached"]
    assert seen.counts["actions"] == sum(stage.actions for stage in seen.stages)
    assert 0 < seen.counts["actions_per_second"]


def test_a_finding_has_title_codes_and_diagram(tmp_path: Path) -> None:
    """The title says what happened and does not repeat the code."""
    finding = written(tmp_path, checked_mutant("requeue-on-reject")).findings[0]

    assert "A went back into next-turn" == finding.title == finding.however
    assert ("REJ", "OWN") == finding.codes
    assert "REJ and trace inclusion" in finding.seen_by
    assert REJECT == finding.scenario
    assert (2, "exhaustive") == (finding.length, finding.minimal)
    assert finding.diagram[-1].parted
    assert "loopspec replay 0" == finding.replay


def test_every_broken_property_is_broken_in_the_list(tmp_path: Path) -> None:
    """Also one that only stands second in a finding, or behind one that is told already."""
    seen = written(tmp_path, checked_mutant("requeue-on-reject"))

    broken = {each.code for each in seen.properties if each.verdict == "broken"}
    assert {"REJ", "OWN"} <= broken
    behind = {each.partition(":")[0] for each in seen.reasons if "behind another" in each}
    assert {"REJ", "OWN"} | behind - {"TRACE"} == broken


def test_a_property_whose_premise_was_never_met_is_unknown(tmp_path: Path) -> None:
    """It does not hold; the note says what was never reached."""
    seen = written(tmp_path, Result("notes", "quick", 1))

    assert {"unknown"} == {each.verdict for each in seen.properties}
    assert all(each.note.startswith("its premise was never met: ") for each in seen.properties)


def test_evidence_is_a_scenario_that_parses_and_a_trace_of_json_lines(tmp_path: Path) -> None:
    """One entry of the trace a line, in order."""
    outcome = run("followup A\npre-step: enter\nprovider: owes\n")

    write_evidence(tmp_path, "w", outcome)

    assert outcome.scenario == parse_scenario((tmp_path / "w.scenario").read_text())
    lines = (tmp_path / "w.trace.jsonl").read_text().splitlines()
    assert [entry_json(entry) for entry in outcome.trace] == [json.loads(line) for line in lines]
    assert [] == judge(outcome.trace).findings


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """The path and the reason of the system."""
    (tmp_path / "file").write_text("")

    with pytest.raises(FolderError, match=r"expected a folder that can be written, got .*file: "):
        new_folder(tmp_path / "file", "check")


def test_two_folders_of_one_second_differ(tmp_path: Path) -> None:
    """Two checks started at once do not write into one folder."""
    assert new_folder(tmp_path, "check") != new_folder(tmp_path, "check")


def test_the_log_that_a_check_keeps_folds_to_the_same_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The session log in the run folder is opened as any log and tells what the trace tells."""
    monkeypatch.setattr(suite, "cover_rows", lambda _, profile: cover_of(profile))

    assert 0 == shell.run(["check", "--examples", "0", "--out", str(tmp_path), "--json"])

    folder = next(tmp_path.iterdir())
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "run.json").read_text())
    names = {path.name for path in folder.iterdir()}
    assert {
        "run.json",
        "run.jsonl",
        "run.scenario",
        "run.trace.jsonl",
        "log.sqlite",
        "report.html",
    } == names
    rests = [
        json.loads(line)
        for line in (folder / "run.trace.jsonl").read_text().splitlines()
        if line.startswith('{"rest"')
    ]
    with SessionLog.open(folder / "log.sqlite") as log:
        records = log.read()
    next_turn, next_step = fold_records((each.type, each.data) for each in records)
    kept = Rest(next_turn, next_step, "idle", ())
    assert entry_json(kept) == rests[-1]
    assert (["E"], ["F"]) == ([each.id for each in next_turn], [each.id for each in next_step])
