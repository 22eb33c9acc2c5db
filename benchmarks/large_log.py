# ruff: noqa: INP001
"""Large session logs, made from a seed: the shape of a v4 log, with texts cut short.

    python benchmarks/large_log.py FILE --records 1000000 --seed 1
    python benchmarks/large_log.py FILE --variant ids

Variants: `slim` (turns of about ten steps, tools, steering, edits, aborts, restarts), `one-turn`
(one turn of many steps), `queue` (many prompts queued while one turn runs, then drained),
`edits` (edits of a long queue), `ids` (a new message for each turn, nothing else), `fat` (slim with
texts as long as people's), `chunks` (the oldest format: most records are packed chunks of replies).

`write_forks` makes forks of one parent, and `write_fault` a copy with one fault in its last part.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

Data = dict[str, Any]
TEXT: Final = "some words that were cut to forty bytes."
SIZES: Final = {
    "assistant/message": (9_400, 32_000, 68_000),
    "tool/result": (790, 13_500, 67_000),
    "tool/call": (460, 2_100, 6_800),
    "request/header": (27_000, 27_000, 27_000),
    "message": (340, 660, 1_000),
}
"""Bytes of a record in the fat variant: median, nine of ten, most."""

CHUNKS: Final = (467, 1_800, 4_200)
"""Streamed chunks of a step: median, nine of ten, most."""

ROW: Final = (24, 44, 142)
"""Chunks of one packed row."""

FILLER: Final = "what somebody has said, or a tool has found, goes on for a while; " * 1_100


class Log:
    """Writes records as a loop would, knowing its lists."""

    def __init__(self, records: int, seed: int) -> None:
        """Begin a log of about so many records."""
        self.wanted = records
        self.chance = random.Random(seed)
        self.lists: dict[str, list[str]] = {"next-turn": [], "next-step": []}
        self.turn = self.step = self.seq = self.messages = 0
        self.headers = 0
        self.time = 1_700_000_000_000

    # --- Records ---

    def record(self, name: str, data: Data, surface: str = "") -> Data:
        """One record with its envelope."""
        self.time += 0 if self.chance.random() < 0.24 else self.chance.randrange(1, 5_000)
        record: Data = {"type": name, "seq": self.seq, "time": self.time, "data": data}
        if surface:
            record["surfaceOp"] = surface
        self.seq += 1
        return record

    def drawn(self, sizes: tuple[int, int, int]) -> int:
        """A size: log-normal by its median and nine of ten, and at most the last."""
        median, most_of, most = sizes
        sigma = math.log(most_of / median) / 1.2816
        return min(most, max(1, round(self.chance.lognormvariate(math.log(median), sigma))))

    def text(self, kind: str) -> str:
        """The text of a record: short, or in the fat variant as long as such records are."""
        return FILLER[: self.drawn(SIZES[kind])] if self.fat else TEXT

    fat = chunked = False

    def message(self, source: str = "user") -> Data:
        """A new message."""
        self.messages += 1
        number = f"{self.chance.getrandbits(64):016x}-{self.messages:x}"
        block = {"type": "text", "text": self.text("message")}
        return {"id": number, "role": "user", "source": {"kind": source}, "content": [block]}

    def insert(self, target: str, start: int | None = None, count: int = 1) -> Data:
        """An insertion, by default at the tail."""
        items = self.lists[target]
        at = len(items) if start is None else start
        messages = [self.message() for _ in range(count)]
        self.waiting |= {each["id"]: each for each in messages}
        items[at:at] = [each["id"] for each in messages]
        data = {"target": target, "start": at, "inserted": messages}
        return self.record("agent/inbox/spliced", data)

    waiting: dict[str, Data]

    def cancel(self, target: str, start: int, count: int, new: list[Data] | None = None) -> Data:
        """A canceled deletion, or a replacement."""
        items, new = self.lists[target], new or []
        for gone in items[start : start + count]:
            self.waiting.pop(gone, None)
        self.waiting |= {each["id"]: each for each in new}
        items[start : start + count] = [each["id"] for each in new]
        told = {"start": start, "removedCount": count, "inserted": new, "outcome": "canceled"}
        return self.record("agent/inbox/spliced", {"target": target, **told})

    def claim(self, boundary: bool) -> Iterator[Data]:
        """What a boundary claims; the messages wait to enter."""
        self.batch: list[Data] = []
        for target in ("next-step", "next-turn"):
            items = self.lists[target]
            count = len(items) if target == "next-step" else int(boundary and bool(items))
            if count:
                self.batch += [self.waiting.pop(each) for each in items[:count]]
                del items[:count]
                told = {"target": target, "start": 0, "removedCount": count, "inserted": []}
                yield self.record("agent/inbox/spliced", told)

    def steps(self, count: int) -> Iterator[Data]:
        """The steps of a turn; each but the last asks for tools."""
        for number in range(1, count + 1):
            if number > 1:
                yield from self.claim(False)
            self.step = number
            here = {"turn": self.turn, "step": number}
            yield self.record("step/start", dict(here))
            for message in self.batch:
                yield self.record("user/message", message, "append")
            if number == 1 and not self.headers:
                self.headers += 1
                header = {"system": self.text("request/header")} if self.fat else {}
                yield self.record("request/header", {"header": header, "reason": "initial"})
            yield from self.reply(here, tools=number < count)
            yield self.record("step/end", dict(here))

    def reply(self, here: Data, tools: bool) -> Iterator[Data]:
        """A reply, its calls and their results, and what is steered meanwhile."""
        if self.chunked:
            yield from self.chunks(here)
        draw = self.chance.random()
        calls = [f"call_{self.step}_{i}" for i in range((1 if draw < 0.82 else 2) * tools)]
        blocks = [{"type": "text", "text": self.text("assistant/message")}]
        blocks += [{"type": "tool-call", "id": call, "name": "bash"} for call in calls]
        said = {**here, "message": {"role": "assistant", "content": blocks}, "stream": []}
        yield self.record("assistant/message", said, "append")
        for call in calls:
            given = json.dumps({"command": self.text("tool/call") if self.fat else "true"})
            told = {**here, "callId": call, "name": "bash", "arguments": given}
            yield self.record("tool/call", told)
            result = {
                "role": "tool",
                "toolCallId": call,
                "content": [{"type": "text", "text": self.text("tool/result")}],
            }
            yield self.record("tool/result", {**here, "message": result}, "append")
        if tools and self.chance.random() < 0.02:
            yield self.insert("next-step")
        if self.chance.random() < 0.02:
            yield self.record("todo/write", {"todos": []})

    def chunks(self, here: Data) -> Iterator[Data]:
        """What the oldest format streams of a reply: single chunks, and rows of many."""
        left = self.drawn(CHUNKS)
        yield self.record("assistant/chunk", {**here, "chunk": {"type": "block-start", "index": 0}})
        while left > 0:
            count = min(left, self.drawn(ROW))
            row = self.record("text-chunks", {**here, "index": 0, "dt": [1] * (count - 1)})
            row["data"]["texts"] = [" word"] * count
            row["seq0"], row["time0"] = row.pop("seq"), row.pop("time")
            self.seq += count - 1
            left -= count
            yield row
        yield self.record("assistant/chunk", {**here, "chunk": {"type": "finish"}})

    def open_turn(self) -> Iterator[Data]:
        """A turn opens and claims."""
        self.turn, self.step = self.turn + 1, 0
        yield self.record("turn/start", {"turn": self.turn})
        yield from self.claim(True)

    def close_turn(self, kind: str) -> Data:
        """A turn closes."""
        reason: Data = {"kind": kind}
        if kind == "aborted":
            reason["reason"] = {"kind": "user"}
        if kind == "error":
            reason["error"] = {"message": "provider failed", "code": "SERVER"}
        return self.record("turn/end", {"turn": self.turn, "reason": reason})

    # --- Variants ---

    def turn_records(self) -> Iterator[Data]:
        """One turn as people use it, with edits of the queue."""
        draw = self.chance.random()
        if not any(self.lists.values()) or not self.goes_on:
            yield self.insert("next-turn")
        if self.chance.random() < 0.08:
            queue = self.lists["next-turn"]
            yield from self.open_turn()
            for _ in range(self.chance.randrange(2, 7)):
                yield self.insert("next-turn")
            if self.chance.random() < 0.3:
                yield self.cancel(
                    "next-turn", self.chance.randrange(len(queue)), 1, [self.message()]
                )
            if self.chance.random() < 0.3:
                yield self.cancel("next-turn", self.chance.randrange(len(queue)), 1)
        else:
            yield from self.open_turn()
        count = min(100, max(1, round(self.chance.lognormvariate(2.3, 0.86))))
        kind = "completed"
        if draw < 0.03:
            kind, count = "blocked", 0
        elif draw < 0.06:
            kind = "error"
        elif draw < 0.10:
            kind = "aborted"
        elif draw < 0.12:
            kind = "max-tokens"
        yield from self.steps(count)
        if kind == "aborted":
            for target in ("next-step", "next-turn"):
                if self.lists[target]:
                    yield self.cancel(target, 0, len(self.lists[target]))
        yield self.close_turn(kind)
        self.goes_on = kind in ("completed", "max-tokens")

    goes_on = False

    def slim(self) -> Iterator[Data]:
        """Turns until there are enough records."""
        while self.seq < self.wanted:
            yield from self.turn_records()

    def fat_turns(self) -> Iterator[Data]:
        """Turns with long texts."""
        self.fat = True
        yield from self.slim()

    def chunked_turns(self) -> Iterator[Data]:
        """Turns in which most records are chunks."""
        self.chunked = True
        yield from self.slim()

    def one_turn(self) -> Iterator[Data]:
        """A single turn."""
        yield self.insert("next-turn")
        yield from self.open_turn()
        yield from self.steps(max(1, self.wanted // 6))
        yield self.close_turn("completed")

    def queue(self) -> Iterator[Data]:
        """Prompts are queued while one turn runs, then drained."""
        yield self.insert("next-turn")
        yield from self.open_turn()
        for _ in range(self.wanted // 8):
            yield self.insert("next-turn")
        yield from self.steps(1)
        yield self.close_turn("completed")
        while self.lists["next-turn"]:
            yield from self.open_turn()
            yield from self.steps(1)
            yield self.close_turn("completed")

    def edits(self) -> Iterator[Data]:
        """A long queue is edited."""
        yield self.insert("next-turn")
        yield from self.open_turn()
        for _ in range(1_000):
            yield self.insert("next-turn")
        while self.seq < self.wanted:
            place = self.chance.randrange(len(self.lists["next-turn"]))
            yield self.cancel("next-turn", place, 1, [self.message()])
        yield from self.steps(1)
        yield self.close_turn("completed")

    def ids(self) -> Iterator[Data]:
        """A new message for each of many short turns."""
        while self.seq < self.wanted:
            yield self.insert("next-turn")
            yield from self.open_turn()
            yield self.close_turn("blocked")

    def lines(self, variant: str) -> Iterator[bytes]:
        """The lines of a log."""
        self.waiting = {}
        self.batch = []
        variants: dict[str, Callable[[], Iterator[Data]]] = {
            "slim": self.slim,
            "one-turn": self.one_turn,
            "queue": self.queue,
            "edits": self.edits,
            "ids": self.ids,
            "fat": self.fat_turns,
            "chunks": self.chunked_turns,
        }
        yield encoded(header_line(0 if variant == "chunks" else 4, seeded=False))
        for record in variants[variant]():
            yield encoded(record)

    def forked(self, cut: int) -> Iterator[Data]:
        """The first records of a parent, up to the end of a turn or a step, and a turn more."""
        self.waiting, self.batch = {}, []
        for record in self.slim():
            yield record
            name = record["type"]
            if self.seq >= cut and name in ("step/end", "turn/end"):
                break
        yield self.record("session/end-seed", {"inherited": True})
        if name == "step/end":
            yield self.close_turn("forked")
        yield self.insert("next-turn")
        yield from self.open_turn()
        yield from self.steps(1)
        yield self.close_turn("completed")


def header_line(version: int, seeded: bool) -> Data:
    """The first line; the oldest format does not say whether there is a seed."""
    header: Data = {"type": "session", "version": version, "id": "made", "createdAt": 0}
    told = {"isSeeded": seeded} if version else {}
    return {**header, **told, "delegationDepth": 0}


def encoded(record: Data) -> bytes:
    """A line."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


VARIANTS: Final = ("slim", "one-turn", "queue", "edits", "ids", "fat", "chunks")

# --- Faults -------------------------------------------------------------------------------------

Fault = Callable[[Data, Data], bool]
"""Spoils a record in place if it can; it may look at the first insertion of the log."""


def skipped_number(record: Data, _: Data) -> bool:
    """A number is left out."""
    record["seq"] = record.get("seq", 0) + 1
    return "seq0" not in record


def skipped_turn(record: Data, _: Data) -> bool:
    """A turn is left out."""
    if record["type"] != "turn/start":
        return False
    record["data"]["turn"] += 1
    return True


def claimed_too_much(record: Data, _: Data) -> bool:
    """A claim takes more than there is."""
    data = record["data"]
    if record["type"] != "agent/inbox/spliced" or data["inserted"] or "outcome" in data:
        return False
    data["removedCount"] += 1
    return True


def inserted_again(record: Data, first: Data) -> bool:
    """The first message of all comes again, as late as can be."""
    data = record["data"]
    if record["type"] != "agent/inbox/spliced" or not data["inserted"]:
        return False
    data["inserted"][0]["id"] = first["data"]["inserted"][0]["id"]
    return True


def ended_badly(record: Data, _: Data) -> bool:
    """A turn says that its end has no kind."""
    if record["type"] != "turn/end":
        return False
    del record["data"]["reason"]["kind"]
    return True


FAULTS: Final[dict[str, Fault]] = {
    "number": skipped_number,
    "turn": skipped_turn,
    "claim": claimed_too_much,
    "again": inserted_again,
    "shape": ended_badly,
}


def write_fault(whole: Path, copy: Path, fault: str, part: float = 0.99) -> int:
    """Copy a log with one fault behind so much of it; the line of the fault, counted from 1.

    Where no record of the rest can have the fault it is 0.
    """
    behind, found, first = whole.stat().st_size * part, 0, None
    with whole.open("rb") as source, copy.open("wb") as target:
        for number, line in enumerate(source, 1):
            if not found and target.tell() < behind and first is not None:
                target.write(line)
                continue
            if not found and number > 1:
                record = json.loads(line)
                first = first or (record if record["type"] == "agent/inbox/spliced" else None)
                if target.tell() >= behind and first and FAULTS[fault](record, first):
                    found, line = number, encoded(record)
            target.write(line)
    return found


def write_forks(folder: Path, count: int, records: int, seed: int) -> int:
    """Write so many forks of one parent of so many records, cut anywhere; how many records."""
    chance, total = random.Random(seed), 0
    for number in range(count):
        log = Log(records, seed)
        with (folder / f"fork-{number:04}.jsonl").open("wb") as file:
            file.write(encoded(header_line(4, seeded=True)))
            for record in log.forked(chance.randrange(1, records)):
                file.write(encoded(record))
        total += log.seq
    return total


def write_log(path: Path, variant: str, records: int, seed: int) -> int:
    """Write a log and say how many records it has."""
    log = Log(records, seed)
    with path.open("wb") as file:
        for line in log.lines(variant):
            file.write(line)
    return log.seq


def main() -> None:
    """Write a log."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", choices=VARIANTS, default="slim")
    chosen = parser.parse_args()
    done = write_log(chosen.file, chosen.variant, chosen.records, chosen.seed)
    sys.stdout.write(f"{done:,} records, seed {chosen.seed}\n")


if __name__ == "__main__":
    main()
