"""The peers as subjects, where their packages are installed (`make upstream`)."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopspec.conformance.subjects.contract import Subject
from loopspec.conformance.subjects.port import Port, PortSubject

FOLDER = Path(__file__).parents[2] / "impl" / "adapters" / "pi"
EXPECTED = Path(__file__).parents[2] / "conformance" / "loopspec" / "conformance" / "peers"


def needs(tool: str, reason: str) -> None:
    """Skip with the reason; fail where LOOPSPEC_REQUIRE names the tool."""
    if reason and tool in os.environ.get("LOOPSPEC_REQUIRE", "").split(","):
        pytest.fail(f"{tool} is required by LOOPSPEC_REQUIRE, and {reason}")
    if reason:
        pytest.skip(reason)


@contextlib.contextmanager
def pi(fault: str | None = None) -> Iterator[Callable[[], Subject]]:
    """A factory of sessions of pi, in one process that ends with the block."""
    reason = "" if shutil.which("node") else "node is not installed"
    if not reason and not (FOLDER / "node_modules").is_dir():
        reason = "the packages of pi are not installed: make upstream"
    needs("node", reason)
    options = [] if fault is None else ["--fault", fault]
    port = Port(["node", str(FOLDER / "adapter.mjs"), *options], "pi")
    try:
        yield lambda: PortSubject(port)
    finally:
        port.stop()


@contextlib.contextmanager
def pydantic_ai(fault: str | None = None) -> Iterator[Callable[[], Subject]]:
    """A factory of sessions of pydantic-ai, in this process."""
    is_there = importlib.util.find_spec("pydantic_ai") is not None
    needs("pydantic-ai", "" if is_there else "pydantic-ai is not installed: make upstream")
    from loopspec.conformance.subjects.pydantic_ai import PydanticAISubject

    yield lambda: PydanticAISubject(fault)


AT_HAND = {"pi": pi, "pydantic-ai": pydantic_ai}
"""Each peer by its profile."""


def expected_of(profile: str) -> str:
    """The text of what is known of a peer."""
    return (EXPECTED / f"{profile}.expected.toml").read_text(encoding="utf-8")
