"""Faults of whole logs: what a damaged tool, a careless merge or a wrong loop may leave behind.

Each fault is a function that yields copies of a log with the fault at one place after the other.
Records are numbered again where the fault is not about numbers, so that no gap gives it away.
`LEGAL` says when a copy is another log that a loop may have written, and why; whatever else is
taken was missed.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import attrs

Row = dict[str, Any]
Rows = Sequence[Row]
SPLICED: Final = "agent/inbox/spliced"
REASONS: Final = ("completed", "max-tokens", "blocked", "aborted", "error", "interrupted", "forked")
OTHER: Final[Row] = {"type": "user/message", "surfaceOp": "append"}


@attrs.frozen
class Fault:
    """One damaged copy: the kind of its fault, the record that it is about, what was changed."""

    kind: str
    index: int
    rows: Rows
    what: str = ""


Kind = Callable[[Rows], Iterator[Fault]]
KINDS: Final[dict[str, Kind]] = {}


def fault(make: Kind) -> Kind:
    """Register a kind of fault under the name of its function."""
    KINDS[make.__name__.replace("_", "-")] = make
    return make


def data(row: Row) -> Row:
    """The data of a record."""
    found: Row = row.get("data") or {}
    return found


def is_claim(row: Row) -> bool:
    """Whether a record is a claim."""
    told = data(row)
    removes = row["type"] == SPLICED and told.get("removedCount", 0) > 0
    return removes and not told["inserted"] and "outcome" not in told


def places(rows: Rows, *names: str) -> list[int]:
    """Where records of these types stand."""
    return [index for index, row in enumerate(rows) if row["type"] in names]


def changed(rows: Rows, index: int, **members: Any) -> list[Row]:  # noqa: ANN401 - JSON
    """A copy in which the data of one record has other members."""
    row = copy.deepcopy(rows[index])
    row["data"].update(members)
    return [*rows[:index], row, *rows[index + 1 :]]


def moved(rows: Rows, index: int, to: int) -> list[Row]:
    """A copy in which one record stands behind the record `to`."""
    row, left = rows[index], [*rows[:index], *rows[index + 1 :]]
    to -= to > index
    return [*left[: to + 1], row, *left[to + 1 :]]


def turns_of(rows: Rows) -> list[tuple[int, int]]:
    """The first and the last record of each closed turn."""
    found = []
    for begin in places(rows, "turn/start"):
        number = data(rows[begin])["turn"]
        ends = [i for i in places(rows, "turn/end") if data(rows[i])["turn"] == number]
        found += [(begin, end) for end in ends[:1]]
    return found


# --- Claims -------------------------------------------------------------------------------------


@fault
def claim_behind_its_turn(rows: Rows) -> Iterator[Fault]:
    """A claim stands behind the end of its turn."""
    for begin, end in turns_of(rows):
        for index in range(begin, end):
            if is_claim(rows[index]):
                yield Fault("claim-behind-its-turn", index, moved(rows, index, end))


@fault
def claim_in_another_turn(rows: Rows) -> Iterator[Fault]:
    """A claim stands behind the start of another turn."""
    turns = turns_of(rows)
    for begin, end in turns:
        for other, _ in turns:
            for index in range(begin, end):
                if is_claim(rows[index]) and other != begin:
                    yield Fault("claim-in-another-turn", index, moved(rows, index, other))


@fault
def claims_swapped(rows: Rows) -> Iterator[Fault]:
    """The two claims of a boundary stand the other way round."""
    for index, (one, two) in enumerate(pairwise(rows)):
        if is_claim(one) and is_claim(two):
            yield Fault("claims-swapped", index, moved(rows, index, index + 1))


@fault
def claim_of_one_more_or_less(rows: Rows) -> Iterator[Fault]:
    """A claim takes another number; a later edit puts the list right again."""
    for index, row in enumerate(rows):
        if row["type"] != SPLICED or "removedCount" not in data(row):
            continue
        target, count = data(row)["target"], data(row)["removedCount"]
        for other in (count - 1, count + 1):
            wrong = changed(rows, index, removedCount=other)
            edit = {"target": target, "start": 0, "inserted": []}
            if other < count:
                edit |= {"removedCount": 1, "outcome": "canceled"}
            else:
                lost = {"id": "compensation", "role": "user", "source": {"kind": "user"}}
                edit |= {"inserted": [{**lost, "content": []}]}
            row = {"type": SPLICED, "data": edit}
            fixed = [*wrong[: index + 1], row, *wrong[index + 1 :]]
            what = "claim" if is_claim(rows[index]) else "edit"
            yield Fault("claim-of-one-more-or-less", index, fixed, what)


# --- Messages -----------------------------------------------------------------------------------


def inserted(rows: Rows) -> list[tuple[int, int, str]]:
    """Each insertion of a message: record, place in it, id."""
    found = []
    for index in places(rows, SPLICED):
        for place, each in enumerate(data(rows[index])["inserted"]):
            found.append((index, place, each["id"]))
    return found


@fault
def ids_swapped(rows: Rows) -> Iterator[Fault]:
    """Two messages that were queued have the ids of each other."""
    queued = inserted(rows)
    for one, two in pairwise(queued):
        wrong = copy.deepcopy(list(rows))
        for (index, place, _), name in ((one, two[2]), (two, one[2])):
            wrong[index]["data"]["inserted"][place]["id"] = name
        yield Fault("ids-swapped", one[0], wrong, f"{one[2]} {two[2]}")


@fault
def insertion_behind_its_claim(rows: Rows) -> Iterator[Fault]:
    """A message is queued behind the claim that takes it."""
    for index, _, name in inserted(rows):
        later = [i for i in range(index + 1, len(rows)) if is_claim(rows[i])]
        entered = [
            i for i in places(rows, "user/message") if i > index and data(rows[i]).get("id") == name
        ]
        if entered and later:
            claim = max(i for i in [*later, -1] if i < entered[0])
            if claim > index:
                yield Fault("insertion-behind-its-claim", index, moved(rows, index, claim))


@fault
def message_changed(rows: Rows) -> Iterator[Fault]:
    """A message enters with another content, source, role or id than was queued."""
    queued = {name for _, _, name in inserted(rows)}
    for index in places(rows, "user/message"):
        if data(rows[index]).get("id") in queued and rows[index].get("surfaceOp") == "append":
            for key, value in (
                ("content", [{"type": "text", "text": "other"}]),
                ("source", {"kind": "plugin"}),
                ("role", "assistant"),
                ("id", "another"),
            ):
                yield Fault("message-changed", index, changed(rows, index, **{key: value}), key)


# --- Turns and steps ----------------------------------------------------------------------------


@fault
def another_reason(rows: Rows) -> Iterator[Fault]:
    """A turn ends in another way."""
    for index in places(rows, "turn/end"):
        for kind in REASONS:
            if kind != data(rows[index])["reason"]["kind"]:
                said: Row = {"kind": kind}
                said |= {"reason": {"kind": "user"}} if kind == "aborted" else {}
                said |= {"error": {"message": "m", "code": "UNKNOWN"}} if kind == "error" else {}
                yield Fault("another-reason", index, changed(rows, index, reason=said), kind)


@fault
def another_number(rows: Rows) -> Iterator[Fault]:
    """A boundary, or something in a step, has the number of another turn or step."""
    names = ("turn/start", "turn/end", "step/start", "step/end", "assistant/message", "tool/call")
    for index in places(rows, *names, "tool/result"):
        for key in ("turn", "step"):
            if key in data(rows[index]):
                for more in (-1, 1):
                    told = {key: data(rows[index])[key] + more}
                    yield Fault("another-number", index, changed(rows, index, **told), key)


@fault
def boundary_again(rows: Rows) -> Iterator[Fault]:
    """A boundary stands twice."""
    for index in places(rows, "turn/start", "turn/end", "step/start", "step/end"):
        yield Fault("boundary-again", index, [*rows[: index + 1], rows[index], *rows[index + 1 :]])


@fault
def turn_dropped(rows: Rows) -> Iterator[Fault]:
    """A whole turn is missing; with its number, or with the later ones counted down."""
    for begin, end in turns_of(rows):
        left = [*rows[:begin], *rows[end + 1 :]]
        yield Fault("turn-dropped", begin, left, "gap")
        number = data(rows[begin])["turn"]
        closed = copy.deepcopy(left)
        for row in closed:
            if data(row).get("turn", 0) > number and row["type"] != "session":
                row["data"]["turn"] -= 1
        yield Fault("turn-dropped", begin, closed, "counted down")


@fault
def turn_again(rows: Rows) -> Iterator[Fault]:
    """A whole turn stands twice."""
    for begin, end in turns_of(rows):
        yield Fault("turn-again", begin, [*rows[: end + 1], *rows[begin:]])


# --- Tools --------------------------------------------------------------------------------------


@fault
def results_wrong(rows: Rows) -> Iterator[Fault]:
    """A result is missing, stands twice, answers an unknown call, or stands before its call."""
    for index in places(rows, "tool/result"):
        before, behind = rows[:index], rows[index + 1 :]
        yield Fault("results-wrong", index, [*before, *behind], "missing")
        yield Fault("results-wrong", index, [*before, rows[index], rows[index], *behind], "twice")
        other = copy.deepcopy(rows[index])
        message = other["data"].get("message", other["data"])
        for holder in (other["data"], message, message.get("source", {}), *message["content"]):
            for key in ("callId", "toolCallId"):
                if key in holder:
                    holder[key] = "unknown-call"
        yield Fault("results-wrong", index, [*before, other, *behind], "unknown")
        calls = [i for i in places(rows, "tool/call") if i < index]
        if calls:
            yield Fault("results-wrong", index, moved(rows, index, calls[-1] - 1), "early")
            yield Fault(
                "results-wrong", index, [*rows[: calls[-1]], *rows[calls[-1] + 1 :]], "call"
            )


# --- Restarts -----------------------------------------------------------------------------------


def repairs(rows: Rows) -> Iterator[tuple[int, int]]:
    """The first closer of each repair, and the mark behind it."""
    for mark in places(rows, "session/end-seed"):
        first = mark
        while first and rows[first - 1]["type"] in ("turn/end", "step/end", "tool/result"):
            row = rows[first - 1]
            ends = data(row).get("reason", {}).get("kind")
            code = (data(row).get("error") or {}).get("code", "")
            if row["type"] == "turn/end" and ends != "interrupted":
                break
            if row["type"] == "tool/result" and not code.startswith("TOOL_"):
                break
            if row["type"] == "step/end" and first == mark:
                break
            first -= 1
        yield first, mark


@fault
def repair_wrong(rows: Rows) -> Iterator[Fault]:
    """The records of a repair are missing, doubled, or stand the other way round."""
    for first, mark in repairs(rows):
        closers = list(rows[first:mark])
        if not closers:
            continue
        before, behind = rows[:first], rows[mark + 1 :]
        yield Fault("repair-wrong", first, [*before, rows[mark], *behind], "missing")
        yield Fault("repair-wrong", first, [*before, *behind], "missing with its mark")
        yield Fault("repair-wrong", first, [*before, *closers, *rows[first:]], "doubled")
        yield Fault(
            "repair-wrong",
            first,
            [*before, *closers, *rows[first:mark], *closers, *rows[mark:]],
            "tripled",
        )
        if len(closers) > 1:
            yield Fault("repair-wrong", first, [*before, *closers[::-1], *rows[mark:]], "reversed")
        for place in range(first, mark):
            yield Fault("repair-wrong", place, [*rows[:place], *rows[place + 1 :]], "one missing")
            if place + 1 < mark:
                yield Fault("repair-wrong", place, moved(rows, place, place + 1), "swapped")


@fault
def mark_wrong(rows: Rows) -> Iterator[Fault]:
    """The mark that ends a seed is missing, doubled, or stands somewhere else."""
    chance = random.Random(len(rows))
    for mark in places(rows, "session/end-seed"):
        before, behind = rows[:mark], rows[mark + 1 :]
        yield Fault("mark-wrong", mark, [*before, *behind], "missing")
        yield Fault("mark-wrong", mark, [*before, rows[mark], rows[mark], *behind], "doubled")
        for _ in range(6):
            to = chance.randrange(len(rows))
            if to not in (mark, mark - 1):
                yield Fault("mark-wrong", mark, moved(rows, mark, to), "moved")


# --- The file -----------------------------------------------------------------------------------


@fault
def head_cut(rows: Rows) -> Iterator[Fault]:
    """The first records are missing."""
    for length in sorted({1, 2, 3, len(rows) // 3, len(rows) // 2}):
        yield Fault("head-cut", length, rows[length:])


@fault
def interleaved(rows: Rows) -> Iterator[Fault]:
    """Records of another session stand between those of this one."""
    for begin, end in turns_of(rows)[:2]:
        other = copy.deepcopy(list(rows[begin : end + 1]))
        mixed = [each for pair in zip(rows[begin : end + 1], other, strict=True) for each in pair]
        yield Fault("interleaved", begin, [*rows[:begin], *mixed, *rows[end + 1 :]])


@fault
def prefix(rows: Rows) -> Iterator[Fault]:
    """The last records are missing, which is no fault."""
    for length in sorted({1, 2, *range(3, len(rows), max(1, len(rows) // 12))}):
        yield Fault("prefix", length, rows[:length])


# --- When a copy is another log ------------------------------------------------------------------


def numbered(rows: Rows) -> list[Row]:
    """The records without their numbers: a log may have none, and place counts then."""
    left = []
    for row in rows:
        kept = {key: value for key, value in row.items() if key not in ("seq", "seq0")}
        left.append(kept)
    return left


def pair_of(rows: Rows, chance: random.Random) -> Fault | None:
    """Two faults at once, drawn by chance; None where there is no place for them."""
    kinds = sorted(KINDS)
    first, second = chance.choice(kinds), chance.choice(kinds)
    one = list(KINDS[first](rows))
    if not one:
        return None
    chosen = chance.choice(one)
    two = list(KINDS[second](chosen.rows))
    if not two:
        return None
    other = chance.choice(two)
    return Fault(f"{first} + {second}", other.index, other.rows, f"{chosen.what} {other.what}")


When = Callable[[Fault, Rows], bool]
ORDERED: Final = frozenset(
    {
        *("turn/start", "turn/end", "step/start", "step/end", SPLICED, "user/message"),
        *("assistant/message", "session/end-seed", "tool/call", "tool/result", "request/header"),
    }
)


def of(kind: str, *what: str) -> When:
    """Whether a fault is of this kind, and about one of these."""
    return lambda fault, _: fault.kind == kind and (not what or fault.what in what)


def is_last(fault: Fault, rows: Rows) -> bool:
    """Whether the turn that is missing is the newest, and nothing but edits is left behind it."""
    number = data(rows[fault.index]).get("turn")
    newest = max((data(rows[i])["turn"] for i in places(rows, "turn/start")), default=0)
    return fault.kind == "turn-dropped" and number == newest


def claims_nothing_more(fault: Fault, rows: Rows) -> bool:
    """Whether no later turn claims or enters anything that the missing turn had claimed."""
    end = next(end for begin, end in turns_of(rows) if begin == fault.index)
    return not any(is_claim(row) for row in rows[fault.index : end])


def at_the_end(fault: Fault, rows: Rows) -> bool:
    """Whether no ordered record stands behind the place."""
    return not any(row["type"] in ORDERED for row in rows[fault.index + 1 :])


def no_boundary_behind(fault: Fault, rows: Rows) -> bool:
    """Whether a result is missing, and neither a step opens nor the turn ends behind it."""
    behind = {row["type"] for row in rows[fault.index + 1 :]}
    return fault.what == "missing" and not behind & {"step/start", "turn/end", "tool/result"}


def put_in_front(fault: Fault, rows: Rows) -> bool:
    """Whether later messages are queued at the head, in front of what the turn left behind."""
    return any(
        data(rows[i])["start"] == 0
        for i in places(rows, SPLICED)
        if i > fault.index and data(rows[i])["inserted"]
    )


def never_enters(fault: Fault, rows: Rows) -> bool:
    """Whether none of both messages enters, or one of them is queued again before it does."""
    names = fault.what.split()
    entered = [data(rows[i]).get("id") for i in places(rows, "user/message")]
    queued = [name for _, _, name in inserted(rows)]
    return all(name not in entered or queued.count(name) > 1 for name in names)


def is_no_users(fault: Fault, rows: Rows) -> bool:
    """Whether the message is not a user's."""
    return (data(rows[fault.index]).get("source") or {}).get("kind") != "user"


def nothing_is_gone(fault: Fault, rows: Rows) -> bool:
    """Whether what is missing holds nothing that is ordered."""
    return not any(row["type"] in ORDERED for row in rows[: fault.index])


LEGAL: Final[tuple[tuple[str, When, str], ...]] = (
    ("prefix", of("prefix"), "a log may end anywhere"),
    ("another-reason", of("another-reason", "aborted"), "a cancel may come up to the end (CN-10)"),
    ("another-reason", of("another-reason", "error"), "a stop listener may fail (TS-07)"),
    (
        "another-reason",
        lambda fault, rows: fault.what == "interrupted" and at_the_end(fault, rows),
        "a repair may have been cut off behind the end of the turn (RS-03)",
    ),
    (
        "another-reason",
        lambda fault, rows: data(rows[fault.index])["reason"]["kind"] in ("interrupted", "aborted"),
        "the turn could have ended so at its last boundary, before the restart (TB-05, TB-07)",
    ),
    (
        "another-reason",
        lambda fault, rows: data(rows[fault.index])["reason"]["kind"] == "blocked",
        "the decision could have entered nothing instead (TB-14, PS-13)",
    ),
    (
        "another-reason",
        lambda fault, rows: (
            fault.what == "interrupted" and rows[fault.index + 1]["type"] == "session/end-seed"
        ),
        "a seed may end behind a turn that was repaired (RS-07)",
    ),
    (
        "claim-of-one-more-or-less",
        of("claim-of-one-more-or-less", "edit"),
        "what one edit leaves, another may take (IN-11)",
    ),
    ("results-wrong", no_boundary_behind, "a failure of the scheduler leaves it out (TC-06)"),
    ("turn-dropped", is_last, "what the turn had claimed may wait for a wake (DR-09)"),
    ("turn-dropped", put_in_front, "what it had claimed waits behind what comes in front (IN-10)"),
    ("turn-dropped", claims_nothing_more, "a turn that claimed nothing leaves nothing behind"),
    ("results-wrong", at_the_end, "a log may end behind a call"),
    ("ids-swapped", never_enters, "a message that never enters is compared with nothing (IN-01)"),
    ("message-changed", is_no_users, "what no user has sent may enter unqueued (PS-20)"),
    ("head-cut", nothing_is_gone, "no ordered record is gone, and places count from here"),
)
"""When a damaged copy that was taken is another legal log: kind of fault, when, and why."""


def legal_reason(fault: Fault, rows: Rows) -> str | None:
    """Why a damaged copy may hold; None when it must not."""
    if list(fault.rows) == list(rows):
        return "it says the same"
    fits = (why for kind, when, why in LEGAL if kind == fault.kind and when(fault, rows))
    return next(fits, None)
