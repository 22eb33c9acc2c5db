"""Our own loop as a subject: in process, on the controlled loop, over a real SQLite session log.

This is the only module of the judge that knows the implementation. It takes every name from one
namespace (`PythonSubject(impl=...)`), so that a mutated copy of the whole part is driven the same
way; nothing here comes from the shipped part when a copy is given.

Four rules:

1. Each gate is a bare future. Answering it resumes the driver one tick later, nothing sooner.
2. What the implementation hands to us (records, payloads, return values) is only translated into
   the words of the trace. A value that cannot be translated becomes an observation that no session
   makes, so that a damaged record is a finding and not a crash of the adapter.
3. A crash unwinds the loop's own stack (`Died`), never the suite's: the suite goes on at rest, with
   a session that is opened from what is durable by then. What the dead one still does is not told.
4. An exception of the observer is the suite's own. The bus contains what listeners raise, so it is
   kept, and raised again when the outermost call of the suite returns.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.metadata
import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, TypeAlias

import attrs

from loopspec.conformance.control import (
    ControlError,
    ControlledLoop,
    Failure,
    LostFailure,
    Spinning,
    controlled_loop,
)
from loopspec.conformance.subjects.contract import CAPABILITIES, Lists
from loopspec.model.policy import NOTES, PROFILES, Policy
from loopspec.model.session import HELD
from loopspec.model.words import (
    ERROR_TEXTS,
    EVENTS,
    FIRST,
    KEYS,
    LAST,
    NEXT_STEP,
    NEXT_TURN,
    Answer,
    Block,
    Call,
    Message,
    Observation,
    Value,
    observation,
)

__all__ = ["PythonSubject", "fold_records"]

_PREFIX: Final = "loopspec-logs-"
"""Of the folders for logs that nobody keeps; the number of the owning process follows."""

REPAIRED: Final = {"TOOL_NOT_STARTED": "not-started", "TOOL_OUTCOME_UNKNOWN": "outcome-unknown"}
"""The codes of results that a repair makes, in the words of the trace."""

_NUMBERS: Final = itertools.count(1)
"""Names log files; never read, so nothing depends on how many subjects a process has had."""


@attrs.define(eq=False)
class _Gate:
    """An await point that the suite holds: its kind, the turn's signal, and what it waits for."""

    kind: str
    signal: Any
    answer: asyncio.Future[Answer]
    call: str = ""

    @property
    def name(self) -> str:
        """The name of the open gate; a tool's tells its call."""
        return f"{self.kind} {self.call}" if self.call else self.kind

    def takes(self, answer: Answer) -> bool:
        """Whether the answer is for this gate: of its kind and, when it names a call, of that."""
        return self.kind == answer.gate and (
            not self.call or self.call in (answer.names or (self.call,))
        )


_Next: TypeAlias = tuple[str, Callable[[], Any], list[tuple[int, Callable[[], None]]]]
"""By which call, how its log is opened, and the calls that the suite makes some ticks later."""


class Died(BaseException):
    """The process has died: no code of the loop goes on, not even to contain this."""


async def _passed_later(_: object, inner: Callable[[], Awaitable[Any]] | None = None) -> Any:  # noqa: ANN401
    """Take one tick and have no opinion: the listener of a seam that nobody holds."""
    await asyncio.sleep(0)
    return None if inner is None else await inner()


def answers_of(profile: str, impl: Any) -> Any:  # noqa: ANN401  (of the namespace `impl`)
    """The policy of `impl` that differs from its default as the profile differs from `notes`.

    The default itself is left alone: it is under test. A field that `impl` does not know stays out,
    since the specification may be asked more than the loop is. Raises KeyError for a name that is
    no profile.
    """
    wanted = PROFILES[profile]
    names = {each.name for each in attrs.fields(impl.Policy)}
    differences = {
        each.name: getattr(wanted, each.name)
        for each in attrs.fields(Policy)
        if each.name in names and getattr(wanted, each.name) != getattr(NOTES, each.name)
    }
    return impl.Policy(**differences)


class PythonSubject:
    """The implementation under test, one session at a time."""

    name = "python"
    capabilities = frozenset(CAPABILITIES)

    def __init__(
        self,
        impl: ModuleType | SimpleNamespace | None = None,
        *,
        folder: Path | None = None,
        debug: bool = False,
        profile: str = "notes",
    ) -> None:
        """The implementation is run by the answers of `profile`.

        Where these say that a seam nobody holds takes a tick, it has a listener that does, as hosts
        have it that await every seam.

        `folder` keeps the session logs; without it they live in a temporary folder, on a memory
        file system where there is one: it is the same SQLite code with the same settings, and a
        session costs no wait for a disk.
        """
        if impl is None:
            from loopspec import impl as shipped

            impl = shipped
        self.version = _version()
        self.log_path: Path | None = None
        self.closing_failures: tuple[Failure, ...] = ()
        self._impl: Any = impl
        self._debug = debug
        self._policy = answers_of(profile, impl)
        self._passes = PROFILES[profile].passes
        self._disposal: asyncio.Future[None] | None = None
        self._folder = folder
        self._observer: Callable[[Observation], None] | None = None
        self._observer_error: BaseException | None = None
        self._depth = 0
        self._gates: list[_Gate] = []
        self._held_kinds = HELD
        self._loop: ControlledLoop | None = None
        self._log: Any = None
        self._agent: Any = None
        self._fold = _Fold()
        self._armed: list[str] = []
        self._inherits = PROFILES[profile].fork == "inherits"
        self._next: _Next | None = None
        """The next session, from the moment in which this one is over."""
        self._over: list[tuple[ControlledLoop, Any, Path]] = []
        """Loops, logs and files of the sessions before this one."""

    # --- The contract -------------------------------------------------------

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """Begin a fresh session on a fresh log file."""
        self.close()
        self._held_kinds = held
        self.log_path = self._next_path()
        self._begin(self._impl.SessionLog.create(self.log_path, writer="inline"))
        self._observer = observer
        self.settle()

    def _begin(self, log: Any) -> None:  # noqa: ANN401
        """Begin a session on a log, on a loop of its own."""
        impl, loop = self._impl, controlled_loop(debug=self._debug)
        self._log, self._loop, self._fold = log, loop, _Fold()
        self._disposal = None
        self._armed = []
        bus = impl.Bus(self._contained)
        self._log.guard(self._fail_if_armed)
        bus.intercept(self._fail_if_armed)
        self._agent = impl.Agent(
            log,
            _Gated(respond=self.respond),
            tools=_Gated(run=self.run_tool),
            bus=bus,
            policy=self._policy,
        )
        self._listen(bus)
        opened = loop.within(lambda: loop.create_task(self._live(), name="session"))
        loop.settle()
        if opened.done():
            msg = f"The session did not open: {self.closing_failures}"
            raise ControlError(msg)

    def call(self, call: Call) -> None:
        """Make the call in the caller's stack; its return is an observation."""
        with self._outermost():
            if call.name == "crash":
                self._crash()
                return
            begun: list[asyncio.Future[Any]] = []
            try:
                value, raised = self._live_loop.within(lambda: self._made(call, begun))
            except Died:
                return
            if self._next is not None:
                return
            self._tell(observation("return", call.name, value, raised))
            for future in begun:
                future.add_done_callback(partial(self._tell_settled, call.name))

    def answer(self, answer: Answer) -> bool:
        """Resolve the oldest open gate of that kind, of a tool's call the one of that call."""
        for gate in self._gates:
            if gate.takes(answer):
                self._gates.remove(gate)
                gate.answer.set_result(answer)
                return True
        return False

    def settle(self) -> None:
        """Run until quiescent; failures that nobody received become observations."""
        lived = None
        while lived is not self._live_loop:
            lived = self._live_loop
            with self._outermost():
                try:
                    lived.settle()
                except Spinning as error:
                    self._fault("spinning", str(error))
                for failure in lived.take_failures():
                    if self._next is None:  # else its task has died with it
                        self._fault("task failed", failure.describe())

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """Run the action between two ticks of the controlled loop."""
        self._live_loop.later(ticks, action)

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gates, with the aborted flag of the signal that each one was given."""
        return tuple((gate.name, bool(gate.signal.aborted)) for gate in self._gates)

    def lists(self) -> Lists:
        """The inbox's own two lists."""
        inbox = self._agent.inbox
        return _messages(inbox.next_turn), _messages(inbox.next_step)

    def status(self) -> str:
        """The agent's own status."""
        return str(self._agent.status)

    def folded(self) -> Lists | None:
        """The splice records of the log file, read back and folded here (IN-02).

        Each record is read back once: a run that settles often would else spend a third of its
        time here. The newest record known must still be there, or everything is read again.
        """
        known = self._fold.newest
        records = self._log.read(0 if known is None else known.seq)
        if known is not None and records[:1] == (known,):
            records = records[1:]
        elif known is not None:
            self._fold, records = _Fold(), self._log.read()
        self._fold.add(records)
        return self._fold.lists

    def close(self) -> None:
        """Cancel what is suspended and close the log; a temporary log file goes away."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        self._observer = None
        self._gates.clear()
        try:
            loop.close()
        except LostFailure:
            # The observer is gone: kept for whoever asks (`closing_failures`).
            self.closing_failures = loop.take_failures()
        finally:
            self._log.close()
            self._log = self._agent = None
            self._bury()
            if self._folder is None and self.log_path is not None:
                _remove_log(self.log_path)

    # --- Crash, resume, fork ---------------------------------------------------

    def _crash(self) -> None:
        """End the session with what is durable now: all that another connection can read."""
        path = self._next_path()
        copy_committed(self._file, path)
        self._end("crash", path, lambda: self._impl.SessionLog.open(path, writer="inline"))

    def _resume(self) -> None:
        """Open the log again, which a live agent refuses (RS-11)."""
        log, path = self._log, self._file
        log.need_idle()

        def again() -> Any:  # noqa: ANN401
            log.close()
            return self._impl.SessionLog.open(path, writer="inline")

        self._end("resume", path, again)

    def _fork(self) -> None:
        """Go on with a copy of the log, which an open turn refuses (RS-09)."""
        path = self._next_path()
        target = self._impl.SessionLog.create(path, writer="inline")
        try:
            self._impl.fork(self._log, target, inherits=self._inherits)
        except self._impl.LoopError:
            target.close()
            _remove_log(path)
            raise
        self._end("fork", path, lambda: target)

    def _end(self, name: str, path: Path, following: Callable[[], Any]) -> None:
        """End the session; the next one is opened once the stack is unwound."""
        loop = self._live_loop
        self._over.append((loop, self._log, self._file))
        self._next = (name, following, loop.abandon())
        self.log_path = path

    def _open_next(self) -> None:
        """Open the next session from its log, and tell what it found there."""
        assert self._next is not None
        name, following, later = self._next
        log, self._next = following(), None
        self._gates.clear()
        known = len(log.read())
        self._begin(log)
        for ticks, action in later:
            self.later(ticks, action)
        records = log.read()
        turns = [each.data["turn"] for each in records if each.type == "turn/start"]
        # Where the next run begins is marked in the log, and is no part of what was repaired.
        closers = (each for each in records[known:] if each.type != "session/end-seed")
        repaired = tuple(_repaired(each.type, each.data) for each in closers)
        self._tell(observation("opened", name, max(turns, default=0), *self.lists(), repaired))

    @property
    def _file(self) -> Path:
        assert self.log_path is not None, "a session is open"
        return self.log_path

    def _bury(self) -> None:
        """Close what the sessions before this one have left; nobody looks at it any more."""
        over, self._over = self._over, []
        for loop, log, path in over:
            with contextlib.suppress(LostFailure, Spinning):
                loop.close()
            log.close()
            if self._folder is None:
                _remove_log(path)

    # --- Driving ---------------------------------------------------------------

    @property
    def _live_loop(self) -> ControlledLoop:
        if self._loop is None:
            msg = "No session is open; call open() first."
            raise ControlError(msg)
        return self._loop

    async def _live(self) -> None:
        """Own the session's task group until the loop is closed."""
        async with self._agent:
            await asyncio.get_running_loop().create_future()

    @contextlib.contextmanager
    def _outermost(self) -> Iterator[None]:
        """Raise the observer's exception where the suite can receive it."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._observer_error is not None:
                error, self._observer_error = self._observer_error, None
                raise error
            if self._depth == 0 and self._next is not None:
                self._open_next()

    def _made(self, call: Call, begun: list[asyncio.Future[Any]]) -> tuple[Value, str | None]:
        """What the call returned, in words, or the code of what it raised.

        What settles later is put into `begun`.
        """
        try:
            returned = self._dispatch(call)
        except ControlError:
            raise
        except self._impl.AppendRefused:
            if call.name == "dispose" and self._agent.disposal is not None:
                # It began all the same, and settles.
                self._share(self._agent.disposal, begun)
            return None, "append-refused"
        except self._impl.LoopError as error:
            return None, error.code
        except Exception as error:
            return None, type(error).__name__
        if call.name == "dispose":
            self._share(returned, begun)
            return None, None
        if isinstance(returned, asyncio.Future):
            begun.append(returned)
            return None, None
        return self._result(call, returned), None

    def _share(self, disposal: Any, begun: list[asyncio.Future[Any]]) -> None:  # noqa: ANN401
        """All calls of `dispose` share one future, which settles once."""
        if disposal is not self._disposal:
            begun.append(disposal)
        self._disposal = disposal

    def _dispatch(self, call: Call) -> object:
        agent, inbox, args = self._agent, self._agent.inbox, call.args
        match call.name:
            case "followup" | "steer" | "inject":
                return getattr(agent, call.name)(self._message(args[0]))
            case "append" | "prepend":
                return getattr(inbox, call.name)(args[0], self._message(args[1]))
            case "splice":
                assert isinstance(args[3], tuple)
                inserted = [self._message(message) for message in args[3]]
                return inbox.splice(args[0], args[1], args[2], *inserted)
            case "replace":
                return inbox.replace(args[0], self._message(args[1]))
            case "remove":
                return inbox.remove(args[0])
            case "clear":
                return inbox.clear()
            case "cancel":
                return agent.cancel(args[0], keep_inbox=args[1] == "keep")
            case "flush":
                _at_once(self._log.flush())
                return None
            case "resume":
                self._resume()
                return None
            case "fork":
                self._fork()
                return None
            case "maintenance":
                return agent.run_maintenance(self.maintain)
            case "when-idle":
                return agent.when_idle()
            case "dispose":
                return agent.dispose()
            case "refuse" | "throw":
                self._armed.append(str(args[0]))
                return None
        msg = f"This adapter knows no call {call.name!r}."
        raise ControlError(msg)

    def _result(self, call: Call, returned: object) -> Value:
        if call.name == "splice" and isinstance(returned, tuple):
            return tuple(message.id for message in returned)
        if returned is None or isinstance(returned, bool):
            return returned
        return repr(returned)

    def _fail_if_armed(self, name: str, told: Any) -> None:  # noqa: ANN401
        """Fail once for each record or event that was armed; an idle status is never meant."""
        if name in self._armed and getattr(told, "status", "") != "idle":
            self._armed.remove(name)
            raise _Injected(name)

    # --- Watching ----------------------------------------------------------------

    def _listen(self, bus: Any) -> None:  # noqa: ANN401  (the namespace is injected)
        """The first and the last listener of every event and record, and the held seams."""
        for name in EVENTS:
            bus.on(name, self._on_event(name, FIRST), prepend=True)
            bus.on(name, self._on_event(name, LAST))
        self._log.subscribe(self._on_record(FIRST), prepend=True)
        self._log.subscribe(self._on_record(LAST))
        for kind, listener in (
            ("assemble", self._assemble),
            ("pre-step", self._pre_step),
            ("request", self._request),
            ("request-error", self._request_error),
            ("turn-stopping", self._turn_stopping),
        ):
            if kind in self._held_kinds:
                bus.on(f"agent/{kind}", listener)
            elif self._passes == "next tick":
                bus.on(f"agent/{kind}", _passed_later)

    def _on_event(self, name: str, listener: str) -> Callable[[Any], None]:
        def on_event(payload: Any) -> None:  # noqa: ANN401
            self._tell_safely(lambda: _event(name, payload, listener))

        return on_event

    def _on_record(self, listener: str) -> Callable[[Any], None]:
        def on_record(record: Any) -> None:  # noqa: ANN401
            self._tell_safely(lambda: _record(record.type, record.data, listener))

        return on_record

    async def _assemble(self, payload: Any) -> None:  # noqa: ANN401
        seen = observation("gate", "assemble", payload.turn, payload.step)
        answer = await self._held("assemble", payload.signal, seen)
        if answer.choice == "failed":
            raise RuntimeError(ERROR_TEXTS["assemble"])

    async def _pre_step(self, payload: Any, inner: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        claimed = _messages(payload.messages)
        seen = observation("gate", "pre-step", payload.turn, payload.step, claimed)
        answer = await self._held("pre-step", payload.signal, seen)
        if answer.choice == "raise":
            raise RuntimeError(ERROR_TEXTS["pre-step"])
        if answer.choice == "reject":
            return self._impl.Reject()
        if answer.messages is None:
            return await inner()
        return self._impl.Enter(tuple(self._message(message) for message in answer.messages))

    async def _request(self, payload: Any, inner: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        seen = observation("gate", "request", payload.turn, payload.step)
        answer = await self._held("request", payload.signal, seen)
        if answer.choice == "raise":
            raise RuntimeError(ERROR_TEXTS["request"])
        return await inner()

    async def _request_error(self, payload: Any, inner: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        seen = observation("gate", "request-error", payload.turn, payload.step)
        answer = await self._held("request-error", payload.signal, seen)
        if answer.choice == "raise":
            raise RuntimeError(ERROR_TEXTS["request-error"])
        return self._impl.Retry() if answer.choice == "retry" else await inner()

    async def _turn_stopping(self, payload: Any) -> None:  # noqa: ANN401
        seen = observation("gate", "turn-stopping", payload.turn)
        answer = await self._held("turn-stopping", payload.signal, seen)
        if answer.choice == "raise":
            raise RuntimeError(ERROR_TEXTS["turn-stopping"])

    async def respond(self, request: Any) -> Any:  # noqa: ANN401
        """Hold the provider's gate, then answer as told; a part of the text comes back to it."""
        if "provider" not in self._held_kinds:
            return self._impl.Reply("done")
        while True:
            seen = observation("gate", "provider", request.turn, request.step)
            answer = await self._held("provider", request.signal, seen)
            if answer.choice == "error":
                raise self._impl.ProviderError(ERROR_TEXTS["provider"])
            if answer.choice == "cut":
                raise self._impl.ProviderCut(ERROR_TEXTS["provider"])
            if answer.choice != "partial":
                break
            request.show("text")
        if answer.choice in ("tools", "parallel"):
            calls = tuple(self._impl.ToolCall(name) for name in answer.names)
            return self._impl.Reply("tools", calls=calls, together=answer.choice == "parallel")
        return self._impl.Reply(answer.choice)

    async def run_tool(self, use: Any) -> Any:  # noqa: ANN401
        """Hold the gate of one tool call; contexts are handed over before the call fails."""
        if "tool" not in self._held_kinds:
            return self._impl.ToolResult()
        seen = observation("gate", "tool", use.turn, use.step, use.call.id)
        answer = await self._held("tool", use.signal, seen, use.call.id)
        contexts = tuple(self._message(message) for message in answer.messages or ())
        if answer.choice == "raise":
            use.hand_over(*contexts)
            raise RuntimeError("tool raised")
        return self._impl.ToolResult(contexts=contexts, concludes=answer.choice == "concludes")

    async def maintain(self, signal: Any) -> None:  # noqa: ANN401
        """Be the maintenance task: hold its gate."""
        if "maintenance" not in self._held_kinds:
            return
        answer = await self._held("maintenance", signal, observation("gate", "maintenance"))
        if answer.choice == "raise":
            raise RuntimeError(ERROR_TEXTS["maintenance"])

    async def _held(self, kind: str, signal: Any, seen: Observation, call: str = "") -> Answer:  # noqa: ANN401
        gate = _Gate(kind, signal, self._live_loop.create_future(), call)
        self._gates.append(gate)
        self._tell(seen)
        try:
            return await gate.answer
        finally:
            # A gate whose task was cancelled is no longer open.
            if gate in self._gates:
                self._gates.remove(gate)

    def _tell_settled(self, name: str, future: asyncio.Future[Any]) -> None:
        """Tell that something has settled: a tick later, as whoever awaits it hears of it."""
        failed = None if future.cancelled() else future.exception()
        text = "cancelled" if future.cancelled() else None if failed is None else str(failed)
        self._tell(observation("settled", name, text))

    def _contained(self, name: str, error: Exception) -> None:
        """A listener failed. All that listen here are ours or the loop's own, and none may.

        What the suite itself made fail is no fault of theirs.
        """
        if isinstance(error, _Injected) or isinstance(error.__cause__, _Injected):
            return
        self._fault("listener failed", f"{name}: {type(error).__name__}: {error}")

    def _fault(self, name: str, text: str) -> None:
        self._tell(Observation("fault", name, (("error", text),)))

    def _tell_safely(self, translated: Callable[[], Observation]) -> None:
        """Tell the observation, or that it could not be put into words."""
        try:
            seen = translated()
        except Exception as error:
            self._fault("unreadable", f"{type(error).__name__}: {error}")
        else:
            self._tell(seen)

    def _tell(self, seen: Observation) -> None:
        if self._observer is None:
            return
        if self._next is None:
            self._depth += 1
            try:
                self._observer(seen)
            except BaseException as error:
                if self._observer_error is None:
                    self._observer_error = error
            finally:
                self._depth -= 1
        if self._next is not None:
            raise Died

    # --- Words and files ---------------------------------------------------------

    def _message(self, message: Value) -> Any:  # noqa: ANN401
        assert isinstance(message, Message)
        content = tuple(self._block(block) for block in message.blocks)
        return self._impl.Message(message.id, message.role, message.source, content)

    def _block(self, block: Block) -> Any:  # noqa: ANN401
        if block.kind == "text":
            return self._impl.TextBlock(block.text)
        return self._impl.DataBlock(block.kind, {"text": block.text})

    def _next_path(self) -> Path:
        folder = _process_folder() if self._folder is None else self._folder
        return folder / f"session-{next(_NUMBERS)}.sqlite"


class _Injected(Exception):
    """What the suite raises where a scenario says that the log refuses or the bus throws."""


class _Gated(SimpleNamespace):
    """The place of the provider or of the tools: each question waits for the suite."""


@attrs.define(eq=False)
class _Fold:
    """Both lists as far as the log was read, and the newest record that was."""

    newest: Any = None
    lists: Lists = ((), ())

    def add(self, records: Sequence[Any]) -> None:
        self.lists = fold_records(((each.type, each.data) for each in records), self.lists)
        self.newest = records[-1] if records else self.newest


def fold_records(
    records: Iterator[tuple[str, Mapping[str, Any]]], before: Lists = ((), ())
) -> Lists:
    """Both lists from splice records in log order (IN-02, IN-05); nothing of the inbox is used.

    `before` is what the records before these fold to.
    """
    lists = {NEXT_TURN: list(before[0]), NEXT_STEP: list(before[1])}
    for kind, data in records:
        if kind == "agent/inbox/spliced":
            start = data["start"]
            inserted = [_message_of_json(message) for message in data["inserted"]]
            removed = data.get("removedCount", 0)
            lists[data["target"]][start : start + removed] = inserted
    return tuple(lists[NEXT_TURN]), tuple(lists[NEXT_STEP])


_CODES: Final = {
    "is pending already": "duplicate-id",
    " was refused: ": "append-refused",
    " was not dispatched: ": "dispatch-failed",
    "no turn opens while turn ": "turn-left-open",
}
"""What the sentences of some errors say, and their codes."""


def _failure(text: str) -> str:
    """What a turn failed with: what has a code in the trace by its code, else as it was raised."""
    return next((code for says, code in _CODES.items() if says in text), text)


def _record(kind: str, data: Mapping[str, Any], listener: str) -> Observation:
    """A record in the words of the trace: the keys on the wire become the keys of `KEYS`."""
    values: tuple[Value, ...]
    match kind:
        case "turn/end":
            reason = data["reason"]
            cause = reason["reason"]["kind"] if "reason" in reason else None
            error = _failure(reason["error"]["message"]) if "error" in reason else None
            values = (data["turn"], reason["kind"], cause, error)
        case "agent/inbox/spliced":
            inserted = tuple(_message_of_json(message) for message in data["inserted"])
            removed, outcome = data.get("removedCount", 0), data.get("outcome")
            values = (data["target"], data["start"], removed, inserted, outcome)
        case "user/message":
            values = (_message_of_json(data),)
        case "assistant/message":
            calls, interrupted = tuple(data.get("calls", ())), data.get("interrupted", False)
            values = (data["turn"], data["step"], calls, interrupted)
        case _:
            values = tuple(data[key] for key in KEYS[kind])
    return observation("record", kind, *values, listener=listener)


def _event(name: str, payload: Any, listener: str) -> Observation:  # noqa: ANN401
    values = tuple(
        _message_of(payload.message)
        if key == "message"
        else _failure(payload.error)
        if key == "error"
        else getattr(payload, key)
        for key in KEYS[name]
    )
    return observation("event", name, *values, listener=listener)


def _messages(messages: Sequence[Any]) -> tuple[Message, ...]:
    return tuple(_message_of(message) for message in messages)


def _message_of(message: Any) -> Message:  # noqa: ANN401
    """A live message; only text blocks have a text of their own, other blocks carry data."""
    blocks = tuple(
        Block("text", block.text)
        if hasattr(block, "text")
        else Block(block.kind, _text(block.data))
        for block in message.content
    )
    return Message(message.id, message.role, message.source, blocks)


def _message_of_json(data: Mapping[str, Any]) -> Message:
    """A message as the log has it."""
    blocks = tuple(Block(block["type"], _text(block)) for block in data["content"])
    return Message(data["id"], data["role"], data["source"]["kind"], blocks)


def _text(data: Mapping[str, Any]) -> str:
    """The text of a block; the model's opaque blocks keep theirs under the same key."""
    return str(data["text"])


def _repaired(kind: str, data: Mapping[str, Any]) -> str:
    """A record that a repair has appended, in the words of the trace."""
    match kind:
        case "tool/result":
            return f"{kind} {data['call']} {REPAIRED.get(data.get('code', ''), 'answered')}"
        case "turn/end":
            return f"{kind} {data['reason']['kind']}"
    return kind


def _at_once(work: Coroutine[Any, Any, Any]) -> None:
    """Finish what never suspends under control."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    msg = "The flush of the session log suspended under control."
    raise ControlError(msg)


def copy_committed(source: Path, target: Path) -> None:
    """Copy what another connection can read of a log: what a crash at this moment leaves."""
    with (
        contextlib.closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as reader,
        contextlib.closing(sqlite3.connect(target)) as writer,
    ):
        reader.backup(writer)


@cache
def _process_folder() -> Path:
    """One folder of this process for logs that nobody keeps, on a memory file system if any."""
    memory = "/dev/shm"
    usable = os.path.isdir(memory) and os.access(memory, os.W_OK)
    home = Path(memory if usable else tempfile.gettempdir())
    remove_left_over(home)
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=home)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def remove_left_over(home: Path) -> None:
    """Remove the folders of processes that were killed; of one that lives, or is not ours, none."""
    for folder in home.glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not _lives(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _remove_log(path: Path) -> None:
    """The file, SQLite's two companions, and the owner's lock and note."""
    for suffix in ("", "-wal", "-shm", ".lock", ".owner"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _version() -> str:
    try:
        return importlib.metadata.version("loopspec")
    except importlib.metadata.PackageNotFoundError:
        return "checkout"
