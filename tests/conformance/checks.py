"""Whole checks, made once for all tests that look at their results.

The search for a cover is most of a small check, and is the same for every subject.
"""

from collections.abc import Callable
from functools import cache
from unittest import mock

from loopspec.conformance import suite
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.mutants import mutated_impl
from loopspec.conformance.recorder import Recorder
from loopspec.conformance.reduce import Reduced, reduce_scenario
from loopspec.conformance.subjects.contract import Subject, SubjectFactory
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.conformance.suite import Result, check_subject
from loopspec.model.cover import Cover, cover_rows
from loopspec.model.scenario import parse_scenario
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES

REJECT = "profile notes\nfollowup A\npre-step: reject\n"


@cache
def cover_of(profile: str, scopes: tuple[Scope, ...] = DEFAULT_SCOPES) -> Cover:
    """The cover of a profile, searched for once for each set of scopes."""
    return cover_rows(scopes, profile)


def checked(
    factory: SubjectFactory,
    examples: int = 0,
    seed: int = 1,
    say: Callable[[str, int, int], None] = suite.quiet,
    record: Recorder | None = None,
) -> Result:
    """Check a subject, with the cover searched for once for all."""

    def cover(scopes: list[Scope], profile: str) -> Cover:
        return cover_of(profile, tuple(scopes))

    with mock.patch.object(suite, "cover_rows", cover):
        return check_subject(factory, seed=seed, examples=examples, say=say, record=record)


@cache
def checked_loop(examples: int = 25) -> Result:
    """A check of the shipped loop."""
    return checked(PythonSubject, examples)


@cache
def planted(mutant: str) -> Callable[[], PythonSubject]:
    """A factory of the loop with one fault."""
    impl = mutated_impl(mutant)
    return lambda: PythonSubject(impl)


@cache
def checked_mutant(mutant: str, examples: int = 0) -> Result:
    """A check of the loop with one fault."""
    return checked(planted(mutant), examples)


def run(text: str, subject: Subject | None = None) -> Outcome:
    """One scenario, by default on the shipped loop."""
    return run_scenario(subject or PythonSubject(), parse_scenario(text))


def reduced(mutant: str, text: str) -> Reduced:
    """The first finding of a scenario on a loop with one fault, reduced."""
    outcome = run(text, planted(mutant)())
    return reduce_scenario(planted(mutant), outcome, outcome.findings[0])
