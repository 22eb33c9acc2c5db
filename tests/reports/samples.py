"""Run folders for the tests of reports, built afresh: nothing binary is committed."""

import json
import sys
from pathlib import Path
from typing import Any

HOSTILE = (
    "<script>document.title='PWNED'</script>"
    "\x1b[2J\x1b]0;PWNED\x07\x9b31m\u202egnp.exe\u2066\u200b\x00\x85\u2028"
    '"><img src=x onerror="document.title=1"> ##[error]x ]]> {{7*7}} \ud7ff\ufffe'
)
"""A string that attacks every sink at once."""

CALLS = (
    *("followup", "steer", "inject", "append", "prepend", "splice", "replace", "remove"),
    *("clear", "cancel keep", "cancel drop"),
)
WINDOWS = (
    *("at rest", "in agent/inbox/inserted", "in agent/inbox/claimed", "in agent/status"),
    *("gate assemble", "gate pre-step", "gate provider", "after turn/end +1"),
)

OWN = "Every insertion has exactly one end: pending, claimed by one turn, or discarded."
BAL = "Every turn and step that opens closes once, in order, on every path."
REJ = "A reject opens no step, re-inserts nothing and closes the turn as blocked."
ORDER = "Claims take messages in the order in which the lists hold them."


def line(sender: str, receiver: str, kind: str, label: str, **more: object) -> dict[str, Any]:
    """One line of a diagram."""
    base: dict[str, Any] = {"next_turn": [], "next_step": [], "status": "idle", "model": None}
    return {"from": sender, "to": receiver, "kind": kind, "label": label, "parted": False} | (
        base | more
    )


def holds() -> dict[str, Any]:
    """A run that holds, with every list filled."""
    return {
        "format": 1,
        "verb": "check",
        "subject": {"name": "python", "version": "0.1.0"},
        "profile": "notes",
        "effort": "quick",
        "seed": 4217,
        "versions": {"loopspec": "0.1.0", "python": "3.11.7", "sqlite": "3.40.1"},
        "started": "2026-11-30T10:12:44Z",
        "seconds": 41.25,
        "verdict": "holds",
        "exit": 0,
        "reasons": ["the planned number of examples was reached and every observation was allowed"],
        "counts": {
            "scenarios": 1204,
            "actions": 40112,
            "observations": 310554,
            "rows_taken": 5,
            "rows_total": 6,
            "cells_reached": 60,
            "cells_enabled": 66,
        },
        "stages": [
            stage("corpus", "holds", 31, 204, 0.9),
            stage("cover", "holds", 17, 122, 0.6),
            stage("random", "holds", 1150, 39712, 38.2),
            stage("canary", "holds", 6, 74, 1.5, "the canary died, as it must"),
        ],
        "properties": [
            prop("BAL", "balance", BAL, ["TN-01", "ST-01"], "holds", 1102),
            prop("OWN", "one_owner", OWN, ["ID-01", "CL-04"], "holds", 1187),
            prop("REJ", "reject_is_final", REJ, ["PS-10"], "holds", 233),
            prop("ORDER", "claim_order", ORDER, ["CL-02"], "skipped", 0, "needs two lists"),
        ],
        "rows": [
            row("call", "followup", ["RT-01"], "return followup", 2120),
            row("claim", "take next-step", ["CL-02", "CL-03"], "record agent/inbox/spliced", 911),
            row("claim", "take next-turn head", ["CL-04"], "record agent/inbox/spliced", 880),
            row("turn", "open turn", ["TN-01"], "record turn/start", 1302),
            row("turn", "close turn", ["TN-09"], "record turn/end", 1302),
            row("pre-step", "raise after abort", ["PS-19"], "record turn/end", 0),
        ],
        "cells": cells(),
        "findings": [],
        "replay": None,
    }


def broken() -> dict[str, Any]:
    """A run that found requeue-on-reject: followup A; pre-step reject; A is inserted again."""
    run = holds()
    run |= {
        "verdict": "broken",
        "exit": 1,
        "reasons": ["1 finding: the subject re-inserts a rejected batch"],
        "findings": [requeue()],
        "replay": "loopspec replay loopspec-runs/20261130-101244-check/witness-1.scenario",
    }
    run["properties"][2]["verdict"] = "broken"
    run["stages"][2]["verdict"] = "broken"
    return run


def requeue() -> dict[str, Any]:
    """The finding of `broken`."""
    running = {"status": "running"}
    queued = {"next_turn": ["A"], "status": "idle"}
    started = {"next_turn": ["A"], "status": "running"}
    return {
        "id": "F1",
        "property": "REJ",
        "sentence": REJ,
        "rules": ["PS-10", "PS-11", "CL-09"],
        "title": "after the reject, A is back in next-turn",
        "because": [
            "the pre-step decision of turn 1 was reject (line 12)",
            "a rejected batch is the turn's and has ended: nothing re-enters the inbox by itself",
        ],
        "however": "the subject inserted A into next-turn again, a second owner for one insertion",
        "did": "record agent/inbox/spliced next-turn 0 removed 0 inserted A",
        "allowed": ["record turn/end turn 1 blocked"],
        "scenario": "profile notes\nfollowup A\npre-step: reject\n",
        "length": 2,
        "shrunk_from": 41,
        "minimal": "exhaustive",
        "replay": "loopspec replay loopspec-runs/20261130-101244-check/witness-1.scenario",
        "diagram": [
            line("caller", "inbox", "call", "followup A"),
            line("inbox", "log", "record", "agent/inbox/spliced next-turn 0 +A", **queued),
            line("inbox", "caller", "event", "agent/inbox/inserted A", **queued),
            line("loop", "caller", "event", "agent/status running", **started),
            line("loop", "hook", "gate", "assemble turn 1 step 1", **started),
            line("inbox", "caller", "return", "followup", **started),
            line("hook", "loop", "answer", "assembled", **started),
            line("loop", "log", "record", "turn/start 1", **started),
            line("loop", "log", "record", "agent/inbox/spliced next-turn 0 -1", **running),
            line("loop", "caller", "event", "agent/inbox/claimed A turn 1", **running),
            line("loop", "hook", "gate", "pre-step turn 1 step 1 [A]", **running),
            line("hook", "loop", "answer", "reject", **running),
            line(
                "inbox",
                "log",
                "record",
                "agent/inbox/spliced next-turn 0 +A",
                parted=True,
                model="record turn/end turn 1 blocked",
                **started,
            ),
        ],
    }


def inconclusive() -> dict[str, Any]:
    """A run whose canary survived."""
    run = holds()
    run |= {
        "verdict": "inconclusive",
        "exit": 3,
        "reasons": [
            "the canary survived: a planted fault was not reported",
            "the premise of REJ was never met",
        ],
    }
    run["stages"][3] |= {"verdict": "inconclusive", "note": "survived"}
    run["properties"][2] |= {"verdict": "unknown", "premise_met": 0}
    return run


def hostile(attack: str = HOSTILE) -> dict[str, Any]:
    """A broken run in which every free string of the subject is an attack, some very long."""
    run = broken()
    finding = run["findings"][0]
    run["subject"] = {"name": attack, "version": "v" * 5000}
    run["reasons"] = ["::error::" + attack]
    run["replay"] = finding["replay"] = attack
    for key in ("id", "title", "however", "did", "scenario"):
        finding[key] = attack
    finding["scenario"] = "followup A\n::set-env name=x::" + attack + "\n" + "z" * 20_000
    finding["because"] = [attack, "::warning::x"]
    finding["allowed"] = ["A" * 3000]
    for entry in finding["diagram"]:
        entry["label"] += " " + attack
        entry["next_turn"] = [attack, "m" * 900]
        entry["next_step"] = [f"m{number}" for number in range(60)]
        entry["status"] = attack
    for part, keys in (
        ("stages", ("name", "note")),
        ("properties", ("code", "name", "sentence", "note")),
        ("rows", ("frame", "name", "observation")),
    ):
        for item in run[part]:
            item.update({key: attack for key in keys})
    run["cells"].append(
        {"call": attack, "window": attack, "driver": attack, "enabled": True, "reached": 0}
    )
    run["versions"][attack] = attack
    return run


def write(folder: Path, run: dict[str, Any]) -> Path:
    """Make a run folder that holds this run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    return folder


def encoded(run: dict[str, Any]) -> bytes:
    """The bytes of `run.json`."""
    return json.dumps(run).encode()


def stage(
    name: str, verdict: str, scenarios: int, actions: int, seconds: float, note: str = ""
) -> dict[str, Any]:
    """One stage."""
    return {
        "name": name,
        "verdict": verdict,
        "scenarios": scenarios,
        "actions": actions,
        "seconds": seconds,
        "note": note,
    }


def prop(
    code: str, name: str, sentence: str, rules: list[str], verdict: str, met: int, note: str = ""
) -> dict[str, Any]:
    """One property."""
    return {
        "code": code,
        "name": name,
        "sentence": sentence,
        "rules": rules,
        "verdict": verdict,
        "premise_met": met,
        "note": note,
    }


def row(frame: str, name: str, rules: list[str], observation: str, taken: int) -> dict[str, Any]:
    """One row of the table."""
    return {"frame": frame, "name": name, "rules": rules, "observation": observation} | {
        "taken": taken
    }


def cells() -> list[dict[str, Any]]:
    """A table with reached, missed and impossible cells."""
    made = []
    for step, (driver, window, call) in enumerate(
        (driver, window, call)
        for driver in ("idle", "running")
        for window in WINDOWS
        for call in CALLS
    ):
        enabled = (driver == "running") or not window.startswith("gate")
        reached = (step * 37) % 211 if enabled and step % 13 else 0
        made.append(
            {"call": call, "window": window, "driver": driver, "enabled": enabled}
            | {"reached": reached}
        )
    return made


ALL = {"holds": holds, "broken": broken, "inconclusive": inconclusive, "hostile": hostile}


if __name__ == "__main__":
    for sample, make in ALL.items():
        write(Path(sys.argv[1]) / f"sample-{sample}", make())
