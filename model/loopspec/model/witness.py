"""Witnesses: the scenario of a path that the explorer found.

A path names each action in the canonical names of its own state. Replay makes the actions on a
session with names of its own, working out at each step which name stands for which message.
"""

from collections.abc import Iterable, Iterator

import attrs

from loopspec.model.explore import (
    Action,
    Cell,
    Explored,
    driver_state,
    flags_of,
    is_choice,
    window_kind,
)
from loopspec.model.playback import Deliveries
from loopspec.model.scenario import Line, Scenario, Window
from loopspec.model.scope import DEATHS, LIVES, Scope, Spent
from loopspec.model.session import Session, canonical, letter
from loopspec.model.table import Moved, apply, move
from loopspec.model.words import (
    FAULTS,
    GATES,
    LAST,
    PASSED,
    Answer,
    Call,
    Message,
    Value,
    text_message,
)


@attrs.define
class Recorder:
    """Makes calls, answers and moves on a session and writes them down as scenario lines."""

    session: Session
    deliveries: Deliveries = attrs.field(factory=Deliveries)
    answers: dict[str, int] = attrs.field(factory=dict)
    mark: tuple[str, int] = ("", 0)
    ticks: int = 0
    lines: list[Line] = attrs.field(factory=list)
    rows: list[str] = attrs.field(factory=list)
    cells: list[Cell] = attrs.field(factory=list)

    def see(self, moved: Moved) -> None:
        """Count one move and its observation."""
        self.session = moved.session
        self.rows.append(moved.row.key)
        if moved.row.owner == "event loop":
            self.ticks += 1
        delivery = self.deliveries.after(moved)
        if delivery is not None and delivery.listener != LAST:
            self.mark, self.ticks = (delivery.name, delivery.number), 0

    def window(self) -> Window:
        """The window in which a call lands now."""
        if self.session.listening:
            return Window("in", *self.deliveries.running[-1])
        if self.session.ready:
            behind_answer = self.mark[0].endswith(" answer")
            return Window("after", *self.mark, "", self.ticks + (not behind_answer))
        return Window()

    def act(self, action: Call | Answer) -> None:
        """Make one call or answer, without the moves behind it."""
        self.lines.append(Line(action, self.window()))
        if isinstance(action, Call):
            self.cells.append((action.name, window_kind(self.session), driver_state(self.session)))
        else:
            answered = f"{action.gate} answer"
            self.answers[answered] = self.answers.get(answered, 0) + 1
            self.mark, self.ticks = (answered, self.answers[answered]), 0
        after = apply(self.session, action)
        assert isinstance(after, Session), f"{action} is enabled: {after}"
        self.session = after


def real_names(session: Session) -> dict[str, str]:
    """The real id of each canonical name of a session."""
    return {name: message_id for message_id, name in canonical(session)[1].items()}


class _Namer:
    """Gives the messages of a path their real ids."""

    def __init__(self) -> None:
        self.used = 0
        self.known: dict[str, Message] = {}

    def fresh(self) -> str:
        self.used += 1
        return letter(self.used - 1)

    def value(self, value: Value, names: dict[str, str], is_id: bool) -> Value:
        """A value with canonical names replaced by real ids; an unknown name is a new message."""
        if isinstance(value, Message):
            if value.id not in names:
                names[value.id] = self.fresh()
            return text_message(names[value.id])
        if isinstance(value, tuple):
            return tuple(self.value(each, names, is_id) for each in value)
        if is_id and isinstance(value, str):
            return names.setdefault(value, "") or self._never_pending(names, value)
        return value

    def _never_pending(self, names: dict[str, str], value: str) -> str:
        names[value] = self.fresh()
        return names[value]

    def action(self, action: Call | Answer, names: dict[str, str]) -> Call | Answer:
        """An action of a path in real ids."""
        if isinstance(action, Answer):
            if action.messages is None:
                return action
            entered = self.value(action.messages, names, is_id=False)
            assert isinstance(entered, tuple)
            return action._replace(messages=tuple(m for m in entered if isinstance(m, Message)))
        named = action.name in ("replace", "remove")
        args = tuple(
            self.value(arg, names, is_id=named and index == 0)
            for index, arg in enumerate(action.args)
        )
        return Call(action.name, args)


def replay(scope: Scope, path: Iterable[Action]) -> Recorder:
    """Replay a path of the explorer: its actions with the moves that the search had merged."""
    recorder = Recorder(scope.start)
    namer = _Namer()
    spent = Spent()
    for action in path:
        if isinstance(action, str):
            moved = move(recorder.session)
            assert moved is not None
            recorder.see(moved)
        else:
            inside = recorder.session.listening
            names = real_names(recorder.session)
            recorder.act(namer.action(action, names))
            spent = pay(spent, action, inside)
        while not is_choice(recorder.session, scope, flags_of(scope, spent)):
            moved = move(recorder.session)
            assert moved is not None
            recorder.see(moved)
    return recorder


def pay(spent: Spent, action: Call | Answer, inside: bool) -> Spent:
    """The budget behind an action, as far as it decides where a run stops."""
    if isinstance(action, Answer):
        return spent
    spent = spent._replace(inside=spent.inside + inside)
    if action.name in ("followup", "steer", "inject"):
        return spent._replace(sends=spent.sends + 1)
    if action.name == "cancel":
        return spent._replace(cancels=spent.cancels + 1)
    if action.name in FAULTS:
        return spent._replace(faults=spent.faults + 1)
    if action.name in LIVES:
        return spent._replace(lives=spent.lives + 1)
    if action.name in DEATHS:
        return spent._replace(deaths=spent.deaths + 1)
    return spent._replace(edits=spent.edits + 1)


def witness(explored: Explored, parent: int, action: int) -> Scenario:
    """The shortest scenario that shows a transition."""
    lines = replay(explored.scope, explored.path(parent, action)).lines
    scope = explored.scope
    return Scenario(tuple(tidied(lines)), scope.profile, scope.name, scope.gates)


def tidied(lines: list[Line]) -> Iterator[Line]:
    """`lines` without the answers that let a gate pass and that the next answer implies."""
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else None
        if (
            not is_passing(line.action)
            or following is None
            or not isinstance(following.action, Answer)
            or following.action.gate in PASSED
        ):
            yield line


def is_passing(action: Call | Answer) -> bool:
    """Whether an action only lets a gate pass."""
    return (
        isinstance(action, Answer)
        and action.gate in PASSED
        and action.choice == GATES[action.gate][0]
    )
