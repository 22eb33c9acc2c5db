"""Code blocks of documents, so that a test can run what a reader would copy."""

import re
from pathlib import Path


def code_blocks(page: Path, language: str = "python") -> list[str]:
    """The blocks of a language on a page, in order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def code_block(page: Path, word: str, language: str = "python") -> str:
    """The one block that holds this word."""
    found = [block for block in code_blocks(page, language) if word in block]
    assert 1 == len(found), f"{page.name} has {len(found)} {language} blocks with {word!r}"
    return found[0]
