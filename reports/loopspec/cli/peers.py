"""Peers by the names of their profiles, for the verbs that take one."""

from typing import TYPE_CHECKING

from loopspec.cli.exits import CouldNotRun

if TYPE_CHECKING:
    from loopspec.conformance.drive import Outcome
    from loopspec.conformance.peers import Peer
    from loopspec.conformance.subjects.contract import SubjectFactory
    from loopspec.model.scenario import Scenario

HINT = "`make upstream` installs what the adapters of peers need"


def peer_named(profile: str, adapter: str | None = None, *ours: str | None) -> "Peer | None":
    """The peer of this profile; None for a profile of the specification.

    `ours` are options that only the shipped loop has.

    Raises:
        CouldNotRun: there is no adapter, or an option that a peer has not.

    """
    from loopspec.conformance.peers import PEERS

    peer = PEERS.get(profile)
    if peer is not None and any(each is not None for each in ours):
        sentence = (
            f"expected --mutant and --answers for the shipped loop only, got profile {profile}"
        )
        raise CouldNotRun(sentence)
    if peer is not None and not peer.module and adapter is None and ours:
        script = f"impl/adapters/{peer.name}/adapter.mjs"
        sentence = f"expected --adapter with profile {profile}, got none"
        raise CouldNotRun(sentence, f'in a checkout: --adapter "node {script}"')
    return peer


def peer_subject(peer: "Peer") -> "SubjectFactory":
    """A factory of the subject of a peer whose adapter is Python.

    Raises:
        CouldNotRun: the package of the peer is not installed.

    """
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.peers.check import peer_factory

    try:
        factory = peer_factory(peer)
    except ControlError as error:
        raise CouldNotRun(str(error), HINT) from error
    assert factory is not None
    return factory


def replay_on_peer(
    peer: "Peer", adapter: str | None, passed: tuple[str, ...], scenario: "Scenario"
) -> "Outcome":
    """Run a scenario on a peer, judged by its claims.

    Raises:
        CouldNotRun: the adapter cannot run, or the peer has not what the scenario asks.

    """
    from loopspec.cli.subjects import adapter_port
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.drive import run_scenario
    from loopspec.conformance.subjects.port import PortSubject

    try:
        if adapter is None:
            return run_scenario(peer_subject(peer)(), scenario, profile=peer)
        with adapter_port(adapter, peer.name, passed) as port:
            return run_scenario(PortSubject(port), scenario, profile=peer)
    except ControlError as error:
        raise CouldNotRun(str(error)) from error
