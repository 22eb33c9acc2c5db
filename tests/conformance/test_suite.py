"""Stages of a check and the verdict that follows from them."""

from collections.abc import Callable

import attrs
import pytest

from loopspec.conformance import drive
from loopspec.conformance.control import ControlError, Uncontrolled
from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.judge import Judge
from loopspec.conformance.reduce import Reduced
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.conformance.suite import FINDINGS_MAX, Reported, Result, check_subject, doubt
from loopspec.conformance.verdict import EXITS
from loopspec.model.words import Answer, Call, Entry
from tests.conformance.checks import (
    REJECT,
    checked,
    checked_loop,
    checked_mutant,
    cover_of,
    reduced,
)


class BlindJudge(Judge):
    """Counts everything and finds nothing."""

    def see(self, entry: Entry) -> None:
        """Look away."""
        super().see(entry)
        self.findings.clear()


CALL = PythonSubject.call


class Uncontrollable(PythonSubject):
    """A subject whose adapter loses control at the first cancel."""

    def call(self, call: Call) -> None:
        """Make the call, unless it is a cancel."""
        if call.name == "cancel":
            msg = "a thread was asked for"
            raise Uncontrolled(msg)
        CALL(self, call)


def test_the_shipped_loop_holds_in_every_stage() -> None:
    """Nothing found, every row taken, every premise met, the canary dead."""
    result = checked_loop()

    assert ("holds", []) == (result.verdict, result.reasons)
    names = [stage.name for stage in result.stages]
    assert ["corpus", "cover", "random", "canary"] == names
    assert {"holds"} == {stage.verdict for stage in result.stages}
    assert len(load_corpus()) == result.stages[0].scenarios
    assert len(cover_of("notes").scenarios) == result.stages[1].scenarios
    assert cover_of("notes").rows <= set(result.rows)
    assert cover_of("notes").cells <= set(result.cells)


def test_each_stage_counts_actions_and_the_time_in_which_they_ran() -> None:
    """Checked actions per second leave out the search for a cover and reduction."""
    for stage in checked_loop().stages:
        assert 0 < stage.running <= stage.seconds
        assert stage.actions > 0
        assert stage.rate > 0


def test_no_random_stage_without_examples() -> None:
    """examples=0 leaves corpus, cover and canary, which still take every row and every cell."""
    result = checked_loop(0)

    assert ["corpus", "cover", "canary"] == [stage.name for stage in result.stages]
    assert "holds" == result.verdict


def test_a_mutant_is_broken_with_a_short_witness() -> None:
    """Found, reduced, and reported once although several scenarios show it."""
    result = checked_mutant("requeue-on-reject")

    assert "broken" == result.verdict
    assert [REJECT] == [str(each.reduced.scenario) for each in result.found]
    assert ("REJ", "OWN") == result.found[0].codes
    assert "exhaustive" == result.found[0].reduced.minimal
    assert "broken" == result.stages[0].verdict
    assert "holds" == result.stages[-1].verdict


def test_a_stage_that_meets_a_known_finding_is_broken_too() -> None:
    """A finding is listed once; a stage that saw it does not hold."""
    result = checked_mutant("requeue-on-reject")

    assert ["broken", "broken", "holds"] == [stage.verdict for stage in result.stages]
    assert " scenarios broken" in result.stages[0].note
    assert 1 == len(result.found)


def test_a_judge_that_sees_nothing_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary survives: nothing that such a judge says can be believed."""
    monkeypatch.setattr(drive, "Judge", BlindJudge)

    result = checked(PythonSubject)

    assert ("inconclusive", 3) == (result.verdict, EXITS[result.verdict])
    assert ["the canary survived: the judge did not see a planted fault"] == result.reasons
    assert "inconclusive" == result.stages[-1].verdict


def test_a_fault_of_the_adapter_is_an_error_and_no_breach() -> None:
    """It ends its stage; the others still run."""
    result = checked(Uncontrollable)

    assert ("error", 2) == (result.verdict, EXITS[result.verdict])
    assert "corpus: a thread was asked for" == result.reasons[0]
    assert ["error", "error", "holds"] == [stage.verdict for stage in result.stages]
    assert [] == result.found


def with_finding() -> Result:
    """A result with one finding."""
    result = Result("notes", "quick", 1)
    short: Reduced = reduced("requeue-on-reject", REJECT)
    result.found.append(Reported(short, 9, "random"))
    return result


def with_error(result: Result) -> Result:
    """The result with an error of the adapter."""
    result.errors.append("cover: no")
    return result


def with_doubt(result: Result) -> Result:
    """The result with a doubt."""
    result.doubts.append("nothing was checked")
    return result


@pytest.mark.parametrize(
    ("verdict", "make"),
    [
        ("broken", lambda: with_doubt(with_error(with_finding()))),
        ("error", lambda: with_doubt(with_error(Result("notes", "quick", 1)))),
        ("inconclusive", lambda: with_doubt(Result("notes", "quick", 1))),
        ("holds", lambda: Result("notes", "quick", 1)),
    ],
)
def test_broken_comes_before_error_before_inconclusive(
    verdict: str, make: Callable[[], Result]
) -> None:
    """And every reason is told, whichever verdict it led to."""
    result = make()

    assert verdict == result.verdict
    assert len(result.found + result.errors + result.doubts) == len(result.reasons)


def test_what_was_not_tried_is_a_doubt() -> None:
    """No actions; rows and cells of the cover that were never taken; premises never met."""
    result = Result("notes", "quick", 1)

    doubt(result, cover_of("notes"))

    assert "nothing was checked" == result.doubts[0]
    assert result.doubts[1].startswith("rows never taken: ")
    assert result.doubts[2].startswith(f"cells never reached ({len(cover_of('notes').cells)}), ")
    assert result.doubts[3].startswith("premises never met: BAL, ")
    assert "inconclusive" == result.verdict


def test_what_an_adapter_cannot_do_is_skipped_with_the_reason() -> None:
    """No call that it does not declare, none in a listener or between ticks; the rest holds."""

    class Outside(PythonSubject):
        capabilities = frozenset({"steering", "assemble-gate", "fold", "first-listener"})

        def later(self, ticks: int, action: Callable[[], None]) -> None:
            pytest.fail("a call was made between ticks")

        def call(self, call: Call) -> None:
            assert call.name in ("followup", "steer", "inject")
            super().call(call)

        def answer(self, answer: Answer) -> bool:
            assert answer.gate in ("assemble", "pre-step", "provider")
            assert answer.choice not in ("tools", "parallel", "partial")
            return super().answer(answer)

    result = checked(Outside, 25)

    assert [] == result.found
    assert {"at rest"} == {window for _, window, _ in result.cells}
    corpus = result.stages[0]
    assert len(load_corpus()) == corpus.scenarios + sum(corpus.skipped.values())
    assert "skipped: no calls-in-listeners" in corpus.note
    assert any("not declared" in reason and "ticks " in reason for reason in result.reasons)
    assert ("holds", []) == (result.verdict, result.doubts)
    assert 10 <= len(result.rows)


def test_what_an_adapter_declares_and_cannot_do_is_an_error() -> None:
    """A declaration is a promise: what then fails is no skip."""

    class Boastful(PythonSubject):
        def call(self, call: Call) -> None:
            if call.name == "clear":
                msg = "there is no clear"
                raise ControlError(msg)
            super().call(call)

    result = checked(Boastful)

    assert ("error", []) == (result.verdict, result.found)
    assert any("there is no clear" in error for error in result.errors)


def test_findings_are_limited() -> None:
    """A subject that is wrong everywhere does not take the afternoon."""
    result = checked_mutant("canary")

    assert 1 <= len(result.found) <= FINDINGS_MAX
    assert len({each.reduced.scenario for each in result.found}) == len(result.found)


@pytest.mark.parametrize(("profile", "effort"), [("nosuch", "quick"), ("notes", "huge")])
def test_an_unknown_profile_or_effort_is_refused_at_once(profile: str, effort: str) -> None:
    """Before a subject is made."""
    with pytest.raises(KeyError):
        check_subject(lambda: pytest.fail("a subject was made"), profile, effort)


def test_progress_is_told_for_each_stage() -> None:
    """Stage, done and planned; done never passes planned."""
    told: list[tuple[str, int, int]] = []

    checked(PythonSubject, 2, say=lambda *each: told.append(each))

    assert {"corpus", "cover", "random"} == {stage for stage, _, _ in told}
    assert all(done <= planned for _, done, planned in told)


def test_the_same_seed_makes_the_same_search() -> None:
    """Counts, rows and cells of two runs are equal."""
    first, second = checked(PythonSubject, 5, 5), checked(PythonSubject, 5, 5)

    keep = ("rows", "cells", "met", "peak")
    assert [getattr(first, key) for key in keep] == [getattr(second, key) for key in keep]
    assert [attrs.evolve(each, seconds=0.0, running=0.0) for each in first.stages] == [
        attrs.evolve(each, seconds=0.0, running=0.0) for each in second.stages
    ]
