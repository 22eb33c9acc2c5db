"""Small recordings, written as a check writes them, and ways to damage them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopspec.conformance import suite
from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import Outcome
from loopspec.conformance.recorder import NAME, EvidenceFile, Header
from loopspec.conformance.suite import Result, Stage
from loopspec.model.cover import Cover
from tests.conformance.checks import REJECT, planted, run

HEADER = Header("check", "notes", "quick", 7, "all", {"loopspec": "1"}, "now", "loopspec check")
TEXTS = (REJECT, "followup A\npre-step: enter\nprovider: done\n", "steer A\nfollowup A\nclear\n")


def small_suite(patch: pytest.MonkeyPatch, scenarios: int) -> None:
    """Let a check run so many scenarios of the corpus, three more as its cover."""
    whole = load_corpus()
    chosen = whole[:scenarios]
    cells = frozenset({("followup", "at rest", "idle"), ("dispose", "at rest", "nowhere")})
    cover = Cover(tuple(each.scenario for each in whole[-3:]), frozenset(), cells, frozenset())
    patch.setattr(suite, "load_corpus", lambda: chosen)
    patch.setattr(suite, "cover_rows", lambda *_: cover)


def outcomes(mutant: str = "") -> list[Outcome]:
    """What a few scenarios give."""
    return [run(text, planted(mutant)() if mutant else None) for text in TEXTS]


def recording(folder: Path, header: Header = HEADER, mutant: str = "") -> Path:
    """A recording of three cases in one stage, with its footer."""
    record = EvidenceFile(folder, header)
    record.begin("python", "0.1.0", ())
    result = Result(header.profile, header.effort, header.seed)
    for outcome in outcomes(mutant):
        record.case("corpus", outcome)
    record.stage(Stage("corpus"), "")
    result.doubts.append("a small run")
    record.finish(result)
    return folder / NAME


def without_footer(path: Path) -> list[bytes]:
    """Leave the footer away, as a kill does; the lines that are left."""
    lines = path.read_bytes().splitlines(keepends=True)[:-1]
    path.write_bytes(b"".join(lines))
    return lines


def edited(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the lines before the footer, and make the footer fit again."""
    *lines, footer = (json.loads(line) for line in path.read_text().splitlines())
    change(lines)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    footer["lines"] = len(lines) + 1
    footer["cases"] = sum(line["line"] == "case" for line in lines)
    footer["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text + json.dumps(footer) + "\n")
