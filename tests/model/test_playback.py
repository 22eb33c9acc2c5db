"""Playback and witnesses: lines come at their moment, and a path plays as it was found."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

import loopspec.model
from loopspec.model.explore import explore
from loopspec.model.playback import NO_MOMENT, play, trace_lines
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import Line, Window, parse_scenario
from loopspec.model.scope import Scope
from loopspec.model.session import Session
from loopspec.model.table import move, run
from loopspec.model.witness import Recorder, replay, witness
from loopspec.model.words import Answer, Call, Rest, text_message

MODEL = Path(__file__).resolve().parents[2] / "model"
A, B = text_message("A"), text_message("B")


def shown(text: str) -> list[str]:
    """What the first listener is told in a scenario."""
    result = play(parse_scenario(text))
    assert () == result.skipped
    return [line.strip() for line in trace_lines(result.trace)]


def test_lines_of_one_moment_are_made_in_their_order() -> None:
    """Both inside one delivery, whatever the first of them has set off."""
    lines = shown(
        "followup A\n"
        "in agent/inbox/inserted#1 first: followup B\n"
        "in agent/inbox/inserted#1 first: remove B\n"
        "in agent/inbox/inserted#1 first: inject C\n"
    )

    made = [line for line in lines if line.startswith("> (inside)")]
    assert ["> (inside) followup B", "> (inside) remove B", "> (inside) inject C"] == made
    # The last two come behind the whole of the first, before the last listener is told.
    assert lines.index("followup returns") < lines.index("> (inside) remove B")


def test_a_window_of_the_last_listener_comes_behind_the_first() -> None:
    """The call of the first listener is over by then."""
    result = play(
        parse_scenario(
            "inject A\n"
            "in agent/inbox/inserted#1 last: inject C\n"
            "in agent/inbox/inserted#1 first: inject B\n"
        )
    )

    rest = result.trace[-1]
    assert isinstance(rest, Rest)
    assert ["A", "B", "C"] == [message.id for message in rest.next_step]


def test_a_tick_is_counted_from_its_observation() -> None:
    """One tick behind the end of a turn the driver has looked and is not idle yet."""
    lines = shown("followup A\npre-step: reject\nafter turn/end#1 +1: inject B\n")

    assert lines.index("turn/end 1 blocked") + 1 == lines.index("> inject B")
    assert lines.index("inject returns") + 1 == lines.index("agent/status idle")


def test_ticks_that_nothing_fills_pass_at_rest() -> None:
    """Two ticks behind an arrival at a gate nobody has moved."""
    lines = shown("followup A\nafter assemble#1 +2: inject B\npre-step: enter\n")

    assert lines.index("followup returns") + 1 == lines.index("> inject B")


def test_between_an_answer_and_what_it_sets_off() -> None:
    """The abort wins over a decision that was given and not yet taken."""
    lines = shown("followup A\npre-step: enter\nafter pre-step answer#1 +0: cancel user keep\n")

    assert lines.index("> pre-step: enter") + 1 == lines.index("> cancel user keep")
    assert "turn/end 1 aborted user" in lines


def test_what_has_no_moment_or_is_not_enabled_is_left_out_and_listed() -> None:
    """The rest of the scenario is played all the same."""
    never = Line(Call("clear"), Window("in", "turn/end", 1, "first"))
    closed = Line(Answer("provider", "done"))
    result = play(parse_scenario("in turn/end#1 first: clear\nprovider: done\nfollowup A\n"))

    assert [closed, never] == [each.line for each in result.skipped]
    assert "GATE_CLOSED" == result.skipped[0].why.code
    assert NO_MOMENT == result.skipped[1].why
    assert result.session.running


def test_a_scenario_is_played_under_its_profile() -> None:
    """Under `notes-park` a kept queue stays parked behind an aborted turn (CN-11)."""
    text = "followup A\nfollowup B\ncancel user keep\nassemble: assembled\n"

    notes = play(parse_scenario(text)).session
    park = play(parse_scenario(f"profile notes-park\n{text}")).session

    assert ("running", "idle") == (notes.status, park.status)
    assert PROFILES["notes-park"] == park.policy
    assert ["B"] == [item.message.id for item in park.next_turn]


def test_a_second_call_in_one_delivery_names_that_delivery() -> None:
    """Not the newest one, which the first call has set off."""
    recorder = Recorder(Session())
    recorder.act(Call("followup", (A,)))
    while not (recorder.session.listening and recorder.window().name == "agent/inbox/inserted"):
        step(recorder)
    recorder.act(Call("followup", (B,)))
    while recorder.session.stack[0].frame != "listening" or recorder.session.depth > 1:
        step(recorder)

    assert Window("in", "agent/inbox/inserted", 1, "first") == recorder.window()


def step(recorder: Recorder) -> None:
    """One move."""
    moved = move(recorder.session)
    assert moved is not None
    recorder.see(moved)


DEEP = Scope(
    "deep",
    "calls inside each other and between ticks",
    sends=2,
    edits=1,
    inside=2,
    depth=2,
    between=True,
    calls=("followup", "remove", "cancel"),
    answers=("assembled", "enter", "done"),
)


def test_a_witness_plays_as_the_path_that_the_explorer_found() -> None:
    """Read back from its text, with nothing left out, to the same session at rest."""
    explored = explore(DEEP, states_max=4000)
    chance = random.Random(4217)
    for state in chance.sample(range(1, explored.states), 300):
        at = explored.parents[state], explored.actions[state]
        scenario = witness(explored, *at)
        last = replay(DEEP, explored.path(*at)).session
        for moved in run(last):
            last = moved.session

        result = play(parse_scenario(str(scenario)))

        assert () == result.skipped
        assert last.but(kept=None) == result.session.but(kept=None)


# --- The door of the part -----------------------------------------------------------------------


def test_every_public_name_can_be_loaded_and_is_listed() -> None:
    """`__all__`, `dir` and the homes agree."""
    for name in loopspec.model.__all__:
        assert getattr(loopspec.model, name) is not None
    assert sorted(loopspec.model.__all__) == dir(loopspec.model)
    assert sorted(loopspec.model._HOME_OF) == sorted(loopspec.model.__all__)
    with pytest.raises(AttributeError, match="Sesion"):
        loopspec.model.Sesion  # noqa: B018


def test_no_public_name_is_hidden_by_a_module() -> None:
    """A name that is also a module would be the one or the other, by what was imported before."""
    modules = {path.stem for path in (MODEL / "loopspec" / "model").iterdir()}

    assert set() == modules & set(loopspec.model.__all__)


def test_importing_the_part_loads_nothing_heavy() -> None:
    """Neither attrs nor networkx before the first name is used."""
    program = "import sys, loopspec.model; print({'attrs', 'networkx'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={"PYTHONPATH": str(MODEL)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "set()\n" == done.stdout
