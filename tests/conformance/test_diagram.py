"""A witness as a sequence of messages between lanes."""

from typing import get_args

from loopspec.conformance.diagram import diagram, is_echo
from loopspec.model.words import Observation
from loopspec.reports.run import LANES, Kind
from tests.conformance.checks import REJECT, reduced, run

TURN = "followup A\ninject B\npre-step: enter\nprovider: done\npre-step: enter nothing\n"


def test_lanes_and_kinds_are_those_that_a_report_can_draw() -> None:
    """Calls come from the caller, answers from hook and provider, records go to the log."""
    lines = diagram(run(TURN).trace)

    assert {line["from"] for line in lines} | {line["to"] for line in lines} <= set(LANES)
    assert {line["kind"] for line in lines} == set(get_args(Kind))
    ways = {(line["kind"], line["from"], line["to"]) for line in lines}
    assert ("call", "caller", "loop") in ways
    assert ("gate", "loop", "provider") in ways
    assert ("answer", "hook", "loop") in ways
    assert ("record", "inbox", "log") in ways
    assert ("record", "loop", "log") in ways


def test_both_lists_stand_at_every_line() -> None:
    """They change with the record of the splice, and with nothing else."""
    lines = diagram(run("inject A\n").trace)

    assert [[], ["A"], ["A"], ["A"]] == [line["next_step"] for line in lines]
    assert "agent/inbox/spliced next-step@0 +A" == lines[1]["label"]
    assert {"idle"} == {line["status"] for line in lines}


def test_deliveries_to_the_last_listener_are_left_out_unless_something_came_between() -> None:
    """An inverted or interrupted delivery is shown."""
    plain = [str(line["label"]) for line in diagram(run("inject A\n").trace)]
    between = run("in agent/inbox/inserted#1 first: inject B\ninject A\n")
    interrupted = [str(line["label"]) for line in diagram(between.trace)]

    assert [] == [label for label in plain if "(last)" in label]
    assert ["agent/inbox/inserted A (last)"] == [
        label for label in interrupted if "(last)" in label
    ]


def test_it_ends_where_subject_and_model_part() -> None:
    """The last line has what the model allowed there."""
    short = reduced("requeue-on-reject", REJECT)

    lines = diagram(short.outcome.trace, short.finding)

    assert [True] == [line["parted"] for line in lines if line["parted"]]
    last = lines[-1]
    assert last["parted"]
    assert "agent/inbox/spliced next-turn@0 +A" == last["label"]
    assert "turn/end 1 blocked" == last["model"]


def test_an_observation_that_never_comes_is_a_line_of_its_own() -> None:
    """A missing turn end parts at rest."""
    text = "followup A\npre-step: raise\n"
    short = reduced("no-turn-end-on-error", text)

    last = diagram(short.outcome.trace, short.finding)[-1]

    assert last["parted"]
    assert str(last["model"]).startswith("turn/end 1 error")


def test_an_echo_is_the_same_delivery_to_the_last_listener() -> None:
    """Of other data, or not right behind, it is none."""
    first = Observation("event", "agent/status", (("status", "idle"),), "first")

    assert is_echo(first, first._replace(listener="last"))
    assert not is_echo(None, first._replace(listener="last"))
    assert not is_echo(first, first._replace(listener="last", name="agent/error"))
    assert not is_echo(first, first)
