"""Scenarios for a peer, without a model: what can be asked is seen on the peer itself.

Theory. At rest every call may be made, and every gate that stands open may be answered; so a walk
asks the subject which gates those are and chooses among them. All walks of a small length are
tried, one after the other; longer ones are drawn by a seed, and may have calls in windows, which
are armed before the first line as a port needs it. In the end everything open is answered, so that
runs come to their end.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from typing import Final

import attrs

from loopspec.conformance.drive import Drive, Outcome
from loopspec.conformance.peers.claims import Peer
from loopspec.conformance.subjects.guarded import Guarded
from loopspec.model.scenario import Line, Scenario, Window
from loopspec.model.session import letter
from loopspec.model.words import FIRST, LAST, Answer, Call, text_message

__all__ = ["Walk", "drawn", "first_call", "short_walks"]

CLOSING_MAX: Final = 16
"""Answers that are given at the end at most."""

WINDOWS_MAX: Final = 2
DELIVERIES: Final = 3
"""A call in a window is tried at the first few deliveries of an observation."""

CALL_OF_TWO: Final = ("x", "y")


@attrs.frozen
class Walk:
    """A way through what is enabled: lines in windows, then one choice after the other.

    Each number chooses among what is enabled where it is used, counted round.
    """

    windows: tuple[Line, ...] = ()
    choices: tuple[int, ...] = ()

    def play(self, peer: Peer, subject: Guarded) -> tuple[Outcome, tuple[int, ...]]:
        """Walk it on a subject; the outcome, and how much was enabled at each choice."""
        drive = Drive(subject, peer.judge())
        lines = list(self.windows)
        widths: list[int] = []
        try:
            for index, line in enumerate(lines):
                drive.arm(index, line)
            for choice in self.choices:
                enabled = actions(peer, drive, len(lines))
                widths.append(len(enabled))
                step(drive, lines, enabled[choice % len(enabled)])
            for _ in range(CLOSING_MAX):
                closing = answers(peer, drive, len(lines))
                if not closing:
                    break
                step(drive, lines, closing[0])
        finally:
            subject.close()
        return drive.outcome(Scenario(tuple(lines))), tuple(widths)


def step(drive: Drive, lines: list[Line], action: Call | Answer) -> None:
    """Make one line at rest."""
    lines.append(Line(action))
    drive.perform(len(lines) - 1, action)


def actions(peer: Peer, drive: Drive, number: int) -> list[Call | Answer]:
    """Everything that may be asked where the subject rests now, in a fixed order."""
    return [*answers(peer, drive, number), *calls(peer, number)]


def answers(peer: Peer, drive: Drive, number: int) -> list[Call | Answer]:
    """The answers to the gates that stand open; the plainest comes first."""
    found: list[Call | Answer] = []
    tools = tuple(f"{name}{number}" for name in CALL_OF_TWO)
    for label, aborted in drive.subject.gates():
        gate, _, call = label.partition(" ")
        choices = peer.choices[gate]
        if aborted and gate == "provider" and peer.aborted:
            choices = (peer.aborted,)
        for choice in choices:
            if gate == "tool":
                found.append(Answer(gate, choice, (), (call,)))
            elif choice != peer.aborted or aborted:
                asked = tools if choice in ("tools", "parallel") else ()
                found.append(Answer(gate, choice, None, asked))
    return found


def calls(peer: Peer, number: int) -> Iterator[Call]:
    """Each call of the peer, with a message of its own."""
    for each in peer.calls:
        yield call_of(each, number)


def call_of(name: str, number: int) -> Call:
    """The call of that name; what it removes is the message of the line before."""
    if name in ("followup", "steer"):
        return Call(name, (text_message(letter(number)),))
    if name == "remove":
        return Call(name, (letter(max(0, number - 1)),))
    if name.startswith("cancel"):
        return Call("cancel", ("user", name.partition(" ")[2]))
    return Call(name)


def short_walks(length: int) -> Generator[tuple[int, ...], tuple[int, ...], None]:
    """All walks of that many choices.

    It is told by `send` how much was enabled at each choice of the walk before.
    """
    choices = [0] * length
    while True:
        widths = yield tuple(choices)
        at = length - 1
        while at >= 0 and choices[at] + 1 >= widths[at]:
            at -= 1
        if at < 0:
            return
        choices[at:] = [choices[at] + 1] + [0] * (length - at - 1)


def drawn(peer: Peer, seed: int, number: int, length: int) -> Walk:
    """A walk with up to two calls in windows, always the same for the same seed and number."""
    chance = random.Random(f"{seed}/{number}")
    windows = tuple(
        Line(call_of(chance.choice(peer.calls), index), drawn_window(peer, chance))
        for index in range(chance.randint(0, WINDOWS_MAX))
    )
    return Walk(windows, (first_call(peer), *drawn_choices(chance, length)))


def drawn_choices(chance: random.Random, length: int) -> tuple[int, ...]:
    """Choices, one in three the plainest answer, so that runs come forward."""
    return tuple(
        0 if chance.random() < 1 / 3 else chance.randrange(2**16)
        for _ in range(chance.randint(1, length))
    )


def first_call(peer: Peer) -> int:
    """The choice that begins a run: nothing is open at first, so that calls alone are enabled."""
    return peer.calls.index("followup")


def drawn_window(peer: Peer, chance: random.Random) -> Window:
    """A moment inside a delivery, or one or two ticks behind it."""
    name, number = chance.choice(peer.moments), chance.randint(1, DELIVERIES)
    if chance.random() < 1 / 2:
        return Window("in", name, number, chance.choice((FIRST, LAST)))
    return Window("after", name, number, "", chance.choice((1, 2)))
