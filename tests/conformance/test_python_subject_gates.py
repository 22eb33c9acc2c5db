"""The in-process subject: gates of tools, hooks and maintenance, settlements, and policies."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.session import HELD
from loopspec.model.words import Answer, Call, Observation, text_message

A, B, C = (text_message(name) for name in "ABC")
FAILED, STOPPING = "provider failed", "turn-stopping raised"
HOOKS = frozenset({"request", "request-error", "turn-stopping"})


class Driven:
    """A subject with an open session and what its first listener, gates and calls told."""

    def __init__(self, held: frozenset[str] = HELD, subject: PythonSubject | None = None) -> None:
        """Open the session at once."""
        self.subject = PythonSubject() if subject is None else subject
        self.seen: list[Observation] = []
        self.subject.open(self.observe, held)

    def observe(self, seen: Observation) -> None:
        """Remember each thing once."""
        if seen.listener != "last":
            self.seen.append(seen)

    def call(self, name: str, *args: object) -> Observation:
        """Make a call of the suite, settle, and return its Return observation."""
        self.subject.call(Call(name, args))  # type: ignore[arg-type]
        returned = next(seen for seen in reversed(self.seen) if seen.kind == "return")
        self.subject.settle()
        return returned

    def answer(self, gate: str, choice: str, *contexts: str, names: tuple[str, ...] = ()) -> bool:
        """Answer a gate and settle."""
        messages = tuple(text_message(name) for name in contexts) or None
        taken = self.subject.answer(Answer(gate, choice, messages, names))
        self.subject.settle()
        return taken

    def asked(self) -> None:
        """Open a turn up to its request."""
        self.call("followup", A)
        self.answer("assemble", "assembled")
        self.answer("pre-step", "enter")
        self.seen.clear()

    def told(self, *kinds: str) -> list[tuple[object, ...]]:
        """Names and values of what was told, of some kinds."""
        return [(each.name, *dict(each.data).values()) for each in self.seen if each.kind in kinds]


@pytest.fixture
def driven() -> Iterator[Driven]:
    """Our own loop with a fresh session that holds what every session does."""
    made = Driven()
    yield made
    made.subject.close()
    assert made.subject.closing_failures == ()


@pytest.fixture
def hooked() -> Iterator[Driven]:
    """A session that holds every gate."""
    made = Driven(HELD | HOOKS)
    yield made
    made.subject.close()
    assert made.subject.closing_failures == ()


def test_tools_one_after_the_other(driven: Driven) -> None:
    """Each gate tells its call; the answer may carry contexts, also when it raises."""
    driven.asked()
    driven.answer("provider", "tools", names=("X", "Y"))
    assert driven.subject.gates() == (("tool X", False),)
    driven.answer("tool", "raise", "C", names=("X",))
    driven.answer("tool", "concludes", names=("Y",))

    assert [each for each in driven.told("record", "gate") if each[0] != "agent/inbox/spliced"] == [
        ("assistant/message", 1, 1, ("X", "Y"), False),
        ("tool/call", 1, 1, "X"),
        ("tool", 1, 1, "X"),
        ("tool/result", 1, 1, "X", "error"),
        ("tool/call", 1, 1, "Y"),
        ("tool", 1, 1, "Y"),
        ("tool/result", 1, 1, "Y", "ok"),
        ("step/end", 1, 1),
        ("assemble", 1, 2),
    ]


def test_tools_side_by_side_are_answered_by_their_call(driven: Driven) -> None:
    """In any order; without a name the oldest one is meant."""
    driven.asked()
    driven.answer("provider", "parallel", names=("X", "Y", "Z"))
    assert driven.subject.gates() == (("tool X", False), ("tool Y", False), ("tool Z", False))
    assert driven.answer("tool", "result", names=("Y",))
    assert not driven.answer("tool", "result", names=("Y",))
    assert driven.answer("tool", "result")
    assert driven.subject.gates() == (("tool Z", False),)


def test_a_partial_answer_comes_back_to_the_gate(driven: Driven) -> None:
    """What was visible at the abort is recorded as interrupted."""
    driven.asked()
    driven.answer("provider", "partial")
    assert driven.subject.gates() == (("provider", False),)
    driven.call("cancel", "user", "keep")
    driven.answer("provider", "done")

    assert driven.told("record")[:2] == [
        ("assistant/message", 1, 1, (), True),
        ("step/end", 1, 1),
    ]


def test_hooks_are_held_when_they_are_asked_for(hooked: Driven) -> None:
    """And are passed at once in every other session."""
    hooked.call("followup", A)
    hooked.answer("assemble", "assembled")
    hooked.answer("pre-step", "enter")
    hooked.answer("request", "go")
    hooked.answer("provider", "error")
    hooked.answer("request-error", "retry")
    hooked.answer("request", "go")
    hooked.answer("provider", "done")
    hooked.answer("turn-stopping", "nothing")

    assert [name for name, *_ in hooked.told("gate")] == [
        "assemble",
        "pre-step",
        "request",
        "provider",
        "request-error",
        "request",
        "provider",
        "turn-stopping",
    ]


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ((("request", "raise"),), "request raised"),
        (
            (("request", "go"), ("provider", "error"), ("request-error", "give-up")),
            "provider failed",
        ),
        ((("request", "go"), ("provider", "cut"), ("request-error", "raise")), "recovery raised"),
        (
            (("request", "go"), ("provider", "done"), ("turn-stopping", "raise")),
            "turn-stopping raised",
        ),
    ],
)
def test_a_hook_that_raises_ends_the_turn(
    hooked: Driven, answers: tuple[tuple[str, str], ...], error: str
) -> None:
    """With the text that the words have for it."""
    hooked.asked()
    for gate, choice in answers:
        assert hooked.answer(gate, choice)

    assert hooked.told("record")[-1] == ("turn/end", 1, "error", None, error)


@pytest.mark.parametrize(("choice", "error"), [("done", None), ("raise", "maintenance raised")])
def test_maintenance_settles(driven: Driven, choice: str, error: str | None) -> None:
    """It is refused meanwhile; its gate shows the signal; whoever waits is told afterwards."""
    driven.call("maintenance")
    assert driven.call("maintenance").get("raised") == "busy"
    driven.call("when-idle")
    driven.call("cancel", "user", "keep")
    assert driven.subject.gates() == (("maintenance", True),)
    driven.answer("maintenance", choice)

    assert driven.told("settled") == [("maintenance", error), ("when-idle", None)]


def test_waiting_on_an_idle_agent_settles_behind_its_return(driven: Driven) -> None:
    """Nothing is told inside the call."""
    driven.call("when-idle")

    assert [(each.kind, each.name) for each in driven.seen] == [
        ("return", "when-idle"),
        ("settled", "when-idle"),
    ]


def test_disposal_settles_once(driven: Driven) -> None:
    """Calls share it; deliveries are refused once it is done."""
    driven.call("followup", A)
    driven.call("dispose")
    driven.call("dispose")
    assert driven.call("steer", B).get("raised") is None
    driven.answer("assemble", "assembled")
    assert driven.call("followup", C).get("raised") == "disposed"
    assert driven.call("maintenance").get("raised") == "disposed"

    assert driven.told("settled") == [("dispose", None)]


def test_a_disposal_that_could_not_clear_settles_all_the_same() -> None:
    """The call raises, and what it began settles."""
    made = Driven()
    call: Callable[[], object] = partial(made.subject.call, Call("dispose"))

    def observe(seen: Observation) -> None:
        made.observe(seen)
        if seen.name == "turn/end" and seen.listener == "last":
            call()

    made.subject.open(observe)
    made.call("followup", A)
    made.call("followup", B)
    made.answer("assemble", "assembled")
    made.answer("pre-step", "enter")
    made.answer("provider", "done")

    assert made.told("return")[2:] == [("dispose", None, "append-refused")]
    assert made.told("settled") == [("dispose", None)]
    made.subject.close()


def test_a_profile_is_run_by_its_answers() -> None:
    """Both readings of a choice are run by the same adapter."""
    statuses = []
    for profile in ("notes", "notes-park"):
        made = Driven(subject=PythonSubject(profile=profile))
        made.call("followup", A)
        made.call("followup", B)
        made.call("cancel", "user", "keep")
        made.answer("assemble", "assembled")
        statuses.append(made.subject.status())
        made.subject.close()

    assert statuses == ["running", "idle"]
