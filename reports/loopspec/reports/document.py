"""A run as one JSON document, for tools: the content of `run.json`, validated and normal.

Rules of this file: ASCII only, so that no string of a subject reaches a terminal as itself.
"""

import msgspec

from loopspec.reports.run import Run
from loopspec.reports.text import json_text


def to_json(run: Run) -> str:
    """The document as text, keys in the order of the format."""
    return json_text(msgspec.to_builtins(run), 2)
