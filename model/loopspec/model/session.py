"""The state: one session with its two lists, its driver and the work that is due.

Rules of this file. A session is a frozen value; equal sessions are equal objects. It holds the
fold of the log, not the log, and nothing that could be derived from it. Work is a flat tuple of
*frames*: a move runs the head of the stack. An await cuts the stack: the driver's part waits as
the one suspended *task* until its gate is answered, and the caller's rest goes on (LN-10).

Theory. Three places hold work. `stack` is what runs now, in the caller's or the driver's turn on
the event loop; () means that control is with the event loop. `task` is the driver's suspended
rest. `gates` are the await points that the environment must answer; a task without an open gate
is *ready*: it resumes on the next tick. Delivering a record or an event leaves a `Listening`
frame, and a call may land only where the stack is empty or its head is listening.
"""

from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, get_args

import attrs

from loopspec.model.policy import NOTES, Policy
from loopspec.model.words import LISTENERS, NEXT_STEP, NEXT_TURN, Block, Message, Value

QUIET: Final = "quiet"
WAKING: Final = "waking"
DUE: Final = "due"


class Turn(int):
    """A turn number; a type of its own so that canonical sessions can count from the newest."""

    __slots__ = ()


NO_TURN: Final = Turn(0)


class Item(NamedTuple):
    """One pending message with its process-local mark, which no record holds.

    `mark` is quiet, waking, or due: waking, and no driver was started for it yet. `doomed` items
    were pending when the running broad cancel began, so its clear removes them (A11).
    """

    message: Message
    mark: str = QUIET
    doomed: bool = False


class Ending(NamedTuple):
    """How a turn ends: completed, max-tokens, empty, blocked, aborted, error or none.

    `empty` is written as completed, but the driver stops (TB-14); `none` means that the driver
    was aborted before it opened a turn (TB-02).
    """

    kind: str
    error: str | None = None


class Kept(NamedTuple):
    """What a log amounts to: its fold, which is all that a crash leaves of a session (RS-01).

    `called` are the tool calls of the open step that have no result, in the order of the
    transcript; the first `started` of them were recorded as started.
    """

    next_turn: tuple[Message, ...] = ()
    next_step: tuple[Message, ...] = ()
    turn: Turn = NO_TURN
    turn_open: bool = False
    step_open: bool = False
    called: tuple[str, ...] = ()
    started: int = 0


EMPTY_LOG: Final = Kept()


# --- Frames: what is due ------------------------------------------------------------------------
# The last field names the frame, so that frames with equal fields are not equal tuples.


class Tell(NamedTuple):
    """Deliver one record or event to each listener in turn."""

    kind: str
    name: str
    values: tuple[Value, ...]
    listeners: tuple[str, ...]
    frame: str = "tell"


class Listening(NamedTuple):
    """A listener of a record, event or gate arrival runs now; a call may land here."""

    to: str
    name: str
    frame: str = "listening"


class Splice(NamedTuple):
    """Commit one normalised edit of one list; a claim is a deletion without an outcome."""

    target: str
    start: int
    removed: int
    inserted: tuple[Item, ...] = ()
    claim: bool = False
    frame: str = "splice frame"


class Change(NamedTuple):
    """Change the list, after the record of the edit was told (LN-02)."""

    target: str
    start: int
    removed: int
    inserted: tuple[Item, ...]
    frame: str = "change"


class Clear(NamedTuple):
    """Remove what is doomed in one list; reads the list when it runs."""

    target: str
    frame: str = "clear list"


class Unlatch(NamedTuple):
    """Forget a latched wake."""

    frame: str = "unlatch"


class Abort(NamedTuple):
    """Abort the signal of the running driver with a cause."""

    cause: str
    frame: str = "abort"


class EndCall(NamedTuple):
    """Return to the caller, with a value or a raised code. Handles failures of a call."""

    call: str
    value: bool | tuple[Message, ...] | None = None
    raised: str | None = None
    frame: str = "end call"


class Wake(NamedTuple):
    """A waking message was inserted: start a driver if there is none.

    `late` was judged when the call was made (RT-10): no driver that will look again can see it, and
    the activity was not being disposed of (RT-14).
    """

    late: bool = False
    frame: str = "wake"


class Start(NamedTuple):
    """Start a driver."""

    frame: str = "start"


class OpenTurn(NamedTuple):
    """Open the next turn."""

    frame: str = "open turn"


class Claim(NamedTuple):
    """Take the batch of the proposed step out of the lists."""

    at_turn_boundary: bool
    frame: str = "claim"


class Arrive(NamedTuple):
    """Arrive at a gate, which `key` tells apart from others of its kind."""

    gate: str
    key: str = ""
    frame: str = "arrive"

    @property
    def label(self) -> str:
        """The name of the open gate."""
        return f"{self.gate} {self.key}" if self.key else self.gate


class OpenGate(NamedTuple):
    """A gate opens; whoever answers it runs beside the driver. `waited`: a tick has passed."""

    label: str
    waited: bool = False
    frame: str = "open gate"


class Suspend(NamedTuple):
    """Await: cut the stack until a gate was answered or, when `gate` is empty, for one tick."""

    gate: str = ""
    frame: str = "suspend"


class Assembled(NamedTuple):
    """The prompt assembly has answered."""

    choice: str
    frame: str = "assembled"


class Decided(NamedTuple):
    """The pre-step decision is in."""

    choice: str
    messages: tuple[Message, ...] | None
    frame: str = "decided"


class EnterStep(NamedTuple):
    """Open the step with exactly these messages."""

    messages: tuple[Message, ...]
    frame: str = "enter step"


class Request(NamedTuple):
    """Make a request: the hook first, then the provider."""

    frame: str = "request"


class Requested(NamedTuple):
    """The request hook has answered."""

    choice: str
    frame: str = "requested"


class Replied(NamedTuple):
    """The provider has answered."""

    choice: str
    calls: tuple[str, ...] = ()
    frame: str = "replied"


class Recovered(NamedTuple):
    """The recovery hook has answered for a failed attempt."""

    choice: str
    frame: str = "recovered"


class Tools(NamedTuple):
    """Run the tool calls that are left, in the order in which the provider asked.

    `started` are those that run side by side already; `behind` others that have started no tick has
    passed yet.
    """

    calls: tuple[str, ...]
    together: bool = False
    started: tuple[str, ...] = ()
    behind: bool = False
    frame: str = "tools"


class Commit(NamedTuple):
    """Commit the results of calls that run side by side, in the provider's order."""

    calls: tuple[str, ...]
    frame: str = "commit"


class ToolDone(NamedTuple):
    """A tool has answered, perhaps with contexts."""

    call: str
    choice: str
    contexts: tuple[Message, ...] = ()
    frame: str = "tool done"


class Context(NamedTuple):
    """A context that a tool returned joins next-step."""

    message: Message
    frame: str = "context"


class AfterTools(NamedTuple):
    """All results of the batch are durable."""

    frame: str = "after tools"


class CloseClaim(NamedTuple):
    """Stand behind a claim. Handles failures inside it, where these unwind with the next tick."""

    frame: str = "close claim"


class CloseStep(NamedTuple):
    """Close the open step. Handles failures inside it. `waited`: a tick has passed."""

    waited: bool = False
    frame: str = "close step"


class AfterStep(NamedTuple):
    """Decide at the step's end whether the turn goes on."""

    frame: str = "after step"


class Stopping(NamedTuple):
    """The turn-stopping hook has answered."""

    choice: str
    frame: str = "stopping"


class CloseTurn(NamedTuple):
    """Close the open turn. Handles failures inside it."""

    reported: bool = False
    frame: str = "close turn"


class AfterTurn(NamedTuple):
    """Look for the last time whether the driver goes on."""

    frame: str = "after turn"


class GoIdle(NamedTuple):
    """The driver goes idle."""

    frame: str = "go idle"


class AfterIdle(NamedTuple):
    """Look, in the same tick as the idle status, whether anything is due.

    `latched` was read when the activity ended; it is judged now.
    """

    latched: bool = False
    frame: str = "after idle"


class Converged(NamedTuple):
    """Nothing runs: whoever waited is told."""

    frame: str = "converged"


class MaintenanceDone(NamedTuple):
    """The maintenance task has settled."""

    choice: str
    frame: str = "maintenance done"


class Settle(NamedTuple):
    """Something that a call began has settled; whoever awaits it is told on the next tick.

    `behind` a driver that awaits the last tick of its exit gap: that one goes first.
    """

    call: str
    error: str | None = None
    behind: bool = False
    frame: str = "settle"


class Opened(NamedTuple):
    """A session was opened from a log: by which call, and what its repair appended."""

    by: str
    repaired: tuple[str, ...] = ()
    frame: str = "opened"


class EndDriver(NamedTuple):
    """The end of one driver's frames: an await cuts the stack behind the first of these."""

    frame: str = "end driver"


InboxFrame: TypeAlias = Tell | Listening | Splice | Change | Clear | Context | Opened
CallFrame: TypeAlias = Unlatch | Abort | EndCall | Wake | MaintenanceDone | Converged | Settle
TurnFrame: TypeAlias = (
    Start | OpenTurn | Claim | CloseClaim | CloseTurn | AfterTurn | GoIdle | AfterIdle
)
GateFrame: TypeAlias = Arrive | OpenGate | Suspend | EndDriver | Assembled | Decided | Requested
StepFrame: TypeAlias = EnterStep | Request | Replied | Recovered | CloseStep | AfterStep | Stopping
ToolFrame: TypeAlias = Tools | Commit | ToolDone | AfterTools
Frame: TypeAlias = InboxFrame | CallFrame | TurnFrame | GateFrame | StepFrame | ToolFrame

HANDLERS: Final = frozenset({"end call", "close claim", "close step", "close turn"})
"""Failure is unwinding to the next of these frames, so that boundaries balance by construction."""


HELD: Final = frozenset({"assemble", "pre-step", "provider", "tool", "maintenance"})
"""The gates that the environment answers unless a scenario says otherwise."""


@attrs.frozen(slots=False)
class Session:
    """One session at one moment.

    Only `next_turn`, `next_step` and the status are visible from outside at rest; the rest
    decides what may come next.
    """

    policy: Policy = NOTES
    listeners: tuple[str, ...] = LISTENERS
    next_turn: tuple[Item, ...] = ()
    next_step: tuple[Item, ...] = ()
    held: frozenset[str] = HELD
    """The gates that the environment answers; at the others nobody objects."""
    running: bool = False
    maintenance: bool = False
    cause: str | None = None
    """The first cause of the abort of the activity's signal; None: not aborted (CN-05)."""
    latch: bool = False
    """Under the policy `latch`: a wake came that the activity will not see (WL-01)."""
    waiters: int = 0
    """How many calls wait for idle."""
    disposal: str = ""
    """Empty, begun or done."""
    looked: bool = False
    """The driver has looked for the last time: only a due wake can be seen from here on."""
    turn: Turn = NO_TURN
    """The number of the newest turn."""
    turn_open: bool = False
    """The log has an open turn; without a driver that is one whose end was refused (TB-04)."""
    step: int = 0
    """The number of the last step entered in this turn."""
    batch: tuple[Message, ...] = ()
    """The claimed messages of the open proposal, owned by the turn and by nobody else."""
    outcome: str | None = None
    """What the finished steps of the turn amount to: completed, max-tokens or None."""
    owes: bool = False
    """The last step owes a reply."""
    ending: Ending | None = None
    """How the turn ends, once that is known; kept while idle with messages pending."""
    concluded: bool = False
    """A tool of this step has concluded the turn (TC-09, TC-10)."""
    streamed: bool = False
    """The attempt has streamed visible text (ST-12)."""
    finished: tuple[ToolDone, ...] = ()
    """Answers of tools that run side by side, until their results are committed in order."""
    clear_refused: bool = False
    """A broad cancel of this activity could not clear the lists (A8)."""
    stack: tuple[Frame, ...] = ()
    task: tuple[Frame, ...] = ()
    gates: tuple[str, ...] = ()
    awaited: str = ""
    """The gate that the task awaits; empty when it awaits one tick."""
    settling: tuple[Settle, ...] = ()
    """What has settled and was not told yet."""
    faults: tuple[str, ...] = ()
    """The records whose next append is refused and the events whose next dispatch throws."""
    kept: Kept | None = EMPTY_LOG
    """The fold of what is durable, as of the last flush; None in a run in which nothing dies."""

    def but(self, **changes: object) -> "Session":
        """The session with some fields changed; as `attrs.evolve`, but much faster."""
        new = object.__new__(Session)
        object.__setattr__(new, "__dict__", self.__dict__ | changes)
        return new

    def go(self, *frames: Frame) -> "Session":
        """The session with `frames` put before what is already due."""
        return self.but(stack=frames + self.stack)

    def flushed(self) -> "Session":
        """The session once all that was recorded is durable."""
        return self if self.kept is None else self.but(kept=fold_of(self))

    @property
    def active(self) -> bool:
        """Whether an activity has a signal: a driver or a maintenance task."""
        return self.running or self.maintenance

    @property
    def aborted(self) -> bool:
        """Whether the signal of the activity is aborted."""
        return self.cause is not None

    @property
    def status(self) -> str:
        """The public status: running from the start of a driver until it goes idle (DR-01)."""
        return "running" if self.running else "idle"

    @property
    def pending(self) -> tuple[Item, ...]:
        """All pending items, next-step first."""
        return self.next_step + self.next_turn

    def items(self, target: str) -> tuple[Item, ...]:
        """The list that `target` names."""
        return self.next_turn if target == NEXT_TURN else self.next_step

    def with_items(self, target: str, items: tuple[Item, ...]) -> "Session":
        """The session with the list that `target` names replaced."""
        return self.but(next_turn=items) if target == NEXT_TURN else self.but(next_step=items)

    def with_marks(self, old: tuple[str, ...], new: str) -> "Session":
        """The session with each mark among `old` replaced by `new`, in both lists."""
        return self.but(
            next_turn=tuple(i._replace(mark=new) if i.mark in old else i for i in self.next_turn),
            next_step=tuple(i._replace(mark=new) if i.mark in old else i for i in self.next_step),
        )

    @property
    def listening(self) -> bool:
        """Whether a listener runs right now, so that a call can land inside a delivery."""
        return bool(self.stack) and self.stack[0].frame == "listening"

    @property
    def ready(self) -> bool:
        """Whether something happens on the next tick."""
        resumes = bool(self.task) and self.awaited not in self.gates
        return not self.stack and (resumes or bool(self.settling))

    @property
    def quiescent(self) -> bool:
        """Whether nothing happens until somebody calls or answers a gate."""
        return not self.stack and not self.ready

    @property
    def depth(self) -> int:
        """How many listeners are running inside each other."""
        return sum(frame.frame == "listening" for frame in self.stack)


def fold_of(session: Session) -> Kept:
    """What the session's log amounts to, at rest or while a tool is about to start."""
    due = session.stack + session.task
    tools = [frame for frame in due if isinstance(frame, Tools)]
    commits = [frame for frame in due if isinstance(frame, Commit)]
    started = tuple(call for frame in commits for call in frame.calls)
    started += tuple(call for frame in tools for call in frame.started)
    return Kept(
        tuple(item.message for item in session.next_turn),
        tuple(item.message for item in session.next_step),
        session.turn,
        session.turn_open,
        any(isinstance(frame, CloseStep) for frame in due),
        started + tuple(call for frame in tools for call in frame.calls),
        len(started),
    )


def find(session: Session, message_id: str) -> tuple[str, int] | None:
    """Where a pending message is: next-turn first, then next-step (IN-11)."""
    for target in (NEXT_TURN, NEXT_STEP):
        for index, item in enumerate(session.items(target)):
            if item.message.id == message_id:
                return target, index
    return None


def parked_reason(session: Session) -> str | None:
    """Why an idle session's pending messages do not run; None when nothing is parked.

    The reasons of profile `notes`: stopped, aborted, canceled, quiet, blocked, error, empty, each
    released by any wake; and disposed, released by a resume and then a wake.
    """
    if session.active or not session.pending:
        return None
    if session.disposal:
        return "disposed"
    if session.clear_refused:
        return "canceled"
    kind = session.ending.kind if session.ending else "quiet"
    all_quiet = all(item.mark == QUIET for item in session.pending)
    if kind in ("completed", "max-tokens") or (kind == "aborted" and all_quiet):
        return "quiet"
    return "stopped" if kind == "none" else kind


# --- Canonical form -----------------------------------------------------------------------------

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letter(index: int) -> str:
    """The name of the index-th message of a canonical session: A, B, ..., Z, A1, ..."""
    return LETTERS[index % 26] + (str(index // 26) if index > 25 else "")


ATOMS: Final = frozenset({str, int, bool, type(None)}) | {
    frame
    for frame in get_args(Frame)
    if set(frame.__annotations__.values()) <= {str, bool, int, str | None}
}
"""The types that hold neither a message nor a turn, so that renaming leaves them alone."""


def renamed(value: object, names: dict[str, str], newest: int, private: bool = False) -> object:
    """`value` with message ids renamed by first appearance and turns counted from `newest`.

    `names` maps each id to its new name and is extended with the ids that it does not hold yet;
    with `private` these get names that no session uses.
    """
    kind = type(value)
    if kind in ATOMS or value == ():
        return value
    if kind is Message:
        assert isinstance(value, Message)
        name = names.get(value.id)
        if name is None:
            name = names[value.id] = "~" * private + letter(len(names))
        return named(value, name)
    if kind is Turn:
        assert isinstance(value, Turn)
        return Turn(int(value) - newest)
    assert isinstance(value, tuple), f"{kind.__name__} has no canonical form"
    parts = [
        part if type(part) in ATOMS else renamed(part, names, newest, private) for part in value
    ]
    return tuple.__new__(type(value), parts)


@lru_cache(maxsize=4096)
def named(message: Message, name: str) -> Message:
    """The message under another id; a text that is its id goes with it."""
    if message.blocks == (Block("text", message.id),):
        return message._replace(id=name, blocks=(Block("text", name),))
    return message._replace(id=name)


def canonical(session: Session) -> tuple[Session, dict[str, str]]:
    """The session that stands for all that differ from it in message ids and turn numbers only.

    Returns it with the new name of each id. Ids are named by first appearance in a fixed walk over
    the fields, the newest turn is 0, and dead ids are forgotten. That this is a congruence is shown
    by tests that compare explorations with and without it.
    """
    names: dict[str, str] = {}
    newest = int(session.turn)
    changes: dict[str, object] = {"turn": NO_TURN}
    for field in ("next_step", "next_turn", "batch", "finished", "stack", "task", "kept"):
        value = getattr(session, field)
        if value:
            changes[field] = renamed(value, names, newest)
    if not session.turn_open:
        changes["step"] = 0
    return session.but(**changes), names
