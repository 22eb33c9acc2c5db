"""Scenarios: what is printed parses back, and what cannot be read is one sentence."""

import json
import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopspec.model.playback import play, trace_lines
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import (
    LINE_LENGTH_MAX,
    LINES_MAX,
    TICKS_MAX,
    Line,
    Scenario,
    ScenarioError,
    Window,
    parse_scenario,
    scenario_from_json,
    scenario_json,
)
from loopspec.model.words import (
    CALLS,
    CAUSES,
    GATES,
    KEYS,
    RECORDS,
    TARGETS,
    THROWING,
    Answer,
    Block,
    Call,
    Message,
    text_message,
)

EXAMPLE: Final = """\
profile notes
scope queue
followup A
steer B "two words" data:"{\\"x\\": 1}"
inject C @hook empty
in agent/inbox/claimed#1 last: cancel user keep
in assemble#1: append next-step D
pre-step: enter A B
after turn/end#1 +1: followup E
after provider answer#1 +0: prepend next-turn F
provider: done
splice next-turn 0 1 G H
splice next-step -1 2
replace B B "new words"
remove B
clear
pre-step: enter nothing
cancel parent drop
"""


def test_the_printed_form_is_the_form_that_is_read() -> None:
    """Every kind of line, printed as it was written."""
    scenario = parse_scenario(EXAMPLE)

    assert EXAMPLE == str(scenario)
    assert 16 == len(scenario)
    assert "queue" == scenario.scope


def test_comments_blank_lines_and_spaces_do_not_count() -> None:
    """A `#` inside a word or a string is no comment."""
    text = '# a comment\n\n  followup   A "x # y"   # why\r\nin turn/start#1: clear\n\t\n'

    scenario = parse_scenario(text)

    assert 'profile notes\nfollowup A "x # y"\nin turn/start#1 first: clear\n' == str(scenario)


def test_a_string_that_ends_in_a_backslash_hides_no_comment() -> None:
    """The backslash of an escape is not the escape of the closing quote."""
    assert parse_scenario(r'followup A "\\"') == parse_scenario(r'followup A "\\" # why')
    two = parse_scenario(r'followup A "\\" " # b"')
    (line,) = two.lines
    assert Call("followup", (Message("A", "user", "user", blocks("\\", " # b")),)) == line.action


def test_a_bare_id_means_the_message_that_the_scenario_knows() -> None:
    """A rewrite names what was sent; other content for a known id is written out."""
    scenario = parse_scenario('followup A "long"\npre-step: enter A\nfollowup A "A"\n')

    first, second, third = (line.action for line in scenario.lines)
    assert isinstance(first, Call)
    assert isinstance(second, Answer)
    assert isinstance(third, Call)
    assert first.args == second.messages
    assert (text_message("A"),) == third.args
    assert 'followup A "A"' == str(scenario).splitlines()[-1]


def blocks(*texts: str) -> tuple[Block, ...]:
    """Text blocks."""
    return tuple(Block("text", text) for text in texts)


# --- Round trips --------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
IDS = st.sampled_from(["A", "B", "C-1", "d.2", "e/f_", "-3", "first", "next-turn"])
NAMES = st.sampled_from(["hook", "plug-in/x", "a.b"])
BLOCKS = st.builds(Block, st.sampled_from(["text", "data", "image/png"]), TEXTS)
MESSAGES = IDS.map(text_message) | st.builds(
    Message,
    IDS,
    st.just("user"),
    st.just("user") | NAMES,
    st.lists(BLOCKS, max_size=2).map(tuple),
)
ARGUMENTS = {
    "message": MESSAGES,
    "messages": st.lists(MESSAGES, max_size=3).map(tuple),
    "target": st.sampled_from(TARGETS),
    "cause": st.sampled_from(CAUSES),
    "mode": st.sampled_from(["keep", "drop"]),
    "record": st.sampled_from(RECORDS),
    "event": st.sampled_from(THROWING),
    "id": IDS,
    "start": st.integers(-(10**14), 10**14),
    "count": st.integers(-(10**14), 10**14),
}
ACTS = st.sampled_from(list(CALLS)).flatmap(
    lambda name: st.builds(
        Call, st.just(name), st.tuples(*(ARGUMENTS[kind] for kind in CALLS[name]))
    )
)
NUMBERS = st.integers(1, 999_999)
TOLD = [name for name in KEYS if name not in GATES]
WINDOWS = (
    st.builds(
        Window, st.just("in"), st.sampled_from(TOLD), NUMBERS, st.sampled_from(["first", "last"])
    )
    | st.builds(Window, st.just("in"), st.sampled_from(list(GATES)), NUMBERS)
    | st.builds(
        Window,
        st.just("after"),
        st.sampled_from(list(KEYS)),
        NUMBERS,
        st.just(""),
        st.integers(1, TICKS_MAX),
    )
    | st.builds(
        Window,
        st.just("after"),
        st.sampled_from([f"{gate} answer" for gate in GATES]),
        NUMBERS,
        st.just(""),
        st.integers(0, TICKS_MAX),
    )
)
LISTED = st.lists(MESSAGES, max_size=3).map(tuple)
CALLED = st.lists(st.sampled_from(["x", "y", "t-1"]), min_size=1, max_size=3, unique=True)
ANSWERS = (
    st.sampled_from(
        [
            (gate, choice)
            for gate in GATES
            for choice in GATES[gate]
            if gate != "tool" and choice not in ("enter", "tools", "parallel")
        ]
    ).map(lambda pair: Answer(*pair))
    | st.tuples(st.none() | LISTED).map(lambda batch: Answer("pre-step", "enter", *batch))
    | st.tuples(st.sampled_from(["tools", "parallel"]), CALLED.map(tuple)).map(
        lambda asked: Answer("provider", asked[0], None, asked[1])
    )
    | st.tuples(
        st.sampled_from(GATES["tool"]), LISTED, st.just(()) | st.sampled_from([("x",), ("y",)])
    ).map(lambda done: Answer("tool", *done))
)
LINES = st.builds(Line, ACTS, st.just(Window()) | WINDOWS) | st.builds(Line, ANSWERS)
SCENARIOS = st.builds(
    Scenario,
    st.lists(LINES, max_size=6).map(tuple),
    st.sampled_from(list(PROFILES)),
    st.sampled_from(["", "queue", "my/scope-1"]),
    st.lists(st.sampled_from(["request", "turn-stopping"]), max_size=2).map(tuple),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(SCENARIOS, st.lists(TEXTS, min_size=8, max_size=8))
def test_any_scenario_survives_text_comments_and_json(
    scenario: Scenario, comments: list[str]
) -> None:
    """Printed and read back it is equal, also between comments and through JSON."""
    text = str(scenario)
    dressed = "".join(
        f"  {line}   # {' '.join(comment.split())}\n\n"
        for line, comment in zip(text.splitlines(), comments * 2, strict=False)
    )

    assert text.isascii()
    assert scenario == parse_scenario(text)
    assert scenario == parse_scenario(dressed)
    twin = json.loads(json.dumps(scenario_json(scenario)))
    assert scenario == scenario_from_json(twin)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(SCENARIOS)
def test_any_scenario_can_be_played(scenario: Scenario) -> None:
    """What is not enabled is left out and listed; the run ends at rest, and is the same again."""
    result = play(scenario)

    assert result == play(parse_scenario(str(scenario)))
    assert result.session.quiescent
    assert len(result.skipped) <= len(scenario)
    assert trace_lines(result.trace, everything=True) is not None


# --- Errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("shout A", "expected a call (followup, steer, inject, append, prepend, splice, replace"),
        ("followup", "expected a message id, got the end of the line"),
        ("followup A B", "expected the end of the line, got 'B'"),
        ("followup A,B", "expected a message id of letters, digits and . _ / -, got 'A,B'"),
        ("followup empty", "expected a message id of letters, digits and . _ / -, got 'empty'"),
        ('followup A "x', "expected a word or a JSON string, got '\"x'"),
        (r'followup A "\q"', "expected a JSON string"),
        (r'followup A "\ud800"', "expected text without lone surrogates"),
        ("append inbox A", "expected next-turn or next-step, got 'inbox'"),
        ("splice next-turn x 0", "expected a whole number as start, got 'x'"),
        ("splice next-turn 0 1.5", "expected a whole number as count, got '1.5'"),
        ("splice next-turn 0 9999999999999999", "expected a whole number as count"),
        ("cancel me keep", "expected user, parent, hook or disposed, got 'me'"),
        ("cancel user", "expected keep or drop, got the end of the line"),
        ("pre-step: maybe", "expected enter, reject, raise as the answer of pre-step, got 'maybe'"),
        ("pre-step: reject A", "expected the end of the line, got 'A'"),
        (
            "profile loose",
            "expected a profile (notes, notes-park, dsh-0.1, dsh-0.2, "
            "dsh-0.1-gates, dsh-0.2-gates), got 'loose'",
        ),
        ("profile", "expected a name behind profile, got the end of the line"),
        ("scope a b", "expected the end of the line, got 'b'"),
        ("in turn/start: clear", "expected 'in OBS#n LISTENER: CALL' or 'after OBS#n +k: CALL'"),
        ("in turn/middle#1: clear", "expected a record, event or gate (turn/start, "),
        ("in turn/start#0: clear", "expected a count from 1 on behind '#', got 0"),
        ("in assemble#1 last: clear", "expected nothing behind #1, got 'last'"),
        ("in turn/start#1 +1: clear", "expected first or last behind #1, got '+1'"),
        ("after turn/start#1: clear", "expected +1 to +2 ticks, got 'nothing'"),
        ("after turn/start#1 +0: clear", "expected +1 to +2 ticks, got '+0'"),
        ("after assemble answer#1 +3: clear", "expected +0 to +2 ticks, got '+3'"),
        ("in turn/start#1: pre-step: enter", "expected a call"),
    ],
)
def test_an_error_is_one_sentence_with_its_line(line: str, sentence: str) -> None:
    """What was expected, what came, and where."""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"profile notes\n# why\n{line}\n", "bad.scenario")

    text = str(caught.value)
    assert text.startswith("bad.scenario, line 3: expected ")
    assert sentence in text
    assert "\n" not in text
    assert len(text) < 400


def test_a_scenario_has_a_largest_size() -> None:
    """A hostile file is refused before it is read."""
    with pytest.raises(ScenarioError, match=f"at most {LINES_MAX} lines, got {LINES_MAX + 1}"):
        parse_scenario("\n" * LINES_MAX)
    with pytest.raises(ScenarioError, match=f"line 1: expected at most {LINE_LENGTH_MAX} char"):
        parse_scenario("#" * (LINE_LENGTH_MAX + 1))


@pytest.mark.parametrize(
    ("twin", "sentence"),
    [
        ({}, "expected 'lines' to be a list of strings, got NoneType"),
        ({"lines": "clear"}, "expected 'lines' to be a list of strings, got str"),
        ({"lines": [1]}, "expected 'lines' to be a list of strings, got list"),
        (
            {"lines": [], "profile": "loose"},
            "expected a profile (notes, notes-park, dsh-0.1, dsh-0.2, "
            "dsh-0.1-gates, dsh-0.2-gates), got 'loose'",
        ),
        ({"lines": ["clear\nclear"]}, "expected one line in each string, got 'clear\\nclear'"),
        ({"lines": [], "scope": "a\nclear"}, "expected one line in each string, got 'a\\nclear'"),
    ],
)
def test_a_bad_json_twin_is_one_sentence(twin: dict[str, object], sentence: str) -> None:
    """The twin is as strict as the text."""
    with pytest.raises(ScenarioError, match=re.escape(sentence)) as caught:
        scenario_from_json(twin, "x.json")

    assert str(caught.value).startswith("x.json")
    assert "\n" not in str(caught.value)


WORDS = st.sampled_from(
    [
        *("profile", "notes", "scope", "in", "after", "turn/start", "#1", "+1", ":", "first"),
        *("followup", "A", '"x"', 'data:"x"', "@hook", "empty", "nothing", "pre-step:", "enter"),
        *("splice", "next-turn", "0", "-1", "cancel", "user", "keep", "\\", '"', "\x00", "\u2028"),
        *("in turn/start#1:", "after provider answer#1 +0:", "clear", "é", "\ud800", "#", "\r"),
    ]
)
HOSTILE = (
    st.text(max_size=60)
    | st.lists(WORDS, max_size=8).map(" ".join)
    | st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=4).map("\n".join)
)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(HOSTILE)
def test_hostile_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    """Nothing else is raised, and what is read survives the round trip."""
    try:
        scenario = parse_scenario(text)
    except ScenarioError as error:
        assert re.match(r"scenario(, line \d+)?: expected ", str(error))
        assert str(error).isprintable()
        return
    assert scenario == parse_scenario(str(scenario))
