"""Any subject of this suite as a port: the other end of the protocol, in Python.

A loop that has an adapter in process can so be judged as a process too, and the shipped loop is the
port that the protocol is tested with: `python -m loopspec.conformance.ports.serving`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any, Final

import attrs
import msgspec

from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports.wire import summed
from loopspec.conformance.ports.words import message_to, text_of
from loopspec.conformance.subjects.contract import Subject
from loopspec.model.words import (
    CALLS,
    Answer,
    Block,
    Call,
    Message,
    Observation,
    Value,
)

__all__ = ["Server", "serve"]

DECODER: Final = msgspec.json.Decoder(
    wire.Hello
    | wire.Reset
    | wire.CallCommand
    | wire.Answer
    | wire.Load
    | wire.Dump
    | wire.Batch
    | wire.Bye
)


class CannotDo(ValueError):
    """The adapter was asked for something that it has not declared."""


@attrs.define(eq=False)
class Server:
    """One subject behind the protocol."""

    subject: Subject
    profile: str = "notes"
    language: str = "Python"
    with_sum: bool = False
    trace: list[Any] = attrs.field(factory=list)
    counts: dict[tuple[str, str], int] = attrs.field(factory=dict)
    hooks: list[wire.Hook] = attrs.field(factory=list)
    lives: int = 1

    def welcome(self, hello: wire.Hello) -> wire.Welcome:
        """What the subject says of itself."""
        return wire.Welcome(
            seq=hello.seq,
            protocol=wire.PROTOCOL,
            name=self.subject.name,
            version=self.subject.version,
            language=self.language,
            contract=wire.CONTRACT,
            profile=self.profile,
            capabilities=(*sorted(self.subject.capabilities), "batch"),
            sum=self.with_sum,
        )

    def answer_to(self, command: wire.Command) -> msgspec.Struct:
        """Do what a command asks."""
        match command:
            case wire.Hello():
                return self.welcome(command)
            case wire.Batch():
                reports = tuple(self.done(each) for each in command.commands)
                return wire.Reports(command.seq, reports)
            case wire.Bye():
                self.subject.close()
                return wire.Parted(command.seq, True)
            case wire.Load() | wire.Dump():
                return wire.Failed(command.seq, "this adapter neither dumps nor loads a log")
        return self.done(command)

    def done(self, command: wire.Command) -> wire.Report:
        """Do one command until quiescent, and report."""
        self.trace.clear()
        is_open = True
        if isinstance(command, wire.Reset):
            self.subject.close()
            self.counts.clear()
            self.hooks = list(command.hooks)
            self.subject.open(self.observe, frozenset(command.held))
        elif isinstance(command, wire.Answer):
            is_open = self.give(command)
        else:
            self.subject.call(call_of(command))
        if is_open:
            self.subject.settle()
        return self.report(command.seq, is_open)

    def report(self, seq: int, is_open: bool) -> wire.Report:
        """What was seen, and where the subject stands."""
        next_turn, next_step = (tuple(map(message_to, each)) for each in self.subject.lists())
        folded = self.subject.folded()
        fold = None
        if folded is not None:
            fold = wire.Folded(*(tuple(map(message_to, each)) for each in folded))
        gates = []
        for label, aborted in self.subject.gates():
            gate, _, call = label.partition(" ")
            gates.append(wire.OpenGate(gate, aborted, call))
        trace = tuple(self.trace)
        status = self.subject.status()
        return wire.Report(trace, next_turn, next_step, status, tuple(gates), fold, is_open, seq)

    def give(self, command: wire.Answer) -> bool:
        """Give an answer, and make the calls that wait right behind it."""
        messages = None if command.messages is None else tuple(map(given_of, command.messages))
        if not self.subject.answer(
            Answer(command.gate, command.choice, messages, tuple(command.calls))
        ):
            return False
        self.come(f"{command.gate} answer", "")
        return True

    def observe(self, seen: Observation) -> None:
        """Write down what was seen, and make the calls that wait for this delivery."""
        self.trace.append(entry_of(seen))
        if seen.kind in ("record", "event", "gate"):
            self.come(seen.name, seen.listener)

    def come(self, at: str, by: str) -> None:
        """A moment that hooks may wait for has come."""
        number = self.counts[at, by] = self.counts.get((at, by), 0) + 1
        due = [each for each in self.hooks if (each.at, each.by, each.n) == (at, by, number)]
        life = self.lives
        for hook in sorted(due, key=lambda each: each.k == 0):
            self.hooks.remove(hook)
            if hook.k:
                self.subject.later(hook.k, lambda hook=hook: self.make(hook))  # type: ignore[misc]
            elif life == self.lives:
                self.make(hook)

    def make(self, hook: wire.Hook) -> None:
        """Make the call of a hook here."""
        call = call_of(hook.call)
        self.trace.append(wire.MadeHook(hook.hook))
        self.lives += call.name == "crash"
        self.subject.call(call)


def given_of(message: wire.Message) -> Message:
    """A message in the words of the trace."""
    blocks = tuple(Block(block.kind, block.text) for block in message.blocks)
    return Message(message.id, message.role, message.source, blocks)


def call_of(command: wire.Command) -> Call:
    """The call that a command makes. Raises CannotDo for numbers that the model does not count."""
    name = str(command.__struct_config__.tag)
    args: list[Value] = []
    for key in CALLS[name]:
        value = getattr(command, key)
        if isinstance(value, wire.Message):
            value = given_of(value)
        elif key == "messages":
            value = tuple(given_of(each) for each in value)
        elif key in ("start", "count") and type(value) is not int:
            raise CannotDo(f"this adapter counts in whole numbers, got {value!r}")
        args.append(value)
    return Call(name, tuple(args))


def _plain(value: Value) -> Any:  # noqa: ANN401 - the field of a struct
    if isinstance(value, Message):
        return message_to(value)
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)  # the specification has turn numbers of a type of their own
    return value


def entry_of(seen: Observation) -> Any:  # noqa: ANN401 - one of the structs of an entry
    """An observation as an entry of a report."""
    data = {key: _plain(value) for key, value in seen.data}
    if seen.kind == "return":
        return wire.Returned(seen.name, data["value"], data["raised"])
    if seen.kind == "settled":
        return wire.Settled(seen.name, data["error"])
    if seen.kind == "opened":
        return wire.Opened(seen.name, *data.values())
    if seen.kind == "fault":
        return wire.Fault(seen.name, str(data["error"]))
    if seen.kind != "gate":
        data["by"] = seen.listener
    return wire.SEEN[seen.name](**data)


def serve(
    factory: Callable[[], Subject],
    profile: str = "notes",
    commands: IO[bytes] = sys.stdin.buffer,
    answers: IO[bytes] = sys.stdout.buffer,
    with_sum: bool = False,
) -> None:
    """Answer commands until bye or the end of the input."""
    server = Server(factory(), profile, with_sum=with_sum)
    for line in commands:
        try:
            command = DECODER.decode(line)
        except msgspec.MsgspecError as error:
            answer: msgspec.Struct = wire.Failed(0, f"expected a command: {error}")
        else:
            try:
                answer = server.answer_to(command)
            except CannotDo as error:
                answer = wire.Failed(command.seq, str(error))
        text = text_of(answer)
        if with_sum and not isinstance(answer, wire.Welcome):
            text = summed(text)
        answers.write(text + b"\n")
        answers.flush()
        if isinstance(answer, wire.Parted):
            return


def main() -> None:
    """Serve the shipped loop by the answers of the profile that is named first.

    With `--mutant=ID` it has a planted fault, with `--sum` each line its checksum.
    """
    from loopspec.conformance.mutants import mutated_impl
    from loopspec.conformance.subjects.python import PythonSubject

    profile = next((each for each in sys.argv[1:] if not each.startswith("-")), "notes")
    mutants = [each.partition("=")[2] for each in sys.argv[1:] if each.startswith("--mutant=")]
    impl = mutated_impl(mutants[0]) if mutants else None
    serve(lambda: PythonSubject(impl, profile=profile), profile, with_sum="--sum" in sys.argv)


if __name__ == "__main__":
    main()
