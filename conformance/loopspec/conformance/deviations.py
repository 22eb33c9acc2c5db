"""Registered differences: which known answers of a subject explain what it did.

Theory. A loop that answers an open question otherwise parts from the specification again and again,
and each parting hides what lies behind it. So a finding is first judged by the other answers that
are registered: the one that carries the trace furthest is taken, and again, until nothing is left
to explain or no answer helps. Only a trace that is explained to its end counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations
from typing import Final

import attrs

from loopspec.conformance.drive import Outcome
from loopspec.conformance.judge import Finding, Judge
from loopspec.model.deviations import CHOICES, DEVIATIONS
from loopspec.model.policy import Policy
from loopspec.model.profiles import shown_as, switched

__all__ = ["Known", "explain_outcome", "first_finding"]


@attrs.frozen
class Known:
    """A field of the policy in which a subject answers otherwise, with the registered ids."""

    field: str
    value: object
    ids: tuple[str, ...]

    def on(self, policy: Policy) -> Policy:
        """The policy with this answer."""
        return switched(self.field, self.value, policy)

    def __str__(self) -> str:
        """The ids, and the answer as it is typed."""
        return f"{' '.join(self.ids)}: {self.field} = {shown_as(self.value)}"


TOGETHER_MAX: Final = 2
"""How many answers are tried together where none helps alone."""


def explain_outcome(outcome: Outcome, reading: Policy) -> tuple[tuple[Known, Finding], ...]:
    """The differences that explain an outcome to its end, each with what was found before it.

    Empty when no set of registered answers does. Answers that help only together are two.
    """
    explained: list[tuple[Known, Finding]] = []
    finding = first_finding(outcome, reading)
    while finding is not None:
        size = 0
        behind: Finding | None = finding
        while reach(outcome, behind) <= finding.position:
            size += 1
            if size > TOGETHER_MAX:
                return ()
            known, following, behind = max(
                candidates(outcome, reading, size), key=lambda each: reach(outcome, each[2])
            )
        explained += [(each, finding) for each in known]
        reading, finding = following, behind
    return tuple(explained)


def candidates(
    outcome: Outcome, reading: Policy, size: int
) -> Iterator[tuple[tuple[Known, ...], Policy, Finding | None]]:
    """Each set of other registered answers of a size, with the first finding that it leaves."""
    others = [
        Known(field, value, ids)
        for field, ids in DEVIATIONS.items()
        for value in CHOICES[field]
        if value != getattr(reading, field)
    ]
    for known in combinations(others, size):
        following = reduce(lambda policy, each: each.on(policy), known, reading)
        yield known, following, first_finding(outcome, following)


def reach(outcome: Outcome, finding: Finding | None) -> int:
    """How far a trace goes before a finding."""
    return len(outcome.trace) if finding is None else finding.position


def first_finding(outcome: Outcome, reading: Policy) -> Finding | None:
    """The first finding of a trace that is judged by a policy."""
    judge = Judge(reading, held=outcome.scenario.held)
    for entry in outcome.trace:
        judge.see(entry)
        if judge.findings:
            return judge.findings[0]
    return None
