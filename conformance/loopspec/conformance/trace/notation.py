"""A log on one line: the notation in which relations and examples are written.

| token | record |
|---|---|
| `+T[A,B]` `+S[A]` | insertion at the tail of next-turn or next-step; `+T[A]@0` elsewhere |
| `-T[A]` `-S[A,B]` | claim: a deletion without an outcome |
| `!T[A]` | deletion with outcome canceled; `!T[9]` takes as many as the number says |
| `*T[A>B]` | replacement in place |
| `{1` `}1:completed` | turn/start, turn/end; `}1:aborted/user` names the cause |
| `(1` `)1` | step/start, step/end |
| `uA` `xA` | user/message of a user, or of somebody else; `uA=text` with another text |
| `a` `a:c1,c2` `a~` | assistant/message, with calls, interrupted |
| `c:c1` `r:c1` | tool/call, tool/result; `r?c1` outcome unknown, `r!c1` not started |
| `h` `h:resume` | request/header |
| `end-seed` `cut` | session/end-seed of a restart, of a fork |

Before a token, `#9` gives the record another number, and `^` a surfaceOp that it should not have.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ["log_of", "records_of"]

LISTS: Final = {"T": "next-turn", "S": "next-step"}
CODES: Final = {"?": "TOOL_OUTCOME_UNKNOWN", "!": "TOOL_NOT_STARTED"}


class Writer:
    """Writes records of one log, knowing its lists, so that tokens name messages."""

    def __init__(self) -> None:
        """Begin a log."""
        self.lists: dict[str, list[str]] = {"T": [], "S": []}
        self.turn = self.step = 0
        self.records: list[dict[str, Any]] = []

    def write(self, token: str) -> None:
        """Write the record of one token."""
        numbered = re.match(r"#(\d+)$", token)
        if numbered:
            self.seq = int(numbered[1])
            return
        surplus = token.startswith("^")
        name, data, surface = self.record(token.removeprefix("^"))
        record: dict[str, Any] = {"type": name, "seq": self.seq, "data": data}
        if surface or surplus:
            record["surfaceOp"] = "append"
        self.records.append(record)
        self.seq += 1

    seq = 0

    def record(self, token: str) -> tuple[str, Any, bool]:
        """Name, data and whether it joins the surface."""
        head, rest = token[0], token[1:]
        if token in ("end-seed", "cut"):
            return "session/end-seed", {"inherited": True} if token == "cut" else {}, False
        if head in "+-!*~":
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
            return "turn/end", {"turn": int(number), "reason": said}, False
        here = {"turn": self.turn, "step": self.step}
        if head in "()":
            self.step = int(rest)
            name = "step/start" if head == "(" else "step/end"
            return name, {"turn": self.turn, "step": self.step}, False
        if head == "h":
            return "request/header", {"header": {}, "reason": rest[1:] or "initial"}, False
        if head in "ux":
            return "user/message", message(rest, "user" if head == "u" else "context"), True
        if head == "a":
            blocks: list[dict[str, str]] = [{"type": "text", "text": "ok"}]
            blocks += [{"type": "tool-call", "id": call} for call in rest[1:].split(",") if call]
            said = {**here, "message": {"role": "assistant", "content": blocks}}
            return "assistant/message", {**said, "interrupted": True} if rest == "~" else said, True
        if head == "c":
            return "tool/call", {**here, "callId": rest[1:], "name": "tool"}, False
        result = {**here, "message": {"role": "tool", "toolCallId": rest[1:], "content": []}}
        if rest[0] in CODES:
            result["error"] = {"name": "Error", "code": CODES[rest[0]]}
        return "tool/result", result, True

    def splice(self, head: str, rest: str) -> dict[str, Any]:
        """The data of a splice."""
        found = re.fullmatch(r"([TS])\[([^\]]*)\](?:@(\d+))?", rest)
        assert found is not None, f"a splice is written {head}T[A], got {head}{rest}"
        items = self.lists[found[1]]
        data: dict[str, Any] = {"target": LISTS[found[1]]}
        if head == "+":
            names = found[2].split(",")
            start = len(items) if found[3] is None else int(found[3])
            items[start:start] = names
            return data | {"start": start, "inserted": [message(name) for name in names]}
        if head == "*":
            old, _, new = found[2].partition(">")
            start = items.index(old)
            items[start] = new
            told = {"removedCount": 1, "inserted": [message(new)], "outcome": "canceled"}
            return data | {"start": start} | told
        if found[2].isdigit():
            start, count = 0, int(found[2])
        else:
            names = found[2].split(",")
            start, count = items.index(names[0]), len(names)
        del items[start : start + count]
        told = {"start": start, "removedCount": count, "inserted": []}
        return data | told | ({} if head in "-~" else {"outcome": "canceled"})


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
