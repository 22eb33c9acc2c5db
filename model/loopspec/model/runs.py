"""What an action leads to by itself: the moves behind it, up to the next point of choice.

Theory. Moves are deterministic, so what follows an action is one run, and all that a search needs
of a run is where it ends, the rows that it took and the entries that it made. `Runs` walks move by
move and is the meaning. `SharedRuns` gives the same with less work, from two facts. Runs meet:
different actions lead to equal sessions, so each session on the way remembers what follows it. And
a delivery in which nobody may call depends on nothing but its frame, so it is worked out once a
frame. Both take every row from the table; `tests/quality/test_explore_rungs.py` compares them.
"""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from loopspec.model import table
from loopspec.model.rows import always, nothing
from loopspec.model.scope import Scope, Spent
from loopspec.model.session import Frame, Session, Tell
from loopspec.model.table import fire, move, needs_a_place, needs_an_open_gate
from loopspec.model.table_inbox import see_delivery, tell_next
from loopspec.model.words import Answer, Call, Entry, Made

K = TypeVar("K", bound=Hashable)

Segment = tuple[tuple[str, ...], tuple[int, ...]]
"""The keys of rows and the numbers of entries."""

Walked = tuple[Session, tuple[str, ...], tuple[int, ...]]
"""Where a run ends, the keys of its rows, and the numbers of its entries."""


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


def flags_of(scope: Scope, spent: Spent) -> int:
    """What of the budget decides where a run stops: twice calls left plus calls inside left."""
    if not scope.between and not scope.inside:
        return 0
    left = spent.sends < scope.sends or spent.edits < scope.edits or spent.cancels < scope.cancels
    left = left or spent.lives < scope.lives or spent.faults < scope.faults
    left = left or spent.deaths < scope.deaths
    return 2 * left + (spent.inside < scope.inside)


def is_choice(session: Session, scope: Scope, flags: int) -> bool:
    """Whether something other than a move may happen here; `flags` as `flags_of` gives."""
    if session.stack:
        return flags == 3 and session.listening and session.depth <= scope.depth
    return session.quiescent or (flags >= 2 and scope.between and bool(session.task))


class Runs:
    """Walks move by move: what a run is."""

    def __init__(self, scope: Scope, merge: bool) -> None:
        """Runs of one scope; without `merge` a run ends behind its action."""
        self.scope = scope
        self.merge = merge
        self.entries: Table[Entry] = Table()

    def behind(self, session: Session, action: Call | Answer | None, flags: int) -> Walked:
        """The run of an action that is enabled here; None is the next move."""
        rows: list[str] = []
        entries: list[int] = []
        if action is None:
            session = self.one_move(session, rows, entries)
        else:
            session = self.act(session, action, rows, entries)
        if self.merge:
            session = self.walk(session, flags, rows, entries)
        return session, tuple(rows), tuple(entries)

    def act(
        self, session: Session, action: Call | Answer, rows: list[str], entries: list[int]
    ) -> Session:
        """The session after a call or an answer, before any move."""
        if isinstance(action, Call):
            refusal, owner = needs_a_place(session, action), action.name
            entries.append(self.entries.number(Made(action, session.listening)))
        else:
            refusal, owner = needs_an_open_gate(session, action), "answer"
            entries.append(self.entries.number(action))
        assert refusal is None, f"{action} is enabled: {refusal}"
        taken, after = fire(session, owner, action)
        rows.append(taken.key)
        return after

    def walk(self, session: Session, flags: int, rows: list[str], entries: list[int]) -> Session:
        """Move up to the next point of choice."""
        while not is_choice(session, self.scope, flags):
            session = self.one_move(session, rows, entries)
        return session

    def one_move(self, session: Session, rows: list[str], entries: list[int]) -> Session:
        """One move, with its row and observation written down."""
        moved = move(session)
        assert moved is not None, "a session that is not quiescent moves"
        rows.append(moved.row.key)
        if moved.observation is not None:
            entries.append(self.entries.number(moved.observation))
        return moved.session


class Point:
    """A session on the way with what follows it, as far as that is known."""

    __slots__ = ("choice", "following", "segment", "session")

    def __init__(self, session: Session, choice: bool) -> None:
        """A point whose following is not known."""
        self.session: Session | None = session
        self.choice = choice
        self.following: Point | None = None
        self.segment: Segment = ((), ())


def is_local(owner: str) -> bool:
    """Whether the one row of an owner looks at its frame alone and changes the stack alone."""
    first, *more = table.OWNERS[owner]
    effects, sights = (tell_next, nothing), (see_delivery, None)
    return not more and first.when is always and first.then in effects and first.sees in sights


POINTS_MAX: Final = 4096
"""How many points are remembered for each set of flags, so that memory stays bounded."""

JOINTS: Final = frozenset(
    ("clear list", "open turn", "request", "close step", "close turn", "after turn", "after idle")
)
"""The frames that different runs have before them alike; a matter of speed only."""


def key_of(session: Session) -> tuple[object, ...]:
    """What tells sessions of one scope apart: all but policy and listeners, hashed quickly."""
    return tuple(session.__dict__.values())[2:]


class SharedRuns(Runs):
    """Walks that meet are walked once; deliveries in which nobody may call are made at once."""

    def __init__(self, scope: Scope, merge: bool) -> None:
        """As `Runs`."""
        super().__init__(scope, merge)
        self.points: list[dict[tuple[object, ...], Point]] = [{}, {}, {}]
        self.segments: dict[Segment, Segment] = {}
        self.delivered: dict[Frame, Segment] = {}
        self.local = frozenset(owner for owner in table.OWNERS if is_local(owner))

    def walk(self, session: Session, flags: int, rows: list[str], entries: list[int]) -> Session:
        """Move up to the next point of choice, along what is known as far as that leads.

        Where listeners may call, the next point of choice is near.
        """
        if flags == 3:
            return super().walk(session, flags, rows, entries)
        point = self.next_point(session, flags, rows, entries)
        while not point.choice:
            if point.following is None:
                self.follow(point, flags)
            assert point.following is not None
            rows += point.segment[0]
            entries += point.segment[1]
            point = point.following
        assert point.session is not None
        return point.session

    def next_point(
        self, session: Session, flags: int, rows: list[str], entries: list[int]
    ) -> Point:
        """Move up to a point of choice, or to the next frame at which runs may meet."""
        while True:
            if is_choice(session, self.scope, flags):
                return Point(session, True)
            session = self.deliver(self.one_move(session, rows, entries), rows, entries)
            if session.stack and session.stack[0].frame in JOINTS:
                break
        points = self.points[flags]
        key = key_of(session)
        point = points.get(key)
        if point is None:
            if len(points) >= POINTS_MAX:
                points.clear()
            point = points[key] = Point(session, False)
        return point

    def follow(self, point: Point, flags: int) -> None:
        """Work out what follows a point, up to the next one."""
        rows: list[str] = []
        entries: list[int] = []
        assert point.session is not None
        point.following = self.next_point(point.session, flags, rows, entries)
        segment = (tuple(rows), tuple(entries))
        point.segment = self.segments.setdefault(segment, segment)
        point.session = None

    def deliver(self, session: Session, rows: list[str], entries: list[int]) -> Session:
        """Make the deliveries that are due at once."""
        if session.faults:
            return session
        count = 0
        for frame in session.stack:
            if (frame.name if type(frame) is Tell else frame.frame) not in self.local:
                break
            known = self.delivered.get(frame)
            if known is None:
                known = self.delivered[frame] = self.delivery(frame)
            rows += known[0]
            entries += known[1]
            count += 1
        return session.but(stack=session.stack[count:]) if count else session

    def delivery(self, frame: Frame) -> Segment:
        """The rows and entries of one delivery by itself."""
        rows: list[str] = []
        entries: list[int] = []
        session = self.scope.start.but(stack=(frame,))
        while session.stack:
            session = self.one_move(session, rows, entries)
        return tuple(rows), tuple(entries)
