"""The probes of the contract, with traces written by hand from its rules.

`>` is an input, `=` a point at which nothing more happens, everything else an observation. What
only the last listener is told is left out, except where the order between listeners is the point.
Where profile `notes` answers otherwise than the probed release did, the docstring says so.
"""

import textwrap

from loopspec.model.playback import Played, play, trace_lines
from loopspec.model.scenario import parse_scenario


def played(text: str) -> Played:
    """The scenario on the model; every line of it must have had its moment."""
    result = play(parse_scenario(textwrap.dedent(text)))
    assert () == result.skipped
    return result


def shows(result: Played, expected: str, everything: bool = False) -> None:
    """The trace is exactly this one."""
    wanted = textwrap.dedent(expected).strip("\n").splitlines()
    assert wanted == trace_lines(result.trace, everything)


def ends(result: Played, expected: str) -> None:
    """The trace ends exactly like this."""
    wanted = textwrap.dedent(expected).strip("\n").splitlines()
    assert wanted == trace_lines(result.trace)[-len(wanted) :]


def test_p47__context_parked_then_a_follow_up__canonical_order() -> None:
    """Everything up to assembly happens inside the call (LN-10); context comes first (CL-03)."""
    result = played(
        """
        inject X
        followup A
        pre-step: enter
        provider: done
        """
    )

    shows(
        result,
        """
        > inject X
          agent/inbox/spliced next-step@0 +X
          agent/inbox/inserted X
          inject returns
        = idle  next-turn -  next-step X
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/inserted A
          agent/status running
          turn/start 1
          agent/inbox/spliced next-step@0 -1
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed X 1
          agent/inbox/claimed A 1
          gate assemble 1.1
          followup returns
        = running  next-turn -  next-step -  at assemble
        > assemble: assembled
          gate pre-step 1.1 [X,A]
        = running  next-turn -  next-step -  at pre-step
        > pre-step: enter
          step/start 1.1
          user/message X
          user/message A
          gate provider 1.1
        = running  next-turn -  next-step -  at provider
        > provider: done
          assistant/message 1.1
          step/end 1.1
          turn/end 1 completed
          agent/status idle
        = idle  next-turn -  next-step -
        """,
    )


def test_p37__steer_before_and_after_the_abort__two_turns() -> None:
    """Turn 2 takes the early steer, the injection and P; the late steer owns turn 3 (WL-03 to 05).

    In `notes` the driver starts again by itself; the release did too, for the late steer.
    """
    result = played(
        """
        followup A
        followup P
        steer S
        cancel user keep
        steer T
        inject I
        assemble: assembled
        pre-step: enter
        provider: done
        pre-step: enter
        provider: done
        """
    )

    shows(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/inserted A
          agent/status running
          turn/start 1
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed A 1
          gate assemble 1.1
          followup returns
        = running  next-turn -  next-step -  at assemble
        > followup P
          agent/inbox/spliced next-turn@0 +P
          agent/inbox/inserted P
          followup returns
        = running  next-turn P  next-step -  at assemble
        > steer S
          agent/inbox/spliced next-step@0 +S
          agent/inbox/inserted S
          steer returns
        = running  next-turn P  next-step S  at assemble
        > cancel user keep
          cancel returns
        = running  next-turn P  next-step S  at assemble (aborted)
        > steer T
          agent/inbox/spliced next-turn@1 +T
          agent/inbox/inserted T
          steer returns
        = running  next-turn P,T  next-step S  at assemble (aborted)
        > inject I
          agent/inbox/spliced next-step@1 +I
          agent/inbox/inserted I
          inject returns
        = running  next-turn P,T  next-step S,I  at assemble (aborted)
        > assemble: assembled
          turn/end 1 aborted user
          agent/status idle
          agent/status running
          turn/start 2
          agent/inbox/spliced next-step@0 -2
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed S 2
          agent/inbox/claimed I 2
          agent/inbox/claimed P 2
          gate assemble 2.1
        = running  next-turn T  next-step -  at assemble
        > assemble: assembled
          gate pre-step 2.1 [S,I,P]
        = running  next-turn T  next-step -  at pre-step
        > pre-step: enter
          step/start 2.1
          user/message S
          user/message I
          user/message P
          gate provider 2.1
        = running  next-turn T  next-step -  at provider
        > provider: done
          assistant/message 2.1
          step/end 2.1
          turn/end 2 completed
          turn/start 3
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed T 3
          gate assemble 3.1
        = running  next-turn -  next-step -  at assemble
        > assemble: assembled
          gate pre-step 3.1 [T]
        = running  next-turn -  next-step -  at pre-step
        > pre-step: enter
          step/start 3.1
          user/message T
          gate provider 3.1
        = running  next-turn -  next-step -  at provider
        > provider: done
          assistant/message 3.1
          step/end 3.1
          turn/end 3 completed
          agent/status idle
        = idle  next-turn -  next-step -
        """,
    )


def test_p57__removed_from_the_running_listener__empty_turn() -> None:
    """The wake still opens a turn (RE-11); an empty first entry completes it (PS-11, CL-12)."""
    result = played(
        """
        followup A
        in agent/status#1 first: remove A
        pre-step: enter
        """
    )

    shows(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/inserted A
          agent/status running
        > (inside) remove A
          agent/inbox/spliced next-turn@0 -1 canceled
          agent/inbox/discarded A
          remove returns True
          turn/start 1
          gate assemble 1.1
          followup returns
        = running  next-turn -  next-step -  at assemble
        > assemble: assembled
          gate pre-step 1.1 [-]
        = running  next-turn -  next-step -  at pre-step
        > pre-step: enter
          turn/end 1 completed
          agent/status idle
        = idle  next-turn -  next-step -
        """,
    )


def test_p58__broad_cancel_from_the_inserted_listener__empty_turn() -> None:
    """The last listener hears of the end before the beginning; the turn is empty (RE-09)."""
    result = played(
        """
        followup A
        in agent/inbox/inserted#1 first: cancel user drop
        pre-step: enter
        """
    )

    shows(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/spliced next-turn@0 +A (last)
          agent/inbox/inserted A
        > (inside) cancel user drop
          agent/inbox/spliced next-turn@0 -1 canceled
          agent/inbox/spliced next-turn@0 -1 canceled (last)
          agent/inbox/discarded A
          agent/inbox/discarded A (last)
          cancel returns
          agent/inbox/inserted A (last)
          agent/status running
          agent/status running (last)
          turn/start 1
          turn/start 1 (last)
          gate assemble 1.1
          followup returns
        = running  next-turn -  next-step -  at assemble
        > assemble: assembled
          gate pre-step 1.1 [-]
        = running  next-turn -  next-step -  at pre-step
        > pre-step: enter
          turn/end 1 completed
          turn/end 1 completed (last)
          agent/status idle
          agent/status idle (last)
        = idle  next-turn -  next-step -
        """,
        everything=True,
    )


def test_p59__nested_follow_up_from_the_inserted_listener__outer_first() -> None:
    """The nested call drives inside itself; the outer one finds a driver (RE-10)."""
    result = played(
        """
        followup A
        in agent/inbox/inserted#1 first: followup B
        pre-step: enter
        provider: done
        """
    )

    shows(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/spliced next-turn@0 +A (last)
          agent/inbox/inserted A
        > (inside) followup B
          agent/inbox/spliced next-turn@1 +B
          agent/inbox/spliced next-turn@1 +B (last)
          agent/inbox/inserted B
          agent/inbox/inserted B (last)
          agent/status running
          agent/status running (last)
          turn/start 1
          turn/start 1 (last)
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/spliced next-turn@0 -1 (last)
          agent/inbox/claimed A 1
          agent/inbox/claimed A 1 (last)
          gate assemble 1.1
          followup returns
          agent/inbox/inserted A (last)
          followup returns
        = running  next-turn B  next-step -  at assemble
        > assemble: assembled
          gate pre-step 1.1 [A]
        = running  next-turn B  next-step -  at pre-step
        > pre-step: enter
          step/start 1.1
          step/start 1.1 (last)
          user/message A
          user/message A (last)
          gate provider 1.1
        = running  next-turn B  next-step -  at provider
        > provider: done
          assistant/message 1.1
          assistant/message 1.1 (last)
          step/end 1.1
          step/end 1.1 (last)
          turn/end 1 completed
          turn/end 1 completed (last)
          turn/start 2
          turn/start 2 (last)
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/spliced next-turn@0 -1 (last)
          agent/inbox/claimed B 2
          agent/inbox/claimed B 2 (last)
          gate assemble 2.1
        = running  next-turn -  next-step -  at assemble
        """,
        everything=True,
    )


def test_p22__cancel_from_a_claimed_listener__no_decision() -> None:
    """Both deletions and both claimed events come; assembly runs, pre-step does not (PS-16)."""
    result = played(
        """
        inject X
        followup A
        in agent/inbox/claimed#1 first: cancel user keep
        assemble: assembled
        """
    )

    ends(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/inserted A
          agent/status running
          turn/start 1
          agent/inbox/spliced next-step@0 -1
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed X 1
        > (inside) cancel user keep
          cancel returns
          agent/inbox/claimed A 1
          gate assemble 1.1
          followup returns
        = running  next-turn -  next-step -  at assemble (aborted)
        > assemble: assembled
          turn/end 1 aborted user
          agent/status idle
        = idle  next-turn -  next-step -
        """,
    )


def test_p23__broad_cancel_from_the_running_listener__discarded() -> None:
    """No boundary is written and the message is discarded (CN-09, TB-02)."""
    result = played(
        """
        followup A
        in agent/status#1 first: cancel user drop
        """
    )

    shows(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/inserted A
          agent/status running
        > (inside) cancel user drop
          agent/inbox/spliced next-turn@0 -1 canceled
          agent/inbox/discarded A
          cancel returns
          agent/status idle
          followup returns
        = idle  next-turn -  next-step -
        """,
    )


def test_p23__keep_cancel_from_the_running_listener__parked() -> None:
    """No boundary is written and the message stays, parked until a wake (CN-09)."""
    result = played(
        """
        followup A
        in agent/status#1 first: cancel user keep
        """
    )

    shows(
        result,
        """
        > followup A
          agent/inbox/spliced next-turn@0 +A
          agent/inbox/inserted A
          agent/status running
        > (inside) cancel user keep
          cancel returns
          agent/status idle
          followup returns
        = idle  next-turn A  next-step -
        """,
    )


def test_p11__first_batch_emptied_with_one_queued__parked() -> None:
    """The turn completes without a step and the driver stops (TB-14, DR-09)."""
    result = played(
        """
        followup A
        followup B
        pre-step: enter nothing
        """
    )

    ends(
        result,
        """
        > pre-step: enter nothing
          turn/end 1 completed
          agent/status idle
        = idle  next-turn B  next-step -
        """,
    )


def test_p43__reject_at_step_two_with_one_queued__blocked() -> None:
    """A reject ends the turn blocked at any boundary (TB-07, TB-15); the queue parks (DR-09)."""
    result = played(
        """
        followup A
        followup B
        pre-step: enter
        provider: owes
        pre-step: reject
        """
    )

    ends(
        result,
        """
        > provider: owes
          assistant/message 1.1
          step/end 1.1
          gate assemble 1.2
        = running  next-turn B  next-step -  at assemble
        > assemble: assembled
          gate pre-step 1.2 [-]
        = running  next-turn B  next-step -  at pre-step
        > pre-step: reject
          turn/end 1 blocked
          agent/status idle
        = idle  next-turn B  next-step -
        """,
    )


def test_p45__decision_enters_what_is_still_pending__delivered_twice() -> None:
    """What enters is not compared with what is pending, which stays pending (ID-07, PS-20)."""
    result = played(
        """
        followup A
        assemble: assembled
        steer S
        pre-step: enter A S
        provider: done
        pre-step: enter
        """
    )

    ends(
        result,
        """
        > pre-step: enter A S
          step/start 1.1
          user/message A
          user/message S
          gate provider 1.1
        = running  next-turn -  next-step S  at provider
        > provider: done
          assistant/message 1.1
          step/end 1.1
          agent/inbox/spliced next-step@0 -1
          agent/inbox/claimed S 1
          gate assemble 1.2
        = running  next-turn -  next-step -  at assemble
        > assemble: assembled
          gate pre-step 1.2 [S]
        = running  next-turn -  next-step -  at pre-step
        > pre-step: enter
          step/start 1.2
          user/message S
          gate provider 1.2
        = running  next-turn -  next-step -  at provider
        """,
    )


def test_s2__keep_cancel_in_the_insertion_of_a_queued_wake__due() -> None:
    """In `notes` the wake that the abort preserved becomes due; the release parked it (RT-10)."""
    result = played(
        """
        followup A
        followup B
        in agent/inbox/inserted#2 first: cancel user keep
        assemble: assembled
        """
    )

    ends(
        result,
        """
        > followup B
          agent/inbox/spliced next-turn@0 +B
          agent/inbox/inserted B
        > (inside) cancel user keep
          cancel returns
          followup returns
        = running  next-turn B  next-step -  at assemble (aborted)
        > assemble: assembled
          turn/end 1 aborted user
          agent/status idle
          agent/status running
          turn/start 2
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed B 2
          gate assemble 2.1
        = running  next-turn -  next-step -  at assemble
        """,
    )


def test_p3__follow_up_one_tick_after_turn_end__driven() -> None:
    """In `notes` a wake in the exit gap is driven; the release parked it (DR-11, RE-13, LB-02)."""
    result = played(
        """
        followup A
        pre-step: enter
        provider: done
        after turn/end#1 +1: followup B
        """
    )

    ends(
        result,
        """
        > provider: done
          assistant/message 1.1
          step/end 1.1
          turn/end 1 completed
        > followup B
          agent/inbox/spliced next-turn@0 +B
          agent/inbox/inserted B
          followup returns
          agent/status idle
          agent/status running
          turn/start 2
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed B 2
          gate assemble 2.1
        = running  next-turn -  next-step -  at assemble
        """,
    )


def test_p5__keep_cancel_in_the_turn_end_observer__next_turn_runs() -> None:
    """It touches a retired signal: the ending stands and B runs (CN-14)."""
    result = played(
        """
        followup A
        followup B
        pre-step: enter
        in turn/end#1 first: cancel user keep
        provider: done
        """
    )

    ends(
        result,
        """
        > provider: done
          assistant/message 1.1
          step/end 1.1
          turn/end 1 completed
        > (inside) cancel user keep
          cancel returns
          turn/start 2
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed B 2
          gate assemble 2.1
        = running  next-turn -  next-step -  at assemble
        """,
    )


def test_p6__broad_cancel_with_pending_input_in_an_observer__aborts_all_the_same() -> None:
    """The clear is refused (RE-02); in `notes` the abort happens, in the release not (A8)."""
    result = played(
        """
        followup A
        followup B
        in step/start#1 first: cancel user drop
        pre-step: enter
        """
    )

    ends(
        result,
        """
        > pre-step: enter
          step/start 1.1
        > (inside) cancel user drop
          cancel raises append-refused
          user/message A
          step/end 1.1
          turn/end 1 aborted user
          agent/status idle
        = idle  next-turn B  next-step -
        """,
    )


def test_p8__broad_cancel_in_the_step_start_observer__no_request() -> None:
    """Over an empty inbox it works there (RE-04); what entered is recorded first (ST-03)."""
    result = played(
        """
        followup A
        in step/start#1 first: cancel user drop
        pre-step: enter
        """
    )

    ends(
        result,
        """
        > pre-step: enter
          step/start 1.1
        > (inside) cancel user drop
          cancel returns
          user/message A
          step/end 1.1
          turn/end 1 aborted user
          agent/status idle
        = idle  next-turn -  next-step -
        """,
    )


def test_p10__error_listener_sends_with_one_queued__both_parked() -> None:
    """Report, then insertion, then the end of the turn; both stay parked (TB-12, WL-13)."""
    result = played(
        """
        followup A
        followup B
        pre-step: enter
        in agent/error#1 first: followup C
        provider: error
        """
    )

    ends(
        result,
        """
        > provider: error
          step/end 1.1
          agent/error 1.1 provider failed
        > (inside) followup C
          agent/inbox/spliced next-turn@1 +C
          agent/inbox/inserted C
          followup returns
          turn/end 1 error provider failed
          agent/status idle
        = idle  next-turn B,C  next-step -
        """,
    )


def test_p14__discard_listener_sends_in_the_next_step_half__kept_and_driven() -> None:
    """In `notes` what came after the cancel began is kept and wakes; the release wiped it (A11)."""
    result = played(
        """
        followup A
        followup B
        inject X
        in agent/inbox/discarded#1 first: followup C
        cancel user drop
        assemble: assembled
        """
    )

    ends(
        result,
        """
        > cancel user drop
          agent/inbox/spliced next-step@0 -1 canceled
          agent/inbox/discarded X
        > (inside) followup C
          agent/inbox/spliced next-turn@1 +C
          agent/inbox/inserted C
          followup returns
          agent/inbox/spliced next-turn@0 -1 canceled
          agent/inbox/discarded B
          cancel returns
        = running  next-turn C  next-step -  at assemble (aborted)
        > assemble: assembled
          turn/end 1 aborted user
          agent/status idle
          agent/status running
          turn/start 2
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed C 2
          gate assemble 2.1
        = running  next-turn -  next-step -  at assemble
        """,
    )


def test_p14b__discard_listener_sends_in_the_next_turn_half__kept_and_driven() -> None:
    """In `notes` it is kept and wakes; the release kept it parked (A11, RE-07)."""
    result = played(
        """
        followup A
        followup B
        in agent/inbox/discarded#1 first: followup C
        cancel user drop
        assemble: assembled
        """
    )

    ends(
        result,
        """
        > cancel user drop
          agent/inbox/spliced next-turn@0 -1 canceled
          agent/inbox/discarded B
        > (inside) followup C
          agent/inbox/spliced next-turn@0 +C
          agent/inbox/inserted C
          followup returns
          cancel returns
        = running  next-turn C  next-step -  at assemble (aborted)
        > assemble: assembled
          turn/end 1 aborted user
          agent/status idle
          agent/status running
          turn/start 2
          agent/inbox/spliced next-turn@0 -1
          agent/inbox/claimed C 2
          gate assemble 2.1
        = running  next-turn -  next-step -  at assemble
        """,
    )
