"""The page: complete without scripts, no outside resource, and harmless whatever a subject says."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from loopspec.reports.html import to_html
from loopspec.reports.run import decode_run
from tests.reports import samples
from tests.reports.samples import encoded


class Page(HTMLParser):
    """The elements and the visible text of a page."""

    def __init__(self, text: str) -> None:
        """Parse."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._quiet = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._quiet = tag

    def handle_endtag(self, tag: str) -> None:
        """Text counts again after a script."""
        if tag == self._quiet:
            self._quiet = ""

    def handle_data(self, data: str) -> None:
        """Keep visible text."""
        if not self._quiet:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All visible text, white space folded."""
        return " ".join(" ".join(self.words).split())


def page_of(name: str) -> Page:
    """The parsed page of a sample."""
    return Page(html_of(name))


def html_of(name: str) -> str:
    """The page of a sample."""
    return to_html(decode_run(encoded(samples.ALL[name]())))


@pytest.mark.parametrize("name", samples.ALL)
def test_the_page_asks_for_nothing(name: str) -> None:
    """No element can load, run, embed or submit, and links stay on the page."""
    page = page_of(name)

    allowed = {"html", "head", "meta", "title", "style", "script", "body", "a", "svg", "meter"}
    assert not {tag for tag, _ in page.tags} & {"img", "link", "iframe", "object", "form", "base"}
    assert allowed >= {tag for tag, _ in page.tags} & (allowed | {"image", "use", "foreignobject"})
    for tag, attributes in page.tags:
        assert not {"src", "style", "srcset", "xlink:href"} & set(attributes), tag
        assert not [key for key in attributes if key.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#"), tag


def test_the_policy_allows_our_style_and_script_by_their_hashes_only() -> None:
    """Nothing else on the page may style or run."""
    text = html_of("broken")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None

    for tag in ("style", "script"):
        (body,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]


def test_a_hostile_subject_stays_text() -> None:
    """Tags arrive escaped, control characters spelled out, long strings cut."""
    text = html_of("hostile")

    assert "<script>document" not in text
    assert "<img" not in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)
    assert "&lt;script&gt;document" in text
    assert "{{7*7}}" in text
    assert "z" * 3000 not in text
    assert 1 == text.count("<script>")


def test_every_line_of_a_witness_is_there_with_lists_and_status() -> None:
    """The diagram is a table: number, picture and the same as text, both lists, status."""
    run = samples.broken()
    text = page_of("broken").text

    for entry in run["findings"][0]["diagram"]:
        assert f"{entry['from']} → {entry['to']} {entry['kind']} {entry['label']}" in text
    assert 1 == text.count("Here subject and model part.")
    assert "The model has record turn/end turn 1 blocked ; the subject inserted A" in text


def test_the_pictures_are_well_formed() -> None:
    """Each picture parses on its own and holds no element that could do anything."""
    pictures = re.findall("<svg.*?</svg>", html_of("hostile"), re.DOTALL)

    assert len(pictures) > len(samples.broken()["findings"][0]["diagram"])
    for picture in pictures:
        tags = {element.tag for element in ET.fromstring(picture).iter()}
        assert {"svg", "line", "polygon", "text", "rect", "circle"} >= tags


def test_the_verdict_comes_first_with_its_reasons() -> None:
    """A pass that means nothing is told before anything else."""
    text = page_of("inconclusive").text

    assert text.index("the canary survived") < text.index("Properties")
    assert "Not enough was tried" in text


def test_the_table_of_calls_marks_what_was_never_reached() -> None:
    """Enabled and never reached is 0; not enabled is a dot."""
    page = page_of("holds")
    missed = [cell for cell in samples.cells() if cell["enabled"] and not cell["reached"]]

    marked = [tag for tag, attributes in page.tags if attributes.get("class") == "missed"]
    assert len(missed) == len(marked)
    assert f"{len(missed)} cells that the model enables were never reached" in page.text


def test_terminal_and_page_give_the_same_replay_command() -> None:
    """One verdict object, all outputs from it."""
    assert samples.broken()["replay"] in page_of("broken").text
