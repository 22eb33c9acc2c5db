"""The records of a log that are judged, with the members that are read; all others are tolerated.

Names are those of the log format. A row of packed chunks stands for several records, and a record
without a number (`seq`) is numbered by its place.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

__all__ = [
    "KNOWN",
    "PACKED",
    "AssistantMessage",
    "Attempt",
    "BadShape",
    "Header",
    "HeaderData",
    "Place",
    "Record",
    "Seed",
    "Splice",
    "ToolCall",
    "ToolResult",
    "TurnEnd",
    "TurnStart",
    "UserMessage",
    "record_of",
]

Int = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class BadShape(ValueError):
    """A record of a judged type without its members; the text says what was expected."""


class Header(Struct):
    """The first line; only how a fork begins is judged, the rest has its kind."""

    id: str = ""
    version: Int | str | None = None
    createdAt: Int | None = None
    cwd: str | None = None
    parentSession: str | None = None
    origin: str | None = None
    agentPreset: str | None = None
    delegationDepth: Count | None = None
    seedLength: Count | None = None
    isSeeded: bool | None = None


class TurnStart(Struct):
    """A turn opens; `trigger` belongs to the vocabulary before the inbox."""

    turn: Int
    trigger: object = UNSET


class Cause(Struct):
    """Who aborted a turn."""

    kind: str


class Reason(Struct):
    """How a turn ended. Kinds are open; older logs have no cause, or a text."""

    kind: str
    reason: Cause | str | None = None


class TurnEnd(Struct):
    """A turn closes."""

    turn: Int
    reason: Reason


class Place(Struct):
    """What names the open turn and step."""

    turn: Int
    step: Int


class Attempt(Struct):
    """A failed attempt, a chunk, or a row of chunks."""

    turn: Int
    step: Int
    texts: list[object] | UnsetType = UNSET
    args: list[object] | UnsetType = UNSET
    chunk: Any = None

    @property
    def finish(self) -> str:
        """Why the provider stopped, where this chunk says so."""
        return finish_of(self.chunk)


def finish_of(chunk: Any) -> str:  # noqa: ANN401 - JSON
    """What a finish chunk says; nothing for any other chunk."""
    if type(chunk) is not dict or chunk.get("type") != "finish":
        return ""
    reason = chunk.get("reason")
    kind = reason.get("kind") if type(reason) is dict else reason
    return kind if type(kind) is str else ""


class Queued(Struct):
    """One message that a splice inserts."""

    id: str
    role: str = "user"


class Splice(Struct):
    """One edit of one list."""

    target: str
    start: Int
    inserted: list[Queued]
    removedCount: Int | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


class Source(Struct):
    """Who made a message."""

    kind: str = ""
    callId: str = ""


class UserMessage(Struct):
    """A message that enters what the model sees."""

    id: str = ""
    source: Source | None = None
    role: str = "user"


class Block(Struct):
    """A content block: a tool call has an id, a tool's result the id of its call."""

    type: str = ""
    id: object = ""
    toolCallId: str = ""


class Content(Struct):
    """A message with its blocks."""

    content: list[Block] = []
    toolCallId: str = ""
    source: Source | None = None


class AssistantMessage(Struct):
    """A reply, or the prefix of one; older logs hold its content directly."""

    turn: Int
    step: Int
    message: Content | None = None
    content: list[Block] = []
    interrupted: bool = False
    stream: list[Any] | None = None

    @property
    def finish(self) -> str:
        """Why the provider stopped, where the stream tells it."""
        parts = (part.get("chunk") for part in reversed(self.stream or ()) if type(part) is dict)
        return next((found for found in map(finish_of, parts) if found), "")

    @property
    def calls(self) -> tuple[str, ...]:
        """The tool calls that it asks for, in order."""
        blocks = self.message.content if self.message is not None else self.content
        return tuple(str(block.id) for block in blocks if block.type == "tool-call")


class ToolCall(Struct):
    """A tool starts."""

    turn: Int
    step: Int
    callId: str


class Failure(Struct):
    """How a tool failed."""

    code: str = ""


class ToolResult(Struct):
    """A tool's result; the id of its call stands in one of four places."""

    turn: Int
    step: Int
    callId: str = ""
    message: Content | None = None
    error: Failure | str | None = None

    @property
    def call(self) -> str:
        """The call that it answers."""
        message = self.message
        if self.callId or message is None:
            return self.callId
        named = message.toolCallId or next((b.toolCallId for b in message.content), "")
        return named or (message.source.callId if message.source is not None else "")

    @property
    def code(self) -> str:
        """The code of its failure."""
        return self.error.code if isinstance(self.error, Failure) else ""


class HeaderData(Struct):
    """A request's header, and why it is written."""

    reason: str = ""
    header: Any = None


class Context(Struct):
    """What a request is sent to."""

    provider: str = ""
    model: str = ""
    contextWindow: Any = None


class Seed(Struct):
    """A seed ends; at a fork it was inherited."""

    inherited: bool = False


SHAPES: Final[dict[str, Any]] = {
    "turn/start": TurnStart,
    "turn/end": TurnEnd,
    "step/start": Place,
    "step/end": Place,
    "agent/inbox/spliced": Splice,
    "user/message": UserMessage,
    "assistant/message": AssistantMessage,
    "assistant/chunk": Attempt,
    "assistant/attempt": Attempt,
    "text-chunks": Attempt,
    "reasoning-chunks": Attempt,
    "tool-call-chunks": Attempt,
    "tool/call": ToolCall,
    "tool/result": ToolResult,
    "system/message": Place,
    "request/header": HeaderData,
    "request/context": Context,
    "session/end-seed": Seed,
}
"""The types that are judged, each with the members that are read."""

OTHERS: Final = """
usage agent-preset/selected approval/asked approval/decided approval/policy command/done
command/run compact/end compact/prune compact/start compact/summary compaction/end
compaction/prune compaction/start compaction/summary context/message deliverables/presented
developer/message feedback/message-delete feedback/message-put feedback/record goal/change
hook/invoked hook/result image/offload job/registered job/settled llm/retry llm/retry-started
mode/set model/selection permission/preset plan/mode prompt/blocked request/header-delta
sandbox/mode schedule/change session/title session/title-llm-request
session-log-deepseek/delivery-accepted steering/message subagent/catalog subagent/descriptor
subagent/model-selection-policy team/member team/message/delivered team/message/queued
team/task todo/write tool/code-dispatch tool/code-dispatch-start tool/ptc-dispatch
tool/ptc-dispatch-start tool-workflow/agent-end tool-workflow/agent-start tool-workflow/run-end
tool-workflow/run-start web/deepseek-search-llm-request working-directory/change
workspace/changes
"""
"""Types that writers have used and that are not judged, of every vocabulary."""

KNOWN: Final = frozenset(SHAPES) | frozenset(OTHERS.split())

PACKED: Final = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})


class Record:
    """One record: where it stands, what it is, and its members that are read.

    `line` counts from 1; `seq` is None where the log does not number; `members` is how many
    records a packed row stands for; `raw` is the whole of its data; `cites` are the numbers of
    earlier records, None where it cites nothing; `known` is false where no writer is known to use
    the type and no reader may skip the record.
    """

    __slots__ = ("cites", "data", "known", "line", "members", "name", "raw", "seq", "surface")

    def __init__(
        self,
        line: int,
        name: str,
        seq: int | None,
        raw: Any,  # noqa: ANN401 - JSON
        surface: Any,  # noqa: ANN401 - JSON
        cites: Any = None,  # noqa: ANN401 - JSON
    ) -> None:
        """A record whose members were not read yet."""
        self.line = line
        self.name = name
        self.seq = seq
        self.raw = raw
        self.surface = surface
        self.cites = cites
        self.members = 1
        self.known = True
        self.data: Any = None

    def __str__(self) -> str:
        """Where it stands and what it is."""
        numbered = f" (seq {self.seq})" if self.seq is not None else ""
        return f"record {self.line}{numbered}, {self.name}"


convert: Final = msgspec.convert


def record_of(line: int, value: dict[str, Any]) -> Record:
    """The record of a JSON object.

    Raises BadShape when a judged member is missing or of another kind.
    """
    name = value.get("type")
    if type(name) is not str:
        raise BadShape("expected a record with its 'type', a text")
    packed = name in PACKED
    seq = value.get("seq0" if packed else "seq")
    if seq is not None and (type(seq) is not int or not -(2**63) <= seq < 2**63):
        raise BadShape(f"expected a number of 64 bits under 'seq', got {str(seq)[:40]!r}")
    get = value.get
    record = Record(line, name, seq, get("data"), get("surfaceOp"), get("sourceEventSeqs"))
    shape = SHAPES.get(name)
    if shape is None:
        if name == "session":
            record.data = shaped(name, value, Header)
        else:
            record.known = name in KNOWN or get("ignorable") is True
        return record
    record.data = shaped(name, record.raw, shape)
    if packed:
        texts = record.data.texts if record.data.texts is not UNSET else record.data.args
        record.members = len(texts) if texts is not UNSET else 1
    return record


def shaped(name: str, raw: Any, shape: Any) -> Any:  # noqa: ANN401 - JSON
    """The members of a record that are read."""
    try:
        return convert(raw, shape)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        at = where.strip("`").removeprefix("$").removeprefix(".")
        raise BadShape(
            f"{name}: {what[:1].lower()}{what[1:]}" + (f" at {at}" if at else "")
        ) from error
