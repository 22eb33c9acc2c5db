"""A toy agent loop: the part that you replace by your own.

It takes prompts (`followup`), steering (`steer`, `inject`) and `cancel`, and waits at three gates
for somebody else: the assembly of the prompt, the pre-step decision, and the provider. Between two
waits it runs at once, in the stack of whoever called it: there is no thread and no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
Listener = Callable[..., None]

NEXT_TURN, NEXT_STEP = "next-turn", "next-step"

QUIET = "quiet"  # waits until somebody else brings a step about
WAKING = "waking"  # the driver that runs will see it
DUE = "due"  # asks for a driver that nobody has started yet


class Refused(Exception):
    """Why the loop did not do what it was asked; the text is a code of the contract."""


@dataclass(eq=False)
class Item:
    """One pending message, and what it asks of the driver."""

    message: Message
    mark: str


class Loop:
    """One session: two lists of pending messages, and at most one driver that works them off."""

    def __init__(self, listeners: list[Listener], at_gate: Listener) -> None:
        """An idle loop. Every record and event goes to each listener, every gate to `at_gate`."""
        self.listeners = listeners
        self.at_gate = at_gate
        self.lists: dict[str, list[Item]] = {NEXT_TURN: [], NEXT_STEP: []}
        self.status = "idle"
        self.cause: str | None = None  # who aborted what runs; the first one counts
        self.gate: str | None = None  # where the driver waits
        self.ready: Callable[[], None] | None = None  # what it does on the next tick
        self.leaving = False  # it has looked at the lists for the last time
        self.recording = False  # while a record is told, nothing else can be recorded
        self.turn = self.step = 0
        self.batch: list[Message] = []  # claimed, and owned by the open turn
        self.outcome: str | None = None  # what the steps of this turn amount to
        self.owes = False  # the last step owes a reply

    # -- What a user may ask ---------------------------------------------------------------------

    def followup(self, message: Message) -> None:
        """Queue a prompt for a turn of its own, and wake."""
        self._send(NEXT_TURN, message)

    def steer(self, message: Message) -> None:
        """Queue a message for the next step, and wake."""
        self._send(NEXT_STEP, message)

    def inject(self, message: Message) -> None:
        """Queue a message for the next step, whoever brings it about."""
        self._insert(NEXT_STEP, Item(message, QUIET))

    def cancel(self, cause: str, mode: str) -> None:
        """Abort what runs; with `drop`, withdraw first what is pending now."""
        was_running, doomed = self.status == "running", self._pending()
        refused = mode == "drop" and bool(doomed) and self.recording
        if refused:
            for item in doomed:
                item.mark = QUIET
        elif mode == "drop":
            self._withdraw(doomed)
        if was_running and self.cause is None:
            self.cause = cause
        if refused:
            raise Refused("append-refused")

    # -- What the environment does ---------------------------------------------------------------

    def answer(self, gate: str, choice: str, messages: list[Message] | None) -> bool:
        """Answer the open gate; the driver goes on with the next tick. False when it is closed."""
        if gate != self.gate:
            return False
        self.gate = None
        go_on: dict[str, Callable[[], None]] = {
            "assemble": lambda: self._assembled(choice),
            "pre-step": lambda: self._decided(choice, messages),
            "provider": lambda: self._replied(choice),
        }
        self.ready = go_on[gate]
        return True

    def tick(self) -> bool:
        """Let the driver work up to its next wait. False when it has nothing to do."""
        go_on, self.ready = self.ready, None
        if go_on is None:
            return False
        go_on()
        return True

    # -- The lists -------------------------------------------------------------------------------

    def _pending(self) -> list[Item]:
        return self.lists[NEXT_STEP] + self.lists[NEXT_TURN]

    def _send(self, target: str, message: Message) -> None:
        """Insert and wake. What it asks for is judged now: a listener may change what runs."""
        if self.cause is not None:
            target = NEXT_TURN  # the step that it was meant for will not come
        is_seen = self.status == "running" and self.cause is None and not self.leaving
        self._insert(target, Item(message, WAKING if is_seen else DUE))
        if self.status == "idle":
            self._start()

    def _insert(self, target: str, item: Item) -> None:
        """Put one item behind the last of a list."""
        if any(item.message["id"] == each.message["id"] for each in self._pending()):
            raise Refused("duplicate-id")
        if self.recording:
            raise Refused("append-refused")
        self._splice(target, len(self.lists[target]), 0, [item], None)
        self._tell("agent/inbox/inserted", message=item.message)

    def _withdraw(self, doomed: list[Item]) -> None:
        """Remove these items, run by run; what listeners add meanwhile stays."""
        for target in (NEXT_STEP, NEXT_TURN):
            while run := [at for at, each in enumerate(self.lists[target]) if each in doomed]:
                count = sum(at == run[0] + offset for offset, at in enumerate(run))
                for item in self._splice(target, run[0], count, [], "canceled"):
                    self._tell("agent/inbox/discarded", message=item.message)

    def _splice(
        self, target: str, start: int, removed: int, items: list[Item], outcome: str | None
    ) -> list[Item]:
        """Record one edit of a list, then make it. Returns what was removed."""
        inserted = [each.message for each in items]
        edit = {"target": target, "start": start, "removed": removed, "inserted": inserted}
        self._record("agent/inbox/spliced", **edit, outcome=outcome)
        gone = self.lists[target][start : start + removed]
        self.lists[target][start : start + removed] = items
        return gone

    # -- The driver: from a wake to idle ---------------------------------------------------------

    def _start(self) -> None:
        """Begin to work; everything that was due has its driver now."""
        for item in self._pending():
            item.mark = WAKING if item.mark == DUE else item.mark
        self.status = "running"
        self._tell("agent/status", status="running")
        if self.cause is None:
            self._open_turn()
        else:
            self._go_idle()

    def _open_turn(self) -> None:
        self.turn, self.step = self.turn + 1, 0
        self.outcome, self.owes = None, False
        self._record("turn/start", turn=self.turn)
        self._claim(1)

    def _claim(self, prompts: int) -> None:
        """Take all of next-step and that many prompts; from now on the turn owns them."""
        steering, head = len(self.lists[NEXT_STEP]), len(self.lists[NEXT_TURN][:prompts])
        claimed = []
        for target, count in ((NEXT_STEP, steering), (NEXT_TURN, head)):
            if count:
                claimed += self._splice(target, 0, count, [], None)
        self.batch = [item.message for item in claimed]
        for message in self.batch:
            self._tell("agent/inbox/claimed", message=message, turn=self.turn)
        self._wait("assemble", turn=self.turn, step=self.step + 1)

    def _assembled(self, choice: str) -> None:
        if self.cause is not None:
            self._end_turn("aborted")
        elif choice == "failed":
            self._end_turn("error", "assembly failed")
        else:
            self._wait("pre-step", turn=self.turn, step=self.step + 1, messages=self.batch)

    def _decided(self, choice: str, messages: list[Message] | None) -> None:
        """An abort wins over any decision, and what was claimed never goes back."""
        entering = self.batch if messages is None else messages
        if self.cause is not None:
            self._end_turn("aborted")
        elif choice == "raise":
            self._end_turn("error", "pre-step raised")
        elif choice == "reject":
            self._end_turn("blocked")
        elif not entering and self.step == 0:
            self._end_turn("empty")
        elif not entering and not self.owes:
            self._end_turn(self.outcome or "completed")
        else:
            self._enter(entering)

    def _enter(self, messages: list[Message]) -> None:
        self.step += 1
        self._record("step/start", turn=self.turn, step=self.step)
        for message in messages:
            self._record("user/message", message=message)
        if self.cause is None:
            self._wait("provider", turn=self.turn, step=self.step)
        else:
            self._end_step()

    def _replied(self, choice: str) -> None:
        failed = choice in ("error", "cut")
        if self.cause is None and not failed:
            if self.outcome != "max-tokens":  # once truncated, always truncated
                self.outcome = {"done": "completed", "max-tokens": "max-tokens"}.get(choice)
            self.owes = choice == "owes"
            reply = {"turn": self.turn, "step": self.step, "calls": [], "interrupted": False}
            self._record("assistant/message", **reply)
        self._end_step("provider failed" if failed else None)

    def _end_step(self, error: str | None = None) -> None:
        self._record("step/end", turn=self.turn, step=self.step)
        if self.cause is not None:
            self._end_turn("aborted")
        elif error is not None:
            self._end_turn("error", error)
        elif self.owes or self.lists[NEXT_STEP]:
            self._claim(0)
        else:
            self._end_turn(self.outcome or "completed")

    def _end_turn(self, ending: str, error: str | None = None) -> None:
        """Close the turn; go on with what is pending only if it ended well."""
        if error is not None:
            self._tell("agent/error", turn=self.turn, step=self.step, error=error)
        reason = "completed" if ending == "empty" else ending
        cause = self.cause if ending == "aborted" else None
        self._record("turn/end", turn=self.turn, reason=reason, cause=cause, error=error)
        if ending in ("completed", "max-tokens") and self._pending():
            self.cause = None
            self._open_turn()
            return
        for item in self._pending():
            if ending == "aborted" and item.mark == WAKING:
                item.mark = DUE  # its driver was aborted: it is owed another one
        self.leaving = True
        self.ready = self._go_idle

    def _go_idle(self) -> None:
        """Idle; but what came too late for this driver starts another one in the same tick."""
        self.status, self.cause, self.leaving = "idle", None, False
        self._tell("agent/status", status="idle")
        if self.status == "idle" and any(item.mark == DUE for item in self._pending()):
            self._start()

    # -- What is told ----------------------------------------------------------------------------

    def _wait(self, gate: str, **values: Any) -> None:
        """Open a gate; nothing more happens until it is answered."""
        self.gate = gate
        self.at_gate(gate, **values)

    def _record(self, name: str, **values: Any) -> None:
        """Tell a durable record; until all listeners have it, no other can be made."""
        self.recording = True
        self._tell(name, **values)
        self.recording = False

    def _tell(self, name: str, **values: Any) -> None:
        for listener in self.listeners:
            listener(name, **values)
