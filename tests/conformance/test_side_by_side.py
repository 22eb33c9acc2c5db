"""A scenario on specification and subject."""

from loopspec.conformance.side_by_side import replay_scenario
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario
from tests.conformance.checks import REJECT, planted


def test_the_shipped_loop_and_the_model_do_the_same() -> None:
    """Every line is the same in both columns."""
    replayed = replay_scenario(PythonSubject, parse_scenario(REJECT))

    assert replayed.parted is None
    assert all(pair.same and pair.model == pair.subject for pair in replayed.pairs)
    assert () == replayed.outcome.findings
    assert replayed.expected.trace == replayed.outcome.trace


def test_a_mutant_parts_at_one_line() -> None:
    """All lines before it are the same; there the model has another."""
    replayed = replay_scenario(planted("requeue-on-reject"), parse_scenario(REJECT))

    assert replayed.parted is not None
    assert all(pair.same for pair in replayed.pairs[: replayed.parted])
    model, subject, same = replayed.pairs[replayed.parted]
    assert ("  turn/end 1 blocked", "  agent/inbox/spliced next-turn@0 +A", False) == (
        model,
        subject,
        same,
    )
    assert replayed.outcome.findings


def test_the_longer_column_is_printed_to_its_end() -> None:
    """A subject that stops early has empty lines."""
    text = "followup A\npre-step: raise\n"

    replayed = replay_scenario(planted("no-turn-end-on-error"), parse_scenario(text))

    assert "" in {pair.subject for pair in replayed.pairs}


def test_the_specification_beside_itself_never_parts() -> None:
    """The left column is the model; so is the right one, on request."""
    text = "followup A\nsteer B\npre-step: enter\nprovider: done\ncancel user drop\n"

    assert replay_scenario(ModelSubject, parse_scenario(text)).parted is None


def test_another_profile_replaces_that_of_the_scenario() -> None:
    """A preserved queue advances under notes and is parked under notes-park."""
    text = "followup A\nfollowup B\ncancel user keep\npre-step: enter\n"
    scenario = parse_scenario(text)

    parked = replay_scenario(PythonSubject, scenario, "notes-park")

    assert replay_scenario(PythonSubject, scenario).parted is None
    assert parked.parted is not None
    assert parked.outcome.findings
