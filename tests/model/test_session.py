"""The session: changing it, finding in it, and the canonical form."""

from typing import Final

import attrs
import pytest

from loopspec.model.policy import PROFILES
from loopspec.model.session import (
    DUE,
    HELD,
    QUIET,
    WAKING,
    EndCall,
    Ending,
    Item,
    Listening,
    Session,
    Settle,
    ToolDone,
    Turn,
    canonical,
    find,
    parked_reason,
    renamed,
)
from loopspec.model.words import NEXT_STEP, NEXT_TURN, Block, Message, text_message
from tests.model.walks import walk

A, B = Item(text_message("A")), Item(text_message("B"), WAKING)

CHANGED: Final = {
    "policy": PROFILES["notes-park"],
    "listeners": ("first",),
    "next_turn": (A,),
    "next_step": (B,),
    "running": True,
    "cause": "user",
    "looked": True,
    "turn": Turn(3),
    "turn_open": True,
    "step": 2,
    "batch": (A.message,),
    "outcome": "completed",
    "owes": True,
    "ending": Ending("blocked"),
    "clear_refused": True,
    "stack": (EndCall("steer"),),
    "task": (EndCall("inject"),),
    "gates": ("assemble",),
    "held": HELD | {"turn-stopping"},
    "maintenance": True,
    "latch": True,
    "waiters": 1,
    "disposal": "begun",
    "concluded": True,
    "streamed": True,
    "finished": (ToolDone("x", "result", (A.message,)),),
    "awaited": "provider",
    "settling": (Settle("dispose"),),
    "faults": ("turn/end",),
    "kept": None,
}


def test_every_field_has_a_changed_value_here() -> None:
    """A new field must be added to the tests below."""
    assert {field.name for field in attrs.fields(Session)} == set(CHANGED)


@pytest.mark.parametrize("name", CHANGED)
def test_but_is_evolve_for_every_field(name: str) -> None:
    """`but` is only faster: equal, of equal hash and text, and the old session stays as it was."""
    old = Session(next_turn=(A,), step=1)
    before = repr(old)

    new = old.but(**{name: CHANGED[name]})
    evolved = attrs.evolve(old, **{name: CHANGED[name]})  # type: ignore[arg-type]

    assert evolved == new
    assert hash(evolved) == hash(new)
    assert repr(evolved) == repr(new)
    assert before == repr(old)


def test_a_session_cannot_be_changed_in_place() -> None:
    """Equal sessions stay equal because nobody can change one."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Session().step = 1  # type: ignore[misc]


def test_find_looks_in_next_turn_first() -> None:
    """IN-11 names the order."""
    session = Session(next_turn=(B, A), next_step=(A,))

    assert (NEXT_TURN, 1) == find(session, "A")
    assert (NEXT_STEP, 0) == find(session.but(next_turn=()), "A")
    assert None is find(session, "Z")


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (Session(), None),
        (Session(next_turn=(A,), running=True), None),
        (Session(next_turn=(A,)), "quiet"),
        (Session(next_turn=(A,), ending=Ending("completed")), "quiet"),
        (Session(next_turn=(A,), ending=Ending("aborted")), "quiet"),
        (Session(next_turn=(B,), ending=Ending("aborted")), "aborted"),
        (Session(next_turn=(B,), ending=Ending("none")), "stopped"),
        (Session(next_turn=(A,), ending=Ending("blocked")), "blocked"),
        (Session(next_turn=(A,), ending=Ending("error", "x")), "error"),
        (Session(next_turn=(A,), ending=Ending("empty")), "empty"),
        (Session(next_turn=(A,), ending=Ending("aborted"), clear_refused=True), "canceled"),
        (Session(next_turn=(A,), maintenance=True), None),
        (Session(next_turn=(B,), ending=Ending("aborted"), disposal="begun"), "disposed"),
    ],
)
def test_a_parked_queue_has_a_named_reason(session: Session, reason: str | None) -> None:
    """Nothing waits without a reason that a person can be told."""
    assert reason == parked_reason(session)


@pytest.mark.parametrize("seed", range(40))
def test_canonical_is_idempotent(seed: int) -> None:
    """The canonical session of a canonical session is itself, under the same names."""
    for session in walk(seed).sessions:
        form, _ = canonical(session)
        again, names = canonical(form)

        assert form == again
        assert all(old == new for old, new in names.items())


@pytest.mark.parametrize("seed", range(40))
def test_sessions_that_differ_in_names_only_are_one(seed: int) -> None:
    """Ids are renamed, turns moved on by seven: the canonical session stays the same."""
    for session in walk(seed).sessions:
        mapping = {letter: f"other-{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
        fields = ("next_turn", "next_step", "batch", "finished", "stack", "task")
        assert session.kept is not None
        other = session.but(
            turn=Turn(session.turn + 7),
            kept=renamed(session.kept, dict(mapping), -7),
            **{name: renamed(getattr(session, name), dict(mapping), -7) for name in fields},
        )

        assert canonical(session)[0] == canonical(other)[0]


def test_names_follow_the_walk_and_content_goes_with_the_name() -> None:
    """Default text is renamed with its id; other content stays, since no rule reads it."""
    plain, rich = text_message("M9"), Message("Q", "user", "hook", (Block("data", "x"),))

    form, names = canonical(Session(next_turn=(Item(rich, DUE),), next_step=(Item(plain, QUIET),)))

    assert {"M9": "A", "Q": "B"} == names
    assert (Item(text_message("A")),) == form.next_step
    assert (Item(rich._replace(id="B"), DUE),) == form.next_turn


def test_depth_counts_listeners_inside_each_other() -> None:
    """A call may land only on top of a listening frame."""
    inner = Listening("event", "agent/status")

    session = Session(stack=(inner, EndCall("steer"), Listening("record", "turn/start")))

    assert 2 == session.depth
    assert session.listening
    assert not session.but(stack=session.stack[1:]).listening
