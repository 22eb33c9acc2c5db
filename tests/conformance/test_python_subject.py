"""The in-process subject: real loop, real log, held gates, every delivery told while it happens."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from loopspec import impl
from loopspec.conformance.control import ControlError, Uncontrolled
from loopspec.conformance.mutants import mutated_part
from loopspec.conformance.subjects.contract import CAPABILITIES, Subject
from loopspec.conformance.subjects.python import PythonSubject, fold_records, remove_left_over
from loopspec.model.words import Answer, Block, Call, Message, Observation, text_message

A, B, C = (text_message(name) for name in "ABC")

ENTERED = ("assemble: assembled", "pre-step: enter")


class Driven:
    """A subject with an open session and everything that it told so far."""

    def __init__(self, subject: PythonSubject) -> None:
        """Open the session at once."""
        self.subject = subject
        self.seen: list[Observation] = []
        self.reactions: dict[tuple[str, str], Callable[[], None]] = {}
        subject.open(self.observe)

    def observe(self, seen: Observation) -> None:
        """Remember it, and make at most once the call that a test wants inside this delivery."""
        self.seen.append(seen)
        reaction = self.reactions.pop((seen.name, seen.listener), None)
        if reaction is not None:
            reaction()

    def call(self, name: str, *args: object) -> None:
        """Make a call of the suite."""
        self.subject.call(Call(name, args))  # type: ignore[arg-type]

    def answers(self, *choices: str) -> None:
        """Answer gates in turn (`gate: choice`), settling after each."""
        for text in choices:
            gate, choice = text.split(": ")
            assert self.subject.answer(Answer(gate, choice)), f"no open gate for {text}"
            self.subject.settle()

    def told(self) -> list[str]:
        """Names of what the first listener, the gates and the returns told, in order."""
        return [seen.name for seen in self.seen if seen.listener != "last"]

    def last(self, name: str) -> Observation:
        """The newest observation of that name."""
        return next(seen for seen in reversed(self.seen) if seen.name == name)


@pytest.fixture
def driven() -> Iterator[Driven]:
    """Our own loop with a fresh session, which must close without a failure."""
    subject = PythonSubject()
    yield Driven(subject)
    subject.close()
    assert subject.closing_failures == ()


@pytest.fixture
def copied() -> Iterator[tuple[ModuleType, Callable[[], Driven]]]:
    """An unmutated copy of the implementation that a test may damage, and how to drive it."""
    copy = mutated_part("impl")
    subject = PythonSubject(copy)
    yield copy, lambda: Driven(subject)
    subject.close()


def test_the_subject_keeps_the_contract() -> None:
    """The type checker agrees, and every declared capability has a meaning."""
    subject: Subject = PythonSubject()

    assert subject.capabilities <= frozenset(CAPABILITIES)
    assert (subject.name, bool(subject.version)) == ("python", True)


def test_a_waking_call_returns_at_the_first_gate(driven: Driven) -> None:
    """LN-10: everything up to the assembly happens in the caller's stack."""
    driven.call("followup", A)

    assert driven.told() == [
        "agent/inbox/spliced",
        "agent/inbox/inserted",
        "agent/status",
        "turn/start",
        "agent/inbox/spliced",
        "agent/inbox/claimed",
        "assemble",
        "followup",
    ]
    assert driven.subject.gates() == (("assemble", False),)
    assert driven.last("followup").data == (("value", None), ("raised", None))


def test_one_turn_from_start_to_end(driven: Driven) -> None:
    """Every observation of an undisturbed turn, with its values."""
    driven.call("inject", C)
    driven.call("followup", A)
    before = len(driven.seen)
    driven.answers("assemble: assembled", "pre-step: enter", "provider: done")

    assert [(seen.name, seen.data) for seen in driven.seen[before:] if seen.listener != "last"] == [
        ("pre-step", (("turn", 1), ("step", 1), ("messages", (C, A)))),
        ("step/start", (("turn", 1), ("step", 1))),
        ("user/message", (("message", C),)),
        ("user/message", (("message", A),)),
        ("provider", (("turn", 1), ("step", 1))),
        ("assistant/message", (("turn", 1), ("step", 1), ("calls", ()), ("interrupted", False))),
        ("step/end", (("turn", 1), ("step", 1))),
        ("turn/end", (("turn", 1), ("reason", "completed"), ("cause", None), ("error", None))),
        ("agent/status", (("status", "idle"),)),
    ]
    assert driven.subject.gates() == ()


def test_each_delivery_is_told_to_the_first_and_to_the_last_listener(driven: Driven) -> None:
    """Two observations a delivery, equal but for the listener."""
    driven.call("inject", A)

    told = [(seen.kind, seen.name, seen.listener) for seen in driven.seen]
    assert told == [
        ("record", "agent/inbox/spliced", "first"),
        ("record", "agent/inbox/spliced", "last"),
        ("event", "agent/inbox/inserted", "first"),
        ("event", "agent/inbox/inserted", "last"),
        ("return", "inject", ""),
    ]
    assert driven.seen[0].data == driven.seen[1].data


def test_a_nested_delivery_overtakes_the_last_listener(driven: Driven) -> None:
    """RE-10: a call inside the first listener is over before the last one hears of the outer."""
    driven.reactions[("agent/inbox/inserted", "first")] = lambda: driven.call("inject", B)
    driven.call("inject", A)

    inserted = [
        (seen.get("message"), seen.listener)
        for seen in driven.seen
        if seen.name == "agent/inbox/inserted"
    ]
    assert inserted == [(A, "first"), (B, "first"), (B, "last"), (A, "last")]
    assert driven.subject.lists() == ((), (A, B))


def test_the_calls_return_what_the_inbox_says(driven: Driven) -> None:
    """None, a truth value, or the ids that a splice took out."""
    for name, args in (
        ("append", ("next-turn", A)),
        ("prepend", ("next-turn", B)),
        ("replace", ("A", C)),
        ("remove", ("A",)),
        ("splice", ("next-turn", 0, 2, (A,))),
        ("clear", ()),
        ("cancel", ("user", "keep")),
    ):
        driven.call(name, *args)

    returned = [(seen.name, seen.get("value")) for seen in driven.seen if seen.kind == "return"]
    assert returned == [
        ("append", None),
        ("prepend", None),
        ("replace", True),
        ("remove", False),
        ("splice", ("B", "C")),
        ("clear", None),
        ("cancel", None),
    ]
    assert {seen.get("raised") for seen in driven.seen if seen.kind == "return"} == {None}


def test_what_the_contract_demands_to_raise_has_a_code(driven: Driven) -> None:
    """ID-03, RE-02: a second pending copy, and a mutation inside a record's delivery."""
    driven.call("inject", A)
    driven.call("followup", A)
    assert driven.last("followup").get("raised") == "duplicate-id"

    driven.reactions[("agent/inbox/spliced", "last")] = lambda: driven.call("steer", B)
    driven.call("inject", C)
    assert driven.last("steer").get("raised") == "append-refused"
    assert driven.subject.lists() == ((), (A, C))


@pytest.mark.parametrize(
    ("answers", "reason", "cause", "error"),
    [
        (("assemble: failed",), "error", None, "assembly failed"),
        (("assemble: assembled", "pre-step: reject"), "blocked", None, None),
        (("assemble: assembled", "pre-step: raise"), "error", None, "pre-step raised"),
        ((*ENTERED, "provider: max-tokens"), "max-tokens", None, None),
        ((*ENTERED, "provider: error"), "error", None, "provider failed"),
        ((*ENTERED, "provider: cut"), "error", None, "provider failed"),
        ((*ENTERED, "provider: owes", *ENTERED, "provider: done"), "completed", None, None),
    ],
)
def test_every_answer_reaches_the_loop(
    driven: Driven, answers: tuple[str, ...], reason: str, cause: str | None, error: str | None
) -> None:
    """Each choice at each gate ends the turn for its own reason."""
    driven.call("followup", A)
    driven.answers(*answers)

    end = driven.last("turn/end")
    assert (end.get("reason"), end.get("cause"), end.get("error")) == (reason, cause, error)
    assert driven.subject.status() == "idle"


def test_enter_with_other_messages_replaces_the_batch(driven: Driven) -> None:
    """The answer's messages are what enters, with all their blocks."""
    rich = Message("R", "user", "plugin", (Block("text", "x"), Block("image", "y")))
    driven.call("followup", A)
    driven.answers("assemble: assembled")
    assert driven.subject.answer(Answer("pre-step", "enter", (rich, B)))
    driven.subject.settle()

    entered = [
        seen.get("message")
        for seen in driven.seen
        if seen.name == "user/message" and seen.listener == "first"
    ]
    assert entered == [rich, B]


def test_every_cause_is_recorded(driven: Driven) -> None:
    """CN-12: the cause of the abort is in the record of the turn's end."""
    for cause in ("user", "parent", "hook", "disposed"):
        driven.call("followup", A)
        driven.call("cancel", cause, "keep")
        assert driven.subject.gates() == (("assemble", True),)
        driven.answers("assemble: assembled")
        end = driven.last("turn/end")
        assert (end.get("reason"), end.get("cause")) == ("aborted", cause)
        if cause == "disposed":
            break


def test_an_answer_without_its_gate_does_nothing(driven: Driven) -> None:
    """False, and the session is where it was."""
    driven.call("followup", A)

    assert not driven.subject.answer(Answer("provider", "done"))
    assert driven.subject.gates() == (("assemble", False),)


def test_a_call_after_the_answer_comes_before_the_loop_acts_on_it(driven: Driven) -> None:
    """PS-15: an answered gate resumes one tick later, so a cancel can still win."""
    driven.call("followup", A)
    driven.answers("assemble: assembled")
    driven.subject.answer(Answer("pre-step", "reject"))
    driven.call("cancel", "user", "keep")
    driven.subject.settle()

    assert driven.last("turn/end").get("reason") == "aborted"


def test_a_call_one_tick_after_the_end_falls_into_the_exit_gap(driven: Driven) -> None:
    """LB-02: the driver has looked for the last time and is not idle yet; the wake is not lost."""
    driven.reactions[("turn/end", "last")] = lambda: driven.subject.later(
        1, lambda: driven.call("followup", B)
    )
    driven.call("followup", A)
    driven.answers("assemble: assembled", "pre-step: reject")

    told = driven.told()
    tail = told[told.index("turn/end") :]
    assert tail[:4] == ["turn/end", "agent/inbox/spliced", "agent/inbox/inserted", "followup"]
    assert driven.subject.gates() == (("assemble", False),)
    assert driven.last("assemble").get("turn") == 2


def test_three_tellings_of_the_inbox_agree(driven: Driven) -> None:
    """The inbox, the fold of the log and the status at rest."""
    driven.call("append", "next-turn", A)
    driven.call("inject", B)
    driven.call("replace", "A", C)

    assert driven.subject.lists() == ((C,), (B,))
    assert driven.subject.folded() == ((C,), (B,))
    assert driven.subject.status() == "idle"
    driven.call("steer", A)
    assert driven.subject.status() == "running"
    assert driven.subject.folded() == driven.subject.lists() == ((), ())


def test_each_record_is_read_back_once(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest one known is looked at again, and nothing before it."""
    begun: list[int] = []
    log = driven.subject._log
    read = log.read

    def counted(since: int = 0) -> object:
        begun.append(since)
        return read(since)

    monkeypatch.setattr(log, "read", counted)
    driven.call("inject", A)
    assert driven.subject.folded() == ((), (A,))
    driven.call("append", "next-turn", B)
    driven.call("remove", "A")
    assert driven.subject.folded() == ((B,), ())
    assert driven.subject.folded() == ((B,), ())

    assert begun == [0, 0, 2]


def test_a_log_that_lost_its_newest_record_is_folded_anew(driven: Driven) -> None:
    """Reading only what is new does not hide that something old is gone."""
    driven.call("inject", A)
    driven.call("inject", B)
    assert driven.subject.folded() == ((), (A, B))
    driven.subject._log._file._connection.execute("DELETE FROM record WHERE seq = 1")

    assert driven.subject.folded() == ((), (A,)) != driven.subject.lists()


def test_the_log_file_of_a_session_folds_to_the_same_lists(tmp_path: Path) -> None:
    """The file on disk, opened anew after the session was closed, tells the same."""
    subject = PythonSubject(folder=tmp_path)
    driven = Driven(subject)
    driven.call("followup", A)
    driven.call("followup", B)
    driven.call("inject", C)
    driven.answers("assemble: assembled", "pre-step: reject")
    lists, path = subject.lists(), subject.log_path
    subject.close()

    assert path is not None
    assert path.parent == tmp_path
    log = impl.SessionLog.open(path)
    try:
        records = [(record.type, record.data) for record in log.read()]
    finally:
        log.close()
    assert fold_records(iter(records)) == lists == ((B,), (C,))


def test_a_session_leaves_nothing_for_the_next_one() -> None:
    """Fresh lists, turn numbers and files; the files of a temporary folder go away."""
    subject = PythonSubject()
    paths = []
    for _ in range(2):
        driven = Driven(subject)
        driven.call("followup", A)
        assert driven.last("turn/start").get("turn") == 1
        assert subject.log_path is not None
        assert subject.log_path.exists()
        paths.append(subject.log_path)
    subject.close()
    subject.close()

    assert paths[0] != paths[1]
    assert [file for path in paths for file in path.parent.glob(f"{path.name}*")] == []


def test_closing_is_no_observation(driven: Driven) -> None:
    """What the loop does while it is torn down is nobody's business."""
    driven.call("followup", A)
    before = len(driven.seen)
    driven.subject.close()

    assert len(driven.seen) == before
    with pytest.raises(ControlError, match="No session is open"):
        driven.call("followup", B)


def test_an_exception_of_the_observer_reaches_the_suite(driven: Driven) -> None:
    """The bus contains what a listener raises; the suite must not lose its own errors."""

    def fails() -> None:
        msg = "suite"
        raise LookupError(msg)

    driven.reactions[("agent/inbox/inserted", "first")] = fails
    with pytest.raises(LookupError):
        driven.call("inject", A)
    assert driven.subject.lists() == ((), (A,))


def test_an_unknown_call_is_an_error_of_the_suite(driven: Driven) -> None:
    """It is not blamed on the subject."""
    with pytest.raises(ControlError, match="knows no call 'fly'"):
        driven.call("fly")


def test_any_other_exception_of_a_call_is_an_observation(
    copied: tuple[ModuleType, Callable[[], Driven]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It becomes a finding under the name of its type."""

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    copy, drive = copied
    driven = drive()
    monkeypatch.setattr(copy.Agent, "inject", breaks)
    driven.call("inject", A)

    assert driven.last("inject").get("raised") == "ZeroDivisionError"


def test_a_return_value_that_the_contract_does_not_know_is_told_as_text(
    copied: tuple[ModuleType, Callable[[], Driven]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RT-18: a delivery has no receipt."""
    copy, drive = copied
    driven = drive()
    monkeypatch.setattr(copy.Agent, "inject", lambda *_: 7)
    driven.call("inject", A)

    assert driven.last("inject").get("value") == "7"


def test_an_executor_is_an_error_of_the_adapter(
    copied: tuple[ModuleType, Callable[[], Driven]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever leaves the loop's control cannot be judged."""
    copy, drive = copied
    driven = drive()
    monkeypatch.setattr(
        copy.Agent,
        "inject",
        lambda *_: asyncio.get_running_loop().run_in_executor(None, print),
    )
    with pytest.raises(Uncontrolled):
        driven.call("inject", A)
    with pytest.raises(Uncontrolled):
        driven.subject.settle()


def test_a_task_that_dies_is_a_fault(
    copied: tuple[ModuleType, Callable[[], Driven]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure that nobody received is told, and no session makes such an observation."""

    async def dies() -> None:
        msg = "background"
        raise ValueError(msg)

    copy, drive = copied
    driven = drive()
    monkeypatch.setattr(
        copy.Agent,
        "inject",
        lambda *_: asyncio.get_running_loop().create_task(dies(), name="stray") and None,
    )
    driven.call("inject", A)
    driven.subject.settle()

    fault = driven.last("task failed")
    assert fault.kind == "fault"
    assert fault.get("error") == "task stray failed: ValueError: background"


def test_a_subject_that_never_rests_is_a_fault(
    copied: tuple[ModuleType, Callable[[], Driven]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """QUIET: stopped after a number of ticks, and told once."""

    async def spins() -> None:
        for _ in range(1_000_000):
            await asyncio.sleep(0)

    copy, drive = copied
    driven = drive()
    monkeypatch.setattr(
        copy.Agent,
        "inject",
        lambda *_: asyncio.get_running_loop().create_task(spins()) and None,
    )
    driven.call("inject", A)
    driven.subject.settle()

    assert driven.last("spinning").kind == "fault"


def test_folders_of_killed_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    """Of a process that lives, and of a name that is not ours, nothing is touched."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = {
        f"loopspec-logs-{gone.pid}-abc": False,
        f"loopspec-logs-{os.getpid()}-abc": True,
        "loopspec-logs-mine-abc": True,
        f"other-{gone.pid}-abc": True,
    }
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "session-1.sqlite").touch()

    remove_left_over(tmp_path)

    assert names == {name: (tmp_path / name).exists() for name in names}


def test_the_next_run_removes_what_a_killed_one_left() -> None:
    """The one is killed in its session; the other begins with the same call."""
    script = (
        "import os, sys\n"
        "from loopspec.conformance.subjects.python import PythonSubject\n"
        "subject = PythonSubject()\n"
        "subject.open(lambda seen: None)\n"
        "print(subject.log_path.parent, flush=True)\n"
        "if sys.argv[1] == 'killed': os.kill(os.getpid(), 9)\n"
        "subject.close()\n"
    )

    def run(how: str) -> Path:
        command = [sys.executable, "-c", script, how]
        done = subprocess.run(command, capture_output=True, text=True, check=how == "ends")
        return Path(done.stdout.strip())

    killed = run("killed")
    assert killed.is_dir()

    ended = run("ends")

    assert not killed.exists()
    assert not ended.exists()
