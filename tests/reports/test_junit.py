"""JUnit XML: it parses, counts, and never shows a doubtful run as a pass."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from loopspec.reports.junit import to_junit
from loopspec.reports.run import decode_run
from tests.reports import samples
from tests.reports.samples import encoded


def suite_of(run: dict[str, Any]) -> ET.Element:
    """The one suite of a run, parsed again from its text."""
    suite = ET.fromstring(to_junit(decode_run(encoded(run))).encode()).find("testsuite")
    assert suite is not None
    return suite


@pytest.mark.parametrize("name", samples.ALL)
def test_the_counts_are_those_of_the_cases(name: str) -> None:
    """What a CI system sums up is what stands there, and hostile text parses too."""
    suite = suite_of(samples.ALL[name]())

    assert len(suite.findall("testcase")) == int(suite.get("tests", ""))
    for tag, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert len(suite.findall(f"testcase/{tag}")) == int(suite.get(key, ""))


@pytest.mark.parametrize(
    ("name", "failures", "errors"), [("holds", 0, 0), ("broken", 3, 0), ("inconclusive", 0, 3)]
)
def test_inconclusive_is_an_error_and_broken_a_failure(
    name: str, failures: int, errors: int
) -> None:
    """The run itself, the stage and the property each count."""
    suite = suite_of(samples.ALL[name]())

    assert (str(failures), str(errors)) == (suite.get("failures"), suite.get("errors"))


def test_a_run_that_could_not_be_made_is_an_error() -> None:
    """Exit 2 is no failure of the subject."""
    suite = suite_of(samples.holds() | {"verdict": "error", "exit": 2, "reasons": ["no disk"]})

    assert ("0", "1") == (suite.get("failures"), suite.get("errors"))


def test_a_failure_holds_the_witness() -> None:
    """A reader of the XML needs no other file to see what happened."""
    (failure,) = suite_of(samples.broken()).findall("testcase[@name='REJ']/failure")

    assert "| followup A\n| pre-step: reject\n" in (failure.text or "")
    assert "replay: loopspec replay" in (failure.text or "")


def test_a_finding_of_an_unlisted_property_is_not_lost() -> None:
    """Trace inclusion, for example, is no property of the list."""
    run = samples.broken()
    run["findings"][0]["property"] = "INCLUSION"
    run["properties"][2]["verdict"] = "holds"

    assert suite_of(run).find("testcase[@name='INCLUSION F1']/failure") is not None
