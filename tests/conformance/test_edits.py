"""Single edits: each of a small transcript is refused, and so are those of recorded ones."""

import random
from typing import Any

from loopspec.conformance.edits import Edit, edits_of, try_edits, variants
from tests.conformance import transcripts_at_hand as at_hand
from tests.conformance.test_transcripts import PARKED

SHARE = 0.04
"""Of all edits, what a test tries; `loopspec transcripts DIR --edits all` tries each of them."""


def test_every_edit_of_a_small_transcript_is_refused() -> None:
    """Each kind is tried."""
    found = try_edits(PARKED)

    assert [] == found.missed
    assert found.tried == found.refused
    assert {"drop", "duplicate", "swap", "change", "list", "status", "gate"} <= found.tried.keys()
    assert {"aborted", "error", "return"} <= found.tried.keys()


def test_edits_differ_from_the_report_and_from_each_other() -> None:
    """An edit that changes nothing would count for nothing."""
    report: dict[str, Any] = PARKED["reports"][1]
    reports = [edit.report for edit in edits_of(report)]

    assert report not in reports
    assert all(reports.count(each) <= 2 for each in reports)


def test_variants_change_one_leaf_or_leave_one_thing_out() -> None:
    """Of whatever type it is."""
    assert [{"a": 2}, {}] == list(variants({"a": 1}))
    assert [["bx"], []] == list(variants(["b"]))
    assert [[False], []] == list(variants([True]))
    assert [["x"], []] == list(variants([None]))


def test_a_related_edit_is_counted_apart() -> None:
    """A relation has to notice it, not the table."""
    assert "related drop" == Edit("drop", "assistant/chunk", {}).label
    assert "drop" == Edit("drop", "turn/start", {}).label


def test_a_sample_of_the_edits_of_every_recorded_transcript_is_refused() -> None:
    """The whole was tried, and not one missed, when the figures of the notes were written."""
    tried = 0
    for each in at_hand.transcripts():
        chance = random.Random(int(each["n"]))

        def chosen(_: Edit, chance: random.Random = chance) -> bool:
            return chance.random() < SHARE

        found = try_edits(each, chosen=chosen)
        assert [] == found.missed
        assert found.tried == found.refused
        tried += sum(found.tried.values())

    assert tried > 5_000
