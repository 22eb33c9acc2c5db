"""Scenarios of the genuine loop with what it was seen to do, for profile `dsh-0.1`.

Rules of this file. A file is an ordinary scenario. Its first comment is a title of one sentence,
its second names the source: a number is a scenario that was run on the release, a letter and a
number a probe of it. Behind each line at rest stand two comments. The first lists what was
observed, in order; `-` is nothing. The second, behind `=`, is where it came to rest: next-turn,
next-step, status, and `aborted` when an open gate's signal is. Every scenario of this form holds
the assembly, so that calls land where they landed upstream.

What is listed is compact: `next-turn@0 -1 +x canceled` is a splice, `user x` a user's message in
the record, `claimed x 1` an event with its turn, `error 1.0` a report, `x returns true` the return
of a call inside a listener. The return of a line's own call stands last, and goes without saying
when it is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from loopspec.model.playback import Played, play
from loopspec.model.scenario import Scenario, ScenarioError, parse_scenario
from loopspec.model.words import LAST, Made, Message, Observation, Rest, Value

__all__ = ["Expected", "Observed", "ObservedError", "load_observed", "parse_observed", "told_by"]

SUFFIX: Final = ".scenario"
NOTHING: Final = "-"


class ObservedError(ValueError):
    """A file that cannot be read; the text says what was expected, what came and where."""


@attrs.frozen
class Expected:
    """What one line at rest led to: the observations, and where it came to rest."""

    told: tuple[str, ...]
    rest: str


@attrs.frozen
class Observed:
    """One scenario, with what the genuine loop was seen to do at each of its lines at rest."""

    name: str
    title: str
    source: str
    scenario: Scenario
    expected: tuple[Expected, ...]


@cache
def load_observed() -> tuple[Observed, ...]:
    """Every scenario, ordered by name; raises ObservedError for the first bad file."""
    found = sorted(
        (file.name.removesuffix(SUFFIX), file)
        for file in files(__package__).iterdir()
        if file.name.endswith(SUFFIX)
    )
    return tuple(parse_observed(name, file.read_text(encoding="utf-8")) for name, file in found)


def parse_observed(name: str, text: str) -> Observed:
    """Read one file; raises ObservedError with one sentence that names it."""
    lines = text.splitlines()
    if len(lines) < 3 or not lines[0].startswith("# ") or not lines[1].startswith("# source: "):
        raise ObservedError(f"{name}: expected a title and '# source: ...' in lines 1 and 2")
    try:
        scenario = parse_scenario(text, name)
    except ScenarioError as error:
        raise ObservedError(str(error)) from error
    comments = [line.removeprefix("#").strip() for line in lines[2:] if line.startswith("#")]
    told, rests = comments[::2], comments[1::2]
    at_rest = sum(line.window.kind == "rest" for line in scenario.lines)
    if not len(told) == len(rests) == at_rest or not all(each.startswith("= ") for each in rests):
        raise ObservedError(f"{name}: expected two comments behind each line at rest")
    expected = tuple(
        Expected(tuple(first.split("; ")) if first != NOTHING else (), second.removeprefix("= "))
        for first, second in zip(told, rests, strict=True)
    )
    source = lines[1].removeprefix("# source: ")
    return Observed(name, lines[0].removeprefix("# "), source, scenario, expected)


def told_by(scenario: Scenario) -> tuple[Expected, ...]:
    """What the model does at each line of a scenario at rest, in the same words."""
    return tuple(_told(play(scenario)))


def _told(played: Played) -> Iterator[Expected]:
    told: list[str] = []
    calls: list[bool] = []
    own = ""
    for entry in played.trace:
        if isinstance(entry, Made):
            calls.append(entry.inside)
        elif isinstance(entry, Rest):
            yield Expected((*told, own) if own else tuple(told), _rest_words(entry))
            told, own = [], ""
        elif isinstance(entry, Observation) and entry.listener != LAST:
            if entry.kind == "return" and not calls.pop():
                own = _return_words(entry)
            elif entry.kind == "return":
                told.append(f"{entry.name} {_return_words(entry) or 'returns'}")
            else:
                told.append(_words(entry))


def _return_words(seen: Observation) -> str:
    raised, value = seen.get("raised"), seen.get("value")
    if raised is not None:
        return f"raises {raised}"
    if value is None:
        return ""
    return f"returns {_listed(value) if isinstance(value, tuple) else str(value).lower()}"


def _rest_words(rest: Rest) -> str:
    lists = [",".join(m.id for m in each) or "-" for each in (rest.next_turn, rest.next_step)]
    aborted = ["aborted"] if any(signal for _, signal in rest.gates) else []
    return " | ".join([*lists, rest.status, *aborted])


def _listed(values: Value) -> str:
    assert isinstance(values, tuple)
    return f"[{','.join(_id(value) for value in values)}]"


def _id(value: Value) -> str:
    return value.id if isinstance(value, Message) else str(value)


def _words(seen: Observation) -> str:
    """A record, event, gate or settlement."""
    values = dict(seen.data)
    if seen.kind == "settled":
        return f"settled {seen.name}{' error' if values['error'] else ''}"
    where = f"{values.get('turn')}.{values.get('step')}"
    if seen.kind == "gate":
        shown = {
            "pre-step": f" {where} {_listed(values.get('messages', ()))}",
            "tool": f" {values.get('call')}",
        }
        return f"gate {seen.name}{shown.get(seen.name, '')}"
    if seen.name == "agent/inbox/spliced":
        return _splice_words(values)
    short = seen.name.removeprefix("agent/inbox/").removeprefix("agent/")
    if short == "claimed":
        return f"claimed {_id(values['message'])} {values['turn']}"
    if short == "error":
        return f"error {where}"
    if short == "assistant/message":
        calls = values["calls"]
        assert isinstance(calls, tuple)
        words = ["assistant", *([",".join(map(str, calls))] if calls else [])]
        return " ".join([*words, *(["interrupted"] if values["interrupted"] else [])])
    if short == "turn/end":
        return " ".join(["turn/end", *(str(values[k]) for k in ("turn", "reason"))]) + (
            f" {values['cause']}" if values["cause"] else ""
        )
    if short in ("step/start", "step/end"):
        return f"{short} {where}"
    if short == "tool/call":
        return f"tool/call {values['call']}"
    if short == "tool/result":
        return f"tool/result {values['call']} {values['outcome']}"
    return f"{short.replace('user/message', 'user')} {_id(next(iter(values.values())))}"


def _splice_words(values: dict[str, Value]) -> str:
    inserted = values["inserted"]
    assert isinstance(inserted, tuple)
    parts = [f"{values['target']}@{values['start']}"]
    if values["removed"]:
        parts.append(f"-{values['removed']}")
    if inserted:
        parts.append("+" + ",".join(_id(value) for value in inserted))
    if values["outcome"]:
        parts.append(str(values["outcome"]))
    return " ".join(parts)
