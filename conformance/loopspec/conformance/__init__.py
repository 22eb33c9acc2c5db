"""The judge: any subject against the specification.

`run_conformance` is the public door; everything else is for adapters and tools.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopspec.conformance.door import ConformanceError as ConformanceError
    from loopspec.conformance.door import run_conformance as run_conformance
    from loopspec.conformance.subjects.contract import Subject as Subject

_HOMES = {
    "ConformanceError": "door",
    "run_conformance": "door",
    "Subject": "subjects.contract",
}

__all__ = ["ConformanceError", "Subject", "run_conformance"]


def __getattr__(name: str) -> object:
    """A public name, loaded from its module when it is first used."""
    from importlib import import_module

    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"loopspec.conformance.{_HOMES[name]}"), name)
