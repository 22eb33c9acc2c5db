"""What logs are expected to give, as a file beside them: `expected.toml`.

    [logs."queue.jsonl"]
    verdict = "holds"

    [logs."broken-claim.jsonl"]
    verdict = "broken"
    rule = "CL-01"
    record = 9

Every log of the folder stands in it and every entry has its log; `rule` and `record` may be left
out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from loopspec.conformance.trace.reading import NotALog
from loopspec.conformance.trace.verdicts import Judged

__all__ = ["read_expected", "unexpected"]

KEYS: Final = {"verdict": str, "rule": str, "record": int}
VERDICTS: Final = ("holds", "broken", "unknown", "skipped", "not a log")


def read_expected(path: Path) -> dict[str, dict[str, Any]]:
    """The expectations of a file, by the name of the log.

    Raises NotALog with one sentence when the file says nothing that could be compared.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise NotALog(f"expected a TOML file of expectations, got {path}: {why}") from error
    logs = document.get("logs")
    if not isinstance(logs, dict) or not logs or document.keys() - {"logs"}:
        raise NotALog(f"{path}: expected one table 'logs' with an entry for each log")
    for name, entry in logs.items():
        if not isinstance(entry, dict) or entry.get("verdict") not in VERDICTS:
            verdicts = ", ".join(VERDICTS)
            raise NotALog(f"{path}: {name}: expected a verdict, one of {verdicts}")
        for key, value in entry.items():
            if key not in KEYS or type(value) is not KEYS[key]:
                raise NotALog(f"{path}: {name}: {key} = {value!r} is no expectation")
    return logs


def unexpected(logs: Sequence[Judged], expected: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What is otherwise than expected, one sentence a log."""
    seen = set()
    for log in logs:
        name = Path(log.name).name
        seen.add(name)
        entry = expected.get(name)
        if entry is None:
            yield f"{name} is {log.verdict}, nothing was expected of it"
            continue
        found = log.finding
        if entry["verdict"] != log.verdict:
            yield f"{name} is {log.verdict}, expected {entry['verdict']}"
        elif "rule" in entry and (found is None or entry["rule"] not in (found.code, *found.rules)):
            rules = " ".join(found.rules) if found is not None else "no rule"
            yield f"{name} breaks {rules}, expected {entry['rule']}"
        elif "record" in entry and (found is None or entry["record"] != found.line):
            where = found.where if found is not None else "no record"
            yield f"{name} is broken at {where}, expected record {entry['record']}"
    for name in expected:
        if name not in seen:
            yield f"{name} is expected to be {expected[name]['verdict']}, there is no such log"
