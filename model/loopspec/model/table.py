"""The table: all rows, and the only two ways in which a session changes, `apply` and `move`.

Rules of this file. Nothing changes a session outside the table. `apply` of an action that is not
enabled returns a refusal that says why and changes nothing; `move` runs the head of the work that
is due and is deterministic.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import attrs

from loopspec.model import table_driver, table_faults, table_inbox, table_life, table_step
from loopspec.model.rows import Row, row
from loopspec.model.session import (
    Assembled,
    Decided,
    Frame,
    MaintenanceDone,
    Recovered,
    Replied,
    Requested,
    Session,
    Stopping,
    Tell,
    ToolDone,
)
from loopspec.model.words import (
    AT_REST_ONLY,
    CALLS,
    CAUSES,
    GATES,
    RECORDS,
    TARGETS,
    THROWING,
    Answer,
    Call,
    Message,
    Observation,
    Value,
)


@attrs.frozen
class Refusal:
    """Why an action does not apply: a code for machines, a sentence for people."""

    code: str
    because: str


# --- Answers ------------------------------------------------------------------------------------


def is_for(gate: str) -> Callable[[Session, Answer], bool]:
    """The guard of answers at one kind of gate."""

    def guard(session: Session, answer: Answer) -> bool:
        return answer.gate == gate

    guard.__doc__ = f"The gate is {gate}."
    return guard


def label_of(session: Session, answer: Answer) -> str:
    """The name of the open gate that an answer goes to; the oldest where it does not say."""
    if answer.gate != "tool":
        return answer.gate
    if answer.names:
        return f"tool {answer.names[0]}"
    return next((gate for gate in session.gates if gate.startswith("tool ")), "tool")


def answered(session: Session, answer: Answer) -> Session:
    """The gate closes; whoever awaits it resumes on the next tick."""
    label = label_of(session, answer)
    return session.but(gates=tuple(gate for gate in session.gates if gate != label))


def resuming(frame: Callable[[Answer], Frame]) -> Callable[[Session, Answer], Session]:
    """The effect that hands an answer to the task as a frame."""

    def effect(session: Session, answer: Answer) -> Session:
        after = answered(session, answer)
        return after.but(task=(frame(answer), *after.task))

    effect.__doc__ = "The gate closes; the driver resumes with the answer on the next tick."
    return effect


def finish_tool(session: Session, answer: Answer) -> Session:
    """The gate closes; the answer is kept until its turn to be committed comes."""
    call = label_of(session, answer).partition(" ")[2]
    done = ToolDone(call, answer.choice, answer.messages or ())
    return answered(session, answer).but(finished=(*session.finished, done))


def handed(gate: str, rules: str, frame: Callable[[Answer], Frame]) -> Row:
    """The row of answers that the task resumes with."""
    return row("answer", f"at {gate}", rules, is_for(gate), resuming(frame))


ANSWERS: Final = (
    handed("assemble", "PS-03", lambda answer: Assembled(answer.choice)),
    handed("pre-step", "PS-01", lambda answer: Decided(answer.choice, answer.messages)),
    handed("request", "ST-07", lambda answer: Requested(answer.choice)),
    handed("provider", "CN-13", lambda answer: Replied(answer.choice, answer.names)),
    handed("request-error", "ST-16", lambda answer: Recovered(answer.choice)),
    row("answer", "at tool", "TC-01", is_for("tool"), finish_tool),
    handed("turn-stopping", "TS-03", lambda answer: Stopping(answer.choice)),
    handed("maintenance", "MN-02", lambda answer: MaintenanceDone(answer.choice)),
)

TABLE: Final[tuple[Row, ...]] = (
    table_inbox.ROWS
    + table_life.ROWS
    + ANSWERS
    + table_driver.ROWS
    + table_step.ROWS
    + table_faults.ROWS
)


def by_owner(rows: tuple[Row, ...]) -> Mapping[str, tuple[Row, ...]]:
    """The rows of each owner, in table order; refuses two rows with one name.

    Raises ValueError naming the row that stands twice.
    """
    owners: dict[str, list[Row]] = {}
    seen: set[str] = set()
    for each in rows:
        if each.key in seen:
            msg = f"two rows are called {each.key!r}; a row's name is unique within its owner"
            raise ValueError(msg)
        seen.add(each.key)
        owners.setdefault(each.owner, []).append(each)
    return MappingProxyType({owner: tuple(of_owner) for owner, of_owner in owners.items()})


OWNERS: Final = by_owner(TABLE)


class Moved(NamedTuple):
    """One move: the row that fired, the session after it, the observation it made if any."""

    row: Row
    session: Session
    observation: Observation | None


def owner_of(session: Session, frame: Frame) -> str:
    """The owner of the rows that a frame takes: a delivery belongs to its name, or to a fault."""
    if type(frame) is not Tell:
        return frame.frame
    if session.faults and table_faults.strikes(session, frame):
        return "refused" if frame.kind == "record" else "thrown"
    return frame.name


def fire(session: Session, owner: str, subject: object) -> tuple[Row, Session]:
    """The first row of `owner` whose guard holds, and the session after its effect."""
    for each in OWNERS[owner]:
        if each.when(session, subject):
            return each, each.then(session, subject)
    msg = f"no row of {owner!r} takes {subject} in {session}"
    raise AssertionError(msg)


def move(session: Session) -> Moved | None:
    """Run the head of what is due; None when the session waits for a call or an answer."""
    if session.stack:
        frame = session.stack[0]
        rest = session.but(stack=session.stack[1:])
        owner = owner_of(rest, frame)
        for each in OWNERS[owner]:
            _, _, _, when, then, _, sees, _ = each
            if when(rest, frame):
                seen = sees(rest, frame) if sees is not None else None
                return Moved(each, then(rest, frame), seen)
        msg = f"no row of {owner!r} takes {frame} in {session}"
        raise AssertionError(msg)
    if session.ready:
        each, after = fire(session, "event loop", None)
        return Moved(each, after, each.sees(session, None) if each.sees is not None else None)
    return None


def run(session: Session) -> Iterator[Moved]:
    """The moves of a session up to quiescence, in order."""
    moved = move(session)
    while moved is not None:
        yield moved
        moved = move(moved.session)


# --- Inputs -------------------------------------------------------------------------------------


def needs_an_argument_list(call: Call) -> Refusal | None:
    """A call has the arguments that it declares, of their kinds."""
    kinds = CALLS.get(call.name)
    if kinds is None:
        return Refusal(
            "UNKNOWN_CALL", f"there is no call {call.name!r}; calls are {', '.join(CALLS)}"
        )
    if len(kinds) != len(call.args):
        wanted = " ".join(kinds) or "nothing"
        return Refusal(
            "BAD_ARGUMENTS", f"{call.name} takes {wanted}, not {len(call.args)} arguments"
        )
    for kind, value in zip(kinds, call.args, strict=True):
        if not fits(kind, value):
            return Refusal("BAD_ARGUMENTS", f"{call.name} takes a {kind} where {value!r} came")
    return None


CHOICES: Final = {
    "target": TARGETS,
    "cause": CAUSES,
    "mode": ("keep", "drop"),
    "record": RECORDS,
    "event": THROWING,
}
"""The values of an argument, by its kind."""


def fits(kind: str, value: Value) -> bool:
    """Whether `value` is an argument of that kind."""
    if kind == "message":
        return isinstance(value, Message)
    if kind == "messages":
        return isinstance(value, tuple) and all(isinstance(each, Message) for each in value)
    if kind in ("start", "count"):
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) and (kind not in CHOICES or value in CHOICES[kind])


def needs_a_place(session: Session, call: Call) -> Refusal | None:
    """A call lands where control is with the event loop or a listener runs."""
    if not session.stack or (session.listening and call.name not in AT_REST_ONLY):
        return None
    due = session.stack[0].frame
    return Refusal("NOT_AT_REST", f"{call.name} cannot land while {due!r} is due")


def needs_a_log(session: Session, call: Call) -> Refusal | None:
    """A crash leaves what is durable, in a run that keeps account of it."""
    if call.name != "crash" or session.kept is not None:
        return None
    return Refusal("NOTHING_KEPT", "crash comes only where the run keeps what is durable")


def needs_an_open_gate(session: Session, answer: Answer) -> Refusal | None:
    """An answer goes to a gate that is open, while control is with the event loop."""
    if answer.choice not in GATES.get(answer.gate, ()):
        choices = ", ".join(GATES.get(answer.gate, ())) or f"none; gates are {', '.join(GATES)}"
        return Refusal("UNKNOWN_ANSWER", f"{answer.gate}: {answer.choice} is not among {choices}")
    if label_of(session, answer) not in session.gates:
        open_gates = ", ".join(session.gates) or "none"
        return Refusal("GATE_CLOSED", f"the gate {answer.gate} is not open; open: {open_gates}")
    if session.stack:
        return Refusal("NOT_AT_REST", f"{answer.gate} is answered only at rest")
    return None


def apply(session: Session, action: Call | Answer) -> Session | Refusal:
    """The session after a call or an answer, before any move; a refusal when it is not enabled."""
    if isinstance(action, Call):
        refusal = needs_an_argument_list(action) or needs_a_place(session, action)
        refusal = refusal or needs_a_log(session, action)
        return refusal or fire(session, action.name, action)[1]
    return needs_an_open_gate(session, action) or fire(session, "answer", action)[1]


def row_of(session: Session, action: Call | Answer) -> Row:
    """The row that an enabled action takes; for coverage and documents."""
    owner = action.name if isinstance(action, Call) else "answer"
    return fire(session, owner, action)[0]
