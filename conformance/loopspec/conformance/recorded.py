"""Reading `run.jsonl` back: whole, cut off, or refused in one sentence.

Rules of this file. A run that was killed is no damaged file: what stands before its end is read,
and that there is no footer is told. Everything else that does not fit is damage, and each kind has
its own sentence with the line it is about; nothing is judged by damaged evidence. The file is read
line by line and never held as a whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

import attrs
import msgspec

from loopspec.conformance.entries import EntryError, entry_from_json
from loopspec.conformance.recorder import FORMAT, KEEPS, NAME
from loopspec.model.scenario import Scenario, ScenarioError, parse_scenario
from loopspec.model.words import Entry

__all__ = ["Played", "RecordError", "Recording", "read_recording"]

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
HINT: Final = "run.jsonl is written by `loopspec check`"


class RecordError(Exception):
    """Evidence that cannot be judged: a code for machines, a sentence and a hint for people."""

    def __init__(self, code: str, sentence: str, hint: str = "") -> None:
        """Keep the three parts; the text of the exception is the sentence."""
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.hint = hint


class _Line(msgspec.Struct, frozen=True, tag_field="line"):
    """One line of the file; its kind stands under `line`."""


class Subject(msgspec.Struct, frozen=True):
    """What was under test, and the capabilities that it does not declare."""

    name: str
    version: str
    lacks: tuple[str, ...]
    contract: int


class HeaderLine(_Line, frozen=True, tag="header"):
    """The first line."""

    format: int
    subject: Subject
    verb: str
    profile: str
    effort: str
    seed: int
    evidence: str
    versions: dict[str, str]
    started: str
    again: str
    replay: str
    expectations: str


class ErrorLine(_Line, frozen=True, tag="error"):
    """What kept the run from beginning."""

    text: str


class CaseLine(_Line, frozen=True, tag="case"):
    """One scenario that ran."""

    case: int
    stage: str
    name: str
    scenario: str
    unmade: tuple[int, ...]
    trace: list[Any]


class PlainLine(_Line, frozen=True, tag="plain"):
    """The scenario of a case without its faults."""

    case: int
    scenario: str
    unmade: tuple[int, ...]
    trace: list[Any]


class WitnessLine(_Line, frozen=True, tag="witness"):
    """The reduced scenario of a case."""

    case: int
    property: str
    known: str
    length: int
    minimal: str
    replays: int
    scenario: str
    unmade: tuple[int, ...]
    trace: list[Any]


class RoundLine(_Line, frozen=True, tag="round"):
    """The end of a series of random scenarios."""

    stage: str


class CoverLine(_Line, frozen=True, tag="cover"):
    """What the planned scenarios were to reach."""

    rows: tuple[str, ...]
    cells: tuple[tuple[str, str, str], ...]
    met: tuple[str, ...]


class StageLine(_Line, frozen=True, tag="stage"):
    """The end of a stage."""

    name: str
    seconds: float
    running: float
    skipped: dict[str, int]
    late: int
    failed: int
    error: str


class FooterLine(_Line, frozen=True, tag="footer"):
    """The last line."""

    verdict: str
    seconds: float
    scenarios: int
    actions: int
    cases: int
    findings: tuple[tuple[int, tuple[str, ...]], ...]
    lines: int
    sha256: str


Line: TypeAlias = (
    HeaderLine
    | ErrorLine
    | CaseLine
    | PlainLine
    | WitnessLine
    | RoundLine
    | CoverLine
    | StageLine
    | FooterLine
)


@attrs.frozen
class Played:
    """A scenario as it was read back with its trace, judged by nobody yet; `place` is its line."""

    scenario: Scenario
    trace: tuple[Entry, ...]
    made: tuple[bool, ...]
    place: str


@attrs.frozen
class Recording:
    """A file that can be judged.

    `footer` is None when the run was killed; `torn` tells that its last line was cut off.
    """

    path: Path
    header: HeaderLine
    footer: FooterLine | None
    cases: int
    witnesses: dict[int, list[tuple[int, WitnessLine]]]
    plain: dict[int, tuple[int, PlainLine]]
    torn: bool

    def lines(self) -> Iterator[tuple[int, Line]]:
        """Every whole line behind the header, with its number."""
        for number, data in _whole_lines(self.path):
            if number > 1:
                yield number, _decoded(data, f"{self.path}, line {number}", Line)

    def played(self, number: int, line: CaseLine | PlainLine | WitnessLine) -> Played:
        """The scenario of a line and what came of it; raises RecordError when it is damaged."""
        place = f"{self.path}, line {number}"
        return played(line, place)


def played(line: CaseLine | PlainLine | WitnessLine, place: str) -> Played:
    """The scenario of a line and what came of it."""
    try:
        scenario = parse_scenario(line.scenario)
        trace = []
        for index, entry in enumerate(line.trace, 1):
            what = f" entry {index}:"
            trace.append(entry_from_json(entry))
    except ScenarioError as error:
        _refuse("RECORD_DAMAGED", f"{place}: {error}")
    except EntryError as error:
        _refuse("RECORD_DAMAGED", f"{place},{what} {error}")
    unmade = frozenset(line.unmade)
    count = len(scenario)
    if any(not 0 <= each < count for each in unmade):
        _refuse("RECORD_DAMAGED", f"{place}: expected lines among {count}, got {max(unmade)}")
    made = tuple(at not in unmade for at in range(count))
    return Played(scenario, tuple(trace), made, place)


def read_recording(folder: Path) -> Recording:
    """Look through `run.jsonl` of a run folder (the path of the file itself will do).

    Raises:
        RecordError: no such folder or file; empty, foreign, newer or damaged.

    """
    path = folder if folder.name == NAME else folder / NAME
    _look(path)
    reader = _Reader(path)
    try:
        for number, data in _whole_lines(path):
            reader.take(number, data)
        torn = _is_torn(path)
    except OSError as error:
        _refuse("RECORD_UNREADABLE", f"cannot read {path}: {error.strerror or error}")
    return reader.recording(torn)


class _Reader:
    """Takes line by line, and knows what may come next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: HeaderLine | None = None
        self.footer: FooterLine | None = None
        self.places: dict[int, int] = {}
        self.witnesses: dict[int, list[tuple[int, WitnessLine]]] = {}
        self.plain: dict[int, tuple[int, PlainLine]] = {}
        self.digest = hashlib.sha256()
        self.newest = 0

    def take(self, number: int, data: bytes) -> None:
        """One more line."""
        place = f"{self.path}, line {number}"
        if self.header is None:
            self.header = _header(data, self.path)
        else:
            if self.footer is not None:
                _refuse("RECORD_BEHIND", f"{place} stands behind the footer")
            line: Line = _decoded(data, place, Line)
            if isinstance(line, HeaderLine):
                _refuse("RECORD_DAMAGED", f"{place} is a second header")
            elif isinstance(line, CaseLine):
                self.case(number, line, place)
            elif isinstance(line, WitnessLine):
                self.witnesses.setdefault(line.case, []).append((number, line))
            elif isinstance(line, PlainLine):
                self.plain[line.case] = number, line
            elif isinstance(line, FooterLine):
                self.footer = line
                self.fits(number, line, place)
        self.digest.update(data)

    def case(self, number: int, line: CaseLine, place: str) -> None:
        """Each case comes once; where all are kept, none is missing."""
        assert self.header is not None, "the first line is the header"
        if line.case in self.places:
            first = self.places[line.case]
            sentence = f"{place}: case {line.case} comes a second time, first on line {first}"
            _refuse("RECORD_DUPLICATE", sentence)
        following = self.newest + 1
        if line.case < following or (self.header.evidence == "all" and line.case > following):
            sentence = f"{place}: expected case {following}, got case {line.case}"
            _refuse("RECORD_GAP", sentence)
        self.places[line.case] = number
        self.newest = line.case

    def fits(self, number: int, footer: FooterLine, place: str) -> None:
        """The footer counts and sums up exactly what stands before it."""
        counted = (
            ("lines", footer.lines, number),
            ("cases", footer.cases, len(self.places)),
        )
        for what, told, there in counted:
            if told != there:
                sentence = f"{place}: the footer counts {told} {what}, there are {there}"
                _refuse("RECORD_FOOTER", sentence)
        if footer.sha256 != self.digest.hexdigest():
            sentence = f"{place}: the checksum of the footer is not that of the lines before it"
            _refuse("RECORD_CHECKSUM", sentence)

    def recording(self, torn: bool) -> Recording:
        """What was read, once there is nothing more."""
        if self.header is None:
            sentence = f"{self.path} ends inside its first line: the run ended as it began"
            _refuse("RECORD_EMPTY" if not torn else "RECORD_TORN", sentence)
        if torn and self.footer is not None:
            _refuse("RECORD_BEHIND", f"{self.path}: something stands behind the footer")
        cases = len(self.places)
        own = (self.footer, cases, self.witnesses, self.plain, torn)
        return Recording(self.path, self.header, *own)


def _look(path: Path) -> None:
    """Only a regular file is opened: a pipe would never end."""
    folder = path.parent
    try:
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            _refuse("RECORD_MISSING", f"expected a run folder, {folder} {what}")
        if not os.path.lexists(path):
            _refuse("RECORD_MISSING", f"expected {NAME} in {folder}, there is none")
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            _refuse("RECORD_MISSING", f"expected a file, {path} is none")
        if not found.st_size:
            sentence = f"{path} is empty: the run ended before it wrote its first line"
            _refuse("RECORD_EMPTY", sentence)
    except OSError as error:
        _refuse("RECORD_UNREADABLE", f"cannot read {path}: {error.strerror or error}")


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line that ends, with its number; a last line that was cut off is left out."""
    with path.open("rb") as file:
        number = 0
        while data := file.readline(LINE_BYTES_MAX):
            number += 1
            if not data.endswith(b"\n"):
                if len(data) == LINE_BYTES_MAX:
                    sentence = f"{path}, line {number} is longer than {LINE_BYTES_MAX:,} bytes"
                    _refuse("RECORD_SIZE", sentence)
                return
            yield number, data


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _header(data: bytes, path: Path) -> HeaderLine:
    """The first line, which tells evidence from any other file."""
    try:
        told = json.loads(data)
        known = isinstance(told, dict) and told.get("line") == "header"
    except (ValueError, RecursionError):
        known = False
    if not known:
        sentence = f"{path} is no evidence of loopspec: its first line is no header"
        _refuse("RECORD_FOREIGN", sentence)
    number = told.get("format")
    if isinstance(number, int) and number > FORMAT:
        sentence = (
            f"{path} has format {number}, this loopspec reads format {FORMAT}: "
            "it was written by a newer version"
        )
        raise RecordError("RECORD_NEWER", sentence, "update loopspec, or run the check again")
    header: HeaderLine = _decoded(data, f"{path}, line 1", HeaderLine)
    if header.format != FORMAT or header.evidence not in KEEPS:
        sentence = f"{path}, line 1: expected format {FORMAT} and evidence ({', '.join(KEEPS)})"
        _refuse("RECORD_DAMAGED", sentence)
    return header


def _decoded(data: bytes, place: str, kind: Any) -> Any:  # noqa: ANN401 - a union of lines
    """A line as what it should be."""
    try:
        return msgspec.convert(json.loads(data, parse_constant=_no_number), kind)
    except msgspec.ValidationError as error:
        _refuse("RECORD_DAMAGED", f"{place} is no line of {NAME}: {error}")
    except RecursionError:
        _refuse("RECORD_DAMAGED", f"{place} is nested too deep")
    except ValueError as error:
        _refuse("RECORD_DAMAGED", f"{place} is not JSON: {error}")


def _no_number(text: str) -> NoReturn:
    msg = f"{text} is no number of JSON"
    raise ValueError(msg)


def _refuse(code: str, sentence: str) -> NoReturn:
    raise RecordError(code, sentence, HINT)
