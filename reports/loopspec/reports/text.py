"""Make any string of a subject safe to show.

Rules of this file: a subject's strings are data. They reach a terminal, a page or an XML file only
through `clean` (or `clean_lines`), at the sink, whatever was done to them before. Escaping early is
escaping in some places; the sink is one place.

What is made visible instead of sent: control characters (C0, C1, DEL, so every escape sequence),
format characters (bidi controls, zero-width characters), line and paragraph separators, lone
surrogates, private and unassigned code points. `rich` is no filter for these: it lets ESC, C1 and
bidi controls pass.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
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
LINE_LIMIT: Final = 20_000
"""Longest line that a verb prints."""


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


def clean_lines(text: str, limit: int = LIMIT, lines_max: int = 400) -> list[str]:
    """The lines of a text, each of them cleaned; no more than `lines_max`."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown = [clean(line, limit) for line in lines[:lines_max]]
    if len(lines) > lines_max:
        shown.append(f"… ({len(lines) - lines_max} more lines)")
    return shown


def printed(lines: Iterable[str]) -> str:
    """What a verb prints: each line cleaned once more, whatever was done to its parts."""
    return "".join(f"{clean(line, LINE_LIMIT)}\n" for line in lines)


def json_text(document: object, indent: int = 1) -> str:
    """A document as JSON in which no log of a CI reads a command; it reads back the same."""
    text = json.dumps(document, ensure_ascii=True, indent=indent)
    return text.replace("##", "#\\u0023").replace("section_", "section\\u005f") + "\n"


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
