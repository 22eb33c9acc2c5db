"""Scenarios of the real loop on a disk that loses power or fails, and the laws that must hold.

One run writes down how far the disk was when each flush returned, and where the trace was. A power
cut then leaves states of the disk, and each of them is opened: its records are those of the last
commit that was acknowledged or of the next one, without a gap. Each content that was found is given
to the loop once more: the scenario is run again, dies where that content was durable, goes on with
the file that was left, and the specification judges all of it. A disk that fails is one run for
each of its calls; what is left is judged in the same way, or as a log after the fact when the loop
went on behind a record that was refused.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final
from unittest import mock

import apsw
import attrs

import loopspec.impl.logfile  # noqa: F401  (the shipped part is imported late; copies are whole)
from loopspec import impl as shipped
from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import Drive
from loopspec.conformance.judge import Judge
from loopspec.conformance.subjects import python
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.conformance.trace import Acceptor
from loopspec.conformance.trace.database import judge_database
from loopspec.conformance.trace.following import Options
from loopspec.model.policy import PROFILES
from loopspec.model.scenario import Scenario
from loopspec.model.words import Answer, Call, Entry, Observation
from tests.impl.disks import CHECKPOINTS, SPILLS, Disk, states

OTHER_SESSIONS: Final = ("crash", "fork", "resume")
"""Calls behind which another session goes on; here one session on one file is looked at."""

LEAVES: Final = ("provider", "tool")
"""Gates behind which the outside learns of the records before them."""

ENDS: Final = frozenset({"step/end", "turn/end"})

AT_REST: Final = 10**9
"""Behind the whole trace."""

WAYS: Final = (*CHECKPOINTS, SPILLS)
"""Settings of SQLite under which each call of the disk fails."""

FAILURES: Final = (apsw.IOError, apsw.FullError)

CUT, FAILED = 60, 20
"""How many scenarios are cut, and in how many every call fails, when there is time."""

TORN: Final = 70
"""Torn states of each cut then."""

Files = Mapping[str, bytes]
"""What a disk holds, by the end of each file's name behind that of the log."""


@cache
def scenarios() -> Mapping[str, Scenario]:
    """The scenarios of the corpus with one session, by name, those with the most lines first."""
    alone = [
        (entry.name, entry.scenario)
        for entry in load_corpus()
        if not any(
            isinstance(line.action, Call) and line.action.name in OTHER_SESSIONS
            for line in entry.scenario.lines
        )
    ]
    return dict(sorted(alone, key=lambda each: -len(each[1])))


@attrs.frozen
class Ack:
    """A flush or the closing has returned: the changes of the disk, records and trace by then."""

    changes: int
    records: int
    place: int


@attrs.define
class History:
    """What one run was told: the records that were taken, and what was acknowledged when."""

    pragma: str
    accepted: list[Any] = attrs.field(factory=list)
    acks: list[Ack] = attrs.field(factory=list)
    tried: list[int] = attrs.field(factory=list)
    trace: list[Entry] = attrs.field(factory=list)
    created: Ack = Ack(0, 0, 0)
    calls: int = 0
    over: int = 0
    """How many records there were at the end; what closing ends by force is in no scenario."""
    refused: list[str] = attrs.field(factory=list)
    phantoms: list[str] = attrs.field(factory=list)
    ended: bool = False

    def owed(self, cut: int) -> int:
        """How many records were acknowledged before that change of the disk."""
        return max((ack.records for ack in self.acks if ack.changes <= cut), default=0)

    def following(self, cut: int) -> int:
        """How many records there are behind the commit that is under way at that change, if any."""
        return min((ack.records for ack in self.acks if ack.changes > cut), default=self.owed(cut))

    def places(self, records: int) -> tuple[int, int]:
        """Behind which entry of the trace so many records are durable, and until which."""
        acks = [ack for ack in self.acks if ack.records <= self.over]
        first = min((ack.place for ack in acks if ack.records == records), default=-1)
        last = min((ack.place for ack in acks if ack.records > records), default=AT_REST)
        return first, last


class Noting(Drive):
    """A drive whose trace the history sees from the first entry on."""

    def __init__(self, subject: PythonSubject, scenario: Scenario, history: History) -> None:
        """Open a session that is judged by the scenario's profile."""
        self._history = history
        judge = Judge(PROFILES[scenario.profile], inclusion=False, held=scenario.held)
        super().__init__(subject, judge, scenario.held)

    def note(self, entry: Entry) -> None:
        """Write it down for the history too, with what left the process too early."""
        history = self._history
        history.trace.append(entry)
        if isinstance(entry, Observation) and entry.kind == "gate" and entry.name in LEAVES:
            acked = max(ack.records for ack in history.acks)
            if acked < len(history.accepted):
                history.phantoms.append(
                    f"{entry.name} asked behind {len(history.accepted)} records, {acked} durable"
                )
        super().note(entry)


class Dying(Drive):
    """A drive that dies once, at the first chance behind one entry and up to another."""

    def __init__(self, subject: PythonSubject, scenario: Scenario, places: tuple[int, int]) -> None:
        """Open a session that is judged by the scenario's profile."""
        self._places = places
        self.died = False
        judge = Judge(PROFILES[scenario.profile], held=scenario.held)
        super().__init__(subject, judge, scenario.held)
        self.on_delivery = lambda _: self.die(inside=True)

    def die(self, *, inside: bool) -> None:
        """Die if this is the place."""
        first, last = self._places
        if not self.died and first < len(self.trace) <= last:
            self.died = True
            self.call(-1, Call("crash"), inside=inside)

    def settle(self) -> None:
        """Come to rest, perhaps to die there and come to rest again."""
        super().settle()
        before = self.died
        self.die(inside=False)
        if self.died and not before:
            super().settle()

    def play(self, scenario: Scenario) -> None:
        """Flush behind everything, and die there at the latest, if that is a place."""
        super().play(scenario)
        if self._places[1] == AT_REST and not self.died:
            self.call(-1, Call("flush"), inside=False)
            self.settle()


def on_disk(impl: ModuleType, disk: Disk, history: History) -> SimpleNamespace:
    """The implementation with logs that lie on a disk and tell the history what was promised."""
    original: Any = impl.SessionLog

    class Watched(original):  # type: ignore[misc]
        """A log that says what was taken and what was acknowledged."""

        @classmethod
        def create(cls, path: Path, *, writer: str) -> Any:  # noqa: ANN401
            made = super().create(
                path, writer=writer, clock=impl.fixed_clock(), connect=disk.connect
            )
            made._file._connection.execute(f"PRAGMA {history.pragma}")
            history.created = Ack(len(disk.changes), 0, 0)
            history.calls = disk.calls
            return made

        def _append(self, kind: str, *args: Any, **options: Any) -> Any:  # noqa: ANN401
            try:
                record = super()._append(kind, *args, **options)
            except impl.AppendRefused:
                history.refused.append(kind)
                raise
            history.accepted.append(record)
            return record

        async def flush(self) -> None:
            history.tried.append(self._next_seq)
            await super().flush()
            self._acknowledged()

        def close(self) -> None:
            if self.is_open:
                history.tried.append(self._next_seq)
                super().close()
                self._acknowledged()

        def _acknowledged(self) -> None:
            ack = Ack(len(disk.changes), self._next_seq, len(history.trace))
            history.acks.append(ack)

    names = {name: getattr(impl, name) for name in impl.__all__}
    return SimpleNamespace(**{**names, "SessionLog": Watched})


@cache
def acceptor() -> Acceptor:
    """One for all logs: it remembers what it has worked out."""
    return Acceptor()


def run_on(
    disk: Disk, scenario: Scenario, folder: Path, impl: ModuleType, pragma: str
) -> tuple[History, Path]:
    """Run a scenario on a disk: what was told, and the log; what the log raises is kept."""
    history = History(pragma)
    subject = PythonSubject(on_disk(impl, disk, history), folder=folder)
    with mock.patch.object(impl.logfile, "sync_folder", disk.folder_synced), ExitStack() as stack:
        stack.callback(disk.heal)
        stack.enter_context(suppress(impl.LoopError))
        stack.callback(subject.close)
        drive = Noting(subject, scenario, history)
        drive.play(scenario)
        drive.call(-1, Call("flush"), inside=False)
        history.over, history.ended = len(history.accepted), True
    assert subject.log_path is not None
    return history, subject.log_path


def plain(records: Any) -> list[tuple[object, ...]]:  # noqa: ANN401
    """Records as values that compare across copies of the implementation."""
    return [(each.seq, each.time, each.type, each.payload.to_json()) for each in records]


def found(path: Path) -> list[tuple[object, ...]]:
    """What the shipped log reads there; raises what it raises."""
    with shipped.SessionLog.open(path, writer="inline") as log:
        return plain(log.read())


def unlawful(history: History) -> list[str]:
    """What the live run did that no failing disk excuses."""
    seen = (each for each in history.trace if isinstance(each, Observation))
    faults = [f"{each.name}: {each.get('error')}" for each in seen if each.kind == "fault"]
    return [*faults, *history.phantoms]


def judged_from(
    scenario: Scenario, history: History, records: int, left: Files, impl: ModuleType = shipped
) -> tuple[str, ...]:
    """Run the scenario again until so many records are durable, die, go on with what was left.

    Returns what the specification finds, of the run before and of the one behind.
    """

    def put(_: Path, target: Path) -> None:
        for suffix, content in left.items():
            target.with_name(target.name + suffix).write_bytes(content)

    subject = PythonSubject(impl)
    with mock.patch.object(python, "copy_committed", put):
        drive = Dying(subject, scenario, history.places(records))
        try:
            drive.play(scenario)
        finally:
            subject.close()
    if not drive.died:
        return ("it could not die there",)
    return tuple(f"{each.code}: {each.did}" for each in drive.judge.findings)


@attrs.define
class Tally:
    """What was tried: states or failures, and contents that the loop went on with."""

    tried: int = 0
    judged: int = 0
    unspecified: int = 0
    """Logs that go on behind an end that the disk refused: nothing is said of them (0015)."""
    lost: list[str] = attrs.field(factory=list)
    """A sentence for each breach of a law."""

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.tried + other.tried,
            self.judged + other.judged,
            self.unspecified + other.unspecified,
            [*self.lost, *other.lost],
        )


def cut_everywhere(
    name: str,
    folder: Path,
    torn: int,
    seed: int,
    pragma: str = CHECKPOINTS[0],
    impl: ModuleType = shipped,
) -> Tally:
    """Cut the power at every write and sync of a scenario; each state is opened once."""
    scenario, disk, rng, tally = scenarios()[name], Disk(), random.Random(seed), Tally()
    history, log = run_on(disk, scenario, folder, impl, pragma)
    assert history.ended, "the scenario did not come to its end on a sound disk"
    tally.lost += unlawful(history)
    accepted = plain(history.accepted)
    contents: dict[int, Files] = {}
    for cut in range(history.created.changes, len(disk.changes) + 1):
        allowed = {history.owed(cut), history.following(cut)}
        seen: set[frozenset[tuple[str, bytes]]] = set()
        for kind, files in states(disk.changes, cut, torn, rng):
            if (state := frozenset(files.items())) in seen:
                continue
            seen.add(state)
            left: Files = {each.removeprefix(log.name): files[each] for each in files}
            tally.tried += 1
            count = opened(folder / "left", left, accepted, allowed)
            if isinstance(count, str):
                tally.lost.append(f"cut before change {cut}, {kind}: {count}")
            elif count <= history.over:
                contents.setdefault(count, left)
    for count, left in contents.items():
        tally.judged += 1
        told = judged_from(scenario, history, count, left, impl)
        tally.lost += [f"gone on behind {count} records: {each}" for each in told]
    return tally


def opened(path: Path, left: Files, accepted: list[Any], allowed: set[int]) -> int | str:
    """How many records a log reads that was left so, or which law is broken by them."""
    for suffix, content in left.items():
        path.with_name(path.name + suffix).write_bytes(content)
    try:
        records = found(path)
    except shipped.LoopError as error:
        return str(error)
    finally:
        for each in path.parent.glob(f"{path.name}*"):
            each.unlink()
    if records != accepted[: len(records)]:
        return "the records are no prefix of those that were taken"
    if len(records) not in allowed:
        return f"{len(records)} records, not {' or '.join(map(str, sorted(allowed)))}"
    return len(records)


def fail_everywhere(
    name: str,
    folder: Path,
    *,
    for_good: bool,
    failure: type[apsw.Error] = apsw.IOError,
    pragma: str = CHECKPOINTS[0],
    impl: ModuleType = shipped,
) -> Tally:
    """Let each call of the disk fail in a run of its own, once or from then on."""
    scenario = scenarios()[name]
    whole, _ = run_on(Disk(), scenario, folder, impl, pragma)
    commits = {ack.records for ack in whole.acks if ack.records <= whole.over}
    tally, number, judged = Tally(), whole.calls, set[int]()
    while True:
        number += 1
        disk = Disk()
        disk.fails_at, disk.fails_on, disk.failure = number, for_good, failure
        history, log = run_on(disk, scenario, folder, impl, pragma)
        if disk.calls < number:
            return tally
        tally.tried += 1
        where = f"call {number} failed"
        tally.lost += [f"{where}: {each}" for each in unlawful(history)]
        left: Files = {
            suffix: path.read_bytes()
            for suffix in ("", "-wal")
            if (path := log.with_name(log.name + suffix)).exists()
        }
        taken = plain(history.accepted)
        owed = history.owed(len(disk.changes))
        allowed = {count for count in (0, *history.tried) if count >= owed}
        count = opened(folder / "left", left, taken, allowed)
        if isinstance(count, str):
            tally.lost.append(f"{where}: {count}")
        elif taken[:count] != plain(whole.accepted)[:count] or count not in commits:
            # The loop went on behind a record that was refused.
            tally += judged_after(scenario, log, history, where)
        elif count not in judged:
            judged.add(count)
            tally.judged += 1
            told = judged_from(scenario, whole, count, left, impl)
            tally.lost += [f"{where}, gone on behind {count} records: {each}" for each in told]


RESENT: Final = Options(resend=True)
"""A caller may send an id again once it was claimed, and some scenarios do."""


def judged_after(scenario: Scenario, log: Path, history: History, where: str) -> Tally:
    """Judge what the loop has written behind a refused record, as a log after the fact.

    A log does not tell that a reply without tools owes another one.
    """
    owes = any(line.action == Answer("provider", "owes") for line in scenario.lines)
    if owes or ENDS & set(history.refused):
        return Tally(unspecified=1)
    lost = [
        f"{where}: {each.verdict} {each.reason} {each.finding}"
        for each in judge_database(log, acceptor(), RESENT)
        if each.verdict not in ("holds", "skipped")
    ]
    return Tally(judged=1, lost=lost)
