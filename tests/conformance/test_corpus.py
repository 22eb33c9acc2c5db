"""The corpus: each entry is green on both sides, names what it is about, and adds something."""

from collections import Counter

import pytest

from loopspec.conformance.corpus import CorpusEntry, CorpusError, load_corpus, parse_entry
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.mutants import load_mutants
from loopspec.conformance.rules import load_rules
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import Window
from loopspec.model.table import TABLE
from loopspec.model.words import CALLS, EVENTS, GATES, RECORDS, Answer, Call
from tests.model.test_cover import OTHERS

CORPUS = load_corpus()
NAMES = [entry.name for entry in CORPUS]
GOOD = "# A title.\n# rules: CL-03\n# source: P47\n# red on: canary\nprofile notes\nfollowup A\n"


def assert_green(outcome: Outcome) -> None:
    """Nothing was found, every line was made, and every promise about reports was kept."""
    assert outcome.findings == ()
    assert all(outcome.made), [
        str(line)
        for line, made in zip(outcome.scenario.lines, outcome.made, strict=True)
        if not made
    ]


def window_kind(window: Window) -> str:
    """The kind of a window as the design counts them."""
    if window.kind == "rest":
        return "at rest"
    if window.kind == "after":
        what = "an answer" if window.name.endswith(" answer") else "an observation"
        return f"{window.ticks} ticks after {what}"
    kinds = {"a record": RECORDS, "an event": EVENTS, "a gate": tuple(GATES)}
    what = next(kind for kind, names in kinds.items() if window.name in names)
    return f"in {what} {window.listener}".strip()


@pytest.mark.parametrize("entry", CORPUS, ids=NAMES)
def test_every_entry_is_green_on_the_specification_and_on_the_shipped_loop(
    entry: CorpusEntry,
) -> None:
    """The two agree, row by row, and no line is idle."""
    model = run_scenario(ModelSubject(), entry.scenario)
    shipped = run_scenario(PythonSubject(), entry.scenario)

    assert_green(model)
    assert_green(shipped)
    assert shipped.trace == model.trace
    assert shipped.rows == model.rows


def test_no_two_entries_take_the_same_rows() -> None:
    """Each adds a combination that no other has."""
    taken: dict[frozenset[str], str] = {}
    for entry in CORPUS:
        rows = frozenset(run_scenario(ModelSubject(), entry.scenario).rows)
        assert taken.setdefault(rows, entry.name) == entry.name


def test_the_corpus_takes_every_row() -> None:
    """A row that no entry takes would be told apart by nothing that a person has written."""
    taken: set[str] = set()
    for entry in CORPUS:
        taken |= set(run_scenario(ModelSubject(), entry.scenario).rows)

    assert taken == {row.key for row in TABLE} - OTHERS


def test_the_corpus_is_large_and_every_window_is_in_it_twice() -> None:
    """All calls, all answers, all kinds of windows."""
    lines = [line for entry in CORPUS for line in entry.scenario.lines]
    windows = Counter(window_kind(line.window) for line in lines)
    calls = {line.action.name for line in lines if isinstance(line.action, Call)}
    answers = {
        (line.action.gate, line.action.choice) for line in lines if isinstance(line.action, Answer)
    }

    assert len(CORPUS) >= 130
    assert set(windows) == {
        "at rest",
        "in a record first",
        "in a record last",
        "in an event first",
        "in an event last",
        "in a gate",
        "1 ticks after an observation",
        "2 ticks after an observation",
        "0 ticks after an answer",
        "1 ticks after an answer",
        "2 ticks after an answer",
    }
    assert min(windows.values()) >= 2, windows
    assert calls == set(CALLS)
    assert answers == {(gate, choice) for gate, choices in GATES.items() for choice in choices}


def test_every_entry_names_rules_and_mutants_that_exist() -> None:
    """Titles are sentences, and no two are the same."""
    known = {mutant.id for mutant in load_mutants()}
    for entry in CORPUS:
        assert set(entry.rules) <= set(load_rules()), entry.name
        assert entry.red_on, entry.name
        assert set(entry.red_on) <= known - {"canary"}, entry.name
        assert entry.source, entry.name
    assert len({entry.title for entry in CORPUS}) == len(CORPUS)


def test_an_entry_is_read_with_its_head() -> None:
    """The head is in comments, so the file is a scenario as it is."""
    entry = parse_entry("a-name", GOOD)

    assert entry.title == "A title."
    assert entry.rules == ("CL-03",)
    assert (entry.source, entry.red_on) == ("P47", ("canary",))
    assert str(entry.scenario) == "profile notes\nfollowup A\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        ("A Name", "", "", "A Name: expected a name of small letters and digits joined by '-'"),
        ("bad", "# A title.", "A title.", "bad: expected a sentence behind '# ' in line 1"),
        ("bad", "A title.", "A title", "bad: expected a sentence behind '# ' in line 1"),
        ("bad", "# rules", "# rule", "bad: expected '# rules: ...' in line 2, got 'rule: CL-03'"),
        ("bad", "CL-03", "CL3", "bad: expected rule ids such as CL-03 in line 2, got 'CL3'"),
        ("bad", "P47", "", "bad: expected '# source: ...' in line 3, got 'source:'"),
        ("bad", "canary\n", "\n", "bad: expected '# red on: ...' in line 4, got 'red on:'"),
        ("bad", "followup A", "", "bad: expected at least one call or answer, got none"),
        ("bad", "followup A", "follow A", "bad, line 6: expected a call"),
    ],
)
def test_a_bad_entry_is_refused_in_one_sentence(
    name: str, old: str, new: str, sentence: str
) -> None:
    """What was expected, what came, and in which file."""
    with pytest.raises(CorpusError) as caught:
        parse_entry(name, GOOD.replace(old, new) if old else GOOD)

    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_file_with_a_title_alone_is_refused() -> None:
    """The head may be cut short."""
    with pytest.raises(CorpusError, match="in line 2, got ''"):
        parse_entry("bad", "# A title.")
