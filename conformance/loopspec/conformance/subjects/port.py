"""A subject that is another process: an adapter of any language behind the port protocol.

Theory. A port answers each command when it is quiescent, with everything that it has seen, so a
call is made, and settled, in one round trip; calls inside deliveries are hooks that it has got with
the reset. What it saw is told to the observer in order, as if it happened now. `expect` sends the
commands of a whole scenario in one line; the suite then goes on as ever, and takes each report from
what has come already. Where it asks for something else than was foreseen, the run is begun again
without (`Unforeseen`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from loopspec.conformance.control import ControlError
from loopspec.conformance.peers import PEERS
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports.child import Child, ChildLimits
from loopspec.conformance.ports.failures import PortError, Unforeseen
from loopspec.conformance.ports.wire import BadAnswer, FailedAnswer, decoded
from loopspec.conformance.ports.words import (
    answer_command,
    call_command,
    hook_of,
    lists_of,
    observed,
    text_of,
)
from loopspec.conformance.subjects.contract import CAPABILITIES, Lists
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import Line
from loopspec.model.session import HELD
from loopspec.model.words import Answer, Call, Observation

__all__ = ["Port", "PortSubject"]

T = TypeVar("T", bound=msgspec.Struct)

Watcher = Callable[[str, bytes], None]
"""Told each line that goes to the port (`>`) and comes from it (`<`)."""

REQUIRED: Final = ("assemble-gate", "first-listener")
"""What a subject in process may lack, and a port may not: the suite holds the assembly of every
prompt, and is told of every delivery twice, so that calls can be made before all others and behind
them. A loop with one callback tells it twice."""

BATCH_MAX: Final = 200


def unwatched(_direction: str, _line: bytes) -> None:
    """Watch no line."""


class Port:
    """One adapter process and the talk with it. Started by the first thing that is asked of it."""

    def __init__(
        self,
        argv: Sequence[str],
        profile: str = "notes",
        limits: ChildLimits | None = None,
        environment: Mapping[str, str] | None = None,
        watch: Watcher = unwatched,
        isolate: bool = False,
    ) -> None:
        """Nothing is started yet; `profile` is told to the port at hello.

        With `isolate` each process gets walls that the system builds, or is not started.
        """
        self.argv = list(argv)
        self.profile = profile
        self.limits = limits or ChildLimits()
        self.environment = dict(environment or {})
        self.watch = watch
        self.isolate = isolate
        self.starts = 0
        self.commands = 0
        self.busy = 0.0
        """Seconds in which the judge waited for the port."""
        self.complaints: dict[str, int] = {}
        """What was wrong with ends that were asked for, and how often: no verdict, but worth
        telling."""
        self.late: list[str] = []
        """The sentences of time limits that struck, with what came when it was tried again."""
        self._child: Child | None = None
        self._welcome: wire.Welcome | None = None
        self._seq = 0

    @property
    def welcome(self) -> wire.Welcome:
        """What the port said of itself; starts it when it does not run."""
        if self._welcome is None or self._child is None:
            self.start()
        assert self._welcome is not None
        return self._welcome

    @property
    def alive(self) -> bool:
        """Whether a process runs that has not failed."""
        return self._child is not None

    @property
    def last_words(self) -> str:
        """What the process has written to its standard error lately."""
        return "" if self._child is None else self._child.errors

    def start(self) -> None:
        """Start the process and greet it. Raises PortError."""
        self.stop()
        self.starts += 1
        self._child = Child(self.argv, self.limits, self.environment, self.isolate)
        self._seq = 0
        self._welcome = None
        hello = wire.Hello(protocol=wire.PROTOCOL, contract=wire.CONTRACT, profile=self.profile)
        said = self._ask(hello, wire.Welcome, self.limits.start)
        try:
            needs_known(said)
        except PortError:
            self.stop()
            raise
        self._welcome = said

    def ask(self, command: wire.Command, answer: type[T]) -> T:
        """One command and its answer. Raises PortError; the process is ended by then."""
        limit = self.welcome.limits.answer or self.limits.answer
        self.commands += len(command.commands) if isinstance(command, wire.Batch) else 1
        if isinstance(command, wire.Batch):
            limit += 0.05 * len(command.commands)
        return self._ask(command, answer, limit)

    def _ask(self, command: wire.Command, answer: type[T], seconds: float) -> T:
        child = self._child
        assert child is not None
        self._seq += 1
        command = msgspec.structs.replace(command, seq=self._seq)
        line = text_of(command)
        self.watch(">", line)
        what = str(command.__struct_config__.tag)
        began = time.perf_counter()
        try:
            child.send(line, seconds, f"`{what}`")
            text = child.receive(seconds, f"`{what}`")
            self.watch("<", text)
            summed = self._welcome is not None and self._welcome.sum
            given = decoded(text, answer, self._seq, summed)
        except FailedAnswer as error:
            # The adapter has kept to the protocol, and may be asked for the next thing.
            raise PortError(f"the adapter could not do `{what}`: {error}") from error
        except BadAnswer as error:
            self.kill()
            raise PortError(f"the adapter's answer to `{what}`: {error}") from error
        except BaseException:
            # Whatever it was, an answer is owed that must not be taken for the next one.
            self.kill()
            raise
        finally:
            self.busy += time.perf_counter() - began
        return given

    def stop(self) -> int:
        """Say bye and end the process; how many other processes it had left behind."""
        child, welcome = self._child, self._welcome
        if child is None:
            return 0
        parted = False
        try:
            if welcome is not None:
                self._ask(wire.Bye(), wire.Parted, welcome.limits.end or self.limits.end)
                parted = True
        except PortError as error:
            self._complain([f"at bye, {error}"])
        finally:
            self._child = self._welcome = None
            left = child.end()
        if parted:
            self._complain(child.complaints())
        return left

    def _complain(self, sentences: list[str]) -> None:
        for each in sentences:
            self.complaints[each] = self.complaints.get(each, 0) + 1

    def kill(self) -> None:
        """End the process at once."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()


def needs_known(said: wire.Welcome) -> None:
    """Refuse a port that speaks another protocol, or declares what nobody knows."""
    if said.protocol != wire.PROTOCOL:
        raise PortError(f"expected protocol {wire.PROTOCOL}, got {said.protocol}")
    profiles = (*PROFILES, *PEERS)
    if said.profile not in profiles:
        raise PortError(f"expected a profile ({', '.join(profiles)}), got {said.profile!r}")
    unknown = [each for each in said.capabilities if each not in wire.PORT_CAPABILITIES]
    if unknown:
        known = ", ".join(wire.PORT_CAPABILITIES)
        raise PortError(f"expected capabilities among {known}, got {unknown[0]!r}")
    for name in REQUIRED:
        # Of a peer nobody asks that it holds what it does not have.
        if name not in said.capabilities and said.profile not in PEERS:
            raise PortError(f"expected the capability {name}, which every port needs")
    if not 1 <= said.contract <= wire.CONTRACT:
        raise PortError(
            f"expected a revision of the contract from 1 to {wire.CONTRACT}, got {said.contract}"
        )


class PortSubject:
    """A session of a port; the process is kept from one session to the next."""

    def __init__(self, port: Port) -> None:
        """Drive `port`, which may be shared by subjects that take turns."""
        self.port = port
        self._observer: Callable[[Observation], None] = ignore
        self._held: frozenset[str] = HELD
        self._hooks: list[wire.Hook] = []
        self._waiting: dict[int, Callable[[], None]] = {}
        self._last: wire.Report | None = None
        self._expected: deque[tuple[wire.Command, wire.Report]] = deque()
        self._foreseen: list[wire.Command] = []
        self._is_foreseen = False
        self.has_folded = False
        """Whether a report has had a fold of the durable log."""

    @property
    def name(self) -> str:
        """The name that the port gives itself."""
        return self.port.welcome.name

    @property
    def version(self) -> str:
        """The version, with the language."""
        return f"{self.port.welcome.version} ({self.port.welcome.language})"

    @property
    def contract(self) -> int:
        """The revision of the contract that the port pins."""
        return self.port.welcome.contract

    @property
    def capabilities(self) -> frozenset[str]:
        """What the port declares, without what only lines can tell."""
        return frozenset(self.port.welcome.capabilities) & set(CAPABILITIES)

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """Begin a fresh session; the reset is sent with the first thing that is asked."""
        self._observer, self._held = observer, held
        self._hooks, self._waiting = [], {}
        self._last = None
        self._expected.clear()
        self._foreseen, self._is_foreseen = [], False

    def arm(self, line: Line, made: Callable[[], None]) -> None:
        """Give the port a call that waits for its window; `made` is told when it is made."""
        number = len(self._hooks)
        self._hooks.append(hook_of(number, line))
        self._waiting[number] = made

    def expect(self, actions: Sequence[Call | Answer]) -> None:
        """Say what the suite is about to ask at rest, so that it can be sent in one line."""
        if "batch" in self.port.welcome.capabilities:
            self._foreseen = [command_of(each) for each in actions][:BATCH_MAX]
            self._is_foreseen = bool(self._foreseen)

    def call(self, call: Call) -> None:
        """Make the call and settle; all that was seen is told before this returns."""
        self._do(call_command(call))

    def answer(self, answer: Answer) -> bool:
        """Answer a gate and settle."""
        return self._do(answer_command(answer)).open

    def settle(self) -> None:
        """A port is always settled when it has answered."""
        self._report()

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """A port makes calls between its ticks by hooks alone."""
        msg = "a port is given the calls of a window with the reset"
        raise ControlError(msg)

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gates."""
        return tuple(
            [
                (f"{each.gate} {each.call}" if each.call else each.gate, each.aborted)
                for each in self._report().gates
            ]
        )

    def lists(self) -> Lists:
        """Both lists."""
        return lists_of(self._report())

    def status(self) -> str:
        """The status."""
        return self._report().status

    def folded(self) -> Lists | None:
        """The fold of the durable log, where the port gives one."""
        folded = self._report().folded
        return None if folded is None else lists_of(folded)

    def close(self) -> None:
        """The session ends with the next reset; the process stays."""
        self._observer = ignore
        self._last = None
        self._expected.clear()

    def _report(self) -> wire.Report:
        """The report of the last command; the reset is sent when there was none."""
        if self._last is None:
            self._reset()
        assert self._last is not None
        return self._last

    def _reset(self) -> None:
        reset = wire.Reset(held=tuple(sorted(self._held)), hooks=tuple(self._hooks))
        if self._is_foreseen:
            commands: tuple[Any, ...] = (reset, *self._foreseen)
            given = self.port.ask(wire.Batch(commands=commands), wire.Reports).answers
            if len(given) != len(commands):
                self.port.kill()
                raise PortError(
                    f"the adapter's answer to `batch`: expected {len(commands)} reports, "
                    f"got {len(given)}"
                )
            self._expected.extend(zip(self._foreseen, given[1:], strict=True))
            self._take(given[0])
        else:
            self._take(self.port.ask(reset, wire.Report))

    def _do(self, command: wire.Command) -> wire.Report:
        self._report()
        if self._is_foreseen:
            if not self._expected or self._expected[0][0] != command:
                raise Unforeseen("the run went otherwise than was foreseen")
            return self._take(self._expected.popleft()[1])
        return self._take(self.port.ask(command, wire.Report))

    def _take(self, report: wire.Report) -> wire.Report:
        """Tell what a report has seen, in order."""
        self._last = report
        self.has_folded = self.has_folded or report.folded is not None
        for entry in report.trace:
            if isinstance(entry, wire.MadeHook):
                self._tell_made(entry.hook)
            else:
                self._observer(observed(entry))
        return report

    def _tell_made(self, hook: int) -> None:
        made = self._waiting.pop(hook, None)
        if made is None:
            self.port.kill()
            raise PortError(f"the adapter made the call of hook {hook}, which did not wait")
        made()


def command_of(action: Call | Answer) -> wire.Command:
    """The command of something that is done at rest."""
    return call_command(action) if isinstance(action, Call) else answer_command(action)


def ignore(_: Observation) -> None:
    """Watch nothing."""
