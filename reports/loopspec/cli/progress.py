"""Progress on stderr: silent when nobody watches, and for the first two seconds."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from loopspec.conformance.visible import clean

SILENT_SECONDS: Final = 2.0


class ProgressLine:
    """One line that tells how far a stage is and how long it will take; use as a context.

    Nothing is written when stderr is not a terminal, and rich is not even imported.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        watched: Callable[[], bool] | None = None,
    ) -> None:
        """`clock` and `watched` (is stderr a terminal) are given by tests."""
        self._clock = clock
        self._watched = (watched or sys.stderr.isatty)()
        self._began = clock()
        self._bar: _Bar | None = None

    def __enter__(self) -> Self:
        """Start to measure."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away again."""
        if self._bar is not None:
            self._bar.stop()

    def update(self, label: str, done: int, total: int | None = None) -> None:
        """Tell what is being done and how far it is; `total` None means that nobody knows."""
        if not self._watched:
            return
        if self._bar is None:
            if self._clock() - self._began < SILENT_SECONDS:
                return
            self._bar = _Bar()
        self._bar.show(label, done, total)


class _Bar:
    """The rich side of a progress line, made only once something is to be seen."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=True),  # asked already
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)
        self._label = ""
        self._progress.start()

    def show(self, label: str, done: int, total: int | None) -> None:
        label = clean(label, 60)  # a stage may have its name from a file
        if label != self._label:
            # Remaining time is a matter of one stage; the rate of another says nothing.
            self._progress.reset(self._task, total=total, description=label)
            self._label = label
        self._progress.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        self._progress.stop()
