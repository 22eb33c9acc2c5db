"""Registered findings: what real loops were found to do otherwise, with what shows it.

A finding is a table of a TOML file: whose loop, which versions, the property and the profile by
which it is a finding, the smallest scenario, and a paragraph that its maintainers would take as a
bug report. It is judged by replay: what no longer shows is told. Deviations of other ports are
registered with the mutant of our own loop that does the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, Final

import attrs

from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.mutants.registry import load_mutants
from loopspec.conformance.peers import PEERS, Peer
from loopspec.conformance.subjects.contract import Subject
from loopspec.model.scenario import Scenario, parse_scenario

__all__ = ["Deviation", "Known", "load_deviations", "load_findings", "shows"]

PACKAGE: Final = "loopspec.conformance.findings"
KEYS: Final = ("id", "subject", "versions", "profile", "code", "title", "scenario", "report")
DEVIATION_KEYS: Final = ("id", "port", "says", "how", "mutant")


class FindingsError(Exception):
    """A file of the registry is not what the suite relies on; the text says where and why."""


@attrs.frozen
class Known:
    """One finding about a loop that is not ours.

    `subject` is a folder of `impl/adapters`, or a peer with an adapter in Python; `code` is a
    property, TRACE or a claim of a peer; `known` the registered ids that explain it; `options` what
    the adapter needs to be given.
    """

    id: str
    subject: str
    versions: str
    profile: str
    code: str
    title: str
    scenario: Scenario
    report: str
    known: tuple[str, ...] = ()
    options: str = ""

    @property
    def adapter(self) -> str:
        """The command line of its adapter, from the root of the checkout."""
        return f"node impl/adapters/{self.subject}/adapter.mjs{self.options}"

    @property
    def in_process(self) -> bool:
        """Whether its adapter is Python, and needs no process of its own."""
        return self.subject in PEERS and bool(PEERS[self.subject].module)

    @property
    def reading(self) -> str | Peer:
        """What it is judged by: a profile of the specification, or the claims of a peer."""
        return PEERS.get(self.profile, self.profile)

    @property
    def file(self) -> str:
        """Its scenario as a file, which the page's command names."""
        return f"docs/findings/{self.subject}-{self.id}.scenario"

    @property
    def command(self) -> str:
        """What reproduces it."""
        told = f"loopspec replay {self.file} --profile {self.profile}"
        return told if self.in_process else f'{told} --adapter "{self.adapter}"'


@attrs.frozen
class Deviation:
    """What another port does otherwise, and the mutant of our loop that does the same."""

    id: str
    port: str
    says: str
    how: str
    mutant: str


def read(name: str) -> dict[str, Any]:
    """A file of the registry."""
    text = resources.files(PACKAGE).joinpath(name).read_text("utf-8")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"{name}: expected TOML, got: {error}"
        raise FindingsError(msg) from error


def needs(table: dict[str, Any], keys: Iterable[str], where: str) -> None:
    """Refuse a table that lacks a text."""
    for key in keys:
        if not isinstance(table.get(key), str) or not table[key].strip():
            msg = f"{where}: expected a text as {key}, got {table.get(key)!r}"
            raise FindingsError(msg)


@cache
def load_findings(name: str = "upstream.toml") -> tuple[Known, ...]:
    """The findings of a file, in its order. Raises FindingsError."""
    found = []
    for number, table in enumerate(read(name).get("finding", []), 1):
        needs(table, KEYS, f"{name}, finding {number}")
        given = {key: table[key].strip() for key in KEYS}
        scenario = parse_scenario(given.pop("scenario") + "\n")
        options = table.get("options", "")
        more = (tuple(table.get("known", ())), f" {options}" if options else "")
        found.append(Known(**given, scenario=scenario, known=more[0], options=more[1]))
    return tuple(found)


@cache
def load_deviations() -> tuple[Deviation, ...]:
    """The deviations of other ports. Raises FindingsError, also for an unknown mutant."""
    mutants = {each.id for each in load_mutants()}
    found = []
    for number, table in enumerate(read("ports.toml")["deviation"], 1):
        needs(table, DEVIATION_KEYS, f"ports.toml, deviation {number}")
        each = Deviation(**{key: table[key] for key in DEVIATION_KEYS})
        if each.mutant not in mutants:
            msg = f"ports.toml, {each.id}: there is no mutant {each.mutant!r}"
            raise FindingsError(msg)
        found.append(each)
    return tuple(found)


def shows(known: Known, subject: Subject) -> tuple[bool, Outcome]:
    """Whether a subject still shows a finding, and what it did.

    The same property must be broken, by the profile that the finding names.
    """
    outcome = run_scenario(subject, known.scenario, profile=known.reading)
    return any(each.code == known.code for each in outcome.findings), outcome
