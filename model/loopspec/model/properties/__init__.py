"""The properties: sentences about every run, checked by monitors."""

from typing import Final

from loopspec.model.policy import Policy
from loopspec.model.properties.boundaries import BAL, REJ, STATUS
from loopspec.model.properties.going import PARK, TERM
from loopspec.model.properties.monitor import Breach, Property
from loopspec.model.properties.ownership import LOST, ORDER, OWN
from loopspec.model.properties.reach import DUP, SCOPE
from loopspec.model.properties.waking import CAUSE, QUIET, WAKE
from loopspec.model.words import Entry, Rest

PROPERTIES: Final[tuple[Property, ...]] = (
    BAL,
    REJ,
    OWN,
    LOST,
    ORDER,
    CAUSE,
    WAKE,
    QUIET,
    STATUS,
    SCOPE,
    TERM,
    DUP,
    PARK,
)
"""All properties, the three of the design notes first."""

Ghosts = tuple[object, ...]

START: Final[Ghosts] = tuple(each.start for each in PROPERTIES)


def laws(policy: Policy) -> tuple[Property, ...]:
    """The properties that hold under a policy.

    The strict ones are laws of profile `notes`; PARK also wants a preserved queue to advance, and
    LOST a step to record its messages whatever becomes of its request.
    """
    strict = policy.wakes == "marks" and policy.disposal == "fact"
    without = {PARK: policy.after_keep_cancel != "advance", LOST: policy.entry != "opens"}
    held = (each for each in PROPERTIES if strict or not each.strict)
    return tuple(each for each in held if not without.get(each, False))


def watch(
    ghosts: Ghosts, entry: Entry, properties: tuple[Property, ...] = PROPERTIES
) -> tuple[Ghosts, tuple[Breach, ...], tuple[str, ...]]:
    """The ghosts after an entry, the breaches that it shows, and whose premises it meets."""
    nexts: list[object] = []
    breaches: tuple[Breach, ...] = ()
    met: list[str] = []
    for each, ghost in zip(properties, ghosts, strict=True):
        if isinstance(entry, Rest):
            breaches += each.at_rest(ghost, entry)
        elif each.looks_at(entry):
            if each.met(ghost, entry):
                met.append(each.code)
            ghost, found = each.step(ghost, entry)
            breaches += found
        nexts.append(ghost)
    return tuple(nexts), breaches, tuple(met)


__all__ = ["PROPERTIES", "START", "Breach", "Ghosts", "Property", "laws", "watch"]
