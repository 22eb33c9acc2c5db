"""A run as JUnit XML, for CI systems.

Rules of this file: one test case a property and one a stage; *inconclusive*, *unknown* and *error*
are errors, never passes; *skipped* stays skipped. What XML 1.0 forbids is made visible before it is
written, since the standard library writes it without a word and the file then does not parse.
"""

import xml.etree.ElementTree as ET

from loopspec.conformance.explain import SCENARIO
from loopspec.reports.run import Finding, PartVerdict, Run
from loopspec.reports.text import clean, clean_lines
from loopspec.reports.words import (
    VERDICT_SENTENCES,
    fields_of,
    subject_words,
    verdict_line,
)


def to_junit(run: Run) -> str:
    """The document as text."""
    subject = clean(subject_words(run), 120)
    suite = ET.Element("testsuite", name=f"loopspec {clean(run.verb, 40)} {subject}")
    # The run has a case of its own: its verdict may be worse than that of any part.
    add_case(suite, "loopspec.run", "verdict", run.verdict, verdict_line(run), run.seconds)
    for stage in run.stages:
        add_case(suite, "loopspec.stage", stage.name, stage.verdict, stage.note, stage.seconds)
    for entry in run.properties:
        case = add_case(
            suite, "loopspec.property", entry.code, entry.verdict, entry.note or entry.sentence
        )
        for finding in run.findings:
            if finding.property == entry.code:
                _tell(case, run, finding)
    known = {entry.code for entry in run.properties}
    for finding in run.findings:
        if finding.property not in known:
            name = f"{finding.property} {finding.id}"
            case = add_case(suite, "loopspec.finding", name, "broken", finding.title)
            _tell(case, run, finding)
    return document_of(suite, run.seconds, run.started)


def document_of(suite: ET.Element, seconds: float, started: str = "") -> str:
    """A suite with its counts as a document; it is parsed again before anybody gets it."""
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    for tag, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{seconds:.3f}")
    if started:
        suite.set("timestamp", clean(started, 40).removesuffix("Z"))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    ET.fromstring(text)  # the library writes what it cannot read
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def add_case(
    suite: ET.Element,
    group: str,
    name: str,
    verdict: PartVerdict,
    message: str,
    seconds: float = 0.0,
) -> ET.Element:
    """Add one case; only `holds` passes."""
    case = ET.SubElement(
        suite, "testcase", classname=group, name=clean(name, 120), time=f"{seconds:.3f}"
    )
    if verdict == "broken":
        text = message or VERDICT_SENTENCES["broken"]
        ET.SubElement(case, "failure", type="broken", message=clean(text))
    elif verdict == "skipped":
        ET.SubElement(case, "skipped", message=clean(message))
    elif verdict != "holds":
        text = message or VERDICT_SENTENCES.get(verdict, verdict)
        ET.SubElement(case, "error", type=verdict, message=clean(text))
    return case


def _tell(case: ET.Element, run: Run, finding: Finding) -> None:
    """Put the witness into the failure of a case; a case without one gets it."""
    failure = case.find("failure")
    if failure is None:
        failure = ET.SubElement(case, "failure", type="broken", message=clean(finding.title))
    lines = [clean(finding.title)]
    for label, values in fields_of(run, finding):
        if label == SCENARIO:
            lines += [f"| {text}" for text in clean_lines(finding.scenario)]
        else:
            lines += [f"{label}: {clean(each)}" for each in values]
    failure.text = (failure.text or "") + "\n".join(["", *lines, ""])
