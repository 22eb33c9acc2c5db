"""One scenario on a port: what is tried again, and what never is.

A process that failed has been ended by then, and the next scenario begins with a fresh one. A time
limit may strike because the machine was busy, so what was late is tried once more: alone, that is
on a fresh process, with nothing sent ahead. Whatever comes of it is marked. Nothing else is tried
again, least of all a finding.
"""

from __future__ import annotations

from collections.abc import Callable

from loopspec.conformance.drive import (
    Outcome,
    Reading,
    foreseen,
    policy_of,
    run_like,
    run_scenario,
)
from loopspec.conformance.ports.failures import PortError, PortLate, Unforeseen
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.subjects.guarded import guarded
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.scenario import Scenario

__all__ = ["play_again", "play_once", "run_on_port"]


def run_on_port(port: Port, scenario: Scenario, profile: Reading | None = None) -> Outcome:
    """Run one scenario on a fresh session of a port and judge its trace; marks go to `port.late`.

    What will be asked at rest if all goes as it should is sent in one line to a port that declares
    `batch`. Raises PortError when the adapter failed, and PortLate when it was late twice.
    """
    reading = profile or scenario.profile
    like = run_scenario(ModelSubject(policy_of(reading)), scenario, profile=reading)
    return play_again(lambda: PortSubject(port), like, reading, port.late.append)


def play_again(
    make: SubjectFactory,
    like: Outcome,
    reading: Reading,
    mark: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """The same for subjects from a factory, whose process was ended if it failed.

    `like` is what the specification made of the scenario. `mark` is told the sentence of a time
    limit that struck, with what came when it was tried again. Raises PortError.
    """
    try:
        return play_once(make, like, reading)
    except PortLate as error:
        first = str(error)
    came = "it answered"
    try:
        return run_like(guarded(make()), like, reading)
    except PortLate as error:
        came = "late again"
        msg = f"{error}; tried twice, the second time alone"
        raise PortLate(msg) from error
    except PortError as error:
        came = str(error)
        raise
    finally:
        mark(f"{first}; tried once more, alone: {came}")


def play_once(make: SubjectFactory, like: Outcome, reading: Reading) -> Outcome:
    """The same without a second try. What goes otherwise than was sent ahead is asked one by one.

    Raises PortError.
    """
    try:
        return run_like(guarded(make()), like, reading, foreseen(like.trace))
    except Unforeseen:
        return run_like(guarded(make()), like, reading)
