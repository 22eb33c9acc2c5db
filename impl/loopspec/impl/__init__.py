"""A real agent loop: asyncio, an inbox of two lists, and an append-only SQLite session log.

The names below are the public ones; they are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopspec.impl.bus import Bus
    from loopspec.impl.clock import counted_ids, fixed_clock, random_ids, system_clock
    from loopspec.impl.consumed import ConsumedWork, consumed_work
    from loopspec.impl.endings import Ending, Failure
    from loopspec.impl.errors import (
        AgentBusy,
        AgentClosed,
        AgentDisposed,
        AppendRefused,
        BadArgument,
        DispatchFailed,
        DuplicateMessageId,
        FlushFailed,
        ForkRefused,
        LogBusy,
        LogClosed,
        LogUnreadable,
        LoopError,
        MessageInvalid,
        RecordInvalid,
        TurnLeftOpen,
        UnknownName,
    )
    from loopspec.impl.export import export_session, import_session
    from loopspec.impl.inbox import Inbox, fold_inbox
    from loopspec.impl.log import SessionLog
    from loopspec.impl.loop import Agent
    from loopspec.impl.messages import DataBlock, Message, TextBlock, text_message
    from loopspec.impl.payloads import (
        Assemble,
        Claimed,
        Discarded,
        Enter,
        Failed,
        GiveUp,
        Inserted,
        PreStep,
        Reject,
        RequestFailed,
        Requesting,
        Retry,
        StatusChanged,
        TurnStopping,
    )
    from loopspec.impl.policy import Policy
    from loopspec.impl.provider import (
        Provider,
        ProviderCut,
        ProviderError,
        Reply,
        Request,
        ScriptedProvider,
    )
    from loopspec.impl.records import InboxSpliced, Record
    from loopspec.impl.resume import crash_tail, fork, repair, seed
    from loopspec.impl.signal import Signal
    from loopspec.impl.store import Store
    from loopspec.impl.tools import ToolCall, ToolResult, Tools, ToolUse

_HOMES = {
    "bus": ("Bus",),
    "clock": (
        "counted_ids",
        "fixed_clock",
        "random_ids",
        "system_clock",
    ),
    "consumed": (
        "ConsumedWork",
        "consumed_work",
    ),
    "errors": (
        "AgentBusy",
        "AgentClosed",
        "AgentDisposed",
        "AppendRefused",
        "BadArgument",
        "DispatchFailed",
        "DuplicateMessageId",
        "FlushFailed",
        "ForkRefused",
        "LogBusy",
        "LogClosed",
        "LogUnreadable",
        "LoopError",
        "MessageInvalid",
        "RecordInvalid",
        "TurnLeftOpen",
        "UnknownName",
    ),
    "export": (
        "export_session",
        "import_session",
    ),
    "inbox": (
        "Inbox",
        "fold_inbox",
    ),
    "log": ("SessionLog",),
    "loop": ("Agent",),
    "messages": (
        "DataBlock",
        "Message",
        "TextBlock",
        "text_message",
    ),
    "payloads": (
        "Assemble",
        "Claimed",
        "Discarded",
        "Enter",
        "Failed",
        "GiveUp",
        "Inserted",
        "PreStep",
        "Reject",
        "RequestFailed",
        "Requesting",
        "Retry",
        "StatusChanged",
        "TurnStopping",
    ),
    "policy": ("Policy",),
    "provider": (
        "Provider",
        "ProviderCut",
        "ProviderError",
        "Reply",
        "Request",
        "ScriptedProvider",
    ),
    "endings": (
        "Ending",
        "Failure",
    ),
    "records": (
        "InboxSpliced",
        "Record",
    ),
    "resume": (
        "crash_tail",
        "fork",
        "repair",
        "seed",
    ),
    "signal": ("Signal",),
    "store": ("Store",),
    "tools": (
        "ToolCall",
        "ToolResult",
        "ToolUse",
        "Tools",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AgentBusy",
    "AgentClosed",
    "AgentDisposed",
    "AppendRefused",
    "Assemble",
    "BadArgument",
    "Bus",
    "Claimed",
    "ConsumedWork",
    "DataBlock",
    "Discarded",
    "DispatchFailed",
    "DuplicateMessageId",
    "Ending",
    "Enter",
    "Failed",
    "Failure",
    "FlushFailed",
    "ForkRefused",
    "GiveUp",
    "Inbox",
    "InboxSpliced",
    "Inserted",
    "LogBusy",
    "LogClosed",
    "LogUnreadable",
    "LoopError",
    "Message",
    "MessageInvalid",
    "Policy",
    "PreStep",
    "Provider",
    "ProviderCut",
    "ProviderError",
    "Record",
    "RecordInvalid",
    "Reject",
    "Reply",
    "Request",
    "RequestFailed",
    "Requesting",
    "Retry",
    "ScriptedProvider",
    "SessionLog",
    "Signal",
    "StatusChanged",
    "Store",
    "TextBlock",
    "ToolCall",
    "ToolResult",
    "ToolUse",
    "Tools",
    "TurnLeftOpen",
    "TurnStopping",
    "UnknownName",
    "consumed_work",
    "counted_ids",
    "crash_tail",
    "export_session",
    "fixed_clock",
    "fold_inbox",
    "fork",
    "import_session",
    "random_ids",
    "repair",
    "seed",
    "system_clock",
    "text_message",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
