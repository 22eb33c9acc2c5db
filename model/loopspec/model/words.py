"""The words of a trace: messages, calls, answers and observations.

Rules of this file. A *trace* is one ordered list of entries. Inputs are calls (users, plug-ins,
hosts) and answers (the environment, at a gate); outputs are observations. Names inside records,
events and gates are the strings of the contract (``turn/start``, ``agent/inbox/claimed``, ...).
Everything here is a plain tuple: comparable, hashable, printable, and without behaviour.
"""

from typing import Final, NamedTuple, TypeAlias

NEXT_TURN: Final = "next-turn"
NEXT_STEP: Final = "next-step"
TARGETS: Final = (NEXT_TURN, NEXT_STEP)

CAUSES: Final = ("user", "parent", "hook", "disposed")
"""Who may cancel (CN-12)."""

FIRST: Final = "first"
LAST: Final = "last"
LISTENERS: Final = (FIRST, LAST)
"""A subject has a first and a last listener, so that inverted deliveries are observations."""


class Block(NamedTuple):
    """One content block of a message; opaque to the model."""

    kind: str
    text: str


class Message(NamedTuple):
    """One queued input: its id, role, source and content blocks (IN-01)."""

    id: str
    role: str
    source: str
    blocks: tuple[Block, ...]


def text_message(message_id: str, text: str | None = None) -> Message:
    """A user's message with one text block, by default its own id."""
    return Message(
        message_id, "user", "user", (Block("text", message_id if text is None else text),)
    )


Value: TypeAlias = bool | int | str | Message | tuple["Value", ...] | None


class Call(NamedTuple):
    """Something that a user, plug-in or host asks for, with its arguments in order."""

    name: str
    args: tuple[Value, ...] = ()


class Answer(NamedTuple):
    """What the environment answers at a gate.

    ``messages`` belongs to ``pre-step: enter`` (None enters the batch as proposed) and to ``tool``
    (the contexts that the tool returns). ``names`` are tool calls: those that the provider asks
    for, or the one that a tool answers.
    """

    gate: str
    choice: str
    messages: tuple[Message, ...] | None = None
    names: tuple[str, ...] = ()


class Observation(NamedTuple):
    """One thing that a subject was seen to do.

    ``kind`` is record, event, gate, return, settled or opened; ``data`` holds key and value pairs
    in the order of `KEYS`; ``listener`` is first or last for records and events, empty otherwise.
    """

    kind: str
    name: str
    data: tuple[tuple[str, Value], ...] = ()
    listener: str = ""

    def get(self, key: str) -> Value:
        """The value under `key`, or None when the observation does not carry it."""
        for name, value in self.data:
            if name == key:
                return value
        return None


class Rest(NamedTuple):
    """A point at which the subject has nothing more to do, with its projections."""

    next_turn: tuple[Message, ...]
    next_step: tuple[Message, ...]
    status: str
    gates: tuple[tuple[str, bool], ...]


class Made(NamedTuple):
    """A call at its place in a trace; `inside` tells that a listener of a delivery made it."""

    call: Call
    inside: bool


Entry: TypeAlias = Made | Answer | Observation | Rest

GATES: Final = {
    "assemble": ("assembled", "failed"),
    "pre-step": ("enter", "reject", "raise"),
    "request": ("go", "raise"),
    "provider": ("done", "owes", "tools", "parallel", "max-tokens", "partial", "error", "cut"),
    "request-error": ("give-up", "retry", "raise"),
    "tool": ("result", "concludes", "raise"),
    "turn-stopping": ("nothing", "raise"),
    "maintenance": ("done", "raise"),
}
"""Each gate with the choices of its answer; the first is what happens when nobody objects."""

PASSED: Final = ("assemble", "request", "request-error", "turn-stopping")
"""Gates that an answer to a later gate lets pass first, with their first choice."""

ERROR_TEXTS: Final = {
    "assemble": "assembly failed",
    "pre-step": "pre-step raised",
    "request": "request raised",
    "provider": "provider failed",
    "request-error": "recovery raised",
    "turn-stopping": "turn-stopping raised",
    "maintenance": "maintenance raised",
    "disposed": "the session is disposed",
}
"""What a failing answer at each gate is reported as, and a turn that a disposal makes fail."""

CALLS: Final = {
    "followup": ("message",),
    "steer": ("message",),
    "inject": ("message",),
    "append": ("target", "message"),
    "prepend": ("target", "message"),
    "splice": ("target", "start", "count", "messages"),
    "replace": ("id", "message"),
    "remove": ("id",),
    "clear": (),
    "cancel": ("cause", "mode"),
    "flush": (),
    "crash": (),
    "resume": (),
    "fork": (),
    "maintenance": (),
    "when-idle": (),
    "dispose": (),
    "refuse": ("record",),
    "throw": ("event",),
}
"""Each call with the kinds of its arguments; mode is keep or drop.

Maintenance, when-idle and dispose begin something that settles later: a settlement is an
observation of its own. `crash` never returns; what comes of it, of `resume` and of `fork` is that a
session is opened from a log. Refuse and throw are the environment's: they say what will fail next.
"""

AT_REST_ONLY: Final = frozenset({"flush", "resume", "fork"})
"""The calls that no listener makes: each waits for the log, and a listener must not wait."""

FAULTS: Final = ("refuse", "throw")
"""The calls that arm a fault: the log's next append of a record, the bus's next dispatch."""

RETURN_KEYS: Final = ("value", "raised")
SETTLED_KEYS: Final = ("error",)
OPENED_KEYS: Final = ("turn", "next-turn", "next-step", "repaired")

KEYS: Final = {
    "turn/start": ("turn",),
    "turn/end": ("turn", "reason", "cause", "error"),
    "step/start": ("turn", "step"),
    "step/end": ("turn", "step"),
    "agent/inbox/spliced": ("target", "start", "removed", "inserted", "outcome"),
    "user/message": ("message",),
    "assistant/message": ("turn", "step", "calls", "interrupted"),
    "tool/call": ("turn", "step", "call"),
    "tool/result": ("turn", "step", "call", "outcome"),
    "agent/inbox/inserted": ("message",),
    "agent/inbox/discarded": ("message",),
    "agent/inbox/claimed": ("message", "turn"),
    "agent/status": ("status",),
    "agent/error": ("turn", "step", "error"),
    "assemble": ("turn", "step"),
    "pre-step": ("turn", "step", "messages"),
    "request": ("turn", "step"),
    "provider": ("turn", "step"),
    "request-error": ("turn", "step"),
    "tool": ("turn", "step", "call"),
    "turn-stopping": ("turn",),
    "maintenance": (),
}
"""The keys of each record, event and gate, in order."""

RECORDS: Final = (
    "turn/start",
    "turn/end",
    "step/start",
    "step/end",
    "agent/inbox/spliced",
    "user/message",
    "assistant/message",
    "tool/call",
    "tool/result",
)
EVENTS: Final = (
    "agent/inbox/inserted",
    "agent/inbox/discarded",
    "agent/inbox/claimed",
    "agent/status",
    "agent/error",
)
THROWING: Final = ("agent/inbox/inserted", "agent/inbox/claimed", "agent/status")
"""The events at whose dispatch an interceptor may be made to throw, the status `running` alone
(ER-08 to ER-10)."""


def observation(kind: str, name: str, *values: Value, listener: str = "") -> Observation:
    """An observation with `values` under the declared keys of `name`."""
    own = {"return": RETURN_KEYS, "settled": SETTLED_KEYS, "opened": OPENED_KEYS}
    keys = own.get(kind) or KEYS[name]
    return Observation(kind, name, tuple(zip(keys, values, strict=True)), listener)
