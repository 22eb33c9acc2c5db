"""The cover takes what the default scopes reach, on short scenarios."""

from typing import Final

import pytest

from loopspec.model.cover import Cover, cover_rows
from loopspec.model.playback import play
from loopspec.model.policy import PROFILES
from loopspec.model.table import TABLE

OTHERS: Final = {
    "after idle with a latched wake",
    "after idle with a latched wake, behind maintenance",
    "after tools of a truncated turn",
    "after turn with work in the lists, a tick later",
    "arrive once disposed of",
    "arrive where nobody objects, a tick later",
    "cancel whose refused clear throws",
    "claim nothing under an aborted signal",
    "claim the batch, guarded",
    "clear list as it stands",
    "clear list found empty",
    "close claim",
    "close claim that failed",
    "close step a tick later",
    "dispose whose refused clear throws",
    "enter step before its messages",
    "event loop lets a disposal go on",
    "event loop lets a disposal settle last",
    "event loop lets a wait go on",
    "fork with what is pending",
    "maintenance done once disposed of",
    "open gate of a call that was aborted",
    "open gate of a tool, a tick later",
    "open turn when already aborted, a tick later",
    "refused clear of a disposal",
    "refused turn/end, a tick later",
    "refused turn/start, a tick later",
    "remove of nothing, refused",
    "replace of nothing, refused",
    "requested with messages to enter",
    "splice frame refused, even of nothing",
    "thrown at the status of a restart",
    "thrown at the status of a start",
    "thrown otherwise",
    "thrown under an abort",
    "tool done that never ran",
    "tools behind others, a tick later",
    "wake late",
}
"""The rows that no run of profile `notes` takes: each is another answer of a policy."""


@pytest.fixture(scope="module")
def covers() -> dict[str, Cover]:
    """The cover of each profile."""
    return {profile: cover_rows(profile=profile) for profile in PROFILES}


@pytest.mark.parametrize("profile", PROFILES)
def test_scenarios_of_a_cover_play_and_take_what_it_says(
    covers: dict[str, Cover], profile: str
) -> None:
    """None of them leaves a line out, no two are the same, and each names its profile."""
    cover = covers[profile]

    played = [play(scenario) for scenario in cover.scenarios]

    assert cover.rows == {key for each in played for key in each.rows}
    assert [] == [each.skipped for each in played if each.skipped]
    assert len(set(cover.scenarios)) == len(cover.scenarios)
    assert max(len(scenario) for scenario in cover.scenarios) <= 9
    assert {profile} == {scenario.profile for scenario in cover.scenarios}


def test_the_covers_take_every_row_of_the_table(covers: dict[str, Cover]) -> None:
    """Profile `notes` all but the answers of other policies."""
    rows = {row.key for row in TABLE}

    assert rows == {key for cover in covers.values() for key in cover.rows}
    assert OTHERS == rows - covers["notes"].rows
