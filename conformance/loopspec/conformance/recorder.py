"""`run.jsonl`: what a subject was seen to do, written before more is made of it.

A file of JSON lines, the kind of each under `line`, in the order in which things happened:

- `header`, the first: format, verb, subject, profile, effort, seed, versions, start, the command
  that makes the same run again, and which scenarios are kept (`evidence`);
- `case`, one for each scenario that ran: its number, its stage, its text, the lines that were not
  made, and the whole trace, so that it can be judged again exactly;
- `cover`, the rows, cells and premises that the planned scenarios were to reach;
- `round`, the end of a series of random scenarios, behind which its first finding is reported;
- `plain`, the scenario of a case with a finding, run once more without its faults;
- `witness`, the reduced scenario of a case with its trace;
- `stage`, at the end of a stage: its times, what was skipped, and an error of the adapter;
- `error`, what kept the run from beginning;
- `footer`, the last: counts, verdict, findings by case, the number of lines, and a SHA-256 of every
  byte before it.

A line goes out in one piece when its scenario ends, so a killed run loses at most the scenario that
was under way; it is synced once, with the footer. A line that the disk does not take is cut off
again: the file stays readable, and whoever reads it sees that there is no footer. Replays of the
reduction are not kept, only what comes out of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from loopspec.conformance.drive import Outcome
from loopspec.conformance.entries import entry_json
from loopspec.conformance.folder import CREATE, FolderError, cannot_write, sync_folder
from loopspec.conformance.visible import whole_characters

if TYPE_CHECKING:
    from loopspec.conformance.reduce import Reduced
    from loopspec.conformance.suite import Result, Stage
    from loopspec.model.cover import Cover

__all__ = ["FORMAT", "KEEPS", "NAME", "EvidenceFile", "Header", "Recorder", "kept_by"]

FORMAT: Final = 1
NAME: Final = "run.jsonl"

KEEPS: Final = {
    "all": "every scenario with its trace",
    "findings": "those with a finding",
    "none": "no scenario at all, only header and footer",
}
"""What may be kept of a run, from the most to the least."""


def kept_by(effort: str) -> str:
    """What an effort keeps by itself: `deep` would fill a disk."""
    return "findings" if effort == "deep" else "all"


class Recorder:
    """Is told of everything that a check sees; this one keeps nothing."""

    def begin(self, subject: str, version: str, lacking: Iterable[str], contract: int = 1) -> None:
        """The subject is known; nothing has run yet."""

    def error(self, text: str) -> None:
        """The run cannot begin."""

    def case(self, stage: str, outcome: Outcome, name: str = "") -> int:
        """A scenario has ended; the number by which it is known from now on."""
        return 0

    def witness(self, case: int, reduced: Reduced, length: int, known: str = "") -> None:
        """A finding of a case was reduced from so many actions.

        `known` is the field of the policy whose registered difference it shows, if it is one.
        """

    def plain(self, case: int, outcome: Outcome) -> None:
        """The scenario of a case ran once more, without its faults."""

    def round(self, stage: str) -> None:
        """A series of random scenarios has ended; what it has shown is reported next."""

    def cover(self, cover: Cover) -> None:
        """What is to be reached was planned."""

    def stage(self, stage: Stage, error: str) -> None:
        """A stage has ended, perhaps by an error of the adapter."""

    def finish(self, result: Result) -> None:
        """Everything was tried."""


@attrs.frozen
class Header:
    """What a run is, before anything of it was seen.

    `again` is the command that makes the same run, and `replay` the options with which a witness
    of it is replayed.
    """

    verb: str
    profile: str
    effort: str
    seed: int
    evidence: str
    versions: dict[str, str]
    started: str
    again: str = ""
    replay: str = ""
    expectations: str = ""
    """The text of the file of what is expected to fail."""


class EvidenceFile(Recorder):
    """Writes `run.jsonl` of one run folder, line by line."""

    def __init__(self, folder: Path, header: Header) -> None:
        """Make the file; raises FolderError when there is something in its place."""
        self.path = folder / NAME
        self._header = header
        self._keep = header.evidence
        self._digest = hashlib.sha256()
        self._lines = self._bytes = 0
        self._cases = 0
        self._scenarios = self._actions = 0
        self._found: list[tuple[int, list[str]]] = []
        self._lost: FolderError | None = None
        try:
            self._file = os.open(self.path, os.O_WRONLY | CREATE, 0o600)
        except OSError as error:
            cannot_write(self.path, error)

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def begin(self, subject: str, version: str, lacking: Iterable[str], contract: int = 1) -> None:
        """Write the header."""
        told = {
            "name": subject,
            "version": version,
            "lacks": list(lacking),
            "contract": contract,
        }
        own = attrs.asdict(self._header)
        self._write({"line": "header", "format": FORMAT, "subject": told, **own})

    def error(self, text: str) -> None:
        """Write down what kept the run from beginning."""
        self._write({"line": "error", "text": text})

    def case(self, stage: str, outcome: Outcome, name: str = "") -> int:
        """Write a scenario down with its trace."""
        number = self._scenarios = self._scenarios + 1
        self._actions += outcome.actions
        if outcome.findings:
            self._found.append((number, codes_of(outcome)))
        if self._keep == "all" or (self._keep == "findings" and outcome.findings):
            self._cases += 1
            told = {"line": "case", "case": number, "stage": stage, "name": name}
            self._write(told | played_json(outcome))
        return number

    def witness(self, case: int, reduced: Reduced, length: int, known: str = "") -> None:
        """Write the reduced scenario of a case down with its trace."""
        if self._keep == "none":
            return
        finding = reduced.finding
        self._write(
            {
                "line": "witness",
                "case": case,
                "property": finding.code,
                "known": known,
                "length": length,
                "minimal": reduced.minimal,
                "replays": reduced.replays,
                **played_json(reduced.outcome),
            }
        )

    def plain(self, case: int, outcome: Outcome) -> None:
        """Write down what a case comes to without its faults."""
        if self._keep != "none":
            self._write({"line": "plain", "case": case, **played_json(outcome)})

    def round(self, stage: str) -> None:
        """Write down that a series has ended."""
        self._write({"line": "round", "stage": stage})

    def cover(self, cover: Cover) -> None:
        """Write down what is to be reached."""
        self._write(
            {
                "line": "cover",
                "rows": sorted(cover.rows),
                "cells": [list(cell) for cell in sorted(cover.cells)],
                "met": sorted(cover.met),
            }
        )

    def stage(self, stage: Stage, error: str) -> None:
        """Write down how a stage ended."""
        self._write(
            {
                "line": "stage",
                "name": stage.name,
                "seconds": stage.seconds,
                "running": stage.running,
                "skipped": stage.skipped,
                "late": stage.late,
                "failed": stage.failed,
                "error": error,
            }
        )

    def finish(self, result: Result) -> None:
        """Write the footer, and make all of it outlive a power cut."""
        footer = {
            "line": "footer",
            "verdict": result.verdict,
            "seconds": result.seconds,
            "scenarios": self._scenarios,
            "actions": self._actions,
            "cases": self._cases,
            "findings": [[number, codes] for number, codes in self._found],
            "lines": self._lines + 1,
            "sha256": self._digest.hexdigest(),
        }
        self._write(footer)
        try:
            os.fsync(self._file)
        except OSError as error:
            cannot_write(self.path, error)
        sync_folder(self.path.parent)
        self.close()

    def _write(self, line: dict[str, Any]) -> None:
        """One line in one piece; what the disk takes only in part is taken back."""
        if self._lost is not None:  # a run that goes on for a while must not leave a gap behind it
            raise self._lost
        data = whole_characters(json.dumps(line, separators=(",", ":"))).encode("ascii") + b"\n"
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._bytes)
            try:
                cannot_write(self.path, error)
            except FolderError as lost:
                self._lost = lost
                raise
        self._digest.update(data)
        self._bytes += len(data)
        self._lines += 1


def codes_of(outcome: Outcome) -> list[str]:
    """The codes of the findings of an outcome, each once, in order."""
    return list(dict.fromkeys(each.code for each in outcome.findings))


def played_json(outcome: Outcome) -> dict[str, Any]:
    """A scenario and what came of it, without anything that a judge has said."""
    return {
        "scenario": str(outcome.scenario),
        "unmade": [index for index, made in enumerate(outcome.made) if not made],
        "trace": [entry_json(entry) for entry in outcome.trace],
    }
