"""What checking transcripts of the genuine loop has found: one document, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import attrs

from loopspec.conformance.edits import EditResult
from loopspec.conformance.transcripts import Accepted
from loopspec.conformance.transcripts.differences import Place, Shown
from loopspec.model.deviations import DEVIATIONS
from loopspec.model.table import TABLE
from loopspec.reports.text import clean
from loopspec.reports.words import number, seconds_words

MISSED_MAX: Final = 20
"""How many missed edits the text shows; JSON holds all of them."""


@attrs.frozen
class TranscriptFound:
    """What one transcript gave: the check, its commands, and what followed the check.

    `shown` are the differences that explain where it parts; `edits` is None when none were tried.
    """

    accepted: Accepted
    commands: tuple[str, ...]
    seconds: float
    shown: Shown | None = None
    edits: EditResult | None = None


@attrs.frozen
class Acceptance:
    """All transcripts under one profile."""

    profile: str
    found: tuple[TranscriptFound, ...]
    edits: str
    seed: int
    seconds: float

    @property
    def parted(self) -> tuple[TranscriptFound, ...]:
        """The transcripts that the profile does not explain."""
        return tuple(each for each in self.found if each.accepted.parted is not None)

    @property
    def unexplained(self) -> tuple[TranscriptFound, ...]:
        """Those that no registered difference explains."""
        return tuple(each for each in self.parted if not (each.shown and each.shown.explained))

    @property
    def tried(self) -> EditResult:
        """The edits of all transcripts together."""
        whole = EditResult()
        for each in self.found:
            if each.edits is not None:
                whole.add(each.edits)
        return whole

    @property
    def sizes(self) -> dict[int, int]:
        """After how many commands there were how many possible sessions."""
        return dict(sorted(Counter(n for each in self.found for n in each.accepted.sizes).items()))

    @property
    def observations(self) -> int:
        """The entries of all reports that were checked."""
        return sum(each.accepted.observations for each in self.found)

    @property
    def rate(self) -> int:
        """Observations a second of one processor."""
        seconds = sum(each.seconds for each in self.found)
        return round(self.observations / seconds) if seconds else 0

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows of the table that were taken, in its order."""
        taken = {row for each in self.found for row in each.accepted.rows}
        return tuple(each.key for each in TABLE if each.key in taken)

    @property
    def verdict(self) -> str:
        """Broken by an unexplained transcript or a missed edit, else holds."""
        return "broken" if self.unexplained or self.tried.missed else "holds"

    @property
    def exit(self) -> int:
        """The exit code of the verdict."""
        return 1 if self.verdict == "broken" else 0


def ids_of(field: str) -> tuple[str, ...]:
    """The registered ids that a policy field answers."""
    return DEVIATIONS.get(field, ())


# --- Text ---------------------------------------------------------------------------------------


def acceptance_lines(found: Acceptance) -> Iterator[str]:
    """The lines for a terminal; the last one is the verdict."""
    total = len(found.found)
    commands = sum(each.accepted.commands for each in found.found)
    sizes = ", ".join(f"{size} after {number(n)}" for size, n in found.sizes.items())
    yield f"profile   {found.profile}"
    yield f"accepted  {number(total - len(found.parted))} of {number(total)} transcripts"
    yield (
        f"checked   {number(commands)} commands, {number(found.observations)} observations, "
        f"{number(found.rate)} a second"
    )
    yield f"possible  sessions: {sizes} settled commands"
    yield f"rows      {len(found.rows)} of {len(TABLE)} taken"
    if found.parted:
        yield ""
        yield f"{'transcript':>10}  {'command':<20}{'because':<24}saw, and what was allowed"
        for each in found.parted:
            yield from parted_lines(each)
    if found.edits != "none":
        yield ""
        yield from edit_lines(found)
    yield ""
    yield (
        f"verdict   {found.verdict} (exit {found.exit}) in {seconds_words(found.seconds)}; "
        f"{explained_words(found)}"
    )


def explained_words(found: Acceptance) -> str:
    """The verdict in words."""
    if found.tried.missed:
        return f"{number(len(found.tried.missed))} edits were not noticed"
    if found.unexplained:
        return f"no registered difference explains {number(len(found.unexplained))} of them"
    if found.parted:
        return "each parting is a registered difference"
    return "the profile explains every observation"


def parted_lines(found: TranscriptFound) -> Iterator[str]:
    """Where a transcript parts, one line for each difference."""
    assert found.shown is not None
    for place in found.shown.places:
        command = f"{place.command} {found.commands[place.command]}"
        because = f"{' '.join(ids_of(place.field))} {place.field}".strip() or "unexplained"
        yield f"{found.accepted.number:>10}  {command:<20}{because:<24}{clean(place.text, 120)}"


def edit_lines(found: Acceptance) -> Iterator[str]:
    """The table of single edits by kind, and the first that were missed."""
    tried = found.tried
    yield f"{'edit':<20}{'tried':>10}{'refused':>10}{'legal':>8}{'missed':>8}"
    kinds = sorted(tried.tried, key=lambda kind: (kind.startswith("related"), kind))
    missed = Counter(each.edit.label for each in tried.missed)
    for kind in kinds:
        legal = legal_of(tried, kind)
        yield (
            f"{kind:<20}{number(tried.tried[kind]):>10}{number(tried.refused.get(kind, 0)):>10}"
            f"{number(legal):>8}{number(missed[kind]):>8}"
        )
    yield (
        f"{'all' if found.edits == 'all' else f'sample, seed {found.seed}':<20}"
        f"{number(sum(tried.tried.values())):>10}{number(sum(tried.refused.values())):>10}"
        f"{number(sum(tried.legal.values())):>8}{number(len(tried.missed)):>8}"
    )
    for reason, count in sorted(tried.legal.items()):
        yield f"legal     {number(count)} {reason}"
    for each in tried.missed[:MISSED_MAX]:
        where = f"transcript {each.transcript}, command {each.command}"
        yield f"missed    {where}: {each.edit.label} of {each.edit.what}"


def legal_of(tried: EditResult, kind: str) -> int:
    """How many edits of a kind were accepted for a listed reason."""
    return sum(count for key, count in tried.legal.items() if key.split(":")[0] == kind)


# --- JSON ---------------------------------------------------------------------------------------


def acceptance_document(found: Acceptance) -> dict[str, object]:
    """The same as plain values for `json.dumps`; two runs differ in `time` alone."""
    tried = found.tried
    document: dict[str, object] = {
        "format": 1,
        "verb": "transcripts",
        "profile": found.profile,
        "verdict": found.verdict,
        "exit": found.exit,
        "transcripts": len(found.found),
        "accepted": len(found.found) - len(found.parted),
        "commands": sum(each.accepted.commands for each in found.found),
        "observations": found.observations,
        "possible": {str(size): count for size, count in found.sizes.items()},
        "rows": list(found.rows),
        "rows_total": len(TABLE),
        "parted": [parted_document(each) for each in found.parted],
        "time": {"seconds": round(found.seconds, 3), "observations_per_second": found.rate},
    }
    if found.edits != "none":
        document["edits"] = {
            "which": found.edits,
            "seed": found.seed,
            "tried": dict(sorted(tried.tried.items())),
            "refused": dict(sorted(tried.refused.items())),
            "legal": dict(sorted(tried.legal.items())),
            "missed": [
                {
                    "transcript": each.transcript,
                    "command": each.command,
                    "kind": each.edit.label,
                    "of": each.edit.what,
                    "report": each.edit.report,
                }
                for each in tried.missed
            ],
        }
    return document


def parted_document(found: TranscriptFound) -> dict[str, object]:
    """Where a transcript parts, and what explains it."""
    assert found.shown is not None
    return {
        "number": found.accepted.number,
        "explained": found.shown.explained,
        "places": [place_document(each, found) for each in found.shown.places],
        "others": [list(names) for names in found.shown.others],
    }


def place_document(place: Place, found: TranscriptFound) -> dict[str, object]:
    """Where one difference shows; commands count from 0."""
    return {
        "field": place.field,
        "ids": list(ids_of(place.field)),
        "command": place.command,
        "does": found.commands[place.command],
        "text": place.text,
    }
