"""The mark behind a seed stands once."""

from __future__ import annotations

from loopspec.impl import SessionLog, fork
from loopspec.impl.resume import go_on
from tests.impl.test_resume import COMPLETED, log_of, words


def test_fork_that_goes_on_is_not_marked_again() -> None:
    """Fork that goes on is not marked again."""
    child = SessionLog.in_memory()
    fork(log_of(("turn/start", {"turn": 1}), ("turn/end", {"turn": 1, "reason": COMPLETED})), child)
    before = child.read()
    assert "session/end-seed" == words(before)[-1]
    assert before == go_on(child)
