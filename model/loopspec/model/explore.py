"""Breadth-first exploration of scopes: every property on every state and transition.

Theory. A state is a canonical session, the ghosts of the properties, and what the run has spent of
the scope's budget. Sessions that differ only in message ids and turn numbers are one
(`session.canonical`), and deterministic moves are merged: a state is a point where a call or an
answer may come. Canonical sessions and ghosts are far fewer than states, so each is kept once in a
table and a state is two numbers: its *place* (session and budget) and its ghosts. What an action
leads to is worked out once for each session (`runs`), its *episode* (the entries as moments) once
for the facts before it, and what a property makes of an episode once for each ghost of its own.
The search keeps the parent of each state, not the state: a witness is rebuilt by replay. The order
of actions is fixed, so two runs give the same numbers.
"""

from array import array
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

import attrs

from loopspec.model.possible import rest_of
from loopspec.model.properties import Breach, laws
from loopspec.model.properties.facts import Facts, Moment, moment
from loopspec.model.runs import Runs, SharedRuns, Table, flags_of, is_choice, key_of
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import Listening, Session, canonical, letter, renamed
from loopspec.model.table import TABLE
from loopspec.model.words import Answer, Call, text_message

MOVE: Final = "move"
Action = Call | Answer | str
Cell = tuple[str, str, str]
State = tuple[int, int]
"""The number of a state, and its key: place and ghosts, packed."""

Naming = tuple[tuple[tuple[str, str], ...], int]
"""The names behind a run and the turn from which turns count behind it."""

NO_CELL: Final = -1
AT_START: Final = 0
"""The number of the ghost with which a property starts; it holds no message."""

WIDTH: Final = 32
MASK: Final = (1 << WIDTH) - 1
"""Numbers are packed side by side, 32 bits each."""

REMEMBERED: Final = 4096
"""How many results of one kind are remembered in any case."""

K = TypeVar("K")
V = TypeVar("V")


def remember(known: dict[K, V], key: K, value: V, limit: int) -> V:
    """Keep a value that can be worked out again; forgets everything when that is too much."""
    if len(known) >= limit:
        known.clear()
    known[key] = value
    return value


class Found(NamedTuple):
    """A breach, with the state and action that show it."""

    property: str
    breach: Breach
    parent: int
    action: int


class Episode(NamedTuple):
    """What a run tells behind certain facts.

    `facts` is the number of the facts behind it, `names` and `newest` are how they are named, and
    `moments` has for each property those that it reads.
    """

    facts: int
    names: dict[str, str]
    newest: int
    moments: tuple[tuple[Moment, ...], ...]


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
    parents: "array[int]" = attrs.field(factory=lambda: array("i"))
    actions: "array[int]" = attrs.field(factory=lambda: array("i"))
    alphabet: list[Action] = attrs.field(factory=list)

    def path(self, parent: int, action: int) -> tuple[Action, ...]:
        """The actions from the start to a transition, each in the names of its own state."""
        steps = [self.alphabet[action]]
        while parent > 0:
            steps.append(self.alphabet[self.actions[parent]])
            parent = self.parents[parent]
        return tuple(reversed(steps))


def driver_state(session: Session) -> str:
    """Where the driver is, for the table of call kind, window and driver state.

    The oldest open gate says it, by its kind: which of several tools is open is no state.
    """
    if not session.running:
        return "idle"
    if session.gates:
        where = f"at {session.gates[0].partition(' ')[0]}"
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


@attrs.define
class Tally:
    """How often something was a transition, and how often that led to a new state."""

    first: tuple[int, int]
    taken: int = 0
    fresh: int = 0


WORDS: Final = 5
"""A transition of a state in numbers: action, place behind it, cell or `NO_CELL`, trace, rows."""


class _Search:
    """One breadth-first search.

    `merge`, `rename` and `memo` are switched off only to prove them right: the same is found
    without them. Whatever can be worked out again is kept within bounds.
    """

    def __init__(
        self, scope: Scope, merge: bool, rename: bool, memo: bool, states_max: int
    ) -> None:
        self.scope = scope
        self.properties = laws(scope.policy, scope.faults > 0, scope.deaths > 0)
        self.rename = rename
        self.states_max = states_max
        self.result = Explored(scope)
        self.runs = SharedRuns(scope, merge) if memo else Runs(scope, merge)
        self.actions: Table[Action] = Table()
        self.cells: Table[Cell] = Table()
        self.sessions: Table[Session] = Table()
        self.plain: Table[Session] = Table()
        self.spents: Table[Spent] = Table()
        self.places: Table[tuple[int, int]] = Table()
        self.offers: dict[int, array[int]] = {}
        self.visits = array("i")
        self.rows: Table[tuple[str, ...]] = Table()
        self.tallies: list[Tally] = []
        self.namings: Table[Naming] = Table()
        self.traces: Table[tuple[tuple[int, ...], int]] = Table()
        self.named: list[int] = []
        """For each session, how many messages it names."""
        self.facts: Table[Facts] = Table()
        self.told: Table[int] = Table()
        """Facts and the trace behind them, packed: an episode's number."""
        self.steps: list[dict[int, int]] = [{} for _ in self.properties]
        self.cell_tallies: list[Tally] = []
        self.own_ghosts: list[Table[Any]] = [Table() for _ in self.properties]
        self.ghosts: Table[tuple[int, ...]] = Table()
        self.seen: set[int] = set()
        # What may be forgotten.
        self.known_runs: dict[int, int] = {}
        self.known_watches: dict[int, int] = {}
        self.known_episodes: dict[int, Episode] = {}
        self.known_rests: dict[int, bool] = {}
        self.known_ends: dict[tuple[object, ...], tuple[int, int]] = {}

    # --- What an action leads to ---

    def number_of(self, session: Session) -> tuple[int, int]:
        """The number of the canonical session and of the naming behind it."""
        key = key_of(session)
        known = self.known_ends.get(key)
        if known is None:
            plain, names = canonical(session) if self.rename else (session, {})
            number = self.sessions.number(plain)
            if number == len(self.named):
                self.named.append(len(names))
            newest = int(session.turn) if self.rename else 0
            known = number, self.namings.number((tuple(names.items()), newest))
            remember(self.known_ends, key, known, REMEMBERED)
        return known

    def run(self, number: int, action: int, flags: int) -> int:
        """The packed numbers of the session, the trace and the rows behind an action."""
        made = self.actions.values[action]
        end, rows, entries = self.runs.behind(
            self.sessions.values[number], None if isinstance(made, str) else made, flags
        )
        session, naming = self.number_of(end)
        trace = self.traces.number((entries, naming))
        return (session << WIDTH | trace) << WIDTH | self.rows.number(rows)

    # --- What the properties make of it ---

    def watch(self, ghosts: int, trace: int, at: tuple[int, int]) -> int:
        """The number of the ghosts behind a run; each property is worked out by itself."""
        facts, *own = self.ghosts.values[ghosts]
        told = self.told.number(facts << WIDTH | trace)
        episode = self.known_episodes.get(told)
        if episode is None:
            episode = self.episode(facts, trace)
            remember(self.known_episodes, told, episode, self.limit)
        after = [episode.facts]
        for index, (ghost, moments) in enumerate(zip(own, episode.moments, strict=True)):
            if not moments and ghost == AT_START:
                after.append(AT_START)
                continue
            key = ghost << WIDTH | told
            following = self.steps[index].get(key)
            if following is None:
                following = self.watch_one(index, ghost, episode, at)
                self.steps[index][key] = following
            after.append(following)
        return self.ghosts.number(tuple(after))

    def episode(self, facts: int, trace: int) -> Episode:
        """The moments of a run behind certain facts.

        An id that no session knows any more gets a private name: no call can name it again.
        """
        now = self.facts.values[facts]
        entries, naming = self.traces.values[trace]
        moments: list[Moment] = []
        for entry in entries:
            at = moment(now, self.runs.entries.values[entry])
            if at is not None:
                moments.append(at)
                now = at.now
        of_each = tuple(
            tuple(at for at in moments if at.name in each.reads) for each in self.properties
        )
        known, newest = self.namings.values[naming]
        names = dict(known)
        plain = renamed(now, names, newest, private=True) if self.rename else now
        assert isinstance(plain, Facts)
        return Episode(self.facts.number(plain), names, newest, of_each)

    def watch_one(self, index: int, ghost: int, episode: Episode, at: tuple[int, int]) -> int:
        """The number of one property's ghost behind an episode, in the names of its facts.

        An id that only this ghost still knows gets a private name too: no other property looks at
        it.
        """
        each, own = self.properties[index], self.own_ghosts[index].values[ghost]
        for one in episode.moments[index]:
            if each.code not in self.result.met and each.met(own, one):
                self.result.met[each.code] = at
            own, breaches = each.step(own, one)
            self.report(breaches, at)
        if self.rename:
            own = renamed(own, dict(episode.names), episode.newest, private=True)
        return self.own_ghosts[index].number(own)

    def report(self, breaches: Iterable[Breach], at: tuple[int, int]) -> None:
        """Keep the first breach of each property: breadth first makes it a shortest one."""
        for breach in breaches:
            if all(breach.code != found.property for found in self.result.found):
                self.result.found.append(Found(breach.code, breach, *at))

    def check_rest(self, session: int, ghosts: int, at: tuple[int, int]) -> None:
        """Count a rest state and let the properties look at it."""
        quiet = self.sessions.values[session]
        self.result.rests.add(session if self.rename else self.number_of_plain(quiet))
        key = session << WIDTH | ghosts
        if key in self.known_rests:
            return
        remember(self.known_rests, key, True, self.limit)
        rest = rest_of(quiet)
        known, *ghosts_of_each = self.ghosts.values[ghosts]
        facts = self.facts.values[known]
        for each, own, ghost in zip(self.properties, self.own_ghosts, ghosts_of_each, strict=True):
            self.report(each.at_rest(own.values[ghost], facts, rest), at)

    def number_of_plain(self, session: Session) -> int:
        """The number of the canonical session among those met at rest."""
        return self.plain.number(canonical(session)[0])

    # --- The search ---

    def offer(self, place: int, parent: int) -> "array[int]":
        """The transitions of all states at a place, which is a session with a budget."""
        session, spent = self.places.values[place]
        at, paid = self.sessions.values[session], self.spents.values[spent]
        used = self.named[session] if self.rename else paid.sends + paid.edits
        where = (window_kind(at), driver_state(at))
        actions: list[tuple[Action, Spent]] = []
        actions.extend(choices(at, self.scope, paid, text_message(letter(used))))
        if not at.quiescent:
            actions.append((MOVE, paid))
        offers = array("i")
        for action, after in actions:
            number = self.actions.number(action)
            flags = flags_of(self.scope, after)
            key = (session << WIDTH | number) << 2 | flags
            run = self.known_runs.get(key)
            if run is None:
                run = self.run(session, number, flags)
                remember(self.known_runs, key, run, self.limit)
            cell = NO_CELL
            if isinstance(action, Call):
                cell = self.cells.number((action.name, *where))
                if cell == len(self.cell_tallies):
                    self.cell_tallies.append(Tally((parent, number)))
            end, trace, rows = run >> 2 * WIDTH, run >> WIDTH & MASK, run & MASK
            if rows == len(self.tallies):
                self.tallies.append(Tally((parent, number)))
            behind = self.places.number((end, self.spents.number(after)))
            offers.extend((number, behind, cell, trace, rows))
        return offers

    @property
    def limit(self) -> int:
        """How much of one kind is remembered: bounded for each state."""
        return REMEMBERED + 2 * self.result.states

    def search(
        self, progress: Callable[[Progress], None] | None, stop: Callable[[], bool]
    ) -> Explored:
        """The whole search, or as much as `states_max` and `stop` allow."""
        result = self.result
        session, _ = self.number_of(self.scope.start)
        start = tuple(
            own.number(each.start)
            for own, each in zip(self.own_ghosts, self.properties, strict=True)
        )
        place = self.places.number((session, self.spents.number(Spent())))
        root = place << WIDTH | self.ghosts.number((self.facts.number(Facts()), *start))
        self.seen.add(root)
        self.keep(-1, -1)
        frontier = [(0, root)]
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
        parent, packed = state
        place, ghosts = packed >> WIDTH, packed & MASK
        while place >= len(self.visits):
            self.visits.append(0)
        self.visits[place] += 1
        offers = self.offers.get(place)
        if offers is None:
            offers = self.offers[place] = self.offer(place, parent)
        seen, watches = self.seen, self.known_watches
        each = iter(offers)
        for action, there, _, trace, rows in zip(each, each, each, each, each, strict=True):
            behind = watches.get(ghosts << WIDTH | trace)
            if behind is None:
                behind = self.watch(ghosts, trace, (parent, action))
                remember(watches, ghosts << WIDTH | trace, behind, self.limit)
            key = there << WIDTH | behind
            if key in seen:
                continue
            seen.add(key)
            self.tallies[rows].fresh += 1
            following.append((self.keep(parent, action), key))
            session = self.places.values[there][0]
            if self.sessions.values[session].quiescent:
                self.check_rest(session, behind, (parent, action))
        self.result.transitions += len(offers) // WORDS

    def keep(self, parent: int, action: int) -> int:
        """The number of a new state."""
        self.result.parents.append(parent)
        self.result.actions.append(action)
        self.result.states += 1
        return self.result.states - 1

    def summarise(self) -> None:
        """Fold the tallies of runs into counts of rows and of cells."""
        result = self.result
        result.sessions = len(self.sessions.values)
        result.alphabet = self.actions.values
        for place, offers in self.offers.items():
            for cell, number in zip(offers[2::WORDS], offers[4::WORDS], strict=True):
                self.tallies[number].taken += self.visits[place]
                if cell != NO_CELL:
                    self.cell_tallies[cell].taken += self.visits[place]
        for rows, tally in zip(self.rows.values, self.tallies, strict=True):
            for key in rows:
                result.taken[key] = result.taken.get(key, 0) + tally.taken
                result.fresh[key] = result.fresh.get(key, 0) + tally.fresh
                result.first.setdefault(key, tally.first)
        for name, tally in zip(self.cells.values, self.cell_tallies, strict=True):
            result.cells[name] = tally.taken
            result.cell_first[name] = tally.first


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
    memo: bool = True,
) -> Explored:
    """Explore one scope breadth first, with every property on every state and transition.

    `progress` is called now and then; `stop` ends the search early, as `states_max` does when it
    is not 0. `merge` and `rename` are for the proofs that merging moves and renaming ids change
    neither the rest states nor the verdicts, `memo` for the proof that sharing runs is neutral.
    """
    return _Search(scope, merge, rename, memo, states_max).search(progress, stop)


def dead_rows(results: Iterable[Explored]) -> tuple[str, ...]:
    """The rows of the table that no exploration has taken, in table order."""
    taken = {key for result in results for key in result.taken}
    return tuple(each.key for each in TABLE if each.key not in taken)


__all__ = [
    "Action",
    "Cell",
    "Explored",
    "Found",
    "Progress",
    "dead_rows",
    "driver_state",
    "explore",
    "flags_of",
    "is_choice",
    "window_kind",
]
