"""The adapter: your loop in the words of the port protocol. This is the file that you edit.

`python adapter.py` answers commands on its standard input, one JSON object a line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from loop import NEXT_STEP, NEXT_TURN, Loop, Refused
from protocol import CannotDo, Json, serve

REPLIES = ("done", "owes", "max-tokens", "error", "cut")


class Adapter:
    """One loop at a time, driven from outside."""

    name = "my-loop"
    version = "0.1.0"
    language = "Python"
    profile = "notes"

    capabilities: tuple[str, ...] = (
        "steering",  # steer and inject
        "cancel",
        "assemble-gate",  # the assembly of the prompt waits to be answered
        "calls-in-listeners",  # a listener may call the loop, inside the delivery
        "first-listener",  # somebody listens before all others
        "ticks",  # a call can be made between two ticks of the loop
        "batch",  # done by the protocol: many commands in one line
    )
    """What the loop can do. Whatever is not declared is skipped; whatever is must conform."""

    refusal: type[Exception] = Refused
    """What the loop raises when it refuses a call; its text is the code."""

    def reset(self, held: list[str], tell: Callable[[Json], None]) -> None:
        """Begin afresh. From now on `tell` gets every record, event and gate as it happens."""
        if foreign := set(held) - {"assemble", "pre-step", "provider", "tool", "maintenance"}:
            raise CannotDo(f"this adapter has no gate {min(foreign)}")

        def heard(by: str, name: str, **values: Any) -> None:
            tell({"saw": name, "by": by, **values})

        def waits(gate: str, **values: Any) -> None:
            tell({"saw": gate, **values})

        self.loop = Loop([partial(heard, "first"), partial(heard, "last")], waits)

    def call(self, command: Json) -> Any:
        """Make a call and give what it returns."""
        match command["do"]:
            case "followup":
                return self.loop.followup(command["message"])
            case "steer":
                return self.loop.steer(command["message"])
            case "inject":
                return self.loop.inject(command["message"])
            case "cancel":
                return self.loop.cancel(command["cause"], command["mode"])
        raise CannotDo(f"this adapter has no {command['do']}")

    def answer(self, command: Json) -> bool:
        """Answer a gate. False, and nothing done, when no such gate is open."""
        if command["gate"] == "provider" and command["choice"] not in REPLIES:
            raise CannotDo(f"this adapter's provider has no answer {command['choice']}")
        return self.loop.answer(command["gate"], command["choice"], command.get("messages"))

    def tick(self) -> bool:
        """Let the loop do its next piece of work. False when there is none."""
        return self.loop.tick()

    def state(self) -> Json:
        """What the loop says of itself at rest."""
        gate, lists = self.loop.gate, self.loop.lists
        return {
            "next_turn": [item.message for item in lists[NEXT_TURN]],
            "next_step": [item.message for item in lists[NEXT_STEP]],
            "status": self.loop.status,
            "gates": [{"gate": gate, "aborted": self.loop.cause is not None}] if gate else [],
        }


if __name__ == "__main__":
    serve(Adapter())
