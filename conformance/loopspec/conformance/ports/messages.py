"""The messages of the port protocol: what judge and port write to each other, line by line.

Theory. A port is a process that reads one JSON object a line from its standard input and answers
each with one line on its standard output, when it is quiescent and not before. A *command* tells
under `do` what is asked; the *answer* of each is one of a few shapes. A call is the same object
wherever it is made: as a command of its own, inside a batch, or in a hook that waits for a
delivery. What was seen stands in one ordered trace, each entry named under `saw` by the name that
the contract has for it, with the keys of that name. The structs here are the only description; the
schema files beside them are made from them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from loopspec.conformance.subjects.contract import CAPABILITIES, FAULTS
from loopspec.conformance.subjects.guarded import CONTRACT
from loopspec.model.words import CALLS, EVENTS, GATES, KEYS, RECORDS, TARGETS

__all__ = [
    "ANSWERS",
    "CALL_COMMANDS",
    "COMMANDS",
    "CONTRACT",
    "PORT_CAPABILITIES",
    "PROTOCOL",
    "Command",
    "Hook",
    "Report",
    "Welcome",
]

PROTOCOL: Final = 1
"""The version of the protocol; a port that speaks another one is refused at hello."""

PORT_CAPABILITIES: Final = {
    **CAPABILITIES,
    "batch": "several commands in one line, each settled before the next",
    "log": "the durable log can be dumped as records, and a session begun from such a log",
}
"""What a port may declare: what any subject may, and what only lines can tell."""

Seq: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Place: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Number: TypeAlias = int | float | Literal["inf", "-inf", "nan", "-0"]
"""A number as a caller may give it; those that JSON lacks are strings."""

Target: TypeAlias = Literal["next-turn", "next-step"]
Cause: TypeAlias = Literal["user", "parent", "hook", "disposed"]


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One content block: its kind (`text` or another) and its text or reference, opaque."""

    kind: str
    text: str


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One queued input with its content blocks (IN-01)."""

    id: str
    role: str
    source: str
    blocks: tuple[Block, ...]


class Command(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="do",
):
    """What the judge asks. `seq` numbers the lines; within a batch or a hook there is none."""

    seq: Seq = 0


class Hello(Command, frozen=True, tag="hello"):
    """Who are you? The first line of a process, once."""

    protocol: int
    contract: int
    profile: str


class Followup(Command, frozen=True, tag="followup"):
    """Send a message to the next turn and wake."""

    message: Message


class Steer(Command, frozen=True, tag="steer"):
    """Send a message to the next step and wake."""

    message: Message


class Inject(Command, frozen=True, tag="inject"):
    """Put a message before the next step; nothing wakes."""

    message: Message


class Append(Command, frozen=True, tag="append"):
    """Insert behind the last of a list; nothing wakes."""

    target: Target
    message: Message


class Prepend(Command, frozen=True, tag="prepend"):
    """Insert before the first of a list; nothing wakes."""

    target: Target
    message: Message


class Splice(Command, frozen=True, tag="splice"):
    """Remove `count` from `start` on, and insert; counted as JavaScript's `splice` does."""

    target: Target
    start: Number
    count: Number
    messages: tuple[Message, ...]


class Replace(Command, frozen=True, tag="replace"):
    """Put a message into the place of a pending one; true when it was found."""

    id: str
    message: Message


class Remove(Command, frozen=True, tag="remove"):
    """Withdraw a pending message; true when it was found."""

    id: str


class Clear(Command, frozen=True, tag="clear"):
    """Withdraw everything that is pending, next-step first."""


class Cancel(Command, frozen=True, tag="cancel"):
    """Abort what runs; `keep` leaves both lists alone, `drop` clears them first."""

    cause: Cause
    mode: Literal["keep", "drop"]


class Flush(Command, frozen=True, tag="flush"):
    """Make durable what was recorded; at rest only."""


class Crash(Command, frozen=True, tag="crash"):
    """Die here, and open a session from what is durable by then."""


class Resume(Command, frozen=True, tag="resume"):
    """End this session and open one from its log; at rest only."""


class Fork(Command, frozen=True, tag="fork"):
    """Go on with a session that was seeded with this log; at rest only."""


class Maintenance(Command, frozen=True, tag="maintenance"):
    """Begin a maintenance task, whose gate is held."""


class WhenIdle(Command, frozen=True, tag="when-idle"):
    """Begin to wait for idle; it settles later."""


class Dispose(Command, frozen=True, tag="dispose"):
    """Begin to dispose of the session; it settles later."""


class Refuse(Command, frozen=True, tag="refuse"):
    """Let the log refuse its next append of this record."""

    record: str


class Throw(Command, frozen=True, tag="throw"):
    """Let an interceptor throw at the next dispatch of this event."""

    event: str


CallCommand: TypeAlias = (
    Followup
    | Steer
    | Inject
    | Append
    | Prepend
    | Splice
    | Replace
    | Remove
    | Clear
    | Cancel
    | Flush
    | Crash
    | Resume
    | Fork
    | Maintenance
    | WhenIdle
    | Dispose
    | Refuse
    | Throw
)


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call that waits for the n-th delivery of an observation since the reset.

    With `k` 0 it is made inside that delivery, by the listener `by` (empty at a gate, which has
    none). With `k` 1 or 2 it is made that many ticks after the delivery to `by`. At
    `GATE answer`, `k` 0 is the moment between the n-th answer at that gate and what the port does
    with it. Each call that is made is told in the trace as `made`.
    """

    hook: Seq
    at: str
    by: Literal["first", "last", ""]
    n: Count
    k: Annotated[int, msgspec.Meta(ge=0, le=2)]
    call: CallCommand


class Reset(Command, frozen=True, tag="reset"):
    """Forget everything and begin a fresh session: empty inbox, idle, nothing told.

    `held` are the gates that stay closed until they are answered; at any other nobody listens.
    """

    held: tuple[str, ...]
    hooks: tuple[Hook, ...] = ()


class Answer(Command, frozen=True, tag="answer"):
    """The environment answers the oldest open gate of a kind; of a tool, that of its call.

    `messages` belong to `pre-step: enter` (null: as proposed) and to `tool` (its contexts). `calls`
    are those that the provider asks for, or the one that the tool answers. When no such gate is
    open nothing happens, and the report says `open: false`.
    """

    gate: str
    choice: str
    messages: tuple[Message, ...] | None = None
    calls: tuple[str, ...] = ()


class Load(Command, frozen=True, tag="load"):
    """Begin a session from a log, as a resume does; told as `opened`."""

    log: tuple[dict[str, Any], ...]


class Dump(Command, frozen=True, tag="dump"):
    """Give the durable log, record by record, in the shape of a session log of version 4."""


class Bye(Command, frozen=True, tag="bye"):
    """End: answer, and exit with 0. So does the end of the input, without an answer."""


class Batch(Command, frozen=True, tag="batch"):
    """Do these one after the other, each until quiescent; one answer for each."""

    commands: tuple[Reset | CallCommand | Answer, ...]


CALL_COMMANDS: Final[dict[str, type[Command]]] = {
    each.__struct_config__.tag: each for each in CallCommand.__args__
}
"""Each call of the contract with its command."""

COMMANDS: Final[dict[str, type[Command]]] = {
    "hello": Hello,
    "reset": Reset,
    **CALL_COMMANDS,
    "answer": Answer,
    "load": Load,
    "dump": Dump,
    "batch": Batch,
    "bye": Bye,
}
"""Each command by its name."""

assert set(CALL_COMMANDS) == set(CALLS)

# --- What was seen --------------------------------------------------------------------------------

TYPES: Final[dict[str, Any]] = {
    "turn": int,
    "step": int,
    "reason": str,
    "cause": str | None,
    "error": str | None,
    "target": Literal[TARGETS],
    "start": Place,
    "removed": Place,
    "inserted": tuple[Message, ...],
    "outcome": str | None,
    "message": Message,
    "messages": tuple[Message, ...],
    "calls": tuple[str, ...],
    "interrupted": bool,
    "call": str,
    "status": Literal["idle", "running"],
}
"""The type of each key of an observation. Those that may be null may be left out."""


def _seen(name: str) -> type[msgspec.Struct]:
    """The struct of one observation, made from the keys that the contract has for it."""
    fields: list[Any] = []
    if name in RECORDS or name in EVENTS:
        fields.append(("by", Literal["first", "last"]))
    for key in KEYS[name]:
        kind = TYPES[key]
        fields.append((key, kind, None) if kind == str | None else (key, kind))
    return msgspec.defstruct(
        name.title().replace("/", "").replace("-", ""),
        fields,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        tag_field="saw",
        tag=name,
        module=__name__,
    )


class Returned(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="saw", tag="return"
):
    """A call has returned a value, or raised an error with a code."""

    call: str
    value: bool | int | str | tuple[str, ...] | None = None
    raised: str | None = None


class Settled(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="saw", tag="settled"
):
    """What a call has begun (maintenance, when-idle, dispose) is over; `error` when it failed."""

    call: str
    error: str | None = None


class Opened(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="saw", tag="opened"
):
    """A session was opened from a log: by which call, its last turn, what is pending in it.

    `repaired` are the records that were appended to close what had been open: `tool/result ID CODE`
    (`not-started` or `outcome-unknown`), `step/end`, `turn/end interrupted`.
    """

    call: str
    turn: int
    next_turn: tuple[Message, ...]
    next_step: tuple[Message, ...]
    repaired: tuple[str, ...] = ()


class MadeHook(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="saw", tag="made"
):
    """A hook makes its call here."""

    hook: Seq


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="saw", tag="fault"):
    """Something went wrong in the subject that no observation of the contract tells."""

    name: Literal[tuple(FAULTS)]  # type: ignore[valid-type]
    error: str


SEEN: Final = {name: _seen(name) for name in KEYS}
"""The struct of each record, event and gate."""

KIND_OF: Final = {
    **{name: "gate" for name in GATES},
    **{name: "record" for name in RECORDS},
    **{name: "event" for name in EVENTS},
}

ENTRY: Final[Any] = Returned | Settled | Opened | MadeHook | Fault
for _each in SEEN.values():
    ENTRY = ENTRY | _each  # type: ignore[misc]

# --- Answers --------------------------------------------------------------------------------------


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A port's own time limits in seconds, where it needs more than the judge's."""

    answer: Annotated[float, msgspec.Meta(gt=0, le=600)] | None = None
    end: Annotated[float, msgspec.Meta(gt=0, le=60)] | None = None


class Welcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The answer to hello.

    `contract` is the revision that the port pins, `profile` the one that it claims. With `sum` each
    later line of the port ends in a checksum of itself, so that no damaged line is taken for an
    answer.
    """

    seq: Seq
    protocol: int
    name: str
    version: str
    language: str
    contract: int
    profile: str
    capabilities: tuple[str, ...]
    limits: Limits = Limits()
    sum: bool = False


class OpenGate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gate that waits for its answer, and whether the signal that it was given is aborted."""

    gate: str
    aborted: bool
    call: str = ""
    """Of a tool's gate: which call."""


class Folded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Both lists as the durable log folds to them, read back and folded apart from the inbox."""

    next_turn: tuple[Message, ...]
    next_step: tuple[Message, ...]


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a reset, a call, an answer or a load: what was seen until quiescence.

    `trace` is all of it in one order. Then the subject's own projections: both lists, its status
    and the open gates in the order of their arrival. `open` is false when an answer came to
    no gate.
    """

    trace: tuple[ENTRY, ...]
    next_turn: tuple[Message, ...]
    next_step: tuple[Message, ...]
    status: str
    gates: tuple[OpenGate, ...]
    folded: Folded | None = None
    open: bool = True
    seq: Seq = 0


class Reports(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a batch: one report for each of its commands."""

    seq: Seq
    answers: tuple[Report, ...]


class Dumped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to dump: the durable log, header line first."""

    seq: Seq
    log: tuple[dict[str, Any], ...]


class Parted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to bye."""

    seq: Seq
    bye: Literal[True]


class Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instead of any answer: the adapter could not do it. One sentence; nothing was judged."""

    seq: Seq
    failed: str


ANSWER_OF: Final[dict[str, type[msgspec.Struct]]] = {
    "hello": Welcome,
    "reset": Report,
    **{name: Report for name in CALL_COMMANDS},
    "answer": Report,
    "load": Report,
    "dump": Dumped,
    "batch": Reports,
    "bye": Parted,
}
"""Which answer each command has; `Failed` may come instead."""

ANSWERS: Final[dict[str, type[msgspec.Struct]]] = {
    "welcome": Welcome,
    "report": Report,
    "reports": Reports,
    "dumped": Dumped,
    "parted": Parted,
    "failed": Failed,
}
"""Each answer by the name of its schema."""
