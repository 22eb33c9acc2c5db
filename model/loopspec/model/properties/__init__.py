"""The properties: sentences about every run, checked by monitors."""

from typing import Final, NamedTuple

from loopspec.model.policy import Policy
from loopspec.model.properties.boundaries import BAL, REJ, STATUS
from loopspec.model.properties.durable import RESUME
from loopspec.model.properties.facts import Facts, moment
from loopspec.model.properties.faults import FAULT_PROPERTIES
from loopspec.model.properties.going import PARK, TERM
from loopspec.model.properties.monitor import Breach, Property
from loopspec.model.properties.ownership import LOST, ORDER, OWN
from loopspec.model.properties.reach import DUP, SCOPE
from loopspec.model.properties.waking import CAUSE, QUIET, WAKE
from loopspec.model.words import Entry, Rest

PROPERTIES: Final[tuple[Property, ...]] = (
    *(BAL, REJ, OWN, LOST, ORDER, CAUSE, WAKE, QUIET, STATUS, SCOPE, TERM, DUP, PARK, RESUME),
    *FAULT_PROPERTIES,
)
"""All properties, the three of the design notes first; the last are about faults."""


class Ghosts(NamedTuple):
    """What the properties remember of a trace: the facts, and of each what is its own."""

    facts: Facts
    own: tuple[object, ...]


def at_start(properties: tuple[Property, ...] = PROPERTIES) -> Ghosts:
    """The ghosts of an empty trace."""
    return Ghosts(Facts(), tuple(each.start for each in properties))


def laws(policy: Policy, faults: bool = False, dies: bool = True) -> tuple[Property, ...]:
    """The properties that hold under a policy; with `faults`, where the environment may arm some.

    RESUME says nothing of runs in which nothing dies.

    The strict ones are laws of profile `notes`; PARK also wants a preserved queue to advance, and
    LOST a step to record its messages whatever becomes of its request. No law is asked for where
    appends are refused or interceptors throw: such runs have their own.
    """
    if faults:
        return FAULT_PROPERTIES
    strict = policy.wakes == "marks" and policy.disposal == "fact"
    without = {PARK: policy.after_keep_cancel != "advance", LOST: policy.entry != "opens"}
    without[RESUME] = not dies
    held = (
        each for each in PROPERTIES if each not in FAULT_PROPERTIES and (strict or not each.strict)
    )
    return tuple(each for each in held if not without.get(each, False))


def watch(
    ghosts: Ghosts, entry: Entry, properties: tuple[Property, ...] = PROPERTIES
) -> tuple[Ghosts, tuple[Breach, ...], tuple[str, ...]]:
    """The ghosts after an entry, the breaches that it shows, and whose premises it meets."""
    pairs = tuple(zip(properties, ghosts.own, strict=True))
    if isinstance(entry, Rest):
        told = (each.at_rest(own, ghosts.facts, entry) for each, own in pairs)
        return ghosts, tuple(breach for found in told for breach in found), ()
    at = moment(ghosts.facts, entry)
    if at is None:
        return ghosts, (), ()
    nexts: list[object] = []
    breaches: tuple[Breach, ...] = ()
    met: list[str] = []
    for each, own in pairs:
        following = own
        if at.name in each.reads:
            if each.met(own, at):
                met.append(each.code)
            following, found = each.step(own, at)
            breaches += found
        nexts.append(following)
    return Ghosts(at.now, tuple(nexts)), breaches, tuple(met)


__all__ = [
    "FAULT_PROPERTIES",
    "PROPERTIES",
    "Breach",
    "Ghosts",
    "Property",
    "at_start",
    "laws",
    "watch",
]
