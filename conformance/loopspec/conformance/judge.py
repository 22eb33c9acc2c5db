"""The judge: folds a trace, entry by entry, into findings.

Theory. Two things are asked of every entry. *Inclusion*: does some possible session of the model
explain it? *Properties*: does a monitor see a breach? Inclusion is strong and says where subject
and model part; a property says which promise is broken. After the first parting inclusion has
nothing more to say, and the properties go on by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from loopspec.model.describe import entry_text, observation_text
from loopspec.model.explore import Cell, driver_state, window_kind
from loopspec.model.policy import NOTES, Policy
from loopspec.model.possible import Parting, Possible, after, hidden, place
from loopspec.model.properties import FAULT_PROPERTIES, PROPERTIES, Breach, at_start, laws, watch
from loopspec.model.session import HELD, Session
from loopspec.model.words import FAULTS, LISTENERS, Entry, Made, Observation, Rest

__all__ = ["TRACE", "Finding", "Judge", "judge"]

TRACE: Final = "TRACE"
TRACE_SENTENCE: Final = "What a subject does is what some session of the specification may do."
SENTENCES: Final = {each.code: each.sentence for each in PROPERTIES} | {TRACE: TRACE_SENTENCE}


@attrs.frozen
class Finding:
    """One breach of a subject: which promise, why, what it did, what was allowed, and where.

    `position` is the index of the entry in the trace.
    """

    code: str
    rules: tuple[str, ...]
    because: tuple[str, ...]
    however: str
    did: str
    allowed: tuple[str, ...]
    position: int

    @property
    def asked_model(self) -> bool:
        """Whether the model was asked what it allows there."""
        return True

    @property
    def sentence(self) -> str:
        """The promise that is broken; the same words in code, documents and failures."""
        return SENTENCES[self.code]

    @property
    def key(self) -> tuple[str, str]:
        """What makes two findings the same while a scenario is reduced: promise and symptom."""
        return self.code, self.did.split(" ", 2)[0] if self.code == TRACE else ""


def expected_rules(sessions: Iterable[Session]) -> tuple[str, ...]:
    """The rules of the rows that the possible sessions would have taken next."""
    rules: dict[str, None] = {}
    for session in sessions:
        moved = hidden(session)[1]
        if moved is not None:
            rules.update(dict.fromkeys(moved.row.rules))
    return tuple(rules)


class Judge:
    """Sees a trace entry by entry.

    `inclusion` off leaves the properties alone to judge: a mutant counts for a property only if
    that property reports it by itself.
    """

    def __init__(
        self,
        policy: Policy = NOTES,
        listeners: tuple[str, ...] = LISTENERS,
        inclusion: bool = True,
        held: frozenset[str] = HELD,
    ) -> None:
        """Begin with one empty session of `policy`, whose gates in `held` are answered."""
        start = Session(policy=policy, listeners=listeners, held=held)
        self.possible: Possible | None = Possible((start,)) if inclusion else None
        self.properties = (*laws(policy), *FAULT_PROPERTIES)
        self.ghosts = at_start(self.properties)
        self.findings: list[Finding] = []
        self.rows: dict[str, int] = {}
        self.met: dict[str, int] = {}
        self.cells: dict[Cell, int] = {}
        self.position = 0
        self.peak = 1
        self.newest: Observation | None = None
        self._told: set[str] = set()

    @property
    def session(self) -> Session | None:
        """The possible session, while there is exactly one kind of explanation left."""
        return self.possible.sessions[0] if self.possible is not None else None

    def see(self, entry: Entry) -> None:
        """Judge one more entry of the trace."""
        if isinstance(entry, Made) and entry.call.name in FAULTS:
            self._only_fault_properties()
        self.ghosts, breaches, met = watch(self.ghosts, entry, self.properties)
        for code in met:
            self.met[code] = self.met.get(code, 0) + 1
        if isinstance(entry, Made):
            self._count_cell(entry)
        parting = self._include(entry)
        for breach in breaches:
            if breach.code not in self._told:
                self._told.add(breach.code)
                self.findings.append(self._broken(breach, entry, parting))
        if parting is not None and not breaches:
            self.findings.append(self._parted(parting, entry))
        if isinstance(entry, Observation) and entry.kind in ("record", "event", "gate"):
            self.newest = entry
        self.position += 1

    def _only_fault_properties(self) -> None:
        """From the first fault on the laws are not asked for any more."""
        pairs = zip(self.properties, self.ghosts.own, strict=True)
        kept = [(each, own) for each, own in pairs if each in FAULT_PROPERTIES]
        self.properties = tuple(each for each, _ in kept)
        self.ghosts = self.ghosts._replace(own=tuple(own for _, own in kept))

    def _count_cell(self, made: Made) -> None:
        """Count a call by kind, window and driver state, as the model has them at its place."""
        where = place(self.session, made.inside)[0] if self.session is not None else None
        if where is not None:
            cell = (made.call.name, window_kind(where), driver_state(where))
            self.cells[cell] = self.cells.get(cell, 0) + 1

    def _include(self, entry: Entry) -> tuple[Parting, tuple[str, ...]] | None:
        if self.possible is None:
            return None
        before = self.possible
        following = after(before, entry)
        if isinstance(following, Parting):
            self.possible = None
            return following, expected_rules(before.sessions)
        self.possible = following
        self.peak = max(self.peak, len(following.sessions))
        for key in following.rows:
            self.rows[key] = self.rows.get(key, 0) + 1
        return None

    def _broken(
        self, breach: Breach, entry: Entry, parting: tuple[Parting, tuple[str, ...]] | None
    ) -> Finding:
        rules = next(each.rules for each in PROPERTIES if each.code == breach.code)
        allowed = parting[0].allowed if parting else ()
        if parting and parting[1]:
            rules = tuple(dict.fromkeys((*parting[1], *rules)))
        did = done(entry, parting[0] if parting else None)
        return Finding(
            breach.code, rules, breach.because, breach.however, did, allowed, self.position
        )

    def _parted(self, parting: tuple[Parting, tuple[str, ...]], entry: Entry) -> Finding:
        what, rules = parting
        allowed = " or ".join(dict.fromkeys(what.allowed))
        after_what = f"after {observation_text(self.newest)}" if self.newest else "at the start"
        because = (f"{after_what}, the specification allows: {allowed}.",)
        however = f"the subject did: {what.did}"
        did = done(entry, what)
        return Finding(TRACE, rules, because, however, did, what.allowed, self.position)


def done(entry: Entry, parting: Parting | None) -> str:
    """What the subject did where a finding was made.

    At rest it did nothing more although it owed something; or it reads otherwise than it should,
    and then what it reads is told.
    """
    return parting.did if parting and parting.kind == "projection" else shown(entry)


def shown(entry: Entry) -> str:
    """What the subject did, on one line."""
    if isinstance(entry, Observation):
        return observation_text(entry)
    if isinstance(entry, Rest):
        return "nothing more"
    if isinstance(entry, Made):
        return f"it was called: {entry.call.name}"
    return entry_text(entry)


def judge(
    trace: Iterable[Entry],
    policy: Policy = NOTES,
    listeners: tuple[str, ...] = LISTENERS,
    inclusion: bool = True,
) -> Judge:
    """Judge a whole trace."""
    seen = Judge(policy, listeners, inclusion)
    for entry in trace:
        seen.see(entry)
    return seen
