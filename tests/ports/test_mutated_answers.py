"""Damaged answers of a port with checksums: an error each, never a finding, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import attrs
import msgspec
import pytest

from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports.failures import PortError
from loopspec.conformance.ports.serving import DECODER, Server
from loopspec.conformance.ports.wire import summed
from loopspec.conformance.ports.words import text_of
from loopspec.conformance.subjects import port as subject_port
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario

NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
TRIED: Final = 10_000 if NIGHT else 1_000
SCENARIO: Final = parse_scenario("followup A\npre-step: reject\n")


@attrs.define
class Stand:
    """In the place of a child: says again what an adapter has said, but for one damaged line."""

    lines: tuple[bytes, ...]
    damage: tuple[int, bytes] = (-1, b"")
    """Which line is replaced by what."""
    said: int = 0
    errors: str = ""

    def send(self, line: bytes, seconds: float, what: str) -> None:
        """Take a command."""

    def receive(self, seconds: float, what: str) -> bytes:
        """Give the answer; what ends a line ends it, and a child refuses a second one."""
        text = self.damage[1] if self.said == self.damage[0] else self.lines[self.said]
        self.said += 1
        if b"\n" in text:
            msg = "more than one line"
            raise PortError(msg)
        return text

    def end(self, seconds: float = 0.0) -> int:
        """Nothing runs."""
        return 0

    kill = end

    def complaints(self) -> list[str]:
        """None."""
        return []


@pytest.fixture(scope="module")
def talk() -> tuple[bytes, ...]:
    """Every line that the shipped loop says in this scenario, the welcome first."""
    with pytest.MonkeyPatch.context() as patch:
        server = Server(PythonSubject(), with_sum=True)

        @attrs.define
        class Live(Stand):
            def send(self, line: bytes, seconds: float, what: str) -> None:
                answer = server.answer_to(DECODER.decode(line))
                text = text_of(answer)
                said.append(text if isinstance(answer, wire.Welcome) else summed(text))
                self.lines = tuple(said)

        said: list[bytes] = []
        assert not played(Live(()), patch).findings
    return tuple(said)


def played(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """The scenario on a port whose process is this stand."""
    monkeypatch.setattr(subject_port, "Child", lambda *_: stand)
    port = Port(["stand"])
    return run_scenario(PortSubject(port), SCENARIO)


def mutations(line: bytes) -> Iterator[bytes]:
    """A line with one byte replaced, dropped, inserted or with one bit flipped, at each place."""
    for place in range(len(line) + 1):
        before, byte, after = line[:place], line[place : place + 1], line[place + 1 :]
        for other in (b" ", b'"', b"0", b"}", b"\n", b"\xff", b"\0"):
            yield before + other + byte + after
            if byte and byte != other:
                yield before + other + after
        if byte:
            yield before + after
            for bit in range(8):
                yield before + bytes([byte[0] ^ 1 << bit]) + after


def test_every_damaged_answer_is_an_error(
    talk: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a whole talk, every so many of all the ways to damage one byte of it."""
    ways = [
        (number, text) for number, line in enumerate(talk) if number for text in mutations(line)
    ]
    chosen = ways[:: max(1, len(ways) // TRIED)][:TRIED]
    assert len(chosen) == TRIED
    for damage in chosen:
        with pytest.raises(PortError):
            played(Stand(talk, damage), monkeypatch)


def test_a_damaged_welcome_changes_at_most_a_name(
    talk: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no checksum; what is still a welcome differs in words that nobody judges by."""
    right = msgspec.json.decode(talk[0], type=wire.Welcome)
    same = {"name": right.name, "version": right.version, "language": right.language}
    named = 0
    for text in list(mutations(talk[0]))[:: 1 if NIGHT else 5]:
        stand = Stand(talk, (0, text))
        monkeypatch.setattr(subject_port, "Child", lambda *_, stand=stand: stand)
        try:
            got = Port(["stand"]).welcome
        except PortError:
            continue
        assert msgspec.structs.replace(got, **same) == right, text
        named += 1
    assert named
