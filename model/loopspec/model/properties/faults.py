"""REFUSED, TORN and REPORT: what holds in runs in which the environment has armed a fault.

The laws are about runs without a refused append and without an interceptor that throws. These three
say what is left of them, and nothing as long as no fault was armed.
"""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.facts import Facts, Lists, Moment
from loopspec.model.properties.monitor import NEVER, Breaches, Stepped, breach_if, declare
from loopspec.model.words import EVENTS, FAULTS, RECORDS, Rest

REFUSAL: Final = "append-refused"
EDGES: Final = ("turn/start", "turn/end", "step/start", "step/end", "agent/status")
"""The boundaries, and where a driver's work begins and ends."""

PARTIAL: Final = ("clear", "cancel", "dispose")
"""Calls of more than one append: what came before the refused one has happened."""


def armed(at: Moment) -> str:
    """The record or event for which a call arms a fault; empty for any other."""
    return str(at.made.call.args[0]) if at.name == "call" and at.made.call.name in FAULTS else ""


# --- Calls --------------------------------------------------------------------------------------


class Calling(NamedTuple):
    """Whether a fault was armed, and of each call under way whether anything was told meanwhile."""

    faults: bool = False
    told: tuple[bool, ...] = ()


def refused_changes_nothing(ghost: Calling, at: Moment) -> Stepped[Calling]:
    """REFUSED: A call whose append was refused raises, and nothing of it was recorded or told."""
    if at.name == "call":
        return Calling(ghost.faults or bool(armed(at)), (*ghost.told, False)), NEVER
    if at.name != "return":
        return ghost._replace(told=(True,) * len(ghost.told)), NEVER
    after, call, raised = ghost._replace(told=ghost.told[:-1]), at.was.call, at.get("raised")
    if not ghost.faults or not ghost.told:
        return after, NEVER
    if raised == REFUSAL and call.name not in PARTIAL:
        because, however = f"{call.name} raised {REFUSAL}.", "something was recorded or told before"
        return after, breach_if(ghost.told[-1], "REFUSED", because, however)
    lost = call.wanted if raised is None and at.get("value") is not False else ()
    because, however = f"{call.name} returned.", f"no record inserted {ids(lost)}"
    return after, breach_if(lost, "REFUSED", because, however)


def refused_at_rest(ghost: Calling, facts: Facts, rest: Rest) -> Breaches:
    """Both lists are the fold of the records, whatever was refused."""
    read = Lists(rest.next_turn, rest.next_step)
    wrong = ghost.faults and facts.lists != read
    return breach_if(wrong, "REFUSED", f"the records fold to {facts.lists}.", f"it reads {read}")


REFUSED: Final = declare(
    refused_changes_nothing,
    Calling(),
    "ID-04 ID-05 RE-02",
    " ".join(("return", "call", *RECORDS, *EVENTS)),
    "a call is refused its append",
    lambda ghost, at: ghost.faults and at.name == "return" and at.get("raised") == REFUSAL,
    refused_at_rest,
)

# --- Boundaries ---------------------------------------------------------------------------------


class Edges(NamedTuple):
    """What was armed and has not struck a boundary; whether the end of the turn was refused."""

    faults: bool = False
    armed: tuple[str, ...] = ()
    torn: bool = False

    def struck(self, name: str) -> "Edges":
        """The ghost behind a boundary that is missing, for which a refusal was armed."""
        at = self.armed.index(name)
        return self._replace(armed=self.armed[:at] + self.armed[at + 1 :])


def torn_where_refused(ghost: Edges, at: Moment) -> Stepped[Edges]:
    """TORN: A boundary is missing only where the log refused it, and its number is used again."""
    if at.name == "call":
        name = armed(at)
        return Edges(True, (*ghost.armed, name), ghost.torn) if name else ghost, NEVER
    was, turn, step = at.was, at.number("turn"), at.number("step")
    if at.name == "agent/status":
        return goes_idle(ghost, at)
    if at.name == "turn/end" and was.step_open and "step/end" in ghost.armed:
        ghost, was = ghost.struck("step/end"), was._replace(step_open=False)
    right = {
        "turn/start": turn == was.turn + 1 and (not was.turn_open or ghost.torn),
        "turn/end": was.turn_open and not was.step_open and turn == was.turn,
        "step/start": was.turn_open and not was.step_open and step == was.step + 1,
        "step/end": was.step_open and step == was.step,
    }[at.name]
    after = ghost._replace(torn=ghost.torn and at.name != "turn/start")
    now = f"turn {was.turn} is {'open' if was.turn_open else 'closed'}, step {was.step} last."
    came = f"{at.name} {turn}{f'.{step}' if step else ''} came"
    return after, breach_if(ghost.faults and not right, "TORN", now, came)


def goes_idle(ghost: Edges, at: Moment) -> Stepped[Edges]:
    """An idle session has no open turn, unless the log refused its end."""
    if at.get("status") != "idle" or not at.was.turn_open or ghost.torn:
        return ghost, NEVER
    if "turn/end" in ghost.armed:
        return ghost.struck("turn/end")._replace(torn=True), NEVER
    because = f"turn {at.was.turn} was opened."
    return ghost, breach_if(ghost.faults, "TORN", because, "the driver went idle with it open")


def loses_an_end(ghost: Edges, at: Moment) -> bool:
    """Whether a driver goes idle with a turn whose end was refused."""
    idle = at.name == "agent/status" and at.get("status") == "idle"
    return idle and at.was.turn_open and not ghost.torn and "turn/end" in ghost.armed


TORN: Final = declare(
    torn_where_refused,
    Edges(),
    "TB-01 TB-03 TB-04 ST-04 ST-05",
    " ".join(("call", *EDGES)),
    "a driver goes idle with a turn whose end was refused",
    loses_an_end,
)

# --- Reports ------------------------------------------------------------------------------------


class Reports(NamedTuple):
    """What the driver has reported since the last boundary.

    `silent`: nothing was opened or reported since the driver started; `stopped`: it was canceled or
    disposed of; `torn`: one went idle with the turn open.
    """

    faults: bool = False
    silent: bool = True
    stopped: bool = False
    torn: bool = False
    said: tuple[str, ...] = ()


def report_of_each_refusal(ghost: Reports, at: Moment) -> Stepped[Reports]:
    """REPORT: A refused boundary is reported once, with the turn and step that are on record."""
    if at.name == "call":
        stops = ghost.stopped or at.made.call.name in ("cancel", "dispose")
        return ghost._replace(faults=ghost.faults or bool(armed(at)), stopped=stops), NEVER
    if at.name == "agent/error":
        return reports(ghost, at)
    if at.name != "agent/status":
        return Reports(ghost.faults, False, ghost.stopped), NEVER
    if at.get("status") != "idle":
        return Reports(ghost.faults, torn=ghost.torn), NEVER
    owed = at.was.turn_open and not ghost.torn and REFUSAL not in ghost.said
    wrong = ghost.faults and (owed or (ghost.silent and not ghost.stopped))
    where = f"turn {at.was.turn} is open." if at.was.turn_open else "no turn was opened."
    however = f"the driver went idle and said {', '.join(ghost.said) or 'nothing'}"
    after = Reports(ghost.faults, True, ghost.stopped, at.was.turn_open)
    return after, breach_if(wrong, "REPORT", where, however)


def reports(ghost: Reports, at: Moment) -> Stepped[Reports]:
    """A report names the newest turn on record, and its last step while it is open."""
    said, is_open = str(at.get("error")), at.was.turn_open and not ghost.torn
    where = (at.was.turn, at.was.step if is_open else 0)
    # A turn that failed may have its end refused: that makes two.
    once = len(ghost.said) < (2 if is_open else 1)
    right = once and (at.number("turn"), at.number("step")) == where
    before = ", ".join(ghost.said) or "nothing"
    because = f"on record is turn {where[0]}, step {where[1]}; reported was {before}."
    came = f"{said} was reported for {at.get('turn')}.{at.get('step')}"
    after = ghost._replace(silent=False, said=(*ghost.said, said))
    return after, breach_if(ghost.faults and not right, "REPORT", because, came)


REPORT: Final = declare(
    report_of_each_refusal,
    Reports(),
    "TB-03 TB-04 TB-12 ST-04 ER-07 ER-11",
    " ".join(("call", "agent/error", *EDGES)),
    "a refused boundary is reported",
    lambda ghost, at: ghost.faults and at.name == "agent/error" and at.get("error") == REFUSAL,
)

FAULT_PROPERTIES: Final = (REFUSED, TORN, REPORT)
"""What is asked of runs with faults, instead of the laws."""
