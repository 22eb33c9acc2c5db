"""`loopspec replay` as a command: two columns, exit codes, sentences."""

import io
import json
import sys
from pathlib import Path

import pytest

from loopspec.cli import shell
from loopspec.cli.replay import BYTES_MAX
from loopspec.conformance.mutants import find_mutant
from tests.conformance.checks import REJECT


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reject.scenario").write_text(REJECT, encoding="utf-8")


def test_the_shipped_loop_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """Both columns say the same, and the last line says so."""
    assert 0 == shell.run(["replay", "reject.scenario"])

    out, err = capsys.readouterr()
    head, first, *_, last = out.splitlines()
    assert ["model", "python"] == head.split()
    assert 2 == first.count("> followup A")
    assert last.startswith("holds: ")
    assert "here subject and model part" not in out
    assert "" == err


def test_a_mutant_parts_where_it_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """The mark, the promise, why, and the contradiction."""
    arguments = ["replay", "reject.scenario", "--mutant", "requeue-on-reject"]
    assert 1 == shell.run(arguments)

    out, _ = capsys.readouterr()
    parted = next(line for line in out.splitlines() if " ! " in line)
    assert parted.startswith("  turn/end 1 blocked")
    assert parted.endswith("agent/inbox/spliced next-turn@0 +A")
    assert "^ here subject and model part" in out
    assert "REJ broken: A reject opens no step" in out
    assert "  However, A went back into next-turn: a contradiction." in out
    assert out.splitlines()[0].split() == ["model", "python", "(requeue-on-reject)"]


def test_the_specification_can_be_replayed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """To learn what it says, no loop is needed."""
    assert 0 == shell.run(["replay", "reject.scenario", "--subject", "model"])

    assert ["model", "model"] == capsys.readouterr().out.splitlines()[0].split()


def test_a_pinned_witness_is_replayed_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    """The witness of a mutant is a scenario file."""
    Path("w.scenario").write_text(find_mutant("claim-two-prompts").witness, encoding="utf-8")

    assert 1 == shell.run(["replay", "w.scenario", "--mutant", "claim-two-prompts"])
    assert 0 == shell.run(["replay", "w.scenario"])


def test_a_dash_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a witness can be pasted."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(REJECT.encode())))

    assert 0 == shell.run(["replay", "-"])

    assert "holds: " in capsys.readouterr().out


def test_a_line_whose_moment_never_came_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not made silently."""
    Path("s").write_text("followup A\nin step/start#3: clear\nprovider: done\n", encoding="utf-8")

    assert 0 == shell.run(["replay", "s"])

    out, _ = capsys.readouterr()
    assert "not made, since its moment never came: in step/start#3 first: clear" in out
    assert "not made, since its moment never came: provider: done" in out


@pytest.mark.parametrize("text", ["", "# nothing\n", "pre-step: enter\n"])
def test_a_scenario_of_which_nothing_is_made_is_inconclusive(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was checked, so nothing holds."""
    Path("s").write_text(text, encoding="utf-8")

    assert 3 == shell.run(["replay", "s"])
    assert "inconclusive: nothing of the scenario was made" in capsys.readouterr().out
    assert 3 == shell.run(["replay", "s", "--json"])
    assert "inconclusive" == json.loads(capsys.readouterr().out)["verdict"]


def test_a_byte_order_mark_is_no_part_of_a_scenario() -> None:
    """Some editors write one."""
    Path("s").write_bytes(b"\xef\xbb\xbffollowup A\r\npre-step: reject\r\n")

    assert 0 == shell.run(["replay", "s"])


def test_json_has_lines_findings_and_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """One ASCII document."""
    arguments = ["replay", "reject.scenario", "--json", "--mutant", "requeue-on-reject"]
    assert 1 == shell.run(arguments)

    out, _ = capsys.readouterr()
    document = json.loads(out)
    assert out.isascii()
    assert "broken" == document["verdict"]
    assert REJECT == document["scenario"]
    assert ["REJ", "OWN"] == [each["property"] for each in document["findings"]]
    assert not document["lines"][document["parted"]]["same"]
    assert [True, True] == document["made"]


def test_another_profile_is_another_reading_of_both(capsys: pytest.CaptureFixture[str]) -> None:
    """A preserved queue advances under notes and stays parked under notes-park, and in the loop."""
    text = "followup A\nfollowup B\ncancel user keep\nassemble: assembled\n"
    Path("s").write_text(text, encoding="utf-8")

    assert 0 == shell.run(["replay", "s"])
    advances = capsys.readouterr().out
    assert 0 == shell.run(["replay", "s", "--profile", "notes-park"])
    parks = capsys.readouterr().out

    assert 2 == advances.count("turn/start 2") == 2 + parks.count("turn/start 2")


HUGE = b"followup A\n" * (BYTES_MAX // 10)
HOSTILE = 'followup A "\\u001b[2J\\u202e"\npre-step: reject\n'


def test_strings_of_a_scenario_do_not_act_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are shown as text."""
    Path("s").write_text(HOSTILE, encoding="utf-8")

    assert 0 == shell.run(["replay", "s"])

    out, _ = capsys.readouterr()
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)), "expected UTF-8 text, got byte 0x80 at"),
        ("followup Ä".encode("latin-1"), "expected UTF-8 text, got byte 0xc4 at 9"),
        (HUGE, f"expected at most {BYTES_MAX} bytes, got more"),
        (b"x" * (BYTES_MAX - 1), "line 1: expected at most"),
        (b"followup A\n" * 20_000, "expected at most 10000 lines, got 20001"),
        (b"followup A\nfolowup B\n", "line 2: expected a call (followup, "),
        (
            b"profile nosuch\n",
            "line 1: expected a profile (notes, notes-park, dsh-0.1, dsh-0.2, "
            "dsh-0.1-gates, dsh-0.2-gates), got 'nosuch'",
        ),
        (b"in turn/start: clear\n", "line 1: expected 'in OBS#n LISTENER: CALL'"),
        (b"cancel\n", "line 1: expected user, parent, hook or disposed, got the end of the line"),
        (b"followup \x1b[2J\n", "got '\\x1b[2J'"),
    ],
    ids=(
        [
            "binary",
            "latin-1",
            "huge",
            "long-line",
            "many-lines",
            "typing-error",
            "profile",
            "window",
            "cut",
            "escape",
        ]
    ),
)
def test_a_file_that_is_no_scenario_is_one_sentence(
    content: bytes, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was expected, what came, where."""
    Path("bad.scenario").write_bytes(content)

    assert 2 == shell.run(["replay", "bad.scenario"])

    out, err = capsys.readouterr()
    first, *hints = err.splitlines()
    assert "" == out
    assert first.startswith("loopspec: bad.scenario")
    assert part in first
    assert "\x1b" not in err
    assert all(line.startswith("  hint: ") for line in hints)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["missing.scenario"], "expected a scenario file, got missing.scenario: No such file"),
        (["."], "is a directory"),
        (
            ["reject.scenario", "--subject", "perl"],
            "a subject (python, model), got 'perl'",
        ),
        (["reject.scenario", "--mutant", "nosuch"], "got 'nosuch'"),
        (["reject.scenario", "--profile", "nosuch"], "got 'nosuch'"),
        (["reject.scenario", "--subject", "model", "--mutant", "canary"], "python only"),
        (["\x1b[2J"], "\\x1b[2J"),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two, on stderr, without a traceback."""
    assert 2 == shell.run(["replay", *arguments])

    out, err = capsys.readouterr()
    assert "" == out
    assert part in err.splitlines()[0]
    assert "Traceback" not in err
    assert "\x1b" not in err
