"""Subjects and profiles by name, for the verbs that take one."""

import contextlib
import difflib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopspec.cli.exits import CouldNotRun

if TYPE_CHECKING:
    from loopspec.conformance.subjects.contract import SubjectFactory
    from loopspec.conformance.subjects.port import Port, Watcher


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


def profile_in_process(name: str) -> str:
    """The profile by which the shipped loop is judged when `name` is asked for.

    The shipped loop awaits its gates alone, so that of a release it is asked nothing else.
    """
    from loopspec.model.policy import PROFILES

    gates = f"{name}-gates"
    return gates if gates in PROFILES else name


def needs_one_command(adapter: str) -> None:
    """Refuse words behind the adapter's command: it is one argument.

    Raises:
        CouldNotRun: the verb that runs now got more.

    """
    context = click.get_current_context()
    if context.args:
        whole = shlex.join([adapter, *context.args])
        raise CouldNotRun(
            f"expected the adapter's command as one argument, got {1 + len(context.args)}",
            f'quote the command: {context.command_path} "{whole}"',
        )


def port_of(
    adapter: str,
    profile: str,
    passed: Sequence[str] = (),
    watch: "Watcher | None" = None,
    isolate: bool = False,
) -> "Port":
    """The port behind a command line; nothing is started yet.

    The line is split as a shell would split it, and run without one; `passed` names variables of
    the environment that it may see.

    Raises:
        CouldNotRun: the line cannot be split, or is empty.

    """
    from loopspec.conformance.ports.child import resolved
    from loopspec.conformance.subjects.port import Port, unwatched

    try:
        argv = shlex.split(adapter)
    except ValueError as error:
        sentence = f"expected a command line as the adapter, got {adapter!r} ({error})"
        raise CouldNotRun(sentence) from error
    if not argv:
        raise CouldNotRun("expected a command line as the adapter, got nothing")
    environment = {name: os.environ[name] for name in passed if name in os.environ}
    return Port(
        resolved(argv),
        profile,
        environment=environment,
        watch=watch or unwatched,
        isolate=isolate,
    )


@contextlib.contextmanager
def adapter_port(
    adapter: str,
    profile: str,
    passed: Sequence[str] = (),
    watch: "Watcher | None" = None,
    isolate: bool = False,
) -> "Iterator[Port]":
    """The same, ended with everything below it when the verb ends.

    Raises:
        CouldNotRun: the line cannot be split, or is empty.

    """
    port = port_of(adapter, profile, passed, watch, isolate)
    try:
        yield port
    finally:
        port.stop()


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
