"""What a finding says to a person."""

import attrs

from loopspec.conformance.explain import explain, seen_by, witness_line
from loopspec.conformance.judge import TRACE, Finding
from loopspec.model.scenario import parse_scenario
from tests.conformance.checks import REJECT, reduced

EXPECTED = """\
REJ broken: A reject opens no step, puts nothing back and closes the turn as blocked.
  subject   python (0.1.0)   seed 4217   profile notes
  also      OWN
  seen by   REJ and trace inclusion; first the rules of what is allowed there
  rules     {rules}
  witness   2 actions, shrunk from 41; no shorter scenario shows it
            profile notes
            followup A
            pre-step: reject
  because   the pre-step decision over A was to reject.
            However, A went back into next-turn: a contradiction.
  did       agent/inbox/spliced next-turn@0 +A
  allowed   turn/end 1 blocked
  replay    loopspec replay w.scenario"""


def test_a_finding_reads_like_this() -> None:
    """Promise, subject, what it did, what was allowed, the witness, why, and what to type."""
    short = reduced("requeue-on-reject", REJECT)

    text = explain(short, "python (0.1.0)", 4217, 41, "loopspec replay w.scenario")

    expected = EXPECTED.format(rules=" ".join(short.finding.rules))
    assert expected == text


def test_without_seed_or_reduction_nothing_is_made_up() -> None:
    """A scenario given by hand has no seed and was not shrunk."""
    short = attrs.evolve(reduced("requeue-on-reject", REJECT), minimal="no")

    text = explain(short, "python", None, 2, "replay it")

    assert "seed" not in text
    assert "shrunk" not in text
    assert "witness   2 actions; not reduced" in text


def finding(code: str, *allowed: str) -> Finding:
    """A finding of that code."""
    return Finding(code, (), (), "it did", "it", allowed, 0)


def test_it_is_told_whether_inclusion_or_a_property_saw_it() -> None:
    """A property that reports by itself is stronger evidence than a trace that differs."""
    assert "trace inclusion alone" == seen_by(finding(TRACE, "x"))
    assert seen_by(finding("REJ", "x")).startswith("REJ and trace inclusion")
    assert seen_by(finding("REJ")).startswith("REJ by itself")


def test_a_scenario_fits_one_line() -> None:
    """For verdicts and logs."""
    assert "followup A; pre-step: reject" == witness_line(parse_scenario(REJECT))


def test_what_a_subject_says_of_itself_cannot_act_on_a_terminal_or_a_log() -> None:
    """No escape sequence and no command of a hosted log: the same filter as every report."""
    short = reduced("requeue-on-reject", REJECT)

    text = explain(short, "evil \x1b[2J ##[error]x", None, 2, "::error::x")

    assert "evil \\x1b[2J #\\x23[error]x" in text
    assert all(each.isprintable() for each in text.split("\n"))
