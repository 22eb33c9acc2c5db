"""Walls around an adapter that the system builds: no network, and processes of its own.

`unshare` of util-linux gives a command its own network (without any interface that is up, so not
even loopback), its own process numbers (when the first process ends, the kernel ends all others)
and its own message queues. Files are not walled off: an adapter reads and writes what you can. What
a system refuses is refused here in one sentence, and nothing is run without the walls that were
asked for.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final, NoReturn

from loopspec.conformance.ports.failures import PortError

__all__ = ["isolated"]

WALLS: Final = ("--net", "--ipc", "--pid", "--fork", "--kill-child")
USER: Final = ("--user", "--map-current-user")

WAYS: Final = (
    (*USER, *WALLS, "--mount-proc"),
    (*USER, *WALLS),
    (*WALLS, "--mount-proc"),
    WALLS,
)
"""Ways to the same walls, best first. Without `--mount-proc` the adapter sees the outer /proc;
without a user namespace only root may build them."""

PROBE_S: Final = 10.0


def isolated(argv: Sequence[str]) -> list[str]:
    """The command with its walls. Raises PortError in one sentence where they cannot be built."""
    return [*walls(), *argv]


@functools.cache
def walls() -> tuple[str, ...]:
    """The command that builds the walls and runs what is behind it, tried once."""
    program = shutil.which("unshare")
    if program is None:
        refuse("there is no `unshare` on the path (Linux, package util-linux)")
    why = ""
    for way in WAYS:
        why = probed((program, *way))
        if not why:
            return (program, *way, "--")
    refuse(why)


def probed(command: tuple[str, ...]) -> str:
    """Why these walls cannot be built here; empty when they can."""
    try:
        done = subprocess.run(
            [*command, "--", "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return "" if done.returncode == 0 else (said[0] if said else f"exit code {done.returncode}")


def refuse(why: str) -> NoReturn:
    """Say that nothing is run."""
    msg = f"expected a system that can isolate an adapter (--isolate), got: {why}"
    raise PortError(msg)
