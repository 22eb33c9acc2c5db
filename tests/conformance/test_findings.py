"""The registry of findings about loops that are not ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopspec.conformance.findings import load_deviations, load_findings
from loopspec.conformance.findings.page import record_table
from loopspec.conformance.mutants import load_mutants, mutated_impl
from loopspec.conformance.peers import PEERS
from loopspec.conformance.ports.serving import Server
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.policy import PROFILES

ROWS = load_deviations()


def test_at_least_ten_deviations_of_other_ports_are_planted_and_caught() -> None:
    """Each by a mutant with a witness of its own; that each mutant dies, its own tests say."""
    assert len(ROWS) >= 10
    assert len({each.id for each in ROWS}) == len(ROWS)
    assert {each.how for each in ROWS} == {"run", "read"}
    assert len({each.mutant for each in ROWS} & {each.id for each in load_mutants()}) == len(ROWS)


@pytest.mark.parametrize("each", load_findings(), ids=lambda each: each.id)
def test_a_finding_is_whole(each: object) -> None:
    """A profile that there is, and a scenario with lines."""
    assert each.profile in (*PROFILES, *PEERS)  # type: ignore[attr-defined]
    assert each.scenario.lines  # type: ignore[attr-defined]


def test_a_deviation_can_be_served_as_a_port() -> None:
    """A mutated loop behind the protocol is a port like any other."""
    server = Server(PythonSubject(mutated_impl(ROWS[0].mutant)))
    assert server.subject.name == "python"


def test_the_track_record_of_the_readme_is_made_from_the_registry() -> None:
    """Its table stands there as it is generated."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert record_table() in readme
