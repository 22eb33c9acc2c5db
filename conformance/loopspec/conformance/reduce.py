"""Reduction: from a failing scenario to one that a person would have written.

Theory. Plain delta debugging over scenario lines on the real subject. A line that is not enabled
once others are gone is skipped by the drive, so every candidate is a legal run; lines that were
not made are left out. Afterwards each line is tried weaker: at rest, for another listener, a
smaller message, a tamer call; hooks are let pass and messages named A, B, C. What comes out is
1-minimal in these steps: no line can be left out, moved to rest or replaced by a weaker one without
losing the finding. Of two lines or one it is exhaustive: no shorter scenario shows it, since a
call in a window needs another line that opens the window. For three lines all shorter ones at rest
are tried, those with windows are not, so that nothing more is said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs

from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import AnyReading, Outcome, run_scenario
from loopspec.conformance.judge import Finding
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.model.policy import Policy
from loopspec.model.scenario import AT_REST, Line, Scenario
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import Session, letter
from loopspec.model.table import apply, run
from loopspec.model.words import Answer, Call, Message, Value, text_message

__all__ = ["Reduced", "reduce_scenario"]

REPLAYS_MAX: Final = 900
EARLIER_MAX: Final = 8
TRIED_MAX: Final = 3
"""Up to this length every shorter scenario at rest is tried."""

EXHAUSTIVE_MAX: Final = 2
"""Up to this length there is no shorter scenario with a window, so that all were tried."""


@attrs.frozen
class Reduced:
    """A reduced scenario with its outcome; `minimal` is exhaustive, 1-minimal or no."""

    scenario: Scenario
    outcome: Outcome
    finding: Finding
    replays: int
    minimal: str


Only: TypeAlias = Callable[[Outcome], bool]


def always(_: Outcome) -> bool:
    """Any outcome will do."""
    return True


class _Reducer:
    """Runs candidates until the budget of replays is spent."""

    def __init__(
        self, factory: SubjectFactory, wanted: Finding, profile: AnyReading | None, only: Only
    ) -> None:
        self.factory = factory
        self.wanted = wanted
        self.profile = profile
        self.only = only
        self.replays = 0

    def shows(self, scenario: Scenario) -> Outcome | None:
        """The outcome of a candidate that still shows the finding."""
        self.replays += 1
        return played(self.factory, scenario, self.wanted, self.profile, self.only)

    @property
    def spent(self) -> bool:
        return self.replays >= REPLAYS_MAX


def played(
    factory: SubjectFactory,
    scenario: Scenario,
    wanted: Finding,
    profile: AnyReading | None,
    only: Only,
) -> Outcome | None:
    """The outcome of a scenario that shows `wanted`.

    A candidate that the adapter cannot play shows nothing: it must not cost the finding.
    """
    try:
        outcome = run_scenario(factory(), scenario, profile=profile)
    except ControlError:
        return None
    return outcome if found(outcome, wanted) and only(outcome) else None


def found(outcome: Outcome, wanted: Finding) -> Finding | None:
    """The finding of an outcome that is the same as `wanted`, if it has one."""
    for finding in outcome.findings:
        if finding.key == wanted.key:
            return finding
    return None


def only_made(outcome: Outcome) -> Scenario:
    """The scenario without the lines that were not made, and without the scope it was found in.

    A reduced scenario stands for itself; the scope of the explorer says nothing about it.
    """
    pairs = zip(outcome.scenario.lines, outcome.made, strict=True)
    lines = tuple(line for line, made in pairs if made)
    return attrs.evolve(outcome.scenario, lines=lines, scope="")


def reduce_scenario(
    factory: SubjectFactory,
    outcome: Outcome,
    wanted: Finding,
    profile: AnyReading | None = None,
    only: Only = always,
) -> Reduced:
    """Reduce a failing outcome to a scenario that shows the same finding with fewer, weaker lines.

    `factory` makes a fresh subject for each replay; `only` says what else a smaller outcome must
    be. The original is returned, with minimal `no`, when not even its replay shows the finding.
    """
    reducer = _Reducer(factory, wanted, profile, only)
    best = reducer.shows(only_made(outcome)) or reducer.shows(outcome.scenario)
    if best is None:
        return Reduced(outcome.scenario, outcome, wanted, reducer.replays, "no")
    size = len(best.scenario) + 1
    while len(best.scenario) < size and not reducer.spent:
        size = len(best.scenario)
        best = drop_gates(reducer, drop_lines(reducer, best))
        best = drop_pairs(reducer, weaken(reducer, best))
    minimal = "no" if reducer.spent else "1-minimal"
    by_model = profile is None or isinstance(profile, str | Policy)
    if minimal == "1-minimal" and by_model and len(best.scenario) <= TRIED_MAX:
        best = shortest(reducer, len(best.scenario)) or best
        if len(best.scenario) <= EXHAUSTIVE_MAX:
            minimal = "exhaustive"
    best = renamed(reducer, best)
    finding = found(best, wanted)
    assert finding is not None
    return Reduced(best.scenario, best, finding, reducer.replays, minimal)


def drop_lines(reducer: _Reducer, best: Outcome) -> Outcome:
    """Leave out chunks of lines, halving their size down to single lines."""
    size = max(1, len(best.scenario) // 2)
    while not reducer.spent:
        lines = best.scenario.lines
        for start in range(len(lines) - 1, -1, -size):
            begin = max(0, start - size + 1)
            fewer = attrs.evolve(best.scenario, lines=lines[:begin] + lines[start + 1 :])
            smaller = shows_somewhere(reducer, fewer) if fewer.lines else None
            if smaller is not None:
                best = smaller
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
            continue
        size = min(size, max(1, len(best.scenario) // 2))
    return best


def drop_pairs(reducer: _Reducer, best: Outcome) -> Outcome:
    """Leave out two lines at once: a call and the answer that it needs often go only together."""
    lines = best.scenario.lines
    for first in range(len(lines)):
        for second in range(first + 1, len(lines)):
            fewer = tuple(each for at, each in enumerate(lines) if at not in (first, second))
            if not fewer or reducer.spent:
                continue
            smaller = reducer.shows(attrs.evolve(best.scenario, lines=fewer))
            if smaller is not None:
                return smaller
    return best


def shows_somewhere(reducer: _Reducer, scenario: Scenario) -> Outcome | None:
    """The outcome of a candidate, also with windows that count from fewer lines.

    Leaving a line out moves every later delivery forward, so `in turn/start#3` may have become
    `in turn/start#1`; without this, lines with windows pin the lines before them.
    """
    outcome = reducer.shows(scenario) if not reducer.spent else None
    if outcome is not None:
        return outcome
    for index, line in enumerate(scenario.lines):
        for number in range(1, min(line.window.number, EARLIER_MAX)):
            if reducer.spent:
                return None
            lines = list(scenario.lines)
            earlier = attrs.evolve(line.window, number=line.window.number - number)
            lines[index] = attrs.evolve(line, window=earlier)
            outcome = reducer.shows(attrs.evolve(scenario, lines=tuple(lines)))
            if outcome is not None:
                return outcome
    return None


def drop_gates(reducer: _Reducer, best: Outcome) -> Outcome:
    """Let pass the hooks that the scenario holds: all of them, or else one after the other."""
    held = best.scenario.gates
    for gone in (held, *((gate,) for gate in held)):
        fewer = tuple(gate for gate in best.scenario.gates if gate not in gone)
        if fewer == best.scenario.gates or reducer.spent:
            continue
        candidate = reducer.shows(attrs.evolve(best.scenario, gates=fewer))
        if candidate is not None:
            best = reducer.shows(only_made(candidate)) or candidate
    return best


def renamed(reducer: _Reducer, best: Outcome) -> Outcome:
    """The scenario with its messages named A, B, C in the order in which they appear."""
    names: dict[str, str] = {}
    lines = tuple(
        attrs.evolve(line, action=in_letters(line.action, names)) for line in best.scenario.lines
    )
    if all(old == new for old, new in names.items()):
        return best
    return reducer.shows(attrs.evolve(best.scenario, lines=lines)) or best


def in_letters(action: Call | Answer, names: dict[str, str]) -> Call | Answer:
    """An action with its message ids renamed; `names` is extended by those that are new."""
    if isinstance(action, Answer):
        messages = renamed_value(action.messages, names) if action.messages else action.messages
        assert messages is None or isinstance(messages, tuple)
        return action._replace(messages=messages)  # type: ignore[arg-type]
    by_id = action.name in ("replace", "remove")
    args = tuple(
        names.setdefault(arg, letter(len(names)))
        if by_id and index == 0 and isinstance(arg, str)
        else renamed_value(arg, names)
        for index, arg in enumerate(action.args)
    )
    return Call(action.name, args)


def renamed_value(value: Value, names: dict[str, str]) -> Value:
    """A value with its message ids renamed."""

    def rename(message: Message) -> Message:
        name = names.setdefault(message.id, letter(len(names)))
        plain = message == text_message(message.id)
        return text_message(name) if plain else message._replace(id=name)

    return with_messages(value, rename)


def with_messages(value: Value, change: Callable[[Message], Message]) -> Value:
    """A value with each message in it changed."""
    if isinstance(value, Message):
        return change(value)
    if isinstance(value, tuple):
        return tuple(with_messages(each, change) for each in value)
    return value


def weaken(reducer: _Reducer, best: Outcome) -> Outcome:
    """Replace single lines by weaker ones as long as the finding stays."""
    changed = True
    while changed and not reducer.spent:
        changed = False
        for index, line in enumerate(best.scenario.lines):
            for weaker in weaker_lines(line):
                lines = list(best.scenario.lines)
                lines[index] = weaker
                candidate = reducer.shows(attrs.evolve(best.scenario, lines=tuple(lines)))
                if candidate is not None and candidate.made[index]:
                    best, changed = candidate, True
                    break
                if reducer.spent:
                    return best
            if changed:
                break
    return best


TAMER: Final = {
    "drop": "keep",
    "parent": "user",
    "hook": "user",
    "disposed": "user",
}


def weaker_lines(line: Line) -> Iterator[Line]:
    """Weaker forms of a line, the weakest first; each is smaller in a fixed order."""
    window, action = line.window, line.action
    if window.kind != "rest":
        yield attrs.evolve(line, window=AT_REST)
        if window.listener == "last":
            yield attrs.evolve(line, window=attrs.evolve(window, listener="first"))
        if window.kind == "after" and window.ticks > 1:
            yield attrs.evolve(line, window=attrs.evolve(window, ticks=1))
        if window.number > 1:
            yield attrs.evolve(line, window=attrs.evolve(window, number=1))
    if isinstance(action, Answer):
        if action.choice in ("owes", "tools", "parallel"):
            yield attrs.evolve(line, action=Answer("provider", "done"))
        if action.choice == "parallel":
            yield attrs.evolve(line, action=action._replace(choice="tools"))
        if len(action.names) > 1:
            yield attrs.evolve(line, action=action._replace(names=action.names[:1]))
        if action.choice == "concludes":
            yield attrs.evolve(line, action=action._replace(choice="result"))
        if action.messages:
            none = () if action.gate == "tool" else None
            yield attrs.evolve(line, action=action._replace(messages=none))
        return
    if action.name == "followup":
        yield attrs.evolve(line, action=Call("append", ("next-turn", *action.args)))
    if action.name == "steer":
        yield attrs.evolve(line, action=Call("inject", action.args))
    plain = tuple(plain_value(arg) for arg in action.args)
    if plain != action.args:
        yield attrs.evolve(line, action=Call(action.name, plain))
    if action.name == "cancel":
        tamer = tuple(TAMER.get(str(arg), str(arg)) for arg in action.args)
        if tamer != action.args:
            yield attrs.evolve(line, action=Call(action.name, tamer))
    if action.name in ("append", "prepend", "splice") and action.args[0] == "next-step":
        yield attrs.evolve(line, action=Call(action.name, ("next-turn", *action.args[1:])))


def plain_value(value: Value) -> Value:
    """A value with each message replaced by the plain message of the same id."""
    return with_messages(value, lambda message: text_message(message.id))


# --- Shorter than 1-minimal ---------------------------------------------------------------------

SHORT: Final = Scope(
    "short",
    "everything that a very short scenario can say",
    sends=3,
    edits=3,
    cancels=3,
    calls=(
        "followup",
        "steer",
        "inject",
        "append",
        "prepend",
        "splice",
        "replace",
        "remove",
        "clear",
        "cancel",
        "maintenance",
        "when-idle",
        "dispose",
    ),
    owes=1,
    failures=3,
    tools=(("x",),),
    streams=1,
    lives=3,
)


def shortest(reducer: _Reducer, below: int) -> Outcome | None:
    """The outcome of a scenario with fewer than `below` lines, all at rest, that shows it too."""
    for length in range(1, below):
        for lines in sequences(SHORT.start, Spent(), length):
            outcome = played(
                reducer.factory, Scenario(lines), reducer.wanted, reducer.profile, reducer.only
            )
            if outcome is not None:
                return outcome
    return None


def sequences(session: Session, spent: Spent, length: int) -> Iterator[tuple[Line, ...]]:
    """All lines of this length that the model enables at rest; assembly is implied."""
    if length == 0:
        yield ()
        return
    new = text_message(letter(spent.sends + spent.edits))
    for action, after in choices(session, SHORT, spent, new):
        following = settled(session, action)
        if following is None:
            continue
        implied = isinstance(action, Answer) and action.choice == "assembled"
        for rest in sequences(following, after, length - (not implied)):
            yield rest if implied else (Line(action), *rest)


def settled(session: Session, action: Call | Answer) -> Session | None:
    """The session at rest behind an action; None when it is refused."""
    after = apply(session, action)
    if not isinstance(after, Session):
        return None
    for moved in run(after):
        after = moved.session
    return after
