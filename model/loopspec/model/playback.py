"""Playback: a scenario played on the model, and the one trace that it makes there.

A line at rest is made when nothing more happens by itself. A line with a window is made when its
moment comes: inside the counted delivery, or the counted ticks after it, or, when nothing is left
that could tick, at the end of what happens by itself. Lines of one moment are made in their order.
A line whose moment never comes, or that is not enabled then, is left out and listed.
"""

from typing import Final, NamedTuple

import attrs

from loopspec.model.describe import entry_text
from loopspec.model.policy import PROFILES
from loopspec.model.possible import rest_of
from loopspec.model.scenario import Line, Scenario, Window
from loopspec.model.session import Session
from loopspec.model.table import Moved, Refusal, apply, label_of, move, row_of
from loopspec.model.words import GATES, LAST, PASSED, Answer, Call, Entry, Made, Observation

NO_MOMENT: Final = Refusal("NO_MOMENT", "its moment never came")


class Skipped(NamedTuple):
    """A line that was left out, and why."""

    line: Line
    why: Refusal


class Played(NamedTuple):
    """What a scenario does on the model: its trace, the rows it takes, and what was left out."""

    trace: tuple[Entry, ...]
    session: Session
    rows: tuple[str, ...]
    skipped: tuple[Skipped, ...]


class Delivery(NamedTuple):
    """The delivery of one record or event to one listener, or the arrival at a gate."""

    name: str
    number: int
    listener: str


@attrs.define
class Deliveries:
    """Counts deliveries, and knows inside which of them a listener runs now, innermost last."""

    counts: dict[tuple[str, str], int] = attrs.field(factory=dict)
    running: list[Delivery] = attrs.field(factory=list)

    def after(self, moved: Moved) -> Delivery | None:
        """The delivery that a move made, if it made one."""
        seen = moved.observation
        if moved.row.owner == "listening":
            self.running.pop()
        if moved.row.owner == "opened":
            self.running.clear()  # whoever listened has died
        if seen is None or seen.kind in ("return", "settled", "opened"):
            return None
        key = (seen.name, seen.listener)
        self.counts[key] = self.counts.get(key, 0) + 1
        # Whatever is told, and an arrival too, leaves a listening frame; no cut takes one away.
        delivery = Delivery(seen.name, self.counts[key], seen.listener)
        self.running.append(delivery)
        return delivery


@attrs.define
class _Player:
    session: Session
    waiting: list[Line]
    trace: list[Entry] = attrs.field(factory=list)
    rows: list[str] = attrs.field(factory=list)
    skipped: list[Skipped] = attrs.field(factory=list)
    deliveries: Deliveries = attrs.field(factory=Deliveries)
    moments: dict[tuple[str, int], int] = attrs.field(factory=dict)
    answers: dict[str, int] = attrs.field(factory=dict)
    ticks: int = 0

    def settle(self) -> None:
        """Everything that happens by itself, with the lines whose moment comes meanwhile."""
        while True:
            line = self.line_due()
            if line is not None:
                self.waiting.remove(line)
                self.make(line)
                continue
            moved = move(self.session)
            if moved is None:
                break
            self.see(moved)
        self.trace.append(rest_of(self.session))

    def line_due(self) -> Line | None:
        """The first waiting line whose moment is now."""
        if self.session.listening:
            now = Window("in", *self.deliveries.running[-1])
            return next((line for line in self.waiting if line.window == now), None)
        if not self.session.stack:
            for line in self.waiting:
                window = line.window
                began = self.moments.get((window.name, window.number))
                if window.kind != "after" or began is None:
                    continue
                # The tick in which an observation is made is its tick 0; an answer is given
                # between two ticks.
                passed = self.ticks - began + (not window.name.endswith(" answer"))
                if passed >= window.ticks or not self.session.ready:
                    return line
        return None

    def see(self, moved: Moved) -> None:
        """Write down one move."""
        self.session = moved.session
        self.rows.append(moved.row.key)
        self.ticks += moved.row.owner == "event loop"
        delivery = self.deliveries.after(moved)
        if moved.observation is not None:
            self.trace.append(moved.observation)
        if delivery is not None and delivery.listener != LAST:
            self.moments[delivery.name, delivery.number] = self.ticks

    def make(self, line: Line) -> None:
        """Make one call or answer now, or list it as left out."""
        action = line.action
        if isinstance(action, Answer) and not self.session.stack:
            self.let_pass(action)
        after = apply(self.session, action)
        if isinstance(after, Refusal):
            self.skipped.append(Skipped(line, after))
            return
        self.rows.append(row_of(self.session, action).key)
        if isinstance(action, Call):
            self.trace.append(Made(action, self.session.listening))
        else:
            self.trace.append(action)
            name = f"{action.gate} answer"
            self.answers[name] = self.answers.get(name, 0) + 1
            self.moments[(name, self.answers[name])] = self.ticks
        self.session = after

    def let_pass(self, answer: Answer) -> None:
        """Let the gates pass that stand open before the one that is answered."""
        while label_of(self.session, answer) not in self.session.gates:
            passed = [gate for gate in self.session.gates if gate in PASSED]
            if not passed or answer.gate == passed[0]:
                return
            self.make(Line(Answer(passed[0], GATES[passed[0]][0])))
            self.settle()


def play(scenario: Scenario) -> Played:
    """Play a scenario on an empty session of its profile, with a first and a last listener."""
    windows = [line for line in scenario.lines if line.window.kind != "rest"]
    player = _Player(Session(policy=PROFILES[scenario.profile], held=scenario.held), windows)
    for line in scenario.lines:
        if line.window.kind == "rest":
            player.make(line)
            player.settle()
    never = tuple(Skipped(line, NO_MOMENT) for line in player.waiting)
    return Played(
        tuple(player.trace), player.session, tuple(player.rows), (*player.skipped, *never)
    )


def trace_lines(trace: tuple[Entry, ...], everything: bool = False) -> list[str]:
    """A trace line by line; without `everything`, what only the last listener was told is left."""
    return [
        entry_text(entry)
        for entry in trace
        if everything or not (isinstance(entry, Observation) and entry.listener == LAST)
    ]
