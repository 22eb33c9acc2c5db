"""What a run folder holds: evidence that is written first, and what is made of it.

`run.jsonl` has every scenario with its trace (`recorder`), and everything else can be made of it
again (`retrial`). For a look by hand there are one run of the subject, written before anything is
judged (`run.scenario`, its `run.trace.jsonl` and the session log `log.sqlite`, which can be read
and folded), and for each finding `witness-N.scenario` with `witness-N.trace.jsonl`. `run.json` is
what `loopspec.reports` reads.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sqlite3
from pathlib import Path
from typing import Any, Final

from loopspec.conformance.diagram import diagram
from loopspec.conformance.drive import Outcome
from loopspec.conformance.entries import trace_text
from loopspec.conformance.explain import seen_by
from loopspec.conformance.folder import write_whole
from loopspec.conformance.suite import Reported, Result
from loopspec.conformance.visible import whole_characters
from loopspec.model.properties import FAULT_PROPERTIES, PROPERTIES
from loopspec.model.table import TABLE

__all__ = ["EXITS", "run_document", "versions", "write_document", "write_evidence"]

FORMAT: Final = 1
EXITS: Final = {"holds": 0, "broken": 1, "error": 2, "inconclusive": 3}


def versions() -> dict[str, str]:
    """What a run depends on."""
    return {
        "loopspec": importlib.metadata.version("loopspec"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "hypothesis": importlib.metadata.version("hypothesis"),
    }


def property_json(result: Result) -> list[dict[str, Any]]:
    """How each property fared."""
    broken = {one.code for each in result.found for one in each.reduced.outcome.findings}
    broken |= set(result.codes)
    rows: list[dict[str, Any]] = []
    applied = result.applied
    for each in PROPERTIES:
        met = result.met.get(each.code, 0)
        verdict = "broken" if each.code in broken else "holds" if met else "unknown"
        note = "" if met else f"its premise was never met: {each.sometimes}"
        if each not in applied:
            is_fault = each in FAULT_PROPERTIES
            why = "no faults" if is_fault else f"it is no law of profile {result.profile}"
            verdict, note = "skipped", why
        rows.append(
            {
                "code": each.code,
                "name": each.name,
                "sentence": each.sentence,
                "rules": list(each.rules),
                "verdict": verdict,
                "premise_met": met,
                "note": note,
            }
        )
    return rows


def finding_json(number: int, reported: Reported, replay: str) -> dict[str, Any]:
    """One finding with its witness."""
    finding, reduced = reported.finding, reported.reduced
    return {
        "id": f"{finding.code}-{number}",
        "property": finding.code,
        "sentence": finding.sentence,
        "rules": list(finding.rules),
        "title": finding.however,
        "codes": list(reported.codes),
        "seen_by": seen_by(finding),
        "known": str(reported.known or ""),
        "because": list(finding.because),
        "however": finding.however,
        "did": finding.did,
        "allowed": list(dict.fromkeys(finding.allowed)),
        "scenario": str(reduced.scenario),
        "length": len(reduced.scenario),
        "shrunk_from": max(reported.length, len(reduced.scenario)),
        "minimal": reduced.minimal,
        "replay": replay,
        "diagram": diagram(reduced.outcome.trace, finding),
    }


def run_document(
    result: Result, verb: str, replays: list[str], started: str, again: str = ""
) -> dict[str, Any]:
    """The content of `run.json`.

    `replays` are the commands for each finding; `again` is the command that makes the same run.
    """
    stages = [
        {
            "name": stage.name,
            "verdict": stage.verdict,
            "scenarios": stage.scenarios,
            "actions": stage.actions,
            "seconds": round(stage.seconds, 3),
            "actions_per_second": stage.rate,
            "note": stage.note,
        }
        for stage in result.stages
    ]
    actions = sum(stage.actions for stage in result.stages)
    reached = sum(1 for cell in result.enabled if result.cells.get(cell))
    return {
        "format": FORMAT,
        "verb": verb,
        "subject": {"name": result.subject, "version": result.version},
        "profile": result.profile,
        "effort": result.effort,
        "seed": result.seed,
        "versions": versions(),
        "started": started,
        "seconds": round(result.seconds, 3),
        "verdict": result.verdict,
        "exit": EXITS[result.verdict],
        "reasons": result.reasons,
        "counts": {
            "scenarios": sum(stage.scenarios for stage in result.stages),
            "actions": actions,
            "actions_per_second": result.rate,
            "rows_taken": sum(1 for row in TABLE if result.rows.get(row.key)),
            "rows_total": len(TABLE),
            "cells_reached": reached,
            "cells_enabled": len(result.enabled),
            "possible_sessions_peak": result.peak,
        },
        "stages": stages,
        "properties": property_json(result),
        "rows": [
            {
                "frame": row.owner,
                "name": row.name,
                "rules": list(row.rules),
                "observation": row.makes or None,
                "taken": result.rows.get(row.key, 0),
            }
            for row in TABLE
        ],
        "cells": [
            {
                "call": call,
                "window": window,
                "driver": driver,
                "enabled": True,
                "reached": result.cells.get((call, window, driver), 0),
            }
            for call, window, driver in sorted(result.enabled)
        ],
        "findings": [
            finding_json(number, each, replay)
            for number, (each, replay) in enumerate(zip(result.found, replays, strict=True), 1)
        ],
        "replay": replays[0] if replays else None,
        "again": again,
    }


def write_document(folder: Path, document: dict[str, Any]) -> None:
    """Write `run.json`; raises FolderError when the disk does not take it."""
    text = whole_characters(json.dumps(document, ensure_ascii=True, indent=1))
    write_whole(folder / "run.json", f"{text}\n")


def write_evidence(folder: Path, name: str, outcome: Outcome) -> None:
    """Write a scenario and its trace; raises FolderError when the disk does not take them."""
    write_whole(folder / f"{name}.scenario", str(outcome.scenario))
    write_whole(folder / f"{name}.trace.jsonl", trace_text(outcome.trace))
