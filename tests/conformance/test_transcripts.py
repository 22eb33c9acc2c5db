"""Transcripts: a small one made by hand is accepted, each lie in it is not; recorded ones are."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from loopspec.conformance.transcripts import (
    Transcript,
    TranscriptError,
    check_transcript,
    read_transcripts,
)
from loopspec.conformance.transcripts.differences import differences_of, fields_between
from loopspec.conformance.transcripts.page import kept
from loopspec.conformance.transcripts.reading import call_of, is_negative_zero, whole
from loopspec.model.deviations import CHOICES
from loopspec.model.policy import PROFILES
from loopspec.model.words import Call, text_message
from loopspec.reports.acceptance import Acceptance, TranscriptFound, acceptance_document
from tests.conformance import transcripts_at_hand as at_hand


def rest(trace: list[Any], queue: list[str], status: str, gates: list[Any]) -> dict[str, Any]:
    """A report."""
    return {"tr": trace, "nt": queue, "ns": [], "st": status, "g": gates}


def splice(number: int, start: int, **data: object) -> list[Any]:
    """A record of a splice."""
    splice_data = {"target": "next-turn", "start": start, "inserted": [], **data}
    return ["d", number, "agent/inbox/spliced", splice_data]


CREATED = [["n", "agent/created"], ["n", "agent/session-start", "startup"]]
PRE_STEP = {"turn": 1, "step": 1, "messages": ["m1"]}

PARKED: dict[str, Any] = {
    "n": 7,
    "ops": [
        {"op": "new", "gates": ["pre-step"]},
        {"op": "followup", "m": "m1"},
        {"op": "followup", "m": "m2"},
        {"op": "cancel", "cause": {"kind": "user"}, "keep": True},
        {"op": "pre", "do": "enter"},
    ],
    "reports": [
        rest(CREATED, [], "idle", []),
        rest(
            [
                splice(0, 0, inserted=["m1"]),
                ["n", "agent/inbox/inserted", "m1"],
                ["n", "agent/status", "running"],
                ["d", 1, "turn/start", {"turn": 1}],
                splice(2, 0, removedCount=1),
                ["n", "agent/inbox/claimed", ["m1", 1]],
                ["g", "pre-step", PRE_STEP],
            ],
            [],
            "running",
            [["pre-step", PRE_STEP, False]],
        ),
        rest(
            [splice(3, 0, inserted=["m2"]), ["n", "agent/inbox/inserted", "m2"]],
            ["m2"],
            "running",
            [["pre-step", PRE_STEP, False]],
        ),
        rest([], ["m2"], "running", [["pre-step", PRE_STEP, True]]),
        rest(
            [
                [
                    "d",
                    4,
                    "turn/end",
                    {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "user"}}},
                ],
                ["n", "agent/status", "idle"],
            ],
            ["m2"],
            "idle",
            [],
        ),
    ],
}
"""A keep-cancel parks the queue: what the release does and the notes do not."""


def test_a_transcript_is_accepted_with_one_possible_session_throughout() -> None:
    """Every command is checked, and rows of the table are taken."""
    found = check_transcript(PARKED)

    assert None is found.parted
    assert (1, 1, 1, 1, 1) == found.sizes
    assert (7, 5, 11) == (found.number, found.commands, found.observations)
    assert "claim the batch, guarded" in found.rows


def test_under_the_notes_it_parts_where_a_registered_difference_says_so() -> None:
    """The smallest set of fields is found, and where it shows."""
    shown = differences_of(PARKED)

    assert shown is not None
    assert shown.explained
    assert ("after_keep_cancel",) == shown.fields
    assert (("wakes",),) == shown.others
    assert 4 == shown.places[0].command
    assert "agent/status running" in shown.places[0].text
    assert None is differences_of(PARKED, "notes-park")


def test_what_no_difference_explains_is_said_to_be_unexplained() -> None:
    """A lie is no deviation."""
    lie = copy.deepcopy(PARKED)
    lie["reports"][1]["tr"][3][3]["turn"] = 2
    shown = differences_of(lie)

    assert shown is not None
    assert not shown.explained
    assert 1 == shown.places[0].command


@pytest.mark.parametrize(
    ("command", "change", "complaint"),
    [
        (1, lambda r: r["tr"].pop(), "nothing more"),
        (1, lambda r: r["tr"].insert(2, r["tr"][1]), "agent/status running"),
        (1, lambda r: r["tr"][0].__setitem__(1, 1), "record number 1 first"),
        (3, lambda r: r["g"][0].__setitem__(2, False), "aborted"),
        (2, lambda r: r.update(nt=[]), "next-turn m2"),
        (2, lambda r: r.update(r=True), "the model returns None"),
        (4, lambda r: r.update(err="boom"), "nothing is returned"),
        (4, lambda r: r.update(x=1), "a report with"),
        (2, lambda r: r.pop("tr"), "another shape"),
        (0, lambda r: r["tr"].pop(), "announced by"),
    ],
)
def test_a_lie_is_noticed_at_its_command(command: int, change: Any, complaint: str) -> None:  # noqa: ANN401
    """The text says what was seen and what was allowed."""
    lie = copy.deepcopy(PARKED)
    change(lie["reports"][command])
    found = check_transcript(lie)

    assert found.parted is not None
    assert command == found.parted[0]
    assert complaint in found.parted[1]


def test_a_copy_goes_on_by_itself() -> None:
    """What one does is not seen by the other."""
    check = Transcript(PARKED)
    check.command(PARKED["ops"][0], PARKED["reports"][0])
    other = check.copy()
    other.command(PARKED["ops"][1], PARKED["reports"][1])

    assert check.possible.sessions[0].next_turn == ()
    assert check.relations.next_number is None
    assert 3 == other.relations.next_number


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no json", "expected one JSON object"),
        ("[" * 100_000, "expected one JSON object"),
        ("[]", "'ops' and 'reports'"),
        ('{"ops": [], "reports": []}', "first command 'new'"),
        ('{"ops": [{"op": "new"}], "reports": [{}]}', "'gates'"),
        ('{"ops": [{"op": "new", "gates": []}], "reports": []}', "as many reports"),
        ('{"ops": [3], "reports": [3]}', "name under 'op'"),
        ('{"n": "x", "ops": [{"op": "new", "gates": []}], "reports": [{}]}', "number under 'n'"),
        (
            '{"ops": [{"op": "new", "gates": []}, {"op": "followup"}], "reports": [{}, {}]}',
            "that can be read",
        ),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, complaint: str) -> None:
    """It names the file and the line."""
    (tmp_path / "bad.jsonl").write_text(f"\n{text}\n", "utf-8")
    with pytest.raises(TranscriptError, match=complaint) as caught:
        list(read_transcripts(tmp_path))

    assert "bad.jsonl, line 2" in str(caught.value)


def test_a_folder_without_transcripts_and_a_file_that_is_none(tmp_path: Path) -> None:
    """Both are named."""
    with pytest.raises(TranscriptError, match="got none"):
        list(read_transcripts(tmp_path))
    with pytest.raises(TranscriptError, match="no-such-file"):
        list(read_transcripts(tmp_path / "no-such-file"))


def test_numbers_of_a_splice_are_those_of_the_recording_language() -> None:
    """Truncated, not-a-number 0, infinities clamped; negative zero cannot be written down."""
    assert [0, 10, -10, 1, -1] == [whole(each, 10) for each in ("nan", "inf", "-inf", 1.9, -1.9)]
    assert [True, True, False, False] == [is_negative_zero(each) for each in ("-0", -0.5, 0, -1)]
    with pytest.raises(TranscriptError, match="number of a splice"):
        whole("x", 10)


def test_a_send_is_the_call_of_its_target_and_its_wake() -> None:
    """A send without a wake to next-turn is an append."""

    def call(target: str, wakeup: bool) -> Call | None:
        return call_of({"op": "send", "m": "a", "target": target, "wakeup": wakeup})

    message = text_message("a")
    assert Call("followup", (message,)) == call("next-turn", True)
    assert Call("steer", (message,)) == call("next-step", True)
    assert Call("inject", (message,)) == call("next-step", False)
    assert Call("append", ("next-turn", message)) == call("next-turn", False)


def test_every_recorded_transcript_is_accepted_with_one_possible_session() -> None:
    """Each is judged up to the first command after its disposal has settled."""
    found = [check_transcript(each) for each in at_hand.transcripts()]

    assert [] == [(each.number, each.parted) for each in found if each.parted]
    assert {1} == {size for each in found for size in each.sizes}
    assert len(found) >= 160


def test_under_the_notes_they_part_as_the_page_of_differences_says() -> None:
    """The page is made from what is kept; what is kept is what they show."""
    found = []
    for each in at_hand.transcripts():
        names = tuple(str(op["op"]) for op in each["ops"])
        accepted = check_transcript(each, "notes")
        found.append(TranscriptFound(accepted, names, 1.0, differences_of(each)))
    document = acceptance_document(Acceptance("notes", tuple(found), "none", 1, 1.0))
    document = json.loads(json.dumps(document))

    assert {**kept(), "time": None} == {**document, "time": None}


def test_the_releases_differ_in_every_field_but_one() -> None:
    """Which is the one that no profile of a release uses."""
    notes = PROFILES["notes"]
    fields = set(fields_between(notes, PROFILES["dsh-0.1"]))
    fields |= set(fields_between(notes, PROFILES["dsh-0.2"]))

    assert set(CHOICES) - {"goes_on_after"} == fields
