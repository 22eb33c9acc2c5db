"""What holds for every test."""

from __future__ import annotations

import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background ignores interrupts, and what it starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name has an address of memory: no two processes name it alike."""
    wrong = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if wrong:
        msg = f"expected a name that is the same in every process, got {wrong[0]}"
        raise pytest.UsageError(msg)
