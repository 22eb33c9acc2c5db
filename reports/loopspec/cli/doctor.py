"""`loopspec doctor`: what this machine has, and what its versions are known for."""

import importlib.metadata
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import click

from loopspec.reports.text import json_text, printed

PYTHON_MIN: Final = (3, 11)
PYTHON_END: Final = (3, 14)
SQLITE_MIN: Final = (3, 8, 2)
"""The first one with tables without row numbers, which the session log is made of."""

TOOLS: Final = {
    "git": "names the version that a run was made with",
    "node": "runs subjects in JavaScript",
    "chromium": "looks at the page of a report",
}


class Fault(NamedTuple):
    """A fault of SQLite: the versions that have it, and what it means for the session log."""

    name: str
    first: tuple[int, int, int]
    last: tuple[int, int, int]
    repaired: tuple[tuple[int, int, int], ...]
    says: str
    exposed: str

    def hits(self, version: tuple[int, int, int]) -> bool:
        """Whether a version has it: `repaired` are the first good ones of older branches."""
        mended = any(version[:2] == good[:2] and version >= good for good in self.repaired)
        return self.first <= version <= self.last and not mended


FAULTS: Final = (
    Fault(
        "WAL-reset race",
        (3, 7, 0),
        (3, 51, 2),
        ((3, 44, 6), (3, 50, 7)),
        "two connections that write and checkpoint at one moment can lose commits",
        "not exposed: one connection of a session log writes and checkpoints, a second owner is "
        "refused, and every reader is read-only",
    ),
)


class Row(NamedTuple):
    """One thing that was looked at: `ok`, `known` (a fault that does no harm), `absent`, `bad`."""

    what: str
    state: Literal["ok", "known", "absent", "bad"]
    says: str


@click.command(
    "doctor",
    short_help="say what this machine has, and what its versions are known for",
    epilog="""\b
Examples:
  loopspec doctor
  loopspec doctor --json | python -m json.tool

\b
Exit codes: 0 everything that is needed is there; 2 something that is needed is not.
""",
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON instead of text.")
def command(as_json: bool) -> int:
    """Look at Python, SQLite, the packages of each extra, and tools; change nothing.

    A fault of the SQLite at hand is named with what it means for the session log. Extras and tools
    may be absent: what needs them says so or is skipped.
    """
    rows = tuple(looked_at())
    if as_json:
        sys.stdout.write(json_text([row._asdict() for row in rows], 2))
    else:
        width = max(len(row.what) for row in rows)
        lines = (f"{row.state:7} {row.what:{width}}  {row.says}".rstrip() for row in rows)
        sys.stdout.write(printed(lines))
    return 2 if any(row.state == "bad" for row in rows) else 0


def looked_at() -> Iterator[Row]:
    """Look at everything, what is needed first."""
    yield python_row(sys.version_info[:3])
    yield from sqlite_rows(sqlite3.sqlite_version_info, sqlite3.threadsafety)
    try:
        yield from package_rows(importlib.metadata.requires("loopspec") or [])
    except importlib.metadata.PackageNotFoundError:
        yield Row("packages", "absent", "loopspec is not installed: it runs from its source tree")
    for tool, use in TOOLS.items():
        place = shutil.which(tool)
        yield Row(tool, "ok" if place else "absent", use)


def python_row(version: tuple[int, ...]) -> Row:
    """Judge a version of Python."""
    fits = PYTHON_MIN <= version[:2] < PYTHON_END
    says = "" if fits else "loopspec needs Python 3.11 to 3.13"
    return Row(f"Python {_dotted(version)}", "ok" if fits else "bad", says)


def sqlite_rows(version: tuple[int, ...], threadsafety: int) -> Iterator[Row]:
    """Judge a version of SQLite, with each fault that it is known for."""
    if len(version) < 3 or version < SQLITE_MIN:
        says = f"the session log needs SQLite {_dotted(SQLITE_MIN)}"
        yield Row(f"SQLite {_dotted(version)}", "bad", says)
        return
    says = "" if threadsafety else "built without threads: open logs with writer='inline'"
    yield Row(f"SQLite {_dotted(version)}", "ok" if threadsafety else "known", says)
    for fault in FAULTS:
        if fault.hits((version[0], version[1], version[2])):
            yield Row(f"SQLite: {fault.name}", "known", f"{fault.says}; {fault.exposed}")


def package_rows(requirements: list[str]) -> Iterator[Row]:
    """Say of the base and of each extra which packages are absent."""
    groups: dict[str, list[str]] = {"": []}
    for requirement in requirements:
        name = re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)[0]
        marker = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
        groups.setdefault(marker[1] if marker else "", []).append(name)
    for extra, names in groups.items():
        absent = [name for name in names if not _installed(name)]
        what = f"extra {extra}" if extra else "packages"
        if not absent:
            yield Row(what, "ok", ", ".join(names))
        elif extra:
            yield Row(what, "absent", f"lacks {', '.join(absent)}")
        else:
            yield Row(what, "bad", f"lacks {', '.join(absent)}; install loopspec again")


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
