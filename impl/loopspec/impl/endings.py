"""How a turn ends: the reason of a `turn/end`, with the cause of an abort or the failure."""

from __future__ import annotations

from typing import Final

import attrs

from loopspec.impl.errors import MessageInvalid
from loopspec.impl.messages import exact_keys, one_of

CAUSES: Final = ("user", "parent", "hook", "disposed")
ENDINGS: Final = ("completed", "max-tokens", "blocked", "aborted", "error", "interrupted")


@attrs.frozen
class Failure:
    """Why a turn ended in `error`: a message for people, a code for machines (TB-09)."""

    message: str
    code: str = "UNKNOWN"

    def to_json(self) -> dict[str, object]:
        """Return the failure as the log has it."""
        return {"message": self.message, "code": self.code}


@attrs.frozen
class Ending:
    """How a turn ended: one of `ENDINGS`, with the cause of an abort or the failure of an error.

    `interrupted` is written for a turn that a crash left open, never by a driver.
    """

    kind: str
    cause: str | None = None
    error: Failure | None = None

    def to_json(self) -> dict[str, object]:
        """Return the `reason` of a `turn/end`."""
        if self.kind == "aborted":
            return {"kind": self.kind, "reason": {"kind": self.cause}}
        if self.error is not None:
            return {"kind": self.kind, "error": self.error.to_json()}
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, data: object, where: str = "reason") -> Ending:
        """Read the `reason` of a `turn/end` strictly; raises `MessageInvalid`."""
        loose = exact_keys(data, where, ("kind",), ("reason", "error"))
        kind = one_of(loose, "kind", where, ENDINGS)
        if kind == "aborted":
            reason = exact_keys(data, where, ("kind", "reason"))["reason"]
            cause = exact_keys(reason, f"{where}.reason", ("kind",))
            return cls(kind, cause=one_of(cause, "kind", f"{where}.reason", CAUSES))
        if kind == "error":
            inner = exact_keys(data, where, ("kind", "error"))["error"]
            error = exact_keys(inner, f"{where}.error", ("message", "code"))
            message, code = error["message"], error["code"]
            if not isinstance(message, str) or not isinstance(code, str):
                msg = f"{where}.error must have a message and a code that are strings."
                raise MessageInvalid(msg)
            return cls(kind, error=Failure(message, code))
        exact_keys(data, where, ("kind",))
        return cls(kind)
