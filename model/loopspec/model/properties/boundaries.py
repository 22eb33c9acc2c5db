"""BAL, REJ and STATUS: what opens closes, a reject closes its turn, the status is true."""

from typing import Final, NamedTuple

from loopspec.model.describe import ids
from loopspec.model.properties.facts import DISCARDED, SPLICED, Facts, Moment, messages
from loopspec.model.properties.monitor import NEVER, Breaches, Stepped, breach_if, declare
from loopspec.model.words import Message, Rest


def bal_opens_and_closes(ghost: None, at: Moment) -> Stepped[None]:
    """BAL: Each turn and step that opens closes once, inside out and numbered in order."""
    was, turn, step = at.was, at.number("turn"), at.number("step")
    right = {
        "turn/start": not was.turn_open and turn == was.turn + 1,
        "turn/end": was.turn_open and not was.step_open and turn == was.turn,
        "step/start": was.turn_open and not was.step_open and step == was.step + 1,
        "step/end": was.step_open and step == was.step,
    }[at.name] and (turn == was.turn or at.name == "turn/start")
    now = f"turn {was.turn} is {'open' if was.turn_open else 'closed'}"
    if was.step:
        now += f", its step {was.step} is {'open' if was.step_open else 'closed'}"
    came = f"{at.name} {turn}{f'.{step}' if step else ''} came"
    return ghost, breach_if(not right, "BAL", f"{now}.", came)


def bal_at_rest(ghost: None, facts: Facts, rest: Rest) -> Breaches:
    """An idle session has no open turn."""
    left = rest.status == "idle" and facts.turn_open
    what = f"turn {facts.turn}" + (f" and its step {facts.step}" if facts.step_open else "")
    because, however = f"turn {facts.turn} was opened.", f"the session is idle with {what} open"
    return breach_if(left, "BAL", because, however)


BAL: Final = declare(
    bal_opens_and_closes,
    None,
    "TB-01 TB-18 ST-01 ST-05 DR-04 DR-07 TB-14 PS-10",
    "turn/start turn/end step/start step/end",
    "a turn with a step closes",
    lambda ghost, at: at.name == "turn/end" and at.was.step > 0,
    bal_at_rest,
)


class Rejecting(NamedTuple):
    """The batch of the newest proposal; rejected or closed once it is, and empty before."""

    batch: tuple[Message, ...] = ()
    phase: str = ""

    @property
    def because(self) -> str:
        """Why the turn has to close as blocked."""
        return f"the pre-step decision over {ids(self.batch)} was to reject."


def rej_closes_as_blocked(ghost: Rejecting, at: Moment) -> Stepped[Rejecting]:
    """REJ: A reject opens no step, puts nothing back and closes the turn as blocked."""
    rejected, wrong = ghost.phase == "rejected", ""
    if at.name == "answer":
        canceled = at.was.cause or at.was.unsure
        if at.answer.gate == "pre-step" and at.answer.choice == "reject" and not canceled:
            return ghost._replace(phase="rejected"), NEVER
    elif at.name == "call":
        return Rejecting() if at.now.call.cause and rejected else ghost, NEVER
    elif at.name == "pre-step":
        return Rejecting(messages(at.get("messages"))), NEVER
    elif at.name == "turn/start" or (at.name == "step/start" and not rejected):
        return Rejecting(), NEVER
    elif at.name == SPLICED and ghost.phase:
        back = tuple(m for m in at.inserted if m in ghost.batch and not at.was.may_insert(m))
        wrong = f"{ids(back)} went back into {at.get('target')}" if back else ""
    elif not rejected:
        return ghost, NEVER
    elif at.name in ("step/start", "agent/error"):
        wrong = f"{at.name} followed"
    elif at.name == DISCARDED:
        if at.message in ghost.batch:
            wrong = f"{at.message.id} was announced as discarded"
    elif at.name == "turn/end":
        reason = at.get("reason")
        wrong = f"the turn ended as {reason}" if reason != "blocked" else ""
        breaches = breach_if(wrong, "REJ", ghost.because, wrong)
        return ghost._replace(phase="closed"), breaches
    return ghost, breach_if(wrong, "REJ", ghost.because, wrong)


def rej_at_rest(ghost: Rejecting, facts: Facts, rest: Rest) -> Breaches:
    """At rest the rejected turn is closed."""
    left = f"the turn is not closed and the session is {rest.status}"
    return breach_if(ghost.phase == "rejected", "REJ", ghost.because, left)


REJ: Final = declare(
    rej_closes_as_blocked,
    Rejecting(),
    "PS-10 TB-07 TB-15 CL-09 DR-09",
    "call answer pre-step turn/start turn/end step/start agent/error "
    "agent/inbox/spliced agent/inbox/discarded",
    "a turn closes behind a reject",
    lambda ghost, at: at.name == "turn/end" and ghost.phase == "rejected",
    rej_at_rest,
)


def status_is_true(waiting: int, at: Moment) -> Stepped[int]:
    """STATUS: The status alternates, turns open only while it runs, and who waits is told."""
    if at.name == "call":
        return waiting + (at.made.call.name == "when-idle"), NEVER
    if at.name == "when-idle":
        return waiting - 1, NEVER
    was, status, wrong = at.was, str(at.get("status")), ""
    if at.name == "turn/start":
        wrong = "" if was.running else "a turn opened"
    elif status == was.status or (status == "idle" and was.turn_open):
        wrong = f"status {status} was published"
    because = f"the status is {was.status} and {'a' if was.turn_open else 'no'} turn is open."
    return waiting, breach_if(wrong, "STATUS", because, wrong)


def status_at_rest(waiting: int, facts: Facts, rest: Rest) -> Breaches:
    """At rest the status reads as it was last published, and nobody waits for an idle session."""
    idle = rest.status == "idle" and not facts.maintenance
    if idle and (waiting or facts.disposal == "begun"):
        what = "when-idle" if waiting else "dispose"
        however = "nothing runs, and it waits on"
        return breach_if(what, "STATUS", f"{what} waits for idle.", however)
    because = f"the last published status is {facts.status}."
    wrong = rest.status != facts.status
    return breach_if(wrong, "STATUS", because, f"the session reads {rest.status}")


STATUS: Final = declare(
    status_is_true,
    0,
    "DR-01 DR-02 DR-03 DR-12 WL-02 WI-02 WI-03 WI-05 DI-04",
    "call when-idle agent/status turn/start",
    "the status turns idle",
    lambda waiting, at: at.name == "agent/status" and at.get("status") == "idle",
    status_at_rest,
)
