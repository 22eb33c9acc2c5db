"""The pages that are generated, and the README of the part: what they show is what happens."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from loopspec.model import documents
from loopspec.model.documents import EXAMPLES, PAGES, REPORTS, transitions_page, worked_example
from loopspec.model.playback import play, trace_lines
from loopspec.model.properties import PROPERTIES
from loopspec.model.scenario import parse_scenario
from loopspec.model.table import OWNERS, TABLE
from loopspec.model.words import Answer, Call, Observation, Rest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "model" / "README.md"
FILES = {"transitions": "transitions", "properties": "properties", "grammar": "scenario-grammar"}


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_is_kept_in_docs(page: str) -> None:
    """`make docs` writes them again."""
    kept = (ROOT / "docs" / f"{FILES[page]}.md").read_text(encoding="utf-8")

    assert kept == PAGES[page]()


def test_the_module_prints_a_page_and_refuses_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One sentence names those that there are."""
    assert 0 == documents.main(["grammar"])
    assert capsys.readouterr().out == PAGES["grammar"]()
    assert 2 == documents.main(["poem"])
    assert (
        "documents: expected one of transitions, properties, grammar, got poem\n"
        == capsys.readouterr().err
    )


def test_transitions_has_every_row_under_its_owner_in_table_order() -> None:
    """Name, guard, effect, observation and rules of each."""
    page = transitions_page()

    headings = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert list(OWNERS) == headings
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    rows = [line for line in lines if not line.startswith("| row |")]
    assert len(TABLE) == len(rows)
    for each, line in zip([row for rows in OWNERS.values() for row in rows], rows, strict=True):
        assert line.startswith(f"| {each.name or '(always)'} | ")
        assert line.endswith(f" | {' '.join(each.rules)} |")
        assert not each.makes or f"| `{each.makes}` |" in line


def test_the_worked_example_is_the_trace_of_p59() -> None:
    """What is seen, in order, up to the return of the outer call."""
    scenario = "followup A\nin agent/inbox/inserted#1 first: followup B"
    trace = play(parse_scenario(scenario)).trace
    expected = [
        line.strip() for line in trace_lines(trace, everything=True) if not line.startswith("=")
    ]

    shown = []
    for line in worked_example():
        if line.startswith(">"):
            shown.append(re.split(r"\s{2,}", line)[0])
        else:
            seen = re.split(r"\s{2,}", line.strip())[1:-1]
            shown.extend(seen)

    assert expected == shown


def test_each_property_names_reports_and_a_witness() -> None:
    """Ids of the survey, in words of our own."""
    page = PAGES["properties"]()

    assert {each.code for each in PROPERTIES} == set(REPORTS)
    for each in PROPERTIES:
        assert f"\n## {each.code}\n\n{each.sentence}\n" in page
        assert REPORTS[each.code]
    for number in re.findall(r"BR-\S+", page):
        assert re.fullmatch(r"BR-\d{3}:", number)
    assert len(PROPERTIES) == len(blocks(page))


@pytest.mark.parametrize("text", [text for _, text in EXAMPLES], ids=lambda text: text[:16])
def test_each_example_of_the_grammar_is_read_and_played(text: str) -> None:
    """Nothing of it is left out, and it prints as it was written."""
    scenario = parse_scenario(text)
    result = play(scenario)

    assert () == result.skipped
    assert text == str(scenario) or f"profile notes\n{text}" == str(scenario)


def test_the_examples_use_every_call_answer_and_window() -> None:
    """Whatever can be written is shown once."""
    lines = [line for _, text in EXAMPLES for line in parse_scenario(text).lines]

    calls = {line.action.name for line in lines if isinstance(line.action, Call)}
    answers = {
        (line.action.gate, line.action.choice) for line in lines if isinstance(line.action, Answer)
    }
    assert {"steer", "prepend", "splice", "replace", "remove", "clear", "cancel"} <= calls
    assert {"refuse", "throw"} <= calls
    assert {("provider", "cut"), ("provider", "max-tokens"), ("pre-step", "raise")} <= answers
    assert {"rest", "in", "after"} == {line.window.kind for line in lines}


# --- README -------------------------------------------------------------------------------------


def walks() -> list[tuple[str, str]]:
    """The scenarios of the README, each with the trace that follows it."""
    found = blocks(README.read_text(encoding="utf-8"))
    return [
        (text, found[index + 1][1])
        for index, (language, text) in enumerate(found)
        if language == "scenario"
    ]


@pytest.mark.parametrize(("scenario", "trace"), walks(), ids=["turn", "reject", "race"])
def test_the_readme_shows_what_happens(scenario: str, trace: str) -> None:
    """Each printed line, in order."""
    result = play(parse_scenario(scenario))

    assert () == result.skipped
    assert trace.splitlines() == trace_lines(result.trace)


def test_the_race_of_the_readme_ends_as_it_says() -> None:
    """Aborted by the user, then a driver of its own accord, then blocked with D parked."""
    result = play(parse_scenario(walks()[2][0]))

    ends = [
        (entry.get("reason"), entry.get("cause"))
        for entry in result.trace
        if isinstance(entry, Observation) and entry[1:2] == ("turn/end",)
    ]
    assert ("aborted", "user") == ends[0]
    assert ("blocked", None) == ends[-1]
    rest = result.trace[-1]
    assert isinstance(rest, Rest)
    assert ["D"] == [message.id for message in rest.next_turn]


MACHINE = ("words", "session", "rows", "table", "policy")


def code_lines(path: Path) -> int:
    """The lines of a module that hold code: no blank lines, comments or docstrings."""
    source = path.read_text(encoding="utf-8")
    said: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            said.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    coded: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in silent and token.type != tokenize.ENDMARKER:
            coded.update(range(token.start[0], token.end[0] + 1))
    return len(coded - said)


def test_the_readme_says_how_long_the_core_is() -> None:
    """The machine stays far below 2,500 lines of code; so do the properties."""
    core = ROOT / "model" / "loopspec" / "model"
    machine = sum(
        code_lines(path) for path in core.glob("*.py") if path.stem.split("_")[0] in MACHINE
    )
    properties = sum(code_lines(path) for path in (core / "properties").glob("*.py"))
    text = " ".join(README.read_text(encoding="utf-8").split())

    assert f"has {machine:,} lines of code, the properties {properties:,};" in text
    assert machine < 2_500
    assert properties < 2_500


def test_the_readme_names_every_module() -> None:
    """Each once, in the order in which to read."""
    core = ROOT / "model" / "loopspec" / "model"
    rows = [line for line in README.read_text("utf-8").splitlines() if line.startswith("| `")]
    named = [name for line in rows for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    hidden = {"__init__", "describe", "profiles"}

    assert {path.stem for path in core.glob("*.py")} - hidden <= {*named}
    assert len(named) == len(set(named))


def test_the_readme_program_runs() -> None:
    """With nothing but this part to import."""
    (program,) = (text for name, text in blocks(README.read_text("utf-8")) if name == "python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "model")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "> followup A" == done.stdout.splitlines()[0]
