"""Text that everybody reads alike: lone surrogates are spelled out where JSON is written."""

import json

import pytest

from loopspec.conformance.visible import whole_characters


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\ud800", "\\ud800"),
        ("a\udfffb", "a\\udfffb"),
        ("\udc00\ud800", "\\udc00\\ud800"),
        ("\\\ud800", "\\\\ud800"),
        ("\\ud800", "\\ud800"),
        ("\\\\u", "\\\\u"),
        ("\U0001f600\udead", "\U0001f600\\udead"),
        ("plain", "plain"),
    ],
)
def test_a_lone_surrogate_is_spelled_out(text: str, read: str) -> None:
    """Pairs and backslashes stay as they are."""
    written = whole_characters(json.dumps({text: [text]}))

    assert {read: [read]} == json.loads(written)
    written.encode("utf-8")
