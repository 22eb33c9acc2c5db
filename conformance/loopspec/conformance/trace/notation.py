"""A log on one line: the notation in which relations and examples are written.

| token | record |
|---|---|
| `+T[A,B]` `+S[A]` | insertion at the tail of next-turn or next-step; `+T[A]@0` elsewhere |
| `-T[A]` `-S[A,B]` | claim: a deletion without an outcome |
| `!T[A]` | deletion with outcome canceled; `!T[9]` takes as many as the number says |
| `*T[A>B]` | replacement in place; `=T[A>B]` one without an outcome |
| `{1` `}1:completed` | turn/start, turn/end; `}1:aborted/user` names the cause |
| `(1` `)1` | step/start, step/end |
| `uA` `xA` | user/message of a user, or of somebody else; `uA=text` with another text |
| `a` `a:c1,c2` `a~` | assistant/message, with calls, interrupted |
| `a;stop` `a:c1;max-tokens` | the same with a stream that ends so; `a;` where it says nothing |
| `k` `k;stop` `k*3` | assistant/chunk, one that finishes, a packed row of so many |
| `y` | assistant/attempt |
| `c:c1` `r:c1` | tool/call, tool/result; `r?c1` outcome unknown, `r!c1` not started |
| `h` `h:resume` `h:change=m` | request/header; of a provider's model |
| `q=m` `t` | request/context of a provider's model, todo/write |
| `end-seed` `cut` | session/end-seed of a restart, of a fork |
| `session` | another header |
| `?plug/row` `?!plug/row` | a record of another type, one that readers may skip |

Before a token, `#9` gives the record another number and `#-` none, `&3,4-6` lets it cite records,
`^` gives it a surfaceOp that it should not have, `%2-5` one that replaces these records, `%0` none;
`@3.1` lets it name another turn and step, and `$role` gives its message another role.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ["log_of", "records_of"]

LISTS: Final = {"T": "next-turn", "S": "next-step"}
PACKED: Final = "text-chunks"
CODES: Final = {"?": "TOOL_OUTCOME_UNKNOWN", "!": "TOOL_NOT_STARTED"}


class Writer:
    """Writes records of one log, knowing its lists, so that tokens name messages."""

    def __init__(self) -> None:
        """Begin a log."""
        self.lists: dict[str, list[str]] = {"T": [], "S": []}
        self.said: dict[str, str] = {}
        self.turn = self.step = 0
        self.records: list[dict[str, Any]] = []

    def write(self, token: str) -> None:
        """Write the record of one token, or keep what it says of the next one."""
        if token[0] in "#&%@$":
            self.said[token[0]] = token[1:]
            return
        name, data, surface = self.record(token.removeprefix("^"))
        said, self.said = self.said, {}
        if "@" in said:
            turn, _, step = said["@"].partition(".")
            data |= {"turn": int(turn), "step": int(step)}
        if "$" in said:
            for each in (data, *data.get("inserted", ())):
                each.update({"role": said["$"]} if "role" in each else {})
        seq0 = "seq0" if name == PACKED else "seq"
        number = said.get("#", str(self.seq))
        record: dict[str, Any] = {"type": name, **({seq0: int(number)} if number != "-" else {})}
        if name == "session":
            record = {"type": name, "id": "other"}
        if name.startswith("?"):
            record["type"] = name.strip("?!")
            record |= {"ignorable": True} if "!" in name else {}
        record["data"] = data
        if (surface or token.startswith("^")) and said.get("%") != "0":
            record["surfaceOp"] = "append"
        if "-" in said.get("%", ""):
            first, _, last = said["%"].partition("-")
            span = {"startSeq": int(first), "endSeq": int(last)}
            record["surfaceOp"] = {"op": "replace", **span}
        if "&" in said:
            record["sourceEventSeqs"] = [cited(each) for each in said["&"].split(",") if each]
        self.records.append(record)
        self.seq += len(data["texts"]) if name == PACKED else name != "session"

    seq = 0

    def record(self, token: str) -> tuple[str, dict[str, Any], bool]:
        """Name, data and whether it joins the surface."""
        head, rest = token[0], token[1:]
        if token in ("end-seed", "cut"):
            return "session/end-seed", {"inherited": True} if token == "cut" else {}, False
        if token == "session" or head == "?":
            return token, {}, False
        if head in "+-!*=~":
            return "agent/inbox/spliced", self.splice(head, rest), False
        if head == "{":
            self.turn, self.step = int(rest), 0
            return "turn/start", {"turn": self.turn}, False
        if head == "}":
            number, _, reason = rest.partition(":")
            kind, _, cause = reason.partition("/")
            said: dict[str, Any] = {"kind": kind}
            if kind == "aborted":
                said["reason"] = {"kind": cause or "user"}
            return "turn/end", {"turn": int(number)} | ({"reason": said} if reason else {}), False
        here = {"turn": self.turn, "step": self.step}
        if head in "()":
            self.step = int(rest)
            name = "step/start" if head == "(" else "step/end"
            return name, {"turn": self.turn, "step": self.step}, False
        if head in "hqt":
            return self.request(head, rest)
        if head in "ux":
            return "user/message", message(rest, "user" if head == "u" else "context"), True
        if head in "ky":
            return chunk(head, rest, here)
        if head == "a":
            said_by, _, finish = rest.partition(";")
            blocks: list[dict[str, str]] = [{"type": "text", "text": "ok"}]
            blocks += [{"type": "tool-call", "id": each} for each in said_by[1:].split(",") if each]
            said = {**here, "message": {"role": "assistant", "content": blocks}}
            said |= {"interrupted": True} if said_by.startswith("~") else {}
            return "assistant/message", said | (stream(finish) if ";" in rest else {}), True
        if head == "c":
            return "tool/call", {**here, "callId": rest[1:], "name": "tool"}, False
        result = {**here, "message": {"role": "tool", "toolCallId": rest[1:], "content": []}}
        if rest[0] in CODES:
            result["error"] = {"name": "Error", "code": CODES[rest[0]]}
        return "tool/result", result, True

    @staticmethod
    def request(head: str, rest: str) -> tuple[str, dict[str, Any], bool]:
        """Header, context, or a todo."""
        reason, _, model = rest.removeprefix(":").partition("=")
        to = {"provider": "p", "model": model} if model else {}
        if head == "q":
            return "request/context", to, False
        if head == "t":
            return "todo/write", {}, False
        return (
            "request/header",
            {"header": {"config": to} if to else {}, "reason": reason or "initial"},
            False,
        )

    def splice(self, head: str, rest: str) -> dict[str, Any]:
        """The data of a splice."""
        found = re.fullmatch(r"([TS])\[([^\]]*)\](?:@(\d+))?", rest)
        assert found is not None, f"a splice is written {head}T[A], got {head}{rest}"
        items = self.lists[found[1]]
        data: dict[str, Any] = {"target": LISTS[found[1]]}
        if head == "+":
            names = found[2].split(",") if found[2] else []
            start = len(items) if found[3] is None else int(found[3])
            items[start:start] = names
            return data | {"start": start, "inserted": [message(name) for name in names]}
        if head in "*=":
            old, _, new = found[2].partition(">")
            start = items.index(old)
            items[start] = new
            edit = {"start": start, "removedCount": 1, "inserted": [message(new)]}
            return data | edit | ({"outcome": "canceled"} if head == "*" else {})
        if found[2].isdigit():
            start, count = 0, int(found[2])
        else:
            names = found[2].split(",")
            start, count = items.index(names[0]), len(names)
        del items[start : start + count]
        told = {"start": start, "removedCount": count, "inserted": []}
        return data | told | ({} if head in "-~" else {"outcome": "canceled"})


def cited(text: str) -> int | list[int]:
    """A number, or a run of numbers."""
    numbers = [int(each) for each in text.split("-")]
    return numbers if len(numbers) > 1 else numbers[0]


def stream(finish: str) -> dict[str, Any]:
    """The stream of an answer that ends so."""
    begins = {"type": "chunk", "chunk": {"type": "block-start", "index": 0}}
    ends = {"type": "chunk", "chunk": {"type": "finish", "reason": {"kind": finish}}}
    return {"stream": [begins, ends] if finish else [begins]}


def chunk(head: str, rest: str, here: dict[str, int]) -> tuple[str, dict[str, Any], bool]:
    """A chunk, a row of chunks, or a failed attempt."""
    if head == "y":
        return "assistant/attempt", {**here, **stream("error")}, False
    if rest.startswith("*"):
        return PACKED, {**here, "texts": ["some"] * int(rest[1:])}, False
    said = {"type": "finish", "reason": {"kind": rest[1:]}} if rest else {"type": "text-delta"}
    return "assistant/chunk", {**here, "chunk": said}, False


def message(name: str, source: str = "user") -> dict[str, Any]:
    """A message with one text block, by default its own id."""
    message_id, _, text = name.partition("=")
    block = {"type": "text", "text": text or message_id}
    return {"id": message_id, "role": "user", "source": {"kind": source}, "content": [block]}


def records_of(text: str) -> list[dict[str, Any]]:
    """The records of a log in this notation, without its header."""
    writer = Writer()
    for token in text.split():
        writer.write(token)
    return writer.records


def log_of(text: str, **header: Any) -> bytes:  # noqa: ANN401 - members of a header
    """A log in this notation, as the bytes of a file."""
    first = {"type": "session", "id": "example", "createdAt": 0, **header}
    lines = [first, *records_of(text)]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
