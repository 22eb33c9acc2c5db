"""The probes of the whole loop, in the notation of the contract, under one profile or two.

`+T[x]` and `+S[x]` insert into next-turn and next-step, `-T` `-S` are claims, `!T` `!S` canceled
deletions; `{n` opens turn n, `(k` step k; `u x` is a user message, `a` a reply with its calls, `a~`
an interrupted one; `c x` and `r x` are a call and its result with the outcome, `)k` closes the
step, `}n` the turn with its reason and cause. `R` and `I` are the status, `error n.k` is a report,
`stop` the arrival at the stop check, `maintenance` that of its task; `call! code` is a call that
raises, `call. error` a settlement. What each trace must be was written by hand from the contract.
"""

from typing import Final

import pytest

from loopspec.model.playback import play
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import LAST, Message, Observation, Value

STOP: Final = "gates turn-stopping\n"


def ids(value: Value) -> str:
    """The ids of messages."""
    assert isinstance(value, tuple)
    return ",".join(each.id for each in value if isinstance(each, Message))


def short(seen: Observation, lists: dict[str, list[str]]) -> str:
    """One observation in the notation of the contract; nothing for what that leaves out."""
    match seen.kind, seen.name:
        case "return", name:
            return f"{name}! {seen.get('raised')}" if seen.get("raised") else ""
        case "settled", name:
            return f"{name}." + (f" {seen.get('error')}" if seen.get("error") else "")
        case _, "agent/inbox/spliced":
            place = "T" if seen.get("target") == "next-turn" else "S"
            start, count, inserted = seen.get("start"), seen.get("removed"), seen.get("inserted")
            assert isinstance(start, int)
            assert isinstance(count, int)
            gone, new = lists[place][start : start + count], ids(inserted)
            lists[place][start : start + count] = new.split(",") if new else []
            sign = "!" if seen.get("outcome") else "-"
            parts = [f"{sign}{place}[{','.join(gone)}]"] if gone else []
            return " ".join([*parts, *([f"+{place}[{new}]"] if new else [])])
        case _, "turn/start":
            return "{" + str(seen.get("turn"))
        case _, "turn/end":
            cause = f"/{seen.get('cause')}" if seen.get("cause") else ""
            return "}" + f"{seen.get('turn')} {seen.get('reason')}{cause}"
        case _, "step/start":
            return f"({seen.get('step')}"
        case _, "step/end":
            return f"){seen.get('step')}"
        case _, "user/message":
            message = seen.get("message")
            assert isinstance(message, Message)
            return f"u {message.id}"
        case _, "assistant/message":
            return "a~" if seen.get("interrupted") else "a"
        case "record", "tool/call":
            return f"c {seen.get('call')}"
        case _, "tool/result":
            return f"r {seen.get('call')} {seen.get('outcome')}"
        case _, "agent/status":
            return "R" if seen.get("status") == "running" else "I"
        case _, "agent/error":
            return f"error {seen.get('turn')}.{seen.get('step')}"
        case "gate", "turn-stopping":
            return "stop"
        case "gate", "maintenance":
            return "maintenance"
        case _:
            return ""


def shown(scenario: str, profile: str = "notes") -> str:
    """What the scenario gives, on one line; every line of it must have had its moment."""
    result = play(parse_scenario(f"profile {profile}\n{scenario}"))
    assert () == result.skipped
    lists: dict[str, list[str]] = {"T": [], "S": []}
    told = [
        short(entry, lists)
        for entry in result.trace
        if isinstance(entry, Observation) and entry.listener != LAST
    ]
    pending = [f"{place}:{','.join(items)}" for place, items in lists.items() if items]
    return " ".join([*filter(None, told), *pending])


def check(scenario: str, **expected: str) -> None:
    """The traces under the profiles named: `dsh` is release 0.1, `later` 0.2, `park` notes-park."""
    for name, trace in expected.items():
        profile = {"dsh": "dsh-0.1", "later": "dsh-0.2", "park": "notes-park"}.get(name, name)
        assert " ".join(trace.split()) == shown(scenario, profile), profile


OPEN: Final = "+T[A] R {1 -T[A]"
ENTERED: Final = f"{OPEN} (1 u A"


def test_p2__limit_then_steering_then_a_tool__the_reply_stays_owed() -> None:
    """The release ends the turn with the tool's result unread (A3, OF-03)."""
    begin = f"{ENTERED} a )1 stop +S[M] -S[M] (2 u M a c x r x ok )2"
    check(
        STOP + "followup A\nin turn-stopping#1: steer M\npre-step: enter\nprovider: max-tokens\n"
        "turn-stopping: nothing\npre-step: enter\nprovider: tools x\ntool x: result\n",
        notes=begin,
        dsh=f"{begin} stop",
    )


def test_p7__a_wake_between_cancel_and_disposal_and_idle__never_driven() -> None:
    """The release looks at the winning cause, so that turn 2 runs (WL-07, A2)."""
    begin = f"{OPEN} +T[B] }}1 aborted/user I"
    check(
        "followup A\ncancel user keep\ndispose\nfollowup B\nassemble: assembled\n",
        notes=f"{begin} dispose. T:B",
        dsh=f"{begin} R {{2 -T[B]",
    )


def test_q1__a_prompt_at_the_idle_of_a_disposal__starts_nothing() -> None:
    """The release starts a run and disposal waits for it (DI-07, A1)."""
    begin = f"{OPEN} }}1 aborted/disposed I +T[B]"
    check(
        "followup A\nin agent/status#2 last: followup B\ndispose\nassemble: assembled\n",
        notes=f"{begin} dispose. T:B",
        dsh=f"{begin} R {{2 -T[B]",
    )


def test_p24__an_idle_listener_sends__running_idle_running_idle() -> None:
    """The nested driver starts inside the listener (WL-11, WI-07)."""
    trace = (
        f"{ENTERED} a )1 }}1 completed I +T[B] R {{2 -T[B] (1 u B a )1 }}2 completed I when-idle."
    )
    check(
        "followup A\nin agent/status#2 first: followup B\nwhen-idle\npre-step: enter\n"
        "provider: done\npre-step: enter\nprovider: done\n",
        notes=trace,
        dsh=trace,
    )


def test_p31__a_quiet_prompt_then_a_waking_one__two_turns_in_order() -> None:
    """Who waits is told while messages are parked (WI-04)."""
    trace = "+T[A] when-idle. +T[B] R {1 -T[A] (1 u A a )1 }1 completed {2 -T[B]"
    check(
        "append next-turn A\nwhen-idle\nfollowup B\npre-step: enter\nprovider: done\n",
        notes=trace,
        dsh=trace,
    )


def test_p32__quiet_deliveries_in_maintenance__parked() -> None:
    """A nested maintenance raises (MN-01, MN-04)."""
    trace = "maintenance +S[A] maintenance! busy +T[B] maintenance. S:A T:B"
    scenario = "maintenance\ninject A\nmaintenance\nappend next-turn B\nmaintenance: done\n"
    assert trace.replace("S:A T:B", "T:B S:A") == shown(scenario)
    assert shown(scenario) == shown(scenario, "dsh-0.1")


def test_p33__a_wake_then_a_keep_cancel_in_maintenance__driven() -> None:
    """The wake stands (WL-09)."""
    trace = "maintenance +T[A] R {1 -T[A] maintenance."
    check("maintenance\nfollowup A\ncancel user keep\nmaintenance: done\n", notes=trace, dsh=trace)


def test_q13__a_broad_cancel_between_two_wakes_in_maintenance__the_second_runs() -> None:
    """It is redirected to next-turn (RT-13, MN-07)."""
    trace = "maintenance +S[A] !S[A] +T[B] R {1 -T[B] maintenance."
    check(
        "maintenance\nsteer A\ncancel user drop\nsteer B\nmaintenance: done\n",
        notes=trace,
        dsh=trace,
    )


def test_p36__a_late_wake_removed__what_was_parked_before() -> None:
    """A wake leaves with its message in `notes`; the release runs the older P (WL-06, A9)."""
    begin = "+T[P] +S[A] R {1 -S[A] -T[P] +T[Q] +T[B] !T[B] }1 aborted/user I"
    scenario = (
        "append next-turn P\nsteer A\nappend next-turn Q\ncancel user keep\nfollowup B\n"
        "remove B\nassemble: assembled\n"
    )
    check(scenario, notes=f"{begin} T:Q", dsh=f"{begin} R {{2 -T[Q]")


def test_p46__the_second_decision_raises__reported_with_step_one() -> None:
    """The last entered step is named (ER-11)."""
    trace = f"{ENTERED} +S[B] a )1 -S[B] error 1.1 }}1 error I"
    check(
        "followup A\npre-step: enter\nsteer B\nprovider: done\npre-step: raise\n",
        notes=trace,
        dsh=trace,
    )


def test_p48_p49__a_conclusion_with_input_pending__no_stop_check_between() -> None:
    """The context goes on with the turn, whose later tool is owed a reply (OF-04, TS-06)."""
    trace = (
        f"{ENTERED} a c x r x ok +S[B] )1 -S[B] (2 u B a c y r y ok )2 (3 a )3 stop }}1 completed I"
    )
    check(
        STOP + "followup A\npre-step: enter\nprovider: tools x\ntool x: concludes B\n"
        "pre-step: enter\nprovider: tools y\ntool y: result\npre-step: enter\nprovider: done\n"
        "turn-stopping: nothing\n",
        notes=trace,
        dsh=trace,
    )


def test_p50__a_cancel_on_the_finish_of_streamed_text__interrupted() -> None:
    """Not completed (ST-14)."""
    trace = f"{ENTERED} a~ )1 }}1 aborted/user I"
    check(
        "followup A\nafter provider answer#2 +0: cancel user keep\npre-step: enter\n"
        "provider: partial\nprovider: done\n",
        notes=trace,
        dsh=trace,
    )


def test_p53__maintenance_at_idle_with_a_late_wake__maintenance_first() -> None:
    """It runs first, then the turn (WL-12)."""
    trace = f"{OPEN} +T[B] }}1 aborted/user I maintenance R {{2 -T[B] maintenance."
    check(
        "followup A\nin agent/status#2 last: maintenance\ncancel user keep\nfollowup B\n"
        "assemble: assembled\nmaintenance: done\n",
        notes=trace,
        dsh=trace,
    )


def test_q2__a_broad_cancel_on_idle__both_lists_cleared() -> None:
    """Durably, next-step first (CN-07)."""
    trace = "+S[A] +T[B] !S[A] !T[B]"
    check("inject A\nappend next-turn B\ncancel user drop\n", notes=trace, dsh=trace)


def test_q4__the_stop_hook_injects_and_follows_up__step_and_turn() -> None:
    """The hook runs again at the next natural stop (TS-03 to TS-05)."""
    trace = f"{ENTERED} a )1 stop +S[B] +T[C] -S[B] (2 u B a )2 stop }}1 completed {{2 -T[C]"
    check(
        STOP + "followup A\npre-step: enter\nprovider: done\ninject B\nfollowup C\n"
        "turn-stopping: nothing\npre-step: enter\nprovider: done\nturn-stopping: nothing\n",
        notes=trace,
        dsh=trace,
    )


def test_q6__an_injection_at_the_recovery__waits_for_step_two() -> None:
    """The retry stays in step 1 (ST-16)."""
    trace = f"{ENTERED} +S[B] a )1 -S[B] (2 u B"
    check(
        "gates request-error\nfollowup A\nin request-error#1: inject B\npre-step: enter\n"
        "provider: error\nrequest-error: retry\nprovider: done\npre-step: enter\n",
        notes=trace,
        dsh=trace,
    )


def test_q7__keep_cancel_with_both_lists_pending__the_queue_advances() -> None:
    """The release and `notes-park` park it until the next wake (Δ2, CN-11)."""
    begin = f"{OPEN} +T[B] +S[S] }}1 aborted/user I"
    scenario = "followup A\nfollowup B\nsteer S\ncancel user keep\nassemble: assembled\n"
    check(
        scenario,
        notes=f"{begin} R {{2 -S[S] -T[B]",
        park=f"{begin} T:B S:S",
        dsh=f"{begin} T:B S:S",
    )
    later = f"{begin} +T[C] R {{2 -S[S] -T[B] T:C"
    check(scenario + "followup C\n", park=later, dsh=later)


def test_q8__the_end_of_a_plain_turn__step_turn_then_the_waiter() -> None:
    """The status becomes idle before the waiter is told (DR-12)."""
    trace = f"{ENTERED} a )1 }}1 completed I when-idle."
    check("followup A\nwhen-idle\npre-step: enter\nprovider: done\n", notes=trace, dsh=trace)


def test_q5__one_plain_turn__one_decision() -> None:
    """No second one is asked for (PS-21)."""
    result = play(parse_scenario("followup A\npre-step: enter\nprovider: done\n"))

    assert 1 == sum(isinstance(e, Observation) and e.name == "pre-step" for e in result.trace)


def test_q11__failed_after_text__no_reply() -> None:
    """The text of a failed attempt never becomes a message (ST-17)."""
    trace = f"{ENTERED} )1 error 1.1 }}1 error I"
    check(
        "followup A\npre-step: enter\nprovider: partial\nprovider: error\n",
        notes=trace,
        dsh=trace,
    )


def test_q15__an_empty_entry_behind_a_tool__a_step_opens() -> None:
    """A reply is owed (PS-12)."""
    trace = f"{ENTERED} a c x r x ok )1 (2 a )2 }}1 completed I"
    check(
        "followup A\npre-step: enter\nprovider: tools x\ntool x: result\npre-step: enter nothing\n"
        "provider: done\n",
        notes=trace,
        dsh=trace,
    )


def test_r15__a_tool_that_ignores_the_abort__all_in_turn_two() -> None:
    """Injection, steer, context, and the redirected steer last (WL-04, WL-05)."""
    trace = (
        f"{ENTERED} a c x +S[I] +S[S] +T[T] r x aborted +S[K] )1 }}1 aborted/user I "
        "R {2 -S[I,S,K] -T[T]"
    )
    check(
        "followup A\npre-step: enter\nprovider: tools x\ninject I\nsteer S\ncancel user keep\n"
        "steer T\ntool x: result K\n",
        notes=trace,
        dsh=trace,
    )


def test_s1__the_listener_steers_and_empties_the_decision__turn_two() -> None:
    """Turn 1 ends behind step 1; the steering alone opens turn 2 (DR-10)."""
    trace = f"{ENTERED} +S[B] a )1 -S[B] +S[C] }}1 completed {{2 -S[C]"
    check(
        "followup A\npre-step: enter\ninject B\nprovider: done\n"
        "assemble: assembled\nsteer C\npre-step: enter nothing\n",
        notes=trace,
        dsh=trace,
    )


def test_s3__a_late_wake_then_a_broad_cancel__forgotten() -> None:
    """What is injected afterwards is parked (CN-02)."""
    trace = f"{OPEN} +T[B] !T[B] +S[C] }}1 aborted/user I S:C"
    check(
        "followup A\ncancel user keep\nfollowup B\ncancel user drop\ninject C\n"
        "assemble: assembled\n",
        notes=trace,
        dsh=trace,
    )


def test_s4__a_second_keep_cancel__the_late_wake_stands() -> None:
    """The recorded cause is the first (WL-14, CN-05)."""
    trace = f"{OPEN} +T[B] }}1 aborted/user I R {{2 -T[B]"
    check(
        "followup A\ncancel user keep\nfollowup B\ncancel parent keep\nassemble: assembled\n",
        notes=trace,
        dsh=trace,
    )


def test_s5__steering_in_maintenance__claim_settlement_steps_idle_waiter() -> None:
    """The replay starts before the maintenance settles (MN-09)."""
    trace = "maintenance +S[A] R {1 -S[A] maintenance. (1 u A a )1 }1 completed I when-idle."
    check(
        "maintenance\nsteer A\nwhen-idle\nmaintenance: done\npre-step: enter\nprovider: done\n",
        notes=trace,
        dsh=trace,
    )


def test_s6__a_tool_step_with_one_queued__steps_one_and_two_then_turn_two() -> None:
    """The step counter restarts (DR-07)."""
    trace = f"{OPEN} +T[B] (1 u A a c x r x ok )1 (2 a )2 }}1 completed {{2 -T[B] (1 u B"
    check(
        "followup A\nfollowup B\npre-step: enter\nprovider: tools x\ntool x: result\n"
        "pre-step: enter\nprovider: done\npre-step: enter\n",
        notes=trace,
        dsh=trace,
    )


def test_s7__a_tool_concludes_and_cancels_its_turn__aborted() -> None:
    """The stop hook is never called (TC-12)."""
    trace = f"{ENTERED} a c x r x aborted )1 }}1 aborted/user I"
    check(
        STOP + "followup A\nin tool#1: cancel user drop\npre-step: enter\nprovider: tools x\n"
        "tool x: concludes\n",
        notes=trace,
        dsh=trace,
    )


def test_s8__the_first_decision_rejects_after_staging__ahead_of_the_next_prompt() -> None:
    """Both wait, then enter in order (PS-17)."""
    trace = f"{OPEN} +S[S] +S[C] }}1 blocked I +T[B] R {{2 -S[S,C] -T[B]"
    check(
        "followup A\nassemble: assembled\nsteer S\ninject C\npre-step: reject\nfollowup B\n",
        notes=trace,
        dsh=trace,
    )


@pytest.mark.parametrize("late", ["followup B", "steer B", "inject B", "maintenance"])
def test_q3__after_disposal__refused(late: str) -> None:
    """A7: an error, never a turn."""
    assert f"dispose. {late.split()[0]}! disposed" == shown(f"dispose\n{late}\n")


def test_q16__an_injection_behind_each_step__one_more_step_each() -> None:
    """The one that lands behind the failing step is parked (RT-08)."""
    trace = f"{ENTERED} a +S[B] )1 -S[B] (2 u B +S[C] )2 error 1.2 }}1 error I S:C"
    scenario = (
        "followup A\nin provider#2: inject C\npre-step: enter\n"
        "after provider answer#1 +0: inject B\nprovider: done\npre-step: enter\nprovider: error\n"
    )
    wanted = trace.replace("a +S[B] )1", "+S[B] a )1")
    check(scenario, notes=wanted, dsh=wanted)


# --- What the release 0.2 does otherwise than 0.1 -----------------------------------------------


def test_q3__a_prompt_after_disposal__its_turn_fails() -> None:
    """The release 0.1 runs it; in 0.2 the context of the session is gone (A7, LB-07)."""
    check(
        "dispose\nfollowup A\n",
        notes="dispose. followup! disposed",
        dsh=f"dispose. {OPEN}",
        later=f"dispose. {OPEN} error 1.0 }}1 error I",
    )


def test_p7__a_wake_between_cancel_and_disposal__its_turn_fails() -> None:
    """It is still driven, and disposal is done behind it (A2, A7)."""
    check(
        "followup A\ncancel user keep\ndispose\nfollowup B\nassemble: assembled\n",
        later=f"{OPEN} +T[B] }}1 aborted/user I R {{2 -T[B] error 2.0 }}2 error I dispose.",
    )


def test_p8__a_cancel_as_the_step_starts__nothing_has_entered() -> None:
    """In 0.1 the messages are recorded all the same (ST-02, ST-03)."""
    end = ")1 }1 aborted/user I"
    check(
        "followup A\nin step/start#1 first: cancel user keep\npre-step: enter\n",
        notes=f"{ENTERED} {end}",
        dsh=f"{ENTERED} {end}",
        later=f"{OPEN} (1 {end}",
    )


def test_a_request_that_fails__takes_its_messages_with_it() -> None:
    """They are claimed, pending nowhere and recorded nowhere; a retry enters nothing twice."""
    end = ")1 error 1.1 }1 error I"
    scenario = "gates request\nfollowup A\npre-step: enter\nrequest: raise\n"
    check(
        scenario,
        dsh=f"{ENTERED} {end}",
        later=f"{OPEN} (1 {end}",
    )
    check(
        "gates request request-error\nfollowup A\npre-step: enter\nrequest: go\n"
        "provider: error\nrequest-error: retry\nrequest: go\nprovider: done\n",
        later=f"{ENTERED} a )1 }}1 completed I",
    )


@pytest.mark.parametrize("call", ["remove B", "replace B C", "splice next-turn 0 0"])
def test_an_edit_without_effect_inside_a_record__refused(call: str) -> None:
    """In 0.1 it is answered there too, and elsewhere in both (RE-01, SP-04)."""
    name = call.partition(" ")[0]
    scenario = f"followup A\nin turn/start#1 first: {call}\n{call}\n"
    check(
        scenario,
        dsh=OPEN,
        later=OPEN.replace("{1", f"{{1 {name}! append-refused"),
    )


def test_a_wake_in_a_maintenance_that_is_disposed_of__forgotten() -> None:
    """In 0.1 the latch of an earlier cause is replayed (A2, WL-07)."""
    begin = "maintenance +T[A] "
    scenario = "maintenance\ncancel user keep\ndispose\nfollowup A\nmaintenance: done\n"
    check(
        scenario,
        dsh=f"{begin}R {{1 -T[A] maintenance.",
        later=f"{begin}maintenance. dispose. T:A",
    )
