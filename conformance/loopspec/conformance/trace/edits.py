"""Single edits of a log: each is refused with a rule and a record, or legal for a reason.

Theory. An edit drops a record, writes it twice, swaps it with its neighbour, or changes one member
of it. Records are numbered again, so that no gap gives an edit away. Many edits of a log are
another log that a loop may have written: `LEGAL` says of which kinds, and why. An edit that is
taken and fits none of them was missed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from loopspec.conformance.edits import variants
from loopspec.conformance.trace.acceptor import Acceptor
from loopspec.conformance.trace.judging import judge_records

__all__ = ["EDITED", "LEGAL", "LogEdit", "LogEdits", "read_records", "try_log_edits"]

SPLICED: Final = "agent/inbox/spliced"
BOUNDARIES: Final = frozenset({"turn/start", "turn/end", "step/start", "step/end"})
EDITED: Final = BOUNDARIES | {SPLICED, "user/message"}
"""The records that are edited."""

ORDERED: Final = EDITED | {"assistant/message", "session/end-seed", "session"}
"""The records whose order the table knows."""

Rows = Sequence[dict[str, Any]]


@attrs.frozen
class LogEdit:
    """One edit: of which record, how, and the records then. `what` is a member or a neighbour."""

    index: int
    name: str
    kind: str
    what: str
    rows: Rows

    @property
    def label(self) -> str:
        """What kind of edit it is."""
        return f"{self.kind} {self.name}" + (f" {self.what}" if self.what else "")


@attrs.define
class LogEdits:
    """What came of the edits of some logs, counted by label."""

    logs: int = 0
    refused: Counter[str] = attrs.field(factory=Counter)
    legal: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    rules: Counter[str] = attrs.field(factory=Counter)
    missed: list[tuple[str, int, str]] = attrs.field(factory=list)

    @property
    def tried(self) -> int:
        """How many edits were tried."""
        return self.refused.total() + self.legal.total() + len(self.missed)


NUMBERS: Final = ("seq", "seq0")
"""Where a record has its number, and a row of packed chunks that of its first."""


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a small log without their numbers."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [{key: value for key, value in row.items() if key not in NUMBERS} for row in rows]


def changed_member(old: Any, new: Any, path: str = "") -> str:  # noqa: ANN401 - JSON
    """Which member of a record an edit has changed."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                return f"{path}.{key}".lstrip(".")
            if new[key] != value:
                return changed_member(value, new[key], f"{path}.{key}")
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for mine, theirs in zip(old, new, strict=True):
            if mine != theirs:
                return changed_member(mine, theirs, f"{path}[]")
    return path.lstrip(".")


def edits_of(rows: Rows) -> Iterator[LogEdit]:
    """Every single edit of the records that are edited."""
    for index, row in enumerate(rows):
        name = row["type"]
        if name not in EDITED:
            continue
        before, behind = rows[:index], rows[index + 1 :]
        yield LogEdit(index, name, "drop", "", [*before, *behind])
        yield LogEdit(index, name, "duplicate", "", [*before, row, row, *behind])
        if behind:
            swapped = [*before, behind[0], row, *behind[1:]]
            yield LogEdit(index, name, "swap", str(behind[0]["type"]), swapped)
        judged = {key: row[key] for key in ("type", "data", "surfaceOp") if key in row}
        for other in variants(judged):
            what = changed_member(judged, other)
            yield LogEdit(index, name, "change", what, [*before, other, *behind])


# --- Which edits are legal ----------------------------------------------------------------------


class Facts:
    """What a log says of its messages, for telling which edits matter to nothing."""

    def __init__(self, rows: Rows) -> None:
        """Read the ids that are queued and those that enter."""
        self.rows = rows
        splices = [row["data"] for row in rows if row["type"] == SPLICED]
        self.queued = {each["id"] for data in splices for each in data["inserted"]}
        users = [row["data"] for row in rows if row["type"] == "user/message"]
        self.entered = {data.get("id") for data in users}
        self.of_users = {
            each["id"]
            for data in [*({"inserted": [one]} for one in users), *splices]
            for each in data["inserted"]
            if "id" in each and (each.get("source") or {}).get("kind") == "user"
        }
        self.last = max(index for index, row in enumerate(rows) if row["type"] in ORDERED)

    def inserts_what_enters(self, index: int) -> bool:
        """Whether a splice inserts a message that enters later."""
        return any(each["id"] in self.entered for each in self.rows[index]["data"]["inserted"])

    def is_context(self, index: int) -> bool:
        """Whether a message was never queued."""
        return self.rows[index]["data"].get("id") not in self.queued


When = Callable[[LogEdit, Facts], bool]


def is_edit(kind: str, name: str, what: str = "") -> When:
    """Whether an edit is of a kind, of a record, and of a member that begins with `what`."""

    def when(edit: LogEdit, _: Facts) -> bool:
        return edit.kind == kind and edit.name == name and edit.what.startswith(what)

    return when


def ends_earlier(edit: LogEdit, facts: Facts) -> bool:
    """Whether the last record that the table orders is taken away."""
    gone = edit.kind == "drop" or (edit.kind == "change" and edit.what == "type")
    return gone and edit.index == facts.last


def enters_less(edit: LogEdit, facts: Facts) -> bool:
    """Whether a message does not enter."""
    gone = edit.kind == "drop" or (edit.kind == "change" and edit.what in ("type", "surfaceOp"))
    return edit.name == "user/message" and gone


def changes_a_context(edit: LogEdit, facts: Facts) -> bool:
    """Whether a message is changed that was never queued."""
    return edit.name == "user/message" and edit.kind == "change" and facts.is_context(edit.index)


def changes_what_never_enters(edit: LogEdit, facts: Facts) -> bool:
    """Whether a queued message is changed that never enters."""
    inside = edit.name == SPLICED and edit.what.startswith("data.inserted[]")
    return inside and not facts.inserts_what_enters(edit.index)


def ends_in_the_open_turn(edit: LogEdit, facts: Facts) -> bool:
    """Whether a turn is left open and only calls follow, up to the end."""
    gone = edit.kind == "drop" or (edit.kind == "change" and edit.what == "type")
    behind = {row["type"] for row in facts.rows[edit.index + 1 :]} & ORDERED
    return edit.name == "turn/end" and gone and behind <= {SPLICED}


def ends_in_front_of_a_turn(edit: LogEdit, facts: Facts) -> bool:
    """Whether a claim is left without its turn at the end, as the old order has it."""
    gone = edit.kind == "drop" or (edit.kind == "change" and edit.what == "type")
    behind = {row["type"] for row in facts.rows[edit.index + 1 :]} & ORDERED
    return edit.name == "turn/start" and gone and behind <= {SPLICED}


def changes_what_is_replaced(edit: LogEdit, facts: Facts) -> bool:
    """Whether a queued message is changed that an edit takes out before it enters."""
    if edit.name != SPLICED or not edit.what.startswith("data.inserted[]"):
        return False
    mine = {each["id"] for each in facts.rows[edit.index]["data"]["inserted"]}
    later = [row["data"] for row in facts.rows[edit.index + 1 :] if row["type"] == SPLICED]
    return any(mine & {each["id"] for each in data["inserted"]} for data in later)


def edits_otherwise(edit: LogEdit, facts: Facts) -> bool:
    """Whether an edit of a list is made twice, or at another place, and all that follows fits."""
    placed = edit.what in ("data.start", "data.removedCount")
    again = edit.kind == "duplicate" or (edit.kind == "change" and placed)
    return edit.name == SPLICED and again and "outcome" in facts.rows[edit.index]["data"]


def renames_what_is_no_users(edit: LogEdit, facts: Facts) -> bool:
    """Whether a message that no user has sent gets another id where it is queued or enters."""
    data = facts.rows[edit.index]["data"]
    if edit.name == SPLICED and edit.what == "data.inserted[].id":
        return not {each["id"] for each in data["inserted"]} & facts.of_users
    return (
        edit.name == "user/message" and edit.what == "data.id" and data["id"] not in facts.of_users
    )


def drops_what_nothing_mentions(edit: LogEdit, facts: Facts) -> bool:
    """Whether an insertion is taken away that nothing removes or enters later."""
    gone = edit.kind == "drop" or (edit.kind == "change" and edit.what == "type")
    return edit.name == SPLICED and gone and not facts.inserts_what_enters(edit.index)


def swaps_with(*names: str) -> When:
    """Whether a record is swapped with one of these."""

    def when(edit: LogEdit, _: Facts) -> bool:
        return edit.kind == "swap" and {edit.name, edit.what} <= {*names}

    return when


def swaps_with_what_is_not_ordered(edit: LogEdit, _: Facts) -> bool:
    """Whether the neighbour is a record that no rule orders."""
    return edit.kind == "swap" and edit.what not in ORDERED


LEGAL: Final[tuple[tuple[When, str], ...]] = (
    (ends_earlier, "a log may end anywhere"),
    (ends_in_the_open_turn, "a log may end in an open turn, behind a call (RT-18)"),
    (ends_in_front_of_a_turn, "a log of the old order may end behind a claim"),
    (changes_what_is_replaced, "the message was replaced before it could enter (IN-12)"),
    (edits_otherwise, "a list may be edited again, or elsewhere (IN-11, IN-12, IN-14)"),
    (enters_less, "a decision may enter fewer messages than were claimed (PS-20)"),
    (swaps_with("user/message"), "a decision may enter messages in another order (PS-20)"),
    (changes_a_context, "a message that was never queued is compared with nothing (PS-20)"),
    (changes_what_never_enters, "a message that never enters is compared with nothing (IN-01)"),
    (
        renames_what_is_no_users,
        "a message that no user has sent may be claimed and not enter, or enter unqueued (PS-20)",
    ),
    (drops_what_nothing_mentions, "no later record depends on this insertion (RT-02)"),
    (
        is_edit("change", "turn/end", "data.reason.kind"),
        "kinds of endings are open: a plug-in may add one",
    ),
    (
        is_edit("change", "turn/end", "data.reason.reason"),
        "older logs name no cause, or name it as a text (TB-11)",
    ),
    (is_edit("change", "turn/end", "data.reason.error"), "what an error says is opaque (TB-09)"),
    (swaps_with(SPLICED), "edits of two lists have no order between them (SP-07)"),
    (swaps_with(SPLICED, "turn/end"), "a call may come before or behind the end of a turn (RT-18)"),
    (swaps_with(SPLICED, "step/end"), "a call may come before or behind the end of a step (RT-18)"),
    (
        swaps_with(SPLICED, "assistant/message", "step/start", "user/message"),
        "a call may come at any time while a step is open (RT-18)",
    ),
    (
        swaps_with(SPLICED, "session/end-seed", "turn/start"),
        "a call may come before or behind a restart, a cut or a wake (RT-18)",
    ),
    (swaps_with_what_is_not_ordered, "no rule orders these two records"),
)
"""When an edit that was taken gives another legal log, and why."""


def legal_reason(edit: LogEdit, facts: Facts) -> str | None:
    """Why an edit that was taken is legal; None when it was missed."""
    if edit.rows == facts.rows:
        return "it says the same"
    return next((reason for when, reason in LEGAL if when(edit, facts)), None)


def try_log_edits(name: str, rows: Rows, acceptor: Acceptor, edits: LogEdits) -> None:
    """Try every single edit of a log that holds, and count what came of it."""
    facts = Facts(rows)
    edits.logs += 1
    for edit in edits_of(rows):
        found = judge_records(edit.rows, acceptor)
        if found.verdict in ("broken", "unknown"):
            edits.refused[edit.label] += 1
            edits.rules[" ".join(found.finding.rules) if found.finding else "unreadable"] += 1
            continue
        reason = legal_reason(edit, facts)
        if reason is None:
            edits.missed.append((name, edit.index + 1, edit.label))
        else:
            edits.legal[edit.label, reason] += 1
