"""The guard: an adapter that lies or fails is one sentence, and never a verdict or a traceback."""

from collections.abc import Callable

import pytest

from loopspec.conformance import ConformanceError, run_conformance
from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.subjects import guarded as guards
from loopspec.conformance.subjects.guarded import Guarded, guarded, guarded_factory
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.suite import check_subject
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import Message, Observation, observation, text_message

SCENARIO = parse_scenario("followup A\npre-step: reject\n")
STATUS = observation("event", "agent/status", "idle", listener="first")


def lying(method: str, answer: Callable[..., object]) -> ModelSubject:
    """The specification with one method replaced."""
    subject = ModelSubject()
    setattr(subject, method, answer)
    return subject


def gives(value: object) -> Callable[..., object]:
    """A method that gives this whatever it is asked."""
    return lambda *_: value


def fails(error: BaseException) -> Callable[..., object]:
    """A method that raises."""

    def method(*_: object) -> None:
        raise error

    return method


class Telling(ModelSubject):
    """Tells one more observation at each settle."""

    def __init__(self, seen: object, times: int = 1) -> None:
        """Tell `seen` so many times."""
        super().__init__()
        self.seen, self.times = seen, times

    def settle(self) -> None:
        """Tell it first."""
        for _ in range(self.times):
            self._observer(self.seen)  # type: ignore[arg-type]
        super().settle()


def outcome(subject: ModelSubject) -> Outcome:
    """What one short scenario gives."""
    return run_scenario(subject, SCENARIO)


@pytest.mark.parametrize(
    "method", ["open", "call", "answer", "settle", "gates", "lists", "status", "folded", "close"]
)
def test_what_an_adapter_raises_is_its_fault_with_the_place(method: str) -> None:
    """The sentence says where it was asked, in which line, and what came."""
    expected = rf"^the adapter failed in {method} at test_guarded\.py:\d+: ValueError: boom$"
    with pytest.raises(ControlError, match=expected):
        outcome(lying(method, fails(ValueError("boom"))))


def test_an_exit_of_the_adapter_ends_nothing() -> None:
    """Only an interrupt is not its fault."""
    with pytest.raises(ControlError, match=r"failed in settle .* SystemExit: 3"):
        outcome(lying("settle", fails(SystemExit(3))))
    with pytest.raises(KeyboardInterrupt):
        outcome(lying("settle", fails(KeyboardInterrupt())))


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("lists", None),
        ("lists", ()),
        ("lists", (("A",), ())),
        ("lists", ((), (), ())),
        ("lists", ((Message("A", "user", "user", (1,)),), ())),  # type: ignore[arg-type]
        ("folded", "ab"),
        ("status", None),
        ("status", b"idle"),
        ("gates", None),
        ("gates", (("assemble", False, 1),)),
        ("gates", ((1, False),)),
    ],
)
def test_a_value_of_another_shape_is_refused(method: str, value: object) -> None:
    """The judge may take every value for what its type says."""
    with pytest.raises(ControlError, match=f"^the adapter's {method}: expected "):
        outcome(lying(method, gives(value)))


@pytest.mark.parametrize(
    "seen",
    [
        None,
        ("event", "agent/status", (), "first"),
        STATUS._replace(kind="rumour"),
        STATUS._replace(name=3),  # type: ignore[arg-type]
        STATUS._replace(listener="middle"),
        STATUS._replace(data=None),  # type: ignore[arg-type]
        STATUS._replace(data=("ab",)),  # type: ignore[arg-type]
        STATUS._replace(data=((1, 2),)),  # type: ignore[arg-type]
        STATUS._replace(data=(("status", 1.5),)),  # type: ignore[arg-type]
        STATUS._replace(data=(("status", 10**400),)),
    ],
)
def test_what_is_no_observation_never_reaches_the_judge(seen: object) -> None:
    """An unknown kind, a value that is no value of a trace, a number without end."""
    with pytest.raises(ControlError, match="told what is no observation"):
        outcome(Telling(seen))


def test_an_unknown_name_is_a_finding() -> None:
    """What the subject does is judged; no possible session does that."""
    assert outcome(Telling(Observation("event", "\x1b[2J", (), "first"))).findings


def test_telling_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subject that never settles does not hang the run."""
    monkeypatch.setattr(guards, "TOLD_MAX", 10)

    with pytest.raises(ControlError, match="does not come to rest: 10 observations"):
        outcome(Telling(STATUS, times=11))


def test_what_the_suite_raises_passes_though_an_adapter_swallows_it() -> None:
    """It is not the adapter's fault, and not lost."""

    class Swallowing(ModelSubject):
        def settle(self) -> None:
            try:
                self._observer(STATUS)
            except LookupError:
                return

    def observer(_: Observation) -> None:
        raise LookupError("ours")

    subject = guarded(Swallowing())
    subject.open(observer)
    with pytest.raises(LookupError, match="ours"):
        subject.settle()


def test_what_is_told_after_the_end_is_dropped() -> None:
    """By a closing session, and by the observer of an earlier one."""
    seen: list[Observation] = []
    inner = ModelSubject()
    subject = guarded(inner)
    subject.open(seen.append)
    stale = inner._observer
    subject.close()
    stale(STATUS)
    subject.open(seen.append)
    stale(STATUS)

    assert [] == seen


def test_lists_instead_of_tuples_are_the_same_lists() -> None:
    """No finding about a subject comes from how its adapter spells a sequence."""
    message = text_message("A")

    assert ((message,), ()) == guarded(lying("lists", gives([[message], []]))).lists()


def test_an_unknown_capability_is_refused() -> None:
    """A misspelt one would silently skip what it was meant to allow."""
    subject = ModelSubject()
    subject.capabilities = frozenset({"tics"})

    with pytest.raises(ControlError, match="capabilities: expected a set of steering"):
        _ = guarded(subject).capabilities


def test_a_guarded_subject_is_guarded_once() -> None:
    """The suite guards, and so does each run of a scenario."""
    subject = guarded(ModelSubject())

    assert subject is guarded(subject)
    assert isinstance(guarded_factory(ModelSubject)(), Guarded)


def test_a_check_of_a_failing_adapter_is_one_sentence() -> None:
    """Said once, without the list of what could so not be reached; nothing acts on a terminal."""
    with pytest.raises(ConformanceError) as caught:
        run_conformance(lambda: lying("call", fails(ValueError("\x1b[2J"))), examples=1)

    text = str(caught.value)
    assert "error" == caught.value.result.verdict
    assert text.startswith("error: corpus: the adapter failed in call at test_guarded.py:")
    assert text.endswith("ValueError: \\x1b[2J")


def test_a_factory_that_fails_could_not_be_judged() -> None:
    """No stage runs."""

    def factory() -> ModelSubject:
        raise ValueError("no loop here")

    result = check_subject(factory)

    assert ("error", []) == (result.verdict, result.stages)
    assert "no loop here" in result.reasons[0]
