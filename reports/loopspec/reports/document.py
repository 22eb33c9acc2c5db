"""A run as one JSON document, for tools: the content of `run.json`, validated and normal.

Rules of this file: ASCII only, so that no string of a subject reaches a terminal as itself.
"""

import json

import msgspec

from loopspec.reports.run import Run


def to_json(run: Run) -> str:
    """The document as text, keys in the order of the format."""
    return json.dumps(msgspec.to_builtins(run), indent=2, ensure_ascii=True) + "\n"
