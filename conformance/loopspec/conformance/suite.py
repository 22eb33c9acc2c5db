"""The suite: everything that is tried on one subject, in stages.

Theory. The corpus holds known races by name; the cover takes every row of the table on a shortest
scenario, and makes every call in every window and driver state that the model enables; random runs
look for what nobody has thought of; and one canary, a loop with a fault that must be found, shows
that the judge is not blind. Verdicts are layered: broken comes before could not run, before
inconclusive, before holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

import attrs

from loopspec.conformance.control import ControlError
from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.deviations import Known, explain_outcome, first_finding
from loopspec.conformance.drive import Outcome, judged_by, run_scenario
from loopspec.conformance.expectations import Expectations
from loopspec.conformance.judge import SENTENCES, Finding
from loopspec.conformance.machine import Campaign, add_counts, run_campaign
from loopspec.conformance.ports.crew import (
    FAILURES_MAX,
    WAVE,
    Alone,
    Crew,
    Planned,
    Played,
    Round,
    Task,
)
from loopspec.conformance.recorder import Recorder
from loopspec.conformance.reduce import Reduced, reduce_scenario
from loopspec.conformance.rules import load_rules
from loopspec.conformance.subjects.contract import (
    CAPABILITIES,
    SubjectFactory,
    need_of,
    needed,
    within,
)
from loopspec.conformance.subjects.guarded import CONTRACT, Guarded, guarded_factory
from loopspec.model.cover import Cover, cover_rows
from loopspec.model.explore import Cell
from loopspec.model.policy import PROFILES, Policy
from loopspec.model.properties import FAULT_PROPERTIES, Property, laws
from loopspec.model.scenario import parse_scenario
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.table import TABLE
from loopspec.model.words import Observation

__all__ = ["EFFORTS", "Check", "Effort", "Known", "Result", "Stage", "check_subject", "conclude"]

FINDINGS_MAX: Final = 6
PART: Final = 8
"""Planned scenarios that a process takes at once."""

ROUND: Final = 40
"""Random scenarios of one seed."""

CANARY_SCENARIO: Final = "followup A\npre-step: enter\nprovider: done\n"


@attrs.frozen
class Effort:
    """How much is tried: random runs, and rules in each."""

    examples: int
    steps: int


EFFORTS: Final = MappingProxyType(
    {"quick": Effort(150, 30), "ci": Effort(1_000, 40), "deep": Effort(10_000, 60)}
)
"""Planned numbers of random runs; reaching them is not a budget that ended."""


@attrs.define
class Stage:
    """One stage with its own verdict.

    `seconds` is all of its time; `running` the part in which scenarios ran on the subject under the
    judge, without the search for a cover and without reduction.
    """

    name: str
    verdict: str = "holds"
    scenarios: int = 0
    actions: int = 0
    observations: int = 0
    seconds: float = 0.0
    running: float = 0.0
    note: str = ""
    broken: int = 0
    planned: int = 0
    expected: int = 0
    news: int = 0
    late: int = 0
    failed: int = 0
    skipped: dict[str, int] = attrs.field(factory=dict)

    @property
    def rate(self) -> int:
        """Checked actions per second, of the time in which scenarios ran."""
        return round(self.actions / self.running) if self.running else 0


@attrs.define
class Reported:
    """A finding with its reduced witness and the length of the run that first showed it."""

    reduced: Reduced
    length: int
    stage: str
    known: Known | None = None
    """The registered difference that explains it, if one does."""

    @property
    def finding(self) -> Finding:
        """What was found."""
        return self.reduced.finding

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code that the witness breaks, that of the finding first."""
        others = (each.code for each in self.reduced.outcome.findings)
        return tuple(dict.fromkeys((self.finding.code, *others)))


@attrs.define
class Result:
    """Everything that a check of one subject has found out."""

    profile: str
    effort: str
    seed: int
    subject: str = ""
    version: str = ""
    stages: list[Stage] = attrs.field(factory=list)
    found: list[Reported] = attrs.field(factory=list)
    rows: dict[str, int] = attrs.field(factory=dict)
    cells: dict[Cell, int] = attrs.field(factory=dict)
    enabled: frozenset[Cell] = frozenset()
    met: dict[str, int] = attrs.field(factory=dict)
    peak: int = 1
    errors: list[str] = attrs.field(factory=list)
    doubts: list[str] = attrs.field(factory=list)
    codes: dict[str, int] = attrs.field(factory=dict)
    """In how many scenarios each code was broken, first or behind another finding."""
    passed: list[str] = attrs.field(factory=list)
    """What was expected to fail, and passed."""
    contract: int = CONTRACT
    """The revision of the contract that the subject pins."""
    lacking: tuple[str, ...] = ()
    """The capabilities that the subject does not declare."""
    seconds: float = 0.0

    @property
    def applied(self) -> tuple[Property, ...]:
        """The properties that the subject is asked for, those of faults where it can have some."""
        own = FAULT_PROPERTIES if "faults" not in self.lacking else ()
        return (*laws(PROFILES[self.profile]), *own)

    @property
    def rate(self) -> int:
        """Checked actions per second over all stages."""
        running = sum(stage.running for stage in self.stages)
        return round(sum(stage.actions for stage in self.stages) / running) if running else 0

    @property
    def verdict(self) -> str:
        """Broken before error before inconclusive before holds."""
        if self.found or self.passed:
            return "broken"
        if self.errors:
            return "error"
        return "inconclusive" if self.doubts else "holds"

    @property
    def reasons(self) -> list[str]:
        """Why the verdict is what it is."""
        named = [f"{each.finding.code}: {each.finding.however}" for each in self.found]
        shown = {code for each in self.found for code in each.codes}
        behind = [
            f"{code}: broken in {count} scenarios, behind another finding"
            for code, count in sorted(self.codes.items(), key=lambda each: -each[1])
            if code not in shown
        ]
        return named + behind + self.passed + self.errors + self.doubts + self.skips

    @property
    def skips(self) -> list[str]:
        """What the subject could not be asked, since its adapter cannot."""
        counts: dict[str, int] = {}
        for stage in self.stages:
            add_counts(counts, stage.skipped)
        if not counts:
            return []
        most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        named = ", ".join(f"{what} {count}" for what, count in most)
        return [f"{sum(counts.values())} scenarios skipped that need what is not declared: {named}"]


class Check:
    """One check under way: counts what it is given, and reports what is new in it.

    Everything that a subject did goes to `record` before more is made of it.
    """

    def __init__(
        self,
        factory: Callable[[], Guarded],
        result: Result,
        say: Callable[[str, int, int], None],
        record: Recorder,
        expectations: Expectations | None = None,
        crew: Crew | None = None,
    ) -> None:
        """Begin with nothing seen."""
        self.expectations = expectations or Expectations()
        self.crew = crew or Alone(factory)
        self.factory = factory
        self.result = result
        self.say = say
        self.record = record
        self.reading = PROFILES[result.profile]
        """What is judged by: the profile, but for the differences that were found already."""
        self.puzzles: set[tuple[str, str]] = set()
        """What no registered answer explained; the like of it is not tried again."""

    def stage(self, name: str, work: Callable[[Stage], None]) -> None:
        """Run one stage and time it; an adapter's fault ends the stage, not the run."""
        stage, fault = Stage(name), ""
        began = time.perf_counter()
        try:
            work(stage)
        except ControlError as error:
            fault = str(error)
        stage.seconds = time.perf_counter() - began
        self.record.stage(stage, fault)
        self.close(stage, fault)

    def close(self, stage: Stage, fault: str) -> None:
        """What a stage comes to; `fault` is the adapter's, if there was one."""
        if fault:
            stage.verdict, stage.note = "error", fault
            if not any(known.endswith(f": {fault}") for known in self.result.errors):
                self.result.errors.append(f"{stage.name}: {fault}")
        self.result.stages.append(stage)
        notes = [stage.note] if stage.note else []
        notes += [
            f"{count} {what}"
            for count, what in (
                (stage.expected, "failed as expected"),
                (stage.news, "broke rules that are newer than what the port pins"),
                (stage.late, "answered late once, then in time"),
                (stage.failed, "could not be run"),
            )
            if count
        ]
        if stage.broken:
            notes.append(f"{stage.broken} of {stage.scenarios} scenarios broken")
        notes += [f"{count} skipped: no {what}" for what, count in sorted(stage.skipped.items())]
        stage.note = "; ".join(notes)

    def add(self, stage: Stage, outcome: Outcome, name: str = "") -> int:
        """Keep one outcome and count it; the number of its case."""
        case = self.record.case(stage.name, outcome, name)
        stage.scenarios += 1
        stage.actions += outcome.actions
        stage.observations += sum(isinstance(entry, Observation) for entry in outcome.trace)
        add_counts(self.result.rows, outcome.rows)
        add_counts(self.result.met, outcome.met)
        add_counts(self.result.cells, outcome.cells)
        self.result.peak = max(self.result.peak, outcome.peak)
        return case

    def is_foretold(self, stage: Stage, outcome: Outcome, name: str) -> bool:
        """Whether the first finding of an outcome is expected, or about rules that are too new."""
        finding, profile = outcome.findings[0], self.result.profile
        if self.expectations.excuse(outcome.findings, profile, name):
            stage.expected += 1
            return True
        if is_news(finding, self.result.contract):
            stage.news += 1
            return True
        return False

    def report(self, stage: Stage, outcome: Outcome, case: int, name: str = "") -> None:
        """Reduce the first finding of an outcome unless its like is reported already.

        What registered differences explain is reported by their ids, and the search goes on with
        the subject's answers.
        """
        if not outcome.findings or self.is_foretold(stage, outcome, name):
            return
        stage.verdict = "broken"
        stage.broken += 1
        add_counts(self.result.codes, dict.fromkeys((f.code for f in outcome.findings), 1))
        key = outcome.findings[0].key
        explained = () if key in self.puzzles else explain_outcome(outcome, self.reading)
        if not explained:
            self.puzzles.add(key)
        for known, finding in explained:
            reduced, length = self.reduced_known(outcome, known, finding, case)
            self.result.found.append(Reported(reduced, length, stage.name, known))
            self.reading = known.on(self.reading)
        unknown = [each for each in self.result.found if each.known is None]
        if explained or len(unknown) >= FINDINGS_MAX:
            return
        outcome = self.without_faults(outcome, case)
        finding = outcome.findings[0]
        if any(each.finding.key == finding.key for each in unknown):
            return
        reduced = self.reduced(outcome, finding, case)
        if all(each.reduced.scenario != reduced.scenario for each in self.result.found):
            self.result.found.append(Reported(reduced, outcome.actions, stage.name))

    def reduced(self, outcome: Outcome, finding: Finding, case: int) -> Reduced:
        """The reduced scenario of a finding, kept as a witness of its case."""
        reduced = reduce_scenario(self.factory, outcome, finding, self.reading)
        self.record.witness(case, reduced, outcome.actions)
        return reduced

    def reduced_known(
        self, outcome: Outcome, known: Known, finding: Finding, case: int
    ) -> tuple[Reduced, int]:
        """The witness of a registered difference, and the length of what it was reduced from.

        It shows it alone where the outcome does, else beside the differences known before.
        """
        profile = PROFILES[self.result.profile]
        reading = profile if only_by(known, outcome, profile) else self.reading
        wanted = first_finding(outcome, reading) or finding
        only = partial(only_by, known, reading=reading)
        reduced = reduce_scenario(self.factory, outcome, wanted, reading, only)
        alone = run_scenario(self.factory(), reduced.scenario, profile=profile)
        if only_by(known, alone, profile):
            reduced = attrs.evolve(reduced, outcome=alone, finding=alone.findings[0])
        self.record.witness(case, reduced, outcome.actions, known.field)
        return reduced, outcome.actions

    def without_faults(self, outcome: Outcome, case: int) -> Outcome:
        """The same run without its faults where that has a finding too: it is not about them."""
        lines = tuple(line for line in outcome.scenario.lines if need_of(line.action) != "faults")
        if lines == outcome.scenario.lines:
            return outcome
        plain = attrs.evolve(outcome.scenario, lines=lines)
        again = run_scenario(self.factory(), plain, profile=self.reading)
        self.record.plain(case, again)
        return again if again.findings else outcome

    def scenarios(self, stage: Stage, planned: Sequence[Planned]) -> None:
        """Run scenarios one after the other; a port's in waves."""
        stage.planned = len(planned)
        able: list[Planned] = []
        capabilities = self.factory().capabilities
        for each in planned:
            lacking = sorted(needed(each.scenario) - capabilities)
            if lacking:
                stage.skipped[lacking[0]] = stage.skipped.get(lacking[0], 0) + 1
            else:
                able.append(each)
        stage.planned = len(able)
        if self.factory().armed:
            self.waves(stage, [tuple(able[at : at + PART]) for at in range(0, len(able), PART)])
            return
        for each in able:
            self.say(stage.name, stage.scenarios, stage.planned)
            began = time.perf_counter()
            try:
                outcome = run_scenario(self.factory(), each.scenario, profile=self.reading)
            finally:
                stage.running += time.perf_counter() - began
            self.see(stage, outcome, each.name)

    def see(self, stage: Stage, outcome: Outcome, name: str) -> None:
        """Count an outcome, and report what is new in it."""
        self.expectations.ran(self.result.profile, name)
        self.report(stage, outcome, self.add(stage, outcome, name), name)

    def waves(self, stage: Stage, tasks: Sequence[Task]) -> None:
        """Play tasks on a port, some at a time, so that what is found is known to those behind."""
        for at in range(0, len(tasks), WAVE):
            reading = self.reading
            for played in self.crew.play(tasks[at : at + WAVE], reading):
                for each in played:
                    self.say(stage.name, stage.scenarios, stage.planned)
                    self.take(stage, each, reading)
            if len([each for each in self.result.found if each.known is None]) >= FINDINGS_MAX:
                return

    def take(self, stage: Stage, played: Played, reading: Policy) -> None:
        """What came of one scenario on a port; judged again where more is known by now.

        A process that failed is started anew for the next scenario, up to a number of failures.
        """
        stage.running += played.seconds
        stage.late += len(played.late)
        if played.outcome is None:
            stage.failed += 1
            if stage.failed >= FAILURES_MAX:
                raise ControlError(played.fault)
            self.record.error(played.fault)
            self.result.errors.append(played.fault)
            return
        outcome = played.outcome
        if self.reading != reading:
            outcome = judged_by(outcome, self.reading)
        self.see(stage, outcome, played.name)

    def random(self, stage: Stage, effort: Effort) -> None:
        """Random runs up to the planned number or the first finding that nothing explains."""
        if self.factory().armed:
            self.random_ahead(stage, effort)
            return
        left, round_number = effort.examples, 0
        while left > 0:
            before, ran = self.reading, stage.scenarios
            self.round(stage, effort, left, self.result.seed + round_number)
            if self.reading == before:
                return
            left, round_number = left - (stage.scenarios - ran), round_number + 1

    def random_ahead(self, stage: Stage, effort: Effort) -> None:
        """Random scenarios for a subject that must be told beforehand what comes.

        The specification plays them first, by the answers that are known of the subject, and the
        subject then plays the same.
        """
        capabilities = self.factory().capabilities
        stage.planned = effort.examples
        tasks = [
            Round(
                self.result.seed + at // ROUND,
                min(ROUND, effort.examples - at),
                effort.steps,
                capabilities,
            )
            for at in range(0, effort.examples, ROUND)
        ]
        self.waves(stage, tasks)

    def round(self, stage: Stage, effort: Effort, examples: int, seed: int) -> None:
        """Random runs up to a finding, which is reported behind them."""
        failed: list[tuple[Outcome, int]] = []
        fault: ControlError | None = None

        def keep(outcome: Outcome) -> None:
            case = self.add(stage, outcome)
            if outcome.findings and not failed:  # Hypothesis runs it again before it ends
                failed.append((outcome, case))

        def tell(campaign: Campaign) -> None:
            # Hypothesis tries a few more than were planned.
            self.say(stage.name, min(campaign.scenarios, effort.examples), effort.examples)

        began = time.perf_counter()
        try:
            run_campaign(self.factory, self.reading, examples, effort.steps, seed, tell, keep)
        except ControlError as error:
            fault = error
        stage.running += time.perf_counter() - began
        self.record.round(stage.name)
        for outcome, case in failed:  # also when the adapter fails as a finding is run again
            self.report(stage, outcome, case)
        if fault is not None:
            raise fault

    def weigh_expectations(self) -> None:
        """What was to fail and passed, and what could not be met at all."""
        self.result.passed = self.expectations.passes()
        self.result.errors += self.expectations.idle()

    def canary(self, stage: Stage) -> None:
        """A loop with a planted fault must be found broken."""
        from loopspec.conformance.mutants import mutated_impl
        from loopspec.conformance.subjects.python import PythonSubject

        began = time.perf_counter()
        outcome = run_scenario(
            PythonSubject(mutated_impl("canary")), parse_scenario(CANARY_SCENARIO)
        )
        stage.running = time.perf_counter() - began
        self.record.case(stage.name, outcome)
        self.seen_canary(stage, outcome)

    def seen_canary(self, stage: Stage, outcome: Outcome) -> None:
        """Whether the planted fault was found; nothing else of it is counted."""
        stage.scenarios, stage.actions = 1, outcome.actions
        if outcome.findings:
            stage.note = f"found at once by {outcome.findings[0].code}"
        else:
            stage.verdict = "inconclusive"
            self.result.doubts.append("the canary survived: the judge did not see a planted fault")


def is_news(finding: Finding, contract: int) -> bool:
    """Whether every rule that a finding cites is newer than a revision of the contract."""
    rules = load_rules()
    since = [rules[each].since for each in finding.rules if each in rules]
    return bool(since) and min(since) > contract


def only_by(known: Known, outcome: Outcome, reading: Policy) -> bool:
    """Whether this difference alone explains an outcome."""
    return [each for each, _ in explain_outcome(outcome, reading)] == [known]


def quiet(_stage: str, _done: int, _planned: int) -> None:
    """Say nothing."""


def check_subject(
    factory: SubjectFactory,
    profile: str = "notes",
    effort: str = "quick",
    seed: int = 0,
    examples: int | None = None,
    say: Callable[[str, int, int], None] = quiet,
    record: Recorder | None = None,
    expectations: Expectations | None = None,
    crew: Crew | None = None,
) -> Result:
    """Try everything of an effort on subjects of `factory`, and judge by `profile`.

    `examples` replaces the effort's number of random runs; `say` is told stage, done and planned;
    `record` gets each scenario with its trace when it ends; `expectations` say which findings are
    known; a `crew` plays on a port in several processes. Raises KeyError for an unknown profile or
    effort.
    """
    PROFILES[profile]
    planned = EFFORTS[effort]
    if examples is not None:
        planned = attrs.evolve(planned, examples=examples)
    result = Result(profile, effort, seed)
    guard = guarded_factory(factory)
    record = record if record is not None else Recorder()
    try:
        subject = guard()
        result.subject, result.version = subject.name, subject.version
        result.lacking = tuple(each for each in CAPABILITIES if each not in subject.capabilities)
        result.contract = subject.contract
    except ControlError as error:
        result.errors.append(str(error))
        record.begin("", "", ())
        record.error(str(error))
        return result
    record.begin(result.subject, result.version, result.lacking, result.contract)
    check = Check(guard, result, say, record, expectations, crew)
    began = time.perf_counter()
    covers: list[Cover] = []

    def cover(stage: Stage) -> None:
        scopes = [within(scope, subject.capabilities) for scope in DEFAULT_SCOPES]
        covers.append(cover_rows(scopes, profile))
        record.cover(covers[0])
        found = enumerate(covers[0].scenarios, 1)
        check.scenarios(stage, [Planned(f"cover/{number}", each) for number, each in found])

    corpus = [Planned(f"corpus/{each.name}", each.scenario) for each in load_corpus()]
    check.stage("corpus", lambda stage: check.scenarios(stage, corpus))
    check.stage("cover", cover)
    if planned.examples:
        check.stage("random", lambda stage: check.random(stage, planned))
    check.stage("canary", check.canary)
    result.seconds = time.perf_counter() - began
    check.weigh_expectations()
    conclude(result, covers[0] if covers else None)
    return result


def conclude(result: Result, cover: Cover | None) -> None:
    """What the stages come to together, once all of them have ended."""
    result.enabled = frozenset(result.cells) | (cover.cells if cover else frozenset())
    if not result.found and not result.errors:  # else what is missing has that one reason
        doubt(result, cover)


def doubt(result: Result, cover: Cover | None) -> None:
    """What keeps a run without findings from saying that the subject holds."""
    if not any(stage.actions for stage in result.stages if stage.name != "canary"):
        result.doubts.append("nothing was checked")
    if cover is not None:
        left = [
            each.key for each in TABLE if each.key in cover.rows and not result.rows.get(each.key)
        ]
        if left:
            result.doubts.append(f"rows never taken: {', '.join(left)}")
        missed = sorted(cell for cell in cover.cells if not result.cells.get(cell))
        if missed:
            shown = "; ".join(" / ".join(cell) for cell in missed[:3])
            result.doubts.append(f"cells never reached ({len(missed)}), for example {shown}")
    expected = {each.code for each in result.applied}
    if cover is not None and result.lacking:  # some premises may be out of its reach
        expected &= cover.met
    unmet = [code for code in SENTENCES if code in expected and not result.met.get(code)]
    if unmet:
        result.doubts.append(f"premises never met: {', '.join(unmet)}")
