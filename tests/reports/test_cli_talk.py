"""`loopspec talk` and `smoke`: what is typed wrong, and what an adapter has not declared."""

import io
import sys
from importlib.resources import as_file, files

import pytest

from loopspec.cli import shell, talk
from loopspec.model.scenario import parse_scenario


def said(
    lines: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """The exit code and the output of a talk with the Python template."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    template = files("loopspec.conformance.ports").joinpath("templates", "python", "adapter.py")
    with as_file(template) as adapter:
        code = shell.run(["talk", f"{sys.executable} -B {adapter}"])
    return code, capsys.readouterr().out.splitlines()


def test_what_is_wrong_does_not_end_a_talk_and_fails_a_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typo with what was meant, a call that is not declared; then one that is made."""
    code, out = said("folowup A\nremove A\nfollowup A\n", monkeypatch, capsys)
    assert code == 2
    assert "(did you mean followup?)" in out[1]
    assert out[2] == "the adapter has not declared edits, which this line needs"
    assert "    gate assemble 1.1" in out


def test_a_talk_without_a_typo_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gate that is not open is no typo."""
    code, out = said("provider: done\n", monkeypatch, capsys)
    assert (code, out[1]) == (0, "no gate provider is open")


@pytest.mark.parametrize("verb", ["smoke", "talk"])
def test_a_command_without_quotes_is_told_to_get_them(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the line that should have been typed; nothing is started."""
    assert 2 == shell.run([verb, "node", "adapter.mjs"])
    sentence, hint = capsys.readouterr().err.splitlines()
    assert "one argument, got 2" in sentence
    assert f'loopspec {verb} "node adapter.mjs"' in hint


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("in turn/start#1: followup A", "calls-in-listeners"),
        ("after turn/start#1 +1: followup A", "ticks"),
        ("followup A", ""),
    ],
)
def test_a_hook_needs_its_window(text: str, lacking: str) -> None:
    """It is refused when it is typed, not when the session with it begins."""
    (line,) = parse_scenario(f"{text}\n").lines
    assert lacking == talk.lacks(["assemble-gate", "first-listener"], line)
