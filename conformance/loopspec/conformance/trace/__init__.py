"""Session logs of any version, checked against the specification.

`judge_log(path)` reads one log through the one door for bytes (`reading`, `decoding`, `records`),
follows it in every reading that its shape leaves open (`judging`, `following`), and asks for each
record the log relations (`relations`) and the model's table (`acceptor`).
"""

from loopspec.conformance.trace.acceptor import Acceptor
from loopspec.conformance.trace.following import Options
from loopspec.conformance.trace.judging import Judge, judge_log, judge_records
from loopspec.conformance.trace.reading import Limits, NotALog
from loopspec.conformance.trace.verdicts import Finding, Judged, Tail
from loopspec.conformance.trace.walking import Found, find_logs

__all__ = [
    "Acceptor",
    "Finding",
    "Found",
    "Judge",
    "Judged",
    "Limits",
    "NotALog",
    "Options",
    "Tail",
    "find_logs",
    "judge_log",
    "judge_records",
]
