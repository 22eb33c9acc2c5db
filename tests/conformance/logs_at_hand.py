"""Where recorded session logs are, and what a test does when they are not at hand."""

import os
from functools import cache
from pathlib import Path

import pytest

from loopspec.conformance.trace import Acceptor, Judged, judge_log

REASON = "LOOPSPEC_DATA is not set: recorded session logs are no part of the project"
GENERATIONS = ("v0-", "v3-", "v4-")
BUILT_TO_BREAK = ("reinserted-id", "resend-same-id-later")


def folder() -> Path:
    """The folder of the logs; skips, or fails where LOOPSPEC_REQUIRE names `data`."""
    data = os.environ.get("LOOPSPEC_DATA", "")
    if data and (Path(data) / "sessions").is_dir():
        return Path(data) / "sessions"
    if "data" in os.environ.get("LOOPSPEC_REQUIRE", "").split(","):
        pytest.fail(f"logs are required by LOOPSPEC_REQUIRE: {REASON}")
    pytest.skip(REASON)


@cache
def acceptor() -> Acceptor:
    """One acceptor for all tests: what it has found out serves every log."""
    return Acceptor()


@cache
def judged() -> dict[str, Judged]:
    """All logs, judged once."""
    logs = sorted(path for path in folder().iterdir() if ".jsonl" in path.name)
    return {path.name: judge_log(path, acceptor()) for path in logs}


def native(name: str) -> bool:
    """Whether a log was written by a released runtime and found as it is."""
    return name.startswith(GENERATIONS) and "-from-" not in name
