"""The rows of one step: entry, request, provider, tools, and what the step amounts to.

Theory. A step opens before its messages are recorded, and they are recorded whatever comes (ST-02).
Each attempt asks the request hook, then the provider. A failed attempt is offered to the recovery
hook, which may ask for another one in the same step (ST-16). Tool calls run one after the other,
or side by side; their results are committed in the provider's order (TC-01), each followed by the
contexts that it brought (TC-02). Once the signal is aborted nothing new starts: calls that never
ran are recorded as skipped (TC-04), and what was visible of a cut answer is kept (ST-12).

A step that is done may still be extended: by a reply that it owes, by input for the next step, or
by what the turn-stopping hook stages (TS-03).
"""

from typing import Final

from loopspec.model.rows import always, chose, fails, nothing, row
from loopspec.model.session import (
    AfterStep,
    AfterTools,
    Arrive,
    Claim,
    CloseStep,
    Commit,
    Context,
    EnterStep,
    Item,
    OpenGate,
    Recovered,
    Replied,
    Request,
    Requested,
    Session,
    Splice,
    Stopping,
    Suspend,
    ToolDone,
    Tools,
)
from loopspec.model.table_driver import abort_turn, end_with_outcome, hook_raised, tell_record
from loopspec.model.table_inbox import signal_is_aborted, told
from loopspec.model.words import ERROR_TEXTS, NEXT_STEP

# --- Entry and request --------------------------------------------------------------------------


def enters_when_prepared(session: Session, _: EnterStep) -> bool:
    """By policy messages are recorded once the first request is prepared."""
    return session.policy.entry == "prepared"


def open_step(session: Session, frame: EnterStep) -> Session:
    """Record step/start; request; close the step; decide what follows. Nothing has entered yet."""
    number = session.step + 1
    record = tell_record(session, "step/start", session.turn, number)
    opened = session.but(step=number, batch=frame.messages)
    return opened.go(record, Request(), CloseStep(), AfterStep())


def enter_step(session: Session, frame: EnterStep) -> Session:
    """Record step/start, then user/message each; request; close the step; decide what follows."""
    number = session.step + 1
    return session.but(step=number, batch=()).go(
        tell_record(session, "step/start", session.turn, number),
        *(tell_record(session, "user/message", message) for message in frame.messages),
        Request(),
        CloseStep(),
        AfterStep(),
    )


def ask_request_hook(session: Session, _: Request) -> Session:
    """A new attempt: ask the request hook."""
    return session.but(streamed=False).go(Arrive("request"))


fail_request = fails("Unwind with that error.", "error", ERROR_TEXTS["request"])


def has_not_entered(session: Session, _: Requested) -> bool:
    """There are messages that have not entered yet."""
    return bool(session.batch)


def enter_late(session: Session, frame: Requested) -> Session:
    """Record user/message each; look again."""
    records = (tell_record(session, "user/message", message) for message in session.batch)
    return session.but(batch=()).go(*records, frame)


def call_provider(session: Session, _: object) -> Session:
    """What was recorded is durable; call the provider."""
    return session.flushed().go(Arrive("provider"))


REQUESTS: Final = (
    row("enter step", "before its messages", "ST-01 ST-02", enters_when_prepared, open_step),
    row("enter step", "", "ST-01 ST-02 CL-13", always, enter_step),
    told("step/start", "ST-01 ST-03"),
    told("user/message", "ST-01 IN-07"),
    row("request", "under an aborted signal", "ST-02 ST-03", signal_is_aborted, abort_turn),
    row("request", "of a new attempt", "ST-06 ST-07", always, ask_request_hook),
    row("requested", "under an aborted signal", "TB-08", signal_is_aborted, abort_turn),
    row("requested", "by raising", "ST-07 ST-19", hook_raised, fail_request),
    row("requested", "with messages to enter", "ST-01 ST-02", has_not_entered, enter_late),
    row("requested", "", "ST-01", always, call_provider),
)

# --- The provider's answer ----------------------------------------------------------------------


def is_cut_after_text(session: Session, _: Replied) -> bool:
    """The signal is aborted and the attempt has streamed visible text."""
    return session.aborted and session.streamed


def keep_prefix(session: Session, frame: Replied) -> Session:
    """Record the interrupted assistant/message; then unwind as aborted."""
    record = tell_record(session, "assistant/message", session.turn, session.step, (), True)
    return session.but(streamed=False).go(record, frame)


streams_on = chose("Text came, and the answer goes on.", "partial")


def stream(session: Session, _: Replied) -> Session:
    """The text is visible; the provider goes on."""
    return session.but(streamed=True).go(Arrive("provider"))


provider_failed = chose("The provider failed, or cut its answer without an abort.", "error", "cut")


def ask_recovery(session: Session, _: Replied) -> Session:
    """The attempt is void; ask the recovery hook."""
    return session.but(streamed=False).go(Arrive("request-error"))


def tell_reply(session: Session, outcome: str | None, owes: bool, *calls: str) -> Session:
    """Record assistant/message and fold the outcome: once max-tokens, always (OF-02)."""
    kept = "max-tokens" if session.outcome == "max-tokens" else outcome
    record = tell_record(session, "assistant/message", session.turn, session.step, calls, False)
    return session.but(outcome=kept, owes=owes, streamed=False, concluded=False).go(record)


was_truncated = chose("The answer was cut by the output limit.", "max-tokens")


def reply_truncated(session: Session, _: Replied) -> Session:
    """Record assistant/message without calls; the outcome is max-tokens; no reply is owed."""
    return tell_reply(session, "max-tokens", False)


asks_for_tools = chose("The provider asks for tools, one after the other.", "tools")


def run_tools(session: Session, frame: Replied) -> Session:
    """Record assistant/message with its calls; run them one after the other."""
    left = session.go(Tools(frame.calls))
    return tell_reply(left, None, True, *frame.calls)


asks_side_by_side = chose("The provider asks for tools that run side by side.", "parallel")


def run_side_by_side(session: Session, frame: Replied) -> Session:
    """Record assistant/message with its calls; start all; commit in order."""
    left = session.go(Tools(frame.calls, True))
    return tell_reply(left, None, True, *frame.calls)


owes_a_reply = chose("The step owes a reply, for reasons that stay abstract.", "owes")


def reply_owing(session: Session, _: Replied) -> Session:
    """Record assistant/message; a reply is owed as after tools."""
    return tell_reply(session.go(AfterTools()), None, True)


def reply_done(session: Session, _: Replied) -> Session:
    """Record assistant/message; the outcome is completed unless it is max-tokens."""
    return tell_reply(session, "completed", False)


fail_recovery = fails("Unwind with that error.", "error", ERROR_TEXTS["request-error"])

recovery_retries = chose("The hook asks for another attempt.", "retry")


def retry(session: Session, _: Recovered) -> Session:
    """Another attempt in the same step."""
    return session.go(Request())


fail_step = fails("Unwind with the provider's error.", "error", ERROR_TEXTS["provider"])


REPLIES: Final = (
    row("replied", "under an abort, after text", "ST-12 ST-14", is_cut_after_text, keep_prefix),
    row("replied", "under an aborted signal", "TB-08 CN-13 ST-13", signal_is_aborted, abort_turn),
    row("replied", "in part", "ST-10", streams_on, stream),
    row("replied", "with a failure", "ST-16 ST-17", provider_failed, ask_recovery),
    row("replied", "up to the output limit", "TB-06 TC-07", was_truncated, reply_truncated),
    row("replied", "with tool calls", "TC-08", asks_for_tools, run_tools),
    row("replied", "with calls side by side", "TC-01", asks_side_by_side, run_side_by_side),
    row("replied", "owing a reply", "OF-01 TC-08", owes_a_reply, reply_owing),
    row("replied", "to the end", "TB-05 ST-11", always, reply_done),
    told("assistant/message", "ST-11 CN-17"),
    row("recovered", "under an aborted signal", "ST-18", signal_is_aborted, abort_turn),
    row("recovered", "by raising", "ST-20", hook_raised, fail_recovery),
    row("recovered", "with another attempt", "ST-16", recovery_retries, retry),
    row("recovered", "with nothing", "ST-16 TB-09", always, fail_step),
)

# --- Tools --------------------------------------------------------------------------------------


def others_went_before(session: Session, frame: Tools) -> bool:
    """By policy a driver awaits its parts, and no tick has passed behind a call before."""
    return session.policy.awaits == "parts" and frame.behind


def await_others(session: Session, frame: Tools) -> Session:
    """One tick; then look again."""
    return session.go(Suspend(), frame._replace(behind=False))


def no_call_is_left(session: Session, frame: Tools) -> bool:
    """Every call has its result."""
    return not frame.calls


def finish_tools(session: Session, _: Tools) -> Session:
    """See what the batch amounts to."""
    return session.go(AfterTools())


def skip_call(session: Session, frame: Tools) -> Session:
    """Record the next call and its result as skipped; then the rest."""
    call, *rest = frame.calls
    return session.go(
        tell_record(session, "tool/call", session.turn, session.step, call),
        tell_record(session, "tool/result", session.turn, session.step, call, "skipped"),
        frame._replace(calls=tuple(rest)),
    )


def runs_side_by_side(session: Session, frame: Tools) -> bool:
    """The calls run side by side, and one is left to start."""
    return frame.together and bool(frame.calls)


def start_beside(session: Session, frame: Tools) -> Session:
    """Record and start the next call; then the rest beside it."""
    call, *rest = frame.calls
    return session.go(
        tell_record(session, "tool/call", session.turn, session.step, call),
        OpenGate(f"tool {call}"),
        frame._replace(calls=tuple(rest), started=(*frame.started, call), behind=True),
    )


def has_started(session: Session, frame: Tools) -> bool:
    """Calls run side by side, and no other will start."""
    return bool(frame.started) and (session.aborted or not frame.calls)


def commit_started(session: Session, frame: Tools) -> Session:
    """Commit the results of what has started, in order; then the rest."""
    return session.go(Commit(frame.started), Tools(frame.calls, behind=True))


def start_next(session: Session, frame: Tools) -> Session:
    """Record and start the next call; commit its result; then the rest."""
    call, *rest = frame.calls
    return session.go(
        tell_record(session, "tool/call", session.turn, session.step, call),
        OpenGate(f"tool {call}"),
        Commit((call,)),
        Tools(tuple(rest), behind=True),
    )


def nothing_to_commit(session: Session, frame: Commit) -> bool:
    """Every result of these calls is committed."""
    return not frame.calls


def answer_of(session: Session, call: str) -> ToolDone | None:
    """What the tool answered, if it has."""
    return next((done for done in session.finished if done.call == call), None)


def next_has_finished(session: Session, frame: Commit) -> bool:
    """The next call in order has its answer."""
    return answer_of(session, frame.calls[0]) is not None


def commit_next(session: Session, frame: Commit) -> Session:
    """Commit the next result; then the rest."""
    done = answer_of(session, frame.calls[0])
    assert done is not None
    left = tuple(each for each in session.finished if each is not done)
    return session.but(finished=left).go(done, Commit(frame.calls[1:]))


def await_next(session: Session, frame: Commit) -> Session:
    """Await the answer of the next call in order."""
    return session.go(Suspend(f"tool {frame.calls[0]}"), frame)


never_ran = chose("The call was aborted before it ran.", "skipped")


def commit_skipped(session: Session, frame: ToolDone) -> Session:
    """Record tool/result skipped."""
    return tell_result(session, frame, "skipped")


tool_raised = chose("The tool raised.", "raise")


def tell_result(session: Session, frame: ToolDone, outcome: str) -> Session:
    """Record tool/result; then each context joins next-step."""
    record = tell_record(session, "tool/result", session.turn, session.step, frame.call, outcome)
    return session.go(record, *(Context(message) for message in frame.contexts))


def commit_error(session: Session, frame: ToolDone) -> Session:
    """Record tool/result error, also under an abort; nothing is concluded."""
    return tell_result(session, frame, "error")


def end_aborted(session: Session, frame: ToolDone) -> Session:
    """Record tool/result aborted; its contexts are accepted, its conclusion is not."""
    return tell_result(session, frame, "aborted")


tool_concludes = chose("The result concludes the turn.", "concludes")


def commit_conclusion(session: Session, frame: ToolDone) -> Session:
    """Record tool/result ok; the step has concluded; contexts join next-step."""
    return tell_result(session.but(concluded=True), frame, "ok")


def commit_result(session: Session, frame: ToolDone) -> Session:
    """Record tool/result ok; contexts join next-step."""
    return tell_result(session, frame, "ok")


def accept_context(session: Session, frame: Context) -> Session:
    """Insert at the tail of next-step as quiet."""
    tail = len(session.next_step)
    return session.go(Splice(NEXT_STEP, tail, 0, (Item(frame.message),)))


def has_concluded(session: Session, _: AfterTools) -> bool:
    """A result has concluded the turn."""
    return session.concluded


def conclude(session: Session, _: AfterTools) -> Session:
    """No reply is owed; the outcome is completed unless it is max-tokens."""
    outcome = "max-tokens" if session.outcome == "max-tokens" else "completed"
    return session.but(owes=False, outcome=outcome, concluded=False)


def truncation_sticks(session: Session, _: AfterTools) -> bool:
    """The outcome is max-tokens, and by policy it sticks to the whole outcome."""
    return session.outcome == "max-tokens" and session.policy.truncation == "outcome"


def owe_nothing(session: Session, _: AfterTools) -> Session:
    """No reply is owed."""
    return session.but(owes=False)


TOOLS: Final = (
    row("tools", "behind others, a tick later", "TC-08 LN-10", others_went_before, await_others),
    row("tools", "that have started", "TC-01 TC-04", has_started, commit_started),
    row("tools", "with none left", "TC-03", no_call_is_left, finish_tools),
    row("tools", "under an aborted signal", "TC-04 CN-17", signal_is_aborted, skip_call),
    row("tools", "side by side", "TC-01", runs_side_by_side, start_beside),
    row("tools", "one after the other", "TC-08", always, start_next),
    told("tool/call", "TC-04"),
    row("commit", "with nothing left", "TC-01", nothing_to_commit, nothing),
    row("commit", "of a finished call", "TC-01", next_has_finished, commit_next),
    row("commit", "of a call that runs", "TC-01 CN-13", always, await_next),
    row("tool done", "that never ran", "TC-04", never_ran, commit_skipped),
    row("tool done", "by raising", "TC-04", tool_raised, commit_error),
    row(
        "tool done", "under an aborted signal", "TC-04 TC-05 TC-12", signal_is_aborted, end_aborted
    ),
    row("tool done", "with a conclusion", "TC-09 TC-10", tool_concludes, commit_conclusion),
    row("tool done", "with a result", "TC-02 TC-08", always, commit_result),
    told("tool/result", "TC-01 TC-02"),
    row("context", "of a tool", "TC-02 TC-05 TC-11 RT-16", always, accept_context),
    row("after tools", "with a conclusion", "TC-09 TC-10", has_concluded, conclude),
    row("after tools", "of a truncated turn", "OF-03", truncation_sticks, owe_nothing),
    row("after tools", "with a reply owed", "TC-08 OF-04", always, nothing),
)

# --- The end of a step --------------------------------------------------------------------------


def a_tool_runs(session: Session, _: CloseStep) -> bool:
    """A tool that ran beside one that failed has not answered."""
    return any(gate.startswith("tool ") for gate in session.gates)


def await_tool(session: Session, frame: CloseStep) -> Session:
    """Await its answer; then look again."""
    gate = next(gate for gate in session.gates if gate.startswith("tool "))
    return session.go(Suspend(gate), frame)


def step_has_not_waited(session: Session, frame: CloseStep) -> bool:
    """By policy a driver awaits its parts, and no tick has passed."""
    return session.policy.awaits == "parts" and not frame.waited


def close_later(session: Session, frame: CloseStep) -> Session:
    """One tick; then look again."""
    return session.go(Suspend(), frame._replace(waited=True))


def close_step(session: Session, _: CloseStep) -> Session:
    """Record step/end; answers that were not committed are forgotten."""
    record = tell_record(session, "step/end", session.turn, session.step)
    return session.but(finished=()).go(record)


def has_failed(session: Session, _: AfterStep) -> bool:
    """The ending of the turn is decided."""
    return session.ending is not None


def goes_on(session: Session, _: AfterStep) -> bool:
    """A reply is owed or next-step has input."""
    return session.owes or bool(session.next_step)


def continue_turn(session: Session, _: object) -> Session:
    """Claim for a continuation."""
    return session.go(Claim(False))


def ask_stopping_hook(session: Session, _: AfterStep) -> Session:
    """Ask the turn-stopping hook."""
    return session.go(Arrive("turn-stopping"))


fail_stopping = fails(
    "Unwind with that error; what it staged is parked.", "error", ERROR_TEXTS["turn-stopping"]
)


def input_was_staged(session: Session, _: Stopping) -> bool:
    """Next-step has input."""
    return bool(session.next_step)


ENDINGS: Final = (
    row("close step", "behind a tool that runs", "TC-06", a_tool_runs, await_tool),
    row("close step", "a tick later", "ST-05 LN-10", step_has_not_waited, close_later),
    row("close step", "", "ST-01 ST-05 TB-18", always, close_step),
    told("step/end", "ST-05 TB-18"),
    row("after step", "under an abort", "TB-08 TB-13 CN-17", signal_is_aborted, abort_turn),
    row("after step", "that failed", "TB-18", has_failed, nothing),
    row("after step", "with more to do", "CL-01 RT-05 RT-08 OF-06 TS-06", goes_on, continue_turn),
    row("after step", "with nothing more to do", "TS-01 PS-21", always, ask_stopping_hook),
    row("stopping", "under an aborted signal", "TS-08", signal_is_aborted, abort_turn),
    row("stopping", "by raising", "TS-07", hook_raised, fail_stopping),
    row("stopping", "with input staged", "TS-03 TS-05 TS-10", input_was_staged, continue_turn),
    row("stopping", "with nothing staged", "TB-05 TB-06 TS-04", always, end_with_outcome),
)

ROWS: Final = REQUESTS + REPLIES + TOOLS + ENDINGS
