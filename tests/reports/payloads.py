"""Sixty payloads and more, and what may not be left of them where somebody reads it.

What a terminal or the runner of a CI would act on is told by rules of their own, which are written
here again and not taken from the product.
"""

import re
from typing import Final

PAYLOADS: Final = (
    *("\x1b[5;8mhidden", "\x1b[31mred\x1b[0m", "\x1b]52;c;eA==\x07", "\x1b[?1049h", "\x1bPq\x1b\\"),
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


def runner_commands(line: str) -> list[str]:
    """What a hosted CI would take for a command in one line of a log."""
    found = re.findall(r"##\[|##vso\[|##teamcity\[|section_(?:start|end):", line, re.IGNORECASE)
    return found + re.findall(r"^\s*::.*::", line)


ACTING: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\uffff\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff]"
)


def needs_plain(text: str) -> None:
    """Nothing in it moves a cursor, hides a character or speaks to a runner."""
    assert not ACTING.search(text)
    for line in text.split("\n"):
        assert [] == runner_commands(line)
    text.encode("utf-8")
