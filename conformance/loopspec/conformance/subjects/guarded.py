"""A guard around any adapter: what an adapter does wrong is one sentence, never a verdict.

Theory. An adapter is code that we have not written. What it raises, and what it gives that has not
the shape of the contract, is its own fault (`ControlError`); nothing of it reaches the judge, whose
monitors may so take every value for what the types say. What the suite itself raises inside the
observer passes through unchanged, also when the adapter swallows it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import PurePath
from threading import get_ident
from typing import Any, Final, TypeVar

from loopspec.conformance.control import ControlError
from loopspec.conformance.subjects.contract import CAPABILITIES, Lists, Subject, SubjectFactory
from loopspec.model.scenario import Line
from loopspec.model.session import HELD
from loopspec.model.words import Answer, Block, Call, Message, Observation

__all__ = ["CONTRACT", "Guarded", "guarded", "guarded_factory"]

CONTRACT: Final = 1
"""The newest revision of the contract; each rule says with which it came (`since`)."""

T = TypeVar("T")

KINDS: Final = ("record", "event", "gate", "return", "settled", "opened", "fault")
WHO: Final = ("", "first", "last")
TOLD_MAX: Final = 100_000
"""Observations within one call of the suite; the longest of the corpus makes fewer than 100."""

INTEGER_MAX: Final = 2**63
DEPTH_MAX: Final = 20


def guarded(subject: Subject) -> Guarded:
    """`subject` behind a guard; a guarded one is given back as it is."""
    return subject if isinstance(subject, Guarded) else Guarded(subject)


def guarded_factory(factory: SubjectFactory) -> Callable[[], Guarded]:
    """A factory of guarded subjects; what `factory` raises is the adapter's fault too."""

    def make() -> Guarded:
        try:
            return guarded(factory())
        except Exception as error:
            raise _fault("making it", error) from error

    return make


class Guarded:
    """A subject whose every answer has the shape of the contract."""

    def __init__(self, subject: Subject) -> None:
        """Guard `subject`; nothing is asked of it yet."""
        self._subject = subject
        self._sessions = 0
        self._thread = get_ident()
        self._depth = 0
        self._told = 0
        self._raised: BaseException | None = None

    @property
    def name(self) -> str:
        """The name, as text whatever it is."""
        return self._do("name", lambda: str(self._subject.name))

    @property
    def version(self) -> str:
        """The version, as text whatever it is."""
        return self._do("version", lambda: str(self._subject.version))

    @property
    def capabilities(self) -> frozenset[str]:
        """The declared capabilities, all of them known."""
        given = self._do("capabilities", lambda: self._subject.capabilities)
        if not isinstance(given, frozenset | set) or not given <= set(CAPABILITIES):
            _refuse("capabilities", f"a set of {', '.join(CAPABILITIES)}", given)
        return frozenset(given)

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """Open a session; what an earlier session still tells is dropped."""
        self._sessions += 1
        session, self._thread, self._raised = self._sessions, get_ident(), None

        def observe(seen: Observation) -> None:
            if session == self._sessions:
                self._pass(lambda: self._tell(observer, seen))

        self._do("open", lambda: self._subject.open(observe, held))

    def call(self, call: Call) -> None:
        """Make a call."""
        self._do("call", lambda: self._subject.call(call))

    def answer(self, answer: Answer) -> bool:
        """Answer a gate."""
        return bool(self._do("answer", lambda: self._subject.answer(answer)))

    def settle(self) -> None:
        """Run until quiescent."""
        self._do("settle", self._subject.settle)

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """Run an action of the suite later."""
        self._do("later", lambda: self._subject.later(ticks, lambda: self._pass(action)))

    @property
    def contract(self) -> int:
        """The revision of the contract that the subject was written for; by default the newest."""
        return self._do("contract", lambda: int(getattr(self._subject, "contract", CONTRACT)))

    @property
    def armed(self) -> bool:
        """Whether the subject makes the calls of windows by itself (`Armed`)."""
        return hasattr(self._subject, "arm")

    def arm(self, line: Line, made: Callable[[], None]) -> None:
        """Give an armed subject a call that waits."""
        subject: Any = self._subject
        self._do("arm", lambda: subject.arm(line, lambda: self._pass(made)))

    def expect(self, actions: Sequence[Call | Answer]) -> None:
        """Tell an armed subject what will be asked."""
        subject: Any = self._subject
        self._do("expect", lambda: subject.expect(actions))

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gates."""
        given = self._do("gates", lambda: self._subject.gates())
        if not isinstance(given, tuple | list) or not all(map(_is_gate, given)):
            _refuse("gates", "a tuple of (kind, aborted) pairs", given)
        return tuple((kind, bool(aborted)) for kind, aborted in given)

    def lists(self) -> Lists:
        """Both lists."""
        return _lists("lists", self._do("lists", lambda: self._subject.lists()))

    def status(self) -> str:
        """The status."""
        given = self._do("status", lambda: self._subject.status())
        if type(given) is not str:
            _refuse("status", "idle or running", given)
        return given

    def folded(self) -> Lists | None:
        """The fold of the log, if there is one."""
        given = self._do("folded", lambda: self._subject.folded())
        return None if given is None else _lists("folded", given)

    def close(self) -> None:
        """End the session; what is told from now on is dropped."""
        self._sessions += 1
        self._raised = None
        self._do("close", lambda: self._subject.close())

    def _tell(self, observer: Callable[[Observation], None], seen: Observation) -> None:
        if get_ident() != self._thread:
            msg = "the adapter told an observation from another thread"
            raise ControlError(msg)
        self._told += 1
        if self._told > TOLD_MAX:
            msg = f"the adapter does not come to rest: {TOLD_MAX} observations within one call"
            raise ControlError(msg)
        wrong = _wrong(seen)
        if wrong:
            msg = f"the adapter told what is no observation: {wrong}"
            raise ControlError(msg)
        observer(seen)

    def _pass(self, action: Callable[[], None]) -> None:
        """Run something of the suite inside the adapter; the first that it raises is kept."""
        try:
            action()
        except BaseException as error:
            self._raised = self._raised or error
            raise

    def _do(self, what: str, work: Callable[[], T]) -> T:
        """Ask the adapter something; its exceptions become one sentence."""
        if self._depth == 0:
            self._told = 0
        self._depth += 1
        try:
            given = work()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            kept = self._kept()
            if kept is not None:
                raise kept from None
            if self._raised is not None or (isinstance(error, ControlError) and str(error)):
                raise
            raise _fault(f"{what}", error) from error
        else:
            kept = self._kept()
            if kept is not None:
                raise kept
            return given
        finally:
            self._depth -= 1

    def _kept(self) -> BaseException | None:
        """What the suite raised, once the outermost question is left."""
        if self._depth > 1:
            return None
        kept, self._raised = self._raised, None
        return kept


def _fault(what: str, error: BaseException) -> ControlError:
    """One sentence about an exception of the adapter: where it was asked, what came, its place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    try:
        text = f": {error}".rstrip(": ")
    except Exception:
        text = ""
    return ControlError(f"the adapter failed in {what}{place}: {type(error).__name__}{text}")


def _refuse(what: str, expected: str, given: object) -> None:
    """Refuse a value without asking it for a text of its own."""
    shown = repr(given)[:80] if type(given) in (str, int, bool) or given is None else ""
    got = shown or f"a {type(given).__name__} that is none"
    msg = f"the adapter's {what}: expected {expected}, got {got}"
    raise ControlError(msg)


def _is_gate(given: object) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2 and type(given[0]) is str


def _is_message(given: object) -> bool:
    return (
        type(given) is Message
        and all(type(each) is str for each in (given.id, given.role, given.source))
        and type(given.blocks) is tuple
        and all(
            type(block) is Block and type(block.kind) is str and type(block.text) is str
            for block in given.blocks
        )
    )


def _is_value(given: object, depth: int = 0) -> bool:
    if given is None or type(given) in (str, bool):
        return True
    if isinstance(given, int):
        return -INTEGER_MAX <= given < INTEGER_MAX
    if type(given) is tuple:
        return depth < DEPTH_MAX and all(_is_value(each, depth + 1) for each in given)
    return _is_message(given)


def _wrong(seen: object) -> str:
    """What keeps an object from being an observation; empty when nothing does."""
    if type(seen) is not Observation:
        return f"expected an Observation, got a {type(seen).__name__}"
    if type(seen.kind) is not str or seen.kind not in KINDS:
        return f"expected a kind ({', '.join(KINDS)}), got {_short(seen.kind)}"
    if type(seen.name) is not str:
        return f"expected a name, got {_short(seen.name)}"
    if type(seen.listener) is not str or seen.listener not in WHO:
        return f"{seen.name[:80]}: expected a listener (first, last or empty)"
    if type(seen.data) is not tuple:
        return f"{seen.name[:80]}: expected pairs of key and value, got {_short(seen.data)}"
    for pair in seen.data:
        if type(pair) is not tuple or len(pair) != 2 or type(pair[0]) is not str:
            return f"{seen.name[:80]}: expected pairs of key and value, got {_short(pair)}"
        if not _is_value(pair[1]):
            return f"{seen.name[:80]}: {pair[0][:80]} is no value of a trace, but {_short(pair[1])}"
    return ""


def _short(given: object) -> str:
    """A value for a sentence; only a type whose text is known to be harmless shows it."""
    return repr(given)[:80] if type(given) is str or given is None else f"a {type(given).__name__}"


def _lists(what: str, given: object) -> Lists:
    if not isinstance(given, tuple | list) or len(given) != 2:
        _refuse(what, "two lists of messages (next-turn, next-step)", given)
    assert isinstance(given, tuple | list)
    for each in given:
        if not isinstance(each, tuple | list) or not all(map(_is_message, each)):
            _refuse(what, "two lists of messages (next-turn, next-step)", each)
    return tuple(given[0]), tuple(given[1])
