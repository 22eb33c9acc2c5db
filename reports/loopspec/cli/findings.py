"""`loopspec findings`: replay what is known of other loops, and tell what no longer shows."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopspec.cli.exits import BROKEN, HOLDS, INCONCLUSIVE, CouldNotRun
from loopspec.cli.subjects import adapter_port

if TYPE_CHECKING:
    from loopspec.conformance.findings.findings import Known


@click.command(
    "findings",
    short_help="replay the registered findings about other loops",
    epilog="""\b
Examples:
  loopspec findings
  loopspec findings --adapters path/to/impl/adapters

\b
Exit codes: 0 all show, 1 one no longer shows, 2 an adapter could not run, 3 there are none.
""",
)
@click.option(
    "--adapters",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("impl/adapters"),
    show_default=True,
    help="The folder of the adapters, which `make upstream` installs.",
)
def command(adapters: Path) -> int:
    """Run the scenario of every registered finding on the loop that it is about.

    A finding is about a version of a loop: one that no longer shows was mended, or is no longer
    seen, and is told either way.
    """
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.findings import load_findings

    gone = []
    found = load_findings()
    for each in found:
        try:
            still = shown(each, adapters)
        except ControlError as error:
            raise CouldNotRun(f"{each.id}: {error}") from error
        gone += [] if still else [each.id]
        sys.stdout.write(f"{'shows' if still else 'gone':6} {each.id:8} {each.title}\n")
    if not found:
        sys.stdout.write("verdict  inconclusive: no finding is registered\n")
        return INCONCLUSIVE
    told = f"no longer seen: {', '.join(gone)}" if gone else f"all {len(found)} findings show"
    sys.stdout.write(f"verdict  {told}\n")
    return BROKEN if gone else HOLDS


def shown(known: "Known", adapters: Path) -> bool:
    """Whether the loop that a finding is about still shows it.

    Raises:
        CouldNotRun: there is no such adapter.

    """
    from loopspec.conformance.findings import shows
    from loopspec.conformance.peers import PEERS
    from loopspec.conformance.peers.check import peer_factory
    from loopspec.conformance.subjects.port import PortSubject

    factory = peer_factory(PEERS[known.subject]) if known.in_process else None
    if factory is not None:
        return shows(known, factory())[0]
    script = adapters / known.subject / "adapter.mjs"
    if not script.exists():
        sentence = f"expected the adapter {known.subject} in {adapters}, got no {script.name}"
        raise CouldNotRun(sentence, "run it from a checkout, behind `make upstream`")
    with adapter_port(f"node {script}{known.options}", known.profile) as port:
        return shows(known, PortSubject(port))[0]
