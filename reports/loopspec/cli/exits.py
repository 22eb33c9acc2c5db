"""Exit codes, and the exception by which a verb says that it could not run."""

import contextlib
import sys
from typing import Final

HOLDS: Final = 0
BROKEN: Final = 1
COULD_NOT_RUN: Final = 2
INCONCLUSIVE: Final = 3
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""The reader of our output went away (128 + SIGPIPE); no verdict, so none of 0 to 3."""


class CouldNotRun(Exception):
    """The caller's misuse or the machine's refusal: one sentence, perhaps a hint; exit code 2."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        """Keep both parts; the text of the exception is the sentence."""
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


def show(sentence: str, hint: str = "") -> None:
    """Say on stderr why there is no result. Paths and options in it are cleaned like any text."""
    from loopspec.reports.text import clean

    text = f"loopspec: {clean(sentence.removeprefix('loopspec: '), 1000)}\n"
    say(text + (f"  hint: {clean(hint, 1000)}\n" if hint else ""))


def say(text: str) -> None:
    """Write to stderr if it takes it; the exit code is there all the same."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
