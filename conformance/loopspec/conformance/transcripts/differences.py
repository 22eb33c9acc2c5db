"""Which registered differences a transcript of the genuine loop shows beside the notes.

Theory. Under `notes` a transcript parts where the release does otherwise. For each transcript the
smallest set of policy fields is searched which, taken from the release's profile, lets the check
go on to the end. Each field of that set is needed: without it the check parts, and there the
difference shows. A transcript that no set explains would be a difference that nobody registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import attrs

from loopspec.conformance.transcripts.check import check_transcript
from loopspec.model.policy import PROFILES, Policy

__all__ = ["Place", "Shown", "differences_of", "fields_between"]


@attrs.frozen
class Place:
    """Where one difference shows: the command, what was seen there and what was allowed."""

    field: str
    command: int
    text: str
    """Command numbers count from 0, as the lists of a transcript do."""


@attrs.frozen
class Shown:
    """The differences that one transcript shows, in the order of its commands.

    A single place without a field says that no set lets the check go on to its end. `others` are
    further sets of the same size: a session may have two readings.
    """

    number: int
    places: tuple[Place, ...]
    others: tuple[tuple[str, ...], ...]

    @property
    def explained(self) -> bool:
        """Whether registered differences explain the transcript to its end."""
        return all(place.field for place in self.places)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the smallest set."""
        return tuple(place.field for place in self.places)


def fields_between(here: Policy, there: Policy) -> tuple[str, ...]:
    """The fields in which two policies differ."""
    names = [field.name for field in attrs.fields(Policy)]
    return tuple(name for name in names if getattr(here, name) != getattr(there, name))


def switched(here: Policy, there: Policy, names: tuple[str, ...]) -> Policy:
    """A policy with some fields of another."""
    return attrs.evolve(here, **{name: getattr(there, name) for name in names})


def differences_of(
    transcript: Mapping[str, Any], profile: str = "notes", release: str = "dsh-0.1"
) -> Shown | None:
    """The smallest set of fields that explains where a transcript parts; None when it does not.

    Raises TranscriptError when the transcript cannot be read.
    """
    here, there = PROFILES[profile], PROFILES[release]
    first = check_transcript(transcript, here)
    if first.parted is None:
        return None
    smallest: list[tuple[str, ...]] = []
    for size in range(1, len(fields_between(here, there)) + 1):
        smallest = list(explaining(transcript, here, there, size))
        if smallest:
            break
    else:
        return Shown(first.number, (Place("", *first.parted),), ())
    places = []
    for name in smallest[0]:
        rest = tuple(other for other in smallest[0] if other != name)
        parted = check_transcript(transcript, switched(here, there, rest)).parted
        assert parted is not None, "each field of a smallest set is needed"
        places.append(Place(name, *parted))
    places.sort(key=lambda place: place.command)
    return Shown(first.number, tuple(places), tuple(smallest[1:]))


def explaining(
    transcript: Mapping[str, Any], here: Policy, there: Policy, size: int
) -> Iterator[tuple[str, ...]]:
    """The sets of fields of one size under which the transcript is accepted."""
    for names in combinations(fields_between(here, there), size):
        if check_transcript(transcript, switched(here, there, names)).parted is None:
            yield names
