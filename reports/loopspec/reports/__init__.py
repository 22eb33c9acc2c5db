"""Reports: what people and tools read. Pure functions of a run folder; nothing here runs a subject.

The public names load their modules when they are first asked for, so that importing this part
costs nothing to a program that renders nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopspec.reports.document import to_json
    from loopspec.reports.html import to_html
    from loopspec.reports.junit import to_junit
    from loopspec.reports.run import ReportError, Run, decode_run, read_run
    from loopspec.reports.terminal import closing_lines, print_run
    from loopspec.reports.text import clean, clean_lines

__all__ = [
    "ReportError",
    "Run",
    "clean",
    "clean_lines",
    "closing_lines",
    "decode_run",
    "print_run",
    "read_run",
    "to_html",
    "to_json",
    "to_junit",
]

_HOMES = {
    "ReportError": "run",
    "Run": "run",
    "clean": "text",
    "clean_lines": "text",
    "closing_lines": "terminal",
    "decode_run": "run",
    "print_run": "terminal",
    "read_run": "run",
    "to_html": "html",
    "to_json": "document",
    "to_junit": "junit",
}


def __getattr__(name: str) -> object:
    """Load the module of a public name."""
    home = _HOMES.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{home}"), name)
