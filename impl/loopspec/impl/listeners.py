"""An ordered set of listeners, and what happens to one that fails.

A dispatch resolves its listeners before it calls the first: who is added or removed during a
dispatch changes the next one (ER-02).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

L = TypeVar("L")

OnFailure = Callable[[str, Exception], None]
"""Told of each contained failure: the name that was dispatched, and the error."""

_logger = logging.getLogger("loopspec.impl")


def log_failure(name: str, error: Exception) -> None:
    """Write a contained failure to the standard logger; the default `on_failure`."""
    _logger.error("a listener of %s failed: %s", name, error, exc_info=error)


class Listeners(Generic[L]):
    """Listeners in the order of their calls: prepended ones first, then as they came (PS-06)."""

    def __init__(self) -> None:
        """Start without listeners."""
        self._entries: list[tuple[object, L]] = []
        self._resolved: tuple[L, ...] = ()

    def add(self, listener: L, *, prepend: bool = False) -> Callable[[], None]:
        """Add a listener and return the function that removes this entry, once or more often."""
        entry = (object(), listener)
        self._entries.insert(0 if prepend else len(self._entries), entry)
        self._resolve()

        def remove() -> None:
            if entry in self._entries:
                self._entries.remove(entry)
                self._resolve()

        return remove

    def resolved(self) -> tuple[L, ...]:
        """Return the listeners that a dispatch beginning now will call."""
        return self._resolved

    def _resolve(self) -> None:
        """Nothing may come between the listeners and what the next dispatch will call."""
        self._resolved = tuple(listener for _, listener in self._entries)
