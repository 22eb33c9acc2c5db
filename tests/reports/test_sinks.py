"""Payloads in every string of a log, through every sink: shown, and acted on by nobody.

The other readers are asked themselves: an XML reader, a Markdown reader, a browser.
"""

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from loopspec.conformance.trace import Finding, Judged, Limits, Tail
from loopspec.conformance.trace.notation import log_of
from loopspec.conformance.visible import clean, whole_characters
from loopspec.reports import to_json, to_junit
from loopspec.reports.run import decode_run
from loopspec.reports.terminal import lines_of
from loopspec.reports.text import json_text, printed
from loopspec.reports.timeline import timeline_page
from loopspec.reports.traced import Traced, traced_document, traced_lines
from loopspec.reports.traced_files import code_span, traced_junit, traced_markdown
from tests.reports import samples
from tests.reports.payloads import ACTING, PAYLOADS, needs_plain


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


MARKDOWN: Final = MarkdownIt("gfm-like", {"linkify": False})
"""Tables and strike-through as forges have them; links are found by them in plain text only."""


def rendered(text: str) -> tuple[set[str], str, list[str]]:
    """What a reader of Markdown makes of a text: kinds of parts, plain text, code spans."""
    kinds, plain, spans = set[str](), "", list[str]()
    for block in MARKDOWN.parse(text):
        kinds.add(block.type)
        for part in block.children or ():
            kinds.add(part.type)
            if part.type == "code_inline":
                spans.append(part.content)
            else:
                plain += part.content
    return kinds, plain, spans


OUR_PARTS: Final = re.compile(
    r"(?:heading|paragraph|table|thead|tbody|tr|th|td|bullet_list|list_item|strong)_(?:open|close)"
    r"|inline|text|code_inline"
)


def test_markdown_shows_foreign_text_in_code_spans_only() -> None:
    """As it is, and outside of spans stand our own words: no link, no name, no tag, no number."""
    for payload in PAYLOADS:
        kinds, plain, spans = rendered(traced_markdown(run_of(payload)))
        assert not {kind for kind in kinds if not OUR_PARTS.fullmatch(kind)}, payload
        assert re.fullmatch(r"[\w\s:,]*", plain), (payload, plain)
        shown = clean(payload, 200).replace("|", "\\x7c")
        assert 3 <= spans.count(shown) + spans.count(shown.strip()), (payload, spans)


NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
PIECES: Final = (
    *(each for each in PAYLOADS if len(each) < 100),
    *(
        "::",
        ":",
        "#",
        "##",
        "[",
        "]",
        "\x1b",
        "\x9b",
        "`",
        "\\",
        "|",
        "\u3000",
        "\xa0",
        "section_",
        "x",
    ),
)
STRINGS: Final = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)


@settings(
    max_examples=20_000 if NIGHT else 1_000, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(text=STRINGS, place=st.sampled_from(("", "a", "because  ", " ")))
def test_no_generated_string_is_a_command_or_an_escape(text: str, place: str) -> None:
    """Wherever it stands in a line, and however it was put together."""
    needs_plain(printed([place + text, f"{place}{clean(text)} {clean(text)}"]))
    needs_plain(json_text({text: [place + text]}))
    needs_plain(code_span(text))
    assert not re.search("\n", clean(text))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=STRINGS)
def test_no_generated_string_acts_in_a_whole_report(text: str) -> None:
    """Of a log and of a run, in each form."""
    for sink in SINKS.values():
        needs_plain(sink(run_of(text)))
    run = decode_run(whole_characters(json.dumps(samples.hostile(text))).encode())
    needs_plain("".join(f"{line}\n" for line, _ in lines_of(run, cells=True)))
    for form in (to_junit, to_json):
        needs_plain(form(run))


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
