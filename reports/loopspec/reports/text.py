"""Make any string of a subject safe to show.

Rules of this file: a subject's strings are data. They reach a terminal, a page or an XML file only
through `clean` (or `clean_lines`), at the sink, whatever was done to them before. Escaping early is
escaping in some places; the sink is one place.

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

# Hosted CI reads commands out of log lines: `##[…]` anywhere in a line, `##vso[…]` and
# `##teamcity[…]` alike. One escaped character is enough to make them plain text.
_LOG_COMMAND: Final = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)


def clean(text: str, limit: int = LIMIT) -> str:
    """One line of printable characters that reads as what was sent.

    Longer text ends in `… (n more)`, with n counted in characters of the original.
    """
    cut = len(text) - limit
    shown = text[:limit] if cut > 0 else text
    if not shown.isprintable():
        shown = "".join(_visible(char) for char in shown)
    shown = _LOG_COMMAND.sub(r"#\\x23", shown)
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
