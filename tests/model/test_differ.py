"""The product search: a shortest difference, the same on play, and none between equals."""

import attrs
import pytest

from loopspec.model import alphabets, words
from loopspec.model.alphabets import NARROW_SCOPES
from loopspec.model.deviations import CHOICES
from loopspec.model.differ import Alike, Parted, apart, differ, foreign, shipped
from loopspec.model.explore import dead_rows, explore
from loopspec.model.playback import play
from loopspec.model.policy import DSH_0_1, NOTES, PROFILES
from loopspec.model.profiles import brief, profile_lines, says, shown_as, switched
from loopspec.model.scope import Scope

TINY = Scope("tiny", "one delivery and one stop", sends=2, cancels=1)
QUICK = {
    "goes_on_after": 3,
    "after_keep_cancel": 4,
    "wakes": 3,
    "refused_clear": 2,
    "cancel_hits": 3,
    "disposal": 2,
}
"""How many lines the shortest scenario of a field has."""


def found(field: str) -> Parted:
    """Where the second value of a field parts from that of `notes`."""
    other = shipped(field, switched(field, CHOICES[field][1]))
    parted = differ(shipped("notes", NOTES), other, NARROW_SCOPES)
    assert isinstance(parted, Parted)
    return parted


@pytest.mark.parametrize("field", QUICK)
def test_the_shortest_difference_of_a_field(field: str) -> None:
    """Its length, what each does there, and a scenario that can be pasted."""
    parted = found(field)

    assert QUICK[field] == len(parted.scenario)
    assert parted.left != parted.right
    assert parted.pairs > 10
    assert parted.scope in {scope.name for scope in NARROW_SCOPES}


def test_the_scenario_of_two_profiles_tells_them_apart_when_it_is_played() -> None:
    """What the search has compared is what a play shows."""
    parted = differ(
        shipped("notes", NOTES), shipped("notes-park", PROFILES["notes-park"]), NARROW_SCOPES
    )
    assert isinstance(parted, Parted)
    other = attrs.evolve(parted.scenario, profile="notes-park")

    assert play(parted.scenario).trace != play(other).trace
    assert play(parted.scenario).skipped == play(other).skipped == ()


def test_equal_machines_are_alike_and_a_cut_search_says_so() -> None:
    """Complete only when each scope was searched to its end."""
    whole = differ(shipped("a", NOTES), shipped("b", NOTES), [TINY])
    cut = differ(shipped("a", NOTES), shipped("b", NOTES), [TINY], states_max=5)
    stopped = differ(shipped("a", NOTES), shipped("b", NOTES), [TINY], stop=lambda: True)

    assert isinstance(whole, Alike)
    assert whole.complete
    assert Alike(5, False) == cut
    assert Alike(0, False) == stopped


def test_a_machine_that_breaks_or_never_rests_is_another_one() -> None:
    """Both are differences with a scenario, not errors of the search."""

    class Broken:
        """A table whose calls fail."""

        @staticmethod
        def apply(*_: object) -> object:
            """Fail."""
            raise KeyError("no such row")

    machine = shipped("broken", NOTES)._replace(table=Broken)  # type: ignore[arg-type]
    parted = differ(shipped("a", NOTES), machine, [TINY])

    assert isinstance(parted, Parted)
    assert 1 == len(parted.scenario)
    assert "fails: KeyError" in parted.right[0]


def test_ticks_alone_are_no_difference() -> None:
    """A gate that is passed a tick later is seen only by a call in that tick."""
    at_rest = [scope for scope in NARROW_SCOPES if scope.name == "send"]
    later = shipped("later", switched("passes", "next tick"))

    assert isinstance(differ(shipped("notes", NOTES), later, at_rest, 500), Alike)


def test_the_narrow_scopes_take_every_row_of_the_releases_and_of_the_notes() -> None:
    """What no scope takes, no search can tell apart."""
    results = [
        explore(attrs.evolve(scope, profile=profile), states_max=3_000)
        for scope in NARROW_SCOPES
        for profile in ("notes", "dsh-0.1", "dsh-0.2")
    ]

    assert () == dead_rows(results)
    assert len({scope.name for scope in alphabets.NARROW_SCOPES}) == len(NARROW_SCOPES)


def test_what_both_did_is_no_difference() -> None:
    """The common beginning goes."""
    assert ((3,), ()) == apart((1, 2, 3), (1, 2))
    assert ((2,), (3,)) == apart((1, 2), (1, 3))


def test_a_value_of_a_trace_goes_into_the_classes_of_another_import() -> None:
    """Messages inside calls too."""
    call = words.Call("followup", (words.text_message("A"),))

    assert call == foreign(call, words)
    assert isinstance(foreign(call, words), words.Call)


def test_the_profile_page_says_what_each_field_means() -> None:
    """In the words of the class; profiles stand beside each other."""
    assert CHOICES.keys() == says().keys()
    assert all(says().values())
    assert any("**park**" in line for line in profile_lines())
    assert "blocked+completed" == shown_as(frozenset({"completed", "blocked"}))
    assert "stands idle a b" == brief(("= idle  a  b",))
    assert DSH_0_1 == PROFILES["dsh-0.1"]
