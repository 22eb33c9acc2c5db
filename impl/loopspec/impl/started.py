"""A coroutine that runs its first part at once, in its caller's stack, and the rest in a task.

A wake has to open its turn before the delivering call returns (LN-10), while an asyncio task
begins one tick later. So the task is created, but the coroutine inside it is stepped by hand to
its first await; the task carries on from there. During the step by hand the task is the current
one, so that timeouts and task groups in listeners attach to the task that will run them.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any

# The documented support for code that steps coroutines of a task itself.
from asyncio.tasks import _enter_task, _leave_task  # isort: skip

CreateTask = Callable[..., "asyncio.Task[None]"]


class Started(Coroutine[Any, None, None]):
    """What the task is given: the coroutine, already standing at its first await."""

    def __init__(self, inner: Coroutine[Any, None, None]) -> None:
        """Wrap a coroutine that was not started."""
        self._inner = inner
        self._waiting: Any = None
        self._outcome: BaseException | None = None
        self._carried = False

    def begin(self) -> None:
        """Step to the first await; the end or an error is kept for the task."""
        try:
            self._waiting = self._inner.send(None)
        except BaseException as error:
            self._outcome = error

    def send(self, value: None) -> Any:  # noqa: ANN401 - whatever asyncio futures yield
        """Hand over what the first await waits for, later whatever the coroutine yields.

        When that was settled before the task came to run, the coroutine goes on at once: the
        answer of a gate resumes it one tick later, and that tick is this one.
        """
        if self._carried:
            return self._inner.send(value)
        self._carried = True
        if self._outcome is not None:
            raise self._outcome
        if self._waiting is None or self._waiting.done():
            return self._inner.send(None)
        return self._waiting

    def throw(
        self,
        kind: Any,  # noqa: ANN401 - the signature of Coroutine.throw
        _value: object = None,
        _trace: TracebackType | None = None,
    ) -> Any:  # noqa: ANN401
        """Raise inside the coroutine, where it waits."""
        self._carried = True
        if self._outcome is not None:
            raise self._outcome
        return self._inner.throw(kind)

    def close(self) -> None:
        """Close the coroutine."""
        self._inner.close()

    def __await__(self) -> Generator[Any, None, None]:
        """Await the rest of the coroutine."""
        return self._inner.__await__()


def start(create_task: CreateTask, coroutine: Coroutine[Any, None, None]) -> None:
    """Run the coroutine to its first await now, and the rest in a task made by `create_task`."""
    context = contextvars.copy_context()
    started = Started(coroutine)
    task = create_task(started, context=context)
    loop = task.get_loop()
    caller = asyncio.current_task(loop)
    if caller is not None:
        _leave_task(loop, caller)
    _enter_task(loop, task)
    try:
        context.run(started.begin)
    finally:
        _leave_task(loop, task)
        if caller is not None:
            _enter_task(loop, caller)
