"""A session log on SQLite as evidence: the log of the shipped loop, read by other hands.

Theory. SQLite is a large program that reads what somebody else has written, so it runs in a process
of its own (`evidence_rows`), with limits on memory, processor time and steps: that it crashes, or
never ends, is a sentence about the file. What comes out of it are rows, and they are judged here.
Nothing of a row is believed: each record's link is the digest of the link before it, the number and
the body. What does not fit is damage, and no fault of a loop.
"""

from __future__ import annotations

import hashlib
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import attrs

from loopspec.conformance.trace import evidence_rows
from loopspec.conformance.trace.acceptor import Acceptor
from loopspec.conformance.trace.decoding import BadLine, decode_line
from loopspec.conformance.trace.following import Options
from loopspec.conformance.trace.judging import Judge
from loopspec.conformance.trace.reading import SQLITE_MAGIC, Evidence, Limits, Line, NotALog
from loopspec.conformance.trace.records import BadShape, record_of
from loopspec.conformance.trace.verdicts import Judged

__all__ = ["is_database", "judge_database"]

READER: Final = (sys.executable, "-I", "-S", evidence_rows.__file__)
"""The program that reads a log: alone with the standard library, and without site packages."""

MEMORY: Final = 256 << 20
"""Bytes of address space that the reader has besides those for its longest row."""

SECONDS: Final = 60
"""Seconds of the processor that the reader has, besides one for each MiB of the log."""

LINK_BYTES: Final = 16
FRAME_HEAD: Final = 9
SURFACES: Final = frozenset({"user/message", "assistant/message", "tool/result"})


class Unreadable(ValueError):
    """A log that cannot be read to its end; the text says why."""


def is_database(path: Path) -> bool:
    """Whether the first bytes of a regular file are those of SQLite."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except (OSError, ValueError):
        return False


def judge_database(
    path: Path,
    acceptor: Acceptor | None = None,
    options: Options | None = None,
    limits: Limits | None = None,
    reader: Sequence[str] = READER,
) -> list[Judged]:
    """Judge each session of a log on SQLite; the file and its folder are not touched."""
    acceptor, limits = acceptor or Acceptor(), limits or Limits()
    done: list[Judged] = []
    sitting: Sitting | None = None
    try:
        size = path.stat().st_size
        for kind, data in frames_of(path, size, limits, reader):
            if kind == b"n":
                if sitting is not None:
                    done.append(sitting.judged(size))
                sitting = Sitting(path, data.decode(), Judge(acceptor, options), limits)
            elif sitting is not None:
                sitting.take(kind, data)
    except NotALog as error:
        return [Judged(str(path), "not a log", reason=str(error), container="sqlite")]
    except OSError as error:
        why = f"it cannot be read: {error.strerror or error}"
        return [Judged(str(path), "not a log", reason=why, container="sqlite")]
    except (Unreadable, UnicodeDecodeError) as error:
        if sitting is None:
            return [Judged(str(path), "unknown", reason=str(error), container="sqlite")]
        # A breach in front of the damage stands; what lies behind it was not seen.
        sitting.judge.damage = sitting.judge.damage or str(error)
    if sitting is None:
        return [Judged(str(path), "skipped", reason="it holds no session", container="sqlite")]
    done.append(sitting.judged(size))
    return done if len(done) > 1 else [attrs.evolve(done[0], name=str(path))]


def frames_of(
    path: Path, size: int, limits: Limits, reader: Sequence[str]
) -> Iterator[tuple[bytes, bytes]]:
    """What the reader tells of a log: names, records and seals.

    Raises:
        NotALog: the file is none.
        Unreadable: it is damaged, is more than a limit allows, or its reader did not end well.

    """
    length = limits.line + 1024
    numbers = (MEMORY + 4 * limits.line, SECONDS + (size >> 20), length, limits.steps)
    with tempfile.TemporaryDirectory(prefix="loopspec-trace-") as folder:
        process = subprocess.Popen(
            [*reader, str(path), folder, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None, "it was asked for"
        try:
            while True:
                frame = read_frame(process.stdout, length + 1024)
                if frame is None:
                    raise Unreadable(f"the process that reads it {ending_of(process.wait())}")
                kind, data = frame
                if kind == b"e":
                    return
                if kind == b"x":
                    raise NotALog(data.decode())
                if kind == b"d":
                    raise Unreadable(f"the database is damaged: {data.decode()}")
                if kind == b"b":
                    told = f"it takes SQLite more than {limits.steps:,} steps"
                    raise Unreadable(f"{told}; --step-limit allows more")
                yield kind, data
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def read_frame(stream: IO[bytes], length_max: int) -> tuple[bytes, bytes] | None:
    """One frame; None where there is no whole one any more."""
    head = stream.read(FRAME_HEAD)
    length = int.from_bytes(head[1:], "big")
    if len(head) < FRAME_HEAD or length > length_max:
        return None
    data = stream.read(length)
    return (head[:1], data) if len(data) == length else None


def ending_of(code: int) -> str:
    """How the reader has ended, in words."""
    if code >= 0:
        return f"ended with code {code} before it had read all of it"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"was ended by signal {name}: the file is damaged, or too large for its limits"


class Sitting:
    """One session of a log, while its rows are taken."""

    def __init__(self, path: Path, session: str, judge: Judge, limits: Limits) -> None:
        """Begin a session, whose first link is made from its name."""
        self.name = f"{path} {session}"
        self.session = session
        self.judge = judge
        self.limits = limits
        self.link = digest(b"loopspec session\0" + session.encode())
        self.rows = 0
        self.sealed = False

    def take(self, kind: bytes, data: bytes) -> None:
        """Judge a row, unless nothing can change the verdict any more."""
        if self.judge.over:
            return
        if kind == b"m":
            if data[8:] != digest(b"loopspec name\0" + data[:8] + self.session.encode()):
                self.judge.damage = "the name of the session is damaged: its mark does not fit"
            return
        if kind == b"s":
            (count,), seal = struct.unpack_from(">q", data), data[8:]
            self.judge.damage = self.seal_fault(count, seal)
            self.sealed = True
            return
        seq, length = struct.unpack_from(">qq", data)
        chain, body = data[16 : 16 + length], data[16 + length :]
        if seq != self.rows:
            self.judge.damage = f"row {self.rows} is damaged: its number is {seq}"
            return
        self.link = digest(self.link + seq.to_bytes(8, "big") + body)
        if self.link != chain:
            self.judge.damage = f"record {seq} is damaged: its chain does not fit"
            return
        self.rows += 1
        take_body(self.judge, seq, body, self.limits)

    def seal_fault(self, count: int, seal: bytes) -> str:
        """What is wrong with the seal of a session that was closed, or nothing."""
        if count == self.rows and seal == digest(
            b"closed\0" + self.link + self.rows.to_bytes(8, "big")
        ):
            return ""
        return f"the session was closed with {count} records, and {self.rows} are left or others"

    def judged(self, size: int) -> Judged:
        """What the session amounts to; a chain cannot prove that its end is the end."""
        if not self.sealed and not self.judge.over:
            after = f"after {self.rows - 1}" if self.rows else "in it"
            told = f"it ended without closing; records {after}, if there were any, cannot be known"
            self.judge.notes[told] = None
        return self.judge.judged(self.name, Evidence("sqlite", size))


def digest(data: bytes) -> bytes:
    """A link of a chain."""
    return hashlib.sha256(data).digest()[:LINK_BYTES]


def take_body(judge: Judge, seq: int, body: bytes, limits: Limits) -> None:
    """Judge the record of a row, in the names of the log format."""
    line = Line(seq + 1, 0, body)
    value: dict[str, Any] = {}
    try:
        value = in_log_format(decode_line(line, limits))
        if value.get("seq") != seq:
            judge.damage = f"row {seq} is damaged: its body has the number {value.get('seq')!r}"
            return
        judge.take(record_of(line.number, value))
    except BadLine as error:
        judge.damage = f"row {seq} is damaged: {error}"
    except BadShape as error:
        judge.misshapen(line, str(error), value)


def in_log_format(value: dict[str, Any]) -> dict[str, Any]:
    """A stored record with the members that a session log names otherwise."""
    data = value.get("data")
    if value.get("type") in SURFACES:
        value["surfaceOp"] = "append"
    if value.get("type") in ("tool/call", "tool/result") and isinstance(data, dict):
        data["callId"] = data.pop("call", None)
        if data.get("code") is not None:
            data["error"] = {"code": data["code"]}
    return value
