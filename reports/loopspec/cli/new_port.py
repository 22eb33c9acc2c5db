"""`loopspec new-port`: a complete adapter to begin with, in the language of your loop."""

import shlex
import sys
from pathlib import Path
from typing import Final

import click

from loopspec.cli.exits import CouldNotRun

ALIASES: Final = {"javascript": "typescript"}
"""Other names of a template: that of TypeScript is JavaScript with its types in comments."""


@click.command(
    "new-port",
    short_help="write a complete adapter with a toy loop inside, to grow a port from",
    epilog="""\b
Examples:
  loopspec new-port python my-loop
  loopspec new-port typescript ports/my-loop

\b
Exit codes: 0 written, 2 could not write.
""",
)
@click.argument("language", metavar="LANG")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def command(language: str, folder: Path) -> int:
    """Write a new port to DIR, which must be empty or not there yet.

    LANG is python, typescript (or javascript), go or rust. The port conforms as it is: it has the
    adapter, a toy loop, recorded vectors with a runner in the test framework of the language, a
    file of known failures, and a CI job. Its README says how to put your own loop in.
    """
    from loopspec.conformance.ports.scaffold import LANGUAGES, called, new_port

    language = ALIASES.get(language, language)
    if language not in LANGUAGES:
        raise CouldNotRun(
            f"expected a language with a template ({', '.join(LANGUAGES)}), got {language!r}",
            "docs/writing-a-port.md tells how a port in any other language is written",
        )
    needs_room(folder)
    name = folder.resolve().name
    port = new_port(language, name)
    for path, content in port.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    known = LANGUAGES[language]
    test, adapter = (each.format(name=called(name)) for each in (known.test, known.adapter))
    sys.stdout.write(
        f"wrote {len(port)} files of a {known.title} port to {folder}\n"
        f"  go there   cd {shlex.quote(str(folder))}\n"
        f"  test it    {test}\n"
        f"  judge it   loopspec smoke {adapter}\n"
    )
    return 0


def needs_room(folder: Path) -> None:
    """Refuse a place where something would be overwritten."""
    if folder.is_dir():
        count = sum(1 for _ in folder.iterdir())
        if count:
            entries = "1 entry" if count == 1 else f"{count} entries"
            raise CouldNotRun(f"expected an empty directory or none, got {folder} with {entries}")
    elif folder.exists() or folder.is_symlink():
        raise CouldNotRun(f"expected an empty directory or none, got {folder}, which is a file")
