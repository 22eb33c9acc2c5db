"""JSON values: what counts as one, frozen copies, and the canonical bytes of the log.

Canonical means: UTF-8, keys sorted, no blanks. Refused are values that other readers of the
log could not read back: NaN and infinities, lone surrogates, keys that are not strings, and
anything that is not an object, array, string, number, boolean or null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from loopspec.impl.errors import RecordInvalid

DEPTH_MAX = 100
"""Nesting beyond this is refused: a cycle would otherwise end in a recursion error."""


_encode: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode

# Tuples are arrays to `json` already; a read-only mapping is offered to `default`.
_encoder = json.JSONEncoder(allow_nan=False, default=dict)


_LEAVES: Final = frozenset({str, int, float, bool, type(None)})
"""Exact types of values that hold no others."""


def freeze(value: object, depth: int = 0) -> object:
    """Return a deep copy that nobody can change: read-only mappings and tuples (IN-06).

    Values that are not JSON pass unchanged; the append that would record them refuses them.
    Raises `RecordInvalid` for a value that is nested too deep.
    """
    if depth > DEPTH_MAX:
        msg = f"a value is nested deeper than {DEPTH_MAX} levels."
        raise RecordInvalid(msg)
    deeper = depth + 1
    if isinstance(value, dict | Mapping):
        return MappingProxyType(
            {
                key: item if type(item) in _LEAVES else freeze(item, deeper)
                for key, item in value.items()
            }
        )
    if isinstance(value, list | tuple):
        return tuple([item if type(item) in _LEAVES else freeze(item, deeper) for item in value])
    return value


def thaw(value: object) -> object:
    """Return a deep copy made of plain dictionaries and lists, as `json` wants them."""
    if isinstance(value, dict | Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def to_bytes(value: object, where: str) -> bytes:
    """Return the canonical bytes of a JSON value.

    Raises `RecordInvalid` with one sentence that names the place, for anything else.
    """
    return encoded(value, where)[0]


def encoded(value: object, where: str) -> tuple[bytes, Any]:
    """Return the canonical bytes of a JSON value, and a copy of it that they read back as.

    The copy is made of plain dictionaries and lists. Raises `RecordInvalid` with one sentence that
    names the place, for anything that is not JSON.
    """
    try:
        body = _encode(value)
        plain = _decode(body)
        # The encoder knows more types than JSON has (a UUID, a set, an object) and writes NaN as
        # null; none of them is equal to what comes back. A value has no more levels than brackets.
        if body.count(b"{") + body.count(b"[") <= DEPTH_MAX and bool(plain == value):
            return body, plain
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # what is wrong with it, if anything, is found by looking at each part
    _check(value, where, 0)
    plain = json.loads(_encoder.encode(value))
    return _encode(plain), plain


def from_bytes(body: bytes) -> object:
    """Return the frozen value of canonical bytes; raises `ValueError` when they are not JSON."""
    return freeze(json.loads(body.decode("utf-8"), parse_constant=_refuse_constant))


def _refuse_constant(text: str) -> object:
    msg = f"{text} is not JSON"
    raise ValueError(msg)


def _check(value: object, where: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        msg = f"{where} is nested deeper than {DEPTH_MAX} levels."
        raise RecordInvalid(msg)
    if isinstance(value, str):
        _check_text(value, where)
    elif value is None or isinstance(value, int):
        return
    elif isinstance(value, float):
        if not math.isfinite(value):
            msg = f"{where} is {value}, which JSON has no number for."
            raise RecordInvalid(msg)
    elif isinstance(value, dict | Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                msg = f"{where} has the key {key!r}; the keys of a JSON object are strings."
                raise RecordInvalid(msg)
            _check_text(key, f"a key of {where}")
            _check(item, f"{where}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{where}[{index}]", depth + 1)
    else:
        msg = f"{where} is a {type(value).__name__}, which is not a JSON value."
        raise RecordInvalid(msg)


def _check_text(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"{where} holds a lone surrogate at position {error.start}; it is not Unicode text."
        raise RecordInvalid(msg) from None
