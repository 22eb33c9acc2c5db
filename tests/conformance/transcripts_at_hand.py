"""Where recorded transcripts are, and what a test does when they are not at hand."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from loopspec.conformance.transcripts import read_transcripts

FOLDER = "upstream-transcripts"
REASON = "LOOPSPEC_DATA is not set: recorded transcripts are no part of the project"


def folder() -> Path:
    """The folder of the transcripts; skips, or fails where LOOPSPEC_REQUIRE names `data`."""
    data = os.environ.get("LOOPSPEC_DATA", "")
    if data and (Path(data) / FOLDER).is_dir():
        return Path(data) / FOLDER
    if "data" in os.environ.get("LOOPSPEC_REQUIRE", "").split(","):
        pytest.fail(f"transcripts are required by LOOPSPEC_REQUIRE: {REASON}")
    pytest.skip(REASON)


@cache
def transcripts() -> tuple[dict[str, Any], ...]:
    """All of them, read once."""
    return tuple(read_transcripts(folder()))
