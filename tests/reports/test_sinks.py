"""Payloads in every string of a log, through every sink: shown, and acted on by nobody.

What a terminal, a browser, an XML reader, a Markdown reader or the runner of a CI would act on is
told apart by rules of their own, which are written here again and not taken from the product.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import attrs
import pytest

from loopspec.conformance.trace import Finding, Judged, Limits, Tail
from loopspec.conformance.trace.notation import log_of
from loopspec.reports.text import json_text, printed
from loopspec.reports.timeline import timeline_page
from loopspec.reports.traced import Traced, traced_document, traced_lines
from loopspec.reports.traced_files import traced_junit, traced_markdown

PAYLOADS = (
    *("\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\y", "\x9b31m", "\x07\x08\x7f"),
    *(
        "a\nb",
        "a\r\nb",
        "a\rb",
        "a\tb",
        "a\x0bb",
        "a\x0cb",
        "a\x00b",
        "a\x85b",
        "a\u2028b",
        "a\u2029b",
    ),
    *("a\u202eb", "a\u2066b\u2069", "a\u200bb", "a\u200db", "a\ufeffb", "a\u00adb", "\u061ca"),
    *("\ud800", "\udfff", "a\ufffe", "a\uffff", "\U000e0001", "\ue000", "\U0001fffe"),
    *("::error::x", "  ::warning file=a::x", "::set-output name=a::b", "::stop-commands::x"),
    *("##[error]x", "a ##[group]b", "##vso[task.setvariable variable=a]b", "##VSO[x]y"),
    *("##teamcity[buildStatus text='x']", "section_start:1:x", "\x1b[0Ksection_end:1:x\r"),
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</title><script>", "</style>"),
    *("<!--", "]]>", "&lt;b&gt;", "'\"><svg onload=alert(1)>", "javascript:alert(1)", "{{ 7*7 }}"),
    *("{% raw %}", "`code`", "``` fence ```", "a | b", "[a](javascript:x)", "![a](http://x)"),
    *(
        "<b>@name #1</b>",
        "a" * 5_000,
        "http://example.invalid/",
        "=1+1",
        "-rf",
        "../x",
        "%0A::error::",
    ),
)


def hostile(text: str) -> Judged:
    """A log in which every string is the payload."""
    finding = Finding(text, (text,), text, 2, 1, text, text, text, (text,))
    tail = Tail(text, 3, (text,), (text,), 1)
    return Judged(
        name=text,
        verdict="broken",
        finding=finding,
        reason=text,
        shape=text,
        profiles=(text,),
        records=3,
        turns=1,
        tail=tail,
        notes=(text,),
        container=text,
    )


def run_of(text: str) -> Traced:
    """A run over two such logs, one of them without a finding, and an expectation."""
    other = attrs.evolve(hostile(text), verdict="unknown", finding=None)
    return Traced((hostile(text), other), (text,), 0.1)


def runner_commands(line: str) -> list[str]:
    """What a hosted CI would take for a command in one line of a log."""
    found = re.findall(r"##\[|##vso\[|##teamcity\[|section_(?:start|end):", line, re.IGNORECASE)
    return found + re.findall(r"^\s*::[a-z-]+.*::", line)


ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\uffff\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff]"
)


def needs_plain(text: str) -> None:
    """Nothing in it moves a cursor, hides a character or speaks to a runner."""
    assert not ACTING.search(text)
    for line in text.split("\n"):
        assert [] == runner_commands(line)
    text.encode("utf-8")


def terminal(traced: Traced) -> str:
    """What the verb prints."""
    single = Traced(traced.logs[:1], traced.expected)
    return printed(traced_lines(traced)) + printed(traced_lines(single))


SINKS: dict[str, Callable[[Traced], str]] = {
    "terminal": terminal,
    "json": lambda traced: json_text(traced_document(traced)),
    "junit": traced_junit,
    "markdown": traced_markdown,
}


@pytest.mark.parametrize("sink", SINKS)
def test_no_payload_acts_in_any_sink(sink: str) -> None:
    """Every field of a log, sixty payloads and more."""
    assert 60 <= len(PAYLOADS)
    for payload in PAYLOADS:
        needs_plain(SINKS[sink](run_of(payload)))


def test_json_reads_back_as_it_was() -> None:
    """Whatever was escaped for a log."""
    for payload in PAYLOADS:
        read = json.loads(json_text(traced_document(run_of(payload))))
        assert payload == read["logs"][0]["name"]


def test_junit_is_xml_with_the_same_cases() -> None:
    """Three of them, and nothing of a payload has become an element."""
    for payload in PAYLOADS:
        root = ET.fromstring(traced_junit(run_of(payload)))
        tags = {element.tag for element in root.iter()}
        assert 3 == len(list(root.iter("testcase")))
        assert {"testsuites", "testsuite", "testcase", "failure", "error"} == tags


def spans_of(line: str) -> str:
    """A line of Markdown without its code spans."""
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", line)


def test_markdown_holds_foreign_text_in_code_spans_only() -> None:
    """Outside them stand our own words, so that nothing becomes a link, a name or a tag."""
    words = re.compile(r"[\w\s*|:,.#()\-]*")
    for payload in PAYLOADS:
        for line in traced_markdown(run_of(payload)).split("\n"):
            rest = spans_of(line)
            assert words.fullmatch(rest), (payload, line)
            assert line.count("|") in (0, 6)


class Tags(HTMLParser):
    """Collects what a browser would see as elements and attributes."""

    def __init__(self, text: str) -> None:
        """Parse at once."""
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """One element."""
        self.tags.add(tag)
        for name, value in attributes:
            self.names.add(name)
            if name in ("href", "src"):
                self.links.add(value or "")


def test_no_payload_becomes_an_element_of_the_page(tmp_path: Path) -> None:
    """No script, no picture, no handler, no link that leads out; and one policy."""
    path = tmp_path / "log.jsonl"
    for payload in PAYLOADS:
        seen = "".join(c for c in payload if not "\ud800" <= c <= "\udfff" and c not in ", \n")
        path.write_bytes(
            log_of("+T[A] {1 -T[A] }1:blocked").replace(b'"A"', json.dumps(seen).encode())
        )
        page = timeline_page(hostile(payload), path, Limits())
        tags = Tags(page)
        assert not tags.tags & {"script", "img", "iframe", "object", "a:href", "form", "input", "b"}
        assert not {name for name in tags.names if name.startswith("on") or name == "style"}
        assert all(link.startswith("#") for link in tags.links)
        assert 1 == page.count("Content-Security-Policy")
        assert not ACTING.search(page)
