"""What is left of a session after a crash, a disposal and a fork: one probe for each rule of U.

Each trace end was written by hand from the contract: what the log opens with, and what the next
turn does with it.
"""

import pytest

from loopspec.model.playback import Played, play, trace_lines
from loopspec.model.scenario import parse_scenario
from loopspec.model.table import Refusal, apply
from loopspec.model.words import AT_REST_ONLY, LAST, Call, Observation

ENTERED = "followup A\npre-step: enter\n"


def played(text: str, profile: str = "notes") -> Played:
    """The scenario played under a profile."""
    return play(parse_scenario(f"profile {profile}\n{text}"))


def opens(run: Played) -> list[str]:
    """What each log of the run opened with."""
    return [line.partition(" opens ")[2] for line in trace_lines(run.trace) if " opens " in line]


def told(run: Played, name: str) -> list[str]:
    """The lines of one observation, as the last listener was told of it."""
    return [
        line.strip().removesuffix(" (last)")
        for line in trace_lines(run.trace, everything=True)
        if line.strip().startswith(name) and "(last)" in line
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inject A\nflush\ncrash", "after turn 0: next-turn -  next-step A"),
        ("inject A\ncrash", "after turn 0: next-turn -  next-step -"),
        (f"{ENTERED}followup B\ncrash", "next-turn -  next-step -  + step/end, turn/end"),
        (f"{ENTERED}followup B\nflush\ncrash", "after turn 1: next-turn B  next-step -  + step"),
        (
            "followup A\nflush\ninject B\ncrash",
            "after turn 1: next-turn -  next-step -  + turn/end",
        ),
    ],
)
def test_what_a_flush_made_durable_survives_and_nothing_else(text: str, expected: str) -> None:
    """RS-01: pending messages survive as far as they were flushed; unflushed ones are gone."""
    assert expected in opens(played(text))[0]


def test_a_crash_between_claim_and_step_loses_the_batch_alone() -> None:
    """RS-02: the turn is interrupted, its batch is gone, what was not claimed is kept."""
    run = played("followup A\nfollowup B\nflush\ncrash\nfollowup C\nflush")

    assert ["after turn 1: next-turn B  next-step -  + turn/end interrupted"] == opens(run)
    assert ["agent/inbox/claimed A 1", "agent/inbox/claimed B 2"] == told(
        run, "agent/inbox/claimed"
    )


@pytest.mark.parametrize("where", ["first", "last"])
@pytest.mark.parametrize("number", [3, 4])
def test_a_crash_shows_both_deletions_of_a_claim_or_none(where: str, number: int) -> None:
    """CL-11: whichever of the two is being told when the process dies, both lists are whole."""
    run = played(
        "inject B\nmaintenance\nfollowup A\nflush\n"
        f"in agent/inbox/spliced#{number} {where}: crash\nmaintenance: done"
    )

    assert ["after turn 0: next-turn A  next-step B"] == opens(run)


@pytest.mark.parametrize(
    ("answers", "repaired"),
    [
        ("provider: tools x y", "tool/result x outcome-unknown, tool/result y not-started"),
        ("provider: parallel x y", "tool/result x outcome-unknown, tool/result y outcome-unknown"),
        ("provider: tools x y\ntool x: result", "tool/result y outcome-unknown"),
        (
            "provider: parallel x y\ntool y: result",
            "tool/result x outcome-unknown, tool/result y outcome-unknown",
        ),
    ],
)
def test_a_repair_answers_calls_then_closes_step_and_turn(answers: str, repaired: str) -> None:
    """RS-03, RS-04, RS-06: in transcript order, by recorded starts; none runs again."""
    run = played(f"{ENTERED}{answers}\ncrash")

    whole = f"next-step -  + {repaired}, step/end, turn/end interrupted"
    assert [whole] == [each.partition("next-turn -  ")[2] for each in opens(run)]
    assert "idle  next-turn -  next-step -" in trace_lines(run.trace)[-1]


def test_a_second_repair_finds_nothing_to_do() -> None:
    """RS-05: a repaired log is balanced, and so is one that never had an open turn."""
    run = played(f"{ENTERED}provider: tools x\ncrash\ncrash\ninject B\nflush\ncrash")

    assert ["+", "", ""] == [
        each.partition("-  ")[2].partition("-  ")[2][:1] for each in opens(run)
    ]


def test_turn_numbers_go_on_from_the_last_durable_one() -> None:
    """RS-08: a number that no durable record has is free again; one that some record has is not."""
    assert ["turn/start 1", "turn/start 1"] == told(
        played("followup A\ncrash\nfollowup B"), "turn/start"
    )
    assert ["turn/start 1", "turn/start 2"] == told(
        played("followup A\nflush\ncrash\nfollowup B"), "turn/start"
    )


def test_nothing_wakes_until_somebody_does() -> None:
    """RS-10: what comes back waits, then enters the first later turn ahead of its prompt."""
    run = played("inject A\nflush\ncrash\nfollowup B\npre-step: enter")

    assert ["user/message A", "user/message B"] == told(run, "user/message")
    assert ["turn/start 1"] == told(run, "turn/start")


def test_a_late_wake_is_forgotten_by_a_crash() -> None:
    """A mark is no record (design 4.1): after a resume all are quiet, a due message too."""
    run = played("maintenance\nfollowup A\nflush\ncrash")

    assert [] == told(run, "turn/start")
    assert "next-turn A" in opens(run)[0]


def test_only_a_disposed_session_is_opened_again() -> None:
    """RS-11: a live session raises, one that is being disposed of too; a disposed one opens."""
    run = played(f"resume\n{ENTERED}dispose\nresume\nprovider: cut\nresume\nfollowup B")

    raised = [line for line in trace_lines(run.trace) if "resume raises" in line]
    assert ["  resume raises log-busy", "  resume raises log-busy"] == raised
    assert ["after turn 1: next-turn -  next-step -"] == opens(run)
    assert ["turn/start 1", "turn/start 2"] == told(run, "turn/start")


def test_a_fork_is_refused_inside_a_turn_and_begins_empty() -> None:
    """RS-09, ID-10: what is pending stays with the parent; turn numbers go on."""
    run = played(f"{ENTERED}fork\nprovider: done\ninject B\nfork\nfollowup C")

    assert "  fork raises fork-refused" in trace_lines(run.trace)
    assert ["after turn 1: next-turn -  next-step -"] == opens(run)
    assert ["turn/start 1", "turn/start 2"] == told(run, "turn/start")


@pytest.mark.parametrize("name", sorted(AT_REST_ONLY))
def test_what_waits_for_the_log_is_no_call_of_a_listener(name: str) -> None:
    """A flush, a resume and a fork await the log; a listener cannot."""
    run = played(f"in agent/inbox/inserted#1 first: {name}\ninject A")

    assert ["NOT_AT_REST"] == [each.why.code for each in run.skipped]


def test_a_crash_inside_a_call_leaves_it_without_a_return() -> None:
    """Whoever called has died with the rest; nobody is told that the call returned."""
    run = played("in agent/inbox/inserted#1 first: crash\ninject A\ninject B")

    returns = [each for each in run.trace if isinstance(each, Observation)]
    assert ["inject"] == [each.name for each in returns if each.kind == "return"]
    assert [] == [each for each in returns[:3] if each.listener == LAST and each.kind == "event"]


def test_a_refused_call_of_the_log_changes_nothing() -> None:
    """A flush inside a delivery is not enabled, and says so."""
    run = played("in agent/inbox/inserted#1 first: flush\ninject A")
    refusal = apply(run.session, Call("flush", ("x",)))

    assert isinstance(refusal, Refusal)
    assert "flush takes nothing" in refusal.because
