"""What the genuine upstream loop was seen to do, scenario by scenario, as data."""

from loopspec.conformance.upstream.observed import (
    Expected,
    Observed,
    ObservedError,
    load_observed,
    parse_observed,
    told_by,
)

__all__ = [
    "Expected",
    "Observed",
    "ObservedError",
    "load_observed",
    "parse_observed",
    "told_by",
]
