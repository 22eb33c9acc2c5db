"""Maintenance: a task of the host's that runs while no driver does, and keeps drivers away.

The public status stays idle (MN-03). Waking deliveries meanwhile are due: they are driven once
the task has settled, however it did (MN-05).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from loopspec.impl.activity import Activity
from loopspec.impl.signal import Signal

T = TypeVar("T")


async def maintain(
    now: Activity,
    task: Callable[[Signal], Awaitable[T]],
    signal: Signal,
    settled: asyncio.Future[T],
    drive: Callable[[], None],
) -> None:
    """Run the task, drive what became due, and only then settle (MN-09)."""
    value: list[T] = []
    failure: BaseException | None = None
    try:
        value.append(await task(signal))
    except Exception as error:
        failure = error
    finally:
        now.end()
        # A task that was cancelled with its block leaves through here.
        if not value and failure is None:
            settled.cancel()
            now.converge()
    if now.owes_a_driver:
        drive()
    if not settled.done():
        if failure is not None:
            settled.set_exception(failure)
        else:
            settled.set_result(value[0])
    now.converge()
