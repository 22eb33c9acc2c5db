"""A smoke run: whether an adapter does what it declares, and what has to change.

Theory. Whether a loop is right is what `check` finds out. Before that comes a smaller question:
does the adapter tell what it must? For each declared capability a few short scenarios are run, and
five things asked that no loop can get wrong, only an adapter: every command is answered in its
shape; a call that was made has returned; records and events are told to the first listener and to
the last; a gate that arrived stands open until it is answered; a hook whose delivery came was made.
What the loop did otherwise than the specification is told apart, since `check` judges it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import Outcome, foreseen, run_like, run_scenario
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports.failures import PortError
from loopspec.conformance.subjects.contract import needed
from loopspec.conformance.subjects.guarded import guarded
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import Line, Scenario, parse_scenario
from loopspec.model.words import FIRST, LAST, Answer, Call, Made, Observation, Rest

__all__ = ["Tried", "smoke"]

BASIC: Final = "followup"
"""What every port can, declared or not."""

PROBES: Final = {
    BASIC: (
        "followup A\npre-step: enter\nprovider: done\n",
        "followup A\nfollowup B\npre-step: reject\n",
        "followup A\npre-step: enter nothing\n",
        "followup A\npre-step: enter A B\nprovider: owes\npre-step: enter\nprovider: done\n",
        "followup A\npre-step: raise\n",
        "followup A\npre-step: enter\nprovider: max-tokens\n",
        "followup A\npre-step: enter\nprovider: error\n",
        "followup A\npre-step: enter\nprovider: cut\n",
    ),
    "steering": (
        "followup A\npre-step: enter\nsteer B\nprovider: done\npre-step: enter\nprovider: done\n",
        "inject A\nfollowup B\npre-step: enter\nprovider: done\n",
    ),
    "edits": (
        "append next-turn A\nprepend next-turn B\nsplice next-turn 0 1 C\n",
        "append next-step A\nreplace A B\nremove B\nappend next-step C\nclear\n",
    ),
    "cancel": (
        "followup A\nfollowup B\ncancel user drop\npre-step: enter\n",
        "followup A\npre-step: enter\ncancel parent keep\nprovider: cut\n",
    ),
    "calls-in-listeners": (
        "in agent/inbox/claimed#1 last: followup B\nfollowup A\npre-step: enter\nprovider: done\n",
        "in turn/start#1 first: followup B\nfollowup A\npre-step: enter\nprovider: done\n",
        "in pre-step#1: followup B\nfollowup A\npre-step: enter\nprovider: done\n",
    ),
    "ticks": (
        "after turn/end#1 +1: followup B\nfollowup A\npre-step: enter\nprovider: done\n",
        "after provider answer#1 +0: followup B\nfollowup A\npre-step: enter\nprovider: done\n",
    ),
    "assemble-gate": ("followup A\nassemble: failed\n",),
    "fold": ("append next-turn A\nappend next-step B\n",),
    "tools": (
        "followup A\npre-step: enter\nprovider: tools t1 t2\ntool t1: result\ntool t2: raise\n"
        "pre-step: enter\nprovider: done\n",
        "followup A\npre-step: enter\nprovider: parallel t1 t2\ntool t2: result B\n"
        "tool t1: concludes\n",
    ),
    "streaming": ("followup A\npre-step: enter\nprovider: partial\nprovider: done\n",),
    "seams": (
        "gates request request-error turn-stopping\nfollowup A\npre-step: enter\nrequest: go\n"
        "provider: error\nrequest-error: retry\nrequest: go\nprovider: done\n"
        "turn-stopping: nothing\n",
    ),
    "maintenance": ("maintenance\nfollowup A\nmaintenance: done\n",),
    "waiting": ("followup A\nwhen-idle\npre-step: reject\n",),
    "disposal": ("followup A\ndispose\npre-step: enter\n",),
    "faults": (
        "refuse agent/inbox/spliced\nfollowup A\n",
        "throw agent/inbox/inserted\nfollowup A\n",
    ),
    "crashes": (
        "append next-turn A\nflush\nappend next-turn B\ncrash\n",
        "append next-turn A\nflush\nresume\n",
        "append next-turn A\nfork\n",
    ),
}
"""Short scenarios for each capability; each needs no other, or one that is looked for first."""


TWO: Final = "followup A\nfollowup B\npre-step: enter\nprovider: done\npre-step: reject\n"
"""A scenario whose lists differ from command to command."""


@attrs.define
class Tried:
    """What was tried of one capability: its verdict, and each sentence that goes with it.

    The verdict is ok, error (the adapter has to change), differs (what it drives parts from the
    specification), or skipped (not declared).
    """

    capability: str
    verdict: str = "ok"
    runs: int = 0
    sentences: list[str] = attrs.field(factory=list)
    scenario: str = ""
    """The first in which the loop parts from the specification."""

    def wrong(self, sentence: str) -> None:
        """Something that the adapter has to change."""
        self.verdict = "error"
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def differs(self, sentence: str, scenario: str) -> None:
        """Something in which the loop parts from the specification, shown by this scenario."""
        if self.verdict == "ok":
            self.verdict = "differs"
        self.scenario = self.scenario or scenario
        if sentence not in self.sentences:
            self.sentences.append(sentence)


def smoke(port: Port, profile: str) -> Iterator[Tried]:
    """Try each capability in turn, on one process that is started anew where it fails.

    Raises PortError when the port does not even greet.
    """
    declared = frozenset(port.welcome.capabilities)
    for capability, texts in PROBES.items():
        tried = Tried(capability)
        if capability not in {BASIC, *declared}:
            tried.verdict = "skipped"
            yield tried
            continue
        for text in texts:
            scenario = attrs.evolve(parse_scenario(text), profile=profile)
            if needed(scenario) <= declared:
                probe(port, tried, scenario, profile)
        if capability == BASIC:
            try_twice(port, tried, profile)
        yield tried
    yield try_batch(port, profile, declared)
    yield try_log(port, declared)


def probe(port: Port, tried: Tried, scenario: Scenario, profile: str) -> Outcome | None:
    """Run one scenario and ask what only an adapter can get wrong."""
    tried.runs += 1
    shown = " · ".join(str(line) for line in scenario.lines)
    try:
        subject = PortSubject(port)
        outcome = run_scenario(subject, scenario, profile=profile)
    except ControlError as error:
        tried.wrong(f"{error} (in: {shown})")
        return None
    if tried.capability == "fold" and not subject.has_folded:
        tried.wrong("fold is declared, and the reports have no `folded`")
    for sentence in told_wrong(outcome):
        tried.wrong(f"{sentence} (in: {shown})")
    if outcome.findings and tried.verdict != "error":
        finding = outcome.findings[0]
        allowed = " or ".join(dict.fromkeys(finding.allowed))
        more = f"; allowed: {allowed}" if allowed else ""
        tried.differs(f"{finding.code}: {finding.however}{more}", str(scenario))
    return outcome


def told_wrong(outcome: Outcome) -> Iterator[str]:
    """What the trace of a run lacks that every adapter owes, one sentence each."""
    returned: dict[str, int] = {}
    first: list[str] = []
    arrived: list[str] = []
    counts: dict[tuple[str, str], int] = {}
    due = {line.window: line for line in outcome.scenario.lines if line.window.kind == "in"}
    made = {line for line, was in zip(outcome.scenario.lines, outcome.made, strict=True) if was}
    for entry in outcome.trace:
        if isinstance(entry, Observation):
            if entry.kind in ("return", "opened"):
                returned[entry.name] = returned.get(entry.name, 0) + 1
            if entry.listener == FIRST:
                first.append(entry.name)
            elif entry.listener == LAST:
                if entry.name not in first:
                    yield (
                        f"{entry.name} was told to the last listener only; subscribe twice, before "
                        "all others and behind them"
                    )
                    return
                first.remove(entry.name)
            elif entry.kind == "gate":
                arrived.append(gate_of(entry))
            where = (entry.name, entry.listener)
            counts[where] = counts.get(where, 0) + 1
        elif isinstance(entry, Answer):
            label = f"tool {entry.names[0]}" if entry.gate == "tool" else entry.gate
            if label in arrived:
                arrived.remove(label)
        elif isinstance(entry, Rest):
            yield from not_open(arrived, entry)
    if first:
        yield f"{first[0]} was told to the first listener only; tell it to the last one too"
    calls = [entry.call for entry in outcome.trace if isinstance(entry, Made)]
    for call in calls:
        if not returned.get(call.name) and call.name != "crash":
            yield f"{call.name} was called and its `return` was not told"
    for window, line in due.items():
        if line not in made and counts.get((window.name, window.listener), 0) >= window.number:
            yield hook_sentence(line)


def gate_of(entry: Observation) -> str:
    """The label of a gate that arrived."""
    return f"tool {entry.get('call')}" if entry.name == "tool" else entry.name


def not_open(arrived: list[str], rest: Rest) -> Iterator[str]:
    """Gates that arrived and are listed nowhere, unless an abort has closed them."""
    listed = [label for label, _ in rest.gates]
    for label in listed:
        if label not in arrived:
            yield f"the gate {label} is listed as open, and its arrival was not told"
            arrived.append(label)
    arrived[:] = [label for label in arrived if label in listed]


def hook_sentence(line: Line) -> str:
    """A hook whose delivery came without its call."""
    return f"the hook `{line}` was given, its delivery came, and it was not `made`"


def try_twice(port: Port, tried: Tried, profile: str) -> None:
    """The same commands give the same trace: nothing is left of a session behind a reset."""
    scenario = parse_scenario(PROBES[BASIC][0])
    one = probe(port, tried, scenario, profile)
    two = probe(port, tried, scenario, profile)
    if one is not None and two is not None and one.trace != two.trace:
        tried.wrong("the same scenario gave another trace behind a reset; forget everything there")


def try_batch(port: Port, profile: str, declared: frozenset[str]) -> Tried:
    """A batch gives what its commands give one by one."""
    tried = Tried("batch")
    if "batch" not in declared:
        tried.verdict = "skipped"
        return tried
    scenario = parse_scenario(TWO)
    like = run_scenario(ModelSubject(PROFILES[profile]), scenario, profile=profile)
    one = probe(port, tried, scenario, profile)
    tried.runs += 1
    try:
        two = run_like(guarded(PortSubject(port)), like, profile, foreseen(like.trace))
    except ControlError as error:
        tried.wrong(str(error))
        return tried
    if one is not None and one.trace != two.trace:
        tried.wrong("a batch gave another trace than its commands one by one")
    return tried


def try_log(port: Port, declared: frozenset[str]) -> Tried:
    """A dumped log can be loaded, and opens with what was pending."""
    tried = Tried("log")
    if "log" not in declared:
        tried.verdict = "skipped"
        return tried
    tried.runs += 1
    call = Call("followup", (parse_scenario("followup A\n").lines[0].action.args[0],))  # type: ignore[union-attr]
    try:
        subject = PortSubject(port)
        subject.open(lambda _: None)
        subject.call(call)
        dumped = port.ask(wire.Dump(), wire.Dumped)
        if not dumped.log:
            tried.wrong("the dumped log is empty behind a followup")
            return tried
        report = port.ask(wire.Load(log=dumped.log), wire.Report)
        if not any(isinstance(entry, wire.Opened) for entry in report.trace):
            tried.wrong("`load` was answered without an `opened` entry")
    except PortError as error:
        tried.wrong(str(error))
    return tried
