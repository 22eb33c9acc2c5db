"""Time and ids are passed in: nothing in this part reads a wall clock or draws at random by itself.

The log stamps records with a clock; whoever makes messages takes their ids from a source.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns the time in whole milliseconds since 1970; it need not be monotonic (log time is not)."""

Ids = Callable[[], str]
"""Returns an id that it has not returned before."""


def system_clock() -> int:
    """Return the time of this machine in milliseconds."""
    return time.time_ns() // 1_000_000


def fixed_clock(start_ms: int = 0, step_ms: int = 1) -> Clock:
    """Return a clock that moves by one step at each reading: equal runs give equal logs."""
    reading = start_ms - step_ms

    def read() -> int:
        nonlocal reading
        reading += step_ms
        return reading

    return read


def random_ids() -> str:
    """Return a random id; use it as the source `Ids` in production."""
    return str(uuid.uuid4())


def counted_ids(prefix: str = "m") -> Ids:
    """Return a source of the ids prefix1, prefix2, and so on."""
    count = 0

    def take() -> str:
        nonlocal count
        count += 1
        return f"{prefix}{count}"

    return take
