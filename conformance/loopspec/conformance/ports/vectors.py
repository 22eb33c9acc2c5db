"""Vectors: scenarios as commands of the port protocol, with what the specification answers to each.

Theory. A port that cannot be run as a process by this suite is given the talk as data: it feeds the
commands to its own adapter, in its own language and test framework, and compares. The answers are
those of the model behind the server of this package, so they are what the judge would have allowed;
of several allowed answers there is only one here, since under control nothing is left to chance.

An answer is told without what a port may leave open: keys that are null, the fold of the log, the
number of the line. `minimum` says how many vectors need exactly which capabilities, so the number
that a port has to pass is the sum over the rows within its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, cast

import msgspec

from loopspec.conformance.corpus import CorpusEntry, load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports.serving import Server
from loopspec.conformance.subjects.contract import CAPABILITIES, Subject, needed
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.policy import PROFILES

__all__ = ["Minimum", "Vector", "Vectors", "text_of", "vectors"]

FORMAT: Final = 1
"""The version of the document."""

SHAPES: Final = ("assemble-gate", "first-listener")
"""Capabilities that change every trace. Vectors need them, unless they were made without."""


class Vector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario: the commands in order, and the answer to each of them."""

    name: str
    title: str
    rules: tuple[str, ...]
    needs: tuple[str, ...]
    commands: tuple[wire.Reset | wire.CallCommand | wire.Answer, ...]
    answers: tuple[dict[str, Any], ...]
    """Reports, without keys that are null; `folded` and `seq` are not compared."""


class Minimum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many vectors need exactly these capabilities."""

    needs: tuple[str, ...]
    vectors: int


class Vectors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document."""

    format: int
    protocol: int
    contract: int
    profile: str
    minimum: tuple[Minimum, ...]
    vectors: tuple[Vector, ...]


class Near:
    """A port in this process that writes down the talk: the specification behind the protocol."""

    def __init__(self, subject: Subject, without: frozenset[str]) -> None:
        """A port of `subject`, which declares what it can but for `without`."""
        self.server = Server(subject)
        said = self.server.welcome(wire.Hello(protocol=wire.PROTOCOL, contract=1, profile=""))
        can = tuple(each for each in said.capabilities if each not in {*without, "batch"})
        self.welcome = msgspec.structs.replace(said, capabilities=can)
        self.talk: list[tuple[wire.Command, wire.Report]] = []

    def ask(self, command: wire.Command, _: type[wire.Report]) -> wire.Report:
        """One command and its answer."""
        answer = self.server.answer_to(command)
        assert isinstance(answer, wire.Report), "commands of a scenario have reports"
        self.talk.append((command, answer))
        return answer


def vectors(profile: str = "notes", without: Iterable[str] = ()) -> Vectors:
    """The corpus as vectors of a profile; `without` shapes as `assemble-gate`.

    Raises KeyError for a name that is no profile.
    """
    return _vectors(profile, frozenset(without))


@cache
def _vectors(profile: str, left_out: frozenset[str]) -> Vectors:
    policy = PROFILES[profile]
    made = tuple(
        _vector(entry, Near(ModelSubject(policy), left_out), left_out) for entry in load_corpus()
    )
    counts = Counter(each.needs for each in made)
    minimum = tuple(Minimum(needs, counts[needs]) for needs in sorted(counts, key=_by_size))
    return Vectors(FORMAT, wire.PROTOCOL, wire.CONTRACT, profile, minimum, made)


def _by_size(needs: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return len(needs), needs


def _vector(entry: CorpusEntry, near: Near, without: frozenset[str]) -> Vector:
    subject = PortSubject(cast(Port, near))
    run_scenario(_Held(subject, without), entry.scenario, inclusion=False)  # type: ignore[arg-type]
    needs = (needed(entry.scenario) | frozenset(SHAPES)) - without
    return Vector(
        entry.name,
        entry.title,
        entry.rules,
        tuple(each for each in CAPABILITIES if each in needs),
        tuple(command for command, _ in near.talk),  # type: ignore[misc]
        tuple(told(report, "first-listener" not in without) for _, report in near.talk),
    )


class _Held:
    """A port subject at which nobody holds the gates that it lacks."""

    def __init__(self, subject: PortSubject, without: frozenset[str]) -> None:
        self.subject = subject
        self.lacks = {"assemble"} if "assemble-gate" in without else set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the subject has
        return getattr(self.subject, name)

    def open(self, observer: Any, held: frozenset[str]) -> None:  # noqa: ANN401 - passed on
        self.subject.open(observer, held - self.lacks)


def told(report: wire.Report, both: bool) -> dict[str, Any]:
    """A report as data, without what a port may leave open; with `both` listeners or the last."""
    data: dict[str, Any] = _without_null(msgspec.to_builtins(report, enc_hook=int))
    data.pop("seq")
    data.pop("folded", None)
    data["trace"] = [each for each in data["trace"] if both or each.get("by") != "first"]
    for gate in data["gates"]:
        if not gate["call"]:
            del gate["call"]
    return data


def _without_null(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list | tuple) else value


def text_of(document: Vectors) -> str:
    """The document as JSON: one line a vector, keys in order, the same bytes each time."""
    data = msgspec.to_builtins(document)
    head = {key: value for key, value in data.items() if key not in ("minimum", "vectors")}
    parts = [f" {_line(key)}: {_line(value)}" for key, value in head.items()]
    for key in ("minimum", "vectors"):
        rows = ",\n".join(f"  {_line(each)}" for each in data[key])
        parts.append(f' "{key}": [\n{rows}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
