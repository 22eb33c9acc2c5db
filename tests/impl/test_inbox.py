"""The inbox: normalised splices, identities, notifications, and the fold of the log."""

from __future__ import annotations

import math

import pytest

from loopspec.impl import (
    AppendRefused,
    BadArgument,
    Bus,
    DataBlock,
    DuplicateMessageId,
    Inbox,
    LogUnreadable,
    Message,
    SessionLog,
    fold_inbox,
    text_message,
)
from loopspec.impl.inbox import Mark, Pending, normal_count, normal_start
from tests.impl.sessions import EVENTS, describe, shorten

A, B, C, D, E = (text_message(name) for name in "ABCDE")


class Held:
    """An inbox on its own log, and everything that was told."""

    def __init__(self) -> None:
        """Begin with empty lists."""
        self.told: list[str] = []
        self.log = SessionLog.in_memory()
        self.bus = Bus()
        self.pending = Pending(self.log, self.bus, ())
        self.inbox = Inbox(self.pending)
        self.log.subscribe(lambda record: self.told.append(describe(record)))
        for name in EVENTS:
            self.bus.on(name, lambda payload, name=name: self.told.append(shorten(name, payload)))

    def ids(self) -> tuple[str, str]:
        """Return the ids in next-turn and next-step."""
        next_turn, next_step = self.inbox.next_turn, self.inbox.next_step
        return "".join(m.id for m in next_turn), "".join(m.id for m in next_step)


@pytest.fixture
def held() -> Held:
    """A fresh inbox."""
    return Held()


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, 0),
        (2, 2),
        (9, 3),
        (-1, 2),
        (-9, 0),
        (1.9, 1),
        (-0.5, 0),
        (-1.5, 2),
        (math.nan, 0),
        (math.inf, 3),
        (-math.inf, 0),
    ],
)
def test_start_is_cut_to_the_list(start: float, expected: int) -> None:
    """SP-01."""
    assert expected == normal_start(start, 3)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, 0), (2, 2), (9, 3), (-1, 0), (1.9, 1), (math.nan, 0), (math.inf, 3), (-math.inf, 0)],
)
def test_delete_count_is_cut_to_what_remains(count: float, expected: int) -> None:
    """SP-02."""
    assert expected == normal_count(count, 3)


def test_splice_records_normal_coordinates_and_returns_the_removed(held: Held) -> None:
    """SP-03, SP-06, SP-08, LN-01."""
    held.inbox.splice("next-turn", 5, 7, A, B, C)
    assert (B, C) == held.inbox.splice("next-turn", -2, math.inf, D, E)
    assert ("ADE", "") == held.ids()
    assert [
        "spliced next-turn@0-0+A,B,C",
        "agent/inbox/inserted A",
        "agent/inbox/inserted B",
        "agent/inbox/inserted C",
        "spliced next-turn@1-2+D,E canceled",
        "agent/inbox/discarded B",
        "agent/inbox/discarded C",
        "agent/inbox/inserted D",
        "agent/inbox/inserted E",
    ] == held.told


def test_splice_record_leaves_out_what_says_nothing(held: Held) -> None:
    """IN-03, IN-04: no removedCount of 0, no outcome without a removal, inserted always."""
    held.inbox.append("next-step", A)
    held.inbox.remove("A")
    insertion, removal = (record.data for record in held.log.read())
    assert {"target", "start", "inserted"} == set(insertion)
    assert {
        "target": "next-step",
        "start": 0,
        "removedCount": 1,
        "inserted": (),
        "outcome": "canceled",
    } == removal


def test_edit_without_effect_is_silent(held: Held) -> None:
    """SP-04, IN-11, IN-12, IN-14."""
    assert () == held.inbox.splice("next-turn", 0, 5)
    assert not held.inbox.remove("A")
    assert not held.inbox.replace("A", B)
    held.inbox.clear()
    assert [] == held.told
    assert not held.inbox.has_pending


def test_prepend_and_append_are_splices_of_one(held: Held) -> None:
    """IN-10."""
    held.inbox.append("next-step", A)
    held.inbox.append("next-step", B)
    held.inbox.prepend("next-step", C)
    assert ("", "CAB") == held.ids()
    assert held.inbox.has_pending


def test_replace_works_in_place_in_either_list_and_may_keep_the_id(held: Held) -> None:
    """IN-12, ID-02, LN-04: the old is discarded before the new is inserted."""
    held.inbox.splice("next-step", 0, 0, A, B, C)
    held.told.clear()
    assert held.inbox.replace("B", text_message("B", "new"))
    assert [
        "spliced next-step@1-1+B canceled",
        "agent/inbox/discarded B",
        "agent/inbox/inserted B",
    ] == held.told
    assert "new" == held.inbox.next_step[1].text


def test_replacement_inherits_the_mark(held: Held) -> None:
    """4.1: replace and edit inherit it; an insertion by splice is quiet."""
    held.pending.add("next-turn", A, Mark.DUE)
    held.inbox.replace("A", B)
    assert held.pending.has_due
    held.inbox.splice("next-turn", 0, 1, C)
    assert not held.pending.has_due


@pytest.mark.parametrize("target", ["next-turn", "next-step"])
def test_id_is_pending_once_over_both_lists(held: Held, target: str) -> None:
    """ID-01, ID-03: nothing is recorded and nobody is told."""
    held.inbox.append("next-turn", A)
    held.told.clear()
    with pytest.raises(DuplicateMessageId, match="'A'"):
        held.inbox.append(target, text_message("A", "other"))
    with pytest.raises(DuplicateMessageId):
        held.inbox.splice(target, 0, 0, B, B)
    assert [] == held.told
    assert ("A", "") == held.ids()


def test_removed_id_may_come_back(held: Held) -> None:
    """IN-13."""
    held.inbox.append("next-turn", A)
    held.inbox.remove("A")
    held.inbox.append("next-step", A)
    assert ("", "A") == held.ids()


def test_record_listener_sees_the_list_before_and_live_listener_after(held: Held) -> None:
    """LN-02, LN-03."""
    seen: list[tuple[str, str]] = []
    held.inbox.append("next-turn", A)
    held.log.subscribe(lambda _: seen.append(held.ids()))
    held.bus.on("agent/inbox/discarded", lambda _: seen.append(held.ids()))
    held.inbox.splice("next-turn", 0, 1, B, C)
    assert [("A", ""), ("BC", "")] == seen


def test_clear_empties_next_step_first(held: Held) -> None:
    """IN-14."""
    held.inbox.append("next-turn", A)
    held.inbox.append("next-step", B)
    held.told.clear()
    held.inbox.clear()
    assert [
        "spliced next-step@0-1+ canceled",
        "agent/inbox/discarded B",
        "spliced next-turn@0-1+ canceled",
        "agent/inbox/discarded A",
    ] == held.told


def test_clear_leaves_what_listeners_add_and_needs_no_more_splices_than_runs(held: Held) -> None:
    """A11: positions are looked up anew after each splice."""
    held.inbox.append("next-step", E)
    held.inbox.splice("next-turn", 0, 0, A, B, C)
    held.bus.on(
        "agent/inbox/discarded",
        lambda payload: payload.message is E and held.inbox.splice("next-turn", 1, 0, D),
    )
    held.told.clear()
    held.inbox.clear()
    assert ("D", "") == held.ids()
    assert [
        "spliced next-step@0-1+ canceled",
        "spliced next-turn@1-0+D",
        "spliced next-turn@0-1+ canceled",
        "spliced next-turn@1-2+ canceled",
    ] == [told for told in held.told if told.startswith("spliced")]


def test_boundary_claim_takes_next_step_and_one_next_turn(held: Held) -> None:
    """CL-02 to CL-06: two pure deletions, then one claimed for each, lists changed already."""
    held.inbox.splice("next-turn", 0, 0, A, B)
    held.inbox.splice("next-step", 0, 0, C, D)
    held.told.clear()
    seen: list[tuple[str, str]] = []
    held.bus.on("agent/inbox/claimed", lambda _: seen.append(held.ids()))
    assert (C, D, A) == held.pending.claim(3, at_turn_boundary=True)
    assert [
        "spliced next-step@0-2+",
        "spliced next-turn@0-1+",
        "agent/inbox/claimed C 3",
        "agent/inbox/claimed D 3",
        "agent/inbox/claimed A 3",
    ] == held.told
    assert [("B", "")] * 3 == seen


def test_continuation_claim_takes_next_step_only_and_empty_lists_leave_no_record(
    held: Held,
) -> None:
    """CL-01, CL-12."""
    held.inbox.append("next-turn", A)
    held.told.clear()
    assert () == held.pending.claim(1, at_turn_boundary=False)
    assert [] == held.told


def test_refused_append_leaves_the_lists_untouched(held: Held) -> None:
    """ID-05: a message that is not JSON never enters."""
    bad = Message("A", "user", "user", (DataBlock("image", {"pixels": object()}),))
    with pytest.raises(AppendRefused, match="not a JSON value"):
        held.inbox.append("next-turn", bad)
    assert ("", "") == held.ids()
    assert [] == held.told


@pytest.mark.parametrize(
    ("start", "count"), [("0", 0), (0, None), (True, 0), (0, [])], ids=["text", "none", "bool", "l"]
)
def test_coordinate_that_is_no_number_is_refused(held: Held, start: object, count: object) -> None:
    """One sentence instead of a guess."""
    with pytest.raises(BadArgument, match="must be a number"):
        held.inbox.splice("next-turn", start, count)  # type: ignore[arg-type]


def test_wrong_target_and_wrong_message_are_refused(held: Held) -> None:
    """The sentence names what may stand there."""
    with pytest.raises(BadArgument, match="next-turn, next-step"):
        held.inbox.append("next-week", A)
    with pytest.raises(BadArgument, match="Message"):
        held.inbox.append("next-turn", "A")  # type: ignore[arg-type]


def test_fold_of_the_log_gives_both_lists_quiet_and_silently(held: Held) -> None:
    """IN-02, ID-09."""
    held.inbox.splice("next-turn", 0, 0, A, B)
    held.pending.add("next-step", C, Mark.DUE)
    held.inbox.replace("B", D)
    held.pending.claim(1, at_turn_boundary=True)
    held.told.clear()
    records = held.log.read()
    assert (held.inbox.next_turn, held.inbox.next_step) == fold_inbox(records)
    again = Pending(held.log, held.bus, records)
    assert not again.has_due
    assert [] == held.told


@pytest.mark.parametrize(
    ("splices", "says"),
    [
        ([{"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []}], "record 0"),
        ([{"target": "next-turn", "start": 1, "inserted": [A.to_json()]}], "record 0"),
        ([{"target": "next-turn", "start": 0, "inserted": [A.to_json()]}] * 2, "record 1"),
    ],
)
def test_fold_names_the_first_record_that_does_not_fit(
    splices: list[dict[str, object]], says: str
) -> None:
    """ID-08."""
    with SessionLog.in_memory() as log:
        for splice in splices:
            log.append("agent/inbox/spliced", splice)
        with pytest.raises(LogUnreadable, match=says):
            fold_inbox(log.read())


@pytest.mark.parametrize(("clears", "left"), [("pending", "B"), ("live", "")])
def test_what_a_listener_adds_during_a_clear_stays_unless_the_clear_is_live(
    held: Held, clears: str, left: str
) -> None:
    """A11 and the policy value `live` (RE-06): B comes while the first list is emptied."""
    inbox = Inbox(held.pending, clears)
    inbox.append("next-step", A)

    def add_one(payload: object) -> None:
        if not inbox.next_turn and shorten("agent/inbox/discarded", payload).endswith(" A"):
            inbox.append("next-turn", B)

    held.bus.on("agent/inbox/discarded", add_one)
    inbox.clear()

    assert (left, "") == held.ids()
