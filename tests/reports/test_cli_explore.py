"""`loopspec explore`: what it prints, what it answers, and how it says that it cannot run."""

import io
import json
import sys
from pathlib import Path

import attrs
import networkx
import pytest
from click.testing import CliRunner

from loopspec.cli import shell
from loopspec.cli.exploring import explore_scope, explore_scopes
from loopspec.model import scopes as default_scopes
from loopspec.model.counts import PINNED
from loopspec.model.explore import dead_rows
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import parse_scenario
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.table import TABLE
from loopspec.reports.exploration import (
    BreachFound,
    Exploration,
    ScopeFound,
    exploration_document,
    exploration_lines,
)

TINY = Scope("tiny", "one delivery and one stop", sends=1, cancels=1)
WITNESS = "profile notes\nscope tiny\nfollowup A\npre-step: reject\n"
BREACH = BreachFound("REJ", ("the decision was to reject.",), "step/start followed", WITNESS)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small scopes stand for the default ones."""
    other = attrs.evolve(TINY, name="other", sends=2)
    monkeypatch.setattr(default_scopes, "DEFAULT_SCOPES", (TINY, other))


def found(**changes: object) -> ScopeFound:
    """What a scope that takes every row and reaches every premise finds."""
    rows = {each.key: 1 for each in TABLE}
    codes = tuple(each.code for each in PROPERTIES)
    met = dict.fromkeys(codes, WITNESS)
    whole = ScopeFound("tiny", "says", 10, 20, 3, 4, 0.5, True, rows, rows, met, ())
    return attrs.evolve(whole, **changes)  # type: ignore[arg-type]


def test_one_scope_is_explored_and_printed() -> None:
    """Counts as they are pinned, rows, properties with witnesses, and the verdict last."""
    result = CliRunner().invoke(
        shell.group, ["explore", "--scope", "parked", "--jobs", "1"], standalone_mode=False
    )

    assert None is result.exception
    assert 0 == result.return_value
    lines = result.stdout.splitlines()
    counts = PINNED["parked"]
    head = next(line for line in lines if line.startswith("parked "))
    assert [str(counts.states), str(counts.transitions)] == head.split()[1:3]
    assert "pinned" not in head
    assert any(line.startswith("decided to reject  ") for line in lines)
    assert "REJ       holds    a turn closes behind a reject: followup A; pre-step: reject" in lines
    shown = f"counts   1 scope, {counts.states} states, {counts.transitions} transitions, "
    assert lines[-2].startswith(shown)
    assert "verdict  holds (exit 0); next: loopspec check" == lines[-1]
    assert "" == result.stderr


def test_json_is_one_document_on_stdout() -> None:
    """The same numbers for a program."""
    result = CliRunner().invoke(
        shell.group, ["explore", "--scope", "parked", "--json"], standalone_mode=False
    )

    document = json.loads(result.stdout)
    (scope,) = document["scopes"]
    assert PINNED["parked"]._asdict() == {name: scope[name] for name in PINNED["parked"]._fields}
    assert scope["pinned"] == PINNED["parked"]._asdict()
    assert len(TABLE) == len(document["rows"])
    assert ("holds", 0, []) == (document["verdict"], document["exit"], document["breaches"])
    witness = next(each for each in document["properties"] if each["code"] == "REJ")["witness"]
    assert 2 == len(parse_scenario(witness))


def test_scopes_are_explored_in_their_own_order_and_once() -> None:
    """However they are named on the command line."""
    arguments = ["--scope", "parked", "--scope", "queue", "--scope", "parked", "--states-max", "40"]
    result = CliRunner().invoke(shell.group, ["explore", *arguments], standalone_mode=False)

    lines = result.stdout.splitlines()
    assert ["queue", "parked"] == [line.split()[0] for line in lines[1:3]]
    assert all(line.endswith("ended early") for line in lines[1:3])
    assert 3 == result.return_value
    assert lines[-1].startswith("verdict  inconclusive (exit 3); next: loopspec explore")


def test_a_dead_row_is_a_failure(tiny: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Told of all default scopes only: one scope need not take every row."""
    assert 1 == shell.run(["explore", "--jobs", "1"])
    out, _ = capsys.readouterr()
    assert "dead     followup after disposal, " in out
    assert any(line.endswith("  dead") for line in out.splitlines())
    assert out.splitlines()[-1].startswith("verdict  broken (exit 1); next: loopspec replay")

    assert 0 == shell.run(["explore", "--scope", "other"])


def test_an_unknown_scope_is_one_sentence_and_two(capsys: pytest.CaptureFixture[str]) -> None:
    """It names the scopes that there are."""
    assert 2 == shell.run(["explore", "--scope", "qeue"])

    out, err = capsys.readouterr()
    assert "" == out
    names = ", ".join(scope.name for scope in DEFAULT_SCOPES)
    assert f"loopspec: there is no scope 'qeue'; scopes are {names}\n" == err


@pytest.mark.parametrize("form", ["graphml", "dot", "json"])
def test_a_graph_is_written_beside_the_result(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The form is that of the file's name; standard output is the result all the same."""
    path = tmp_path / f"parked.{form}"

    assert 0 == shell.run(["explore", "--scope", "parked", "--graph", str(path)])

    out, err = capsys.readouterr()
    assert "verdict  holds" in out.splitlines()[-1]
    assert f"graph    {path}\n" == err
    if form == "graphml":
        assert networkx.read_graphml(path).number_of_nodes() > 50
    elif form == "json":
        assert len(json.loads(path.read_text())["nodes"]) > 50
    else:
        assert path.read_text().startswith("digraph {\n")


def test_a_graph_that_is_too_large_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, and nothing is written."""
    monkeypatch.setattr("loopspec.model.graph.STATES_MAX", 50)
    path = tmp_path / "queue.dot"

    assert 2 == shell.run(["explore", "--scope", "queue", "--graph", str(path)])

    _, err = capsys.readouterr()
    assert "loopspec: scope queue has more than 50 states for a graph\n" in err
    assert not path.exists()


def test_processes_do_not_change_what_is_found() -> None:
    """One process or two: everything but the time is the same, in the order of the scopes."""
    chosen = [scope for scope in DEFAULT_SCOPES if scope.name in ("nested", "parked")]
    told: list[tuple[str, int, int | None]] = []

    one = explore_scopes(chosen, 1, 300)
    two = explore_scopes(chosen, 2, 300, lambda *news: told.append(news))

    assert [attrs.evolve(each, seconds=0.0) for each in one] == [
        attrs.evolve(each, seconds=0.0) for each in two
    ]
    label, done, total = told[-1]
    assert ("2 of 2 scopes", sum(each.states for each in two)) == (label, done)
    assert PINNED["nested"].states + PINNED["parked"].states == total


def test_progress_names_the_scope_and_what_is_pinned() -> None:
    """So that the line on standard error can tell the remaining time."""
    told: list[tuple[str, int, int | None]] = []
    parked = next(scope for scope in DEFAULT_SCOPES if scope.name == "parked")

    explore_scopes([parked, TINY], 1, tell=lambda *news: told.append(news))

    assert ("scope parked", PINNED["parked"].states) in {(news[0], news[2]) for news in told}
    assert ("scope tiny", None) in {(news[0], news[2]) for news in told}


def test_a_scope_with_other_counts_than_pinned_says_so() -> None:
    """A change of meaning is seen without a test."""
    exploration = Exploration((found(name="parked"),), whole=False, seconds=1.0)

    line = next(line for line in exploration_lines(exploration) if line.startswith("parked"))

    assert line.endswith(f"pinned: {PINNED['parked'].states} states")


def test_a_breach_is_printed_with_a_witness_to_replay() -> None:
    """Sentence, because, however, and a scenario that can be pasted."""
    exploration = Exploration((found(breaches=(BREACH,)),), whole=True, seconds=1.0)

    lines = list(exploration_lines(exploration))

    start = lines.index(
        "REJ broken: A reject opens no step, puts nothing back and closes the turn as blocked."
    )
    assert [
        "  scope    tiny",
        "  because  the decision was to reject.",
        "           However, step/start followed: a contradiction.",
        "  witness  2 actions, found breadth first",
        *(f"    {line}" for line in WITNESS.splitlines()),
    ] == lines[start + 1 : start + 9]
    pasted = "\n".join(lines[start + 5 : start + 9])
    assert WITNESS == str(parse_scenario(pasted))
    assert any(line.startswith("REJ       broken   ") for line in lines)
    assert "broken" == exploration.verdict
    assert 1 == exploration_document(exploration)["exit"]


def test_a_premise_that_is_never_reached_is_inconclusive() -> None:
    """A property that nothing put to the test does not hold."""
    met = {code: witness for code, witness in found().met.items() if code != "REJ"}
    exploration = Exploration((found(met=met),), whole=True, seconds=1.0)

    lines = list(exploration_lines(exploration))

    assert 3 == exploration.exit
    assert "unmet    REJ" in lines
    assert "REJ       unmet    a turn closes behind a reject (never reached)" in lines


def test_the_shortest_of_several_witnesses_is_shown() -> None:
    """Among scopes the one with the fewest calls and answers."""
    longer = attrs.evolve(BREACH, witness=f"{WITNESS}clear\n")
    first = found(name="a", breaches=(longer,))
    second = found(name="b", breaches=(BREACH,))

    exploration = Exploration((first, second), whole=True, seconds=1.0)

    assert (("b", BREACH),) == exploration.breaches


def test_what_is_kept_of_a_scope_is_what_the_explorer_counted() -> None:
    """Every row of the tiny scope and no other."""
    kept = explore_scope(TINY)

    assert kept.complete
    assert set(kept.taken) <= {each.key for each in TABLE}
    assert len(dead_rows([])) - len(kept.taken) == len(
        [each for each in TABLE if each.key not in kept.taken]
    )
    assert kept.rate > 0


def test_nothing_is_said_on_standard_error_without_a_watcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Progress is for a terminal."""
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)

    assert 0 == shell.run(["explore", "--scope", "parked"])

    assert "" == err.getvalue()
