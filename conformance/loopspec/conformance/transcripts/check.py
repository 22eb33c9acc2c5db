"""One transcript beside the model: each entry is taken by the possible sessions, or they part.

Theory. Three kinds of things stand in a report. *Ordered*: records, events, gates, settlements and
results of nested calls, each of which the model predicts. *Related*: what only a relation can
check (`relations`). *Projections*: lists, status, open gates, and the return or error of the
command. The return of a command is not in the trace, so the model's own is taken when its turn
comes and compared with the report.

The environment is read, not modelled: hooks are pending calls, a gate that was not held is passed
by itself, and the scripted provider ends an answer by itself when its signal is aborted.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from loopspec.conformance.transcripts.reading import (
    TranscriptError,
    call_of,
    is_negative_zero,
    message_of,
    needs_commands_and_reports,
)
from loopspec.conformance.transcripts.relations import (
    Disagreement,
    Relations,
    expect,
    of_gates,
    told,
)
from loopspec.conformance.transcripts.results import (
    GATE_NAMES,
    NOT_JSON,
    compare,
    gate_payload,
    rest_shown,
    resumed,
)
from loopspec.model.policy import PROFILES, Policy
from loopspec.model.possible import (
    Ahead,
    Parting,
    Possible,
    after,
    after_observation,
    after_rest,
    look_ahead,
)
from loopspec.model.session import Session
from loopspec.model.words import (
    ERROR_TEXTS,
    FIRST,
    Answer,
    Call,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
)

__all__ = ["Accepted", "Transcript", "check_transcript"]

SETTLED_NAMES: Final = {"maint": "maintenance", "whenIdle": "when-idle"}
WORKING_GATES: Final = frozenset({"provider", "tool", "maintenance"})
"""Gates that every transcript holds: what works behind them is the environment."""

USUAL: Final = {
    "assemble": "assembled",
    "request": "go",
    "turn-stopping": "nothing",
    "maintenance": "done",
}
DECISIONS: Final = {"enter": "enter", "reject": "reject", "throw": "raise"}


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


@attrs.frozen
class Hook:
    """Calls that a listener makes at the next delivery of its name."""

    at: str
    do: Sequence[Mapping[str, Any]]


class Transcript:
    """One transcript beside the model."""

    def __init__(self, transcript: Mapping[str, Any], profile: str | Policy = "dsh-0.1") -> None:
        """Begin before the first command.

        Raises TranscriptError when the transcript has no shape of one.
        """
        needs_commands_and_reports(transcript)
        self.ops: Sequence[Mapping[str, Any]] = transcript["ops"]
        self.reports: Sequence[Mapping[str, Any]] = transcript["reports"]
        self.number = int(transcript.get("n", 0))
        new = self.ops[0]
        held = frozenset(GATE_NAMES.get(gate, gate) for gate in new["gates"]) | WORKING_GATES
        policy = PROFILES[profile] if isinstance(profile, str) else profile
        start = Session(policy=policy, listeners=(FIRST,), held=held)
        self.relations = Relations(resumed="resume" in new)
        if self.relations.resumed:
            try:
                start = resumed(start, new["resume"])
                self.relations.restore(new["resume"]["events"])
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                raise TranscriptError("expected the log of a resume, with its events") from error
        self.possible = Possible((start,))
        self.ahead_of: tuple[Possible, Ahead] | None = None
        self.auto_abort = bool(new.get("autoAbort"))
        self.hooks: list[Hook] = []
        self.nested = 0
        self.open_calls: list[tuple[Mapping[str, Any], Call]] = []
        self.disposal_told = False
        self.observations = 0
        self.sizes: list[int] = []
        self.rows: set[str] = set()
        self.returned: Observation | None = None

    # --- The model's side ---

    def ahead(self) -> Ahead:
        """What each possible session does next by itself; worked out once."""
        known = self.ahead_of
        if known is None or known[0] is not self.possible:
            known = self.ahead_of = (self.possible, look_ahead(self.possible))
        return known[1]

    def take(self, entry: Entry) -> None:
        """Let the possible sessions make an entry, or disagree."""
        if type(entry) is Observation:
            following = after_observation(self.possible, entry, self.ahead())
        elif type(entry) is Rest:
            following = after_rest(self.possible, entry, self.ahead())
        else:
            following = after(self.possible, entry)
        if isinstance(following, Parting):
            allowed = " or ".join(dict.fromkeys(following.allowed)) or "nothing"
            raise Disagreement(f"saw {following.did}, the model allows {allowed}")
        self.possible = following
        self.rows.update(following.rows)

    def upcoming(self) -> tuple[Session, Observation | None]:
        """The first possible session behind its hidden moves, and what it does next by itself."""
        session, moved, _ = self.ahead()[0]
        return session, moved.observation if moved is not None else None

    def pump(self) -> None:
        """Take the return of the command and let the provider end an aborted answer."""
        while True:
            session, upcoming = self.upcoming()
            if upcoming is not None and upcoming.kind == "return":
                if len(self.open_calls) != 1 or self.nested:
                    return
                self.returned = upcoming
                self.take(upcoming)
                self.open_calls.pop()
            elif upcoming is None and self.auto_abort and not self.open_calls:
                if "provider" not in session.gates or not session.aborted:
                    return
                self.take(Answer("provider", "cut"))
            else:
                return

    def see(self, seen: Observation) -> None:
        """One ordered observation."""
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
        other.relations = self.relations.copy()
        other.hooks = self.hooks.copy()
        other.open_calls = self.open_calls.copy()
        other.sizes = self.sizes.copy()
        other.rows = self.rows.copy()
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
        return Accepted(self.number, commands, self.observations, parted, tuple(self.sizes), rows)

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
        trace = report["tr"]
        call = call_of(op)
        self.returned = None
        if op["op"] == "new":
            source = "resume" if self.relations.resumed else "startup"
            wanted = [["n", "agent/created"], ["n", "agent/session-start", source]]
            expect(trace == wanted, f"saw {trace}, an agent is announced by {wanted}")
            trace = []
        elif op["op"] == "hook":
            self.hooks.append(Hook(op["at"], op["do"]))
            expect(not trace, f"saw {trace[:1]}, a hook does nothing by itself")
        elif call is None:
            self.answer(op)
        elif not (is_negative_zero(op.get("start")) and self.is_refused(call, report)):
            self.take(Made(call, inside=False))
            self.open_calls.append((op, call))
        for entry in trace:
            self.entry(entry)
            self.observations += 1
        self.pump()
        self.relations.nothing_is_due()
        expect(not self.open_calls, "the command has not returned")
        self.projections(op, report, call)

    def is_refused(self, call: Call, report: Mapping[str, Any]) -> bool:
        """A splice from negative zero is refused when it would write anything (SP-05)."""
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

    def answer(self, op: Mapping[str, Any]) -> None:
        """An answer at a gate; what the environment does with it is worked out here."""
        kind, errors = op["op"], self.relations.errors
        if kind == "pre":
            self.take(self.decision(op))
        elif kind == "model":
            self.take(self.relations.reply(op, self.possible.sessions[0].aborted))
        elif kind == "tool":
            contexts = tuple(message_of(name) for name in op.get("contexts", ()))
            choice = "raise" if "throw" in op else "concludes" if op.get("concludes") else "result"
            errors["tool"] = str(op.get("throw", ""))
            self.take(Answer("tool", choice, contexts, (op["callId"],)))
        elif kind == "gate":
            gate = GATE_NAMES.get(op["kind"], op["kind"])
            usual = USUAL.get(gate) or ("retry" if op.get("retry") else "give-up")
            failing = "failed" if gate == "assemble" else "raise"
            errors[gate] = str(op.get("throw", ""))
            self.take(Answer(gate, failing if "throw" in op else usual))
        elif kind != "noop":
            raise TranscriptError(f"expected a command of the recordings, got {kind!r}")

    def decision(self, op: Mapping[str, Any]) -> Answer:
        """A pre-step decision; numbers in a rewritten batch stand for claimed messages."""
        if op["do"] == "rewrite":
            batch = self.possible.sessions[0].batch
            given = op["messages"]
            picked = (batch[m] if isinstance(m, int) else message_of(m) for m in given)
            return Answer("pre-step", "enter", tuple(picked))
        self.relations.errors["pre-step"] = str(op.get("msg", ""))
        return Answer("pre-step", DECISIONS[op["do"]])

    # --- Entries of a report ---

    def entry(self, entry: Any) -> None:  # noqa: ANN401 - JSON
        """One entry of the ordered trace."""
        kind = entry[0]
        if kind == "d":
            self.record(entry)
            return
        if kind == "g":
            self.gate(entry)
            return
        self.relations.nothing_is_due()
        if kind == "n":
            self.event(entry)
        elif kind == "p":
            self.settled(entry)
        elif kind == "h":
            self.nested_return(entry)
        else:
            raise Disagreement(f"saw {entry}, which is no entry of a live session")

    def record(self, entry: Sequence[Any]) -> None:
        """One durable record."""
        _, seq, kind, data = entry
        relations = self.relations
        relations.number(seq)
        if kind == "assistant/chunk":
            relations.chunk(data)
            return
        relations.no_chunk_is_due(kind)
        if kind in ("request/header", "request/context"):
            self.pump()
            upcoming = self.upcoming()[1]
            at_request = upcoming is not None and upcoming.name == "provider"
            expect(at_request, f"saw {kind}, no request is being prepared")
            relations.prepared(kind, data)
            return
        relations.nothing_is_due()
        self.see(relations.record(kind, data, self.possible.sessions[0]))
        relations.remember(kind, data)
        self.delivered(f"d:{kind}")

    def event(self, entry: Sequence[Any]) -> None:
        """One live event."""
        name = entry[1]
        if name == "agent/disposed":
            self.pump()
            upcoming = self.upcoming()[1]
            fits = upcoming is not None and (upcoming.kind, upcoming.name) == ("settled", "dispose")
            fits = fits and not self.disposal_told
            expect(fits and len(entry) == 2, f"saw {name}, no disposal is done")
            self.disposal_told = True
            return
        _, _, data = entry
        if name == "agent/inbox/claimed":
            message, turn = data
            self.see(told("event", name, message_of(message), turn))
        elif name in ("agent/inbox/inserted", "agent/inbox/discarded"):
            self.see(told("event", name, message_of(data)))
        elif name == "agent/status":
            self.see(told("event", name, data))
        elif name == "agent/error":
            text = self.relations.error_words(data["error"])[0]
            expect(set(data) == {"turn", "step", "error"}, f"saw {name} {data}")
            self.see(told("event", name, data["turn"], data["step"], text))
        else:
            raise Disagreement(f"saw an event {name}, which the model does not make")
        self.delivered(f"n:{name}")

    def gate(self, entry: Sequence[Any]) -> None:
        """A gate has opened, and shows what belongs to it."""
        _, label, data = entry
        name = GATE_NAMES.get(label, label)
        relations = self.relations
        relations.no_chunk_is_due(f"gate {name}")
        session = self.possible.sessions[0]
        where = (session.turn, session.step)
        if name == "provider":
            expect(not relations.context_due, "request/header has no request/context behind it")
            relations.requested(data)
            self.see(told("gate", name, *where))
            return
        relations.nothing_is_due()
        if name == "assemble":
            self.pump()
            fresh = self.upcoming()[0]
            of_gates(label, data, ())
            self.see(told("gate", name, fresh.turn, fresh.step + 1))
        elif name == "pre-step":
            of_gates(label, data, ("turn", "step", "messages"))
            batch = tuple(message_of(m) for m in data["messages"])
            self.see(told("gate", name, data["turn"], data["step"], batch))
        elif name in ("request", "turn-stopping"):
            keys = ("turn", "step") if name == "request" else ("turn",)
            of_gates(label, data, keys)
            self.see(told("gate", name, *(data[key] for key in keys)))
        elif name == "request-error":
            failure = relations.errors.get("provider")
            wanted = {"turn": where[0], "step": where[1], "failure": failure}
            expect(data == wanted, f"saw gate {label} {data}, not {wanted}")
            relations.block_open = False
            self.see(told("gate", name, *where))
        elif name == "tool":
            relations.tool("gate tool", data)
            self.see(told("gate", name, *where, data["callId"]))
        elif name == "maintenance":
            expect(data == {"aborted": False}, f"saw gate {label} {data}")
            self.see(told("gate", name))
        else:
            raise Disagreement(f"saw a gate {label}")

    def settled(self, entry: Sequence[Any]) -> None:
        """Something that a command began has settled."""
        name = SETTLED_NAMES.get(entry[1], entry[1])
        error = None
        if entry[2] == "err":
            text = entry[3]
            expect(text == self.relations.errors.get("maintenance") != "", f"saw {entry}")
            error = ERROR_TEXTS["maintenance"]
            expect(len(entry) == 4, f"saw {entry}")
        else:
            expect(list(entry[2:]) == ["ok"], f"saw {entry}")
        fits = self.disposal_told == (name == "dispose")
        expect(fits, f"saw {name} settle, agent/disposed comes right before the disposal settles")
        self.see(Observation("settled", name, (("error", error),)))

    # --- Hooks ---

    def delivered(self, where: str) -> None:
        """A delivery is under way: the oldest hook for it makes its call."""
        for hook in self.hooks:
            if hook.at == where:
                self.hooks.remove(hook)
                expect(len(hook.do) == 1, "a hook of these recordings makes one call")
                call = call_of(hook.do[0])
                assert call is not None, "hooks make calls"
                self.take(Made(call, inside=True))
                self.open_calls.append((hook.do[0], call))
                self.nested += 1
                return

    def nested_return(self, entry: Sequence[Any]) -> None:
        """The result of a call inside a listener, an entry of its own."""
        expect(self.nested > 0, f"saw {entry}, no listener has called")
        op, call = self.open_calls[-1]
        expect(entry[1] == op["op"] and len(entry) == 3, f"saw {entry}, expected {op['op']}")
        upcoming = self.upcoming()[1]
        expect(upcoming is not None and upcoming.kind == "return", f"saw {entry} too early")
        assert upcoming is not None
        self.take(upcoming)
        self.open_calls.pop()
        self.nested -= 1
        outcome = entry[2]
        error = outcome.get("err") if isinstance(outcome, dict) else None
        compare(
            self.number,
            self.possible.sessions[0],
            op,
            call,
            upcoming,
            None if error else outcome,
            error,
        )

    # --- Projections ---

    def projections(
        self, op: Mapping[str, Any], report: Mapping[str, Any], call: Call | None
    ) -> None:
        """Lists, status, gates and the result of the command."""
        session = self.upcoming()[0]
        self.take(rest_shown(report))
        for name, data, _ in report["g"]:
            wanted = gate_payload(name, data, session, self.relations)
            if data != wanted:
                raise Disagreement(f"saw the gate {name} {data}, not {wanted}")
        result, error = report.get("r"), report.get("err")
        if call is not None and self.returned is not None:
            compare(self.number, self.possible.sessions[0], op, call, self.returned, result, error)
            return
        refused = call is not None and error is not None and NOT_JSON in error
        fits = result is None and (refused or error is None)
        expect(fits, f"saw {result!r} {error!r}, nothing is returned")


def check_transcript(transcript: Mapping[str, Any], profile: str | Policy = "dsh-0.1") -> Accepted:
    """Check one transcript against a policy, up to the first command after its disposal.

    Raises TranscriptError when the commands themselves cannot be read.
    """
    return Transcript(transcript, profile).run()
