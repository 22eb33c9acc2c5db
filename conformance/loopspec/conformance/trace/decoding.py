"""One line as a record, strictly: whatever two readers could take for different things is named.

Theory. `msgspec` refuses what is no JSON, invalid UTF-8, lone surrogates and numbers that are not
finite. It lets two things pass: a key that stands twice, of which it keeps the last, and integers
of any size. A key that was dropped shows when the value is written again and its keys are counted;
only then, and for what was refused, a slow reader looks for the place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from loopspec.conformance.trace.reading import Limits, Line

__all__ = ["BadLine", "decode_line"]

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1

decode: Final = msgspec.json.Decoder().decode
encode: Final = msgspec.json.Encoder().encode


DIGITS: Final = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
LONG: Final = b"0" * 19
"""A run of digits in which an integer may be hidden that 64 bits do not hold."""


class BadLine(ValueError):
    """A line that is no record which every reader takes for the same; the text says why."""


def keys_in(text: bytes) -> int:
    """How many keys a compact JSON text has, for comparing two texts of one value."""
    return text.count(b'":') - text.count(b'\\":')


def decode_line(line: Line, limits: Limits) -> dict[str, Any]:
    """The JSON object of a line.

    Raises BadLine with one sentence that names the place.
    """
    text = line.text
    if text.count(b"{") + text.count(b"[") > limits.depth:
        needs_flat(text, limits.depth)
    try:
        value = decode(text)
        again = encode(value)
    except (msgspec.MsgspecError, RecursionError, OverflowError, ValueError) as error:
        raise BadLine(why_not(line, error)) from error
    if type(value) is not dict:
        raise BadLine(f"expected a JSON object, got {kind_of(value)}")
    unclear = keys_in(text) != keys_in(again) or b'\\\\":' in text
    if unclear or LONG in text.translate(DIGITS):
        look_closely(text)
    return value


def needs_flat(text: bytes, depth: int) -> None:
    """Refuse brackets nested deeper than `depth`; those in strings do not count."""
    now = 0
    in_string = escaped = False
    for place, byte in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"{[":
            now += 1
            if now > depth:
                raise BadLine(f"expected at most {depth} nested brackets, got more at byte {place}")
        elif byte in b"}]":
            now -= 1


def kind_of(value: object) -> str:
    """A JSON value's kind, in words."""
    kinds = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def why_not(line: Line, error: Exception) -> str:
    """Why a line could not be read, with the byte offset in the log where it is known."""
    text = line.text
    try:
        words = text.decode()
    except UnicodeDecodeError as wrong:
        at = line.offset + wrong.start
        return f"expected UTF-8, got the byte 0x{text[wrong.start]:02x} at offset {at}"
    try:
        look_closely(text)
    except BadLine as found:
        return str(found)
    if not words.strip():
        return "expected a JSON object, got an empty line"
    return f"expected a JSON object, got {words[:40]!r}: {str(error).split(' - at ')[0]}"


def look_closely(text: bytes) -> None:
    """Read a line with the slow reader, which sees keys, numbers and characters one by one.

    Raises BadLine naming a key that stands twice, a number that is not exact, a lone surrogate.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=needs_distinct_keys,
            parse_int=needs_int64,
            parse_float=needs_finite,
            parse_constant=needs_number,
        )
    except BadLine:
        raise
    except (ValueError, RecursionError):
        return
    for string in strings_of(value):
        for index, char in enumerate(string):
            if "\ud800" <= char <= "\udfff":
                raise BadLine(
                    f"expected text, got the lone surrogate \\u{ord(char):04x} at {index}"
                )


def needs_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadLine(f"expected each key once, got {key!r} twice")
            seen.add(key)
    return found


def needs_int64(text: str) -> int:
    """An integer that every reader keeps exactly."""
    if len(text) > 20 or not INT_MIN <= int(text) <= INT_MAX:
        raise BadLine(f"expected integers of 64 bits, got {text[:40]}")
    return int(text)


def needs_finite(text: str) -> float:
    """A number that is not infinite once it is read."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadLine(f"expected finite numbers, got {text[:40]}")
    return number


def needs_number(text: str) -> float:
    """No JSON text holds NaN or Infinity."""
    raise BadLine(f"expected JSON, got {text}")


def strings_of(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Every string in a JSON value."""
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            todo += [*each, *each.values()]
        elif isinstance(each, list):
            todo += each
