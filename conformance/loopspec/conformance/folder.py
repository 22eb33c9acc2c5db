"""The run folder as a place: made once, for its owner alone, each file whole or not there.

Rules of this file. A folder is made with 0700 and never over one that exists; a file is written
beside its place, synced, and renamed into it; no symbolic link is followed. `run.jsonl` alone grows
in place (`recorder`), since it has to be there when the run is killed. Nothing is ever removed.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import secrets
from pathlib import Path
from typing import Final, NoReturn

__all__ = [
    "CREATE",
    "RUNS",
    "RUNS_BYTES_MAX",
    "FolderError",
    "cannot_write",
    "new_folder",
    "runs_warning",
    "sync_folder",
    "write_whole",
]

RUNS: Final = Path("loopspec-runs")
"""Where run folders go when nobody names another place."""

RUNS_BYTES_MAX: Final = 1024**3
"""What the run folders may hold together before a run says how much it is."""

CREATE: Final = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class FolderError(OSError):
    """A run folder that cannot be written; the text says where and why."""


def new_folder(parent: Path, verb: str) -> Path:
    """A fresh folder for one run below `parent`, which only its owner can read.

    Raises FolderError with one sentence when it cannot be made, or when the default place is a
    symbolic link: whoever wants the runs elsewhere names that place.
    """
    if parent == RUNS and parent.is_symlink():
        msg = f"expected a folder, {parent} is a symbolic link; name the place with --out"
        raise FolderError(msg)
    folder = parent / run_name(verb)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        msg = f"expected a folder that can be written, got {parent}: {error.strerror or error}"
        raise FolderError(msg) from error
    return folder


def run_name(verb: str) -> str:
    """The name of a run folder: sorted by name is sorted by time."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{stamp}-{verb}-{secrets.token_hex(3)}"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or nothing, also after a power cut.

    Raises FolderError with one sentence when the disk is full or the place cannot be written; what
    stood there before still stands there.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(os.open(beside, os.O_WRONLY | CREATE, 0o666), "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        cannot_write(path, error)


def cannot_write(path: Path, error: OSError) -> NoReturn:
    """Say in one sentence why a file cannot be written, and that nothing else was lost."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    stays = f"; what was written so far stays in {path.parent}" if full else ""
    msg = f"cannot write {path}: {error.strerror or error}{stays}"
    raise FolderError(msg) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive a power cut, where a folder can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def runs_warning(parent: Path, limit: int = RUNS_BYTES_MAX) -> str:
    """What to say once the runs below `parent` hold more than `limit` bytes; else nothing."""
    total = runs = 0
    with contextlib.suppress(OSError):
        for folder in os.scandir(parent):
            if folder.is_dir(follow_symlinks=False):
                runs += 1
                total += _bytes_in(folder.path)
    if total <= limit:
        return ""
    return f"{parent} holds {total:,} bytes in {runs:,} folders; none is ever removed by itself"


def _bytes_in(folder: str) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for each in os.scandir(folder):
            if each.is_file(follow_symlinks=False):
                total += each.stat(follow_symlinks=False).st_size
    return total
