"""The product search: the shortest scenario on which two machines part.

Theory. Two machines are run side by side. Each action is made on both, both move to the next point
of choice, and what they were seen to do and where they stand is compared: observations, lists,
status, open gates, and whether a call could land. The search is breadth first, so the first
difference is reached by a shortest scenario of its scope. *Equivalent* is said only after a whole
scope without a difference.

A machine is a table with a policy. The second one may come from another import of this package (a
mutant of the table), so nothing but plain tuples is compared between them.
"""

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

import attrs

from loopspec.model import session as session_module
from loopspec.model import table as table_module
from loopspec.model import words as words_module
from loopspec.model.describe import observation_text, session_text
from loopspec.model.policy import Policy
from loopspec.model.runs import flags_of, is_choice
from loopspec.model.scenario import Scenario
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import letter
from loopspec.model.witness import Recorder, tidied
from loopspec.model.words import Answer, Call, text_message

__all__ = ["Machine", "Parted", "differ", "shipped"]

STATES_MAX: Final = 40_000


class Machine(NamedTuple):
    """One table with one policy: how it starts, takes an action and moves."""

    name: str
    policy: Any
    session: ModuleType
    table: ModuleType
    words: ModuleType

    def start(self, scope: Scope) -> Any:  # noqa: ANN401 - a session of that import
        """The session in which every run of the scope begins."""
        held = scope.start.held
        return self.session.Session(policy=self.policy, listeners=scope.listeners, held=held)

    def take(self, session: Any, action: Call | Answer) -> Any:  # noqa: ANN401
        """The session after an action, or a refusal."""
        return self.table.apply(session, foreign(action, self.words))

    def move(self, session: Any) -> Any:  # noqa: ANN401
        """One move, or None."""
        return self.table.move(session)


def shipped(name: str, policy: Policy) -> Machine:
    """The shipped table with a policy."""
    return Machine(name, policy, session_module, table_module, words_module)


def foreign(value: Any, words: ModuleType) -> Any:  # noqa: ANN401 - any value of a trace
    """A value of a trace in the classes of another import of the words."""
    if not isinstance(value, tuple):
        return value
    parts = [foreign(part, words) for part in value]
    kind = getattr(words, type(value).__name__, None)
    return kind._make(parts) if kind is not None else tuple(parts)


@attrs.frozen
class Parted:
    """Where two machines part: the scenario, and what each of them does there."""

    scenario: Scenario
    left: tuple[str, ...]
    right: tuple[str, ...]
    states: int


class _Pair(NamedTuple):
    left: Any
    right: Any
    spent: Spent
    parent: int
    action: Call | Answer | None


def stands(session: Any) -> tuple[object, ...]:  # noqa: ANN401
    """What can be seen of a session that waits, and whether a call can land in it."""
    return (
        tuple(item.message for item in session.next_turn),
        tuple(item.message for item in session.next_step),
        session.status,
        session.gates,
        session.aborted if session.gates else None,
        session.listening,
        session.quiescent,
    )


def settle(
    machine: Machine,
    session: Any,  # noqa: ANN401
    scope: Scope,
    spent: Spent,
) -> tuple[Any, list[Any]]:
    """Move up to the next point of choice; the observations on the way."""
    flags = flags_of(scope, spent)
    seen: list[Any] = []
    while not is_choice(session, scope, flags):
        moved = machine.move(session)
        if moved is None:
            break
        if moved.observation is not None:
            seen.append(moved.observation)
        session = moved.session
    return session, seen


def differ(
    left: Machine,
    right: Machine,
    scopes: Iterable[Scope],
    states_max: int = STATES_MAX,
    stop: Callable[[], bool] = lambda: False,
) -> Parted | int:
    """The shortest difference that the scopes show, or how many pairs were compared without one.

    `left` is a machine of this import; its sessions offer the actions. Raises AssertionError when
    a machine breaks its own rules, which is a difference too but has no scenario of its own.
    """
    best: Parted | None = None
    compared = 0
    for scope in scopes:
        found = _search(left, right, scope, states_max, stop, best)
        if isinstance(found, int):
            compared += found
        else:
            compared += found.states
            if best is None or len(found.scenario) < len(best.scenario):
                best = found
    return compared if best is None else attrs.evolve(best, states=compared)


def _search(
    left: Machine,
    right: Machine,
    scope: Scope,
    states_max: int,
    stop: Callable[[], bool],
    best: Parted | None,
) -> Parted | int:
    pairs = [_Pair(left.start(scope), right.start(scope), Spent(), -1, None)]
    depth = [0]
    seen: set[tuple[Any, Any, Spent]] = set()
    for number, pair in enumerate(pairs):
        if stop() or len(pairs) > states_max:
            break
        if best is not None and depth[number] + 1 > len(best.scenario) + 2:
            break
        for action, spent in _offers(pair, scope):
            after, told = _both(left, right, pair, action, scope, spent)
            grown = _Pair(*after, spent, number, action)
            if told is not None:
                return _parted(pairs, grown, scope, told, len(pairs))
            key = (*after, spent)
            if key not in seen:
                seen.add(key)
                pairs.append(grown)
                depth.append(depth[number] + 1)
    return len(pairs)


def _offers(pair: _Pair, scope: Scope) -> Iterator[tuple[Call | Answer | None, Spent]]:
    new = text_message(letter(pair.spent.sends + pair.spent.edits))
    yield from choices(pair.left, scope, pair.spent, new)
    if not pair.left.quiescent:
        yield None, pair.spent


Told = tuple[tuple[str, ...], tuple[str, ...]]


def _both(
    left: Machine,
    right: Machine,
    pair: _Pair,
    action: Call | Answer | None,
    scope: Scope,
    spent: Spent,
) -> tuple[tuple[Any, Any], Told | None]:
    """Both sessions behind an action, and how they differ, if they do."""
    behind: list[Any] = []
    told: list[list[Any]] = []
    for machine, session in ((left, pair.left), (right, pair.right)):
        seen: list[Any] = []
        if action is None:
            moved = machine.move(session)
            assert moved is not None, "a session that is not quiescent moves"
            session = moved.session
            seen = [moved.observation] if moved.observation is not None else []
        else:
            session = machine.take(session, action)
            if hasattr(session, "because"):
                behind.append(pair.left)
                told.append([("refused", session.code)])
                continue
        session, more = settle(machine, session, scope, spent)
        behind.append(session)
        told.append(seen + more)
    same = told[0] == told[1] and stands(behind[0]) == stands(behind[1])
    if same:
        return (behind[0], behind[1]), None
    return (behind[0], behind[1]), (_shown(told[0], behind[0]), _shown(told[1], behind[1]))


def _shown(seen: list[Any], session: Any) -> tuple[str, ...]:  # noqa: ANN401
    """What one machine did, line by line, and where it stands."""
    lines = [
        observation_text(foreign(each, words_module)) if len(each) == 4 else f"refused: {each[1]}"
        for each in seen
    ]
    return (*lines, f"= {session_text(session)}")


def _parted(pairs: list[_Pair], last: _Pair, scope: Scope, told: Told, states: int) -> Parted:
    path: list[Call | Answer | None] = [last.action]
    parent = last.parent
    while parent > 0:
        path.append(pairs[parent].action)
        parent = pairs[parent].parent
    recorder = Recorder(pairs[0].left)
    spent = Spent()
    index = len(path) - 1
    for action in reversed(path):
        if action is None:
            moved = table_module.move(recorder.session)
            assert moved is not None
            recorder.see(moved)
        else:
            recorder.act(action)
        spent = _spent_at(pairs, last, index, spent)
        index -= 1
        while not is_choice(recorder.session, scope, flags_of(scope, spent)):
            moved = table_module.move(recorder.session)
            assert moved is not None
            recorder.see(moved)
    lines = tuple(tidied(recorder.lines))
    scenario = Scenario(lines, scope.profile, "", scope.gates)
    left, right = first_difference(*told)
    return Parted(scenario, left, right, states)


def _spent_at(pairs: list[_Pair], last: _Pair, back: int, spent: Spent) -> Spent:
    """What was spent behind the action that lies `back` steps before the last one."""
    pair = last
    for _ in range(back):
        pair = pairs[pair.parent]
    return pair.spent


def first_difference(
    left: tuple[str, ...], right: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both from one line before the first difference on."""
    index = 0
    while index < min(len(left), len(right)) and left[index] == right[index]:
        index += 1
    begin = max(0, index - 1)
    return left[begin:], right[begin:]
