"""The pages in a real browser, from disk: no payload runs, asks, leads away or is left out.

The browser is Debian's Chromium, driven by Playwright; where it is missing these tests are skipped,
unless LOOPSPEC_REQUIRE names `chromium`.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from loopspec.conformance.trace import Limits
from loopspec.conformance.trace.notation import log_of
from loopspec.conformance.visible import clean, whole_characters
from loopspec.reports.html import to_html
from loopspec.reports.run import decode_run
from loopspec.reports.timeline import timeline_page
from tests.reports import samples
from tests.reports.payloads import PAYLOADS
from tests.reports.test_sinks import hostile

NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
TOGETHER: Final = 1 if NIGHT else 24
"""How many payloads share a page; at night each has its own."""

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WATCH: Final = """
window.told = [];
for (const name of ["securitypolicyviolation", "error", "unhandledrejection"])
  window.addEventListener(name, event => told.push(`${name} ${event.violatedDirective}`), true);
for (const name of ["alert", "confirm", "prompt", "open", "fetch"])
  window[name] = () => told.push(name);
"""
"""Runs before the page does; what it collects has to stay empty."""

GROUPS: Final = [PAYLOADS[at : at + TOGETHER] for at in range(0, len(PAYLOADS), TOGETHER)]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser with a profile of its own."""
    program = shutil.which("chromium")
    if program is None:
        if "chromium" in os.environ.get("LOOPSPEC_REQUIRE", "").split(","):
            pytest.fail("chromium is required by LOOPSPEC_REQUIRE and not installed")
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("browser"),
            executable_path=program,
            args=list(FLAGS),
            ignore_default_args=["--enable-automation"],
            timeout=120_000,
        )
        opened.add_init_script(WATCH)
        yield opened
        opened.close()


def looked_at(context: Any, path: Path) -> str:  # noqa: ANN401 - of an optional library
    """Open a page of ours from disk; nothing may happen but that. The text that it shows."""
    happened: list[str] = []

    def dismiss(dialog: Any) -> None:  # noqa: ANN401 - of an optional library
        happened.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page = context.new_page()
    page.on("dialog", dismiss)
    page.on("request", lambda request: happened.append(f"request {request.url}"))
    page.on("framenavigated", lambda frame: happened.append(f"navigation {frame.url}"))
    page.on("console", lambda message: happened.append(f"console {message.text}"))
    page.on("pageerror", lambda error: happened.append(f"error {error}"))
    page.on("popup", lambda popup: happened.append("popup"))
    page.goto(path.as_uri(), timeout=60_000)
    for _ in range(2):  # whatever a page does at once, it has done a frame later
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    happened += page.evaluate("() => window.told")
    frames = page.evaluate("() => [frames.length, document.scripts.length, document.images.length]")
    text = page.evaluate("() => document.body.textContent")
    title = page.title()
    page.close()
    address = path.as_uri()
    assert [f"request {address}", f"navigation {address}"] == happened
    assert frames[0] == frames[2] == 0
    assert frames[1] <= 1
    assert isinstance(text, str)
    return f"{title}\n{text}"


def test_the_browser_would_tell(context: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """A page on which a payload acts is caught: the watch is none that sees nothing."""
    for text in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<iframe src=x>"):
        path = tmp_path / "bad.html"
        path.write_text(f"<!doctype html><title>x</title><body>{text}")
        with pytest.raises(AssertionError):
            looked_at(context, path)


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_a_hostile_run_is_shown_as_text(group: int, context: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """Every payload in every string of a finding, one of them in all the rest of the page."""
    run = samples.hostile(GROUPS[group][0])
    run["findings"] = [samples.hostile(text)["findings"][0] for text in GROUPS[group]]
    run["reasons"] = list(GROUPS[group])
    path = tmp_path / "report.html"
    path.write_text(
        to_html(decode_run(whole_characters(json.dumps(run)).encode())), encoding="utf-8"
    )
    text = looked_at(context, path)

    assert text.startswith("broken: ")
    for payload in GROUPS[group]:
        assert clean(payload) in text, payload


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_a_hostile_log_is_shown_as_text(group: int, context: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """Payloads as the name, the reason and the notes of a log, and as ids in its records."""
    ids = [text for text in GROUPS[group] if not any("\ud800" <= c <= "\udfff" for c in text)]
    content = b"".join(
        log_of("+T[A] {1 -T[A] }1:blocked").replace(b'"A"', json.dumps(each).encode())
        for each in ids or ["A"]
    )
    log = attrs.evolve(hostile(GROUPS[group][0]), notes=GROUPS[group])
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    page = tmp_path / "page.html"
    page.write_text(timeline_page(log, path, Limits()), encoding="utf-8")
    text = looked_at(context, page)

    for payload in GROUPS[group]:
        assert clean(payload, 300) in text, payload
