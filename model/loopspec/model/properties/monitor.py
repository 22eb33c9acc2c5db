"""What a property is: a monitor that reads a trace entry by entry.

Rules of this file. A monitor is a frozen ghost, a step that gives the next ghost and breaches, and
a check at rest. The explorer carries the ghosts beside the session; traces and logs fold them. A
property never reads the session of the model, so that it judges a subject and a mutated table
alike.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

import attrs

from loopspec.model.describe import ids
from loopspec.model.words import CALLS, Answer, Call, Entry, Made, Message, Observation, Rest

G = TypeVar("G")

NEVER: Final[tuple["Breach", ...]] = ()


class Breach(NamedTuple):
    """One place where a property does not hold: why it should, and what happened instead."""

    code: str
    because: tuple[str, ...]
    however: str


@attrs.frozen
class Property:
    """A sentence about every run, with its monitor.

    `start` is the ghost of an empty trace; `step` gives the next ghost and breaches; `at_rest`
    gives breaches at a quiescent point. `sometimes` names a situation of the premise and `met`
    tells whether an entry reaches it, so that a run can say that the property was put to the test.
    """

    code: str
    name: str
    sentence: str
    rules: tuple[str, ...]
    start: Any
    step: Callable[[Any, Entry], tuple[Any, tuple[Breach, ...]]]
    at_rest: Callable[[Any, Rest], tuple[Breach, ...]]
    sometimes: str
    met: Callable[[Any, Entry], bool]
    strict: bool
    """Whether it is a law of profile `notes` only."""
    reads: frozenset[str]
    """What the monitor looks at: names of observations, `return`, `call`, `answer`; `dispose` for
    this call alone."""

    def looks_at(self, entry: Entry) -> bool:
        """Whether an entry can change the ghost or show a breach."""
        if isinstance(entry, Observation):
            name = "return" if entry.kind == "return" else entry.name
            return name in self.reads and entry.listener != "last"
        if isinstance(entry, Made):
            return "call" in self.reads or entry.call.name in self.reads
        return "answer" in self.reads


def declare(
    step: Callable[[G, Entry], tuple[G, tuple[Breach, ...]]],
    at_rest: Callable[[G, Rest], tuple[Breach, ...]],
    start: G,
    rules: str,
    reads: str,
    sometimes: str,
    met: Callable[[G, Entry], bool],
    strict: bool = False,
) -> Property:
    """A property from its step function, whose docstring is a code, a colon and a sentence.

    Raises ValueError when the docstring has another form.
    """
    code, colon, sentence = (step.__doc__ or "").partition(": ")
    if not colon or not code.isupper() or not sentence.endswith("."):
        msg = f"{step.__name__} needs a docstring 'CODE: sentence.', got {step.__doc__!r}"
        raise ValueError(msg)
    return Property(
        code,
        step.__name__,
        sentence,
        tuple(rules.split()),
        start,
        step,
        at_rest,
        sometimes,
        met,
        strict,
        frozenset(reads.split()),
    )


def told(entry: Entry) -> Observation | None:
    """The observation of an entry as its first listener had it; None for anything else."""
    if isinstance(entry, Observation) and entry.listener != "last":
        return entry
    return None


def number(seen: Observation, key: str) -> int:
    """A number that an observation carries."""
    value = seen.get(key)
    return value if isinstance(value, int) else 0


def message(seen: Observation) -> Message:
    """The message that an observation carries."""
    value = seen.get("message")
    assert isinstance(value, Message), f"{seen.name} carries a message"
    return value


def messages(value: object) -> tuple[Message, ...]:
    """The messages of a tuple."""
    assert isinstance(value, tuple)
    return tuple(each for each in value if isinstance(each, Message))


def asked(call: Call) -> tuple[Message, ...]:
    """The messages that a call asks to insert."""
    found: list[Message] = []
    for kind, value in zip(CALLS[call.name], call.args, strict=True):
        if kind in ("message", "messages"):
            found.extend(
                messages(value if isinstance(value, tuple) and kind == "messages" else (value,))
            )
    return tuple(found)


def tool_of(answer: Answer, running: tuple[str, ...]) -> str:
    """The call that a tool's answer is for: the oldest running one where it does not say."""
    return answer.names[0] if answer.names else (*running, "")[0]


def without(pool: Iterable[Message], gone: Message) -> tuple[Message, ...]:
    """`pool` without its first `gone`."""
    left = list(pool)
    if gone in left:
        left.remove(gone)
    return tuple(left)


class Lists(NamedTuple):
    """Both lists as the fold of the splice records; the only inbox that a property knows."""

    next_turn: tuple[Message, ...] = ()
    next_step: tuple[Message, ...] = ()

    def of(self, target: object) -> tuple[Message, ...]:
        """The list that `target` names."""
        return self.next_turn if target == "next-turn" else self.next_step

    def spliced(self, seen: Observation) -> tuple["Lists", tuple[Message, ...]]:
        """The lists after a splice record, and what it removed."""
        target, start = seen.get("target"), number(seen, "start")
        items, end = self.of(target), number(seen, "start") + number(seen, "removed")
        changed = items[:start] + messages(seen.get("inserted")) + items[end:]
        if target == "next-turn":
            return self._replace(next_turn=changed), items[start:end]
        return self._replace(next_step=changed), items[start:end]

    @property
    def pending(self) -> tuple[Message, ...]:
        """All pending messages, next-step first."""
        return self.next_step + self.next_turn

    def __str__(self) -> str:
        """Both lists on one line."""
        return f"next-turn {ids(self.next_turn)}, next-step {ids(self.next_step)}"


def is_claim(seen: Observation) -> bool:
    """Whether a splice record is a claim: a pure deletion without an outcome (IN-04, CL-04)."""
    return (
        seen.name == "agent/inbox/spliced"
        and number(seen, "removed") > 0
        and not seen.get("inserted")
        and seen.get("outcome") is None
    )


def is_cancel(entry: Entry) -> bool:
    """Whether an entry is a call that aborts what runs: a cancel, or a disposal."""
    return isinstance(entry, Made) and entry.call.name in ("cancel", "dispose")


def cause_of(call: Call) -> str:
    """The cause with which a call aborts."""
    return "disposed" if call.name == "dispose" else str(call.args[0])


class Calls(NamedTuple):
    """The calls under way, innermost last: the name of each with what it still may insert.

    `contexts` are what tools have handed over and the loop has not inserted yet (TC-02).
    """

    open: tuple[tuple[str, str, tuple[Message, ...]], ...] = ()
    contexts: tuple[Message, ...] = ()

    def after(self, entry: Entry) -> "Calls":
        """The calls under way after an entry."""
        if isinstance(entry, Made):
            call = entry.call
            mode = str(call.args[1]) if call.name == "cancel" else ""
            return self._replace(open=(*self.open, (call.name, mode, asked(call))))
        if isinstance(entry, Observation) and entry.kind == "return":
            return self._replace(open=self.open[:-1])
        if isinstance(entry, Answer) and entry.gate == "tool":
            return self._replace(contexts=self.contexts + (entry.messages or ()))
        return self

    @property
    def name(self) -> str:
        """The innermost call's name, or nothing."""
        return self.open[-1][0] if self.open else ""

    @property
    def keeps(self) -> bool:
        """Whether the innermost call is a cancel that keeps the inbox."""
        return bool(self.open) and self.open[-1][:2] == ("cancel", "keep")

    def may_insert(self, wanted: Message) -> bool:
        """Whether the innermost call or a tool asked for this insertion and has not had it yet."""
        return wanted in self.contexts or (bool(self.open) and wanted in self.open[-1][2])

    def inserted(self, done: tuple[Message, ...]) -> "Calls":
        """The calls under way after these insertions."""
        contexts = self.contexts
        name, mode, pool = self.open[-1] if self.open else ("", "", ())
        for each in done:
            if each in pool:
                pool = without(pool, each)
            else:
                contexts = without(contexts, each)
        changed = ((name, mode, pool),) if self.open else ()
        return Calls((*self.open[:-1], *changed), contexts)
