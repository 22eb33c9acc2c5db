"""The one door for the bytes of a log: a regular file, plain or zstd, as lines in flat memory.

Theory. A log is evidence: it is opened for reading only, and nothing in it is believed. A plain
log is lines; a compressed one is independent zstd frames of whole lines, one behind the other. The
writer acknowledged a line once its frame, or its line end, was whole on disk, so an incomplete
last frame and an unterminated last line are a *tail* that nobody was promised: it is told and
dropped. Anything else that is not whole is *damage*, named by its place. The size of what comes
out is bounded while it comes out, since a few bytes can stand for gigabytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    import zstandard

__all__ = ["Damaged", "Evidence", "Limits", "Line", "NotALog", "open_log", "read_lines"]

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
SQLITE_MAGIC: Final = b"SQLite format 3\x00"
ARCHIVES: Final = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x89PNG": "a PNG image",
    b"%PDF": "a PDF document",
    b"\x7fELF": "a program",
    b"\x37\x7a\xbc\xaf": "a 7z archive",
}
WIDE: Final = {b"\xff\xfe": "UTF-16 (little endian)", b"\xfe\xff": "UTF-16 (big endian)"}
BOM: Final = b"\xef\xbb\xbf"
CHUNK: Final = 1 << 16
SLICE: Final = 512
"""How many compressed bytes are given at once: they may come out 32,768 times as long."""

MIB: Final = 1 << 20


class NotALog(ValueError):
    """What was named is no log at all; the text says what came instead."""


class Damaged(ValueError):
    """The bytes of a log are damaged at `offset`; the text says how."""

    def __init__(self, sentence: str, offset: int) -> None:
        """Keep the place in the file, or in what was compressed in it."""
        super().__init__(sentence)
        self.offset = offset


@attrs.frozen
class Limits:
    """How much of a log is read before it is given up."""

    line: int = 64 * MIB
    depth: int = 128
    decompressed: int = 4096 * MIB
    window: int = 128 * MIB
    steps: int = 10_000_000_000
    """Steps of SQLite; a record takes some twenty."""


@attrs.frozen(slots=True)
class Line:
    """One line with its number, counted from 1, and the offset of its first byte."""

    number: int
    offset: int
    text: bytes


@attrs.define
class Evidence:
    """What reading a log has found out besides its lines.

    `dropped` are the bytes of the tail that was never acknowledged, `torn` what that tail is.
    """

    container: str = "plain"
    size: int = 0
    frames: int = 0
    torn: str = ""
    dropped: int = 0
    notes: list[str] = attrs.field(factory=list)


def open_log(path: Path, walked: bool = False) -> IO[bytes]:
    """Open a regular file for reading only; in a walked folder no link is followed.

    Raises NotALog with one sentence for anything else, without waiting for a writer.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if walked else 0)
    try:
        descriptor = os.open(path, flags)
    except ValueError as error:
        raise NotALog(f"expected the name of a file, got {error}") from error
    except OSError as error:
        why = "a symbolic link, which is not followed here" if error.errno == 40 else error.strerror
        raise NotALog(f"expected a regular file, got {why}") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise NotALog(f"expected a regular file, got {kind_of(mode)}")
    return os.fdopen(descriptor, "rb", buffering=CHUNK)


def kind_of(mode: int) -> str:
    """What a file that is no regular one is."""
    for is_kind, word in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISLNK, "a symbolic link"),
    ):
        if is_kind(mode):
            return word
    return "something else"


def read_lines(file: IO[bytes], evidence: Evidence, limits: Limits | None = None) -> Iterator[Line]:
    """The lines of an open log, one after the other; what else there is to tell goes to `evidence`.

    Raises:
        NotALog: the first bytes are those of something else.
        Damaged: the bytes are damaged behind the lines that came, or a limit was reached.

    """
    limits = limits or Limits()
    evidence.size = os.fstat(file.fileno()).st_size
    head = file.read(16)
    refuse_other_formats(head, evidence.size)
    file.seek(0)
    if head.startswith(ZSTD_MAGIC):
        evidence.container = "zstd"
        chunks = decompressed(file, evidence, limits)
    else:
        chunks = iter(lambda: file.read(CHUNK), b"")
    yield from split(chunks, evidence, limits)


def refuse_other_formats(head: bytes, size: int) -> None:
    """Name what is no log by its first bytes."""
    if not size:
        raise NotALog("expected a log, got an empty file")
    for magic, word in ARCHIVES.items():
        if head.startswith(magic):
            raise NotALog(f"expected a log, got {word}; a log may be plain or zstd")
    for mark, word in WIDE.items():
        if head.startswith(mark):
            raise NotALog(f"expected UTF-8, got {word} at byte 0")
    if head[1:2] == b"\x00" or head[:1] == b"\x00":
        raise NotALog("expected UTF-8, got NUL bytes at the start, as in UTF-16 or a binary file")


def split(chunks: Iterator[bytes], evidence: Evidence, limits: Limits) -> Iterator[Line]:
    """Cut chunks into lines; the unterminated rest is a torn tail."""
    parts: list[bytes] = []
    held = number = offset = 0
    for chunk in chunks:
        begin = 0
        while True:
            end = chunk.find(b"\n", begin)
            held += (len(chunk) if end < 0 else end) - begin
            if held > limits.line:
                line = f"line {number + 1} is longer than {limits.line:,} bytes"
                raise Damaged(f"{line}; --line-limit allows more", offset)
            if end < 0:
                parts.append(chunk[begin:])
                break
            parts.append(chunk[begin:end])
            text = b"".join(parts) if len(parts) > 1 else parts[0]
            parts.clear()
            begin, held = end + 1, 0
            number += 1
            if number == 1 and text.startswith(BOM):
                evidence.notes.append("it begins with a byte order mark, which was skipped")
                text = text[len(BOM) :]
            yield Line(number, offset, text)
            offset += len(text) + 1
    rest = b"".join(parts)
    if rest and number == 0:
        # A file of one line without an end may be a header; whatever else it is, it is told so.
        yield Line(1, 0, rest.removeprefix(BOM))
    if rest and not evidence.torn:
        evidence.torn = "an unterminated last line"
        evidence.dropped = len(rest)


def decompressed(file: IO[bytes], evidence: Evidence, limits: Limits) -> Iterator[bytes]:
    """What is compressed in a file of zstd frames, in pieces of bounded size.

    A frame's end is tracked here: the library does not say when bytes are missing at the end.
    """
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=limits.window)
    frame = None
    total = began = position = 0
    while chunk := file.read(CHUNK):
        at = 0
        while at < len(chunk):
            given = chunk[at : at + SLICE]
            if frame is None:
                frame, began = reader.decompressobj(), position + at
            out = decompress(frame, given, began)
            unused = len(frame.unused_data) if frame.eof else 0
            at += len(given) - unused
            if frame.eof:
                evidence.frames += 1
                frame = None
            total += len(out)
            if total > limits.decompressed:
                ratio = total // max(position + at, 1)
                told = f"it decompresses to more than {limits.decompressed:,} bytes"
                raise Damaged(f"{told} (1 to {ratio:,} so far); --size-limit allows more", began)
            if out:
                yield out
        position += len(chunk)
    if frame is not None:
        evidence.torn = "an incomplete last zstd frame"
        evidence.dropped = position - began


def decompress(frame: zstandard.ZstdDecompressionObj, given: bytes, began: int) -> bytes:
    """A piece of a frame that began at an offset.

    Raises Damaged when it is none.
    """
    import zstandard

    try:
        return frame.decompress(given)
    except zstandard.ZstdError as error:
        why = str(error).removeprefix("zstd decompressor error: ")
        raise Damaged(f"the zstd frame at byte {began} cannot be read: {why}", began) from error
    except MemoryError as error:
        why = "it asks for more memory than there is"
        raise Damaged(f"the zstd frame at byte {began} cannot be read: {why}", began) from error
