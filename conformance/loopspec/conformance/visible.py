"""Make any string of a subject safe to show: the one filter of every text that people read.

What is made visible instead of sent: control characters (C0, C1, DEL, so every escape sequence),
format characters (bidi controls, zero-width characters), line and paragraph separators, lone
surrogates, private and unassigned code points. `rich` is no filter for these: it lets ESC, C1 and
bidi controls pass.
"""

import re
import unicodedata
from typing import Final

LIMIT: Final = 400
"""Longest cleaned string by default, in characters."""

_SEPARATORS: Final = frozenset({"Zl", "Zp"})
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# Hosted CI reads commands out of log lines: `##[…]` anywhere in a line, `##vso[…]`, `##teamcity[…]`
# and `section_start:…` alike, `::name::` at its start. One escaped character is enough to make them
# plain text.
_LOG_COMMAND: Final = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
_LOG_SECTION: Final = re.compile(r"(section_(?:start|end)):", re.IGNORECASE)
_LOG_WORD: Final = re.compile(r"^(\s*)::")


_ESCAPES: Final = re.compile(
    r"(\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|(\\)(ud[89a-f][0-9a-f]{2})"
)
"""In ASCII JSON: what may stand, an escaped backslash or a pair; and a surrogate that is alone."""


def whole_characters(json_text: str) -> str:
    """ASCII JSON in which lone surrogates are spelled out, since no strict reader takes them."""
    if "\\ud" not in json_text:
        return json_text
    return _ESCAPES.sub(lambda found: found[1] or rf"\\{found[3]}", json_text)


def clean(text: str, limit: int = LIMIT) -> str:
    """One line of printable characters that reads as what was sent.

    Longer text ends in `… (n more)`, with n counted in characters of the original.
    """
    cut = len(text) - limit
    shown = text[:limit] if cut > 0 else text
    if not shown.isprintable():
        shown = "".join(_visible(char) for char in shown)
    shown = _LOG_COMMAND.sub(r"#\\x23", shown)
    shown = _LOG_SECTION.sub(r"\1\\x3a", _LOG_WORD.sub(r"\1:\\x3a", shown))
    return f"{shown}… ({cut} more)" if cut > 0 else shown


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if not category.startswith("C") and category not in _SEPARATORS:
        return char
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
