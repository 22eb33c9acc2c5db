"""The judge survives its subjects: each of the zoo ends in its verdict, and leaves nothing."""

from __future__ import annotations

import re
import sys
import tempfile
import time
import uuid
from pathlib import Path

import attrs
import psutil
import pytest

from loopspec.conformance.drive import run_scenario
from loopspec.conformance.ports.child import ChildLimits
from loopspec.conformance.ports.failures import PortError, PortLate
from loopspec.conformance.ports.running import play_once, run_on_port
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.scenario import Scenario, parse_scenario
from tests.ports import zoo
from tests.ports.processes import MARK, marked

SCRIPT = Path(zoo.__file__)
SLACK_S = 2.0
"""How long after its deadline the judge may come back: a promise, so it is asserted."""

ONE_CALL = parse_scenario("remove A\n")
SCENARIOS = {
    "never-reads": parse_scenario(f'followup A "{"x" * 90_000}"\n'),
    "loses-a-wake": parse_scenario("followup A\n"),
}


@attrs.define
class Verdict:
    """What the judge made of a subject."""

    verdict: str
    sentence: str
    past_deadline: float


def judged(name: str, tmp_path: Path, mark: str) -> Verdict:
    """Run one subject of the zoo as the suite does."""
    row = zoo.SUBJECTS[name]
    argv = row.argv or [sys.executable, "-I", "-S", str(SCRIPT), name]
    limits = attrs.evolve(ChildLimits(), **row.limits)
    environment = {MARK: mark, "ZOO_STATE": str(tmp_path / "state")}
    asked = [time.monotonic()]
    port = Port(argv, limits=limits, environment=environment)
    port.watch = lambda way, _line: asked.append(time.monotonic()) if way == ">" else None
    scenario: Scenario = SCENARIOS.get(name, ONE_CALL)
    verdict, sentence = "holds", ""
    try:
        if name == "is-late-once":
            outcome = run_on_port(port, scenario)
        else:
            like = run_scenario(ModelSubject(), scenario)
            outcome = play_once(lambda: PortSubject(port), like, "notes")
        if outcome.findings:
            verdict, sentence = "broken", outcome.findings[0].sentence
        asked.append(time.monotonic())
        port.stop()
    except PortLate as error:
        verdict, sentence = "late", str(error)
    except PortError as error:
        verdict, sentence = "error", str(error)
    finally:
        back = time.monotonic()
        port.kill()
    notes = "; ".join([*port.late, *port.complaints])
    deadline = limits.start if len(asked) < 3 else limits.answer
    return Verdict(verdict, sentence or notes, back - asked[-1] - deadline)


@pytest.mark.parametrize("name", sorted(zoo.SUBJECTS))
def test_every_subject_ends_in_its_verdict(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its verdict and one sentence, within two seconds of its deadline, with no process left."""
    row = zoo.SUBJECTS[name]
    mark = uuid.uuid4().hex
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = judged(name, tmp_path, mark)
    assert marked(mark) == []
    assert list(tmp_path.glob("loopspec-port-*")) == []
    assert not psutil.Process().children(), "the keeper is gone too"
    assert made.verdict == row.verdict, made.sentence
    pattern = ".*".join(map(re.escape, row.sentence.split("…")))
    assert re.fullmatch(pattern, made.sentence), made.sentence
    assert made.past_deadline < SLACK_S
