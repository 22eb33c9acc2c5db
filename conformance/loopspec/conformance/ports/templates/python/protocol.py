"""The port protocol: JSON lines in, one JSON line out for each. Nothing here knows your loop.

The judge sends a command and waits; the port answers when its loop has come to rest, with
everything that was seen on the way. Calls that the judge wants made *inside* a delivery, or some
ticks behind it, come with the reset as hooks and are made here.
"""

from __future__ import annotations

import json
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from typing import IO, Any, Protocol

Json = dict[str, Any]

PROTOCOL = 1
CONTRACT = 1


class CannotDo(Exception):
    """The adapter was asked for something that it has not declared; the text is one sentence."""


class Adapter(Protocol):
    """What this module needs of `adapter.py`."""

    name: str
    version: str
    language: str
    profile: str
    capabilities: tuple[str, ...]
    refusal: type[Exception]

    def reset(self, held: list[str], tell: Callable[[Json], None]) -> None: ...
    def call(self, command: Json) -> Any: ...
    def answer(self, command: Json) -> bool: ...
    def tick(self) -> bool: ...
    def state(self) -> Json: ...


class Port:
    """One adapter behind the protocol: a command comes in, an answer goes out."""

    def __init__(self, adapter: Adapter) -> None:
        """Nothing is open yet; the first reset opens a session."""
        self.adapter = adapter
        self.trace: list[Json] = []
        self.hooks: list[Json] = []
        self.later: list[tuple[int, Json]] = []
        self.seen: Counter[tuple[str, str]] = Counter()

    def answer_to(self, command: Json) -> Json:
        """Do what a command asks. Raises CannotDo."""
        match command["do"]:
            case "hello":
                return self.welcome()
            case "batch":
                return {"answers": [self.done(each) for each in command["commands"]]}
            case "bye":
                return {"bye": True}
        return self.done(command)

    def welcome(self) -> Json:
        """Who we are, and what we can do."""
        adapter = self.adapter
        return {
            "protocol": PROTOCOL,
            "contract": CONTRACT,
            "name": adapter.name,
            "version": adapter.version,
            "language": adapter.language,
            "profile": adapter.profile,
            "capabilities": list(adapter.capabilities),
            "sum": True,
        }

    def done(self, command: Json) -> Json:
        """Do one command until the loop is at rest, and report."""
        self.trace = []
        is_open = True
        if command["do"] == "reset":
            self.reset(command)
        elif command["do"] == "answer":
            is_open = self.give(command)
        else:
            self.call(command)
        if is_open:
            self.settle()
        return {"trace": self.trace, **self.adapter.state(), "open": is_open}

    def reset(self, command: Json) -> None:
        """Forget everything, keep the new hooks, and open a fresh session."""
        self.hooks = list(command.get("hooks", ()))
        self.later = []
        self.seen.clear()
        self.adapter.reset(command["held"], self.tell)

    def call(self, command: Json) -> None:
        """Make a call where the loop is now, and tell what came back."""
        returned = {"saw": "return", "call": command["do"]}
        try:
            returned["value"] = self.adapter.call(command)
        except self.adapter.refusal as refusal:
            returned["raised"] = str(refusal)
        self.trace.append(returned)

    def give(self, command: Json) -> bool:
        """Answer a gate; calls that wait for this answer come before the loop acts on it."""
        if not self.adapter.answer(command):
            return False
        self.come(f"{command['gate']} answer", "")
        return True

    def settle(self) -> None:
        """Tick until nothing is left to do; calls that are due go between two ticks."""
        while True:
            due = [hook for ticks, hook in self.later if ticks <= 1]
            self.later = [(ticks - 1, hook) for ticks, hook in self.later if ticks > 1]
            for hook in due:
                self.make(hook)
            if not due and not self.adapter.tick() and not self.later:
                return

    def tell(self, entry: Json) -> None:
        """Write down what the loop does; calls that wait for it are made inside this delivery."""
        self.trace.append(entry)
        self.come(entry["saw"], entry.get("by", ""))

    def come(self, at: str, by: str) -> None:
        """Something came for the n-th time: make the calls that wait for that, or begin to count."""
        self.seen[at, by] += 1
        moment = (at, by, self.seen[at, by])
        due = [hook for hook in self.hooks if (hook["at"], hook["by"], hook["n"]) == moment]
        self.hooks = [hook for hook in self.hooks if hook not in due]
        self.later += [(hook["k"], hook) for hook in due if hook["k"]]
        for hook in due:
            if not hook["k"]:
                self.make(hook)

    def make(self, hook: Json) -> None:
        """Make the call of a hook here."""
        self.trace.append({"saw": "made", "hook": hook["hook"]})
        self.call(hook["call"])


def line_of(answer: Json) -> bytes:
    """An answer as it is sent, with a checksum at its end, so that no damaged line is believed."""
    line = json.dumps(answer, separators=(",", ":")).encode()
    if "protocol" not in answer:  # the welcome announces the checksum and has none
        line = line[:-1] + b',"sum":"%08x"}' % zlib.crc32(line[:-1])
    return line + b"\n"


def serve(
    adapter: Adapter, commands: IO[bytes] = sys.stdin.buffer, answers: IO[bytes] = sys.stdout.buffer
) -> None:
    """Answer commands until `bye` or the end of the input."""
    port = Port(adapter)
    for line in commands:
        seq, answer = 0, {}
        try:
            command = json.loads(line)
            seq = command["seq"]
            answer = port.answer_to(command)
        except CannotDo as error:
            answer = {"failed": str(error)}
        except Exception as error:  # the judge is told, and the trace goes to standard error
            traceback.print_exc()
            answer = {"failed": f"the adapter failed: {type(error).__name__}: {error}"}
        answers.write(line_of({"seq": seq, **answer}))
        answers.flush()
        if "bye" in answer:
            return
