"""Which files are logs: what was named, and what lies in a folder that was named.

Rules of this file. What a user names is followed wherever it leads; inside a folder nothing is:
no link, no device, no FIFO, and no folder twice. Names are bytes of somebody else; they are shown,
never used to make another name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from loopspec.conformance.trace.reading import NotALog, kind_of

__all__ = ["FILES_MAX", "Found", "find_logs"]

SUFFIXES: Final = (".jsonl", ".ndjson", ".zstd", ".zst", ".sqlite", ".db")
FILES_MAX: Final = 100_000
"""How many files of a folder are looked at."""


@attrs.frozen
class Found:
    """A file to judge; `walked` when it was found in a folder, `problem` when it is no file."""

    path: Path
    walked: bool = False
    problem: str = ""


def find_logs(paths: Sequence[Path], files_max: int = FILES_MAX) -> Iterator[Found]:
    """Each file that was named, and each that looks like a log in a folder that was named.

    Raises NotALog when a name leads nowhere.
    """
    for path in paths:
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise NotALog(f"expected a log or a folder of logs, got {path}: {why}") from error
        if stat.S_ISDIR(mode):
            yield from walk(path, files_max)
        else:
            yield Found(path)


def walk(folder: Path, files_max: int) -> Iterator[Found]:
    """The logs below a folder, in the order of their names."""
    left = files_max
    todo = [folder]
    while todo:
        at = todo.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield Found(at, True, f"the folder cannot be read: {error.strerror}")
            continue
        below = []
        for entry in entries:
            left -= 1
            if left < 0:
                yield Found(at, True, f"more than {files_max:,} files: the rest was not looked at")
                return
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                below.append(path)
            elif entry.name.lower().endswith(SUFFIXES):
                yield Found(path, True, problem_of(entry))
        todo += reversed(below)


def problem_of(entry: os.DirEntry[str]) -> str:
    """Why an entry of a folder is not read, or nothing."""
    mode = entry.stat(follow_symlinks=False).st_mode
    if stat.S_ISREG(mode):
        return ""
    return f"expected a regular file, got {kind_of(mode)}; in a folder nothing else is read"
