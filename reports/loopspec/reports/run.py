"""Read a run folder: the one door from evidence to every report.

Rules of this file: reports are pure functions of a run folder, so everything that they show comes
through `read_run`. A file that cannot be understood is refused in one sentence which says what was
expected, what came and where. The verdict and the exit code are read, never computed again: two
computations could disagree.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

FORMAT: Final = 1
"""The format of `run.json` that this version reads."""

SIZE_MAX: Final = 256 * 1024 * 1024
"""Largest `run.json` in bytes that is read at all."""

EXIT_CODES: Final = {"holds": 0, "broken": 1, "error": 2, "inconclusive": 3}

LANES: Final = ("caller", "inbox", "loop", "hook", "provider", "log")
"""Lanes of a sequence diagram, from left to right."""

Verdict = Literal["holds", "broken", "error", "inconclusive"]
PartVerdict = Literal["holds", "broken", "skipped", "unknown", "error", "inconclusive"]
Lane = Literal["caller", "inbox", "loop", "hook", "provider", "log"]
Kind = Literal["call", "answer", "record", "event", "gate", "return"]
Count = Annotated[int, msgspec.Meta(ge=0)]


class ReportError(Exception):
    """A report could not be made: a code for machines, a sentence and a hint for people."""

    def __init__(self, code: str, sentence: str, hint: str = "") -> None:
        """Keep the three parts; the text of the exception is the sentence."""
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.hint = hint


class Subject(msgspec.Struct, frozen=True):
    """What was under test."""

    name: str
    version: str = ""


class Stage(msgspec.Struct, frozen=True):
    """One part of a run (corpus, cover, random, canary) with a verdict of its own."""

    name: str
    verdict: PartVerdict
    scenarios: Count = 0
    actions: Count = 0
    seconds: float = 0.0
    actions_per_second: Count = 0
    note: str = ""


class PropertyVerdict(msgspec.Struct, frozen=True):
    """How one property fared, with the sentence that it promises."""

    code: str
    sentence: str
    verdict: PartVerdict
    name: str = ""
    rules: tuple[str, ...] = ()
    premise_met: Count = 0
    note: str = ""


class RowCount(msgspec.Struct, frozen=True):
    """How often one row of the table was taken."""

    frame: str
    name: str
    taken: Count
    rules: tuple[str, ...] = ()
    observation: str | None = None


class Cell(msgspec.Struct, frozen=True):
    """One cell of call kind x window x driver state."""

    call: str
    window: str
    driver: str
    enabled: bool
    reached: Count


class DiagramLine(msgspec.Struct, frozen=True):
    """One line of a witness: who told whom what, and the inbox after it."""

    sender: Lane = msgspec.field(name="from")
    receiver: Lane = msgspec.field(name="to")
    label: str = ""
    kind: Kind = "event"
    next_turn: tuple[str, ...] = ()
    next_step: tuple[str, ...] = ()
    status: str = ""
    model: str | None = None
    parted: bool = False


class Finding(msgspec.Struct, frozen=True):
    """A breach reported, with its witness."""

    id: str
    property: str
    sentence: str
    title: str = ""
    codes: tuple[str, ...] = ()
    seen_by: str = ""
    known: str = ""
    """The registered difference that explains it: its ids, the field and the answer."""
    rules: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    however: str = ""
    did: str = ""
    allowed: tuple[str, ...] = ()
    scenario: str = ""
    length: Count = 0
    shrunk_from: Count = 0
    minimal: Literal["exhaustive", "1-minimal", "no"] = "no"
    replay: str = ""
    diagram: tuple[DiagramLine, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """Everything that a report may say about one run."""

    format: int
    verb: str
    verdict: Verdict
    exit: int
    subject: Subject | None = None
    profile: str = ""
    effort: str = ""
    seed: int | None = None
    versions: dict[str, str] = {}
    started: str = ""
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()
    counts: dict[str, int | float] = {}
    stages: tuple[Stage, ...] = ()
    properties: tuple[PropertyVerdict, ...] = ()
    rows: tuple[RowCount, ...] = ()
    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()
    replay: str | None = None
    again: str = ""


def read_run(folder: Path) -> Run:
    """Read and validate `run.json` of a run folder (the path of the file itself will do).

    Raises:
        ReportError: no such folder, no `run.json`, not JSON, not a run, a newer format, or a run
            that contradicts itself.

    """
    path = folder if folder.name == "run.json" else folder / "run.json"
    return decode_run(_bytes_of(path), str(path))


def decode_run(data: bytes, place: str = "run.json") -> Run:
    """Validate the bytes of a `run.json`; `place` is what an error calls it."""
    _check_header(data, place)
    try:
        run = msgspec.json.decode(data, type=Run)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ReportError(
            "RUN_SHAPE", f"{place} is not a run as format {FORMAT} has it: {error}"
        ) from error
    expected = EXIT_CODES[run.verdict]
    if run.exit != expected:
        sentence = (
            f"{place} contradicts itself: verdict {run.verdict} has exit code {expected}, "
            f"the file says {run.exit}"
        )
        raise ReportError("RUN_CONTRADICTS", sentence)
    if run.findings and run.verdict != "broken":
        sentence = (
            f"{place} contradicts itself: it lists {len(run.findings)} finding(s), "
            f"its verdict is {run.verdict}"
        )
        raise ReportError("RUN_CONTRADICTS", sentence)
    return run


class _Header(msgspec.Struct):
    """Just enough of a file to tell a run from anything else."""

    format: int
    verb: str


def _check_header(data: bytes, place: str) -> None:
    try:
        header = msgspec.json.decode(data, type=_Header)
    except msgspec.ValidationError as error:
        sentence = f"{place} is JSON but no run of loopspec: {error}"
        raise ReportError(
            "RUN_FOREIGN", sentence, "a run folder is made by `loopspec check`"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportError("RUN_NOT_JSON", f"{place} is not JSON: {error}") from error
    if header.format > FORMAT:
        sentence = (
            f"{place} has format {header.format}, this loopspec reads format {FORMAT}: "
            "it was written by a newer version"
        )
        raise ReportError("RUN_NEWER", sentence, "update loopspec, or run the check again")
    if header.format != FORMAT:
        sentence = f"{place} has format {header.format}, expected {FORMAT}"
        raise ReportError("RUN_SHAPE", sentence)


def _bytes_of(path: Path) -> bytes:
    folder = path.parent
    hint = "a run folder is made by `loopspec check`; the newest lies in ./loopspec-runs"
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ReportError("RUN_MISSING", f"expected a run folder, {folder} {what}", hint)
    try:
        if not path.is_file():
            found = "; the run ended before it was judged" if any(folder.glob("*.jsonl")) else ""
            if (folder / "run.jsonl").is_file():
                hint = f"`loopspec judge {folder}` judges what it has recorded"
            raise ReportError(
                "RUN_MISSING", f"expected run.json in {folder}, there is none{found}", hint
            )
        size = path.stat().st_size
        if size > SIZE_MAX:
            sentence = f"{path} has {size:,} bytes, more than {SIZE_MAX:,}: too large for a run"
            raise ReportError("RUN_SIZE", sentence)
        return path.read_bytes()
    except OSError as error:
        raise ReportError("RUN_UNREADABLE", f"cannot read {path}: {error.strerror}") from error
