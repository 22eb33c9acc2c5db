"""Make whole texts of a subject safe to show.

Rules of this file: a subject's strings are data. They reach a terminal, a page or an XML file only
through `clean` (or `clean_lines`), at the sink, whatever was done to them before. Escaping early is
escaping in some places; the sink is one place.
"""

import json
from collections.abc import Iterable
from typing import Final

from loopspec.conformance.visible import LIMIT, clean

__all__ = ["LIMIT", "LINE_LIMIT", "clean", "clean_lines", "json_text", "printed"]

LINE_LIMIT: Final = 20_000
"""Longest line that a verb prints."""


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
