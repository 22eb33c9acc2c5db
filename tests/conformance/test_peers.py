"""Peers: held to their documents, and each planted fault caught through the adapter."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from collections.abc import Iterable

import pytest

from loopspec.conformance.control import ControlError
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.entries import entry_from_json, entry_json
from loopspec.conformance.expectations import parse_expectations
from loopspec.conformance.findings import load_findings, shows
from loopspec.conformance.judge import Judge
from loopspec.conformance.peers import PEERS
from loopspec.conformance.peers.check import check_peer, peer_document, peer_factory, scenario_of
from loopspec.conformance.peers.story import Story
from loopspec.conformance.recorder import Recorder
from loopspec.model.words import Entry, Observation, Rest, observation, text_message
from tests.conformance.peers_at_hand import AT_HAND, EXPECTED, FOLDER, expected_of, needs, pi

FAULTS = {
    "pi": {
        "lost-followup": "PI-KEPT",
        "abort-clears": "PI-KEPT",
        "steers-at-once": "PI-ONE",
        "steer-skips-tools": "PI-TOOLS",
        "followups-first": "PI-LAST",
    },
    "pydantic-ai": {
        "lost-redirect": "PA-DRAINED",
        "late-accepted": "PA-LATE",
        "dequeue-lies": "PA-DEQUEUE",
        "idle-before-asap": "PA-AFTER",
        "asap-waits": "PA-ASAP",
    },
}
"""Each planted fault with the claim that it breaks."""

PLANTED = [
    (name, fault, code)
    for name, rows in FAULTS.items()
    for fault, code in list(rows.items())[: None if os.environ.get("LOOPSPEC_NIGHT") else 3]
]
"""Three of each peer; all of them with LOOPSPEC_NIGHT."""


class Kept(Recorder):
    """Keeps the traces of every scenario."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.traces: list[tuple[Entry, ...]] = []

    def case(self, stage: str, outcome: object, name: str = "") -> int:
        """Keep one."""
        del stage, name
        self.traces.append(outcome.trace)  # type: ignore[attr-defined]
        return 0


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_claims_at_least_eight_things(name: str) -> None:
    """Each with the sentence that it paraphrases and where that stands."""
    peer = PEERS[name]
    assert 8 <= len(peer.claims)
    assert len(peer.claims) == len({each.code for each in peer.claims})
    for claim in peer.claims:
        assert claim.quote.strip()
        assert claim.where.strip()
        assert claim.sentence.endswith(".")


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_does_what_it_claims_but_for_what_is_known(name: str) -> None:
    """Every premise is met, what is known shows, and every recorded trace passes when read back."""
    kept, expected = Kept(), expected_of(name)
    with AT_HAND[name]() as factory:
        result = check_peer(
            factory,
            name,
            seed=7,
            examples=10,
            record=kept,
            expectations=parse_expectations(expected),
        )

    assert ("holds", []) == (result.verdict, result.reasons)
    assert {each.code for each in PEERS[name].claims} <= set(result.met)
    document = peer_document(result, "check", [], "")
    foretold = [each["code"] for each in document["properties"] if each["verdict"] == "broken"]
    assert foretold == [each.code for each in load_findings() if each.profile == name]
    assert set(foretold) >= {code for each in kept.traces for code in judged_again(name, each)}


def judged_again(name: str, trace: Iterable[Entry]) -> list[str]:
    """The codes of the findings in a trace that was written as JSON and read back."""
    judge: Judge = PEERS[name].judge()
    for entry in trace:
        judge.see(entry_from_json(json.loads(json.dumps(entry_json(entry)))))
    return [each.code for each in judge.findings]


@pytest.mark.parametrize(("name", "fault", "code"), PLANTED)
def test_a_planted_fault_is_caught(name: str, fault: str, code: str) -> None:
    """By the claim that it breaks, with a witness of at most six actions."""
    known = parse_expectations(expected_of(name))
    with AT_HAND[name](fault) as factory:
        result = check_peer(factory, name, examples=0, expectations=known)

    found = {each.finding.code: each.reduced for each in result.found}
    assert "broken" == result.verdict
    assert code in found, result.reasons
    assert 6 >= len(found[code].scenario)
    assert "1-minimal" == found[code].minimal


@pytest.mark.parametrize(
    "known",
    [each for each in load_findings() if each.profile in PEERS],
    ids=lambda each: str(each.id),
)
def test_what_is_known_of_a_peer_shows(known: object) -> None:
    """The registered scenario breaks the registered claim."""
    with AT_HAND[known.subject]() as factory:  # type: ignore[attr-defined]
        assert shows(known, factory())[0]  # type: ignore[arg-type]


def test_a_scenario_that_a_peer_cannot_be_asked_is_refused() -> None:
    """In one sentence, before anything runs."""
    with pytest.raises(ControlError, match="expected what the subject can be asked, got: inject B"):
        run_scenario(None, scenario_of("followup A; inject B"), profile=PEERS["pi"])  # type: ignore[arg-type]


def test_an_unknown_fault_of_an_adapter_is_refused() -> None:
    """One sentence on the standard error, and exit code 2."""
    with pi():
        command = ["node", str(FOLDER / "adapter.mjs"), "--fault", "x"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 2 == done.returncode
    assert done.stderr.startswith("expected --fault lost-followup|")


def test_what_a_peer_lacks_is_answered_in_one_sentence() -> None:
    """A call that pi does not have ends the command, not the process."""
    lines = '{"do":"reset","seq":1,"held":[]}\n{"do":"fork","seq":2}\n{\n{"do":"bye","seq":3}\n'
    with pi():
        command = ["node", str(FOLDER / "adapter.mjs")]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)

    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert "expected a call that pi has, got fork" == told[1]["failed"]
    assert "expected a command, one JSON object a line" == told[2]["failed"]
    assert told[3]["bye"]


def told(peer: str, *entries: Entry) -> list[str]:
    """The codes that a hand-made trace breaks."""
    judge = PEERS[peer].judge()
    for entry in entries:
        judge.see(entry)
    return [each.code for each in judge.findings]


def test_a_fault_that_nobody_receives_is_a_finding_of_any_peer() -> None:
    """Though no document speaks of it."""
    fault = Observation("fault", "task failed", (("error", "x"),))
    assert ["FAULT"] == told("pi", fault)


def test_a_listener_out_of_order_is_seen() -> None:
    """The last one first."""
    late = observation("record", "turn/start", 1, listener="last")
    assert ["PI-LISTENERS"] == told("pi", late)


def test_a_message_in_two_requests_is_seen() -> None:
    """What was shown once is not shown again."""
    story = Story(target={"A": "next-turn"})
    shown = observation("record", "user/message", text_message("A"), listener="first")
    claim = next(each for each in PEERS["pi"].claims if each.code == "PI-ONCE")
    assert [""] == list(claim.watch(story, shown))
    story.add(shown)
    assert ["A is in a request again"] == list(claim.watch(story, shown))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "pi",
            "in step/end#1 first: clear; after tool/call#1 +1: steer A; followup B; "
            "provider: tools x; tool x: result; provider: done",
        ),
        ("pydantic-ai", "followup A; provider: tools x; tool x: raise; provider: error"),
        (
            "pydantic-ai",
            "in step/start#2 first: cancel user keep; followup A; followup B; "
            "provider: done; followup C; provider: done",
        ),
        (
            "pydantic-ai",
            "after step/end#1 +1: steer C; followup A; followup B; provider: done; provider: done",
        ),
    ],
)
def test_what_no_document_rules_out_is_no_finding(name: str, text: str) -> None:
    """A drop, a failure, a cancel or a send in between is the caller's doing."""
    with AT_HAND[name]() as factory:
        assert () == run_scenario(factory(), scenario_of(text), profile=PEERS[name]).findings


def test_a_run_that_outlives_its_cancel_is_seen() -> None:
    """At rest a canceled run is over."""
    story = Story(running=True, canceled=True)
    claim = next(each for each in PEERS["pydantic-ai"].claims if each.code == "PA-CANCEL")
    rest = Rest((), (), "running", ())
    assert ["the run was canceled, and does not end"] == list(claim.watch(story, rest))


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a traceback."""

    def absent(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ControlError, match="expected pydantic-ai-slim, got no module"):
        peer_factory(PEERS["pydantic-ai"])


def test_tools_that_are_not_required_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; a required one fails."""
    monkeypatch.setenv("LOOPSPEC_REQUIRE", "")
    with pytest.raises(pytest.skip.Exception, match="x is not there"):
        needs("x", "x is not there")
    monkeypatch.setenv("LOOPSPEC_REQUIRE", "x")
    with pytest.raises(pytest.fail.Exception, match="x is required"):
        needs("x", "x is not there")


def test_the_files_of_what_is_known_are_beside_the_claims() -> None:
    """One for each peer."""
    found = EXPECTED.glob("*.expected.toml")
    assert set(PEERS) == {each.name.removesuffix(".expected.toml") for each in found}
