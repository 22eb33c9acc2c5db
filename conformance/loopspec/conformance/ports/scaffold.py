"""New ports: a complete adapter with a toy loop inside, in one of several languages.

Rules of this file. A template is a folder of data files under `templates/`, as its user will have
it: nothing in it imports loopspec, and each runs where it stands. Two things are filled in: the
name of the port stands for `my-loop` wherever that occurs, and `vectors.json` is made by the
version that makes the port.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import attrs

from loopspec.conformance.ports.vectors import text_of, vectors

__all__ = ["LANGUAGES", "Language", "called", "new_port"]

PLACEHOLDER: Final = "my-loop"
NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
SHARED: Final = "shared"
"""The folder of what is the same in each language."""

LEFT_BEHIND: Final = {"__pycache__", "node_modules", "target", "vectors.json", "Cargo.lock"}
"""What running a template where it stands leaves there; it belongs to no port."""


@attrs.frozen
class Language:
    """A language that has a template: how its port is tested and built, and how it is started.

    Both are lines for a shell, in which `{name}` stands for the name of the port.
    """

    title: str
    test: str
    adapter: str


LANGUAGES: Final = {
    "python": Language("Python", "python -m unittest", '"python adapter.py"'),
    "typescript": Language("TypeScript", "npm test", '"node adapter.mjs"'),
    "go": Language("Go", "go test ./... && go build -o {name} .", "./{name}"),
    "rust": Language("Rust", "cargo test && cargo build --release", "target/release/{name}"),
}
"""Each template by the name that the command line has for it."""


def called(name: str) -> str:
    """The name of a port in a folder of this name, of small letters, digits and `-` only."""
    return name if NAME.fullmatch(name) else PLACEHOLDER


def new_port(language: str, name: str) -> dict[str, bytes]:
    """The files of a new port by their path; `language` is one of `LANGUAGES`."""
    assert language in LANGUAGES, f"{language} has no template"
    found = {
        path: file.read_bytes().replace(PLACEHOLDER.encode(), called(name).encode())
        for folder in (SHARED, language)
        for path, file in _walk(files(__package__).joinpath("templates", folder), "")
    }
    return {**found, "vectors.json": text_of(vectors()).encode()}


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.name in LEFT_BEHIND:
            continue
        if each.is_dir():
            yield from _walk(each, f"{path}{each.name}/")
        else:
            yield f"{path}{each.name}", each
