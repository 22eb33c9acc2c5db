"""Breadth-first exploration of scopes: every property on every state and transition.

Theory. A state is a canonical session, the ghosts of the properties, and what the run has spent of
the scope's budget. Sessions that differ only in message ids and turn numbers are one
(`session.canonical`), and deterministic moves are merged: a state is a point where a call or an
answer may come. Canonical sessions and ghosts are far fewer than states, so each is kept once in a
table and a state is three numbers; what an action leads to is worked out once for each session,
and what the properties make of it once for each ghost. The search keeps the parent of each state,
not the state: a witness is rebuilt by replay. The order of actions is fixed, so two runs give the
same numbers.
"""

from array import array
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import attrs

from loopspec.model.possible import rest_of
from loopspec.model.properties import PROPERTIES, Breach
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import Listening, Session, canonical, letter, renamed
from loopspec.model.table import TABLE, Refusal, apply, move, row_of
from loopspec.model.words import Answer, Call, Entry, Made, Rest, text_message

MOVE: Final = "move"
Action = Call | Answer | str
Cell = tuple[str, str, str]
State = tuple[int, int, int, int]
"""The number of a state, then of its session, of its ghosts and of what the run has spent."""

Effect = tuple[tuple[Entry, ...], tuple[tuple[str, str], ...], int]

K = TypeVar("K", bound=Hashable)


class Table(Generic[K]):
    """Values numbered in the order in which they were first seen."""

    def __init__(self) -> None:
        """Start empty."""
        self.numbers: dict[K, int] = {}
        self.values: list[K] = []

    def number(self, value: K) -> int:
        """The number of a value."""
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.values)
            self.values.append(value)
        return number


class Found(NamedTuple):
    """A breach, with the state and action that show it."""

    property: str
    breach: Breach
    parent: int
    action: int


class Progress(NamedTuple):
    """How far a search is: for a progress line on standard error."""

    scope: str
    states: int
    transitions: int
    depth: int


@attrs.define
class Explored:
    """What one scope's exploration has found.

    `taken` and `fresh` count, for each row, the transitions that took it and those among them
    that led to a new state; `first` is a shortest transition that took it, as parent and action.
    `cells` does the same for call kind, window and driver state; `met` for premises of properties.
    """

    scope: Scope
    states: int = 0
    transitions: int = 0
    depth: int = 0
    complete: bool = True
    sessions: int = 0
    rests: set[int] = attrs.field(factory=set)
    taken: dict[str, int] = attrs.field(factory=dict)
    fresh: dict[str, int] = attrs.field(factory=dict)
    first: dict[str, tuple[int, int]] = attrs.field(factory=dict)
    cells: dict[Cell, int] = attrs.field(factory=dict)
    cell_first: dict[Cell, tuple[int, int]] = attrs.field(factory=dict)
    met: dict[str, tuple[int, int]] = attrs.field(factory=dict)
    found: list[Found] = attrs.field(factory=list)
    parents: "array[int]" = attrs.field(factory=lambda: array("q"))
    actions: "array[int]" = attrs.field(factory=lambda: array("l"))
    alphabet: list[Action] = attrs.field(factory=list)

    def path(self, parent: int, action: int) -> tuple[Action, ...]:
        """The actions from the start to a transition, each in the names of its own state."""
        steps = [self.alphabet[action]]
        while parent > 0:
            steps.append(self.alphabet[self.actions[parent]])
            parent = self.parents[parent]
        return tuple(reversed(steps))


def driver_state(session: Session) -> str:
    """Where the driver is, for the table of call kind, window and driver state."""
    if not session.running:
        return "idle"
    if session.gates:
        where = f"at {session.gates[0]}"
    elif session.looked:
        where = "has looked"
    elif session.turn_open:
        where = "in turn"
    else:
        where = "between turns"
    return f"{where}, aborted" if session.aborted else where


def window_kind(session: Session) -> str:
    """The kind of window in which a call lands now."""
    if session.stack and isinstance(session.stack[0], Listening):
        return f"in {session.stack[0].name}"
    return "between ticks" if session.ready else "at rest"


class Run(NamedTuple):
    """What follows an action by itself, up to the next point of choice.

    `effects` holds, for each property, the number of the entries that it looks at together with
    the names and the turn to count from behind them.
    """

    session: int
    quiescent: bool
    effects: tuple[int, ...]


@attrs.define
class Tally:
    """How often a run was a transition, and how often it led to a new state."""

    rows: tuple[str, ...]
    first: tuple[int, int]
    taken: int = 0
    fresh: int = 0


class _Search:
    """One breadth-first search.

    `merge` and `rename` are switched off only to prove them right: the same rest states and
    verdicts are found without them.
    """

    def __init__(self, scope: Scope, merge: bool, rename: bool, states_max: int) -> None:
        self.scope = scope
        self.merge = merge
        self.rename = rename
        self.states_max = states_max
        self.result = Explored(scope)
        self.actions: Table[Action] = Table()
        self.sessions: Table[Session] = Table()
        self.plain: Table[Session] = Table()
        self.own_ghosts: list[Table[Any]] = [Table() for _ in PROPERTIES]
        self.ghosts: Table[tuple[int, ...]] = Table()
        self.spents: Table[Spent] = Table()
        self.runs: dict[tuple[int, int, int], int] = {}
        self.all_runs: list[Run] = []
        self.tallies: list[Tally] = []
        self.effects: Table[Effect] = Table()
        self.steps: list[dict[int, int]] = [{} for _ in PROPERTIES]
        self.rested: list[set[int]] = [set() for _ in PROPERTIES]
        self.offers: dict[tuple[int, int], tuple[tuple[int, int, Cell | None], ...]] = {}
        self.ids: dict[int, int] = {}
        self.seen: set[tuple[int, int, int]] = set()

    # --- What an action leads to ---

    def number_of(self, session: Session) -> tuple[int, dict[str, str]]:
        """The number of the canonical session and the names that it gives."""
        if not self.rename:
            return self.sessions.number(session), {}
        plain, names = canonical(session)
        number = self.sessions.number(plain)
        self.ids[number] = len(names)
        return number, names

    def run(self, number: int, action: int, spent: int, at: tuple[int, int]) -> int:
        """The number of the run behind an action in a session."""
        flags = flags_of(self.scope, self.spents.values[spent])
        key = (number, action, flags)
        known = self.runs.get(key)
        if known is None:
            known = self.runs[key] = len(self.all_runs)
            run, rows = self.make_run(self.sessions.values[number], action, flags)
            self.all_runs.append(run)
            self.tallies.append(Tally(rows, at))
        return known

    def make_run(self, session: Session, number: int, flags: int) -> tuple[Run, tuple[str, ...]]:
        """An action and all moves behind it up to the next point of choice."""
        action = self.actions.values[number]
        rows: list[str] = []
        entries: list[Entry] = []
        if isinstance(action, str):
            session = self.one_move(session, rows, entries)
        else:
            rows.append(row_of(session, action).key)
            inside = session.listening
            entries.append(Made(action, inside) if isinstance(action, Call) else action)
            after = apply(session, action)
            assert not isinstance(after, Refusal), f"{action} is enabled: {after}"
            session = after
        while self.merge and not is_choice(session, self.scope, flags):
            session = self.one_move(session, rows, entries)
        newest = int(session.turn) if self.rename else 0
        after_number, names = self.number_of(session)
        given = tuple(names.items())
        effects = tuple(
            self.effects.number((tuple(filter(each.looks_at, entries)), given, newest))
            for each in PROPERTIES
        )
        return Run(after_number, session.quiescent, effects), tuple(rows)

    def one_move(self, session: Session, rows: list[str], entries: list[Entry]) -> Session:
        """One move, with its row and observation written down."""
        moved = move(session)
        assert moved is not None, "a session that is not quiescent moves"
        rows.append(moved.row.key)
        if moved.observation is not None:
            entries.append(moved.observation)
        return moved.session

    # --- What the properties make of it ---

    def watch(self, ghosts: int, run: Run, at: tuple[int, int]) -> int:
        """The number of the ghosts behind a run; each property is worked out by itself."""
        after: list[int] = []
        for index, ghost in enumerate(self.ghosts.values[ghosts]):
            key = ghost << 32 | run.effects[index]
            following = self.steps[index].get(key)
            if following is None:
                following = self.watch_one(index, ghost, run.effects[index], at)
                self.steps[index][key] = following
            after.append(following)
        return self.ghosts.number(tuple(after))

    def watch_one(self, index: int, ghost: int, effect: int, at: tuple[int, int]) -> int:
        """The number of one property's ghost behind a run.

        An id that only this ghost still knows gets a private name: no call can name it again, and
        no other property looks at it.
        """
        each, own = PROPERTIES[index], self.own_ghosts[index].values[ghost]
        entries, names, newest = self.effects.values[effect]
        for entry in entries:
            if each.code not in self.result.met and each.met(own, entry):
                self.result.met[each.code] = at
            own, breaches = each.step(own, entry)
            self.report(breaches, at)
        if self.rename:
            own = renamed(own, dict(names), newest, private=True)
        return self.own_ghosts[index].number(own)

    def report(self, breaches: Iterable[Breach], at: tuple[int, int]) -> None:
        """Keep the first breach of each property: breadth first makes it a shortest one."""
        for breach in breaches:
            if all(breach.code != found.property for found in self.result.found):
                self.result.found.append(Found(breach.code, breach, *at))

    def check_rest(self, session: int, ghosts: int, at: tuple[int, int]) -> None:
        """Count a rest state and let the properties look at it."""
        quiet = self.sessions.values[session]
        rest: Rest | None = None
        for index, ghost in enumerate(self.ghosts.values[ghosts]):
            if (key := ghost << 32 | session) in self.rested[index]:
                continue
            self.rested[index].add(key)
            rest = rest or rest_of(quiet)
            each, own = PROPERTIES[index], self.own_ghosts[index].values[ghost]
            self.report(each.at_rest(own, rest), at)
        self.result.rests.add(session if self.rename else self.number_of_plain(quiet))

    def number_of_plain(self, session: Session) -> int:
        """The number of the canonical session among those met at rest."""
        return self.plain.number(canonical(session)[0])

    # --- The search ---

    def offer(self, session: int, spent: int) -> tuple[tuple[int, int, Cell | None], ...]:
        """The actions of a state, each with the budget behind it and, for a call, its cell."""
        known = self.offers.get((session, spent))
        if known is not None:
            return known
        at, paid = self.sessions.values[session], self.spents.values[spent]
        named = self.ids[session] if self.rename else paid.sends + paid.edits
        offered: list[tuple[int, int, Cell | None]] = []
        for action, after in choices(at, self.scope, paid, text_message(letter(named))):
            cell = None
            if isinstance(action, Call):
                cell = (action.name, window_kind(at), driver_state(at))
            offered.append((self.actions.number(action), self.spents.number(after), cell))
        if not at.quiescent:
            offered.append((self.actions.number(MOVE), spent, None))
        known = self.offers[(session, spent)] = tuple(offered)
        return known

    def search(
        self, progress: Callable[[Progress], None] | None, stop: Callable[[], bool]
    ) -> Explored:
        """The whole search, or as much as `states_max` and `stop` allow."""
        result = self.result
        session, _ = self.number_of(self.scope.start)
        start = tuple(
            own.number(each.start) for own, each in zip(self.own_ghosts, PROPERTIES, strict=True)
        )
        root = (session, self.ghosts.number(start), self.spents.number(Spent()))
        self.seen.add(root)
        self.keep(-1, -1)
        frontier = [(0, *root)]
        while frontier and result.complete:
            following: list[State] = []
            for count, state in enumerate(frontier):
                if self.states_max and result.states >= self.states_max:
                    result.complete = False
                    break
                if count % 256 == 0:
                    if stop():
                        result.complete = False
                        break
                    if progress is not None:
                        progress(self.progress())
                self.expand(state, following)
            if following:
                result.depth += 1
            frontier = following
        self.summarise()
        return result

    def progress(self) -> Progress:
        """How far the search is."""
        result = self.result
        return Progress(self.scope.name, result.states, result.transitions, result.depth)

    def expand(self, state: State, following: list[State]) -> None:
        """All transitions of one state."""
        parent, session, ghosts, spent = state
        result = self.result
        for action, paid, cell in self.offer(session, spent):
            at = (parent, action)
            number = self.run(session, action, paid, at)
            run = self.all_runs[number]
            behind = self.watch(ghosts, run, at)
            tally = self.tallies[number]
            tally.taken += 1
            result.transitions += 1
            if cell is not None:
                result.cells[cell] = result.cells.get(cell, 0) + 1
                if cell not in result.cell_first:
                    result.cell_first[cell] = at
            key = (run.session, behind, paid)
            if key in self.seen:
                continue
            self.seen.add(key)
            tally.fresh += 1
            following.append((self.keep(parent, action), *key))
            if run.quiescent:
                self.check_rest(run.session, behind, at)

    def keep(self, parent: int, action: int) -> int:
        """The number of a new state."""
        self.result.parents.append(parent)
        self.result.actions.append(action)
        self.result.states += 1
        return self.result.states - 1

    def summarise(self) -> None:
        """Fold the tallies of runs into counts of rows."""
        result = self.result
        result.sessions = len(self.sessions.values)
        result.alphabet = self.actions.values
        for tally in self.tallies:
            for key in tally.rows:
                result.taken[key] = result.taken.get(key, 0) + tally.taken
                result.fresh[key] = result.fresh.get(key, 0) + tally.fresh
                result.first.setdefault(key, tally.first)


def flags_of(scope: Scope, spent: Spent) -> int:
    """What of the budget decides where a run stops: twice calls left plus calls inside left."""
    if not scope.between and not scope.inside:
        return 0
    left = spent.sends < scope.sends or spent.edits < scope.edits or spent.cancels < scope.cancels
    return 2 * left + (spent.inside < scope.inside)


def is_choice(session: Session, scope: Scope, flags: int) -> bool:
    """Whether something other than a move may happen here; `flags` as `flags_of` gives."""
    if session.quiescent:
        return True
    if flags < 2:
        return False
    if session.ready:
        return scope.between
    return flags == 3 and session.listening and session.depth <= scope.depth


def never() -> bool:
    """Do not stop."""
    return False


def explore(
    scope: Scope,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] = never,
    states_max: int = 0,
    merge: bool = True,
    rename: bool = True,
) -> Explored:
    """Explore one scope breadth first, with every property on every state and transition.

    `progress` is called now and then; `stop` ends the search early, as `states_max` does when it
    is not 0. `merge` and `rename` are for the proofs that merging moves and renaming ids change
    neither the rest states nor the verdicts.
    """
    return _Search(scope, merge, rename, states_max).search(progress, stop)


def dead_rows(results: Iterable[Explored]) -> tuple[str, ...]:
    """The rows of the table that no exploration has taken, in table order."""
    taken = {key for result in results for key in result.taken}
    return tuple(each.key for each in TABLE if each.key not in taken)
