"""What a finding says to a person: the promise, why, what happened instead, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from loopspec.conformance.judge import TRACE, Finding
from loopspec.conformance.reduce import Reduced
from loopspec.model.scenario import Scenario

__all__ = ["explain", "seen_by", "shown", "witness_line"]


def witness_line(scenario: Scenario) -> str:
    """A scenario on one line."""
    return "; ".join(str(line) for line in scenario.lines)


def seen_by(finding: Finding) -> str:
    """Who has seen it: a property, trace inclusion, or both; and what its rules are the rules of.

    Inclusion names the rules of the rows that the specification would have taken at this place.
    """
    if finding.code == TRACE:
        rules = "; the rules are those of what is allowed there" if finding.rules else ""
        return f"trace inclusion alone{rules}"
    if finding.allowed:
        return f"{finding.code} and trace inclusion; first the rules of what is allowed there"
    return f"{finding.code} by itself; subject and model had parted before"


def explain(
    reduced: Reduced, subject: str, seed: int | None, length: int, replay: str, known: str = ""
) -> str:
    """The text of one finding, as terminals and failing tests show it.

    `length` is the number of actions of the run that was reduced; `known` the registered
    difference that explains it.
    """
    finding = reduced.finding
    actions = len(reduced.scenario)
    shrunk = f", shrunk from {length}" if length > actions else ""
    how = {"exhaustive": "no shorter one exists", "1-minimal": "1-minimal", "no": "not reduced"}
    lines = [f"{finding.code} broken: {finding.sentence}"]
    lines += field("subject", [subject + ("" if seed is None else f"          seed {seed}")])
    if known:
        lines += field("known as", [known])
    others = [each.code for each in reduced.outcome.findings if each.code != finding.code]
    if others:
        lines += field("also", [" ".join(dict.fromkeys(others))])
    lines += field("rules", [" ".join(finding.rules) or "-"])
    lines += field("seen by", [seen_by(finding)])
    lines += field("did", [finding.did])
    if finding.allowed:
        lines += field("allowed", list(dict.fromkeys(finding.allowed)))
    size = f"{actions} action{'s' if actions != 1 else ''}"
    lines += field("witness", [f"{size}{shrunk}; {how[reduced.minimal]}"])
    lines += [f"              {line}" for line in str(reduced.scenario).splitlines()]
    because = list(finding.because)
    lines += field("because", [*because, f"However, {finding.however}: a contradiction."])
    lines += field("replay", [replay])
    return "\n".join(map(shown, lines))


def shown(text: str, limit: int = 1000) -> str:
    """One line in which a subject's text cannot act on a terminal, and not longer than is read."""
    cut = len(text) - limit
    text = text[:limit]
    if not text.isprintable():
        text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return f"{text}… ({cut} more)" if cut > 0 else text


def field(name: str, values: Sequence[str]) -> list[str]:
    """A named field; further values stand below the first."""
    head, *rest = values or ["-"]
    return [f"  {name:<10}{head}", *(f"            {value}" for value in rest)]
