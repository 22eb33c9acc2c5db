"""Driving a subject by a scenario, and writing down its trace.

Theory. Lines at rest are made one after the other, each followed by settling. Lines with a window
are armed before the first of them: they are made when the n-th delivery that they name comes, or
that many ticks after it. An answer to a gate that is not open is not enabled and is skipped, and
an open assemble gate is answered with `assembled` when an answer to a later gate is given. The
place of every call in the trace is where the subject was when it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

import attrs

from loopspec.conformance.control import ControlError
from loopspec.conformance.judge import Finding, Judge
from loopspec.conformance.ports.failures import Unforeseen
from loopspec.conformance.subjects.contract import Subject
from loopspec.conformance.subjects.guarded import Guarded, guarded
from loopspec.model.explore import Cell
from loopspec.model.policy import PROFILES, Policy
from loopspec.model.scenario import Line, Scenario
from loopspec.model.session import HELD
from loopspec.model.words import GATES, PASSED, Answer, Call, Entry, Made, Observation, Rest

__all__ = [
    "AnyReading",
    "Drive",
    "Judging",
    "Outcome",
    "foreseen",
    "judged_by",
    "run_like",
    "run_scenario",
]

CALLS_INSIDE_MAX = 200


@attrs.frozen
class Outcome:
    """What one scenario on one subject gave.

    `made` tells for each line whether it was made; `trace` is everything that was seen.
    """

    scenario: Scenario
    trace: tuple[Entry, ...]
    made: tuple[bool, ...]
    findings: tuple[Finding, ...]
    rows: dict[str, int]
    met: dict[str, int]
    cells: dict[Cell, int]
    peak: int

    @property
    def actions(self) -> int:
        """Calls and answers that were made."""
        return sum(self.made)


class Drive:
    """One session of a subject under control, with its trace and its judge."""

    def __init__(self, subject: Subject, judge: Judge, held: frozenset[str] = HELD) -> None:
        """Open a fresh session of `subject`; everything it does goes to `judge`."""
        self.subject = subject
        self.judge = judge
        self.trace: list[Entry] = []
        self.counts: dict[tuple[str, str], int] = {}
        self.inside: dict[tuple[str, str, int], list[tuple[int, Call]]] = {}
        self.after: dict[tuple[str, int], list[tuple[int, int, Call]]] = {}
        self.made: set[int] = set()
        self.depth = 0
        self.lives = 1
        self.calls_inside = 0
        self.on_delivery: Callable[[Observation], None] | None = None
        subject.open(self.observe, held)

    def outcome(self, scenario: Scenario) -> Outcome:
        """What the lines of `scenario` have given so far."""
        made = tuple(index in self.made for index in range(len(scenario.lines)))
        judge = self.judge
        findings = tuple(judge.findings)
        counts = (judge.rows, judge.met, judge.cells, judge.peak)
        return Outcome(scenario, tuple(self.trace), made, findings, *counts)

    def note(self, entry: Entry) -> None:
        """Write one entry down and let the judge see it."""
        self.trace.append(entry)
        self.judge.see(entry)

    def observe(self, seen: Observation) -> None:
        """One observation of the subject; calls armed for it are made inside."""
        self.note(seen)
        if seen.kind not in ("record", "event", "gate"):
            return
        where = (seen.name, seen.listener)
        number = self.counts[where] = self.counts.get(where, 0) + 1
        if seen.listener != "last":
            for index, ticks, call in self.after.pop((seen.name, number), ()):
                self.schedule(index, ticks, call)
        self.depth += 1
        life = self.lives
        try:
            for index, call in self.inside.pop((*where, number), ()):
                if life == self.lives:  # else whoever listened has died
                    self.call(index, call, inside=True)
            if self.on_delivery is not None and life == self.lives:
                self.on_delivery(seen)
        finally:
            self.depth -= 1

    def schedule(self, index: int, ticks: int, call: Call) -> None:
        """Make a call some ticks from now."""
        self.subject.later(ticks, lambda: self.call(index, call, inside=False))

    def call(self, index: int, call: Call, inside: bool) -> None:
        """Make a call where the subject is now."""
        if inside:
            self.calls_inside += 1
            if self.calls_inside > CALLS_INSIDE_MAX:
                return
        self.made.add(index)
        self.note(Made(call, inside))
        self.lives += call.name == "crash"
        self.subject.call(call)

    def is_open(self, answer: Answer) -> bool:
        """Whether the gate that an answer is for stands open."""
        labels = [label for label, _ in self.subject.gates()]
        if answer.gate == "tool" and answer.names:
            return f"tool {answer.names[0]}" in labels
        return answer.gate in [label.partition(" ")[0] for label in labels]

    def answer(self, index: int, answer: Answer) -> bool:
        """Answer an open gate, and let pass first whatever stands before it; False when closed."""
        while not self.is_open(answer):
            passed = [label for label, _ in self.subject.gates() if label in PASSED]
            if not passed or answer.gate == passed[0]:
                return False
            self.give(Answer(passed[0], GATES[passed[0]][0]))
            self.settle()
        self.made.add(index)
        self.give(answer)
        return True

    def give(self, answer: Answer) -> None:
        """Give an answer that the subject waits for; calls armed behind it are made at once."""
        self.note(answer)
        self.subject.answer(answer)
        where = (f"{answer.gate} answer", "")
        number = self.counts[where] = self.counts.get(where, 0) + 1
        for index, ticks, call in self.after.pop((where[0], number), ()):
            if ticks == 0:
                self.call(index, call, inside=False)
            else:
                self.schedule(index, ticks, call)

    def settle(self) -> None:
        """Let the subject come to rest, and look at its projections."""
        self.subject.settle()
        lists = self.subject.lists()
        self.note(Rest(*lists, self.subject.status(), self.subject.gates()))
        folded = self.subject.folded()
        if folded is not None and folded != lists:
            text = f"the log folds to {folded}, the inbox shows {lists}"
            self.note(Observation("fault", "fold differs", (("error", text),)))

    def arm(self, index: int, line: Line) -> None:
        """Keep a line with a window until its moment comes."""
        window, call = line.window, line.action
        assert isinstance(call, Call), "only calls have windows"
        if isinstance(self.subject, Guarded) and self.subject.armed:
            self.subject.arm(line, lambda: self.made_by_itself(index, line))
            return
        if window.kind == "in":
            key = (window.name, window.listener, window.number)
            self.inside.setdefault(key, []).append((index, call))
        else:
            where = (window.name, window.number)
            self.after.setdefault(where, []).append((index, window.ticks, call))

    def made_by_itself(self, index: int, line: Line) -> None:
        """A subject that arms calls itself makes one of them now."""
        assert isinstance(line.action, Call)
        self.made.add(index)
        self.note(Made(line.action, line.window.kind == "in"))

    def play(self, scenario: Scenario) -> None:
        """Arm the lines with a window, then make the others."""
        self.arm_lines(scenario)
        self.perform_lines(scenario)

    def arm_lines(self, scenario: Scenario) -> None:
        """Arm the lines with a window."""
        for index, line in enumerate(scenario.lines):
            if line.window.kind != "rest":
                self.arm(index, line)

    def perform_lines(self, scenario: Scenario) -> None:
        """Make the lines at rest, one after the other."""
        for index, line in enumerate(scenario.lines):
            if line.window.kind == "rest":
                self.perform(index, line.action)

    def perform(self, index: int, action: Call | Answer) -> None:
        """One line at rest: make it and settle."""
        if isinstance(action, Call):
            self.call(index, action, inside=False)
        elif not self.answer(index, action):
            return
        self.settle()


Reading: TypeAlias = str | Policy
"""What a trace is judged by: a profile by its name, or any policy."""


def policy_of(reading: Reading) -> Policy:
    """The policy of a reading. Raises KeyError for a name that is no profile."""
    return PROFILES[reading] if isinstance(reading, str) else reading


class Judging(Protocol):
    """Something else to judge a trace by than the model, such as the claims of a peer."""

    def judge(self) -> Judge:
        """A judge of one trace."""

    def plays(self, scenario: Scenario) -> str:
        """What of a scenario the subject cannot be asked; empty when it can be asked all."""


AnyReading: TypeAlias = Reading | Judging


def judge_of(reading: AnyReading, scenario: Scenario, inclusion: bool) -> Judge:
    """A judge of one trace; raises ControlError when the reading has no such scenario."""
    if isinstance(reading, str | Policy):
        return Judge(policy_of(reading), inclusion=inclusion, held=scenario.held)
    refused = reading.plays(scenario)
    if refused:
        msg = f"expected what the subject can be asked, got: {refused}"
        raise ControlError(msg)
    return reading.judge()


def foreseen(trace: Iterable[Entry]) -> tuple[Call | Answer, ...]:
    """What is asked at rest in a run with this trace, in order: what comes right behind a rest.

    A call that comes elsewhere was made in a window.
    """
    asked: list[Call | Answer] = []
    at_rest = True
    for entry in trace:
        if at_rest and isinstance(entry, Made):
            asked.append(entry.call)
        elif at_rest and isinstance(entry, Answer):
            asked.append(entry)
        at_rest = isinstance(entry, Rest)
    return tuple(asked)


def run_scenario(
    subject: Subject,
    scenario: Scenario,
    inclusion: bool = True,
    profile: AnyReading | None = None,
) -> Outcome:
    """Run one scenario on a fresh session of `subject` and judge its trace.

    `profile` overrides the scenario's own; a peer's raises ControlError for what the peer cannot be
    asked. The subject is closed afterwards, whatever happens.
    """
    verdict = judge_of(profile or scenario.profile, scenario, inclusion)
    subject = guarded(subject)
    drive = Drive(subject, verdict, scenario.held)
    try:
        drive.play(scenario)
    finally:
        subject.close()
    return drive.outcome(scenario)


def judged_by(outcome: Outcome, profile: Reading) -> Outcome:
    """The same run, judged by another reading."""
    judge = Judge(policy_of(profile), held=outcome.scenario.held)
    for entry in outcome.trace:
        judge.see(entry)
    counts = (judge.rows, judge.met, judge.cells, judge.peak)
    return Outcome(outcome.scenario, outcome.trace, outcome.made, tuple(judge.findings), *counts)


class _Unjudged(Judge):
    """Sees nothing, until it is known whether there is anything new to see."""

    def see(self, entry: Entry) -> None:
        """Leave the entry to the trace."""


def run_like(
    subject: Guarded, like: Outcome, profile: Reading, ahead: Sequence[Call | Answer] = ()
) -> Outcome:
    """Run the scenario that the specification has played, on a subject that is told what comes.

    `like` is what came of it there, judged by the same profile: a trace that equals it entry by
    entry was judged with it, any other is judged by itself. `ahead` is what will be asked at rest
    if all goes as it went there; without, the subject is asked one by one. Raises Unforeseen when
    it went otherwise and nothing was found until then.
    """
    scenario, policy = like.scenario, policy_of(profile)
    drive = Drive(subject, _Unjudged(policy, inclusion=False), scenario.held)
    stray: Unforeseen | None = None
    try:
        drive.arm_lines(scenario)
        if ahead:
            subject.expect(ahead)
        drive.perform_lines(scenario)
    except Unforeseen as error:
        stray = error
    finally:
        subject.close()
    told = tuple(drive.trace)
    if stray is None and told == like.trace:
        return attrs.evolve(like, made=drive.outcome(scenario).made)
    drive.judge = Judge(policy, held=scenario.held)
    for entry in told:
        drive.judge.see(entry)
    if stray is not None and not drive.judge.findings:
        raise stray  # with a finding, what was seen until here is enough, and is not tried again
    return drive.outcome(scenario)
