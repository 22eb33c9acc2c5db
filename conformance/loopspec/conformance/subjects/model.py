"""The specification itself as a subject.

It is what a scenario is played on when there is no implementation: the left column of a replay,
the expected traces of documents, and the subject that the judge must never find fault with. Given
another table's `move`, it is how two tables are told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopspec.conformance.subjects.contract import CAPABILITIES, Lists
from loopspec.model.policy import NOTES, Policy
from loopspec.model.session import HELD, Session
from loopspec.model.table import Moved, Refusal, apply, move
from loopspec.model.words import LISTENERS, Answer, Call, Observation

__all__ = ["ModelSubject"]

VERSION: Final = "specification"


class ModelSubject:
    """One session of the model, driven through the contract of every subject."""

    name = "model"
    version = VERSION

    def __init__(
        self,
        policy: Policy = NOTES,
        step: Callable[[Session], Moved | None] = move,
        accept: Callable[[Session, Call | Answer], Session | Refusal] = apply,
        capabilities: frozenset[str] = frozenset(CAPABILITIES),
    ) -> None:
        """`step` and `accept` are those of the table to play; by default the shipped one.

        With fewer `capabilities` it is asked for less: for what some other subject can play.
        """
        self.capabilities = capabilities
        self._policy = policy
        self._step = step
        self._accept = accept
        self.session = Session(policy=policy, listeners=LISTENERS)
        self._observer: Callable[[Observation], None] = ignore
        self._later: list[tuple[int, Callable[[], None]]] = []
        self.rows: list[str] = []

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """Begin a fresh session."""
        self.session = Session(policy=self._policy, listeners=LISTENERS, held=held)
        self._observer = observer
        self._later = []
        self.rows = []

    def call(self, call: Call) -> None:
        """Make the call and run its frames; what lies under them on the stack stays.

        Of a session that crashes nothing stays.
        """
        under = 0 if call.name == "crash" else len(self.session.stack)
        after = self._accept(self.session, call)
        assert not isinstance(after, Refusal), f"{call} is enabled: {after}"
        self.session = after
        while len(self.session.stack) > under:
            self._move()

    def answer(self, answer: Answer) -> bool:
        """Answer an open gate; False when there is none of that kind."""
        after = self._accept(self.session, answer)
        if isinstance(after, Refusal):
            return False
        self.session = after
        return True

    def settle(self) -> None:
        """Move until quiescent; each resumption of the driver is one tick."""
        while True:
            while self.session.stack:
                self._move()
            due = [action for ticks, action in self._later if ticks <= 1]
            self._later = [(ticks - 1, action) for ticks, action in self._later if ticks > 1]
            for action in due:
                action()
            if not due and self.session.ready:
                self._move()
            elif not due and not self._later:
                return

    def _move(self) -> None:
        moved = self._step(self.session)
        assert moved is not None, "work on the stack moves"
        self.session = moved.session
        self.rows.append(moved.row.key)
        if moved.observation is not None:
            self._observer(moved.observation)

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """Run `action` before the tick that is `ticks` ticks away."""
        self._later.append((ticks, action))

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gates with the aborted flag of the driver's signal."""
        return tuple((gate, self.session.aborted) for gate in self.session.gates)

    def lists(self) -> Lists:
        """Both lists."""
        next_turn = tuple(item.message for item in self.session.next_turn)
        return next_turn, tuple(item.message for item in self.session.next_step)

    def status(self) -> str:
        """The public status."""
        return self.session.status

    def folded(self) -> Lists | None:
        """The model has no log; its lists are the fold."""
        return self.lists()

    def close(self) -> None:
        """Nothing is held."""


def ignore(_: Observation) -> None:
    """Watch nothing."""
