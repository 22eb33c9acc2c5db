"""Every verb on payloads, in one process: what it prints goes where the process prints.

    python -m tests.system.verbs FOLDER EVERY

Each payload is put through every EVERY-th case, another share of them for each. A case makes its
files in a folder of its own, and gives the arguments of a verb.
"""

import copy
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from loopspec.cli import exits, progress, shell, tracing
from loopspec.conformance.trace.notation import log_of
from tests.conformance.hostile_files import LOG
from tests.conformance.recordings import edited, recording, small_suite
from tests.reports import samples
from tests.reports.payloads import PAYLOADS

MARK: Final = "=== "
"""Begins a line of our own between two runs."""

SCENARIO: Final = "profile notes\nfollowup A\npre-step: enter\nprovider: done\n"
SIDE: Final = "sometimes"
ESCAPED: Final = re.compile("[\udc80-\udcff]")
WHOLE_RUNS: Final = 1
"""A whole run takes a second: only so many payloads name its folder."""


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    """Every string of a value, as what holds it and where."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        if isinstance(value[key], str):
            yield value, key
        yield from leaves(value[key])


def spoiled(value: Any, text: str, number: int) -> Any:  # noqa: ANN401 - JSON
    """A copy in which one string is the payload; another one for each number."""
    changed = copy.deepcopy(value)
    found = list(leaves(changed))
    held, key = found[number * 7 % len(found)]
    held[key] = text
    return changed


def named(folder: Path, text: str, content: bytes = LOG, suffix: str = "") -> Path:
    """A file with the payload for a name, as far as a file can have it."""
    raw = text.encode("utf-8", "surrogatepass")  # which is no UTF-8, as names may be
    raw = raw.replace(b"\0", b"").replace(b"/", b"_")[:200]
    path = folder / (raw.decode("utf-8", "surrogateescape") + suffix)
    path.write_bytes(content)
    return path


# --- Cases: a payload, its number and an empty folder; the arguments of a verb --------------------


def report_all(text: str, number: int, folder: Path) -> list[str]:
    """A run folder in which every free string is the payload."""
    samples.write(folder, samples.hostile(text))
    return ["report", str(folder), "--cells", "--junit", str(folder / "junit.xml")]


def report_json(text: str, number: int, folder: Path) -> list[str]:
    """The same as JSON."""
    return ["report", str(samples.write(folder, samples.hostile(text))), "--json"]


def report_one(text: str, number: int, folder: Path) -> list[str]:
    """A run folder with one string changed, perhaps one that is checked."""
    return ["report", str(samples.write(folder, spoiled(samples.broken(), text, number)))]


def report_name(text: str, number: int, folder: Path) -> list[str]:
    """A run folder of that name, or none."""
    return ["report", str(folder / text)]


def log_file(folder: Path, rows: list[Any]) -> str:
    """A log with these records."""
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def trace_ids(text: str, number: int, folder: Path) -> list[str]:
    """A broken log in which every message has the payload for an id."""
    rows = [
        json.loads(line) for line in log_of("+T[A] {1 -T[A] (1 uA a )1 (2 xB a )2").splitlines()
    ]
    for row in rows:
        for held, key in list(leaves(row)):
            held[key] = text if held[key] in "AB" else held[key]
    return ["trace", log_file(folder, rows), "--html", str(folder / "page.html")]


def trace_one(text: str, number: int, folder: Path) -> list[str]:
    """A log with one string changed."""
    return [
        "trace",
        log_file(folder, spoiled([json.loads(x) for x in LOG.splitlines()], text, number)),
    ]


def trace_json(text: str, number: int, folder: Path) -> list[str]:
    """The same as JSON."""
    return [*trace_one(text, number, folder), "--json"]


def trace_line(text: str, number: int, folder: Path) -> list[str]:
    """A log with a line that is the payload."""
    raw = text.encode("utf-8", "surrogatepass") + b"\n"
    return ["trace", str(named(folder, "log", raw if number % 2 else LOG + raw))]


def trace_name(text: str, number: int, folder: Path) -> list[str]:
    """A folder with a log of that name, whole and broken off."""
    named(folder, text, LOG if number % 2 else LOG[:-300], ".jsonl")
    return ["trace", str(folder)]


def trace_expect(text: str, number: int, folder: Path) -> list[str]:
    """What is expected of a log of that name."""
    path = folder / "expected.toml"
    path.write_text(f"[logs.{json.dumps(text)}]\nverdict = {json.dumps(text)}\n")
    return ["trace", str(named(folder, "log")), "--expect", str(path)]


def trace_option(text: str, number: int, folder: Path) -> list[str]:
    """An option, or a path."""
    return ["trace", str(folder), *[["--profile", text], ["--resend", text], [text]][number % 3]]


def replay_text(text: str, number: int, folder: Path) -> list[str]:
    """A scenario with the payload in one place."""
    places = ("notes", "followup", "A", "enter", "provider", "done", "\n")
    place = places[number % len(places)]
    path = folder / "x.scenario"
    spelled = SCENARIO.replace(place, text if place != "\n" else f"\n{text}\n", 1)
    path.write_bytes(spelled.encode("utf-8", "surrogatepass"))
    return ["replay", str(path), "--subject", "model"]


def replay_id(text: str, number: int, folder: Path) -> list[str]:
    """A scenario whose message has the payload for an id, where a word may be one."""
    path = folder / "x.scenario"
    path.write_bytes(SCENARIO.replace("A", text).encode("utf-8", "surrogatepass"))
    return ["replay", str(path), *(["--json"] if number % 2 else [])]


def replay_option(text: str, number: int, folder: Path) -> list[str]:
    """An option, or a file that is not there."""
    path = folder / "x.scenario"
    path.write_text(SCENARIO)
    option = ("--subject", "--mutant", "--profile", "--answers", "--")[number % 5]
    return ["replay", str(path), option, text] if option != "--" else ["replay", "--", text]


def differ_sides(text: str, number: int, folder: Path) -> list[str]:
    """A side, a value, a mutant, a scope."""
    sides = ([text, "notes"], ["notes", f"{SIDE}={text}"], [f"mutant:{text}", "notes"])
    given = sides[number % 4] if number % 4 < 3 else ["notes", "dsh-0.1", "--scope", text]
    return ["differ", *given]


def judge_one(text: str, number: int, folder: Path) -> list[str]:
    """A recorded run with one string of its header or its stages changed."""
    path = recording(folder)

    def change(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            if line["line"] == "case":
                line["stage"] = text
        for held, key in list(leaves(lines[0]))[number % 3 :: 3]:
            if key not in ("line", "profile", "evidence", "verb", "effort"):
                held[key] = text
        lines[0]["versions"] = {text: text}

    edited(path, change)
    return ["judge", str(folder), *(["--json"] if number % 2 else [])]


def transcripts_one(text: str, number: int, folder: Path) -> list[str]:
    """A transcript with one string changed."""
    report = {"tr": [["n", "agent/created"]], "nt": ["a"], "ns": [], "st": "idle", "g": ["x"]}
    whole = {"n": 1, "ops": [{"op": "new", "gates": ["assemble"]}], "reports": [report]}
    path = folder / "transcripts.jsonl"
    path.write_text(json.dumps(spoiled(whole, text, number)) + "\n")
    return ["transcripts", str(folder if number % 5 else folder / text), "--jobs", "1"]


def check_option(text: str, number: int, folder: Path) -> list[str]:
    """An option, or a place that cannot be a folder."""
    option = ("--mutant", "--profile", "--effort", "--out", "--seed")[number % 5]
    value = str(named(folder, text)) if option == "--out" else text
    return ["check", option, value]


def check_out(text: str, number: int, folder: Path) -> list[str]:
    """A whole run, small, into a folder of that name."""
    path = named(folder, text)
    path.unlink()
    return ["check", "--examples", "0", "--mutant", "requeue-on-reject", "--out", str(path)]


def explore_option(text: str, number: int, folder: Path) -> list[str]:
    """A scope, a profile, a file."""
    return ["explore", ("--scope", "--profile", "--graph")[number % 3], text]


def shell_word(text: str, number: int, folder: Path) -> list[str]:
    """A verb, an option, an option of a verb."""
    return [[text], [f"--{text}"], ["doctor", f"--{text}"], ["trace", "--line-limit", text]][
        number % 4
    ]


CASES: Final[tuple[Callable[[str, int, Path], list[str]], ...]] = (
    *(report_all, report_json, report_one, report_name, trace_ids, trace_one, trace_json),
    *(trace_line, trace_name, trace_expect, trace_option, replay_text, replay_id, replay_option),
    *(
        differ_sides,
        judge_one,
        transcripts_one,
        check_option,
        check_out,
        explore_option,
        shell_word,
    ),
)


def as_argument(text: str) -> str:
    """The text as a process gets it: bytes that are no UTF-8 are low surrogates, NUL ends it."""
    raw = text.encode("utf-8", "surrogateescape" if ESCAPED.search(text) else "surrogatepass")
    return raw.decode("utf-8", "surrogateescape").replace("\0", "")


def main(root: Path, every: int) -> None:
    """Run each payload through its share of the cases."""
    progress.SILENT_SECONDS = 1e9  # type: ignore[misc] # it moves the cursor, which is ours to do
    small_suite(pytest.MonkeyPatch(), 2)
    tracing.acceptor_for = cache(tracing.acceptor_for)
    runs = whole_runs = 0
    for number, text in enumerate(PAYLOADS):
        for index, case in enumerate(CASES):
            if (number + index) % every or (case is check_out and whole_runs == WHOLE_RUNS):
                continue
            whole_runs += case is check_out
            folder = root / f"{number}-{index}"
            folder.mkdir()
            given = [as_argument(each) for each in case(text, number, folder)]
            sys.stdout.write(f"{MARK}{case.__name__} {number}\n")
            sys.stdout.flush()
            try:
                code = shell.run(given)
            except OSError as error:  # `shell.main` says it, and gives the stream up
                exits.show(f"{error.filename}: {error.strerror}")
                code = exits.COULD_NOT_RUN
            assert code in (0, 1, 2, 3), (case, number, code)
            runs += 1
    sys.stdout.write(f"{MARK}{runs} runs\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
