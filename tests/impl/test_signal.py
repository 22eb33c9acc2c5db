"""The abort signal: once, with the first cause."""

from __future__ import annotations

from loopspec.impl import Signal


def test_first_cause_wins_and_listeners_hear_it_once_and_contained() -> None:
    """CN-05, ER-01."""
    failures: list[str] = []
    heard: list[tuple[bool, str | None]] = []
    signal = Signal(lambda name, error: failures.append(f"{name} {error}"))
    assert (False, None) == (signal.aborted, signal.cause)

    def fail() -> None:
        msg = "no"
        raise RuntimeError(msg)

    signal.on_abort(fail)
    signal.on_abort(lambda: heard.append((signal.aborted, signal.cause)))
    leave = signal.on_abort(lambda: heard.append((False, "left")))
    leave()
    signal._abort("user")
    signal._abort("parent")
    assert [(True, "user")] == heard
    assert "user" == signal.cause
    assert ["abort no"] == failures
