"""The run folder: evidence that is written first, and from which every report is made.

A folder holds one run of the subject, written before anything is judged: `run.scenario`, its
`run.trace.jsonl` and the session log `log.sqlite`, which can be read and folded again. For each
finding there is `witness-N.scenario` with `witness-N.trace.jsonl`, and `run.json` is what
`loopspec.reports` reads.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import platform
import secrets
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from loopspec.conformance.diagram import diagram
from loopspec.conformance.drive import Outcome
from loopspec.conformance.explain import seen_by
from loopspec.conformance.suite import Reported, Result
from loopspec.model.properties import FAULT_PROPERTIES, PROPERTIES
from loopspec.model.table import TABLE
from loopspec.model.words import Answer, Entry, Made, Message, Rest

__all__ = ["EXITS", "entry_json", "new_folder", "run_document", "write_document", "write_trace"]

FORMAT: Final = 1
EXITS: Final = {"holds": 0, "broken": 1, "error": 2, "inconclusive": 3}


class FolderError(OSError):
    """A run folder that cannot be written; the text says where and why."""


def new_folder(parent: Path, verb: str) -> Path:
    """A fresh folder for one run below `parent`.

    Raises FolderError with one sentence when it cannot be made.
    """
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = parent / f"{stamp}-{verb}-{secrets.token_hex(3)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        msg = f"expected a folder that can be written, got {parent}: {error.strerror or error}"
        raise FolderError(msg) from error
    return folder


def plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """A value of a trace as JSON."""
    if isinstance(value, Message):
        blocks = [{"kind": block.kind, "text": block.text} for block in value.blocks]
        return {"id": value.id, "role": value.role, "source": value.source, "blocks": blocks}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def entry_json(entry: Entry) -> dict[str, Any]:
    """One entry of a trace as JSON."""
    if isinstance(entry, Made):
        return {"call": entry.call.name, "args": plain(entry.call.args), "inside": entry.inside}
    if isinstance(entry, Answer):
        return {"answer": entry.gate, "choice": entry.choice, "messages": plain(entry.messages)}
    if isinstance(entry, Rest):
        return {
            "rest": entry.status,
            "next_turn": plain(entry.next_turn),
            "next_step": plain(entry.next_step),
            "gates": [list(gate) for gate in entry.gates],
        }
    data = {key: plain(value) for key, value in entry.data}
    return {entry.kind: entry.name, "data": data, "listener": entry.listener}


def write_trace(path: Path, trace: Iterable[Entry]) -> None:
    """Write a trace, one entry a line."""
    path.write_text("".join(json.dumps(entry_json(entry)) + "\n" for entry in trace), "utf-8")


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
    """Write `run.json` at once: a reader sees all of it or nothing."""
    partial = folder / "run.json.part"
    partial.write_text(json.dumps(document, ensure_ascii=True, indent=1) + "\n", "utf-8")
    partial.replace(folder / "run.json")


def write_evidence(folder: Path, name: str, outcome: Outcome) -> None:
    """Write a scenario and its trace."""
    (folder / f"{name}.scenario").write_text(str(outcome.scenario), "utf-8")
    write_trace(folder / f"{name}.trace.jsonl", outcome.trace)
