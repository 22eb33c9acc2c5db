"""The properties: each holds on a trace of the model and is broken by one that is damaged by hand.

A damaged trace breaks one property, and the text of its breach is asserted; where another property
sees the fault too, the test asks for the one that it is about. The traces are the model's own,
changed at one place; what only the last listener is told stays as it is, since properties read what
the first one is told.
"""

from collections.abc import Sequence

import attrs
import pytest

from loopspec.conformance.rules import load_rules
from loopspec.model.describe import entry_text
from loopspec.model.documents import FAULTY, WITNESSES
from loopspec.model.explore import Explored, explore
from loopspec.model.playback import play
from loopspec.model.properties import (
    FAULT_PROPERTIES,
    PROPERTIES,
    Breach,
    Property,
    at_start,
    watch,
)
from loopspec.model.properties.facts import Moment
from loopspec.model.properties.monitor import declare
from loopspec.model.scenario import Scenario, parse_scenario
from loopspec.model.witness import witness
from loopspec.model.words import FIRST, LAST, Entry, Observation, Rest, observation, text_message

A, B = text_message("A"), text_message("B")
BY_CODE = {each.code: each for each in PROPERTIES}


def trace(*lines: str) -> tuple[Entry, ...]:
    """What the first listener is told in a scenario, with the inputs and rests."""
    result = play(parse_scenario("\n".join(lines)))
    assert () == result.skipped
    return tuple(
        entry
        for entry in result.trace
        if not (isinstance(entry, Observation) and entry.listener == LAST)
    )


def breaches(entries: Sequence[Entry]) -> list[Breach]:
    """What all properties report on a trace."""
    ghosts = at_start()
    found: list[Breach] = []
    for entry in entries:
        ghosts, new, _ = watch(ghosts, entry)
        found.extend(new)
    return found


def of(code: str, entries: Sequence[Entry]) -> list[Breach]:
    """What one property reports on a trace."""
    return [breach for breach in breaches(entries) if breach.code == code]


def met(code: str, entries: Sequence[Entry]) -> bool:
    """Whether a trace reaches the premise of a property."""
    alone = (BY_CODE[code],)
    ghosts, reached = at_start(alone), False
    for entry in entries:
        ghosts, _, codes = watch(ghosts, entry, alone)
        reached = reached or code in codes
    return reached


def holds(code: str, *lines: str) -> None:
    """The trace reaches the premise and nobody reports anything."""
    whole = trace(*lines)
    assert [] == breaches(whole)
    assert met(code, whole)


def place(entries: Sequence[Entry], text: str, nth: int = 1) -> int:
    """Where the nth entry stands that prints as `text`."""
    found = [i for i, entry in enumerate(entries) if entry_text(entry).strip() == text]
    assert len(found) >= nth, f"no {text!r} among {[entry_text(entry) for entry in entries]}"
    return found[nth - 1]


def damaged(
    entries: Sequence[Entry], text: str, *instead: Entry, nth: int = 1
) -> tuple[Entry, ...]:
    """The trace with other entries in the place of the one that prints as `text`."""
    index = place(entries, text, nth)
    return (*entries[:index], *instead, *entries[index + 1 :])


def record(name: str, *values: object) -> Observation:
    """A record as the first listener is told of it."""
    return observation("record", name, *values, listener=FIRST)  # type: ignore[arg-type]


def event(name: str, *values: object) -> Observation:
    """An event as the first listener is told of it."""
    return observation("event", name, *values, listener=FIRST)  # type: ignore[arg-type]


ONE_TURN = ("followup A", "pre-step: enter", "provider: done")
TWO_IN_A_BATCH = ("inject B", "followup A", "pre-step: enter", "provider: done")
REJECT = ("followup A", "pre-step: reject")
KEEP_CANCEL = ("followup A", "followup B", "cancel user keep", "assemble: assembled")


# --- BAL ----------------------------------------------------------------------------------------


def test_bal__a_turn_with_a_step__holds() -> None:
    """Opened and closed inside out."""
    holds("BAL", *ONE_TURN)


def test_bal__a_step_is_left_open__breach() -> None:
    """The turn closes over its open step."""
    entries = damaged(trace(*ONE_TURN), "step/end 1.1")

    assert [Breach("BAL", ("turn 1 is open, its step 1 is open.",), "turn/end 1 came")] == breaches(
        entries
    )


def test_bal__a_step_closes_twice__breach() -> None:
    """The second end has nothing to close."""
    end = record("step/end", 1, 1)
    entries = damaged(trace(*ONE_TURN), "step/end 1.1", end, end)

    assert [
        Breach("BAL", ("turn 1 is open, its step 1 is closed.",), "step/end 1.1 came")
    ] == breaches(entries)


def test_bal__a_turn_number_is_skipped__breach() -> None:
    """Turns are numbered one after the other."""
    whole = trace("followup A")
    entries = damaged(
        damaged(whole, "turn/start 1", record("turn/start", 2)),
        "agent/inbox/claimed A 1",
        event("agent/inbox/claimed", A, 2),
    )

    assert [Breach("BAL", ("turn 0 is closed.",), "turn/start 2 came")] == breaches(entries)


# --- OWN ----------------------------------------------------------------------------------------


def test_own__one_claim_of_both_lists__holds() -> None:
    """Each message leaves its list once and is announced once."""
    holds("OWN", *TWO_IN_A_BATCH)


def test_own__an_aborted_batch_goes_back__breach() -> None:
    """A claimed message is inserted again though nobody asked for it."""
    whole = trace("followup A", "cancel user keep", "assemble: assembled")
    back = (
        record("agent/inbox/spliced", "next-turn", 0, 0, (A,), None),
        event("agent/inbox/inserted", A),
    )
    index = place(whole, "turn/end 1 aborted user")
    entries = (*whole[: index + 1], *back, *whole[index + 1 : -1], Rest((A,), (), "idle", ()))

    assert [
        Breach(
            "OWN",
            (
                "the records so far fold to next-turn -, next-step -.",
                "no call is under way.",
            ),
            "A was inserted into next-turn though nobody asked",
        )
    ] == breaches(entries)


def test_own__a_claim_is_never_announced__breach() -> None:
    """The turn took the message and nobody was told."""
    whole = trace("followup A", "cancel user keep", "assemble: assembled")
    entries = damaged(whole, "agent/inbox/claimed A 1")

    assert {
        Breach("OWN", ("a claim took A out of its list.",), "no turn announced it as claimed")
    } == set(breaches(entries))


def test_own__a_claim_outside_a_turn__breach() -> None:
    """No claim exists outside an open turn (CL-07)."""
    whole = trace("append next-turn A")
    entries = (
        *whole[:-1],
        record("agent/inbox/spliced", "next-turn", 0, 1, (), None),
        event("agent/inbox/claimed", A, 1),
        Rest((), (), "idle", ()),
    )

    assert [Breach("OWN", ("no turn is open.",), "A was claimed")] == breaches(entries)


# --- REJ ----------------------------------------------------------------------------------------


def test_rej__a_reject_closes_its_turn__holds() -> None:
    """No step, nothing back, blocked."""
    holds("REJ", *REJECT)


def test_rej__a_step_opens_all_the_same__breach() -> None:
    """The step is balanced and the turn blocked, and still it must not be."""
    whole = trace(*REJECT)
    index = place(whole, "turn/end 1 blocked")
    step = (record("step/start", 1, 1), record("step/end", 1, 1))
    entries = (*whole[:index], *step, *whole[index:])

    assert [
        Breach("REJ", ("the pre-step decision over A was to reject.",), "step/start followed")
    ] == breaches(entries)


def test_rej__the_rejected_turn_stays_open__breach() -> None:
    """At rest a rejected turn is closed."""
    whole = trace(*REJECT)
    index = place(whole, "turn/end 1 blocked")
    entries = (*whole[:index], Rest((), (), "running", (("pre-step", False),)))

    assert [
        Breach(
            "REJ",
            ("the pre-step decision over A was to reject.",),
            "the turn is not closed and the session is running",
        )
    ] == breaches(entries)


# --- LOST ---------------------------------------------------------------------------------------


def test_lost__a_cancel_keeps_the_inbox__holds() -> None:
    """The queue survives the stop."""
    holds("LOST", *KEEP_CANCEL)


def test_lost__an_entered_message_is_not_recorded__breach() -> None:
    """The request goes out without what the decision entered."""
    entries = damaged(trace(*ONE_TURN), "user/message A")

    assert [
        Breach(
            "LOST",
            ("the pre-step decision enters A.",),
            "provider came and no user/message had recorded it",
        )
    ] == breaches(entries)


def test_lost__the_inbox_differs_from_the_records__breach() -> None:
    """A list forgets what the log holds."""
    whole = trace("inject A")
    entries = (*whole[:-1], Rest((), (), "idle", ()))

    assert {
        Breach(
            "LOST",
            ("the records fold to next-turn -, next-step A.",),
            "the inbox shows next-turn -, next-step -",
        )
    } == set(breaches(entries))


def test_lost__an_insertion_is_not_announced__breach() -> None:
    """The record is there, and no live listener heard of it."""
    entries = damaged(trace("inject A"), "agent/inbox/inserted A")

    assert [Breach("LOST", ("a record inserted A.",), "no listener was told of it")] == breaches(
        entries
    )


# --- ORDER --------------------------------------------------------------------------------------


def test_order__a_batch_of_two_enters__holds() -> None:
    """Context first, then the prompt."""
    holds("ORDER", *TWO_IN_A_BATCH)


def test_order__two_entered_messages_change_places__breach() -> None:
    """Nothing is lost, and the model reads it the wrong way round."""
    whole = trace(*TWO_IN_A_BATCH)
    first, second = place(whole, "user/message B"), place(whole, "user/message A")
    assert second == first + 1
    entries = (*whole[:first], whole[second], whole[first], *whole[second + 1 :])

    because = "the decision enters B,A, in this order, after step/start."
    assert Breach("ORDER", (because,), "user/message A came inside a step") == breaches(entries)[0]
    assert {"ORDER"} == {breach.code for breach in breaches(entries)}


def test_order__inserted_comes_before_discarded__breach() -> None:
    """A replacement retires the old message first (LN-04)."""
    whole = trace("inject A", "replace A B")
    first = place(whole, "agent/inbox/discarded A")
    entries = (*whole[:first], whole[first + 1], whole[first], *whole[first + 2 :])

    because = "the newest splice still owes: agent/inbox/discarded A, agent/inbox/inserted B."
    assert Breach("ORDER", (because,), "agent/inbox/inserted B came") == breaches(entries)[0]
    assert {"ORDER"} == {breach.code for breach in breaches(entries)}


def test_order__a_turn_takes_two_prompts__breach() -> None:
    """The next-turn list gives one message to a turn (CL-02)."""
    whole = trace("append next-turn B", "followup A")
    claimed = event("agent/inbox/claimed", B, 1)
    entries = damaged(
        damaged(
            whole,
            "agent/inbox/spliced next-turn@0 -1",
            record("agent/inbox/spliced", "next-turn", 0, 2, (), None),
        ),
        "agent/inbox/claimed B 1",
        claimed,
        event("agent/inbox/claimed", A, 1),
    )
    entries = (*entries[:-1], Rest((), (), "running", (("assemble", False),)))

    assert [
        Breach(
            "ORDER",
            ("the lists are next-turn B,A, next-step -.",),
            "B,A was claimed from next-turn, which gives one message to a turn",
        )
    ] == breaches(entries)


# --- CAUSE --------------------------------------------------------------------------------------


def test_cause__an_abort_ends_a_turn__holds() -> None:
    """Two cancels, and the first is recorded."""
    holds("CAUSE", "followup A", "cancel hook keep", "cancel user drop", "assemble: assembled")


def test_cause__the_second_cause_wins__breach() -> None:
    """The record names who came later."""
    whole = trace("followup A", "cancel hook keep", "cancel user drop", "assemble: assembled")
    end = record("turn/end", 1, "aborted", "user", None)
    entries = damaged(whole, "turn/end 1 aborted hook", end)

    assert [
        Breach(
            "CAUSE",
            ("the first cancel of this turn came from hook.",),
            "the turn ended as aborted by user",
        )
    ] == breaches(entries)


def test_cause__a_failure_is_not_reported__breach() -> None:
    """An error that ends a turn is told before the end (TB-12)."""
    entries = damaged(trace("followup A", "assemble: failed"), "agent/error 1.0 assembly failed")

    assert [
        Breach(
            "CAUSE",
            ("an error is reported before the end of its turn.",),
            "the turn ended as error without a report",
        )
    ] == breaches(entries)


def test_cause__a_failure_reads_as_completed__breach() -> None:
    """Nobody canceled, the provider failed, and the record says that all is well."""
    whole = trace("followup A", "pre-step: enter", "provider: error")
    whole = damaged(whole, "agent/error 1.1 provider failed")
    end = record("turn/end", 1, "completed", None, None)
    entries = damaged(whole, "turn/end 1 error provider failed", end)

    assert [
        Breach(
            "CAUSE",
            ("nobody canceled, and the last answer was failed.",),
            "the turn ended as completed",
        )
    ] == breaches(entries)


# --- WAKE ---------------------------------------------------------------------------------------

LATE = (*ONE_TURN, "after turn/end#1 +1: followup B")


def test_wake__in_the_exit_gap__holds() -> None:
    """A message that comes after the last look starts a driver."""
    holds("WAKE", *LATE)


def test_wake__in_the_exit_gap_nobody_drives__breach() -> None:
    """The driver goes idle over it."""
    whole = trace(*LATE)
    index = place(whole, "agent/status idle")
    entries = (*whole[: index + 1], Rest((B,), (), "idle", ()))

    assert [
        Breach(
            "WAKE",
            ("B asked to wake when no driver would look again.",),
            "the session is idle and no driver was started for it",
        )
    ] == of("WAKE", entries)


def test_wake__on_an_idle_session_nobody_drives__breach() -> None:
    """The plainest lost wake."""
    whole = trace("followup A")
    start, end = place(whole, "agent/status running"), place(whole, "followup returns")
    entries = (*whole[:start], whole[end], Rest((A,), (), "idle", ()))

    assert [
        Breach(
            "WAKE",
            ("A asked to wake when no driver would look again.",),
            "the session is idle and no driver was started for it",
        )
    ] == breaches(entries)


# --- QUIET --------------------------------------------------------------------------------------


def test_quiet__a_canceled_turn_ends__holds() -> None:
    """No decision, no step, no request after the cancel."""
    holds("QUIET", "followup A", "cancel user keep", "assemble: assembled")


def test_quiet__an_injection_starts_a_driver__breach() -> None:
    """Nobody asked to wake."""
    whole = trace("inject A")
    entries = (
        *whole[:-1],
        event("agent/status", "running"),
        record("turn/start", 1),
        record("agent/inbox/spliced", "next-step", 0, 1, (), None),
        event("agent/inbox/claimed", A, 1),
        observation("gate", "assemble", 1, 1),
        Rest((), (), "running", (("assemble", False),)),
    )

    assert [Breach("QUIET", ("every wake so far has had its driver.",), "a driver started")] == of(
        "QUIET", entries
    )


def test_quiet__a_canceled_turn_asks_for_a_decision__breach() -> None:
    """The waterfall runs for a turn that is over."""
    whole = trace("followup A", "cancel user keep", "assemble: assembled")
    index = place(whole, "turn/end 1 aborted user")
    entries = (*whole[:index], observation("gate", "pre-step", 1, 1, (A,)), *whole[index:])

    assert [
        Breach("QUIET", ("the open turn was canceled.",), "pre-step of step 1 came")
    ] == breaches(entries)


# --- STATUS -------------------------------------------------------------------------------------


def test_status__idle_after_a_turn__holds() -> None:
    """Running and idle alternate."""
    holds("STATUS", *ONE_TURN)


def test_status__the_end_is_not_published__breach() -> None:
    """The status reads idle, and the last that was heard is running."""
    entries = damaged(trace(*ONE_TURN), "agent/status idle")

    assert [
        Breach("STATUS", ("the last published status is running.",), "the session reads idle")
    ] == breaches(entries)


def test_status__idle_is_published_inside_a_turn__breach() -> None:
    """Who waits for idle goes on too early."""
    whole = trace(*ONE_TURN)
    index = place(whole, "turn/end 1 completed")
    idle = place(whole, "agent/status idle")
    entries = (*whole[:index], whole[idle], whole[index], *whole[idle + 1 :])

    assert [
        Breach(
            "STATUS", ("the status is running and a turn is open.",), "status idle was published"
        )
    ] == breaches(entries)


def test_status__a_waiter_is_forgotten__breach() -> None:
    """Nothing runs any more, and nobody was told."""
    entries = damaged(trace("followup A", "when-idle", "assemble: failed"), "when-idle settles")

    assert [
        Breach("STATUS", ("when-idle waits for idle.",), "nothing runs, and it waits on")
    ] == breaches(entries)


# --- CAUSE, OWN and ORDER, what tools and the output limit add ------------------------------------


def test_cause__the_output_limit_is_forgotten__breach() -> None:
    """A later step does not make the turn whole (OF-02)."""
    whole = trace("followup A", "pre-step: enter", "provider: max-tokens")
    entries = damaged(
        whole, "turn/end 1 max-tokens", record("turn/end", 1, "completed", None, None)
    )
    what = "nobody canceled, and the last answer was done, behind one that was cut by the output"

    assert [Breach("CAUSE", (f"{what} limit.",), "the turn ended as completed")] == breaches(
        entries
    )


def test_cause__a_report_names_another_step__breach() -> None:
    """A failure before the first step names none (ER-11)."""
    whole = trace("followup A", "assemble: failed")
    entries = damaged(
        whole,
        "agent/error 1.0 assembly failed",
        event("agent/error", 1, 1, "assembly failed"),
    )

    assert [
        Breach("CAUSE", ("no step of the turn was entered.",), "the report names step 1")
    ] == breaches(entries)


def test_cause__a_canceled_reply_reads_as_complete__breach() -> None:
    """What was streamed before the abort is recorded as interrupted (ST-12)."""
    whole = trace(
        "followup A", "pre-step: enter", "provider: partial", "cancel user keep", "provider: done"
    )
    entries = damaged(
        whole,
        "assistant/message 1.1 interrupted",
        record("assistant/message", 1, 1, (), False),
    )

    assert [
        Breach(
            "CAUSE",
            ("the first cancel of this turn came from user.",),
            "the reply was recorded as complete",
        )
    ] == breaches(entries)


def test_own__somebody_takes_what_waits__breach() -> None:
    """No call is under way that would take it."""
    whole = trace("followup A", "append next-turn B", "assemble: failed")
    index = place(whole, "turn/end 1 error assembly failed")
    taken = record("agent/inbox/spliced", "next-turn", 0, 1, (), "canceled")
    gone = event("agent/inbox/discarded", B)
    entries = (*whole[:index], taken, gone, *whole[index:-1])
    because = ("the records so far fold to next-turn B, next-step -.", "no call is under way.")

    assert Breach("OWN", because, "B was taken out of next-turn though nobody asked") in breaches(
        entries
    )


PARALLEL = ("followup A", "pre-step: enter", "provider: parallel x y")


def test_order__results_in_the_order_of_the_reply__holds() -> None:
    """Y finishes first and is committed second; its context follows it."""
    holds("DUP", *PARALLEL, "tool y: result B", "tool x: result", "pre-step: enter")


def test_order__results_in_the_order_of_their_ends__breach() -> None:
    """The record of x stands before that of y (TC-01)."""
    whole = trace(*PARALLEL, "tool y: result", "tool x: result")
    x, y = place(whole, "tool/result 1.1 x ok"), place(whole, "tool/result 1.1 y ok")
    entries = list(whole)
    entries[x], entries[y] = whole[y], whole[x]

    assert [
        Breach("ORDER", ("results are due for x, y, in this order.",), "the result of y came first")
    ] == breaches(entries)


def test_order__a_context_is_left_out__breach() -> None:
    """It joins next-step behind the record of its result, before the step ends (TC-02)."""
    whole = trace("followup A", "pre-step: enter", "provider: tools x", "tool x: result B")
    first, last = place(whole, "tool/result 1.1 x ok") + 1, place(whole, "step/end 1.1") + 1

    assert [
        Breach(
            "ORDER",
            ("the result handed over B.",),
            "step/end came and it was not in next-step yet",
        )
    ] == breaches((*whole[:first], whole[last - 1]))


# --- SCOPE --------------------------------------------------------------------------------------


def test_scope__a_cancel_takes_what_was_pending__holds() -> None:
    """What its own listeners deliver meanwhile stays."""
    holds(
        "SCOPE",
        *("inject A", "in agent/inbox/discarded#1 last: append next-turn B"),
        "cancel user drop",
    )


def test_scope__late_steering_stays_in_next_step__breach() -> None:
    """Under an aborted signal it becomes a prompt of its own (RT-09)."""
    whole = trace("followup A", "cancel user keep", "steer B")
    insertion = record("agent/inbox/spliced", "next-step", 0, 0, (B,), None)
    entries = damaged(whole, "agent/inbox/spliced next-turn@0 +B", insertion)
    why = "steer was made under an aborted signal, so it goes to next-turn."

    assert Breach("SCOPE", (why,), "B went to next-step") in breaches(entries)


def test_scope__a_claim_names_the_turn_before__breach() -> None:
    """A message belongs to the turn that is open (CL-06)."""
    whole = trace("followup A")
    entries = damaged(whole, "agent/inbox/claimed A 1", event("agent/inbox/claimed", A, 0))

    assert [Breach("SCOPE", ("turn 1 is open.",), "claimed names turn 0")] == breaches(entries)


def test_scope__a_clear_leaves_something__breach() -> None:
    """What was pending when it began is gone when it returns (IN-14)."""
    whole = trace("inject A", "clear")
    first = place(whole, "agent/inbox/spliced next-step@0 -1 canceled")
    entries = (*whole[:first], *whole[first + 2 : -1])

    assert [
        Breach("SCOPE", ("A was pending when clear began.",), "it returned and had not removed it")
    ] == breaches(entries)


# --- TERM ---------------------------------------------------------------------------------------


def test_term__a_reply_is_owed__holds() -> None:
    """The turn takes another step, and ends when nothing is left."""
    holds("TERM", "followup A", "pre-step: enter", "provider: owes", "pre-step: enter nothing")


def test_term__a_turn_ends_with_steering_pending__breach() -> None:
    """Steering during a step is claimed at the next boundary of the turn (RT-05)."""
    whole = trace("followup A", "pre-step: enter", "steer B", "provider: done")
    index = place(whole, "step/end 1.1") + 1
    end = record("turn/end", 1, "completed", None, None)

    assert [
        Breach("TERM", ("B is pending in next-step.",), "the turn ended as completed")
    ] == breaches((*whole[:index], end))


def test_term__a_step_that_nobody_asked_for__breach() -> None:
    """No reply is owed, and nothing waits for the turn (PS-21)."""
    whole = trace(*ONE_TURN)
    index = place(whole, "step/end 1.1") + 1
    because = ("no reply is owed and nothing was pending in next-step.",)

    assert [Breach("TERM", because, "step 2 was proposed")] == breaches(
        (*whole[:index], observation("gate", "assemble", 1, 2))
    )


def test_term__a_driver_goes_on_behind_a_reject__breach() -> None:
    """It stops, and what waits is parked (DR-09)."""
    whole = trace("followup A", "followup B", "pre-step: reject")
    index = place(whole, "turn/end 1 blocked") + 1

    assert [
        Breach("TERM", ("the turn before ended as blocked.",), "another one opened")
    ] == breaches((*whole[:index], record("turn/start", 2)))


def test_term__a_driver_stops_with_prompts_left__breach() -> None:
    """Behind an ordinary end it goes on while anything is pending (DR-08)."""
    whole = trace("followup A", "followup B", "pre-step: enter", "provider: done")
    index = place(whole, "turn/end 1 completed") + 1
    because = ("the turn ended as completed with next-turn B, next-step - pending.",)

    assert [Breach("TERM", because, "the driver went idle")] == breaches(
        (*whole[:index], event("agent/status", "idle"))
    )


def test_term__nothing_is_open_and_nothing_happens__breach() -> None:
    """A running session waits for somebody."""
    whole = trace("followup A")
    rest = whole[-1]
    assert isinstance(rest, Rest)

    assert [
        Breach("TERM", ("the session is running and no gate is open.",), "nothing more happens")
    ] == breaches((*whole[:-1], rest._replace(gates=())))


# --- DUP ----------------------------------------------------------------------------------------


def test_dup__an_empty_splice_is_recorded__breach() -> None:
    """What changes nothing leaves no record (SP-04)."""
    whole = trace("splice next-turn 0 0")
    index = place(whole, "splice returns -")
    empty = record("agent/inbox/spliced", "next-turn", 0, 0, (), None)

    assert [Breach("DUP", ("nothing changed.",), "a splice was recorded")] == breaches(
        (*whole[:index], empty, *whole[index:])
    )


def test_dup__a_reply_is_recorded_twice__breach() -> None:
    """The provider has answered once."""
    whole = trace(*ONE_TURN)
    reply = whole[place(whole, "assistant/message 1.1")]
    entries = damaged(whole, "assistant/message 1.1", reply, reply)

    assert [
        Breach("DUP", ("the provider has not answered again.",), "a reply was recorded")
    ] == breaches(entries)


def test_dup__a_call_without_a_result__breach() -> None:
    """Each call of a reply gets one result, whatever happens (TC-04)."""
    whole = trace("followup A", "pre-step: enter", "provider: tools x", "tool x: result")
    entries = damaged(whole, "tool/result 1.1 x ok")

    assert [Breach("DUP", ("the reply asks for x.",), "no result came of it")] == breaches(entries)


# --- PARK ---------------------------------------------------------------------------------------


def test_park__a_preserved_queue_advances__holds() -> None:
    """The aborted turn has renewed its wake."""
    holds("PARK", *KEEP_CANCEL)


def test_park__a_preserved_queue_waits__breach() -> None:
    """No reason holds it."""
    whole = trace(*KEEP_CANCEL)
    index = place(whole, "agent/status idle") + 1
    rest = Rest((B,), (), "idle", ())
    because = ("B asked to wake, and the last turn ended as aborted.",)

    assert [Breach("PARK", because, "the session is idle, and no reason holds it")] == breaches(
        (*whole[:index], rest)
    )


def test_park__a_driver_for_quiet_work__breach() -> None:
    """Context does not run by itself, not even behind an aborted turn (RT-11)."""
    whole = trace("followup A", "inject B", "cancel user keep", "assemble: assembled")
    running = event("agent/status", "running")

    assert [Breach("PARK", ("nobody among B asked to wake.",), "a driver started")] == breaches(
        (*whole[:-1], running)
    )


# --- All of them --------------------------------------------------------------------------------


# --- RESUME -------------------------------------------------------------------------------------

CRASH = ("inject B", "followup A", "pre-step: enter", "provider: tools x y", "steer C", "crash")


def opened(code: str, turn: int, *lists: tuple[object, ...]) -> Observation:
    """A log that opens with next-turn, next-step and the repairs."""
    return observation("opened", code, turn, *lists)  # type: ignore[arg-type]


def test_resume__a_crash_while_a_tool_runs__holds() -> None:
    """One call was started, the other was not; what came after the flush is gone."""
    holds("RESUME", *CRASH)


REPAIRED = (
    "tool/result x outcome-unknown",
    "tool/result y not-started",
    "step/end",
    "turn/end interrupted",
)
OPENS = "crash opens after turn 1: next-turn -  next-step -  + " + ", ".join(REPAIRED)


@pytest.mark.parametrize(
    ("turn", "next_turn", "repaired"),
    [
        (1, (A,), REPAIRED),
        (1, (), REPAIRED[1:]),
        (1, (), ("step/end", *REPAIRED[:2], "turn/end interrupted")),
        (1, (), ()),
        (2, (), REPAIRED),
        (0, (), ()),
    ],
    ids=["claim back", "a call forgotten", "out of order", "left open", "number", "all lost"],
)
def test_resume__opened_otherwise__breach(
    turn: int, next_turn: tuple[object, ...], repaired: tuple[str, ...]
) -> None:
    """What was claimed, answered or acknowledged is not what the log opens with."""
    wrong = opened("crash", turn, next_turn, (), repaired)

    found = of("RESUME", damaged(trace(*CRASH), OPENS, wrong))
    assert 1 == len(found)
    assert found[0].because[0].startswith("the log may hold turn 1, next-turn -, next-step -, ")
    assert found[0].however.startswith(f"crash opened turn {turn}, next-turn ")


def test_resume__later_records_that_were_durable_all_the_same__holds() -> None:
    """A subject may flush more often than it has to."""
    later = opened("crash", 1, (), (text_message("C"),), REPAIRED)

    assert [] == of("RESUME", damaged(trace(*CRASH), OPENS, later))


def test_resume__half_a_claim__breach() -> None:
    """CL-11: one deletion of a claim is durable and the other is not."""
    whole = trace("inject B", "in agent/inbox/spliced#4 first: crash", "followup A")
    half = opened("crash", 1, (A,), (), ("turn/end interrupted",))

    assert of("RESUME", damaged(whole, entry_text(whole[-2]).strip(), half))


def test_resume__a_fork_with_another_queue__breach() -> None:
    """A fork begins empty or with what is pending, and with no other turn number."""
    whole = trace("inject A", "fork")
    shown = "fork opens after turn 0: next-turn -  next-step -"

    assert [] == breaches(whole)
    assert [] == of("RESUME", damaged(whole, shown, opened("fork", 0, (), (A,), ())))
    assert of("RESUME", damaged(whole, shown, opened("fork", 0, (), (B,), ())))
    assert of("RESUME", damaged(whole, shown, opened("fork", 1, (), (), ())))


@pytest.fixture(scope="module")
def explored() -> Explored:
    """The scope in which the page of properties finds its witnesses."""
    return explore(WITNESSES)


@pytest.fixture(scope="module")
def faulty() -> Explored:
    """The scope in which it finds those of runs with faults."""
    return explore(FAULTY)


SHORTEST = {
    "BAL": ("followup A", "pre-step: enter", "provider: done"),
    "OWN": ("inject A", "followup B"),
    "REJ": ("followup A", "pre-step: reject"),
    "LOST": ("inject A", "cancel user keep"),
    "ORDER": ("inject A", "followup B", "pre-step: enter"),
    "CAUSE": ("followup A", "cancel user keep", "assemble: assembled"),
    "WAKE": ("followup A", "cancel user keep", "followup B"),
    "QUIET": ("followup A", "cancel user keep", "assemble: assembled"),
    "STATUS": ("followup A", "assemble: failed"),
    "SCOPE": ("inject A", "cancel user drop"),
    "TERM": ("followup A", "pre-step: enter", "provider: owes", "pre-step: enter"),
    "DUP": ("followup A", "pre-step: enter", "provider: tools x"),
    "PARK": KEEP_CANCEL,
    "REFUSED": ("refuse agent/inbox/spliced", "followup A"),
    "TORN": ("followup A", "refuse turn/end", "assemble: failed"),
    "REPORT": ("refuse turn/start", "followup A"),
    "RESUME": ("followup A", "flush", "crash"),
}


@pytest.mark.parametrize("each", PROPERTIES, ids=lambda each: each.code)
def test_each_premise_is_reached_by_a_shortest_witness(
    each: Property, explored: Explored, faulty: Explored
) -> None:
    """The shortest witness of the *sometimes* reaches it when it is played."""
    where = faulty if each in FAULT_PROPERTIES else explored
    scenario = witness(where, *where.met[each.code])
    shown = tuple(str(line) for line in scenario.lines)

    assert SHORTEST[each.code] == shown
    assert met(each.code, trace(*shown))


@pytest.mark.parametrize("each", PROPERTIES, ids=lambda each: each.code)
def test_each_property_is_a_documented_sentence(each: Property) -> None:
    """One string in code, documents and failures; rule ids that exist; no empty premise."""
    assert each.step.__doc__ == f"{each.code}: {each.sentence}"
    assert each.rules
    assert set(each.rules) <= set(load_rules())
    assert each.sometimes
    assert not met(each.code, ())


def test_a_property_without_a_sentence_is_refused() -> None:
    """The documents would have nothing to print."""

    def nameless(ghost: None, at: Moment) -> tuple[None, tuple[Breach, ...]]:
        """Looks at nothing."""
        return ghost, ()

    with pytest.raises(ValueError, match=r"nameless needs a docstring 'CODE: sentence\.'"):
        declare(nameless, None, "TB-01", "", "never", lambda ghost, at: False)


@pytest.mark.parametrize("each", PROPERTIES, ids=lambda each: each.code)
def test_a_monitor_is_asked_about_what_it_reads(each: Property) -> None:
    """Each name that it reads is that of some moment, and it is asked about no other."""
    entries = trace(
        *("inject X", "followup A", "in agent/inbox/inserted#2 first: followup B"),
        *("pre-step: enter", "steer S", "replace S T", "provider: owes", "pre-step: enter"),
        *("provider: error", "followup C", "cancel user keep", "assemble: assembled"),
        *("pre-step: reject", "clear", "maintenance", "when-idle", "maintenance: done"),
        *("followup D", "pre-step: enter", "provider: tools x", "tool x: result K"),
        *("pre-step: enter", "provider: max-tokens", "flush", "crash", "dispose"),
    )
    asked: list[str] = []

    def step(ghost: object, at: Moment) -> tuple[object, tuple[Breach, ...]]:
        asked.append(at.name)
        return each.step(ghost, at)

    spied = (attrs.evolve(each, step=step),)
    ghosts = at_start(spied)
    for entry in entries:
        ghosts, _, _ = watch(ghosts, entry, spied)

    held = {"request", "request-error", "turn-stopping"}
    assert each.reads - held <= set(asked) <= each.reads


def test_a_scenario_shows_all_of_it() -> None:
    """A scenario without lines breaks nothing and meets nothing."""
    assert [] == breaches(play(Scenario()).trace)


def test_a_task_whose_end_is_told_late_is_not_the_one_that_runs() -> None:
    """The end of a maintenance task is told a tick on; by then another may run, and be canceled."""
    entries = trace(
        "followup A",
        "pre-step: reject",
        "maintenance",
        "followup B",
        "maintenance: done",
        "after agent/status#3 +1: maintenance",
        "after agent/status#3 +1: cancel user keep",
        "in agent/status#3 first: cancel user keep",
    )
    assert [] == breaches(entries)
