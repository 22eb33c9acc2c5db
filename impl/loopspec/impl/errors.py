"""The errors of the implementation: a code, one sentence, and a hint where one helps.

A code is for machines and never changes; the sentence says what was expected, what came and
where. Three causes are kept apart: misuse by the caller (`DuplicateMessageId`, `BadArgument`,
`UnknownName`, `AgentClosed`, `AgentBusy`, `AgentDisposed`), a log that does not take or give
records (`AppendRefused` and its kinds, `FlushFailed`, `LogBusy`, `LogUnreadable`), and a provider
that failed (`loopspec.impl.provider`).
"""

from __future__ import annotations

from typing import ClassVar


class LoopError(Exception):
    """Base of every error that this part raises on purpose."""

    code: ClassVar[str] = "loop-error"

    def __init__(self, sentence: str, hint: str = "") -> None:
        """Keep the sentence and the hint; `str(error)` shows both."""
        super().__init__(sentence if not hint else f"{sentence} Hint: {hint}")
        self.sentence = sentence
        self.hint = hint


class BadArgument(LoopError):
    """A call was made with a value that it cannot mean anything by."""

    code = "bad-argument"


class UnknownName(LoopError):
    """A listener was offered for a seam or event that the catalogue does not list."""

    code = "unknown-name"


class DuplicateMessageId(LoopError):
    """An inserted message has the id of a pending one, in either list or twice in one batch.

    Nothing was recorded, no list changed, nobody was told and no driver was started (ID-03).
    Ids of messages that left the inbox may be used again (IN-13, ID-06).
    """

    code = "duplicate-id"


class AppendRefused(LoopError):
    """The session log did not take a record; log, lists and status are as they were.

    The usual cause is a call that changes the inbox from inside a record listener (RE-01,
    RE-02): move it to a listener of a live event. Others are a value that is not JSON and a
    full or failing disk.
    """

    code = "append-refused"


class RecordInvalid(AppendRefused):
    """The record is not one of the catalogue's, has other keys, or holds a value JSON lacks."""


class LogClosed(AppendRefused):
    """The session log was closed, or lost records that were not flushed yet."""


class DispatchFailed(LoopError):
    """An interceptor of the bus raised, and by policy that is not contained.

    Nobody was told of the event. What had happened before it stands: an inserted message is
    pending and nobody was woken, a claimed batch is lost to its turn, and an agent whose status
    was to be told stays running (ER-08 to ER-10).
    """

    code = "dispatch-failed"


class TurnLeftOpen(LoopError):
    """A turn was asked for behind one whose end the log has refused; by policy none opens."""

    code = "turn-left-open"


class FlushFailed(LoopError):
    """The records appended since the last flush could not be made durable."""

    code = "flush-failed"


class LogBusy(LoopError):
    """Somebody else owns the session log; it has one owner at a time."""

    code = "log-busy"


class ForkRefused(LoopError):
    """A session cannot begin with records that end inside an open turn (RS-09)."""

    code = "fork-refused"


class LogUnreadable(LoopError):
    """The file is missing, is no session log, or holds a record that cannot be read."""

    code = "log-unreadable"


class MessageInvalid(LoopError):
    """A JSON value is not a message: the sentence names the key and what stood there."""

    code = "message-invalid"


class AgentClosed(LoopError):
    """A message was delivered to an agent outside its `async with` block."""

    code = "agent-closed"


class AgentBusy(LoopError):
    """Maintenance was asked of an agent at which something runs; nothing changed (MN-01)."""

    code = "busy"


class AgentDisposed(LoopError):
    """The agent was disposed: it takes no message and starts nothing more (A7)."""

    code = "disposed"


def describe(error: BaseException) -> str:
    """Return the messages of an error and of its causes, outermost first (TB-09)."""
    said: list[str] = []
    at: BaseException | None = error
    while at is not None and len(said) < 10:
        said.append(str(at) or type(at).__name__)
        at = at.__cause__
    return ": ".join(said)
