"""What is left of a tree of processes, by a mark in the environment that all of it inherits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

MARK = "ZOO_MARK"


def marked(mark: str) -> list[int]:
    """The processes that live with this mark, whoever their parents are."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                environment = Path("/proc", name, "environ").read_bytes()
            except OSError:
                continue
            if wanted in environment.split(b"\0"):
                found.append(int(name))
    return found


def becomes(what: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes true within so many seconds."""
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0)
    return True
