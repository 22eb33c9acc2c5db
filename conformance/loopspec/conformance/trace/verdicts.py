"""What judging one log gives: a verdict, why, and what was learnt on the way."""

from __future__ import annotations

from typing import Any

import attrs

from loopspec.conformance.visible import clean

__all__ = ["Finding", "Judged", "Tail"]


@attrs.frozen
class Finding:
    """Where a log and the specification part.

    `code` names the relation, or MODEL where the table refuses; `rules` are contract rule ids;
    `line` counts lines from 1; `because` is what was read before, `however` what came, `allowed`
    what the table would have written.
    """

    code: str
    rules: tuple[str, ...]
    sentence: str
    line: int
    seq: int | None
    name: str
    because: str
    however: str
    allowed: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place of the record."""
        numbered = f" (seq {self.seq})" if self.seq is not None else ""
        return f"record {self.line}{numbered}"


@attrs.frozen
class Tail:
    """How a log ends where its writer was stopped.

    `dropped` bytes were never acknowledged; `appends` is what recovery will write.
    """

    torn: str = ""
    dropped: int = 0
    open: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    pending: int = 0


def one_line(text: str) -> str:
    """A reason as one line of printable characters; some of it may be quoted from the log."""
    return clean(text, 1000)


@attrs.frozen
class Judged:
    """What one log gave. `reason` explains every verdict but holds and broken."""

    name: str
    verdict: str
    finding: Finding | None = None
    reason: str = attrs.field(default="", converter=one_line)
    shape: str = ""
    profiles: tuple[str, ...] = ()
    records: int = 0
    turns: int = 0
    steps: int = 0
    splices: int = 0
    tail: Tail = Tail()
    notes: tuple[str, ...] = ()
    peak: int = 0
    container: str = ""
    frames: int = 0
    size: int = 0

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return attrs.asdict(self)
