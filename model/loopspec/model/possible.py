"""Sets of possible sessions: what a trace says of a subject, and where the two part.

Theory. A subject conforms while at least one session explains everything seen so far. Inputs are
taken from the trace at their place; each observation filters the set; at rest the subject has
nothing more to do, so a session that owes another observation is no explanation (a lost wake is a
finding exactly like a wrong record). Moves without an observation are hidden: they are made when
the next entry needs them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from loopspec.model.describe import observation_text, rest_text
from loopspec.model.session import Session
from loopspec.model.table import Moved, Refusal, apply, move, row_of
from loopspec.model.words import Answer, Call, Entry, Made, Observation, Rest


class Parting(NamedTuple):
    """Where no possible session explains the next entry of a trace.

    `did` is what the subject did; `allowed` is what each possible session allowed there.
    """

    did: str
    allowed: tuple[str, ...]
    kind: str


class Possible(NamedTuple):
    """The sessions that explain a trace so far, and the rows that the last entry took."""

    sessions: tuple[Session, ...]
    rows: tuple[str, ...] = ()


def hidden(session: Session) -> tuple[Session, Moved | None, list[str]]:
    """Make hidden moves up to the next observation or quiescence; the rows taken on the way."""
    rows: list[str] = []
    while True:
        moved = move(session)
        if moved is None or moved.observation is not None:
            return session, moved, rows
        rows.append(moved.row.key)
        session = moved.session


Ahead = tuple[tuple[Session, Moved | None, list[str]], ...]
"""For each possible session: where its hidden moves lead, its next move, the rows on the way."""


def look_ahead(possible: Possible) -> Ahead:
    """What each possible session does next by itself; for whoever needs it more than once."""
    return tuple(hidden(session) for session in possible.sessions)


def at_control(session: Session) -> tuple[Session | None, Moved | None, list[str]]:
    """Make hidden moves until control is with the event loop; None when one would be observed."""
    rows: list[str] = []
    while session.stack:
        moved = move(session)
        assert moved is not None, "a session with work on its stack moves"
        if moved.observation is not None:
            return None, moved, rows
        rows.append(moved.row.key)
        session = moved.session
    return session, None, rows


def place(session: Session, inside: bool) -> tuple[Session | None, str, list[str]]:
    """The session in which a call lands; None and the reason when it cannot land there."""
    if inside:
        if session.listening:
            return session, "", []
        return None, "no delivery is under way", []
    control, moved, rows = at_control(session)
    if control is None:
        assert moved is not None
        assert moved.observation is not None
        return None, f"owes {observation_text(moved.observation)}", rows
    return control, "", rows


def places(session: Session, inside: bool) -> Iterator[tuple[Session | None, str, list[str]]]:
    """Every session in which a call may land, or None and the reason.

    A task may have resumed without being seen before a call that came between two ticks.
    """
    where, reason, rows = place(session, inside)
    yield where, reason, rows
    while not inside and where is not None and where.ready:
        moved = move(where)
        assert moved is not None, "a session that is ready moves"
        if moved.observation is not None:
            return
        where, _, more = at_control(moved.session)
        if where is not None:
            rows = [*rows, moved.row.key, *more]
            yield where, "", rows


def one_of_each(sessions: list[Session]) -> tuple[Session, ...]:
    """The sessions without those that have become equal."""
    return tuple(sessions) if len(sessions) == 1 else tuple(dict.fromkeys(sessions))


def after_action(
    possible: Possible, action: Call | Answer, inside: bool, did: str, kind: str
) -> Possible | Parting:
    """The sessions after a call or an answer; a parting when none takes it at its place."""
    kept: list[Session] = []
    rows: list[str] = []
    reasons: list[str] = []
    placed = [each for session in possible.sessions for each in places(session, inside)]
    for where, reason, taken in placed:
        after: Session | Refusal | None = apply(where, action) if where is not None else None
        if isinstance(after, Session):
            assert where is not None
            kept.append(after)
            rows.extend([*taken, row_of(where, action).key])
        else:
            reasons.append(after.because if isinstance(after, Refusal) else reason)
    if kept:
        return Possible(one_of_each(kept), tuple(rows))
    return Parting(did, tuple(reasons), kind)


def after_observation(
    possible: Possible, seen: Observation, ahead: Ahead | None = None
) -> Possible | Parting:
    """The sessions that make exactly this observation next; a parting when none does."""
    kept: list[Session] = []
    rows: list[str] = []
    allowed: list[str] = []
    for _, moved, taken in ahead or look_ahead(possible):
        if moved is None or moved.observation != seen:
            expected = moved.observation if moved is not None else None
            allowed.append(observation_text(expected) if expected else "nothing more")
            continue
        kept.append(moved.session)
        rows.extend([*taken, moved.row.key])
    if kept:
        return Possible(one_of_each(kept), tuple(rows))
    return Parting(observation_text(seen), tuple(allowed), "observation")


def rest_of(session: Session) -> Rest:
    """What is visible of a quiescent session."""
    return Rest(
        tuple(item.message for item in session.next_turn),
        tuple(item.message for item in session.next_step),
        session.status,
        tuple((gate, session.aborted) for gate in session.gates),
    )


def after_rest(possible: Possible, rest: Rest, ahead: Ahead | None = None) -> Possible | Parting:
    """The sessions that are quiescent with the same projections; a parting when none is."""
    kept: list[Session] = []
    rows: list[str] = []
    allowed: list[str] = []
    kind = "owed"
    for quiet, moved, taken in ahead or look_ahead(possible):
        if moved is not None:
            assert moved.observation is not None
            allowed.append(observation_text(moved.observation))
        elif rest_of(quiet) != rest:
            allowed.append(rest_text(rest_of(quiet)))
            kind = "projection"
        else:
            kept.append(quiet)
            rows.extend(taken)
    if kept:
        return Possible(one_of_each(kept), tuple(rows))
    did = "nothing more" if kind == "owed" else rest_text(rest)
    return Parting(did, tuple(allowed), kind)


def after(possible: Possible, entry: Entry) -> Possible | Parting:
    """The sessions after one entry of a trace, or the parting."""
    if isinstance(entry, Observation):
        return after_observation(possible, entry)
    if isinstance(entry, Made):
        did = f"was called: {entry.call.name}"
        return after_action(possible, entry.call, entry.inside, did, "call")
    if isinstance(entry, Answer):
        did = f"was answered: {entry.gate} {entry.choice}"
        return after_action(possible, entry, False, did, "answer")
    return after_rest(possible, entry)


__all__ = ["Parting", "Possible", "after", "hidden", "rest_of"]
