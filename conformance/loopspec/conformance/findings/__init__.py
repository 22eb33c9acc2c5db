"""The registry of findings about loops that are not ours."""

from loopspec.conformance.findings.findings import (
    Deviation,
    FindingsError,
    Known,
    load_deviations,
    load_findings,
    shows,
)

__all__ = ["Deviation", "FindingsError", "Known", "load_deviations", "load_findings", "shows"]
