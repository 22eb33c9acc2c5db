"""BAL, REJ and STATUS: what opens closes, a reject closes its turn, the status is true."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.monitor import (
    NEVER,
    Breach,
    Calls,
    declare,
    is_cancel,
    message,
    messages,
    number,
    told,
)
from loopspec.model.session import NO_TURN, Turn
from loopspec.model.words import Answer, Entry, Made, Message, Rest


class Open(NamedTuple):
    """The newest turn and step, and which of them are open."""

    turn: Turn = NO_TURN
    turn_open: bool = False
    step: int = 0
    step_open: bool = False


def bal_opens_and_closes(ghost: Open, entry: Entry) -> tuple[Open, tuple[Breach, ...]]:
    """BAL: Each turn and step that opens closes once, inside out and numbered in order."""
    seen = told(entry)
    if seen is None or seen.name not in ("turn/start", "turn/end", "step/start", "step/end"):
        return ghost, NEVER
    turn, step = number(seen, "turn"), number(seen, "step")
    now = f"turn {ghost.turn} is {'open' if ghost.turn_open else 'closed'}"
    if ghost.step:
        now += f", its step {ghost.step} is {'open' if ghost.step_open else 'closed'}"
    breach = (Breach("BAL", (now + ".",), f"{seen.name} {turn}{f'.{step}' if step else ''} came"),)
    if seen.name == "turn/start":
        right = not ghost.turn_open and turn == ghost.turn + 1
        return Open(Turn(turn), True), NEVER if right else breach
    if seen.name == "turn/end":
        right = ghost.turn_open and turn == ghost.turn and not ghost.step_open
        return Open(Turn(turn)), NEVER if right else breach
    if seen.name == "step/start":
        right = (
            ghost.turn_open and not ghost.step_open and (turn, step) == (ghost.turn, ghost.step + 1)
        )
        return Open(ghost.turn, ghost.turn_open, step, True), NEVER if right else breach
    right = ghost.step_open and (turn, step) == (ghost.turn, ghost.step)
    return ghost._replace(step_open=False), NEVER if right else breach


def bal_at_rest(ghost: Open, rest: Rest) -> tuple[Breach, ...]:
    """An idle session has no open turn."""
    if rest.status == "idle" and ghost.turn_open:
        what = f"turn {ghost.turn}" + (f" and its step {ghost.step}" if ghost.step_open else "")
        return (
            Breach(
                "BAL", (f"turn {ghost.turn} was opened.",), f"the session is idle with {what} open"
            ),
        )
    return NEVER


def a_turn_closes(ghost: Open, entry: Entry) -> bool:
    """Whether a turn with at least one step closes."""
    seen = told(entry)
    return seen is not None and seen.name == "turn/end" and ghost.step > 0


BAL: Final = declare(
    bal_opens_and_closes,
    bal_at_rest,
    Open(),
    "TB-01 TB-18 ST-01 ST-05 DR-04 DR-07 TB-14 PS-10",
    "turn/start turn/end step/start step/end",
    "a turn with a step closes",
    a_turn_closes,
)


class Rejecting(NamedTuple):
    """The batch of the open proposal and what was decided about it."""

    batch: tuple[Message, ...] = ()
    phase: str = ""
    canceled: bool = False
    calls: Calls = Calls()


def rej_closes_as_blocked(ghost: Rejecting, entry: Entry) -> tuple[Rejecting, tuple[Breach, ...]]:
    """REJ: A reject opens no step, puts nothing back and closes the turn as blocked."""
    calls = ghost.calls.after(entry)
    ghost = ghost if calls is ghost.calls else ghost._replace(calls=calls)
    if is_cancel(entry):
        return ghost._replace(
            canceled=True, phase="" if ghost.phase == "rejected" else ghost.phase
        ), NEVER
    if isinstance(entry, Answer):
        if entry.gate == "pre-step" and entry.choice == "reject" and not ghost.canceled:
            return ghost._replace(phase="rejected"), NEVER
        return ghost, NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.name == "pre-step":
        return ghost._replace(batch=messages(seen.get("messages")), phase=""), NEVER
    if seen.name == "turn/start":
        return ghost._replace(batch=(), phase="", canceled=False), NEVER
    if seen.name == "agent/inbox/spliced":
        inserted = messages(seen.get("inserted"))
        back = tuple(m for m in inserted if m in ghost.batch and not ghost.calls.may_insert(m))
        ghost = ghost._replace(calls=ghost.calls.inserted(inserted))
        if back and ghost.phase:
            went = f"{ids(back)} went back into {seen.get('target')}"
            return ghost, (Breach("REJ", _decided(ghost), went),)
    if ghost.phase != "rejected":
        return Rejecting(calls=ghost.calls) if seen.name == "turn/end" else ghost, NEVER
    if seen.name in ("step/start", "agent/error"):
        return ghost, (Breach("REJ", _decided(ghost), f"{seen.name} followed"),)
    if seen.name == "agent/inbox/discarded" and message(seen) in ghost.batch:
        said = f"{message(seen).id} was announced as discarded"
        return ghost, (Breach("REJ", _decided(ghost), said),)
    if seen.name == "turn/end":
        closed = ghost._replace(phase="closed")
        if seen.get("reason") == "blocked":
            return closed, NEVER
        return closed, (Breach("REJ", _decided(ghost), f"the turn ended as {seen.get('reason')}"),)
    return ghost, NEVER


def _decided(ghost: Rejecting) -> tuple[str, ...]:
    """Why the turn has to close as blocked."""
    return (f"the pre-step decision over {ids(ghost.batch)} was to reject.",)


def rej_at_rest(ghost: Rejecting, rest: Rest) -> tuple[Breach, ...]:
    """At rest the rejected turn is closed."""
    if ghost.phase == "rejected":
        left = f"the turn is not closed and the session is {rest.status}"
        return (Breach("REJ", _decided(ghost), left),)
    return NEVER


def a_reject_closes(ghost: Rejecting, entry: Entry) -> bool:
    """Whether a turn closes behind a reject."""
    seen = told(entry)
    return seen is not None and seen.name == "turn/end" and ghost.phase == "rejected"


REJ: Final = declare(
    rej_closes_as_blocked,
    rej_at_rest,
    Rejecting(),
    "PS-10 TB-07 TB-15 CL-09 DR-09",
    "call answer return pre-step turn/start turn/end step/start agent/error "
    "agent/inbox/spliced agent/inbox/discarded",
    "a turn closes behind a reject",
    a_reject_closes,
)


class Status(NamedTuple):
    """The last published status, whether a turn is open, and who waits for an end."""

    status: str = "idle"
    turn_open: bool = False
    waiting: int = 0
    disposal: str = ""
    maintenance: int = 0


def status_is_true(ghost: Status, entry: Entry) -> tuple[Status, tuple[Breach, ...]]:
    """STATUS: The status alternates, turns open only while it runs, and who waits is told."""
    if isinstance(entry, Made):
        if entry.call.name == "when-idle":
            return ghost._replace(waiting=ghost.waiting + 1), NEVER
        begins = entry.call.name == "dispose" and not ghost.disposal
        return ghost._replace(disposal="begun") if begins else ghost, NEVER
    seen = told(entry)
    if seen is None:
        return ghost, NEVER
    if seen.kind == "return":
        refused = seen.name == "dispose" and seen.get("raised") is not None
        return ghost._replace(disposal="unsure") if refused else ghost, NEVER
    if seen.name == "maintenance":
        more = 1 if seen.kind == "gate" else -1
        return ghost._replace(maintenance=ghost.maintenance + more), NEVER
    if seen.kind == "settled":
        if seen.name == "when-idle":
            return ghost._replace(waiting=ghost.waiting - 1), NEVER
        return ghost._replace(disposal="done"), NEVER
    because = (
        f"the status is {ghost.status} and {'a' if ghost.turn_open else 'no'} turn is open.",
    )
    if seen.name == "agent/status":
        status = str(seen.get("status"))
        wrong = status == ghost.status or (status == "idle" and ghost.turn_open)
        breach = Breach("STATUS", because, f"status {status} was published")
        return ghost._replace(status=status), (breach,) if wrong else NEVER
    if seen.name == "turn/start":
        breach = Breach("STATUS", because, "a turn opened")
        return ghost._replace(turn_open=True), NEVER if ghost.status == "running" else (breach,)
    if seen.name == "turn/end":
        return ghost._replace(turn_open=False), NEVER
    return ghost, NEVER


def status_at_rest(ghost: Status, rest: Rest) -> tuple[Breach, ...]:
    """At rest the status reads as it was last published, and nobody waits for an idle session."""
    idle = rest.status == "idle" and not ghost.maintenance
    if idle and (ghost.waiting or ghost.disposal == "begun"):
        what = "when-idle" if ghost.waiting else "dispose"
        return (Breach("STATUS", (f"{what} waits for idle.",), "nothing runs, and it waits on"),)
    if rest.status == ghost.status:
        return NEVER
    because = (f"the last published status is {ghost.status}.",)
    return (Breach("STATUS", because, f"the session reads {rest.status}"),)


def a_driver_goes_idle(ghost: Status, entry: Entry) -> bool:
    """Whether the status turns idle."""
    seen = told(entry)
    return seen is not None and seen.name == "agent/status" and seen.get("status") == "idle"


STATUS: Final = declare(
    status_is_true,
    status_at_rest,
    Status(),
    "DR-01 DR-02 DR-03 DR-12 WL-02 WI-02 WI-03 WI-05 DI-04",
    "when-idle dispose return maintenance agent/status turn/start turn/end",
    "the status turns idle",
    a_driver_goes_idle,
)
