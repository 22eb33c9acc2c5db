"""Two folds of consumed work, written apart, say the same of every session of the corpus."""

from pathlib import Path

import pytest

from loopspec.conformance.corpus import CorpusEntry, load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.subjects.contract import need_of
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.impl import SessionLog, consumed_work
from loopspec.model.consumed import consumed
from loopspec.model.words import FIRST, Observation

CALM = [
    each
    for each in load_corpus()
    if all(need_of(line.action) != "crashes" for line in each.scenario.lines)
]
"""Where one trace is one log: a crash loses records that were told, a fork goes on in another."""


@pytest.mark.parametrize("entry", CALM, ids=lambda entry: entry.name)
def test_model_and_loop_agree_on_consumed_work(entry: CorpusEntry, tmp_path: Path) -> None:
    """CW-01 to CW-06: of what listeners were told, and of what is in the log."""
    subject = PythonSubject(folder=tmp_path)
    told = [
        each
        for each in run_scenario(subject, entry.scenario).trace
        if isinstance(each, Observation) and each.kind == "record" and each.listener == FIRST
    ]
    assert subject.log_path is not None
    with SessionLog.open(subject.log_path, writer="inline") as log:
        # Behind these is what closing the session has added.
        work = consumed_work(log.read()[: len(told)])

    folded = consumed(told)
    assert (folded.turn, folded.dropped) == (max(work.turns, default=0), work.dropped)
