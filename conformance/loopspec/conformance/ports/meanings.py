"""What the values of the protocol mean, one line each, for the page and for whoever asks.

The names are the model's; a test finds each that the model can answer with, and none beside them.
"""

from __future__ import annotations

from typing import Final

from loopspec.model.words import ERROR_TEXTS

__all__ = ["CHOICES", "VALUES"]

CHOICES: Final[dict[str, dict[str, str]]] = {
    "assemble": {
        "assembled": "the prompt is there: ask for the pre-step decision",
        "failed": "it could not be built: the turn ends with an error",
    },
    "pre-step": {
        "enter": "enter the step with `messages`; with none given, as was proposed; with an empty "
        "list nothing enters, and the turn ends unless it owes a reply",
        "reject": "no step: the turn ends as blocked, and what was claimed stays claimed",
        "raise": "the hook throws: the turn ends with an error",
    },
    "request": {
        "go": "send the request",
        "raise": "the hook throws: step and turn end with an error",
    },
    "provider": {
        "done": "a whole reply, and nothing more is owed",
        "owes": "a whole reply after which the step owes another one, as after tools",
        "tools": "a reply that asks for the tools in `calls`, to run one after the other",
        "parallel": "the same, to run side by side",
        "max-tokens": "a reply that the output limit has cut: the turn will end as max-tokens",
        "partial": "visible text has come; the gate stays open for the rest (`streaming`)",
        "error": "the provider failed: the recovery hook is asked",
        "cut": "the stream broke off, and nobody had aborted: as `error`",
    },
    "request-error": {
        "give-up": "step and turn end with the error of the provider",
        "retry": "another attempt in the same step",
        "raise": "the hook throws: step and turn end with its error",
    },
    "tool": {
        "result": "the tool is done; each of `messages` joins the next step as context",
        "concludes": "the same, and its result concludes the turn: no reply is owed",
        "raise": "the tool throws: its result is an error, and the turn goes on",
    },
    "turn-stopping": {
        "nothing": "let the turn end, unless something was staged for its next step meanwhile",
        "raise": "the hook throws: the turn ends with an error",
    },
    "maintenance": {
        "done": "the task is over: it settles",
        "raise": "the task throws: it settles with an error",
    },
}
"""Each gate with what each of its answers says."""

_CODES: Final = {
    "append-refused": "the log took no record: it refused, or a listener of a record called",
    "dispatch-failed": "an interceptor of the bus threw",
    "duplicate-id": "a message with this id is pending already",
}

VALUES: Final[dict[str, dict[str, str]]] = {
    "`reason` of `turn/end`": {
        "completed": "on the ordinary path; so ends a turn that nothing entered, too",
        "max-tokens": "the same, and a reply was cut by the output limit",
        "blocked": "the pre-step decision was to reject",
        "aborted": "it was cancelled; `cause` says by whom",
        "error": "something failed; `error` says what",
    },
    "`cause` of `turn/end`": {
        "user": "a user cancelled; null where the reason is not `aborted`",
        "parent": "the agent that had begun this one",
        "hook": "a plug-in",
        "disposed": "the session was disposed",
    },
    "`error` of `turn/end`, `agent/error` and `settled`": {
        ERROR_TEXTS["assemble"]: "`assemble: failed`",
        ERROR_TEXTS["pre-step"]: "`pre-step: raise`",
        ERROR_TEXTS["request"]: "`request: raise`",
        ERROR_TEXTS["provider"]: "`provider: error` or `cut`, and nobody tried again",
        ERROR_TEXTS["request-error"]: "`request-error: raise`",
        ERROR_TEXTS["turn-stopping"]: "`turn-stopping: raise`",
        ERROR_TEXTS["maintenance"]: "`maintenance: raise`; of `settled` alone",
        ERROR_TEXTS["disposed"]: "a turn met a disposal at its assembly (by some profiles)",
        "turn-left-open": "the end of the turn before was refused; of `agent/error` alone",
        **_CODES,
    },
    "`outcome` of `agent/inbox/spliced`": {
        "canceled": "what was removed is withdrawn; null at a claim and at an insertion alone",
    },
    "`outcome` of `tool/result`": {
        "ok": "the tool gave a result",
        "error": "the tool threw",
        "aborted": "it ended under an abort; its contexts count, its conclusion does not",
        "skipped": "it was never run, since the turn was aborted before",
    },
    "`raised` of `return`": {
        **_CODES,
        "disposed": "the session was disposed, and takes nothing more",
        "busy": "maintenance was asked for while something runs",
        "log-busy": "`resume` of a session that still owns its log",
        "fork-refused": "`fork` inside an open turn",
    },
}
"""Each key whose values are words, with what each says; its heading names the entries."""
