"""The page of differences: where the release does otherwise than the notes, in its transcripts.

`python -m loopspec.conformance.transcripts.page` prints it. Transcripts are no part of the project;
what they show under `notes` is kept in `notes.json` beside this module, as `loopspec transcripts
DIR --profile notes --json` prints it. A test compares the two where the transcripts are at hand.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

from loopspec.model.deviations import CHOICES, DEVIATIONS
from loopspec.model.policy import PROFILES
from loopspec.model.profiles import brief, parted_by, shown_as

__all__ = ["differences_page", "kept"]

RELEASE: Final = "dsh-0.1"

PREFACE: Final = """\
# Differences: where the release does otherwise than the notes

Made by `python -m loopspec.conformance.transcripts.page` from what `loopspec transcripts DIR
--profile notes --json` has printed; do not edit. A test compares the two.

Recorded sessions of the genuine loop are accepted under `dsh-0.1`. Under `notes` some of them part.
For each of these the smallest set of policy fields is searched that, taken from `dsh-0.1`, lets the
check go on to the end. Where one field less would part, its difference shows. A session that no
set explains would be a difference that nobody has registered.
"""


def kept() -> dict[str, Any]:
    """What the transcripts show under `notes`, as it was printed last."""
    text = (files(__package__) / "notes.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def differences_page() -> str:
    """The page as text."""
    found = kept()
    return "\n".join([PREFACE, *figures(found), *table(found), *sections(found)]).rstrip() + "\n"


def fields() -> tuple[str, ...]:
    """The fields in which the release differs from the notes."""
    here, there = PROFILES["notes"], PROFILES[RELEASE]
    return tuple(name for name in CHOICES if getattr(here, name) != getattr(there, name))


def places_of(found: dict[str, Any], field: str) -> list[tuple[int, int, dict[str, Any]]]:
    """Where a difference shows: command and transcript, the shortest prefix first."""
    places = [
        (place["command"], each["number"], place)
        for each in found["parted"]
        for place in each["places"]
        if place["field"] == field
    ]
    return sorted(places, key=lambda place: place[:2])


def figures(found: dict[str, Any]) -> Iterator[str]:
    """How many transcripts there are and how many part."""
    explained = sum(each["explained"] for each in found["parted"])
    yield (
        f"{found['transcripts']} transcripts, {found['accepted']} of them without a difference; "
        f"{len(found['parted'])} part, {explained} of them explained."
    )
    several = Counter(
        (tuple(place["field"] for place in each["places"]), tuple(map(tuple, each["others"])))
        for each in found["parted"]
        if each["others"]
    )
    for (chosen, others), count in sorted(several.items()):
        readings = " or ".join(" and ".join(f"`{name}`" for name in names) for names in others)
        first = " and ".join(f"`{name}`" for name in sorted(chosen))
        yield f"In {count} of them {readings} would explain as much as {first} does."
    yield ""


def table(found: dict[str, Any]) -> Iterator[str]:
    """One row a field."""
    yield "| registered as | field | notes | release | transcripts | first shown in |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for field in fields():
        places = places_of(found, field)
        here, there = (shown_as(getattr(PROFILES[p], field)) for p in ("notes", RELEASE))
        shown = f"{places[0][1]}, command {places[0][0]}" if places else "none"
        ids = ", ".join(DEVIATIONS.get(field, ()))
        yield f"| {ids} | `{field}` | {here} | {there} | {len(places)} | {shown} |"
    yield ""
    yield "Commands count from 0, as the lists of a transcript do."
    yield ""


def sections(found: dict[str, Any]) -> Iterator[str]:
    """What each difference looks like."""
    for field in fields():
        value = getattr(PROFILES[RELEASE], field)
        parted = parted_by(field, value)
        yield f"## {field}: {', '.join(DEVIATIONS.get(field, ()))}"
        yield ""
        places = places_of(found, field)
        if places:
            command, number, place = places[0]
            yield f"Transcript {number}, command {command} (`{place['does']}`): {place['text']}."
        else:
            yield "No transcript shows it."
        yield ""
        yield "The shortest scenario:"
        yield ""
        yield "```scenario"
        yield str(parted.scenario).rstrip()
        yield "```"
        yield ""
        yield f"- notes: {brief(parted.left)}"
        yield f"- release: {brief(parted.right)}"
        yield ""


if __name__ == "__main__":
    sys.stdout.write(differences_page())
