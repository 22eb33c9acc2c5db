"""The cover takes what the default scopes reach, on short scenarios."""

from loopspec.model.cover import cover_rows
from loopspec.model.playback import play
from loopspec.model.table import TABLE


def test_scenarios_of_the_cover_take_every_row_of_the_table() -> None:
    """Played on the model; none of them leaves a line out, and no two are the same."""
    cover = cover_rows()

    played = [play(scenario) for scenario in cover.scenarios]

    assert {row.key for row in TABLE} == cover.rows
    assert cover.rows == {key for each in played for key in each.rows}
    assert [] == [each.skipped for each in played if each.skipped]
    assert len(set(cover.scenarios)) == len(cover.scenarios)
    assert max(len(scenario) for scenario in cover.scenarios) <= 8


def test_another_profile_has_a_cover_of_its_own() -> None:
    """Its scenarios name it."""
    cover = cover_rows(profile="notes-park")

    assert {"notes-park"} == {scenario.profile for scenario in cover.scenarios}
