"""Judging evidence again: the same of the same, something else of something else, never a guess."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest

from loopspec.conformance import retrial, suite
from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.judge import Judge
from loopspec.conformance.recorded import RecordError
from loopspec.conformance.recorder import EvidenceFile
from loopspec.conformance.reduce import Reduced
from loopspec.conformance.retrial import Change, judge_again
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.conformance.suite import Known, Reported, Result, Stage
from loopspec.conformance.verdict import run_document
from loopspec.model.cover import Cover
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import Call, Entry, Observation
from tests.conformance.checks import checked, planted, run
from tests.conformance.recordings import HEADER, edited, recording, small_suite, without_footer
from tests.conformance.test_suite import BlindJudge, Uncontrollable

MUTANT = "requeue-on-reject"
KEPT = "followup A\npre-step: enter\nfollowup B\ncancel user keep\nprovider: cut\n"
NOTHING = Cover((), frozenset(), frozenset(), frozenset())


def replay(number: int) -> str:
    """A command, whatever it is."""
    return f"loopspec replay {number}"


def document_of(result: Result) -> dict[str, Any]:
    """`run.json` of a check."""
    replays = [replay(number) for number in range(1, len(result.found) + 1)]
    document = run_document(result, "check", replays, HEADER.started, HEADER.again)
    return document | {"versions": HEADER.versions}


SUBJECTS = {"shipped": PythonSubject, "broken": planted(MUTANT), "error": Uncontrollable}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Result]]:
    """A recorded check of each verdict, made once."""

    @cache
    def recorded(name: str) -> tuple[Path, Result]:
        folder = tmp_path_factory.mktemp(name)
        record = EvidenceFile(folder, attrs.evolve(HEADER, seed=1))
        with pytest.MonkeyPatch.context() as patch:
            small_suite(patch, 70)
            result = suite.check_subject(SUBJECTS[name], seed=1, examples=12, record=record)
        record.finish(result)
        return folder, result

    return recorded


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_same_evidence_gives_the_same_run(
    name: str, runs: Callable[[str], tuple[Path, Result]]
) -> None:
    """Verdict, findings with their witnesses, counts, cells, notes and reasons: everything.

    A whole check, which holds, is judged again by a test of the command.
    """
    folder, result = runs(name)

    again = judge_again(folder)

    assert name != "broken" or "broken" == result.verdict
    assert result.verdict == again.before == again.result.verdict
    assert (True, ()) == (again.same, again.changes)
    assert document_of(result) == again.document(replay)
    witnesses = [each.reduced for each in result.found]
    assert witnesses == [each.reduced for each in again.result.found]


def test_a_finding_of_the_random_stage_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hypothesis runs it again before it ends, which is a case with the same finding."""
    small_suite(monkeypatch, 0)
    monkeypatch.setattr(suite, "cover_rows", lambda *_: NOTHING)
    record = EvidenceFile(tmp_path, attrs.evolve(HEADER, seed=1))
    result = suite.check_subject(planted("canary"), examples=12, seed=1, record=record)
    record.finish(result)

    again = judge_again(tmp_path)

    assert ["random"] == [each.stage for each in result.found]
    assert again.recording.footer is not None
    assert 2 < len(again.recording.footer.findings)
    assert again.same
    assert document_of(result) == again.document(replay)


def test_each_case_is_judged_by_the_reading_of_its_time(tmp_path: Path) -> None:
    """A registered difference is reported behind its round, and the next is judged by it."""
    park = PROFILES["notes-park"]
    scenario = parse_scenario(KEPT)
    failing, holding = (
        run_scenario(PythonSubject(profile="notes-park"), scenario, profile=each)
        for each in ("notes", park)
    )
    assert (True, False) == (bool(failing.findings), bool(holding.findings))
    reduced = Reduced(scenario, failing, failing.findings[0], 0, "1-minimal")
    record = EvidenceFile(tmp_path, HEADER)
    record.begin("python", "0.1.0", ())
    for outcome in (holding, failing, failing):  # Hypothesis runs what it has found once more
        record.case("random", run("followup A\n") if outcome is holding else outcome)
    record.round("random")
    record.witness(2, reduced, 9, "after_keep_cancel")
    record.case("random", holding)
    record.round("random")
    record.stage(Stage("random"), "")
    known = Known("after_keep_cancel", "park", ("Δ2",))
    result = Result("notes", "quick", 7, found=[Reported(reduced, 9, "random", known)])
    record.finish(result)

    again = judge_again(tmp_path)

    assert (True, ()) == (again.same, again.changes)
    assert result.found == again.result.found


def test_what_a_finding_is_without_its_faults_is_recorded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check runs it to see whether a fault has part in it; a retrial runs nothing."""
    text = "refuse tool/result\nfollowup A\npre-step: enter\nprovider: done\n"
    entry = attrs.evolve(load_corpus()[0], scenario=parse_scenario(text))
    monkeypatch.setattr(suite, "load_corpus", lambda: [entry])
    monkeypatch.setattr(suite, "cover_rows", lambda *_: NOTHING)
    record = EvidenceFile(tmp_path, attrs.evolve(HEADER, seed=1))
    result = suite.check_subject(planted("canary"), examples=0, seed=1, record=record)
    record.finish(result)

    again = judge_again(tmp_path)

    assert [1] == list(again.recording.plain)
    assert again.same
    assert document_of(result) == again.document(replay)


def test_an_adapter_that_fails_at_once_has_failed_then_too(tmp_path: Path) -> None:
    """No subject, no scenario, one error."""

    def failing() -> PythonSubject:
        msg = "no loop here"
        raise OSError(msg)

    record = EvidenceFile(tmp_path, attrs.evolve(HEADER, seed=1))
    result = checked(failing, record=record)
    record.finish(result)

    again = judge_again(tmp_path)

    assert ("error", result.errors) == (again.result.verdict, again.result.errors)
    assert again.same


def test_a_judge_that_has_gone_blind_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict comes from the traces and not from the footer; each case is named."""
    recording(tmp_path, mutant=MUTANT)
    assert judge_again(tmp_path).changes == ()
    monkeypatch.setattr(retrial, "Judge", BlindJudge)

    again = judge_again(tmp_path)

    assert not again.same
    assert (Change(1, "corpus", ("REJ", "OWN"), ()),) == again.changes
    assert [] == again.result.found


def test_a_trace_that_lacks_an_entry_is_broken_now(tmp_path: Path) -> None:
    """The same code judges what is read as what is seen."""

    def lose_the_end(lines: list[dict[str, Any]]) -> None:
        trace = lines[2]["trace"]
        trace[:] = [entry for entry in trace if entry.get("record") != "turn/end"]

    edited(recording(tmp_path), lose_the_end)

    again = judge_again(tmp_path)

    assert "broken" == again.result.verdict
    assert [2] == [each.case for each in again.changes]
    assert "no" == again.result.found[0].reduced.minimal
    assert again.recording.path == tmp_path / "run.jsonl"


def test_a_witness_is_taken_only_while_it_shows_the_finding(
    tmp_path: Path, runs: Callable[[str], tuple[Path, Result]]
) -> None:
    """Else the case stands for itself, unreduced."""
    shutil.copy(runs("broken")[0] / "run.jsonl", tmp_path)
    assert 2 == len(judge_again(tmp_path).result.found[0].reduced.scenario)

    def another(lines: list[dict[str, Any]]) -> None:
        holding = next(line for line in lines if line["line"] == "case")
        witness = next(line for line in lines if line["line"] == "witness")
        witness |= {key: holding[key] for key in ("scenario", "trace", "unmade")}

    edited(tmp_path / "run.jsonl", another)

    found = judge_again(tmp_path).result.found
    assert "no" == found[0].reduced.minimal
    assert 2 < len(found[0].reduced.scenario)


def test_a_killed_run_is_inconclusive_as_far_as_it_came(tmp_path: Path) -> None:
    """With the one reason; nothing is said of rows and premises that were not reached yet."""
    without_footer(recording(tmp_path))

    again = judge_again(tmp_path)

    assert (None, None) == (again.before, again.same)
    assert "inconclusive" == again.result.verdict
    assert ["the run ended after 3 scenarios without a footer"] == again.result.reasons


def test_a_line_that_was_cut_off_is_told(tmp_path: Path) -> None:
    """And what stands before it is judged."""
    path = recording(tmp_path)
    lines = without_footer(path)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:-9])

    again = judge_again(tmp_path)

    expected = (
        "the run ended after 2 scenarios without a footer; "
        "its last line was cut off and is left out"
    )
    assert [expected] == again.result.reasons


def test_a_killed_run_with_a_finding_is_broken(tmp_path: Path) -> None:
    """What was seen was seen; the missing footer is told beside it."""
    without_footer(recording(tmp_path, mutant=MUTANT))

    again = judge_again(tmp_path)

    assert "broken" == again.result.verdict
    assert "the run ended after 3 scenarios without a footer" == again.result.reasons[-1]


@pytest.mark.parametrize(
    ("keep", "mutant", "verdict", "left"),
    [
        ("none", "", "inconclusive", 3),
        ("none", MUTANT, "inconclusive", 3),
        ("findings", "", "inconclusive", 3),
        ("findings", MUTANT, "broken", 2),
    ],
)
def test_what_was_not_recorded_cannot_be_judged(
    keep: str, mutant: str, verdict: str, left: int, tmp_path: Path
) -> None:
    """Never holds by a footer alone."""
    recording(tmp_path, attrs.evolve(HEADER, evidence=keep), mutant)

    again = judge_again(tmp_path)

    assert verdict == again.result.verdict
    expected = f"{left} of 3 scenarios were not recorded (evidence {keep})"
    assert [expected] == again.result.doubts


@pytest.mark.parametrize(
    ("text", "verdict"), [(KEPT, "broken"), ("followup A\npre-step: reject\n", "inconclusive")]
)
def test_another_profile_judges_the_same_traces_otherwise(
    text: str, verdict: str, tmp_path: Path
) -> None:
    """And never says that they hold: the scenarios were chosen for the first one."""
    record = EvidenceFile(tmp_path, HEADER)
    record.begin("python", "0.1.0", ())
    record.case("corpus", run(text))
    record.stage(Stage("corpus"), "")
    record.finish(Result("notes", "quick", 7))

    again = judge_again(tmp_path, "notes-park")

    assert not again.own_profile
    assert verdict == again.result.verdict
    expected = "the scenarios were chosen for profile notes, not for notes-park"
    assert [expected] == again.result.doubts


class TrippingJudge(Judge):
    """Expects of every decision that it is over a list."""

    def see(self, entry: Entry) -> None:
        """Look into it without asking whether it is one."""
        if isinstance(entry, Observation) and entry.name == "pre-step":
            assert isinstance(entry.get("messages"), tuple)
        super().see(entry)


def test_an_entry_that_the_judge_cannot_take_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guard keeps such things from a judge in a check; in a file it is damage, no verdict."""

    def wrong(lines: list[dict[str, Any]]) -> None:
        gate = next(entry for entry in lines[1]["trace"] if entry.get("gate") == "pre-step")
        gate["data"]["messages"] = 1

    edited(recording(tmp_path), wrong)
    monkeypatch.setattr(retrial, "Judge", TrippingJudge)

    with pytest.raises(RecordError, match=r"line 2, entry \d+: expected what a subject can be"):
        judge_again(tmp_path)


def test_nothing_runs_while_evidence_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No subject is opened, not even for a witness."""
    recording(tmp_path, mutant=MUTANT)

    def opened(*_: object) -> None:
        pytest.fail("a subject was opened")

    monkeypatch.setattr(PythonSubject, "__init__", opened)
    monkeypatch.setattr(PythonSubject, "open", opened)

    assert "broken" == judge_again(tmp_path).result.verdict


def test_other_versions_are_told(tmp_path: Path) -> None:
    """A trace does not depend on them, what was said of it then may."""
    recording(tmp_path)

    assert {"loopspec": "1"} == judge_again(tmp_path).other_versions


def test_progress_is_told_over_all_cases(tmp_path: Path) -> None:
    """Stage, done and planned."""
    recording(tmp_path)
    told: list[tuple[str, int, int]] = []

    judge_again(tmp_path, say=lambda *each: told.append(each))

    assert [("corpus", at, 3) for at in (1, 2, 3)] == told


def test_a_call_that_was_not_made_is_not_counted(tmp_path: Path) -> None:
    """The number of actions is that of the run."""
    outcome = run("provider: done\nfollowup A\n")
    assert (False, True) == outcome.made
    assert isinstance(outcome.scenario.lines[1].action, Call)
    record = EvidenceFile(tmp_path, HEADER)
    record.begin("python", "0.1.0", ())
    record.case("corpus", outcome)
    record.stage(Stage("corpus"), "")
    record.finish(Result("notes", "quick", 7))

    assert [1] == [stage.actions for stage in judge_again(tmp_path).result.stages]
