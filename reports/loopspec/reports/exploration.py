"""What an exploration of the specification found: one document, as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from loopspec.model.counts import PINNED, Counts
from loopspec.model.properties import PROPERTIES
from loopspec.model.table import TABLE
from loopspec.reports.words import number, seconds_words

NEXT: Final = {
    "holds": "loopspec check",
    "broken": "loopspec replay FILE, with a witness from above in FILE",
    "inconclusive": "loopspec explore, without --states-max",
}


@attrs.frozen
class BreachFound:
    """The first breach of a property in a scope; breadth first makes its witness a shortest one."""

    property: str
    because: tuple[str, ...]
    however: str
    witness: str


@attrs.frozen
class ScopeFound:
    """What one scope's exploration found, in plain values that travel between processes."""

    name: str
    says: str
    states: int
    transitions: int
    depth: int
    rests: int
    seconds: float
    complete: bool
    taken: dict[str, int]
    fresh: dict[str, int]
    met: dict[str, str]
    """For each property whose premise was reached, the shortest witness as scenario text."""
    breaches: tuple[BreachFound, ...]

    @property
    def counts(self) -> Counts:
        """What is pinned of it."""
        return Counts(self.states, self.transitions, self.depth, self.rests)

    @property
    def rate(self) -> int:
        """States per second."""
        return round(self.states / self.seconds) if self.seconds else 0


@attrs.frozen
class Exploration:
    """All scopes of one run; `whole` tells that they are all the default scopes."""

    scopes: tuple[ScopeFound, ...]
    whole: bool
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether no search was ended early."""
        return all(scope.complete for scope in self.scopes)

    @property
    def dead(self) -> tuple[str, ...]:
        """The rows that no scope took; told only of all default scopes, explored to the end."""
        if not (self.whole and self.complete):
            return ()
        return tuple(
            each.key for each in TABLE if not any(each.key in s.taken for s in self.scopes)
        )

    @property
    def unmet(self) -> tuple[str, ...]:
        """The properties whose premise no scope reached; told as dead rows are."""
        if not (self.whole and self.complete):
            return ()
        return tuple(each.code for each in PROPERTIES if self.first_met(each.code) is None)

    @property
    def breaches(self) -> tuple[tuple[str, BreachFound], ...]:
        """Each breach with the scope that shows it, one for each property: a shortest."""
        found: dict[str, tuple[str, BreachFound]] = {}
        for scope in self.scopes:
            for breach in scope.breaches:
                known = found.get(breach.property)
                if known is None or length(breach.witness) < length(known[1].witness):
                    found[breach.property] = (scope.name, breach)
        return tuple(found[each.code] for each in PROPERTIES if each.code in found)

    @property
    def verdict(self) -> str:
        """Broken by a breach or a dead row; inconclusive when ended early or a premise is unmet."""
        if self.breaches or self.dead:
            return "broken"
        return "holds" if self.complete and not self.unmet else "inconclusive"

    @property
    def exit(self) -> int:
        """The exit code of the verdict."""
        return {"holds": 0, "broken": 1, "inconclusive": 3}[self.verdict]

    def first_met(self, code: str) -> tuple[str, str] | None:
        """A shortest witness of a property's premise, with its scope."""
        shown = [(s.name, s.met[code]) for s in self.scopes if code in s.met]
        return min(shown, key=lambda pair: length(pair[1]), default=None)


def length(witness: str) -> int:
    """The number of calls and answers of a witness."""
    return len(actions(witness))


def actions(witness: str) -> list[str]:
    """The lines of a witness without its header."""
    return [line for line in witness.splitlines() if not line.startswith(("profile ", "scope "))]


# --- Text ---------------------------------------------------------------------------------------


def exploration_lines(found: Exploration) -> Iterator[str]:
    """The print-out: scopes, rows, properties, what breaks, counts, verdict."""
    yield from _scopes(found)
    yield from _rows(found)
    yield from _properties(found)
    for scope, breach in found.breaches:
        yield from _breach(scope, breach)
    yield from _closing(found)


def _scopes(found: Exploration) -> Iterator[str]:
    yield (
        f"{'scope':<12}{'states':>10}{'transitions':>13}{'depth':>7}{'rests':>8}"
        f"{'seconds':>9}{'states/s':>10}"
    )
    for scope in found.scopes:
        note = "" if scope.complete else "  ended early"
        pinned = PINNED.get(scope.name)
        if scope.complete and pinned is not None and pinned != scope.counts:
            note = f"  pinned: {number(pinned.states)} states"
        yield (
            f"{scope.name:<12}{number(scope.states):>10}{number(scope.transitions):>13}"
            f"{scope.depth:>7}{number(scope.rests):>8}{scope.seconds:>9.1f}"
            f"{number(scope.rate):>10}{note}"
        )


def _rows(found: Exploration) -> Iterator[str]:
    yield ""
    yield f"{'row':<50}{'taken':>12}{'new':>10}"
    for each in TABLE:
        taken = sum(scope.taken.get(each.key, 0) for scope in found.scopes)
        fresh = sum(scope.fresh.get(each.key, 0) for scope in found.scopes)
        dead = "  dead" if each.key in found.dead else ""
        yield f"{each.key:<50}{number(taken):>12}{number(fresh):>10}{dead}"


def _properties(found: Exploration) -> Iterator[str]:
    broken = {breach.property for _, breach in found.breaches}
    yield ""
    yield f"{'property':<10}{'verdict':<9}premise and a shortest witness of it"
    for each in PROPERTIES:
        shown = found.first_met(each.code)
        verdict = "broken" if each.code in broken else "holds" if shown else "unmet"
        how = f": {'; '.join(actions(shown[1]))}" if shown else " (never reached)"
        yield f"{each.code:<10}{verdict:<9}{each.sometimes}{how}"


def _breach(scope: str, breach: BreachFound) -> Iterator[str]:
    sentence = next(each.sentence for each in PROPERTIES if each.code == breach.property)
    yield ""
    yield f"{breach.property} broken: {sentence}"
    yield f"  scope    {scope}"
    for line in breach.because:
        yield f"  because  {line}"
    yield f"           However, {breach.however}: a contradiction."
    yield f"  witness  {length(breach.witness)} actions, found breadth first"
    for line in breach.witness.splitlines():
        yield f"    {line}"


def _closing(found: Exploration) -> Iterator[str]:
    states = sum(scope.states for scope in found.scopes)
    transitions = sum(scope.transitions for scope in found.scopes)
    rows = sum(any(each.key in scope.taken for scope in found.scopes) for each in TABLE)
    scopes = "1 scope" if len(found.scopes) == 1 else f"{len(found.scopes)} scopes"
    yield ""
    if found.dead:
        yield f"dead     {', '.join(found.dead)}"
    if found.unmet:
        yield f"unmet    {', '.join(found.unmet)}"
    yield (
        f"counts   {scopes}, {number(states)} states, {number(transitions)} "
        f"transitions, {rows} of {len(TABLE)} rows taken in {seconds_words(found.seconds)}"
    )
    yield f"verdict  {found.verdict} (exit {found.exit}); next: {NEXT[found.verdict]}"


# --- JSON ---------------------------------------------------------------------------------------


def exploration_document(found: Exploration) -> dict[str, object]:
    """The same as plain values for `json.dumps`."""
    return {
        "format": 1,
        "verb": "explore",
        "verdict": found.verdict,
        "exit": found.exit,
        "seconds": round(found.seconds, 3),
        "scopes": [_scope_document(scope) for scope in found.scopes],
        "rows": _row_documents(found.scopes),
        "dead": list(found.dead),
        "properties": [
            {
                "code": each.code,
                "sentence": each.sentence,
                "rules": list(each.rules),
                "sometimes": each.sometimes,
                "witness": (found.first_met(each.code) or (None, None))[1],
            }
            for each in PROPERTIES
        ],
        "breaches": [{"scope": scope, **attrs.asdict(breach)} for scope, breach in found.breaches],
        "next": NEXT[found.verdict],
    }


def _scope_document(scope: ScopeFound) -> dict[str, object]:
    pinned = PINNED.get(scope.name)
    return {
        "name": scope.name,
        "says": scope.says,
        **scope.counts._asdict(),
        "seconds": round(scope.seconds, 3),
        "states_per_second": scope.rate,
        "complete": scope.complete,
        "pinned": pinned._asdict() if pinned else None,
    }


def _row_documents(scopes: Sequence[ScopeFound]) -> list[dict[str, object]]:
    return [
        {
            "name": each.key,
            "rules": list(each.rules),
            "observation": each.makes,
            "taken": sum(scope.taken.get(each.key, 0) for scope in scopes),
            "new": sum(scope.fresh.get(each.key, 0) for scope in scopes),
        }
        for each in TABLE
    ]
