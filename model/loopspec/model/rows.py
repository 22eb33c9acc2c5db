"""A transition is a named row: owner, name, rules, guard, effect, and the observation it makes.

Rules of this file. The first row whose guard holds fires; exactly one owner (a frame, a call, or
the event loop) owns each row. A guard is a predicate and an effect branches on nothing that a
guard could decide. An effect sees the session with its own frame already taken off the stack, and
puts what is due next before what was due already. A row makes at most one observation.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from loopspec.model.session import HANDLERS, EndCall, Ending, Frame, Session
from loopspec.model.words import Observation

F = TypeVar("F")

REFUSED: Final = {
    "duplicate-id": Ending("error", "duplicate-id"),
    "append-refused": Ending("error", "append-refused"),
    "dispatch-failed": Ending("error", "dispatch-failed"),
}
"""What a refusal or a failed dispatch makes of a turn, where the loop itself asked for it."""


class Row(NamedTuple):
    """One transition of the table.

    `owner` is the frame, call or gate that the row belongs to; `rules` are contract rule ids;
    `sees` computes the one observation from the session before the effect; `key` is the row's
    name in coverage and documents.
    """

    owner: str
    name: str
    rules: tuple[str, ...]
    when: Callable[[Session, Any], bool]
    then: Callable[[Session, Any], Session]
    makes: str = ""
    sees: Callable[[Session, Any], Observation] | None = None
    key: str = ""


def row(
    owner: str,
    name: str,
    rules: str,
    when: Callable[[Session, F], bool],
    then: Callable[[Session, F], Session],
    makes: str = "",
    sees: Callable[[Session, F], Observation] | None = None,
) -> Row:
    """A row whose guard, effect and observation agree on the type of its frame or call."""
    key = f"{owner} {name}".strip()
    return Row(owner, name, tuple(rules.split()), when, then, makes, sees, key)


class Chosen(Protocol):
    """A frame that carries what was chosen at a gate."""

    @property
    def choice(self) -> str:
        """One of the gate's choices."""


def chose(said: str, *choices: str) -> Callable[[Session, Chosen], bool]:
    """The guard of an answer that is one of these choices; `said` is what it then says."""

    def guard(session: Session, frame: Chosen) -> bool:
        return frame.choice in choices

    guard.__doc__ = said
    return guard


def always(session: Session, _: object) -> bool:
    """Otherwise."""
    return True


def nothing(session: Session, _: object) -> Session:
    """Nothing else changes."""
    return session


def fail(session: Session, ending: Ending) -> Session:
    """Unwind to the nearest handler: the end of a call, the close of a step or of a turn.

    A call that fails raises the ending's kind to its caller. A step or turn closes with it: what
    no turn can end as, such as an id that is pending twice, is its error (TC-11).
    """
    for index, frame in enumerate(session.stack):
        if frame.frame in HANDLERS:
            rest: tuple[Frame, ...] = session.stack[index:]
            if isinstance(frame, EndCall):
                raised = frame._replace(value=None, raised=ending.kind)
                return session.but(stack=(raised, *rest[1:]))
            return session.but(stack=rest, ending=REFUSED.get(ending.kind, ending))
    msg = f"{ending} has no handler on the stack {session.stack}"
    raise AssertionError(msg)


def fails(said: str, kind: str, error: str | None = None) -> Callable[[Session, object], Session]:
    """The effect that unwinds with an ending; `said` is what it then says."""

    def effect(session: Session, _: object) -> Session:
        return fail(session, Ending(kind, error))

    effect.__doc__ = said
    return effect
