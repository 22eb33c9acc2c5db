"""Folders for tests that write much and keep nothing."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder, in memory where the system has one: nothing waits for a real disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def on_a_small_disk(size: str, script: str) -> list[str]:
    """The command that runs a shell script in the folder `disk` on a file system of that size.

    `disk` is in the folder in which the command is run, and only the script sees the file system.
    Skips the test where nobody may mount anything.
    """
    unshare = shutil.which("unshare")
    private = [unshare or "unshare", "-rm"]
    if unshare is None or subprocess.run([*private, "true"], capture_output=True).returncode:
        pytest.skip("no private mounts here (unshare -rm)")
    mount = f"mount -t tmpfs -o size={size} none disk"
    return [*private, "sh", "-c", f"mkdir disk && {mount} && cd disk && {script}"]
