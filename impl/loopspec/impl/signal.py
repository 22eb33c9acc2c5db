"""The abort signal of one turn: set once, with a cause, and never taken back.

Cancelling sets this object and does nothing else: whoever works for the turn looks at it, or
asks to be called, and stops by itself (CN-13). The first cause wins (CN-05).
"""

from __future__ import annotations

from collections.abc import Callable

from loopspec.impl.listeners import Listeners, OnFailure, log_failure


class Aborted(Exception):
    """Leaves the work of a turn whose signal is aborted; it never leaves the driver."""


class Signal:
    """Whether the open turn was asked to end, and why."""

    def __init__(self, on_failure: OnFailure = log_failure) -> None:
        """Start without a cause."""
        self._cause: str | None = None
        self._listeners: Listeners[Callable[[], None]] = Listeners()
        self._on_failure = on_failure

    @property
    def aborted(self) -> bool:
        """True from the first abort on."""
        return self._cause is not None

    @property
    def cause(self) -> str | None:
        """The first cause that was given, or None."""
        return self._cause

    def on_abort(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener at the abort, with `aborted` already true; returns how to leave.

        On an aborted signal the listener is never called: look at `aborted` first.
        """
        return self._listeners.add(listener)

    def _abort(self, cause: str) -> None:
        """Set the cause unless there is one (CN-05), then tell the listeners, contained."""
        if self._cause is not None:
            return
        self._cause = cause
        for listener in self._listeners.resolved():
            try:
                listener()
            except Exception as error:
                self._on_failure("abort", error)

    def _raise_if_aborted(self) -> None:
        if self.aborted:
            raise Aborted
