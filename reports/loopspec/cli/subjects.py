"""Subjects and profiles by name, for the verbs that take one."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from loopspec.cli.exits import CouldNotRun

if TYPE_CHECKING:
    from loopspec.conformance.subjects.contract import SubjectFactory


def known_profile(name: str) -> str:
    """`name`, if it is a profile.

    Raises:
        CouldNotRun: there is no such profile.

    """
    from loopspec.model.policy import PROFILES

    if name not in PROFILES:
        sentence = f"expected a profile ({', '.join(PROFILES)}), got {name!r}"
        raise CouldNotRun(sentence)
    return name


def python_factory(
    mutant: str | None, profile: str, folder: Path | None = None
) -> "SubjectFactory":
    """A factory of the shipped loop, with one planted fault if `mutant` is given.

    The loop runs by the answers of `profile`, so that each reading is judged by itself. `folder`
    keeps the session logs. The faulty copy lives in memory; no file changes.

    Raises:
        CouldNotRun: there is no such mutant, or its edit no longer fits the loop.

    """
    from loopspec.conformance.subjects.python import PythonSubject

    if mutant is None:
        return lambda: PythonSubject(folder=folder, profile=profile)
    from loopspec.conformance.mutants import MutantError, load_mutants, mutated_impl

    known = [each.id for each in load_mutants()]
    if mutant not in known:
        near = difflib.get_close_matches(mutant, known, n=3, cutoff=0.4) or known[:3]
        sentence = f"expected one of {len(known)} mutants ({', '.join(near)}, …), got {mutant!r}"
        raise CouldNotRun(sentence, "docs/mutants.md lists them all")
    try:
        impl = mutated_impl(mutant)
    except MutantError as error:
        raise CouldNotRun(str(error)) from error

    def planted() -> PythonSubject:
        subject = PythonSubject(impl, folder=folder, profile=profile)
        subject.name = f"{PythonSubject.name}, mutant {mutant}"
        return subject

    return planted
