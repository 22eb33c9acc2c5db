"""Peers on the command line: what is refused, and what a run of one leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from loopspec.cli import shell
from loopspec.conformance.peers import PEERS
from loopspec.conformance.recorded import CaseLine, read_recording
from loopspec.model.words import Entry
from loopspec.reports import read_run
from tests.conformance.peers_at_hand import EXPECTED, FOLDER, pi

ADAPTER = f"node {FOLDER / 'adapter.mjs'}"
CHECK = ["check", "--profile", "pi", "--examples", "0", "--seed", "7", "--adapter", ADAPTER]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--profile", "pi"], "expected --adapter with profile pi, got none"),
        (["--profile", "pydantic-ai", "--mutant", "x"], "expected --mutant and --answers for the"),
        (["--profile", "pj"], "expected a profile (notes, "),
    ],
)
def test_what_has_no_meaning_is_refused(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, exit code 2, and no run folder."""
    assert 2 == shell.run(["check", *options])

    assert sentence in capsys.readouterr().err
    assert not Path("loopspec-runs").exists()


def test_a_check_of_a_peer_leaves_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """Broken by what is known; its witness replays, and with the file of what is known it holds."""
    with pi():
        assert 1 == shell.run(CHECK)
        (folder,) = Path("loopspec-runs").iterdir()
        replay = ["replay", str(folder / "witness-1.scenario"), "--profile", "pi"]
        assert 1 == shell.run([*replay, "--adapter", ADAPTER])
        assert 2 == shell.run(["judge", str(folder)])
        expected = EXPECTED / "pi.expected.toml"
        assert 0 == shell.run([*CHECK, "--expect", str(expected), "--json"])

    recording = read_recording(folder)
    cases = [
        recording.played(number, line)
        for number, line in recording.lines()
        if isinstance(line, CaseLine)
    ]
    assert {"PI-IDLE-GAP"} == {code for each in cases for code in judged(each.trace)}
    run = read_run(folder)
    assert ("broken", "pi") == (run.verdict, run.profile)
    assert ["PI-IDLE-GAP"] == [each.property for each in run.findings]
    assert "PI-IDLE-GAP, a claim of its documents; no model was asked" == run.findings[0].seen_by
    out, err = capsys.readouterr()
    assert "expected a run by a profile of the specification, got the peer pi" in err
    again = json.loads(out[out.index("\n{") :])
    notes = {each["code"]: each["note"] for each in again["properties"]}
    assert "broken in 1 scenarios, as expected" == notes["PI-IDLE-GAP"]
    assert 0 == again["counts"]["rows_total"]


def judged(trace: Iterable[Entry]) -> list[str]:
    """The codes of the findings in a trace of pi."""
    judge = PEERS["pi"].judge()
    for entry in trace:
        judge.see(entry)
    return [each.code for each in judge.findings]


def test_a_peer_without_its_package_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how to install it."""
    import sys

    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "loopspec.conformance.subjects.pydantic_ai", raising=False)
    assert 2 == shell.run(["check", "--profile", "pydantic-ai"])

    err = capsys.readouterr().err
    assert "expected pydantic-ai-slim, got no module pydantic_ai" in err
    assert "make upstream" in err


def test_a_scenario_that_holds_on_a_peer_says_by_what(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By its documents, not by the specification."""
    path = tmp_path / "plain.scenario"
    path.write_text("followup A\nprovider: done\n", encoding="utf-8")
    with pi():
        assert 0 == shell.run(["replay", str(path), "--profile", "pi", "--adapter", ADAPTER])
        assert 2 == shell.run(["replay", str(path), "--profile", "pi"])

    assert "holds: the subject did what its documents claim" in capsys.readouterr().out
