"""`loopspec differ`: what it prints, what it answers, and how it says that it cannot run."""

import json

import pytest
from click.testing import CliRunner

from loopspec.cli import shell


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and output."""
    result = CliRunner().invoke(shell.group, ["differ", *arguments], standalone_mode=False)
    assert None is result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout


def test_the_shortest_scenario_and_what_each_does_are_printed() -> None:
    """A field with a value, on top of the notes."""
    code, text = run("notes", "disposal=cause")

    assert 0 == code
    assert "notes and disposal=cause part after 2 lines" in text
    assert "  dispose\n  followup A\n" in text
    assert "followup raises disposed" in text


def test_a_mutant_of_the_table_may_stand_on_either_side() -> None:
    """What it does is told under its own name."""
    first = json.loads(run("notes", "mutant:turns-by-twos", "--json")[1])
    second = json.loads(run("mutant:turns-by-twos", "notes", "--json")[1])

    assert first["differ"]
    assert first["scenario"] == second["scenario"] == "profile notes\nfollowup A\n"
    assert first["left"] == second["right"]
    assert first["right"] == second["left"]


def test_no_difference_is_an_answer_and_a_cut_search_is_inconclusive() -> None:
    """With the scope and the number of pairs."""
    same = ("notes", "goes_on_after=completed+max-tokens", "--scope", "outcomes")

    assert (0, True) == (lambda a: (a[0], "no difference in outcomes: " in a[1]))(run(*same))
    code, text = run(*same, "--states-max", "3")
    assert 3 == code
    assert "not all of them was searched" in text


@pytest.mark.parametrize(
    ("left", "right", "complaint"),
    [
        ("notes", "nice", "expected a profile, FIELD=VALUE or mutant:ID"),
        ("notes", "nice=1", "there is no policy field 'nice'"),
        ("notes", "wakes=often", "wakes is one of marks, latch"),
        ("notes", "mutant:nice", "There is no mutant 'nice'"),
        ("mutant:a", "mutant:b", "at most one of the two"),
    ],
)
def test_misuse_is_one_sentence(
    left: str, right: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, with exit code 2."""
    assert 2 == shell.run(["differ", left, right])
    assert complaint in capsys.readouterr().err.splitlines()[0]


def test_an_unknown_scope_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Narrow ones and those of explore."""
    assert 2 == shell.run(["differ", "notes", "dsh-0.1", "--scope", "nice"])
    assert "outcomes" in capsys.readouterr().err
