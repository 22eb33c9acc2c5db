"""What a property is: a monitor that reads a trace moment by moment.

Rules of this file. The facts that a trace tells are folded once for all properties (`facts`); a
monitor keeps in its frozen ghost only what is its own. It is a step that gives the next ghost and
breaches, and a check at rest. The explorer carries facts and ghosts beside the session; traces and
logs fold them. A property never reads the session of the model, so that it judges a subject and a
mutated table alike.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, NamedTuple, TypeVar

import attrs

from loopspec.model.properties.facts import OPENED, Facts, Moment
from loopspec.model.words import Rest

G = TypeVar("G")


class Breach(NamedTuple):
    """One place where a property does not hold: why it should, and what happened instead."""

    code: str
    because: tuple[str, ...]
    however: str


Breaches = tuple[Breach, ...]
Stepped = tuple[G, Breaches]
"""The next ghost, and the breaches of this moment."""

NEVER: Final[Breaches] = ()


def breach_if(wrong: object, code: str, because: str, however: str, also: str = "") -> Breaches:
    """A breach for one reason, or two, when something is wrong."""
    return (Breach(code, (because, also) if also else (because,), however),) if wrong else NEVER


@attrs.frozen
class Property:
    """A sentence about every run, with its monitor.

    `start` is the ghost of an empty trace; `step` gives the next ghost and breaches; `at_rest`
    gives breaches at a quiescent point. `sometimes` names a situation of the premise and `met`
    tells whether a moment reaches it, so that a run can say that the property was put to the test.
    """

    code: str
    name: str
    sentence: str
    rules: tuple[str, ...]
    start: Any
    step: Callable[[Any, Moment], Stepped[Any]]
    at_rest: Callable[[Any, Facts, Rest], Breaches]
    sometimes: str
    met: Callable[[Any, Moment], bool]
    strict: bool
    """Whether it is a law of profile `notes` only."""
    reads: frozenset[str]
    """The names of the moments that its step looks at; it is not asked about others."""


def nothing_more(ghost: object, facts: Facts, rest: Rest) -> Breaches:
    """At rest nothing more is said than at any other point."""
    return NEVER


def forgetting(step: Callable[[G, Moment], Stepped[G]], start: G) -> Callable[..., Stepped[G]]:
    """The step of a property that begins anew where a session is opened from a log."""

    @wraps(step)
    def stepped(ghost: G, at: Moment) -> Stepped[G]:
        return (start, NEVER) if at.name == OPENED else step(ghost, at)

    return stepped


def declare(
    step: Callable[[G, Moment], Stepped[G]],
    start: G,
    rules: str,
    reads: str,
    sometimes: str,
    met: Callable[[G, Moment], bool],
    at_rest: Callable[[G, Facts, Rest], Breaches] = nothing_more,
    strict: bool = False,
) -> Property:
    """A property from its step function, whose docstring is a code, a colon and a sentence.

    Raises ValueError when the docstring has another form.
    """
    code, colon, sentence = (step.__doc__ or "").partition(": ")
    if not colon or not code.isupper() or not sentence.endswith("."):
        msg = f"{step.__name__} needs a docstring 'CODE: sentence.', got {step.__doc__!r}"
        raise ValueError(msg)
    looks = frozenset(reads.split())
    name, ids = step.__name__, tuple(rules.split())
    if OPENED not in looks:
        looks, step = looks | {OPENED}, forgetting(step, start)
    return Property(code, name, sentence, ids, start, step, at_rest, sometimes, met, strict, looks)
