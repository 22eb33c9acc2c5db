"""Folders for tests that write much and keep nothing."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder, in memory where the system has one: nothing waits for a real disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
