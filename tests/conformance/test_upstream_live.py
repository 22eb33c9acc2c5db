"""The genuine loop of release 0.1.0-rc.8, live: it does what profile `dsh-0.1` says.

Skipped, with the reason, where Node or the packages (`make upstream`) are missing, unless
LOOPSPEC_REQUIRE names `node`. With LOOPSPEC_NIGHT every scenario is run, else every fifth.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import Outcome, run_scenario
from loopspec.conformance.judge import Judge
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.conformance.upstream.observed import load_observed
from loopspec.model.policy import DSH_0_1
from loopspec.model.possible import look_ahead
from loopspec.model.scenario import Scenario, parse_scenario
from loopspec.model.words import Answer, Entry, Observation

FOLDER = Path(__file__).parents[2] / "impl" / "adapters" / "dsh"
EVERY = 1 if os.environ.get("LOOPSPEC_NIGHT") else 5

OUTSIDE = {
    "disposal-of-an-idle-agent": "the subject did: followup raises disposed",
    "disposal-between-turns": "the subject did: dispose returns",
    "disposal-inside-a-record": "the subject did: dispose returns",
    "refused-clear-of-a-disposal": "the subject did: agent/inbox/discarded A",
}
"""What lies outside the claim, by where it parts: use of what was disposed of, and a disposal whose
clear is refused, which lets go of the agent all the same."""

SCENARIOS = {
    **{each.name: each.scenario for each in load_corpus()},
    **{each.name: each.scenario for each in load_observed()},
}


def missing() -> str:
    """What the machine lacks; empty when nothing."""
    if shutil.which("node") is None:
        return "node is not installed"
    return "" if (FOLDER / "node_modules").is_dir() else "its packages are missing: make upstream"


@pytest.fixture(scope="module")
def genuine() -> Iterator[Port]:
    """The genuine loop as a port, one process for all."""
    with port_of() as port:
        yield port


def needs_node() -> None:
    """Skip, or fail, where the adapter cannot run."""
    reason = missing()
    if reason and "node" in os.environ.get("LOOPSPEC_REQUIRE", "").split(","):
        pytest.fail(f"node is required by LOOPSPEC_REQUIRE, and {reason}")
    if reason:
        pytest.skip(reason)


@contextlib.contextmanager
def port_of(*options: str) -> Iterator[Port]:
    """The adapter with these options, ended afterwards."""
    needs_node()
    port = Port(["node", str(FOLDER / "adapter.mjs"), *options], profile="dsh-0.1")
    try:
        yield port
    finally:
        port.stop()


def ran(port: Port, scenario: Scenario, inclusion: bool = True) -> Outcome:
    """A scenario on the genuine loop, judged by its profile."""
    return run_scenario(PortSubject(port), scenario, inclusion, profile="dsh-0.1")


def sample(step: int, start: int = 0) -> list[tuple[str, Scenario]]:
    """Some of the scenarios within the claim."""
    within = [(name, each) for name, each in SCENARIOS.items() if name not in OUTSIDE]
    return within[start::step]


def test_it_does_what_its_profile_says(genuine: Port) -> None:
    """No finding in the corpus and in the scenarios that were recorded of it."""
    found = {name: ran(genuine, each).findings for name, each in sample(EVERY)}

    assert {} == {name: each for name, each in found.items() if each}
    assert genuine.starts == 1


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_lies_outside_the_claim_parts_where_it_is_said(genuine: Port, name: str) -> None:
    """Nothing is left out silently."""
    findings = ran(genuine, SCENARIOS[name]).findings

    assert OUTSIDE[name] == findings[0].however


def test_twice_is_the_same(genuine: Port) -> None:
    """Also in a process that settles eight turns of its event loop longer."""
    with port_of("--extra-turns", "8") as patient:
        for name, each in sample(6 * EVERY, 1):
            first, again, late = ran(genuine, each), ran(genuine, each), ran(patient, each)
            assert first.trace == again.trace == late.trace, name


def test_its_own_invariants_object_to_what_breaks_them_alone() -> None:
    """The second oracle reports as a fault, which no session makes: here of a refused turn/end."""
    recorded = [each for each in sample(1) if each[0].startswith("u")]
    with port_of("--oracle", "upstream") as port:
        for name, each in recorded[:: 3 * EVERY]:
            assert () == ran(port, each).findings, name
        findings = ran(port, SCENARIOS["refused-turn-end"]).findings

    assert "invariant of @deepseek-ai/dsh-session: turn/start" in findings[0].however


def noticed(trace: Iterable[Entry], scenario: Scenario) -> tuple[Judge, int]:
    """Judge a trace whose provider ends a request by itself when it is aborted: as if cut."""
    judge, cuts = Judge(DSH_0_1, held=scenario.held), 0
    for entry in trace:
        while judge.session is not None and not judge.session.listening:
            assert judge.possible is not None
            session, moved, _ = look_ahead(judge.possible)[0]
            if moved is not None or "provider" not in session.gates or not session.aborted:
                break
            judge.see(Answer("provider", "cut"))
            cuts += 1
        judge.see(entry)
    return judge, cuts


def test_a_provider_that_notices_the_abort_ends_by_itself() -> None:
    """The other mode of the adapter: nobody answers, and what was visible is kept."""
    scenario = parse_scenario(
        "followup A\npre-step: enter\nprovider: partial\ncancel user keep\nfollowup B\n"
    )
    with port_of("--abort", "prompt") as port:
        trace = ran(port, scenario, inclusion=False).trace

    judge, cuts = noticed(trace, scenario)
    assert [] == judge.findings
    assert cuts == 1
    kept = [each for each in trace if isinstance(each, Observation) and each.get("interrupted")]
    assert 2 == len(kept), "once for each listener"


def test_the_log_is_dumped_and_loaded(genuine: Port) -> None:
    """In the shape of the release's own files, version 0; what is open is closed."""
    ran(genuine, parse_scenario("followup A\nfollowup B\npre-step: enter\n"))
    dumped = genuine.ask(wire.Dump(), wire.Dumped).log
    loaded = genuine.ask(wire.Load(log=dumped), wire.Report)

    assert ("session", 0) == (dumped[0]["type"], dumped[0]["version"])
    assert [each["seq"] for each in dumped[1:]] == list(range(len(dumped) - 1))
    assert ("step/end", "turn/end interrupted") == loaded.trace[0].repaired
    assert ["B"] == [message.id for message in loaded.next_turn]
    assert loaded.folded is not None
    assert loaded.next_turn == loaded.folded.next_turn


def test_a_line_that_is_no_command_is_answered_in_one_sentence() -> None:
    """And an option that is not known is refused on the standard error."""
    needs_node()
    command = ["node", str(FOLDER / "adapter.mjs")]
    talk = subprocess.run(command, input="{\n", capture_output=True, text=True, check=True)
    bad = subprocess.run([*command, "--abort", "x"], capture_output=True, text=True, check=False)

    assert '{"seq":0,"failed":"expected a command, one JSON object a line"}\n' == talk.stdout
    assert (2, "expected --abort prompt|ignore, got x\n") == (bad.returncode, bad.stderr)
