"""Many scenarios on a port, in one process or in several, in an order that does not depend on it.

Theory. A port is a process, so several of them can play at once, each with a judge of its own
beside it. Work comes in *waves* of tasks that are judged by one reading; what a wave has given is
seen in the order of its tasks, whoever has done them. So a run depends on its seed alone, and the
same seed gives the same run with any number of jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.util import Finalize
from typing import Final, Protocol, TypeAlias

import attrs

from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.machine import run_campaign
from loopspec.conformance.ports.failures import PortError
from loopspec.conformance.ports.running import play_again
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.policy import Policy
from loopspec.model.scenario import Scenario

__all__ = ["Alone", "Crew", "Planned", "Played", "Pool", "Round", "Task"]

WAVE: Final = 8
"""Tasks that are judged by one reading."""

FAILURES_MAX: Final = 10
"""Scenarios of a task at which the process may fail before the rest of it is left out."""


@attrs.frozen
class Planned:
    """A scenario with its name."""

    name: str
    scenario: Scenario


@attrs.frozen
class Round:
    """Random scenarios: a seed, how many, of how many rules, for what a subject can do."""

    seed: int
    size: int
    steps: int
    capabilities: frozenset[str]


@attrs.frozen
class Played:
    """What came of one scenario: an outcome, or why its process failed.

    `late` are the sentences of time limits that struck; `seconds` is what it took on the subject.
    """

    name: str
    outcome: Outcome | None
    seconds: float
    fault: str = ""
    late: tuple[str, ...] = ()


Task: TypeAlias = tuple[Planned, ...] | Round


class Crew(Protocol):
    """Whoever plays scenarios on a port."""

    def play(self, tasks: Sequence[Task], reading: Policy) -> Iterator[list[Played]]:
        """Play tasks by one reading; what each has given, in their order."""


def play_task(make: SubjectFactory, task: Task, reading: Policy) -> list[Played]:
    """Play one task: the specification first, then the subject."""
    if isinstance(task, Round):
        likes = play_round(task, reading)
    else:
        likes = [
            (each.name, run_scenario(ModelSubject(reading), each.scenario, profile=reading))
            for each in task
        ]
    played: list[Played] = []
    failures = 0
    for name, like in likes:
        if failures >= FAILURES_MAX:
            break
        played.append(play_one(make, name, like, reading))
        failures += bool(played[-1].fault)
    return played


def play_round(task: Round, reading: Policy) -> list[tuple[str, Outcome]]:
    """The random scenarios of a round as the specification plays them."""
    made: list[tuple[str, Outcome]] = []

    def keep(outcome: Outcome) -> None:
        made.append((f"random/{task.seed}/{len(made) + 1}", outcome))

    run_campaign(
        lambda: ModelSubject(reading, capabilities=task.capabilities),
        reading,
        task.size,
        task.steps,
        task.seed,
        keep=keep,
    )
    return made[: task.size]  # Hypothesis tries a few more than were planned


def play_one(make: SubjectFactory, name: str, like: Outcome, reading: Policy) -> Played:
    """One scenario on the subject; a process that failed is one sentence."""
    late: list[str] = []
    outcome, fault = None, ""
    began = time.perf_counter()
    try:
        outcome = play_again(make, like, reading, late.append)
    except PortError as error:
        fault = f"{name}: {error}"
    return Played(name, outcome, time.perf_counter() - began, fault, tuple(late))


class Alone:
    """The calling process plays, on the port that it has."""

    def __init__(self, make: SubjectFactory) -> None:
        """Play on subjects of a factory."""
        self.make = make

    def play(self, tasks: Sequence[Task], reading: Policy) -> Iterator[list[Played]]:
        """One task after the other."""
        for task in tasks:
            yield play_task(self.make, task, reading)


_port: Port | None = None
"""The port of a worker."""


def _begin(make: Callable[[], Port]) -> None:
    global _port
    _port = make()
    Finalize(None, _port.stop, exitpriority=10)


def _work(task: Task, reading: Policy) -> list[Played]:
    port = _port
    assert port is not None
    return play_task(lambda: PortSubject(port), task, reading)


class Pool:
    """Several processes play, each on a port of its own, which ends with it."""

    def __init__(self, make: Callable[[], Port], jobs: int) -> None:
        """`make` makes the port of each of the `jobs` processes; it is a module's function."""
        context = get_context("spawn")
        self._pool = ProcessPoolExecutor(jobs, context, _begin, (make,))

    def play(self, tasks: Sequence[Task], reading: Policy) -> Iterator[list[Played]]:
        """All tasks at once; what they give comes in their order."""
        pending: list[Future[list[Played]]] = [
            self._pool.submit(_work, task, reading) for task in tasks
        ]
        try:
            for each in pending:
                yield each.result()
        except (OSError, RuntimeError) as error:
            msg = f"a process of the judge has ended: {error}"
            raise ControlError(msg) from error
        finally:
            for each in pending:
                each.cancel()

    def close(self) -> None:
        """End the processes, and their ports with them."""
        self._pool.shutdown(wait=True, cancel_futures=True)
