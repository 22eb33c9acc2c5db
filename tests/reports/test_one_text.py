"""What a finding says is the same for terminal, page, JUnit and a failing test."""

import html
import io
import re
import xml.etree.ElementTree as ET

import msgspec

from loopspec.conformance.explain import SCENARIO, explain, labelled
from loopspec.reports import decode_run, to_html, to_junit
from loopspec.reports.run import Finding, Run
from loopspec.reports.terminal import print_run
from loopspec.reports.words import fields_of
from tests.conformance.checks import REJECT, reduced
from tests.reports import samples

RUN = decode_run(samples.encoded(samples.broken()))


def printed(run: Run) -> str:
    """What a terminal shows."""
    file = io.StringIO()
    print_run(run, file, "report.html")
    return file.getvalue()


def squeezed(text: str) -> str:
    """Without markup and with single blanks."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_terminal_page_and_junit_show_every_line_of_a_finding() -> None:
    """In the words of the one function, so that none of them can say less or otherwise."""
    (finding,) = RUN.findings
    terminal, page = printed(RUN), squeezed(to_html(RUN))
    junit = "".join(ET.fromstring(to_junit(RUN)).itertext())

    fields = fields_of(RUN, finding)

    assert [label for label, _ in fields][:1] == ["subject"]
    for label, values in fields:
        assert "\n".join(labelled(label, values)) in terminal
        for value in values:
            assert value in junit
            if label in ("because", "did", "allowed", "witness", "replay"):
                assert " ".join(value.split()) in page, label
        assert label == SCENARIO or f"{label}: {values[0]}" in junit


def test_a_failing_test_and_the_terminal_say_the_same() -> None:
    """Line by line, for a finding that went through a run folder."""
    short = reduced("requeue-on-reject", REJECT)
    assert short.minimal == "exhaustive"
    found = short.finding
    finding = Finding(
        id="REJ-1",
        property=found.code,
        sentence=found.sentence,
        title=found.however,
        codes=tuple(each.code for each in short.outcome.findings),
        seen_by="REJ and trace inclusion; first the rules of what is allowed there",
        rules=found.rules,
        because=found.because,
        however=found.however,
        did=found.did,
        allowed=found.allowed,
        scenario=str(short.scenario),
        length=2,
        shrunk_from=41,
        minimal="exhaustive",
        replay="replay it",
    )
    run = msgspec.structs.replace(RUN, findings=(finding,), seed=7, profile="notes")
    subject = f"{run.subject.name} {run.subject.version}" if run.subject else "-"

    text = explain(short, subject, 7, 41, "replay it")

    assert text in printed(run)


def test_what_is_empty_has_no_label() -> None:
    """A finding without a rule, a cause or a replay leaves these lines out."""
    bare = msgspec.structs.replace(
        RUN.findings[0], rules=(), because=(), however="", title="", did="", replay="", codes=()
    )
    labels = {label for label, _ in fields_of(RUN, bare)}

    assert labels <= {"subject", "seen by", "known as", "witness", SCENARIO, "allowed"}
