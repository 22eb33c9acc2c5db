"""The product search: the shortest scenario on which two machines part.

Theory. Two machines are run side by side. Each action is made on both, both move to the next point
of choice, and what they were seen to do is compared; where both wait, also where they stand: lists,
status, open gates. One may be some ticks ahead of the other: that alone is no difference. Several
scopes are searched in step, pairs with fewer scenario lines first, so the first difference has a
shortest scenario of all of them. *Alike* is said only after whole scopes without a difference, or
with the number of pairs compared.

A machine is a table with a policy. The second one may come from another import of this package (a
mutant of the table), so nothing but plain tuples is compared between them; it may also break its
own rules or never come to rest, and that is a difference like any other.
"""

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

import attrs

from loopspec.model import session as session_module
from loopspec.model import table as table_module
from loopspec.model import words as words_module
from loopspec.model.describe import observation_text, session_text
from loopspec.model.policy import PROFILES, Policy
from loopspec.model.runs import flags_of, is_choice, key_of
from loopspec.model.scenario import Scenario
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import letter
from loopspec.model.witness import Recorder, is_passing, tidied
from loopspec.model.words import PASSED, Answer, Call, Message, text_message

__all__ = ["Alike", "Machine", "Parted", "differ", "shipped"]

STATES_MAX: Final = 20_000
"""Pairs of one scope that are compared at most."""

LINES_MAX: Final = 99
"""No scenario of a search is as long."""

MOVES_MAX: Final = 1_000
"""A machine that has not come to rest after so many moves goes on for ever."""


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
        if self.words is not words_module:
            return self.table.apply(session, foreign(action, self.words))
        return self.table.apply(session, action)


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
    """Where two machines part: the scenario, and what each of them does there.

    `scope` is the one that shows it; `pairs` counts what was compared in all scopes.
    """

    scenario: Scenario
    left: tuple[str, ...]
    right: tuple[str, ...]
    scope: str
    pairs: int


@attrs.frozen
class Alike:
    """No difference was found; `complete` says that each scope was searched to its end."""

    pairs: int
    complete: bool


Told = tuple[tuple[str, ...], tuple[str, ...]]


class _Pair(NamedTuple):
    """Two sessions behind the same actions.

    `used` counts the messages that were named; `lines` the scenario lines, without the last one
    when that only lets a gate pass, which `passing` tells: what comes next may make it go without
    saying.
    """

    left: Any
    right: Any
    spent: Spent
    parent: int
    action: Call | Answer | None
    used: int
    lines: int
    passing: int
    ahead: "_Ahead" = ((), ())


_Ahead = tuple[tuple[Any, ...], tuple[Any, ...]]
"""What each machine was seen to do that the other has not done yet; one of them is empty."""


def stands(session: Any) -> tuple[object, ...]:  # noqa: ANN401
    """What can be seen of a session that waits."""
    return (
        tuple([item.message for item in session.next_turn]),
        tuple([item.message for item in session.next_step]),
        session.running,
        session.gates,
        session.cause is not None if session.gates else None,
    )


def alike(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether nothing tells two sessions that wait apart."""
    return stands(left) == stands(right)


def settle(machine: Machine, session: Any, scope: Scope, flags: int) -> tuple[Any, list[Any]]:  # noqa: ANN401
    """Move up to the next point of choice; the observations on the way."""
    seen: list[Any] = []
    move = machine.table.move
    for _ in range(MOVES_MAX):
        if is_choice(session, scope, flags):
            return session, seen
        moved = move(session)
        if moved is None:
            return session, seen
        if moved.observation is not None:
            seen.append(moved.observation)
        session = moved.session
    return session, [*seen, ("goes on for ever",)]


def made(
    machine: Machine,
    session: Any,  # noqa: ANN401
    action: Call | Answer | None,
    scope: Scope,
    flags: int,
) -> tuple[Any, list[Any]]:
    """The session behind an action and all that follows it, and what was seen of it.

    A mutant may raise anything; whatever it is, it is what this machine does.
    """
    try:
        if action is not None:
            after = machine.take(session, action)
            if hasattr(after, "because"):
                return session, [("refused", after.code)]
            return settle(machine, after, scope, flags)
        moved = machine.table.move(session)
        if moved is None:
            return session, []
        after, seen = settle(machine, moved.session, scope, flags)
    except Exception as error:
        return session, [("fails", type(error).__name__, str(error)[:80])]
    return after, [moved.observation, *seen] if moved.observation is not None else seen


_Run = tuple[Any, list[Any]]
"""Where a run ends, and what was seen of it."""


class _Search:
    """The pairs of one scope, those with fewer lines first."""

    def __init__(self, left: Machine, right: Machine, scope: Scope) -> None:
        self.left, self.right, self.scope = left, right, scope
        self.pairs = [_Pair(left.start(scope), right.start(scope), Spent(), -1, None, 0, 0, 0)]
        self.waiting: dict[tuple[int, int], list[int]] = {(0, 0): [0]}
        self.seen: set[tuple[Any, ...]] = set()
        self.runs: tuple[dict[Any, _Run], dict[Any, _Run]] = ({}, {})
        self.found: tuple[int, _Pair, Told] | None = None
        self.limit = LINES_MAX
        self.complete = True

    @property
    def lines(self) -> int:
        """How many lines show the difference that was found."""
        assert self.found is not None
        return self.found[0]

    def step(self, level: tuple[int, int], states_max: int, stop: Callable[[], bool]) -> None:
        """Go on from every pair of a level; a difference ends it."""
        waiting = self.waiting.pop(level, [])
        for number in waiting:  # it grows: a move by itself adds no line
            pair = self.pairs[number]
            key = (key_of(pair.left), key_of(pair.right), pair.spent, pair.ahead)
            if key in self.seen:
                continue
            if len(self.seen) >= states_max or stop():
                self.complete = False
                self.waiting.clear()
                return
            self.seen.add(key)
            for grown, told in self.behind(number, key):
                if told is None:
                    place = (grown.lines, grown.passing)
                    bucket = waiting if place == level else self.waiting.setdefault(place, [])
                    bucket.append(len(self.pairs))
                    self.pairs.append(grown)
                elif self.found is None or grown.lines + grown.passing < self.lines:
                    self.found = (grown.lines + grown.passing, grown, told)
                    self.limit = self.lines

    def behind(self, number: int, keys: tuple[Any, ...]) -> Iterator[tuple[_Pair, Told | None]]:
        """Every pair behind a pair, with the difference if there is one."""
        pair = self.pairs[number]
        new = text_message(letter(pair.used))
        for action, spent in self.offers(pair, new):
            lines, passing = _counted(pair, action)
            if lines + passing >= self.limit:
                continue
            flags = flags_of(self.scope, spent)
            left, told_left = self.run(0, pair.left, keys[0], action, flags)
            right, told_right = self.run(1, pair.right, keys[1], action, flags)
            used = pair.used + (action is not None and _names(action, new))
            ahead = apart((*pair.ahead[0], *told_left), (*pair.ahead[1], *told_right))
            grown = _Pair(left, right, spent, number, action, used, lines, passing, ahead)
            if left.quiescent and right.quiescent:
                same = not any(ahead) and alike(left, right)
            else:
                same = not all(ahead)
            if same:
                yield grown, None
            else:
                yield grown, (_shown(ahead[0], left), _shown(ahead[1], right))

    def run(
        self,
        side: int,
        session: Any,  # noqa: ANN401
        key: tuple[object, ...],
        action: Call | Answer | None,
        flags: int,
    ) -> "_Run":
        """What one machine makes of an action; sessions recur with other budgets."""
        known = self.runs[side]
        place = (key, action, flags)
        if place not in known:
            machine = self.right if side else self.left
            known[place] = made(machine, session, action, self.scope, flags)
        return known[place]

    def offers(self, pair: _Pair, new: Message) -> Iterator[tuple[Call | Answer | None, Spent]]:
        """What the scope allows in the left session, and the next move of whoever is not at rest.

        While the left machine has done more than the right one, nothing but moves: a call would
        land at another place of the scenario.
        """
        if not pair.ahead[0] and pair.left.listening == pair.right.listening:
            yield from choices(pair.left, self.scope, pair.spent, new)
        if not (pair.left.quiescent and pair.right.quiescent):
            yield None, pair.spent


def _names(action: Call | Answer, message: Message) -> bool:
    """Whether an action names a message."""
    if isinstance(action, Answer):
        return message in (action.messages or ())
    return any(message == arg or (isinstance(arg, tuple) and message in arg) for arg in action.args)


def _counted(pair: _Pair, action: Call | Answer | None) -> tuple[int, int]:
    """Lines and passing behind an action; as `witness.tidied` leaves lines out."""
    if action is None:
        return pair.lines, pair.passing
    if isinstance(action, Answer) and action.gate not in PASSED:
        return pair.lines + 1, 0
    if is_passing(action):
        return pair.lines + pair.passing, 1
    return pair.lines + pair.passing + 1, 0


def differ(
    left: Machine,
    right: Machine,
    scopes: Iterable[Scope],
    states_max: int = STATES_MAX,
    stop: Callable[[], bool] = lambda: False,
) -> Parted | Alike:
    """The shortest difference that the scopes show, or how much was compared without one.

    `left` is a machine of this import; its sessions offer the actions. At most `states_max` pairs
    of each scope are compared.
    """
    searches = [_Search(left, right, scope) for scope in scopes]
    best: _Search | None = None
    while True:
        for index, search in enumerate(searches):
            if best is not None:
                # An earlier scope may show a difference of the same length in plainer words.
                search.limit = best.lines + (index < searches.index(best))
        levels = [level for each in searches for level in each.waiting if sum(level) < each.limit]
        if not levels:
            break
        for search in searches:
            if min(levels) in search.waiting:
                before = search.found
                search.step(min(levels), states_max, stop)
                if search.found is not before:
                    best = search
                    break
    pairs = sum(len(search.seen) for search in searches)
    if best is None:
        return Alike(pairs, all(search.complete for search in searches))
    return _parted(best, pairs)


def apart(left: tuple[Any, ...], right: tuple[Any, ...]) -> _Ahead:
    """Both without what they begin with alike."""
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    return left[same:], right[same:]


def _shown(seen: tuple[Any, ...], session: Any) -> tuple[str, ...]:  # noqa: ANN401
    """What one machine did, line by line, and where it stands."""
    lines = [
        observation_text(foreign(each, words_module)) if hasattr(each, "data") else ": ".join(each)
        for each in seen
    ]
    return (*lines, f"= {session_text(session)}")


def _parted(search: _Search, pairs: int) -> Parted:
    """The scenario of a difference, by replay of its path on the left machine."""
    assert search.found is not None
    _, last, told = search.found
    path = [last]
    while path[-1].parent > 0:
        path.append(search.pairs[path[-1].parent])
    recorder = Recorder(search.pairs[0].left)
    for pair in reversed(path):
        if pair.action is None:
            _move(recorder)
        else:
            recorder.act(pair.action)
        flags = flags_of(search.scope, pair.spent)
        while pair is not last and not is_choice(recorder.session, search.scope, flags):
            _move(recorder)
    profile = next((n for n, policy in PROFILES.items() if policy == search.left.policy), "notes")
    scenario = Scenario(tuple(tidied(recorder.lines)), profile, "", search.scope.gates)
    return Parted(scenario, *told, search.scope.name, pairs)


def _move(recorder: Recorder) -> None:
    moved = table_module.move(recorder.session)
    if moved is not None:
        recorder.see(moved)
