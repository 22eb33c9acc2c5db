"""What a finding says to a person: the promise, why, what happened instead, and how to see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from loopspec.conformance.judge import TRACE, Finding
from loopspec.conformance.reduce import Reduced
from loopspec.conformance.visible import clean
from loopspec.model.scenario import Scenario

__all__ = [
    "NOT_ASKED",
    "SCENARIO",
    "Told",
    "explain",
    "finding_fields",
    "labelled",
    "seen_by",
    "witness_line",
]


def witness_line(scenario: Scenario) -> str:
    """A scenario on one line."""
    return "; ".join(str(line) for line in scenario.lines)


def seen_by(finding: Finding) -> str:
    """Who has seen it: a property, trace inclusion, or both; and what its rules are the rules of.

    Inclusion names the rules of the rows that the specification would have taken at this place.
    """
    if not finding.asked_model:
        return f"{finding.code}, a claim of its documents; no model was asked"
    if finding.code == TRACE:
        rules = "; the rules are those of what is allowed there" if finding.rules else ""
        return f"trace inclusion alone{rules}"
    if finding.allowed:
        return f"{finding.code} and trace inclusion; first the rules of what is allowed there"
    return f"{finding.code} by itself; subject and model had parted before"


MINIMAL: Final = {
    "exhaustive": "no shorter scenario shows it",
    "1-minimal": "no line of it can be left out",
    "no": "not reduced",
}
"""What is known of the length of a witness."""

NOT_ASKED: Final = "not known: subject and model had parted before"

READ_MAX: Final = 1000
"""Longest line that a person reads of a finding, in characters."""

SCENARIO: Final = "scenario"
"""The label of the witness itself, which is shown as it is pasted."""


@attrs.frozen
class Told:
    """A finding as plain values: what a run folder keeps of it, and what every text is made of."""

    code: str
    sentence: str
    subject: str
    seed: int | None
    profile: str
    title: str
    known: str
    codes: tuple[str, ...]
    seen_by: str
    rules: tuple[str, ...]
    scenario: str
    length: int
    shrunk_from: int
    minimal: str
    because: tuple[str, ...]
    however: str
    did: str
    allowed: tuple[str, ...]
    replay: str


def finding_fields(told: Told) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Everything that a finding says behind its head, as labels with their lines, in order.

    Terminal, page, JUnit and failing tests show these lines; none of them has words of its own.
    """
    seed = "" if told.seed is None else f"   seed {told.seed}"
    also = tuple(dict.fromkeys(code for code in told.codes if code != told.code))
    shrunk = f", shrunk from {told.shrunk_from}" if told.shrunk_from > told.length else ""
    size = f"{told.length} action{'s' * (told.length != 1)}{shrunk}; {MINIMAL[told.minimal]}"
    however = (f"However, {told.however}: a contradiction.",) if told.however else ()
    fields = (
        ("subject", (f"{told.subject}{seed}   profile {told.profile}",)),
        ("breach", (told.title,) if told.title not in ("", told.however) else ()),
        ("known as", (told.known,) if told.known else ()),
        ("also", (" ".join(also),) if also else ()),
        ("seen by", (told.seen_by,) if told.seen_by else ()),
        ("rules", (" ".join(told.rules),) if told.rules else ()),
        ("witness", (size,)),
        (SCENARIO, tuple(told.scenario.splitlines())),
        ("because", (*told.because, *however)),
        ("did", (told.did,) if told.did else ()),
        ("allowed", (", or ".join(dict.fromkeys(told.allowed)) or NOT_ASKED,)),
        ("replay", (told.replay,) if told.replay else ()),
    )
    return tuple((label, values) for label, values in fields if values)


def labelled(label: str, values: Sequence[str]) -> Iterator[str]:
    """The lines of one field below its head: the label stands before the first of them.

    A scenario line can be pasted as it stands; no line begins like a command of a CI runner.
    """
    for position, value in enumerate(values):
        head = "" if position or label == SCENARIO else label
        if not head and value.lstrip().startswith("::"):
            value = f"| {value}"
        yield f"  {head:<10}{value}"


def explain(
    reduced: Reduced,
    subject: str,
    seed: int | None,
    length: int,
    replay: str,
    known: str = "",
    profile: str = "notes",
) -> str:
    """The text of one finding, as failing tests show it.

    `length` is the number of actions of the run that was reduced; `known` the registered
    difference that explains it.
    """
    finding = reduced.finding
    told = Told(
        code=finding.code,
        sentence=finding.sentence,
        subject=subject,
        seed=seed,
        profile=profile,
        title="",
        known=known,
        codes=tuple(each.code for each in reduced.outcome.findings),
        seen_by=seen_by(finding),
        rules=finding.rules,
        scenario=str(reduced.scenario),
        length=len(reduced.scenario),
        shrunk_from=length,
        minimal=reduced.minimal,
        because=finding.because,
        however=finding.however,
        did=finding.did,
        allowed=finding.allowed,
        replay=replay,
    )
    lines = [f"{told.code} broken: {told.sentence}"]
    for label, values in finding_fields(told):
        lines += labelled(label, values)
    return "\n".join(clean(line, READ_MAX) for line in lines)
