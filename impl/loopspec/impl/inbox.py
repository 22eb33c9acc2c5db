"""The inbox: two lists of pending messages, changed only by splices that are on record.

`Pending` is the machinery; the driver owns it. `Inbox` is the face that plug-ins get: it has no
way to claim. Each mutation goes in one order (LN-01): validate, append the record, change the
list, tell of each discarded message, tell of each inserted one. So record listeners see the
list as it was (LN-02), live listeners as it is (LN-03).

Each pending item has a mark, which is not on record and is gone after a restart:

- `QUIET`: nobody asked for a turn on its account;
- `WAKING`: sent to wake, and a driver was at work or was started since;
- `DUE`: sent to wake, and no driver was started for it yet.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Final

import attrs

from loopspec.impl.bus import Bus
from loopspec.impl.errors import BadArgument, DuplicateMessageId, LogUnreadable
from loopspec.impl.log import SessionLog
from loopspec.impl.messages import Message
from loopspec.impl.payloads import Claimed, Discarded, Inserted
from loopspec.impl.records import NEXT_STEP, NEXT_TURN, TARGETS, InboxSpliced, Record

CANCELED: Final = "canceled"


class Mark(enum.Enum):
    """Whether an item was sent to wake, and whether a driver was started for it."""

    QUIET = "quiet"
    WAKING = "waking"
    DUE = "due"


@attrs.define(eq=False)
class Item:
    """One insertion: the message and its mark. Two insertions are never the same item."""

    message: Message
    mark: Mark


class Pending:
    """Both lists with their marks; every change is recorded first."""

    def __init__(
        self, log: SessionLog, bus: Bus, records: Iterable[Record], no_op: str = "answers"
    ) -> None:
        """Restore both lists from the log, all quiet; nobody is told (ID-09).

        `no_op` is the policy's answer to a change of nothing inside a record's listener.
        """
        next_turn, next_step = fold_inbox(records)
        self._log = log
        self._bus = bus
        self._no_op = no_op
        self._lists: dict[str, tuple[Item, ...]] = {
            NEXT_TURN: tuple(Item(message, Mark.QUIET) for message in next_turn),
            NEXT_STEP: tuple(Item(message, Mark.QUIET) for message in next_step),
        }

    def messages(self, target: str) -> tuple[Message, ...]:
        """Return one list."""
        return tuple(item.message for item in self._lists[_target(target)])

    @property
    def has_pending(self) -> bool:
        """True when either list holds a message (IN-09)."""
        return any(self._lists.values())

    @property
    def has_due(self) -> bool:
        """True when a driver is owed to some item."""
        return any(item.mark is Mark.DUE for item in self.items())

    def items(self) -> tuple[Item, ...]:
        """Return what is pending now, next-step first."""
        return (*self._lists[NEXT_STEP], *self._lists[NEXT_TURN])

    def pay(self) -> None:
        """A driver was started: what was due is waking."""
        self._remark(self.items(), Mark.DUE, Mark.WAKING)

    def renew(self) -> None:
        """The turn was aborted: what was waking is due again."""
        self._remark(self.items(), Mark.WAKING, Mark.DUE)

    def quieten(self, items: Iterable[Item]) -> None:
        """Make these items quiet."""
        for item in items:
            item.mark = Mark.QUIET

    def add(self, target: str, message: Message, mark: Mark) -> None:
        """Append one message at the tail of a list (RT-02)."""
        end = len(self._lists[_target(target)])
        self._splice(target, end, 0, (Item(message, mark),))

    def splice(
        self, target: str, start: float, delete_count: float, messages: tuple[Message, ...]
    ) -> tuple[Message, ...]:
        """Edit one list, quietly, with JavaScript's tolerance for coordinates (SP-01, SP-02)."""
        length = len(self._lists[_target(target)])
        first = normal_start(start, length)
        count = normal_count(delete_count, length - first)
        items = tuple(Item(message, Mark.QUIET) for message in messages)
        return self._splice(target, first, count, items)

    def replace(self, message_id: str, message: Message) -> bool:
        """Put a message in the place of a pending one; it inherits the mark (IN-12)."""
        found = self._find(message_id)
        if found is None:
            return self._change_nothing()
        target, index, item = found
        self._splice(target, index, 1, (Item(message, item.mark),))
        return True

    def remove(self, message_id: str) -> bool:
        """Take a pending message out, looking in next-turn first (IN-11)."""
        found = self._find(message_id)
        if found is None:
            return self._change_nothing()
        target, index, _ = found
        self._splice(target, index, 1, ())
        return True

    def clear(self, doomed: Iterable[Item]) -> None:
        """Take out exactly these items, next-step first, in as few splices as possible (IN-14).

        Positions are looked up anew for each splice, since listeners of the one before may have
        changed the lists. What they insert, replacements included, is not removed (A11).
        """
        removing = frozenset(doomed)
        for target in (NEXT_STEP, NEXT_TURN):
            while run := _first_run(self._lists[target], removing):
                self._splice(target, run.start, len(run), ())

    def clear_live(self) -> None:
        """Empty both lists as each stands when its turn comes: the policy value `live` (RE-06)."""
        if self._lists[NEXT_STEP]:
            self._splice(NEXT_STEP, 0, len(self._lists[NEXT_STEP]), ())
        if self._lists[NEXT_TURN]:
            self._splice(NEXT_TURN, 0, len(self._lists[NEXT_TURN]), ())

    def claim(self, turn: int, *, at_turn_boundary: bool) -> tuple[Message, ...]:
        """Take the batch out, for the open turn to own from now on.

        All of next-step and, at a turn boundary, the head of next-turn (CL-01, CL-02): pure
        deletions without an outcome, then one `claimed` for each message (CL-04, CL-05).
        """
        heads = 1 if at_turn_boundary else 0
        batch: list[Message] = []
        for target, count in ((NEXT_STEP, None), (NEXT_TURN, heads)):
            taken = self._lists[target][:count]
            if taken:
                self._log.append(
                    "agent/inbox/spliced", InboxSpliced(target, 0, len(taken), ()).to_json()
                )
                self._lists[target] = self._lists[target][len(taken) :]
                batch.extend(item.message for item in taken)
        for message in batch:
            self._bus.emit("agent/inbox/claimed", Claimed(message, turn))
        return tuple(batch)

    def _splice(
        self, target: str, start: int, count: int, inserted: tuple[Item, ...]
    ) -> tuple[Message, ...]:
        before = self._lists[target]
        removed = before[start : start + count]
        after = (*before[:start], *inserted, *before[start + count :])
        self._need_unique_ids(target, after)
        if not removed and not inserted:
            self._change_nothing()
            return ()
        record = InboxSpliced(
            target=target,
            start=start,
            removed_count=len(removed),
            inserted=tuple(item.message for item in inserted),
            outcome=CANCELED if removed else None,
        )
        self._log.append("agent/inbox/spliced", record.to_json())
        self._lists[target] = after
        for item in removed:
            self._bus.emit("agent/inbox/discarded", Discarded(item.message))
        for item in inserted:
            self._bus.emit("agent/inbox/inserted", Inserted(item.message))
        return tuple(item.message for item in removed)

    def _change_nothing(self) -> bool:
        """Return False; raise `AppendRefused` where even a change of nothing is refused (RE-01)."""
        if self._no_op == "refused":
            self._log.refuse_while_telling("agent/inbox/spliced")
        return False

    def _need_unique_ids(self, target: str, after: tuple[Item, ...]) -> None:
        other = NEXT_STEP if target == NEXT_TURN else NEXT_TURN
        seen: set[str] = set()
        for item in (*self._lists[other], *after):
            if item.message.id in seen:
                msg = f"a message with the id {item.message.id!r} is pending already."
                raise DuplicateMessageId(msg, "use another id, or replace the pending message.")
            seen.add(item.message.id)

    def _find(self, message_id: str) -> tuple[str, int, Item] | None:
        for target in (NEXT_TURN, NEXT_STEP):
            for index, item in enumerate(self._lists[target]):
                if item.message.id == message_id:
                    return target, index, item
        return None

    def _remark(self, items: Iterable[Item], old: Mark, new: Mark) -> None:
        for item in items:
            if item.mark is old:
                item.mark = new


class Inbox:
    """The pending messages as plug-ins may see and change them; insertions here wake nobody."""

    __slots__ = ("__clears", "__pending")

    def __init__(self, pending: Pending, clears: str = "pending") -> None:
        """Show the given lists; `clears` is the policy's answer to what a clear removes."""
        self.__pending = pending
        self.__clears = clears

    @property
    def next_turn(self) -> tuple[Message, ...]:
        """The list that gives one message to each turn, as it is now."""
        return self.__pending.messages(NEXT_TURN)

    @property
    def next_step(self) -> tuple[Message, ...]:
        """The list that the next boundary takes whole, as it is now."""
        return self.__pending.messages(NEXT_STEP)

    @property
    def has_pending(self) -> bool:
        """True when either list holds a message."""
        return self.__pending.has_pending

    def append(self, target: str, message: Message) -> None:
        """Insert at the tail of a list; raises `DuplicateMessageId` or `AppendRefused`."""
        self.__pending.splice(target, math.inf, 0, (_message(message),))

    def prepend(self, target: str, message: Message) -> None:
        """Insert at the head of a list; raises `DuplicateMessageId` or `AppendRefused`."""
        self.__pending.splice(target, 0, 0, (_message(message),))

    def splice(
        self, target: str, start: float, delete_count: float, *messages: Message
    ) -> tuple[Message, ...]:
        """Edit a list and return the removed messages; an edit without effect leaves no record.

        Coordinates are cut to the list: a negative start counts from the end, infinities and
        not-a-number are accepted (SP-01, SP-02). Raises `DuplicateMessageId`, `AppendRefused`.
        """
        checked = tuple(_message(message) for message in messages)
        return self.__pending.splice(target, start, delete_count, checked)

    def replace(self, message_id: str, message: Message) -> bool:
        """Edit a pending message in place, in either list; False when it is not pending."""
        return self.__pending.replace(message_id, _message(message))

    def remove(self, message_id: str) -> bool:
        """Discard a pending message of either list; False when it is not pending."""
        return self.__pending.remove(message_id)

    def clear(self) -> None:
        """Discard what is pending now; what listeners add meanwhile stays (A11)."""
        if self.__clears == "live":
            self.__pending.clear_live()
        else:
            self.__pending.clear(self.__pending.items())


def fold_inbox(records: Iterable[Record]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Fold splice records to (next_turn, next_step) (IN-02).

    Raises `LogUnreadable` naming the first record that does not fit what came before (ID-08).
    """
    lists: dict[str, tuple[Message, ...]] = {NEXT_TURN: (), NEXT_STEP: ()}
    for record in records:
        if record.type != "agent/inbox/spliced":
            continue
        splice = InboxSpliced.from_json(record.data)
        before = lists[splice.target]
        end = splice.start + splice.removed_count
        if end > len(before):
            msg = f"record {record.seq} removes up to {end} of {len(before)} {splice.target}."
            raise LogUnreadable(msg)
        lists[splice.target] = (*before[: splice.start], *splice.inserted, *before[end:])
        ids = [message.id for pending in lists.values() for message in pending]
        if len(set(ids)) != len(ids):
            msg = f"record {record.seq} makes an id pending twice."
            raise LogUnreadable(msg)
    return lists[NEXT_TURN], lists[NEXT_STEP]


def normal_start(start: float, length: int) -> int:
    """Cut a start to 0..length: whole, negatives from the end, not-a-number is 0 (SP-01)."""
    cut = _whole(start, "start", length)
    return max(0, length + cut) if cut < 0 else min(cut, length)


def normal_count(count: float, most: int) -> int:
    """Cut a delete count to 0..most; not-a-number is 0 (SP-02)."""
    return max(0, min(_whole(count, "delete_count", most), most))


def _whole(value: float, name: str, most: int) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool):
        msg = f"{name} must be a number, not {value!r}."
        raise BadArgument(msg)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return most if value > 0 else -most - 1
    return math.trunc(value)


def _first_run(items: tuple[Item, ...], removing: frozenset[Item]) -> range:
    """Return the positions of the first items in a row that are to be removed; maybe none."""
    start = next((index for index, item in enumerate(items) if item in removing), len(items))
    end = start
    while end < len(items) and items[end] in removing:
        end += 1
    return range(start, end)


def _target(target: str) -> str:
    if target not in TARGETS:
        msg = f"target must be one of {', '.join(TARGETS)}, not {target!r}."
        raise BadArgument(msg)
    return target


def _message(message: object) -> Message:
    if not isinstance(message, Message):
        msg = f"a message must be a Message, not a {type(message).__name__}."
        raise BadArgument(msg)
    return message
