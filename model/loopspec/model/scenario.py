"""Scenarios: runs as text that can be typed by hand and pasted into `loopspec replay`.

Rules of this file. A scenario is a header and one line for each call and answer with its window;
never moves. Windows: at rest (no prefix); `in OBS#n LISTENER:`, inside the n-th delivery of that
observation to that listener; `after OBS#n +k:`, k ticks after it. `after GATE answer#n +0:` is the
moment between an answer and the driver's next tick. `#n` counts from the start of the run. What
is printed parses back to an equal scenario.

An answer to a later gate first lets pass the gates that stand open before it: prompts are
assembled, requests go, recovery gives up, nobody objects to the end of a turn. So a scenario need
not mention the gates that it is not about.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from loopspec.model.describe import Known, answer_text, call_text
from loopspec.model.policy import PROFILES
from loopspec.model.session import HELD
from loopspec.model.table import CHOICES
from loopspec.model.words import (
    CALLS,
    GATES,
    KEYS,
    Answer,
    Block,
    Call,
    Message,
    Value,
    text_message,
)

TICKS_MAX: Final = 2
LINES_MAX: Final = 10_000
LINE_LENGTH_MAX: Final = 100_000

GRAMMAR: Final = r"""
scenario = { header | line } ;
header   = "profile" NAME | "scope" NAME | "gates" GATE { GATE } ;
line     = [ window ":" ] call | answer ;
window   = "in" OBS "#" N [ "first" | "last" ]
         | "after" ( OBS | GATE " answer" ) "#" N "+" TICKS ;
call     = "followup" message | "steer" message | "inject" message
         | "append" target message | "prepend" target message
         | "splice" target INT INT { message }
         | "replace" ID message | "remove" ID | "clear"
         | "cancel" cause ( "keep" | "drop" )
         | "flush" | "crash" | "resume" | "fork"
         | "maintenance" | "when-idle" | "dispose"
         | "refuse" RECORD | "throw" EVENT ;
answer   = "assemble" ":" ( "assembled" | "failed" )
         | "pre-step" ":" ( "enter" [ "nothing" | message { message } ] | "reject" | "raise" )
         | "request" ":" ( "go" | "raise" )
         | "provider" ":" ( "done" | "owes" | "max-tokens" | "partial" | "error" | "cut"
                          | "tools" ID { ID } | "parallel" ID { ID } )
         | "request-error" ":" ( "give-up" | "retry" | "raise" )
         | "tool" [ ID ] ":" ( "result" | "concludes" | "raise" ) { message }
         | "turn-stopping" ":" ( "nothing" | "raise" )
         | "maintenance" ":" ( "done" | "raise" ) ;
message  = ID [ "@" NAME ] ( { block } | "empty" ) ;
block    = STRING | NAME ":" STRING ;
target   = "next-turn" | "next-step" ;
cause    = "user" | "parent" | "hook" | "disposed" ;
OBS      = a record, event or gate by its name, for example turn/start ;
RECORD   = a record by its name: the log refuses its next append, from this line on ;
EVENT    = "agent/inbox/inserted" | "agent/inbox/claimed" | "agent/status" ;
           an interceptor throws at its next dispatch, at that of the running status alone ;
ID, NAME = letters, digits and . _ / - ; an id is none of: empty nothing ;
STRING   = a JSON string ; N = 1, 2, ... ; TICKS = 0 (after an answer only), 1 or 2 ;
# starts a comment; blank lines are ignored
"""
"""The grammar of the text form, as docs/scenario-grammar.md prints it."""


class ScenarioError(ValueError):
    """A scenario that cannot be read; the text says what was expected, what came and where."""


@attrs.frozen
class Window:
    """When a line happens: at rest, inside a delivery, or some ticks after it."""

    kind: str = "rest"
    name: str = ""
    number: int = 0
    listener: str = ""
    ticks: int = 0

    def __str__(self) -> str:
        """The prefix of a scenario line, without its colon."""
        if self.kind == "in":
            who = f" {self.listener}" if self.listener else ""
            return f"in {self.name}#{self.number}{who}"
        if self.kind == "after":
            return f"after {self.name}#{self.number} +{self.ticks}"
        return ""


AT_REST: Final = Window()


@attrs.frozen
class Line:
    """One call or answer with its window."""

    action: Call | Answer
    window: Window = AT_REST

    def __str__(self) -> str:
        """The scenario text of the line, where it stands alone."""
        return self.text({})

    def text(self, known: Known) -> str:
        """The scenario text of the line behind lines that have introduced the `known` messages."""
        action = self.action
        write = call_text(action, known) if isinstance(action, Call) else answer_text(action, known)
        return f"{self.window}: {write}" if self.window.kind != "rest" else write


@attrs.frozen
class Scenario:
    """A header and lines; `len` counts calls and answers."""

    lines: tuple[Line, ...] = ()
    profile: str = "notes"
    scope: str = ""
    gates: tuple[str, ...] = ()
    """Gates that are held besides those that every scenario holds."""

    @property
    def held(self) -> frozenset[str]:
        """All gates that the scenario holds."""
        return HELD | frozenset(self.gates)

    def __len__(self) -> int:
        """Calls plus answers."""
        return len(self.lines)

    def __str__(self) -> str:
        """The text form, ending in a newline."""
        return "\n".join(self.header() + self.texts()) + "\n"

    def header(self) -> list[str]:
        """The header lines."""
        lines = [f"profile {self.profile}"]
        if self.scope:
            lines.append(f"scope {self.scope}")
        if self.gates:
            lines.append(f"gates {' '.join(self.gates)}")
        return lines

    def texts(self) -> list[str]:
        """The text of each line."""
        known: Known = {}
        return [line.text(known) for line in self.lines]


# --- Reading ------------------------------------------------------------------------------------

NAME = re.compile(r"[A-Za-z0-9._/-]+")
TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<block>[A-Za-z0-9._/-]+):(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<source>@[A-Za-z0-9._/-]+)|(?P<word>[^\s"@]+))"""
)
WINDOW = re.compile(
    r"(?P<kind>in|after)\s+(?P<name>[a-z/-]+(?: answer)?)#(?P<number>[0-9]{1,6})"
    r"(?:\s+(?:(?P<listener>first|last)|\+(?P<ticks>[0-9]+)))?\s*:\s*(?P<rest>.*)",
    re.DOTALL,
)
RESERVED = frozenset({"empty", "nothing"})


class _Words:
    """The tokens of one line, taken from the left; raises `ScenarioError` with the line number."""

    def __init__(self, text: str, where: str, known: dict[str, Message]) -> None:
        self.where = where
        self.known = known
        self.tokens: list[tuple[str, str, str]] = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None or match.end() == position:
                raise self.error("a word or a JSON string", text[position:].strip())
            kind = match.lastgroup or ""
            if kind == "text":
                self.tokens.append(("block", match["block"], self._string(match["text"])))
            elif kind == "string":
                self.tokens.append(("block", "text", self._string(match["string"])))
            else:
                self.tokens.append((kind, match[kind], ""))
            position = match.end()

    def _string(self, quoted: str) -> str:
        try:
            value = json.loads(quoted)
        except ValueError:
            raise self.error("a JSON string", quoted) from None
        assert isinstance(value, str)
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise self.error("text without lone surrogates", quoted)
        return value

    def error(self, expected: str, came: str | None) -> ScenarioError:
        if came is None:
            return ScenarioError(f"{self.where}: expected {expected}, got the end of the line")
        shown = came if len(came) <= 60 else came[:57] + "..."
        return ScenarioError(f"{self.where}: expected {expected}, got {shown!r}")

    def peek(self) -> str:
        return self.tokens[0][0] if self.tokens else ""

    def word(self, expected: str, choices: Iterable[str] | None = None) -> str:
        if not self.tokens:
            raise self.error(expected, None)
        kind, text, _ = self.tokens[0]
        if kind != "word" or (choices is not None and text not in tuple(choices)):
            raise self.error(expected, text)
        self.tokens.pop(0)
        return text

    def identifier(self, what: str = "a message id") -> str:
        text = self.word(what)
        if not NAME.fullmatch(text) or text in RESERVED:
            raise self.error(f"{what} of letters, digits and . _ / -", text)
        return text

    def integer(self, expected: str) -> int:
        text = self.word(expected)
        if not re.fullmatch(r"-?[0-9]{1,15}", text):
            raise self.error(expected, text)
        return int(text)

    def message(self) -> Message:
        message_id = self.identifier()
        source = self.tokens.pop(0)[1][1:] if self.peek() == "source" else None
        blocks: list[Block] = []
        while self.peek() == "block":
            _, kind, text = self.tokens.pop(0)
            blocks.append(Block(kind, text))
        empty = bool(self.tokens) and self.tokens[0][:2] == ("word", "empty")
        if empty and not blocks:
            self.tokens.pop(0)
        bare = source is None and not blocks and not empty
        if bare and message_id in self.known:
            return self.known[message_id]
        default = text_message(message_id)
        content = tuple(blocks) if blocks or empty else default.blocks
        message = default._replace(source=source or "user", blocks=content)
        self.known.setdefault(message_id, message)
        return message

    def end(self) -> None:
        if self.tokens:
            raise self.error("the end of the line", self.tokens[0][1])


def _read_argument(words: _Words, kind: str) -> Value:
    if kind == "message":
        return words.message()
    if kind == "messages":
        messages: list[Message] = []
        while words.tokens:
            messages.append(words.message())
        return tuple(messages)
    if kind in ("start", "count"):
        return words.integer(f"a whole number as {kind}")
    if kind == "id":
        return words.identifier()
    choices = CHOICES[kind]
    return words.word(f"{', '.join(choices[:-1])} or {choices[-1]}", choices)


def _read_call(words: _Words) -> Call:
    name = words.word(f"a call ({', '.join(CALLS)}) or an answer ({', '.join(GATES)})", CALLS)
    args = tuple(_read_argument(words, kind) for kind in CALLS[name])
    words.end()
    return Call(name, args)


def _read_answer(gate: str, named: tuple[str, ...], words: _Words) -> Answer:
    choice = words.word(f"{', '.join(GATES[gate])} as the answer of {gate}", GATES[gate])
    messages: tuple[Message, ...] | None = None
    if choice in ("tools", "parallel"):
        named = tuple(_read_names(words))
    elif gate == "tool":
        messages = _read_messages(words)
    elif (gate, choice) == ("pre-step", "enter") and words.tokens:
        if words.tokens[0][:2] == ("word", "nothing"):
            words.tokens.pop(0)
            messages = ()
        else:
            messages = _read_messages(words)
    words.end()
    return Answer(gate, choice, messages, named)


def _read_messages(words: _Words) -> tuple[Message, ...]:
    listed = _read_argument(words, "messages")
    assert isinstance(listed, tuple)
    return tuple(each for each in listed if isinstance(each, Message))


def _read_names(words: _Words) -> Iterator[str]:
    """One or more different ids of tool calls."""
    seen: set[str] = set()
    while words.tokens or not seen:
        name = words.identifier("the id of a tool call")
        if name in seen:
            raise words.error("different ids of tool calls", name)
        seen.add(name)
        yield name


def _read_gates(words: _Words) -> Iterator[str]:
    """One or more gates that are held."""
    yield words.word(f"gates to hold ({', '.join(GATES)})", GATES)
    while words.tokens:
        yield words.word(f"gates to hold ({', '.join(GATES)})", GATES)


def _gate_of(content: str, where: str) -> tuple[str, tuple[str, ...], str] | None:
    """Gate, named call and answer of a line such as `tool X: result`; None for a call."""
    head, colon, answer = content.partition(":")
    gate, *named = head.split() or [""]
    if not colon or gate not in GATES:
        return None
    if named and (gate != "tool" or len(named) > 1 or not NAME.fullmatch(named[0])):
        wanted = "one id of a tool call" if gate == "tool" else "nothing"
        raise ScenarioError(f"{where}: expected {wanted} behind {gate}, got {' '.join(named)!r}")
    return gate, tuple(named), answer


def _read_window(text: str, where: str) -> tuple[Window, str]:
    match = WINDOW.fullmatch(text)
    if match is None:
        wanted = "'in OBS#n LISTENER: CALL' or 'after OBS#n +k: CALL'"
        msg = f"{where}: expected {wanted}, got {text[:60]!r}"
        raise ScenarioError(msg)
    kind, name, number = match["kind"], match["name"], int(match["number"])
    answer = name.removesuffix(" answer")
    is_answer = name.endswith(" answer") and answer in GATES and kind == "after"
    if not is_answer and name not in KEYS:
        msg = f"{where}: expected a record, event or gate ({', '.join(KEYS)}), got {name!r}"
        raise ScenarioError(msg)
    if number < 1:
        raise ScenarioError(f"{where}: expected a count from 1 on behind '#', got {number}")
    if kind == "in":
        listener = match["listener"] or ("" if name in GATES else "first")
        if match["ticks"] is not None or (name in GATES and listener):
            wanted = "nothing" if name in GATES else "first or last"
            came = match["listener"] or f"+{match['ticks']}"
            raise ScenarioError(f"{where}: expected {wanted} behind #{number}, got {came!r}")
        return Window("in", name, number, listener), match["rest"]
    least = 0 if is_answer else 1
    if match["ticks"] is None or not least <= int(match["ticks"]) <= TICKS_MAX:
        came = match["listener"] or ("+" + match["ticks"] if match["ticks"] else "nothing")
        raise ScenarioError(f"{where}: expected +{least} to +{TICKS_MAX} ticks, got {came!r}")
    return Window("after", name, number, "", int(match["ticks"])), match["rest"]


def _without_comment(text: str) -> str:
    """`text` up to a `#` that starts a comment: one at its start or behind white space."""
    quoted = escaped = False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif quoted and char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif char == "#" and not quoted and (index == 0 or text[index - 1].isspace()):
            return text[:index]
    return text


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    """Read the text form of a scenario.

    Raises ScenarioError with one sentence that names `source` and the line.
    """
    rows = text.split("\n")
    if len(rows) > LINES_MAX:
        raise ScenarioError(f"{source}: expected at most {LINES_MAX} lines, got {len(rows)}")
    header = {"profile": "notes", "scope": ""}
    gates: list[str] = []
    lines: list[Line] = []
    known: dict[str, Message] = {}
    for number, raw in enumerate(rows, 1):
        where = f"{source}, line {number}"
        if len(raw) > LINE_LENGTH_MAX:
            msg = f"{where}: expected at most {LINE_LENGTH_MAX} characters, got {len(raw)}"
            raise ScenarioError(msg)
        content = _without_comment(raw).strip()
        if not content:
            continue
        first = content.split(None, 1)[0]
        if first in header:
            words = _Words(content.removeprefix(first), where, known)
            value = words.word(f"a name behind {first}")
            words.end()
            if first == "profile" and value not in PROFILES:
                raise ScenarioError(
                    f"{where}: expected a profile ({', '.join(PROFILES)}), got {value!r}"
                )
            header[first] = value
            continue
        if first == "gates":
            words = _Words(content.removeprefix(first), where, known)
            gates += _read_gates(words)
            continue
        window = AT_REST
        if first in ("in", "after"):
            window, content = _read_window(content, where)
        answer = _gate_of(content, where) if window == AT_REST else None
        if answer is not None:
            gate, named, rest = answer
            action: Call | Answer = _read_answer(gate, named, _Words(rest, where, known))
        else:
            action = _read_call(_Words(content, where, known))
        lines.append(Line(action, window))
    return Scenario(tuple(lines), header["profile"], header["scope"], tuple(gates))


# --- JSON twin ----------------------------------------------------------------------------------


def scenario_json(scenario: Scenario) -> dict[str, object]:
    """The JSON twin of a scenario: the header, and each line as its text."""
    return {
        "profile": scenario.profile,
        "scope": scenario.scope,
        "gates": list(scenario.gates),
        "lines": scenario.texts(),
    }


def scenario_from_json(data: Mapping[str, object], source: str = "scenario") -> Scenario:
    """Read the JSON twin; raises ScenarioError like `parse_scenario`."""
    lines = data.get("lines")
    if not isinstance(lines, list) or not all(isinstance(each, str) for each in lines):
        msg = f"{source}: expected 'lines' to be a list of strings, got {type(lines).__name__}"
        raise ScenarioError(msg)
    header = [f"profile {data.get('profile', 'notes')}"]
    if data.get("scope"):
        header.append(f"scope {data['scope']}")
    gates = data.get("gates") or []
    if not isinstance(gates, list):
        msg = f"{source}: expected 'gates' to be a list of strings, got {type(gates).__name__}"
        raise ScenarioError(msg)
    if gates:
        header.append(f"gates {' '.join(map(str, gates))}")
    for each in (*header, *lines):
        if "\n" in each:
            shown = each.removeprefix("profile ").removeprefix("scope ")[:60]
            raise ScenarioError(f"{source}: expected one line in each string, got {shown!r}")
    return parse_scenario("\n".join([*header, *lines]), source)
