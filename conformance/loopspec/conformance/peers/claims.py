"""Claims and peers: what the documents of a loop that is not ours promise, and how it is judged.

Theory. A peer has queues, tools and a stop of its own, so no session of our model explains it.
What it can be held to is what its own documents say. A *claim* is one of their sentences with a
monitor: a function that looks at each entry of a trace with what came before, and yields a text for
a breach, an empty one where its premise is met. A claim whose premise is never met says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Final, TypeAlias

import attrs

from loopspec.conformance.judge import Finding, Judge
from loopspec.conformance.peers.story import Story
from loopspec.model.describe import entry_text
from loopspec.model.scenario import Scenario
from loopspec.model.words import Answer, Call, Entry, Observation

__all__ = ["MET", "Claim", "ClaimFinding", "Peer", "PeerJudge", "Watch"]

MET: Final = ""
"""What a monitor yields where its premise is met and its promise kept."""

ALLOWED: Final = "what the document says"

Watch: TypeAlias = Callable[[Story, Entry], Iterator[str]]


@attrs.frozen
class Claim:
    """One promise of a peer: our sentence, theirs, where it stands, and its monitor."""

    code: str
    sentence: str
    quote: str
    where: str
    watch: Watch
    sometimes: str
    """A state of its premise, in words."""


@attrs.frozen
class Peer:
    """A loop that is not ours, with what it claims and what it can be asked.

    `calls` are names of calls, a cancel with its mode; `choices` the answers at each gate;
    `moments` the observations at which calls in windows are tried.
    """

    name: str
    package: str
    version: str
    documents: str
    claims: tuple[Claim, ...]
    calls: tuple[str, ...]
    choices: MappingProxyType[str, tuple[str, ...]]
    moments: tuple[str, ...]
    scenarios: MappingProxyType[str, str]
    """Scenarios by name that meet the premises of the claims; `; ` separates their lines."""
    per_run: bool = False
    """Whether each run has queues of its own."""
    module: str = ""
    """The module of an adapter that runs in process; empty when it is another language's."""
    aborted: str = ""
    """The answer of a provider that honours an abort; empty where the loop ends it itself."""

    def judge(self) -> PeerJudge:
        """A judge of one trace."""
        return PeerJudge(self)

    def plays(self, scenario: Scenario) -> str:
        """What of a scenario this peer cannot be asked; empty when it can be asked all."""
        for line in scenario.lines:
            if not self.has(line.action):
                return str(line)
        return ""

    def has(self, action: Call | Answer) -> bool:
        """Whether the peer has this call, or this answer at a gate."""
        if isinstance(action, Answer):
            return action.choice in self.choices.get(action.gate, ())
        mode = f"cancel {action.args[1]}" if action.name == "cancel" else action.name
        return mode in self.calls


@attrs.frozen
class ClaimFinding(Finding):
    """A breach of a claim, with the sentence of the claim."""

    said: str = ""

    @property
    def asked_model(self) -> bool:
        """No model knows a peer."""
        return False

    @property
    def sentence(self) -> str:
        """The promise that is broken."""
        return self.said


class PeerJudge(Judge):
    """Judges a trace by the claims of a peer alone; no session of the model is asked."""

    def __init__(self, peer: Peer) -> None:
        """Begin with nothing seen."""
        super().__init__(inclusion=False)
        self.peer = peer
        self.story = Story(per_run=peer.per_run)
        self.trace: list[Entry] = []

    def see(self, entry: Entry) -> None:
        """Judge one more entry."""
        for claim in self.peer.claims:
            for text in claim.watch(self.story, entry):
                if text == MET:
                    self.met[claim.code] = self.met.get(claim.code, 0) + 1
                else:
                    self._breach(claim, text, entry)
        self._faults(entry)
        self.story.add(entry)
        self.position += 1

    def _breach(self, claim: Claim, however: str, entry: Entry) -> None:
        if any(each.code == claim.code for each in self.findings):
            return
        because = (f"{self.peer.package} {self.peer.version}, {claim.where}: “{claim.quote}”",)
        self.findings.append(
            ClaimFinding(
                claim.code,
                (),
                because,
                however,
                entry_text(entry),
                (ALLOWED,),
                self.position,
                said=claim.sentence,
            )
        )

    def _faults(self, entry: Entry) -> None:
        if isinstance(entry, Observation) and entry.kind == "fault":
            self._breach(FAULT, f"{entry.name}: {entry.get('error')}", entry)


def nothing(_story: Story, _entry: Entry) -> Iterator[str]:
    """Watch nothing."""
    yield from ()


FAULT: Final = Claim(
    "FAULT",
    "Nothing fails in the loop that nobody receives.",
    "",
    "no document promises a failure that nobody receives",
    nothing,
    "",
)
"""Not claimed by anybody in so many words: exceptions that end nowhere."""
