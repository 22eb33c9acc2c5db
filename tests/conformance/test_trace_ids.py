"""Ids of a log: none is forgotten, however many there are and however late one comes again."""

import random
from pathlib import Path

import pytest

from loopspec.conformance.trace import Acceptor, ids, judge_log
from loopspec.conformance.trace.ids import Ids
from loopspec.conformance.trace.notation import log_of


@pytest.fixture(autouse=True)
def _few_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few ids stay in memory, so that small sets show what large ones do."""
    monkeypatch.setattr(ids, "KEPT_HERE", 7)


def test_a_set_of_ids_is_a_set() -> None:
    """Added, forgotten and asked for in any order, in memory or on the disk."""
    chance = random.Random(11)
    found, expected = Ids(), set[str]()
    for _ in range(2_000):
        name = f"m{chance.randrange(150)}"
        if chance.random() < 0.7:
            found.add(name)
            expected.add(name)
        else:
            found.discard(name)
            expected.discard(name)
        asked = f"m{chance.randrange(150)}"
        assert (asked in expected) == (asked in found)
    assert len(found.here) < 7


def test_a_copy_goes_its_own_way() -> None:
    """Neither hears what the other learns."""
    first = Ids()
    for number in range(20):
        first.add(f"m{number}")
    second = first.copy()
    second.add("only second")
    second.discard("m3")
    first.add("only first")

    assert ["m3" in first, "only first" in first, "only second" in first] == [True, True, False]
    assert ["m3" in second, "only first" in second, "only second" in second] == [False, False, True]
    assert all(f"m{number}" in second for number in range(20) if number != 3)


@pytest.mark.parametrize("late", [1, 30, 60])
def test_an_id_that_comes_again_late_is_a_breach(tmp_path: Path, late: int) -> None:
    """After many others: the first one is not forgotten."""
    turns = " ".join(f"+T[A{n}] {{{n} -T[A{n}] }}{n}:blocked" for n in range(1, late + 1))
    path = tmp_path / "log"
    path.write_bytes(log_of(f"{turns} +T[A1]"))
    finding = judge_log(path, Acceptor()).finding

    assert finding is not None
    assert ("OWN", 4 * late + 2) == (finding.code, finding.line)


def test_many_copies_have_few_layers() -> None:
    """However often it was copied, and whichever of the two went on."""
    found = Ids()
    for number in range(200):
        found.add(f"m{number}")
        other = found.copy()
        found = other if number % 2 else found
    assert all(f"m{number}" in found for number in range(200))
    assert "m200" not in found
    assert len(found.layers) <= 3


def test_a_log_that_is_forked_all_the_time_is_given_up(tmp_path: Path) -> None:
    """Each fork may leave its messages behind: readings that go on alike are one."""
    path = tmp_path / "log"
    for count, verdict in ((10, "holds"), (60, "unknown")):
        path.write_bytes(log_of(" ".join(f"+T[A{n}]@0 cut" for n in range(count))))
        log = judge_log(path, Acceptor())
        assert verdict == log.verdict
    assert "more than 32 readings fit" in log.reason
