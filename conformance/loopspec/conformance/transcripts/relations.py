"""What the environment of a recording does, and what reports have to keep to besides the table.

Theory. The table knows neither chunks nor the text of errors; the recordings hold both. They follow
from the commands: what the scripted provider streams, what was thrown, which tools were asked for,
which messages a request carries. `Relations` works out each of these when a command or a record
comes, and disagrees with a report that says otherwise. *Related* entries (`assistant/chunk`,
`request/header`, `request/context`) are checked by what surrounds them, since the model does not
make them: chunks before anything else, header and context once, right before the first request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from loopspec.conformance.transcripts.reading import message_of
from loopspec.model.session import Session
from loopspec.model.words import ERROR_TEXTS, FIRST, KEYS, Answer, Observation

__all__ = ["Disagreement", "Relations", "expect"]

CALL_CHUNKS: Final = ("block-start", "tool-call-delta", "block-end")
REPLIES: Final = {
    "partial": "partial",
    "text": "done",
    "max": "max-tokens",
    "tool": "tools",
    "error": "error",
    "throw": "error",
}
"""What the scripted provider does, in the words of the model."""

THROWN: Final = {"error": "boom", "throw": "adapter threw"}
SPLICED: Final = frozenset(("target", "start", "removedCount", "inserted", "outcome"))


class Disagreement(Exception):
    """Subject and model part; the text says what was seen and what was allowed."""


def expect(holds: object, text: str) -> None:
    """Disagree with `text` unless something holds."""
    if not holds:
        raise Disagreement(text)


def told(kind: str, name: str, *values: Any) -> Observation:  # noqa: ANN401 - JSON
    """A record or an event as its one listener is told, or the arrival at a gate."""
    listener = "" if kind == "gate" else FIRST
    return Observation(kind, name, tuple(zip(KEYS[name], values, strict=True)), listener)


@attrs.define
class Relations:
    """What the reports of one transcript must keep to, as far as it has been read.

    `history` are the messages of the next request; `errors` what was thrown at each gate; `chunks`
    what the provider's answer must still write; `content` the blocks of its message.
    """

    resumed: bool = False
    history: list[str] = attrs.field(factory=list)
    header_logged: bool = False
    context_logged: bool = False
    header_seen: bool = False
    context_due: bool = False
    request_due: bool = False
    next_number: int | None = None
    chunks: list[str] = attrs.field(factory=list)
    block_open: bool = False
    streamed_text: str = ""
    content: list[dict[str, Any]] = attrs.field(factory=list)
    errors: dict[str, str] = attrs.field(factory=dict)
    tool_names: dict[str, str] = attrs.field(factory=dict)

    def copy(self) -> Relations:
        """The same relations, to go on with in another way."""
        return Relations(
            self.resumed,
            self.history.copy(),
            self.header_logged,
            self.context_logged,
            self.header_seen,
            self.context_due,
            self.request_due,
            self.next_number,
            self.chunks.copy(),
            self.block_open,
            self.streamed_text,
            self.content,
            self.errors.copy(),
            self.tool_names.copy(),
        )

    # --- What a log holds already ---

    def restore(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Take over the log that a resume begins with.

        Calls of the last reply that have no result got one when the log was repaired (RS-03).
        """
        asked: list[str] = []
        for event in events:
            kind, data = event["type"], event["data"]
            if kind == "request/header":
                self.header_logged = True
            elif kind == "request/context":
                self.context_logged = True
            elif kind == "assistant/message":
                content = data.get("message", data)["content"]
                asked = [block["id"] for block in content if block["type"] == "tool-call"]
            elif kind == "step/end":
                asked = []
            self.remember(kind, data)
        self.history += [f"tool:{call}" for call in asked if f"tool:{call}" not in self.history]

    def remember(self, kind: str, data: Any) -> None:  # noqa: ANN401 - JSON
        """What a record adds to the messages of later requests."""
        if kind == "user/message":
            self.history.append(data["id"] if isinstance(data, dict) else data)
        elif kind == "assistant/message":
            message = data.get("message", data)
            if message.get("content"):
                self.history.append("A")
        elif kind == "tool/result":
            call = data.get("callId") or data["message"]["content"][0]["toolCallId"]
            self.history.append(f"tool:{call}")

    # --- What the environment does ---

    def reply(self, op: Mapping[str, Any], aborted: bool) -> Answer:
        """The scripted provider's answer, with the chunks that it streams while it is live."""
        do, calls = op["do"], op.get("calls", [])
        text = [*([] if self.block_open else ["block-start"]), "text-delta"]
        closing = ["block-end"] if self.block_open else []
        chunks = {
            "partial": text,
            "text": [*text, "block-end", "finish"],
            "max": [*text, "block-end", "finish"],
            "tool": [*closing, *CALL_CHUNKS * len(calls), "finish"],
        }
        self.chunks = [] if aborted else list(chunks.get(do, ["finish"]))
        streamed = self.streamed_text if self.block_open else ""
        goes_on = do == "partial" and not aborted
        self.streamed_text = streamed + "par" * goes_on
        self.block_open = goes_on
        whole = streamed + {"text": "ok", "max": "cut"}.get(do, "")
        self.content = [{"type": "text", "text": whole}] if whole else []
        for call in calls:
            self.tool_names[call["id"]] = call["name"]
            block = {"type": "tool-call", "id": call["id"], "name": call["name"], "arguments": "{}"}
            self.content.append(block)
        self.errors["provider"] = THROWN.get(do, "")
        return Answer("provider", REPLIES[do], None, tuple(call["id"] for call in calls))

    # --- Numbers, chunks, header and context ---

    def number(self, seq: object) -> None:
        """Records are numbered one after the other, from 0 in a new log."""
        wanted = self.next_number
        if wanted is None:
            expect(self.resumed or seq == 0, f"saw record number {seq} first")
        elif seq != wanted:
            raise Disagreement(f"saw record number {seq}, after {wanted - 1}")
        if type(seq) is not int:
            raise Disagreement(f"saw record number {seq!r}")
        self.next_number = seq + 1

    def chunk(self, data: object) -> None:
        """The next chunk of the answer."""
        if self.chunks[:1] != [data]:
            raise Disagreement(f"saw chunk {data!r}, expected {self.chunks[:1]}")
        del self.chunks[0]

    def no_chunk_is_due(self, name: str) -> None:
        """The answer is written before anything else happens."""
        if self.chunks:
            raise Disagreement(f"saw {name}, expected chunk {self.chunks[:1]}")

    def nothing_is_due(self) -> None:
        """Nothing that a relation demands may still be missing."""
        if self.chunks:
            raise Disagreement(f"the chunks {self.chunks} are missing")
        expect(not self.context_due, "request/header has no request/context behind it")
        expect(not self.request_due, "the request that was prepared was not made")

    def prepared(self, kind: str, data: object) -> None:
        """Header and context stand together, once, right before the first request."""
        if kind == "request/header":
            reason = "resume" if self.header_logged else "initial"
            fits = data == reason and not self.header_seen and not self.context_due
            expect(fits, f"saw request/header {data}")
            self.header_seen = True
            self.context_due = not self.context_logged
            self.request_due = True
        else:
            expect(self.context_due and data == {}, f"saw request/context {data}")
            self.context_due = False

    def requested(self, data: object) -> None:
        """A request carries what the records before it amount to."""
        if data != {"req": self.history}:
            raise Disagreement(f"saw a request of {data}, not {self.history}")
        expect(self.header_seen, "the first request has no request/header")
        self.request_due = False

    # --- Records and errors in the words of traces ---

    def record(self, kind: str, data: Any, session: Session) -> Observation:  # noqa: ANN401
        """A record in the words of traces; one of another shape is none of ours."""
        if kind == "agent/inbox/spliced":
            return spliced(data)
        if kind == "turn/end":
            return self.turn_end(data)
        if kind == "user/message":
            return told("record", kind, message_of(data))
        if kind == "assistant/message":
            return self.assistant_message(data, session)
        if kind == "tool/call":
            self.tool(kind, data)
            return told("record", kind, session.turn, session.step, data["callId"])
        if kind == "tool/result":
            outcome = self.outcome_of(data)
            return told("record", kind, session.turn, session.step, data["callId"], outcome)
        keys = KEYS.get(kind, ())
        if kind not in ("turn/start", "step/start", "step/end"):
            raise Disagreement(f"saw a record {kind}, which the model does not make")
        if set(data) != set(keys):
            raise Disagreement(f"saw {kind} {data}")
        return told("record", kind, *(data[key] for key in keys))

    def tool(self, where: str, data: Mapping[str, Any]) -> None:
        """A call is told with its id and the name of its tool."""
        wanted = {"callId": data["callId"], "name": self.tool_names.get(data["callId"])}
        if data != wanted:
            raise Disagreement(f"saw {where} {data}")

    def turn_end(self, data: Mapping[str, Any]) -> Observation:
        """A turn's end with its reason, cause and error."""
        reason = data["reason"]
        cause = error = None
        wanted: dict[str, Any] = {"kind": reason["kind"]}
        if reason["kind"] == "aborted":
            cause = reason["reason"]["kind"]
            named = {"kind": cause, "reason": "r"} if cause == "hook" else {"kind": cause}
            wanted["reason"] = named
        if reason["kind"] == "error":
            error, code = self.error_words(reason["error"]["message"])
            wanted["error"] = {"message": reason["error"]["message"], "code": code}
        if reason != wanted or set(data) != {"turn", "reason"}:
            raise Disagreement(f"saw turn/end {data}, with a reason of the form {wanted}")
        return told("record", "turn/end", data["turn"], reason["kind"], cause, error)

    def error_words(self, text: object) -> tuple[str, str]:
        """The model's text for a failure of the environment, and upstream's code for it."""
        for gate, thrown in self.errors.items():
            if thrown and text == thrown:
                code = "SERVER" if (gate, thrown) == ("provider", "boom") else "UNKNOWN"
                return ERROR_TEXTS.get(gate, thrown), code
        raise Disagreement(f"saw the error {text!r}, which nothing here has raised")

    def assistant_message(self, data: Mapping[str, Any], session: Session) -> Observation:
        """A reply or the interrupted prefix of one."""
        interrupted = bool(data.get("interrupted"))
        content = self.content
        if interrupted:
            content = [{"type": "text", "text": self.streamed_text}]
        calls = tuple(block["id"] for block in data["content"] if block["type"] == "tool-call")
        truncated = [block for block in content if block["type"] != "tool-call"]
        if data["content"] not in (content, truncated):
            raise Disagreement(f"saw {data['content']}, not {content}")
        wanted: dict[str, Any] = {"content": data["content"]}
        if interrupted:
            wanted["interrupted"] = True
        if data != wanted:
            raise Disagreement(f"saw assistant/message {data}")
        self.block_open = False
        name = "assistant/message"
        return told("record", name, session.turn, session.step, calls, interrupted)

    def outcome_of(self, data: Mapping[str, Any]) -> str:
        """The word of a tool result, by its exact form."""
        forms: dict[str, dict[str, Any]] = {
            "ok": {"isError": False, "text": "res"},
            "error": {"isError": True, "text": f"Error: {self.errors.get('tool')}"},
            "aborted": failed("tool call aborted", "ABORTED"),
            "skipped": failed("tool call aborted before dispatch", "ABORTED_BEFORE_DISPATCH"),
        }
        for outcome, form in forms.items():
            if data == {"callId": data["callId"], **form}:
                return outcome
        raise Disagreement(f"saw tool/result {data}, of no known form")


def failed(text: str, code: str) -> dict[str, Any]:
    """The form of a result that an abort made."""
    error = {"name": "AbortError", "code": code}
    return {"isError": True, "text": f"Error: {text}", "error": error}


def spliced(data: Mapping[str, Any]) -> Observation:
    """A splice; what it does not remove it does not mention."""
    inserted = tuple(message_of(name) for name in data["inserted"])
    removed = data.get("removedCount", 0)
    expect(removed != 0 or "removedCount" not in data, "removedCount 0 was written")
    if not data.keys() <= SPLICED:
        raise Disagreement(f"saw a splice with {sorted(data)}")
    outcome = data.get("outcome")
    name = "agent/inbox/spliced"
    return told("record", name, data["target"], data["start"], removed, inserted, outcome)


def of_gates(label: str, data: Mapping[str, Any], keys: Sequence[str]) -> None:
    """The payload of a gate has exactly these keys."""
    if set(data) != set(keys):
        raise Disagreement(f"saw gate {label} {data}")
