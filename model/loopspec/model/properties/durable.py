"""RESUME: what comes back from a log is what was made durable, closed once, and asleep."""

from typing import Final, NamedTuple

from loopspec.model.properties.facts import OPENED, SPLICED, Facts, Lists, Moment
from loopspec.model.properties.monitor import Stepped, breach_if, declare
from loopspec.model.session import NO_TURN, Turn
from loopspec.model.words import NEXT_STEP


class Log(NamedTuple):
    """What the records amount to at one moment: all that a session can be opened with."""

    lists: Lists = Lists()
    turn: Turn = NO_TURN
    repairs: tuple[str, ...] = ()
    """What closes what is open here, in order (RS-03, RS-04)."""

    def __str__(self) -> str:
        """Its last turn, both lists, and what closes it."""
        closes = f", closed by {', '.join(self.repairs)}" if self.repairs else ""
        return f"turn {self.turn}, {self.lists}{closes}"


def log_of(facts: Facts) -> Log:
    """What the records so far amount to."""
    asked = (use for use in facts.tools if use.stage == "asked")
    started = (use for use in facts.tools if use.stage != "asked")
    results = [f"tool/result {use.call} outcome-unknown" for use in started]
    results += [f"tool/result {use.call} not-started" for use in asked]
    closes = ["step/end"] * facts.step_open + ["turn/end interrupted"] * facts.turn_open
    return Log(facts.lists, facts.turn, (*results, *closes))


def acknowledges(at: Moment) -> bool:
    """Whether what was recorded is durable by now: something left the loop, or it said so."""
    if at.name == "return":
        return at.seen.name == "flush" and at.get("raised") is None
    return at.seen.kind == "gate" or at.get("status") == "idle"


def is_half_a_claim(at: Moment) -> bool:
    """Whether a next-turn head is still to be deleted with what was deleted now (CL-11)."""
    claims = at.name == SPLICED and at.is_claim and at.get("target") == NEXT_STEP
    return claims and at.was.step == 0 and bool(at.now.lists.next_turn)


def resume_opens_what_is_durable(logs: tuple[Log, ...], at: Moment) -> Stepped[tuple[Log, ...]]:
    """RESUME: A log opens with what was made durable, whole claims, closed once, nobody woken."""
    now = log_of(at.now)
    if at.name == OPENED:
        return (now,), breach_if(*opens_otherwise(logs, at))
    if acknowledges(at):
        return (now,), ()
    return logs if now == logs[-1] or is_half_a_claim(at) else (*logs, now), ()


def opens_otherwise(logs: tuple[Log, ...], at: Moment) -> tuple[bool, str, str, str]:
    """What a breach says of a log that opens with what it cannot hold."""
    repaired = at.get("repaired")
    repairs = tuple(map(str, repaired)) if isinstance(repaired, tuple) else ()
    found = log_of(at.now)._replace(repairs=repairs)
    here = log_of(at.was)
    may = {"crash": logs, "resume": (here,), "fork": (here, here._replace(lists=Lists()))}
    allowed = may[at.seen.name]
    because = "the log may hold " + ", or ".join(str(each) for each in allowed) + "."
    return found not in allowed, "RESUME", because, f"{at.seen.name} opened {found}"


EMPTY: Final[tuple[Log, ...]] = (Log(),)

RESUME: Final = declare(
    resume_opens_what_is_durable,
    EMPTY,
    "RS-01 RS-02 RS-03 RS-04 RS-05 RS-06 RS-08 RS-09 RS-11 ID-10 CL-11",
    "opened return provider tool agent/status agent/inbox/spliced turn/start turn/end "
    "step/start step/end assistant/message tool/call tool/result",
    "a crash leaves a turn open",
    lambda logs, at: at.name == OPENED and bool(at.get("repaired")),
)
