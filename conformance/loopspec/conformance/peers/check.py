"""A check of a peer: named scenarios, all short walks, and drawn ones, judged by its claims.

Theory. No model says what may come, so nothing is foreseen and nothing is compared: each trace is
judged by the claims alone. A finding is reduced on the peer itself. What the suite says of its own
subjects it says here too: broken comes before could not run, before inconclusive, before holds, and
a claim whose premise was never met keeps a run from holding.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

import attrs

from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.expectations import Expectations
from loopspec.conformance.machine import add_counts
from loopspec.conformance.peers import PEERS
from loopspec.conformance.peers.claims import Claim, Peer
from loopspec.conformance.peers.walks import Walk, drawn, first_call, short_walks
from loopspec.conformance.ports.failures import PortError
from loopspec.conformance.recorder import Recorder
from loopspec.conformance.reduce import reduce_scenario
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.subjects.guarded import Guarded, guarded_factory
from loopspec.conformance.suite import Reported, Result, Stage, quiet
from loopspec.conformance.verdict import run_document
from loopspec.model.properties import Property
from loopspec.model.scenario import Scenario, parse_scenario

__all__ = [
    "EFFORTS",
    "PeerResult",
    "check_peer",
    "peer_document",
    "peer_factory",
    "scenario_of",
]

FINDINGS_MAX: Final = 6
FAILURES_MAX: Final = 3


@attrs.frozen
class PeerEffort:
    """The length of the walks that are all tried, and the number and length of drawn ones."""

    short: int
    examples: int
    steps: int


EFFORTS: Final = MappingProxyType(
    {
        "quick": PeerEffort(1, 60, 10),
        "ci": PeerEffort(2, 400, 12),
        "deep": PeerEffort(3, 4_000, 16),
    }
)


@attrs.define
class PeerResult(Result):
    """What a check of a peer has found out."""

    foretold: dict[str, int] = attrs.field(factory=dict)
    """How often each claim was broken as it was expected to be."""

    @property
    def peer(self) -> Peer:
        """Whose claims were checked."""
        return PEERS[self.profile]

    @property
    def applied(self) -> tuple[Property, ...]:
        """No property of the model is asked for."""
        return ()


class PeerCheck:
    """One check under way."""

    def __init__(
        self,
        factory: Callable[[], Guarded],
        result: PeerResult,
        say: Callable[[str, int, int], None],
        record: Recorder,
        expectations: Expectations,
    ) -> None:
        """Begin with nothing seen."""
        self.factory = factory
        self.result = result
        self.peer = result.peer
        self.say = say
        self.record = record
        self.expectations = expectations

    def stage(self, name: str, work: Callable[[Stage], None]) -> None:
        """Run one stage and time it; an adapter's fault ends the stage, not the run."""
        stage, fault = Stage(name), ""
        began = time.perf_counter()
        try:
            work(stage)
        except ControlError as error:
            fault = str(error)
            stage.verdict = "error"
            self.result.errors.append(f"{name}: {fault}")
        stage.seconds = stage.running = time.perf_counter() - began
        notes = [
            f"{count} {what}"
            for count, what in (
                (stage.expected, "failed as expected"),
                (stage.broken, "scenarios broken"),
                (stage.failed, "could not be run"),
            )
            if count
        ]
        stage.note = "; ".join([fault] * bool(fault) + notes)
        self.record.stage(stage, fault)
        self.result.stages.append(stage)

    def named(self, stage: Stage) -> None:
        """The scenarios that the claims are about."""
        for index, (name, text) in enumerate(self.peer.scenarios.items()):
            self.say(stage.name, index, len(self.peer.scenarios))
            scenario = scenario_of(text)
            self.run(
                stage,
                f"named/{name}",
                lambda subject, scenario=scenario: run_scenario(  # type: ignore[misc]
                    subject, scenario, profile=self.peer
                ),
            )

    def short(self, stage: Stage, length: int) -> None:
        """All walks of a length behind a first prompt."""
        walks = short_walks(length)
        choices = next(walks)
        first = first_call(self.peer)
        while True:
            self.say(stage.name, stage.scenarios, 0)
            widths: list[tuple[int, ...]] = []

            def play(subject: Guarded, taken: tuple[int, ...] = choices) -> Outcome:
                outcome, wide = Walk((), (first, *taken)).play(self.peer, subject)
                widths.append(wide)  # noqa: B023
                return outcome

            self.run(stage, f"short/{stage.scenarios + 1}", play)
            try:
                choices = walks.send(widths[0][1:] if widths else (0,) * length)
            except StopIteration:
                return

    def drawn(self, stage: Stage, examples: int, steps: int) -> None:
        """Longer walks with calls in windows, by the seed of the run."""
        for number in range(examples):
            self.say(stage.name, number, examples)
            walk = drawn(self.peer, self.result.seed, number, steps)
            self.run(
                stage,
                f"random/{self.result.seed}/{number + 1}",
                lambda subject, walk=walk: walk.play(self.peer, subject)[0],  # type: ignore[misc]
            )

    def run(self, stage: Stage, name: str, play: Callable[[Guarded], Outcome]) -> None:
        """Run one scenario, keep it, and report what is new in it."""
        try:
            outcome = play(self.factory())
        except PortError as error:
            stage.failed += 1
            if stage.failed >= FAILURES_MAX:
                raise
            self.record.error(f"{name}: {error}")
            self.result.errors.append(f"{name}: {error}")
            return
        self.expectations.ran(self.result.profile, name)
        case = self.record.case(stage.name, outcome, name)
        stage.scenarios += 1
        stage.actions += outcome.actions
        stage.observations += len(outcome.trace)
        add_counts(self.result.met, outcome.met)
        self.report(stage, outcome, name, case)

    def report(self, stage: Stage, outcome: Outcome, name: str, case: int) -> None:
        """Reduce each finding of an outcome whose claim is not reported yet."""
        profile = self.result.profile
        told = {each.finding.code for each in self.result.found}
        news = 0
        for finding in outcome.findings:
            if self.expectations.expected(finding, profile, name) is not None:
                stage.expected += 1
                add_counts(self.result.foretold, {finding.code: 1})
                continue
            news += 1
            if finding.code in told or len(told) >= FINDINGS_MAX:
                continue
            reduced = reduce_scenario(self.factory, outcome, finding, self.peer)
            self.record.witness(case, reduced, outcome.actions)
            self.result.found.append(Reported(reduced, outcome.actions, stage.name))
        if news:
            stage.verdict = "broken"
            stage.broken += 1


def scenario_of(text: str) -> Scenario:
    """A scenario whose lines stand on one, with `; ` between them."""
    return parse_scenario("\n".join(text.split("; ")) + "\n")


def check_peer(
    factory: SubjectFactory,
    profile: str,
    effort: str = "quick",
    seed: int = 0,
    examples: int | None = None,
    say: Callable[[str, int, int], None] = quiet,
    record: Recorder | None = None,
    expectations: Expectations | None = None,
) -> PeerResult:
    """Judge subjects of `factory` by what the peer of this profile claims.

    `examples` replaces the effort's number of drawn walks; the others are those of `check_subject`.
    Raises KeyError for an unknown profile or effort.
    """
    planned = EFFORTS[effort]
    result = PeerResult(profile, effort, seed)
    peer = result.peer
    guard = guarded_factory(factory)
    record = record if record is not None else Recorder()
    try:
        subject = guard()
        result.subject, result.version = subject.name, subject.version
    except ControlError as error:
        result.errors.append(str(error))
        record.begin("", "", ())
        record.error(str(error))
        return result
    record.begin(result.subject, result.version, ())
    expectations = expectations or Expectations()
    check = PeerCheck(guard, result, say, record, expectations)
    began = time.perf_counter()
    check.stage("named", check.named)
    check.stage("short", lambda stage: check.short(stage, planned.short))
    number = planned.examples if examples is None else examples
    if number:
        check.stage("random", lambda stage: check.drawn(stage, number, planned.steps))
    result.seconds = time.perf_counter() - began
    result.passed = expectations.passes()
    result.errors += expectations.idle()
    if not result.found and not result.errors:
        unmet = [each.code for each in peer.claims if not result.met.get(each.code)]
        if unmet:
            result.doubts.append(f"premises never met: {', '.join(unmet)}")
        if peer.version not in result.version:
            doubt = f"the claims are those of {peer.package} {peer.version}"
            result.doubts.append(f"{doubt}, this is {result.version}")
    return result


def peer_factory(peer: Peer) -> SubjectFactory | None:
    """A factory of the peer's subject in process; None when it is not Python.

    Raises ControlError with one sentence when the package of the peer is not installed.
    """
    if not peer.module:
        return None
    try:
        module = importlib.import_module(peer.module)
    except ModuleNotFoundError as error:
        msg = f"expected {peer.package}, got no module {error.name}: pip install loopspec[peers]"
        raise ControlError(msg) from error
    make: SubjectFactory = module.make
    return make


def claim_json(claim: Claim, result: PeerResult) -> dict[str, Any]:
    """How one claim fared, as a property of a run."""
    broken = {one.code for each in result.found for one in each.reduced.outcome.findings}
    met, foretold = result.met.get(claim.code, 0), result.foretold.get(claim.code, 0)
    note = "" if met else f"its premise was never met: {claim.sometimes}"
    if foretold:
        note = f"broken in {foretold} scenarios, as expected"
    return {
        "code": claim.code,
        "name": claim.code.lower(),
        "sentence": claim.sentence,
        "rules": [],
        "verdict": (
            "broken" if claim.code in broken or foretold else "holds" if met else "unknown"
        ),
        "premise_met": met,
        "note": note,
    }


def peer_document(
    result: Result, verb: str, replays: list[str], started: str, again: str = ""
) -> dict[str, Any]:
    """The content of `run.json`: claims for properties, and no rows or cells of a model."""
    assert isinstance(result, PeerResult)
    document = run_document(result, verb, replays, started, again)
    document["properties"] = [claim_json(each, result) for each in result.peer.claims]
    document["rows"] = document["cells"] = []
    for key in ("rows_taken", "rows_total", "cells_reached", "cells_enabled"):
        document["counts"][key] = 0
    return document
