"""The public door: holds quietly, or raises with all that a person needs."""

import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from loopspec.conformance import ConformanceError, door, run_conformance, suite
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario
from tests.conformance.checks import REJECT, cover_of, planted, run
from tests.generated import ROOT
from tests.readme import code_block


@pytest.fixture(autouse=True)
def _cover_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "cover_rows", lambda _, profile: cover_of(profile))


def test_a_loop_that_conforms_returns_its_result() -> None:
    """The result tells what was tried."""
    result = run_conformance(PythonSubject, examples=5)

    assert "holds" == result.verdict
    assert 5 <= next(stage.scenarios for stage in result.stages if stage.name == "random")


def test_a_mutant_raises_with_promise_witness_and_contradiction() -> None:
    """Read in a failing test, the text is enough to see it again."""
    with pytest.raises(ConformanceError) as raised:
        run_conformance(planted("requeue-on-reject"), examples=0)

    text = str(raised.value)
    assert text.startswith("REJ broken: A reject opens no step, puts nothing back and closes the ")
    assert "subject   python (" in text
    assert "also      OWN" in text
    assert "seen by   REJ and trace inclusion" in text
    assert "witness   2 actions" in text
    assert "allowed   turn/end 1 blocked" in text
    assert "because   the pre-step decision over A was to reject." in text
    assert "However, A went back into next-turn: a contradiction." in text
    assert "broken" == raised.value.result.verdict
    assert isinstance(raised.value, AssertionError)


def test_the_witness_in_the_text_can_be_run_as_it_stands() -> None:
    """Pasted out of a failing test, indented as it is there."""
    with pytest.raises(ConformanceError) as raised:
        run_conformance(planted("requeue-on-reject"), examples=0)

    lines = str(raised.value).splitlines()
    first = next(index for index, line in enumerate(lines) if line.strip() == "profile notes")
    last = next(index for index, line in enumerate(lines) if "because" in line)
    pasted = "\n".join(lines[first:last])
    assert parse_scenario(REJECT) == parse_scenario(pasted)
    assert run(pasted, planted("requeue-on-reject")()).findings


def test_a_run_that_says_nothing_raises_too() -> None:
    """Inconclusive is no pass."""
    result = suite.Result("notes", "quick", 0, doubts=["nothing was checked"])
    with (
        mock.patch.object(door, "check_subject", lambda *_: result),
        pytest.raises(ConformanceError, match="inconclusive: nothing was checked"),
    ):
        run_conformance(PythonSubject)


def test_unknown_names_are_one_sentence() -> None:
    """What was expected and what came."""
    with pytest.raises(ValueError, match=r"expected a profile \(notes, .*\), got 'nosuch'"):
        run_conformance(PythonSubject, profile="nosuch")
    with pytest.raises(ValueError, match=r"expected an effort \(quick, ci, deep\), got 'huge'"):
        run_conformance(PythonSubject, effort="huge")


def test_the_test_in_the_readme_runs(tmp_path: Path) -> None:
    """The five lines as they stand there, in a fresh pytest."""
    test = code_block(ROOT / "README.md", "run_conformance")
    (tmp_path / "test_my_loop.py").write_text(test, encoding="utf-8")

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 passed" in done.stdout
