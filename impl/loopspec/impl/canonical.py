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

from loopspec.impl.errors import RecordInvalid

DEPTH_MAX = 100
"""Nesting beyond this is refused: a cycle would otherwise end in a recursion error."""


# Tuples are arrays to `json` already; a read-only mapping is offered to `default`.
_encoder = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=dict
)


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
    if not _is_plain(value, 0):
        _check(value, where, 0)
    return _encoder.encode(value).encode("utf-8")


def from_bytes(body: bytes) -> object:
    """Return the frozen value of canonical bytes; raises `ValueError` when they are not JSON."""
    return freeze(json.loads(body.decode("utf-8"), parse_constant=_refuse_constant))


def _refuse_constant(text: str) -> object:
    msg = f"{text} is not JSON"
    raise ValueError(msg)


def _is_plain(value: Any, depth: int) -> bool:  # noqa: ANN401 - told by its exact type
    """Whether a value is JSON at first sight; what is not may be so all the same (`_check`)."""
    kind = type(value)
    if kind is str:
        is_ascii: bool = value.isascii()
        return is_ascii
    if kind is dict and depth < DEPTH_MAX:
        for key, item in value.items():
            if type(key) is not str or not key.isascii() or not _is_plain(item, depth + 1):
                return False
        return True
    if (kind is list or kind is tuple) and depth < DEPTH_MAX:
        return all([_is_plain(item, depth + 1) for item in value])
    return kind is int or kind is bool or value is None


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
