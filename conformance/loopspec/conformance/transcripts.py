"""Transcripts of the genuine upstream loop, checked against the model.

A transcript is a list of commands with what was observed after each had settled. This module reads
it into the words of traces, keeps the model beside it, and says where the two part.

Three kinds of things stand in a report. *Ordered*: records, events, gates, settlements and results
of nested calls, each of which the model predicts. *Related*: chunks of a streamed answer, request
headers and contexts, record numbers, the request's messages and the shape of results, each checked
by a relation to what surrounds it. *Projections*: lists, status, open gates, the return value or
error of the command. The return of a command is not in the trace, so the model's own is taken when
its turn comes and compared with the report.

The environment is read, not modelled: hooks are a stack of pending calls, a gate that was not held
is passed by itself, and the scripted provider ends an answer by itself when its signal is aborted.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from loopspec.model.describe import observation_text
from loopspec.model.policy import PROFILES
from loopspec.model.possible import Parting, Possible, after, hidden, rest_of
from loopspec.model.session import Item, Session, Turn
from loopspec.model.words import (
    ERROR_TEXTS,
    FIRST,
    NEXT_STEP,
    NEXT_TURN,
    Answer,
    Call,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
    text_message,
)

__all__ = [
    "Accepted",
    "Disagreement",
    "Transcript",
    "TranscriptError",
    "check_transcript",
    "read_transcripts",
]

REENTER: Final = "session append cannot reenter while another append is being published"
NOT_JSON: Final = "carries non-JSON-serializable data"
GATE_NAMES: Final = {"model": "provider", "maint": "maintenance"}
CALL_CHUNKS: Final = ("block-start", "tool-call-delta", "block-end")
WORKING_GATES: Final = frozenset({"provider", "tool", "maintenance"})
"""Gates that every transcript holds: what works behind them is the environment."""


class TranscriptError(ValueError):
    """A transcript that cannot be read; the text says what was expected, what came and where."""


class Disagreement(Exception):
    """Subject and model part; the text says what was seen and what was allowed."""


@attrs.frozen
class Accepted:
    """What checking one transcript gave.

    `parted` is None when the model explains everything, else the index of the command, and what
    was seen and allowed there. `sizes` are the numbers of possible sessions after each command.
    """

    number: int
    commands: int
    observations: int
    parted: tuple[int, str] | None
    sizes: tuple[int, ...]
    rows: frozenset[str]


def read_transcripts(path: Path) -> Iterator[dict[str, Any]]:
    """The transcripts of a file, one JSON object a line, or of all such files of a folder.

    Raises TranscriptError with one sentence for anything else.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise TranscriptError(f"expected *.jsonl files in {path}, got none")
    for file in files:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TranscriptError(f"expected a transcript file, got {file}: {error}") from error
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                transcript = json.loads(line)
            except ValueError as error:
                msg = f"{file}, line {number}: expected one JSON object, got {line[:40]!r}"
                raise TranscriptError(msg) from error
            if not isinstance(transcript, dict) or not {"ops", "reports"} <= transcript.keys():
                msg = f"{file}, line {number}: expected an object with 'ops' and 'reports'"
                raise TranscriptError(msg)
            yield transcript


# --- Arguments of the commands ------------------------------------------------------------------


def whole(value: object, limit: int) -> int:
    """A JavaScript number as a splice takes it: truncated, not-a-number 0, infinities clamped."""
    number = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan, "-0": -0.0}.get(
        value if isinstance(value, str) else "", value
    )
    if not isinstance(number, int | float):
        raise TranscriptError(f"expected a number of a splice, got {value!r}")
    if math.isnan(number):
        return 0
    return int(max(-limit, min(limit, number)))


def is_negative_zero(value: object) -> bool:
    """Whether a start truncates to negative zero, which upstream cannot write down (LB-13)."""
    return value == "-0" or (isinstance(value, float) and -1 < value < 0)


def message_of(name: object) -> Message:
    """A message by its id, as the driver of the recordings made it."""
    if not isinstance(name, str):
        raise TranscriptError(f"expected a message id, got {name!r}")
    return text_message(name)


def cause_of(op: Mapping[str, Any]) -> str:
    """The word of a cancel's cause."""
    return str(op["cause"]["kind"])


def call_of(op: Mapping[str, Any]) -> Call | None:
    """The call that a command makes; None for answers and the driver's own commands."""
    kind = op["op"]
    if kind in ("followup", "steer", "inject"):
        return Call(kind, (message_of(op["m"]),))
    if kind == "send":
        message = message_of(op["m"])
        if op["wakeup"]:
            return Call("followup" if op["target"] == NEXT_TURN else "steer", (message,))
        if op["target"] == NEXT_STEP:
            return Call("inject", (message,))
        return Call("append", (NEXT_TURN, message))
    if kind in ("append", "prepend"):
        return Call(kind, (op["target"], message_of(op["m"])))
    if kind == "splice":
        inserted = tuple(message_of(name) for name in op["ins"] or ())
        start, count = whole(op["start"], 10_000), whole(op["del"], 10_000)
        return Call("splice", (op["target"], start, count, inserted))
    if kind == "replace":
        return Call("replace", (op["id"], message_of(op["m"])))
    if kind == "remove":
        return Call("remove", (op["id"],))
    if kind == "clear":
        return Call("clear")
    if kind == "cancel":
        return Call("cancel", (cause_of(op), "keep" if op.get("keep") else "drop"))
    return {
        "maint": Call("maintenance"),
        "whenIdle": Call("when-idle"),
        "dispose": Call("dispose"),
    }.get(kind)


# --- The check ----------------------------------------------------------------------------------


@attrs.define
class Hook:
    """Calls that a listener makes at the next delivery of its name."""

    at: str
    do: list[Mapping[str, Any]]


class Transcript:
    """One transcript beside the model."""

    def __init__(self, transcript: Mapping[str, Any], profile: str) -> None:
        """Begin before the first command."""
        self.ops: Sequence[Mapping[str, Any]] = transcript["ops"]
        self.reports: Sequence[Mapping[str, Any]] = transcript["reports"]
        self.number = int(transcript.get("n", 0))
        new = self.ops[0]
        held = frozenset(GATE_NAMES.get(gate, gate) for gate in new["gates"]) | WORKING_GATES
        start = Session(policy=PROFILES[profile], listeners=(FIRST,), held=held)
        self.resumed = "resume" in new
        self.history: list[str] = []
        self.disposed_told = False
        self.header_logged = False
        self.context_logged = False
        if self.resumed:
            seed = new["resume"].get("meta", {}).get("seedLength") or 0
            start = self.resume(start, new["resume"]["events"], seed)
        self.possible = Possible((start,))
        self.auto_abort = bool(new.get("autoAbort"))
        self.hooks: list[Hook] = []
        self.nested = 0
        self.open_calls: list[tuple[Mapping[str, Any], Call]] = []
        self.next_seq: int | None = None
        self.chunks: list[str] = []
        self.block_open = False
        self.related: list[str] = []
        self.header_seen = False
        self.context_due = False
        self.provider_due = False
        self.errors: dict[str, str] = {}
        self.tool_names: dict[str, str] = {}
        self.content: list[dict[str, Any]] = []
        self.observations = 0
        self.sizes: list[int] = []
        self.rows: set[str] = set()
        self.returned: Observation | None = None
        self.streamed_text = ""

    def resume(
        self, start: Session, events: Sequence[Mapping[str, Any]], seed_length: int
    ) -> Session:
        """The session that a resume begins with: lists restored and quiet, numbers kept (RS-01).

        Splices of an inherited seed are not folded (ID-08, ID-10); calls that a crash left open
        have got their results (RS-03).
        """
        lists: dict[str, list[Item]] = {NEXT_TURN: [], NEXT_STEP: []}
        turn = 0
        for event in events:
            data = event["data"]
            if event["type"] == "agent/inbox/spliced" and event["seq"] < seed_length:
                continue
            if event["type"] == "agent/inbox/spliced":
                items = [Item(text_message(m["id"])) for m in data["inserted"]]
                begin = data["start"]
                lists[data["target"]][begin : begin + data.get("removedCount", 0)] = items
            elif event["type"] == "turn/start":
                turn = max(turn, data["turn"])
            elif event["type"] == "request/header":
                self.header_logged = True
            elif event["type"] == "request/context":
                self.context_logged = True
            self.remember(event["type"], data)
        self.answer_open_calls(events)
        return start.but(
            next_turn=tuple(lists[NEXT_TURN]), next_step=tuple(lists[NEXT_STEP]), turn=Turn(turn)
        )

    def answer_open_calls(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Calls of the last reply that have no result got one when the log was repaired."""
        asked: list[str] = []
        for event in events:
            if event["type"] == "assistant/message":
                content = event["data"].get("message", event["data"])["content"]
                asked = [block["id"] for block in content if block["type"] == "tool-call"]
            elif event["type"] == "step/end":
                asked = []
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

    # --- The model's side ---

    def take(self, entry: Entry) -> None:
        """Let the possible sessions make an entry, or disagree."""
        following = after(self.possible, entry)
        if isinstance(following, Parting):
            allowed = " or ".join(dict.fromkeys(following.allowed)) or "nothing"
            raise Disagreement(f"saw {following.did}, the model allows {allowed}")
        self.possible = following
        self.rows.update(following.rows)

    def next_observation(self) -> Observation | None:
        """What the model does next by itself."""
        moved = hidden(self.possible.sessions[0])[1]
        return moved.observation if moved is not None else None

    def pump(self) -> None:
        """Take the returns of the command and let the provider end an aborted answer."""
        while True:
            upcoming = self.next_observation()
            at_return = upcoming is not None and upcoming.kind == "return"
            if upcoming is not None and at_return and len(self.open_calls) == 1 and not self.nested:
                self.returned = upcoming
                self.take(upcoming)
                self.open_calls.pop()
                continue
            if upcoming is None and self.auto_abort and not self.open_calls:
                session = hidden(self.possible.sessions[0])[0]
                if "provider" in session.gates and session.aborted:
                    self.take(Answer("provider", "cut"))
                    continue
            return

    def see(self, seen: Observation) -> None:
        """One ordered observation, then the calls that hooks make inside its delivery."""
        self.pump()
        self.take(seen)

    # --- The transcript's side ---

    @property
    def disposed(self) -> bool:
        """Whether the disposal has settled: what follows is out of the claim."""
        return self.possible.sessions[0].disposal == "done"

    def copy(self) -> Transcript:
        """The check as it stands, to go on with in another way."""
        other = copy.copy(self)
        for name, value in self.__dict__.items():
            if isinstance(value, list | dict | set) and name not in ("ops", "reports"):
                setattr(other, name, value.copy())
        return other

    def run(self) -> Accepted:
        """Check every command up to the first one after a disposal has settled."""
        for index, (op, report) in enumerate(zip(self.ops, self.reports, strict=True)):
            if self.disposed:
                break
            try:
                self.command(op, report)
            except Disagreement as error:
                return self.result(index + 1, (index, str(error)))
            self.sizes.append(len(self.possible.sessions))
        return self.result(len(self.sizes), None)

    def result(self, commands: int, parted: tuple[int, str] | None) -> Accepted:
        """What has been found out."""
        rows = frozenset(self.rows)
        sizes = tuple(self.sizes)
        return Accepted(self.number, commands, self.observations, parted, sizes, rows)

    def command(self, op: Mapping[str, Any], report: Mapping[str, Any]) -> None:
        """One command with its report.

        Raises Disagreement where the two part, also for a report of another shape.
        """
        try:
            self.judge(op, report)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            if isinstance(error, TranscriptError):
                raise Disagreement(str(error)) from error
            msg = f"a report of another shape: {type(error).__name__}: {error}"
            raise Disagreement(msg) from error

    def judge(self, op: Mapping[str, Any], report: Mapping[str, Any]) -> None:
        """One command with its report, which may have any shape."""
        trace = list(report["tr"])
        if op["op"] == "new":
            self.opened(trace, report)
            return
        if op["op"] == "hook":
            self.hooks.append(Hook(op["at"], list(op["do"])))
            expect(not trace, f"saw {trace[:1]}, a hook does nothing by itself")
            self.projections(op, report, None)
            return
        call = call_of(op)
        self.returned = None
        refused = False
        if call is None:
            self.answer(op, report)
        elif call.name == "splice" and is_negative_zero(op["start"]):
            refused = self.negative_zero(call, report)
        if call is not None and not refused:
            self.take(Made(call, inside=False))
            self.open_calls.append((op, call))
        for entry in trace:
            self.entry(entry)
        self.pump()
        self.nothing_due()
        expect(not self.open_calls, "the command has not returned")
        self.projections(op, report, call)

    def opened(self, trace: list[Any], report: Mapping[str, Any]) -> None:
        """The announcement of a new or resumed agent."""
        source = "resume" if self.resumed else "startup"
        wanted = [["n", "agent/created"], ["n", "agent/session-start", source]]
        expect(trace == wanted, f"saw {trace}, an agent is announced by {wanted}")
        self.projections({"op": "new"}, report, None)

    def negative_zero(self, call: Call, report: Mapping[str, Any]) -> bool:
        """A start of negative zero is refused when the splice would write anything (SP-05)."""
        session = self.possible.sessions[0]
        inserted = call.args[3]
        assert isinstance(inserted, tuple)
        pending = {item.message.id for item in session.pending}
        repeats = any(isinstance(m, Message) and m.id in pending for m in inserted)
        changes = bool(inserted) or bool(session.items(str(call.args[0])) and call.args[2])
        if not changes or repeats:
            return False
        error = report.get("err", "")
        expect(NOT_JSON in error, f"saw {error!r}, negative zero cannot be written down")
        return True

    # --- Answers ---

    def answer(self, op: Mapping[str, Any], report: Mapping[str, Any]) -> None:
        """An answer at a gate; what the environment does with it is worked out here."""
        kind = op["op"]
        if kind == "pre":
            self.take(self.decision(op))
        elif kind == "model":
            self.take(self.reply(op))
        elif kind == "tool":
            contexts = tuple(message_of(name) for name in op.get("contexts", ()))
            choice = "raise" if "throw" in op else "concludes" if op.get("concludes") else "result"
            self.errors["tool"] = str(op.get("throw", ""))
            self.take(Answer("tool", choice, contexts, (op["callId"],)))
        elif kind == "gate":
            self.take(self.passed(op))
        elif kind != "noop":
            raise TranscriptError(f"expected a command of the recordings, got {kind!r}")

    def decision(self, op: Mapping[str, Any]) -> Answer:
        """A pre-step decision; numbers in a rewritten batch stand for claimed messages."""
        if op["do"] == "rewrite":
            batch = self.possible.sessions[0].batch
            given = op["messages"]
            picked = (batch[m] if isinstance(m, int) else message_of(m) for m in given)
            return Answer("pre-step", "enter", tuple(picked))
        self.errors["pre-step"] = str(op.get("msg", ""))
        choice = {"enter": "enter", "reject": "reject", "throw": "raise"}[op["do"]]
        return Answer("pre-step", choice)

    def passed(self, op: Mapping[str, Any]) -> Answer:
        """The answer of a gate that was held."""
        gate = GATE_NAMES.get(op["kind"], op["kind"])
        failing = {"assemble": "failed"}.get(gate, "raise")
        usual = {
            "assemble": "assembled",
            "request": "go",
            "turn-stopping": "nothing",
            "request-error": "retry" if op.get("retry") else "give-up",
            "maintenance": "done",
        }[gate]
        self.errors[gate] = str(op.get("throw", ""))
        return Answer(gate, failing if "throw" in op else usual)

    def reply(self, op: Mapping[str, Any]) -> Answer:
        """The scripted provider's answer, with the chunks that it streams while it is live."""
        do, calls = op["do"], op.get("calls", [])
        live = not self.possible.sessions[0].aborted
        opening = [] if self.block_open else ["block-start"]
        text = [*opening, "text-delta"]
        closing = ["block-end"] if self.block_open else []
        chunks: dict[str, list[str]] = {
            "partial": text,
            "text": [*text, "block-end", "finish"],
            "max": [*text, "block-end", "finish"],
            "tool": [
                *closing,
                *["block-start", "tool-call-delta", "block-end"] * len(calls),
                "finish",
            ],
            "error": ["finish"],
            "throw": ["finish"],
        }
        self.chunks = list(chunks[do]) if live else []
        streamed = self.streamed_text if self.block_open else ""
        self.streamed_text = streamed + "par" * (do == "partial" and live)
        self.block_open = live and do == "partial"
        text_block = {"type": "text", "text": streamed + {"text": "ok", "max": "cut"}.get(do, "")}
        self.content = [text_block] if text_block["text"] else []
        for call in calls:
            self.tool_names[call["id"]] = call["name"]
            block = {"type": "tool-call", "id": call["id"], "name": call["name"], "arguments": "{}"}
            self.content.append(block)
        self.errors["provider"] = {"error": "boom", "throw": "adapter threw"}.get(do, "")
        choice = {
            "partial": "partial",
            "text": "done",
            "max": "max-tokens",
            "tool": "tools",
            "error": "error",
            "throw": "error",
        }[do]
        return Answer("provider", choice, None, tuple(call["id"] for call in calls))

    # --- Entries of a report ---

    def entry(self, entry: Any) -> None:  # noqa: ANN401 - JSON
        """One entry of the ordered trace."""
        kind = entry[0]
        if kind == "d":
            self.record(entry[1], entry[2], entry[3])
        elif kind == "n":
            self.event(entry)
        elif kind == "g":
            self.gate(entry)
        elif kind == "p":
            self.settled(entry)
        elif kind == "h":
            self.nested_return(entry)
        else:
            raise Disagreement(f"saw {entry}, which is no entry of a live session")
        self.observations += 1

    def nothing_due(self) -> None:
        """Nothing that a relation demands may still be missing."""
        expect(not self.chunks, f"the chunks {self.chunks} are missing")
        expect(not self.context_due, "request/header has no request/context behind it")
        expect(not self.provider_due, "the request that was prepared was not made")

    def record(self, seq: object, kind: str, data: Any) -> None:  # noqa: ANN401 - JSON
        """One durable record."""
        if self.next_seq is not None:
            expect(seq == self.next_seq, f"saw record number {seq}, after {self.next_seq - 1}")
        expect(type(seq) is int, f"saw record number {seq!r}")
        assert isinstance(seq, int)
        if self.next_seq is None and not self.resumed:
            expect(seq == 0, f"saw record number {seq} first")
        self.next_seq = seq + 1
        if kind == "assistant/chunk":
            expect(self.chunks[:1] == [data], f"saw chunk {data!r}, expected {self.chunks[:1]}")
            del self.chunks[0]
            return
        expect(not self.chunks, f"saw {kind}, expected chunk {self.chunks[:1]}")
        if kind in ("request/header", "request/context"):
            self.request_record(kind, data)
            return
        self.nothing_due()
        self.see(self.record_words(kind, data))
        self.remember(kind, data)
        self.delivered(f"d:{kind}")

    def request_record(self, kind: str, data: Any) -> None:  # noqa: ANN401 - JSON
        """Header and context stand together, once, right before the first request."""
        self.pump()
        session = hidden(self.possible.sessions[0])[0]
        upcoming = self.next_observation()
        at_request = upcoming is not None and upcoming.name == "provider"
        expect(at_request, f"saw {kind}, no request is being prepared")
        del session
        if kind == "request/header":
            reason = "resume" if self.header_logged else "initial"
            fits = data == reason and not self.header_seen and not self.context_due
            expect(fits, f"saw request/header {data}")
            self.header_seen = True
            self.context_due = not self.context_logged
            self.provider_due = True
        else:
            expect(self.context_due and data == {}, f"saw request/context {data}")
            self.context_due = False

    def record_words(self, kind: str, data: Any) -> Observation:  # noqa: ANN401 - JSON
        """A record in the words of traces; another shape is no record of ours."""
        session = self.possible.sessions[0]
        turn, step = session.turn, session.step
        if kind == "agent/inbox/spliced":
            inserted = tuple(message_of(name) for name in data["inserted"])
            removed = data.get("removedCount", 0)
            expect(removed != 0 or "removedCount" not in data, "removedCount 0 was written")
            keys = {"target", "start", "removedCount", "inserted", "outcome"}
            expect(set(data) <= keys, f"saw a splice with {sorted(data)}")
            values = (data["target"], data["start"], removed, inserted, data.get("outcome"))
            return record(kind, ("target", "start", "removed", "inserted", "outcome"), values)
        if kind == "turn/start":
            expect(set(data) == {"turn"}, f"saw {kind} {data}")
            return record(kind, ("turn",), (data["turn"],))
        if kind == "turn/end":
            return self.turn_end(data)
        if kind in ("step/start", "step/end"):
            expect(set(data) == {"turn", "step"}, f"saw {kind} {data}")
            return record(kind, ("turn", "step"), (data["turn"], data["step"]))
        if kind == "user/message":
            return record(kind, ("message",), (message_of(data),))
        if kind == "assistant/message":
            return self.assistant_message(data, turn, step)
        if kind == "tool/call":
            expect(
                data == {"callId": data["callId"], "name": self.tool_names.get(data["callId"])},
                f"saw {kind} {data}",
            )
            return record(kind, ("turn", "step", "call"), (turn, step, data["callId"]))
        if kind == "tool/result":
            values4 = (turn, step, data["callId"], self.outcome_of(data))
            return record(kind, ("turn", "step", "call", "outcome"), values4)
        raise Disagreement(f"saw a record {kind}, which the model does not make")

    def turn_end(self, data: Mapping[str, Any]) -> Observation:
        """A turn's end with its reason, cause and error."""
        expect(set(data) == {"turn", "reason"}, f"saw turn/end {data}")
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
        expect(reason == wanted, f"saw turn/end {reason}, of the form {wanted}")
        values = (data["turn"], reason["kind"], cause, error)
        return record("turn/end", ("turn", "reason", "cause", "error"), values)

    def error_words(self, text: object) -> tuple[str, str]:
        """The model's text for a failure of the environment, and upstream's code for it."""
        for gate, thrown in self.errors.items():
            if thrown and text == thrown:
                code = "SERVER" if (gate, thrown) == ("provider", "boom") else "UNKNOWN"
                return ERROR_TEXTS.get(gate, thrown), code
        raise Disagreement(f"saw the error {text!r}, which nothing here has raised")

    def assistant_message(self, data: Mapping[str, Any], turn: int, step: int) -> Observation:
        """A reply or the interrupted prefix of one."""
        interrupted = bool(data.get("interrupted"))
        content = self.content
        if interrupted:
            content = [{"type": "text", "text": self.streamed_text}]
        upcoming_calls = [block["id"] for block in data["content"] if block["type"] == "tool-call"]
        truncated = [block for block in content if block["type"] != "tool-call"]
        expect(data["content"] in (content, truncated), f"saw {data['content']}, not {content}")
        wanted: dict[str, Any] = {"content": data["content"]}
        if interrupted:
            wanted["interrupted"] = True
        expect(data == wanted, f"saw assistant/message {data}")
        self.block_open = False
        values = (turn, step, tuple(upcoming_calls), interrupted)
        return record("assistant/message", ("turn", "step", "calls", "interrupted"), values)

    def outcome_of(self, data: Mapping[str, Any]) -> str:
        """The word of a tool result, by its exact form."""
        call = data["callId"]
        aborted = {"name": "AbortError", "code": "ABORTED"}
        skipped = {"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"}
        forms: dict[str, dict[str, Any]] = {
            "ok": {"isError": False, "text": "res"},
            "error": {"isError": True, "text": f"Error: {self.errors.get('tool')}"},
            "aborted": {"isError": True, "text": "Error: tool call aborted", "error": aborted},
            "skipped": {
                "isError": True,
                "text": "Error: tool call aborted before dispatch",
                "error": skipped,
            },
        }
        for outcome, form in forms.items():
            if data == {"callId": call, **form}:
                return outcome
        raise Disagreement(f"saw tool/result {data}, of no known form")

    def event(self, entry: Sequence[Any]) -> None:
        """One live event."""
        self.nothing_due()
        kind, name = entry[0], entry[1]
        if name == "agent/disposed":
            self.pump()
            upcoming = self.next_observation()
            fits = upcoming is not None and (upcoming.kind, upcoming.name) == ("settled", "dispose")
            fits = fits and not self.disposed_told
            expect(fits and len(entry) == 2, f"saw {name}, no disposal is done")
            self.disposed_told = True
            return
        if name == "agent/inbox/claimed":
            message, turn = entry[2]
            self.see(event(name, ("message", "turn"), (message_of(message), turn)))
        elif name in ("agent/inbox/inserted", "agent/inbox/discarded"):
            self.see(event(name, ("message",), (message_of(entry[2]),)))
        elif name == "agent/status":
            self.see(event(name, ("status",), (entry[2],)))
        elif name == "agent/error":
            data = entry[2]
            text = self.error_words(data["error"])[0]
            expect(set(data) == {"turn", "step", "error"}, f"saw {name} {data}")
            self.see(event(name, ("turn", "step", "error"), (data["turn"], data["step"], text)))
        else:
            raise Disagreement(f"saw an event {name}, which the model does not make")
        expect(len(entry) == 3, f"saw {entry}")
        self.delivered(f"{kind}:{name}")

    def gate(self, entry: Sequence[Any]) -> None:
        """A gate has opened."""
        name, data = GATE_NAMES.get(entry[1], entry[1]), entry[2]
        session = self.possible.sessions[0]
        turn, step = session.turn, session.step
        expect(not self.chunks, f"saw gate {name}, expected chunk {self.chunks[:1]}")
        expect(not self.context_due, "request/header has no request/context behind it")
        if name == "provider":
            expect(data == {"req": self.history}, f"saw a request of {data}, not {self.history}")
            expect(self.header_seen, "the first request has no request/header")
            self.provider_due = False
            self.see(gate(name, ("turn", "step"), (turn, step)))
            return
        self.nothing_due()
        if name == "assemble":
            self.pump()
            fresh = hidden(self.possible.sessions[0])[0]
            expect(data == {}, f"saw gate assemble {data}")
            self.see(gate(name, ("turn", "step"), (fresh.turn, fresh.step + 1)))
        elif name == "pre-step":
            batch = tuple(message_of(m) for m in data["messages"])
            expect(set(data) == {"turn", "step", "messages"}, f"saw gate pre-step {data}")
            values = (data["turn"], data["step"], batch)
            self.see(gate(name, ("turn", "step", "messages"), values))
        elif name == "request":
            expect(set(data) == {"turn", "step"}, f"saw gate request {data}")
            self.see(gate(name, ("turn", "step"), (data["turn"], data["step"])))
        elif name == "request-error":
            failure = self.errors.get("provider")
            wanted = {"turn": turn, "step": step, "failure": failure}
            expect(data == wanted, f"saw gate request-error {data}, not {wanted}")
            self.block_open = False
            self.see(gate(name, ("turn", "step"), (turn, step)))
        elif name == "tool":
            wanted = {"callId": data["callId"], "name": self.tool_names.get(data["callId"])}
            expect(data == wanted, f"saw gate tool {data}")
            self.see(gate(name, ("turn", "step", "call"), (turn, step, data["callId"])))
        elif name == "turn-stopping":
            expect(set(data) == {"turn"}, f"saw gate turn-stopping {data}")
            self.see(gate(name, ("turn",), (data["turn"],)))
        elif name == "maintenance":
            expect(data == {"aborted": False}, f"saw gate maint {data}")
            self.see(Observation("gate", "maintenance"))
        else:
            raise Disagreement(f"saw a gate {name}")

    def settled(self, entry: Sequence[Any]) -> None:
        """Something that a command began has settled."""
        self.nothing_due()
        name = {"maint": "maintenance", "whenIdle": "when-idle"}.get(entry[1], entry[1])
        error = None
        if entry[2] == "err":
            text = entry[3]
            expect(text == self.errors.get("maintenance") != "", f"saw {entry}")
            error = ERROR_TEXTS["maintenance"]
            expect(len(entry) == 4, f"saw {entry}")
        else:
            expect(list(entry[2:]) == ["ok"], f"saw {entry}")
        told = self.disposed_told == (name == "dispose")
        expect(told, f"saw {name} settle, agent/disposed comes right before the disposal settles")
        self.see(Observation("settled", name, (("error", error),)))

    # --- Hooks ---

    def delivered(self, where: str) -> None:
        """A delivery is under way: the oldest hook for it makes its first call."""
        for hook in self.hooks:
            if hook.at == where:
                self.hooks.remove(hook)
                expect(len(hook.do) == 1, "a hook of these recordings makes one call")
                self.nested_call(hook.do[0])
                return

    def nested_call(self, op: Mapping[str, Any]) -> None:
        """Make the call of a hook; its result comes as an entry of its own."""
        call = call_of(op)
        assert call is not None, "hooks make calls"
        self.take(Made(call, inside=True))
        self.open_calls.append((op, call))
        self.nested += 1

    def nested_return(self, entry: Sequence[Any]) -> None:
        """The result of a call inside a listener."""
        expect(self.nested > 0, f"saw {entry}, no listener has called")
        op, call = self.open_calls[-1]
        expect(entry[1] == op["op"] and len(entry) == 3, f"saw {entry}, expected {op['op']}")
        upcoming = self.next_observation()
        expect(upcoming is not None and upcoming.kind == "return", f"saw {entry} too early")
        assert upcoming is not None
        self.take(upcoming)
        self.open_calls.pop()
        self.nested -= 1
        outcome = entry[2]
        error = outcome.get("err") if isinstance(outcome, dict) else None
        self.compare(op, call, upcoming, None if error else outcome, error)

    # --- Projections ---

    def projections(
        self, op: Mapping[str, Any], report: Mapping[str, Any], call: Call | None
    ) -> None:
        """Lists, status, gates and the result of the command."""
        allowed = {"tr", "nt", "ns", "st", "g", "r", "err"}
        expect(set(report) <= allowed, f"saw a report with {sorted(report)}")
        session = hidden(self.possible.sessions[0])[0]
        shown = rest_of(session)
        gates = tuple(
            (GATE_NAMES.get(g[0], g[0]) + (f" {g[1]['callId']}" if g[0] == "tool" else ""), g[2])
            for g in report["g"]
        )
        next_turn = tuple(message_of(name) for name in report["nt"])
        next_step = tuple(message_of(name) for name in report["ns"])
        self.take(Rest(next_turn, next_step, report["st"], gates))
        for g in report["g"]:
            expect(len(g) == 3, f"saw the gate {g}")
            self.gate_payload(g[0], g[1], session)
        del shown
        result, error = report.get("r"), report.get("err")
        if call is None or self.returned is None:
            refused = call is not None and error is not None and NOT_JSON in error
            expect(refused or (result is None and error is None), f"saw {result!r} {error!r}")
            return
        self.compare(op, call, self.returned, result, error)

    def gate_payload(self, name: str, data: Mapping[str, Any], session: Session) -> None:
        """What an open gate shows."""
        turn, step = int(session.turn), session.step
        wanted: Mapping[str, Any]
        if name == "pre-step":
            batch = [message.id for message in session.batch]
            wanted = {"turn": turn, "step": step + 1, "messages": batch}
        elif name == "model":
            wanted = {"req": self.history}
        elif name == "request":
            wanted = {"turn": turn, "step": step}
        elif name == "request-error":
            wanted = {"turn": turn, "step": step, "failure": self.errors.get("provider")}
        elif name == "tool":
            wanted = {"callId": data["callId"], "name": self.tool_names.get(data["callId"])}
        elif name == "turn-stopping":
            wanted = {"turn": turn}
        elif name == "maint":
            wanted = {"aborted": False}
        else:
            wanted = {}
        expect(data == wanted, f"saw the gate {name} {data}, not {wanted}")

    def compare(
        self,
        op: Mapping[str, Any],
        call: Call,
        returned: Observation,
        result: object,
        error: str | None,
    ) -> None:
        """The result or error of a call beside the model's."""
        raised = returned.get("raised")
        if raised is None:
            value = returned.get("value")
            wanted: object = list(value) if isinstance(value, tuple) else value
            fits = error is None and result == wanted and type(result) is type(wanted)
            expect(fits, f"saw {result!r} {error!r}, the model returns {wanted!r}")
            return
        text = REENTER
        if raised == "busy":
            text = f'agent "a{self.number + 1}" already has active work'
        elif raised == "duplicate-id":
            text = f'message "{self.repeated(call)}" is already pending'
        fits = result is None and error == text
        expect(fits, f"saw {result!r} {error!r}, the model raises {raised} of {op['op']}")

    def repeated(self, call: Call) -> str:
        """The id that a refused insertion repeats."""
        session = self.possible.sessions[0]
        if call.name == "replace":
            message = call.args[1]
            assert isinstance(message, Message)
            return message.id
        if call.name != "splice":
            message = call.args[-1]
            assert isinstance(message, Message)
            return message.id
        target, start, count, inserted = call.args
        items = list(session.items(str(target)))
        assert isinstance(start, int)
        assert isinstance(count, int)
        assert isinstance(inserted, tuple)
        begin = max(0, len(items) + start) if start < 0 else min(start, len(items))
        del items[begin : begin + max(0, min(count, len(items) - begin))]
        other = session.next_step if target == NEXT_TURN else session.next_turn
        taken = {item.message.id for item in (*items, *other)}
        for message in inserted:
            assert isinstance(message, Message)
            if message.id in taken:
                return message.id
            taken.add(message.id)
        return ""


def expect(holds: object, text: str) -> None:
    """Disagree with `text` unless something holds."""
    if not holds:
        raise Disagreement(text)


def record(name: str, keys: Iterable[str], values: Iterable[Any]) -> Observation:
    """A record as its one listener is told."""
    return Observation("record", name, tuple(zip(keys, values, strict=True)), FIRST)


def event(name: str, keys: Iterable[str], values: Iterable[Any]) -> Observation:
    """An event as its one listener is told."""
    return Observation("event", name, tuple(zip(keys, values, strict=True)), FIRST)


def gate(name: str, keys: Iterable[str], values: Iterable[Any]) -> Observation:
    """The arrival at a gate."""
    return Observation("gate", name, tuple(zip(keys, values, strict=True)))


def check_transcript(transcript: Mapping[str, Any], profile: str = "dsh-0.1") -> Accepted:
    """Check one transcript against a profile, up to the first command after its disposal.

    Raises TranscriptError when the commands themselves cannot be read.
    """
    return Transcript(transcript, profile).run()


def describe(seen: Observation | None) -> str:
    """An observation for a message."""
    return observation_text(seen) if seen is not None else "nothing"
