"""Judging a recorded run again, with the specification as it is now, without any subject.

Theory. The stages of a check are gone through as they were recorded, by the code that counts and
reports in a check; only where that would run a subject, what was seen then is looked up. So the
same evidence and the same specification give the same verdict, findings and counts. A judge that
has learnt something since finds more or less, and the findings of then, kept in the footer by case,
say where. What was not recorded cannot be judged: it makes the run inconclusive, never holding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from loopspec.conformance.deviations import Known, first_finding
from loopspec.conformance.drive import Outcome, Reading, policy_of
from loopspec.conformance.expectations import ExpectationError, parse_expectations
from loopspec.conformance.judge import Finding, Judge
from loopspec.conformance.peers import PEERS
from loopspec.conformance.recorded import (
    CaseLine,
    CoverLine,
    ErrorLine,
    Played,
    RecordError,
    Recording,
    RoundLine,
    StageLine,
    read_recording,
)
from loopspec.conformance.recorder import Recorder, codes_of
from loopspec.conformance.reduce import Reduced, found
from loopspec.conformance.suite import Check, Result, Stage, conclude, only_by, quiet
from loopspec.conformance.verdict import run_document, versions
from loopspec.model.cover import Cover
from loopspec.model.policy import PROFILES

__all__ = ["Retrial", "judge_again"]

RANDOM: Final = "random"
CANARY: Final = "canary"


@attrs.frozen
class Change:
    """A case of which another thing is said now than then."""

    case: int
    stage: str
    before: tuple[str, ...]
    now: tuple[str, ...]


@attrs.frozen
class Retrial:
    """What a recorded run comes to now, beside what it came to then.

    `before` is the verdict of then, None when the run was killed; `profile` is what was judged by.
    """

    recording: Recording
    result: Result
    before: str | None
    changes: tuple[Change, ...]

    @property
    def own_profile(self) -> bool:
        """Whether the run was judged by the profile that it was made for."""
        return self.result.profile == self.recording.header.profile

    @property
    def same(self) -> bool | None:
        """Whether verdict and findings of every case are those of then; None for a killed run."""
        if self.before is None:
            return None
        return self.before == self.result.verdict and not self.changes

    @property
    def other_versions(self) -> dict[str, str]:
        """The versions of then of what is another now; a trace does not depend on them."""
        now = versions()
        then = self.recording.header.versions
        return {name: version for name, version in then.items() if now.get(name) != version}

    def document(self, replay: Callable[[int], str]) -> dict[str, Any]:
        """`run.json` of the run; `replay` is the command for the witness of that number."""
        header = self.recording.header
        replays = [replay(number) for number in range(1, len(self.result.found) + 1)]
        document = run_document(self.result, header.verb, replays, header.started, header.again)
        return document | {"versions": header.versions}


class _Lookup(Check):
    """A check that runs nothing: a witness is looked up, or else the case is its own."""

    recording: Recording

    def reduced(self, outcome: Outcome, finding: Finding, case: int) -> Reduced:
        """The recorded witness, if it still shows the finding."""
        for number, line in self.recording.witnesses.get(case, ()):
            seen = self.recording.played(number, line)
            again = judged(seen, self.reading)
            still = found(again, finding)
            if still is not None and not line.known:
                return Reduced(seen.scenario, again, still, line.replays, line.minimal)
        return Reduced(outcome.scenario, outcome, finding, 0, "no")

    def without_faults(self, outcome: Outcome, case: int) -> Outcome:
        """What was seen of the same run without its faults, if it has a finding too."""
        recorded = self.recording.plain.get(case)
        if recorded is None:
            return outcome
        again = judged(self.recording.played(*recorded), self.reading)
        return again if again.findings else outcome

    def reduced_known(
        self, outcome: Outcome, known: Known, finding: Finding, case: int
    ) -> tuple[Reduced, int]:
        """The recorded witness of a difference: one that shows it alone, or beside the others."""
        profile = PROFILES[self.result.profile]
        wanted = first_finding(outcome, self.reading) or finding
        for number, line in self.recording.witnesses.get(case, ()):
            if line.known != known.field:
                continue
            seen = self.recording.played(number, line)
            again = judged(seen, profile)
            still: Finding | None = None
            if only_by(known, again, profile):
                still = again.findings[0]
            else:
                again = judged(seen, self.reading)
                still = found(again, wanted)
            if still is not None:
                reduced = Reduced(seen.scenario, again, still, line.replays, line.minimal)
                return reduced, line.length
        return Reduced(outcome.scenario, outcome, wanted, 0, "no"), outcome.actions


def nobody() -> Any:  # noqa: ANN401 - never returns
    """No subject is at hand."""
    msg = "a recorded run asked for a subject"
    raise AssertionError(msg)


UNREADABLE: Final = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What a judge raises at an entry that no subject behind a guard tells."""


def judged(seen: Played, reading: Reading) -> Outcome:
    """What the judge says of a recorded trace; raises RecordError where it cannot read one."""
    judge = Judge(policy_of(reading), held=seen.scenario.held)
    try:
        for entry in seen.trace:
            judge.see(entry)
    except UNREADABLE as error:
        sentence = (
            f"{seen.place}, entry {judge.position + 1}: expected what a subject can be seen to do, "
            f"got {ascii(entry)[:80]} ({type(error).__name__})"
        )
        raise RecordError("RECORD_DAMAGED", sentence) from error
    findings = tuple(judge.findings)
    counts = (judge.rows, judge.met, judge.cells, judge.peak)
    return Outcome(seen.scenario, seen.trace, seen.made, findings, *counts)


def judge_again(
    folder: Path,
    profile: str | None = None,
    say: Callable[[str, int, int], None] = quiet,
) -> Retrial:
    """Judge the recorded run of a folder again, by its own profile unless another is named.

    `say` is told stage, done and planned. Raises RecordError when the evidence is missing or
    damaged, and KeyError for an unknown profile.
    """
    recording = read_recording(folder)
    header = recording.header
    if header.profile in PEERS:
        sentence = f"{recording.path}: expected a run by a profile of the specification"
        hint = "`loopspec replay` runs the witnesses of a peer once more"
        raise RecordError("RECORD_PROFILE", f"{sentence}, got the peer {header.profile}", hint)
    if profile is None and header.profile not in PROFILES:
        sentence = f"{recording.path}: expected a profile ({', '.join(PROFILES)})"
        raise RecordError("RECORD_PROFILE", f"{sentence}, got {header.profile!r}")
    profile = profile or header.profile
    PROFILES[profile]
    result = Result(profile, header.effort, header.seed)
    result.subject, result.version = header.subject.name, header.subject.version
    result.lacking = header.subject.lacks
    result.contract = header.subject.contract
    try:
        expectations = parse_expectations(header.expectations)
    except ExpectationError as error:
        sentence = f"{recording.path}, line 1: {error}"
        raise RecordError("RECORD_DAMAGED", sentence) from error
    check = _Lookup(nobody, result, say, Recorder(), expectations)
    check.recording = recording
    retold = _Retold(check, recording)
    cover = retold.all_lines()
    missing = _what_is_missing(recording, retold.cases, profile)
    if recording.footer is not None:
        result.seconds = recording.footer.seconds
    doubts = [*missing, *result.doubts]
    check.weigh_expectations()
    conclude(result, cover)
    if missing:  # else whatever was not reached has that one reason
        result.doubts = doubts
    before = recording.footer.verdict if recording.footer is not None else None
    return Retrial(recording, result, before, tuple(retold.changes()))


class _Retold:
    """Goes through the lines of a recording and lets the check see them."""

    def __init__(self, check: _Lookup, recording: Recording) -> None:
        self.check = check
        self.recording = recording
        self.stage: Stage | None = None
        self.failed: tuple[Outcome, int] | None = None
        self.cases = 0
        self.codes: dict[int, tuple[str, ...]] = {}
        self.stages: dict[int, str] = {}

    def all_lines(self) -> Cover | None:
        """Everything that was recorded; what the planned scenarios were to reach."""
        cover: Cover | None = None
        for number, line in self.recording.lines():
            if isinstance(line, ErrorLine):
                self.check.result.errors.append(line.text)
            elif isinstance(line, CoverLine):
                cover = Cover((), frozenset(line.rows), frozenset(line.cells), frozenset(line.met))
            elif isinstance(line, CaseLine):
                self.case(number, line)
            elif isinstance(line, RoundLine):
                self.round()
            elif isinstance(line, StageLine):
                self.end(line)
        if self.stage is not None:  # the run was killed in it
            self.end(StageLine(self.stage.name, 0.0, 0.0, {}, 0, 0, ""))
        return cover

    def case(self, number: int, line: CaseLine) -> None:
        """One scenario."""
        if self.stage is not None and self.stage.name != line.stage:
            self.end(StageLine(self.stage.name, 0.0, 0.0, {}, 0, 0, ""))
        stage = self.stage = self.stage or Stage(line.stage)
        self.cases += 1
        self.check.say(stage.name, self.cases, self.recording.cases)
        seen = self.recording.played(number, line)
        if line.stage == CANARY:  # judged by its own profile, in a check too
            outcome = judged(seen, seen.scenario.profile)
            self.check.seen_canary(stage, outcome)
        else:
            outcome = judged(seen, self.check.reading)
            self.check.add(stage, outcome)
            self.check.expectations.ran(self.check.result.profile, line.name)
        if outcome.findings:
            self.codes[line.case] = tuple(codes_of(outcome))
        self.stages[line.case] = line.stage
        if line.stage == RANDOM and not line.name:
            if outcome.findings and self.failed is None:
                self.failed = outcome, line.case
        elif line.stage != CANARY:
            self.check.report(stage, outcome, line.case, line.name)

    def end(self, line: StageLine) -> None:
        """The end of a stage."""
        self.round()
        stage, self.stage = self.stage or Stage(line.name), None
        stage.seconds, stage.running, stage.skipped = line.seconds, line.running, line.skipped
        stage.late, stage.failed = line.late, line.failed
        self.check.close(stage, line.error)

    def round(self) -> None:
        """The end of a series of random scenarios: its first finding is reported, as it was then.

        The others were seen by the reading of before, which a report may change.
        """
        failed, self.failed = self.failed, None
        if failed is not None and self.stage is not None:
            self.check.report(self.stage, *failed)

    def changes(self) -> Iterator[Change]:
        """The recorded cases with other findings than then."""
        footer = self.recording.footer
        then = dict(footer.findings) if footer is not None else self.codes
        for case in sorted(self.stages):
            before, now = then.get(case, ()), self.codes.get(case, ())
            if before != now:
                yield Change(case, self.stages[case], before, now)


def _what_is_missing(recording: Recording, cases: int, profile: str) -> list[str]:
    """Why nothing can be said of the run as a whole; empty when all of it was recorded."""
    header, footer = recording.header, recording.footer
    if footer is None:
        cut = "; its last line was cut off and is left out" if recording.torn else ""
        return [f"the run ended after {cases} scenarios without a footer{cut}"]
    if cases < footer.scenarios:
        left = footer.scenarios - cases
        sentence = f"{left} of {footer.scenarios} scenarios were not recorded"
        return [f"{sentence} (evidence {header.evidence})"]
    if profile != header.profile:
        return [f"the scenarios were chosen for profile {header.profile}, not for {profile}"]
    return []
