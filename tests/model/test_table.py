"""The table: its rows, and `apply` and `move` as the only ways in which a session changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopspec.conformance.rules import load_rules
from loopspec.model.rows import Row, always, fail, nothing, row
from loopspec.model.session import Ending, Session, Suspend, Tell
from loopspec.model.table import OWNERS, TABLE, Refusal, apply, by_owner, move, row_of, run
from loopspec.model.words import (
    CALLS,
    CAUSES,
    EVENTS,
    GATES,
    RECORDS,
    TARGETS,
    THROWING,
    Answer,
    Block,
    Call,
    Message,
    text_message,
)
from tests.model.walks import walk

A = text_message("A")
KNOWN_RULES = set(load_rules())


@pytest.mark.parametrize("each", TABLE, ids=lambda each: each.key)
def test_each_row_cites_rules_and_reads_aloud(each: Row) -> None:
    """Rule ids exist; guard and effect are one sentence each, since the documents print them."""
    assert each.rules
    assert set(each.rules) <= KNOWN_RULES
    for function in (each.when, each.then):
        sentence = (function.__doc__ or "").splitlines()[0]
        assert sentence.endswith(".")
        assert sentence[0].isupper()


@pytest.mark.parametrize("owner", OWNERS)
def test_the_last_row_of_an_owner_always_fires(owner: str) -> None:
    """So that no frame, call or answer is ever without a row."""
    if owner == "answer":  # one row for each gate, and `apply` refuses an answer to any other
        assert {f"at {gate}" for gate in GATES} == {each.name for each in OWNERS[owner]}
        return
    assert always is OWNERS[owner][-1].when
    assert all(always is not each.when for each in OWNERS[owner][:-1])


def test_each_row_that_observes_says_what() -> None:
    """A row names the one observation that it makes, and only then has a function for it."""
    for each in TABLE:
        assert bool(each.makes) == (each.sees is not None)
    made = {each.makes.removeprefix(f"{each.makes.split()[0]} ") for each in TABLE if each.makes}
    assert made == {*RECORDS, *EVENTS, *GATES, "return", "settled", "opened"}


def test_two_rows_with_one_name_are_refused() -> None:
    """A name is the row's identity in coverage and documents."""
    twice = row("start", "a driver", "DR-03", always, nothing)

    with pytest.raises(ValueError, match="two rows are called 'start a driver'"):
        by_owner((*TABLE, twice))


@pytest.mark.parametrize("seed", range(60))
def test_moves_are_deterministic_and_see_what_their_row_says(seed: int) -> None:
    """One move, one observation at most, of the kind that the row names."""
    for session in walk(seed).sessions:
        moved, again = move(session), move(session)

        assert moved == again
        if moved is None:
            assert session.quiescent
            continue
        seen = moved.observation
        kind = "" if seen is None else seen.kind
        name = "" if seen is None or kind in ("return", "settled", "opened") else seen.name
        assert moved.row.makes == f"{kind} {name}".strip()


# --- Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "code", "because"),
    [
        (Call("shout", ()), "UNKNOWN_CALL", "there is no call 'shout'; calls are followup, steer"),
        (Call("clear", (A,)), "BAD_ARGUMENTS", "clear takes nothing, not 1 arguments"),
        (Call("cancel", ("user",)), "BAD_ARGUMENTS", "cancel takes cause mode, not 1 arguments"),
        (Call("cancel", ("me", "keep")), "BAD_ARGUMENTS", "cancel takes a cause where 'me' came"),
        (Call("cancel", ("user", "all")), "BAD_ARGUMENTS", "cancel takes a mode where 'all' came"),
        (Call("followup", ("A",)), "BAD_ARGUMENTS", "followup takes a message where 'A' came"),
        (Call("append", ("inbox", A)), "BAD_ARGUMENTS", "append takes a target where 'inbox'"),
        (Call("remove", (1,)), "BAD_ARGUMENTS", "remove takes a id where 1 came"),
        (
            Call("splice", ("next-turn", True, 0, ())),
            "BAD_ARGUMENTS",
            "splice takes a start where True came",
        ),
        (
            Call("splice", ("next-turn", 0, 0, ("A",))),
            "BAD_ARGUMENTS",
            "splice takes a messages where ('A',) came",
        ),
        (Answer("lunch", "yes"), "UNKNOWN_ANSWER", "lunch: yes is not among none; gates are asse"),
        (
            Answer("provider", "reject"),
            "UNKNOWN_ANSWER",
            "provider: reject is not among done, owes, tools, parallel, max-tokens, partial, error",
        ),
        (
            Answer("pre-step", "enter"),
            "GATE_CLOSED",
            "the gate pre-step is not open; open: none",
        ),
    ],
)
def test_a_refused_action_says_why(action: Call | Answer, code: str, because: str) -> None:
    """A code for machines, and a sentence with what was expected and what came."""
    session = Session()
    before = repr(session)

    refusal = apply(session, action)

    assert isinstance(refusal, Refusal)
    assert code == refusal.code
    assert because in refusal.because
    assert before == repr(session)


def test_a_call_lands_only_at_rest_or_in_a_listener() -> None:
    """Between two moves of the driver nobody else runs."""
    session = apply(Session(), Call("followup", (A,)))
    assert isinstance(session, Session)

    refusal = apply(session, Call("clear", ()))

    assert Refusal("NOT_AT_REST", "clear cannot land while 'splice frame' is due") == refusal


def test_an_answer_inside_a_listener_is_refused() -> None:
    """Gates are answered by the environment, at rest."""
    session = Session(gates=("provider",), stack=(Tell("event", "agent/status", (), ()),))

    refusal = apply(session, Answer("provider", "done"))

    assert Refusal("NOT_AT_REST", "provider is answered only at rest") == refusal


def test_a_failure_without_a_handler_is_our_own_bug() -> None:
    """Nothing is swallowed: the stack always holds a handler where a row may fail."""
    with pytest.raises(AssertionError, match="has no handler"):
        fail(Session(stack=(Suspend(),)), Ending("error"))


# --- Any argument -------------------------------------------------------------------------------

TEXTS = st.text(max_size=4)
BLOCKS = st.builds(Block, TEXTS, TEXTS)
MESSAGES = st.builds(
    Message,
    st.sampled_from("ABCDE") | TEXTS,
    TEXTS,
    TEXTS,
    st.lists(BLOCKS, max_size=2).map(tuple),
)
GOOD = {
    "message": MESSAGES,
    "messages": st.lists(MESSAGES, max_size=3).map(tuple),
    "target": st.sampled_from(TARGETS),
    "cause": st.sampled_from(CAUSES),
    "mode": st.sampled_from(("keep", "drop")),
    "record": st.sampled_from(RECORDS),
    "event": st.sampled_from(THROWING),
    "id": st.sampled_from("ABCDE") | TEXTS,
    "start": st.integers(),
    "count": st.integers(),
}
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | MESSAGES
GOOD_CALLS = st.sampled_from(list(CALLS)).flatmap(
    lambda name: st.builds(Call, st.just(name), st.tuples(*(GOOD[kind] for kind in CALLS[name])))
)
ANY_CALLS = st.builds(
    Call,
    st.sampled_from(list(CALLS)) | TEXTS,
    st.lists(VALUES | st.lists(VALUES, max_size=2).map(tuple), max_size=4).map(tuple),
)
ANSWERS = st.builds(
    Answer,
    st.sampled_from(list(GATES)) | TEXTS,
    st.sampled_from(sorted(choice for choices in GATES.values() for choice in choices)) | TEXTS,
    st.none() | st.lists(MESSAGES, max_size=3).map(tuple),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 29), st.integers(0, 400), GOOD_CALLS | ANY_CALLS | ANSWERS)
def test_apply_never_raises_and_whatever_follows_comes_to_rest(
    seed: int, at: int, action: Call | Answer
) -> None:
    """Any call or answer on any session is taken or refused, and then runs to quiescence."""
    sessions = walk(seed).sessions
    session = sessions[at % len(sessions)]
    before = repr(session)

    after = apply(session, action)

    assert before == repr(session)
    if isinstance(after, Session):
        assert row_of(session, action).key
        moves = list(run(after))
        assert moves[-1].session.quiescent if moves else after.quiescent


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 29), st.integers(0, 400), GOOD_CALLS)
def test_each_call_returns_or_raises_exactly_once(seed: int, at: int, call: Call) -> None:
    """A call that lands gets one return of its own, whatever it does; or a log opens, and none."""
    sessions = walk(seed).sessions
    session = sessions[at % len(sessions)]
    owed = sum(frame.frame == "end call" for frame in session.stack)

    after = apply(session, call)

    if isinstance(after, Session):
        seen = [moved.observation for moved in run(after) if moved.observation is not None]
        returns = [each for each in seen if each.kind == "return"]
        if "opened" in [each.kind for each in seen]:
            assert [] == returns
            return
        assert owed + 1 == len(returns)
        assert call.name == returns[0].name
