"""Judge a loop that is not ours: a toy loop without asyncio, and the adapter around it.

The toy knows prompts (`followup`), the pre-step decision, and steps; nothing else of the contract.
It says so in its `capabilities`, and is judged by what these leave of the suite:

    python examples/your_own_loop.py            # the toy does what the specification allows
    python examples/your_own_loop.py --polite   # it puts a rejected prompt back, and is found out
"""

# ruff: noqa: INP001

import contextlib
import sys
from collections.abc import Callable, Generator
from typing import TypeAlias

from loopspec.conformance import ConformanceError, run_conformance
from loopspec.conformance.control import ControlError
from loopspec.model.session import HELD
from loopspec.model.words import Answer, Call, Message, Observation, observation

Work: TypeAlias = Generator[str, Answer, None]
Ending: TypeAlias = tuple[str, str | None, int]
"""Reason, error and last step of a turn."""

REPLIES = {"done", "owes", "max-tokens", "error", "cut"}
"""What the toy's provider may answer; it runs no tools and streams nothing."""


class Refused(Exception):
    """Why the loop takes no prompt."""


class ToyLoop:
    """Your loop. It tells `tell(kind, name, *values)` what happens, in place of a log and a bus."""

    def __init__(self, tell: Callable[..., None], polite: bool) -> None:
        """An idle loop with an empty queue."""
        self.tell, self.polite = tell, polite
        self.queue: list[Message] = []
        self.status, self.turn, self.recording = "idle", 0, False
        self.gate: str | None = None

    def record(self, name: str, *values: object) -> None:
        """Tell a record; until all listeners have it, none of them may change the queue."""
        self.recording = True
        self.tell("record", name, *values)
        self.recording = False

    def followup(self, message: Message) -> None:
        """Queue a prompt; start to work unless at work."""
        if any(message.id == each.id for each in self.queue):
            raise Refused("duplicate-id")
        if self.recording:
            raise Refused("append-refused")
        self.splice(len(self.queue), 0, (message,))
        self.tell("event", "agent/inbox/inserted", message)
        if self.status == "idle":
            self.status = "running"
            self.work = self.run()
            self.go_on(None)

    def go_on(self, answer: Answer | None) -> None:
        """Work up to the next gate."""
        work, gate = self.work, None
        with contextlib.suppress(StopIteration):
            gate = next(work) if answer is None else work.send(answer)
        if work is self.work:
            self.gate = gate

    def splice(self, start: int, removed: int, inserted: tuple[Message, ...]) -> None:
        """Edit the queue; the record comes first."""
        self.record("agent/inbox/spliced", "next-turn", start, removed, inserted, None)
        self.queue[start : start + removed] = inserted

    def run(self) -> Work:
        """Work until the queue is empty or a turn fails; each `yield` waits for an answer."""
        self.tell("event", "agent/status", "running")
        goes_on = True
        while self.queue and goes_on:
            self.turn += 1
            self.record("turn/start", self.turn)
            message = self.queue[0]
            self.splice(0, 1, ())
            self.tell("event", "agent/inbox/claimed", message, self.turn)
            reason, error, step = yield from self.steps((message,))
            if error:
                self.tell("event", "agent/error", self.turn, step, error)
            if reason == "blocked" and self.polite:
                self.splice(0, 0, (message,))
            self.record("turn/end", self.turn, reason, None, error)
            goes_on = step > 0 and reason in ("completed", "max-tokens")
        self.status = "idle"
        self.tell("event", "agent/status", "idle")

    def steps(self, batch: tuple[Message, ...]) -> Generator[str, Answer, Ending]:
        """Decide and step until the provider owes nothing; how the turn ends, and where."""
        step, owes = 0, False
        while True:
            self.tell("gate", "assemble", self.turn, step + 1)
            if (yield "assemble").choice == "failed":
                return "error", "assembly failed", step
            self.tell("gate", "pre-step", self.turn, step + 1, batch)
            decision = yield "pre-step"
            if decision.choice == "raise":
                return "error", "pre-step raised", step
            entered = batch if decision.messages is None else decision.messages
            if decision.choice == "reject" or not (entered or owes):
                return "blocked" if decision.choice == "reject" else "completed", None, step
            step += 1
            self.record("step/start", self.turn, step)
            for message in entered:
                self.record("user/message", message)
            self.tell("gate", "provider", self.turn, step)
            reply = (yield "provider").choice
            if reply not in ("error", "cut"):
                self.record("assistant/message", self.turn, step, (), False)
            self.record("step/end", self.turn, step)
            if reply in ("error", "cut"):
                return "error", "provider failed", step
            if reply != "owes":
                return "completed" if reply == "done" else reply, None, step
            batch, owes = (), True


class ToySubject:
    """The adapter: the loop in the words of the contract (`loopspec.conformance.Subject`)."""

    name, version, capabilities = "toy", "1", frozenset({"calls-in-listeners", "assemble-gate"})

    def __init__(self, polite: bool = False) -> None:
        """A loop that may be too polite."""
        self.polite = polite

    def open(self, observer: Callable[[Observation], None], held: frozenset[str] = HELD) -> None:
        """A fresh loop. Records and events go to a first and a last listener, gates to nobody.

        The toy has three gates, and cannot hold another one that a scenario asks for.
        """
        if missing := held - HELD:
            msg = f"the toy has no gate {min(missing)}"
            raise ControlError(msg)

        def tell(kind: str, name: str, *values: object) -> None:
            for listener in ("first", "last") if kind in ("record", "event") else ("",):
                observer(observation(kind, name, *values, listener=listener))  # type: ignore[arg-type]

        self.tell = tell
        self.loop = ToyLoop(tell, self.polite)
        self.given: Answer | None = None

    def call(self, call: Call) -> None:
        """Make the call now, and tell that it returned."""
        if call.name != "followup":
            msg = f"the toy has no {call.name}"
            raise ControlError(msg)  # the adapter's limit: an error, never a finding
        raised = None
        try:
            self.loop.followup(call.args[0])  # type: ignore[arg-type]
        except Refused as error:
            raised = str(error)
        self.tell("return", call.name, None, raised)

    def answer(self, answer: Answer) -> bool:
        """Keep the answer until `settle`: the loop goes on one tick later, not at once."""
        if answer.gate != self.loop.gate:
            return False
        if answer.gate == "provider" and answer.choice not in REPLIES:
            msg = f"the toy knows no reply {answer.choice}"
            raise ControlError(msg)
        self.loop.gate, self.given = None, answer
        return True

    def settle(self) -> None:
        """Run until nothing more happens."""
        if self.given is not None:
            given, self.given = self.given, None
            self.loop.go_on(given)

    def later(self, ticks: int, action: Callable[[], None]) -> None:
        """The toy has no ticks."""
        msg = "the toy has no ticks"
        raise ControlError(msg)

    def gates(self) -> tuple[tuple[str, bool], ...]:
        """The open gate; nothing aborts a toy."""
        return () if self.loop.gate is None else ((self.loop.gate, False),)

    def lists(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The queue, and no second list."""
        return tuple(self.loop.queue), ()

    def status(self) -> str:
        """What the loop says of itself."""
        return self.loop.status

    def folded(self) -> None:
        """There is no durable log to fold."""

    def close(self) -> None:
        """Nothing is held."""


def main(polite: bool) -> int:
    """Judge the toy by whatever it declares that it can do; 1 when it is broken."""
    try:
        result = run_conformance(lambda: ToySubject(polite), seed=1, examples=50)
    except ConformanceError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    skips = "".join(f"\n  {skip}" for skip in result.skips)
    actions = sum(stage.actions for stage in result.stages)
    sys.stdout.write(f"the toy holds over {actions} actions{skips}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main("--polite" in sys.argv[1:]))
