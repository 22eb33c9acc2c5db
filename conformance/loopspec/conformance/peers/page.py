"""The page of the peers: `python -m loopspec.conformance.peers.page`."""

from __future__ import annotations

import sys

from loopspec.conformance.findings import load_findings
from loopspec.conformance.peers import PEERS, Peer

__all__ = ["page"]

HEAD = """\
# Peers

Made from `conformance/loopspec/conformance/peers/`. A peer is a loop that is not ours and copies
nothing of ours. No session of the specification explains it, so it is held to what its own
documents claim, and to nothing else: each claim is one of their sentences with a monitor, judged on
the trace that the adapter records. Scenarios are named ones, all short walks, and random ones with
calls in windows; none needs the model, since what can be asked is seen on the peer itself. What a
claim says counts only where its premise is met: a claim that never was makes a run inconclusive.

Our words are used where they mean the same. A *run* of the peer is told as `turn/start` to
`turn/end`, one request with its tools as `step/start` to `step/end`; `agent/inbox/claimed` is the
peer's own word that a queued message enters, and `user/message` is told when a request holds a
message for the first time, so it is what the provider gets and not what the loop says. A peer has
no splice records and no prompt assembly, so none is told.

`make upstream` installs both. What is known of them is in [findings](findings/README.md); the files
`*.expected.toml` beside the claims say so to `--expect`, which lets a new breach stand out.
"""


def page() -> str:
    """Every peer with its claims and what it can be asked."""
    return "\n".join([HEAD, *(section(each) for each in PEERS.values())])


def section(peer: Peer) -> str:
    """One peer."""
    adapter = "" if peer.module else f' --adapter "node impl/adapters/{peer.name}/adapter.mjs"'
    expected = f"conformance/loopspec/conformance/peers/{peer.name}.expected.toml"
    choices = "; ".join(f"{gate}: {', '.join(names)}" for gate, names in peer.choices.items())
    known = [each for each in load_findings() if each.profile == peer.name]
    lines = [
        f"## {peer.name}: {peer.package} {peer.version}",
        "",
        f"Documents: {peer.documents}. Calls: {', '.join(peer.calls)}. Answers: {choices}.",
        "",
        "```sh",
        f"loopspec check --profile {peer.name}{adapter} \\",
        f"  --expect {expected}",
        "```",
        "",
        "| claim | what we hold it to | what the document says | where | known |",
        "| --- | --- | --- | --- | --- |",
    ]
    for claim in peer.claims:
        found = ", ".join(each.id for each in known if each.code == claim.code)
        quote = claim.quote.replace("|", "\\|")
        lines.append(
            f"| {claim.code} | {claim.sentence} | “{quote}” | {claim.where} | {found or '-'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
