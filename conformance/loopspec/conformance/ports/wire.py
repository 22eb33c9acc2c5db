"""Lines of a port as answers, strictly: what is none is refused with its bytes and the place.

A port that says `sum` in its welcome ends each later line with a checksum of what stands before it:
in `…,"sum":"1c291ca3"}` it is the CRC-32 of all bytes up to the comma, in hexadecimal digits. A
line that was damaged on its way is then never taken for an answer.
"""

from __future__ import annotations

import zlib
from typing import Final, TypeVar

import msgspec

from loopspec.conformance.ports.messages import Failed
from loopspec.conformance.trace.decoding import BadLine, decode_line
from loopspec.conformance.trace.reading import Limits as ReadingLimits
from loopspec.conformance.trace.reading import Line as ReadLine
from loopspec.conformance.visible import clean

__all__ = ["BadAnswer", "decoded", "summed"]

T = TypeVar("T", bound=msgspec.Struct)

LIMITS: Final = ReadingLimits(depth=2**63)
"""The structs say how deep an answer is; what is deeper than the parser goes is refused by it."""

QUOTED: Final = 60
SUM: Final = b',"sum":"'
SUM_LENGTH: Final = len(SUM) + 8 + len(b'"}')


class BadAnswer(ValueError):
    """A line that is no answer; the text quotes it and says what was expected where."""


class FailedAnswer(ValueError):
    """The adapter says that it could not do what was asked; the text is its sentence."""


def decoded(line: bytes, kind: type[T], seq: int, with_sum: bool = False) -> T:
    """The answer in a line, which must be of this kind and to the command with this number.

    Raises BadAnswer for anything else, FailedAnswer when the adapter says that it failed.
    """
    if with_sum:
        line = checked(line)
    try:
        data = decode_line(ReadLine(1, 0, line), LIMITS)
        if "failed" in data:
            failed = msgspec.convert(data, Failed)
            needs_seq(failed.seq, seq, line)
            raise FailedAnswer(clean(failed.failed))
        answer = msgspec.convert(data, kind)
    except BadLine as error:
        raise BadAnswer(f"{error}; the line begins {quoted(line)}") from error
    except msgspec.ValidationError as error:
        raise BadAnswer(f"{sentence_of(error, kind)}; the line begins {quoted(line)}") from error
    needs_seq(answer.seq, seq, line)  # type: ignore[attr-defined]
    return answer


def needs_seq(given: int, expected: int, line: bytes) -> None:
    """Refuse the answer to another command."""
    if given != expected:
        raise BadAnswer(
            f"expected the answer to command {expected}, got that to {given}; "
            f"the line begins {quoted(line)}"
        )


def checked(line: bytes) -> bytes:
    """The line without its checksum, which must be right."""
    body, tail = line[:-SUM_LENGTH], line[-SUM_LENGTH:]
    expected = SUM + b"%08x" % zlib.crc32(body) + b'"}'
    if not body.startswith(b"{") or tail != expected:
        raise BadAnswer(
            f"expected a line that ends in {expected.decode()}, got {quoted(tail)}; "
            f"the line begins {quoted(line)}"
        )
    return body + b"}"


def summed(line: bytes) -> bytes:
    """An object's line with its checksum, as a port writes it."""
    body = line[:-1]
    return body + SUM + b"%08x" % zlib.crc32(body) + b'"}'


def sentence_of(error: msgspec.ValidationError, kind: type[msgspec.Struct]) -> str:
    """What was expected and where, as a path from the root of the answer."""
    text, _, path = str(error).rpartition(" - at `")
    if not text:
        text, path = str(error), "$`"
    # The text quotes names and values that the adapter has chosen.
    told = clean(f"{text[0].lower()}{text[1:]}", QUOTED * 3)
    return f"no {kind.__name__.lower()}: {told} at {clean(path.rstrip('`'))}"


def quoted(line: bytes, counted: bool = True) -> str:
    """The beginning of a line as it came, with what is no printable ASCII in escapes.

    Of more than that `counted` tells how much; of a line that was not read to its end nobody knows.
    """
    shown = repr(line[:QUOTED])[1:]
    if len(line) <= QUOTED:
        return shown
    return f"{shown} … ({len(line) - QUOTED} more bytes)" if counted else f"{shown} …"
