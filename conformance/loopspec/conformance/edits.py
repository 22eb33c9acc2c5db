"""Single edits of transcripts: how many of them the model notices.

Theory. A checker is worth what it refuses. Every entry of every report is dropped, doubled, swapped
with its neighbour and changed in each field; so are lists, status, gates, results and errors. A
transcript with one such edit must be refused, or be legal for a reason that is listed by kind.
*Related* kinds are edits of entries that a relation has to notice rather than the table.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from loopspec.conformance.transcripts import Disagreement, Transcript
from loopspec.model.policy import Policy

__all__ = ["Edit", "EditResult", "Missed", "edits_of", "try_edits"]

RELATED: Final = frozenset({"assistant/chunk", "request/header", "request/context"})


@attrs.frozen
class Edit:
    """One edit of one report: what kind, of what, and the report behind it."""

    kind: str
    what: str
    report: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The kind under which it is counted."""
        return f"related {self.kind}" if self.what in RELATED else self.kind


@attrs.frozen
class Missed:
    """An edit that was accepted although it says something else than the original."""

    transcript: int
    command: int
    edit: Edit


@attrs.define
class EditResult:
    """How many edits were tried and refused, by kind, and those that were accepted.

    `legal` counts accepted ones by kind and reason.
    """

    tried: dict[str, int] = attrs.field(factory=dict)
    refused: dict[str, int] = attrs.field(factory=dict)
    legal: dict[str, int] = attrs.field(factory=dict)
    missed: list[Missed] = attrs.field(factory=list)

    def add(self, other: EditResult) -> None:
        """Count another result too."""
        for mine, theirs in (
            (self.tried, other.tried),
            (self.refused, other.refused),
            (self.legal, other.legal),
        ):
            for kind, count in theirs.items():
                mine[kind] = mine.get(kind, 0) + count
        self.missed += other.missed


def changed(value: object) -> Iterator[object]:
    """Values that differ from `value` and are of its type."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield value + "x"
    elif value is None:
        yield "x"


def variants(value: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON
    """`value` with exactly one leaf changed, or one key or item left out."""
    if isinstance(value, dict):
        for key, part in value.items():
            for other in variants(part):
                yield {**value, key: other}
            yield {k: v for k, v in value.items() if k != key}
    elif isinstance(value, list):
        for index, part in enumerate(value):
            for other in variants(part):
                yield [*value[:index], other, *value[index + 1 :]]
            yield value[:index] + value[index + 1 :]
    else:
        yield from changed(value)


def name_of(entry: Sequence[Any]) -> str:
    """What an entry of a trace is."""
    return str(entry[2] if entry[0] == "d" else entry[1])


def edits_of(report: Mapping[str, Any]) -> Iterator[Edit]:
    """Every single edit of a report."""
    yield from trace_edits(report)
    for key in ("nt", "ns"):
        names = report[key]
        for index in range(len(names)):
            yield Edit("list", key, {**report, key: names[:index] + names[index + 1 :]})
            if index + 1 < len(names):
                pair = [names[index + 1], names[index]]
                yield Edit("list", key, {**report, key: names[:index] + pair + names[index + 2 :]})
        yield Edit("list", key, {**report, key: [*names, "mx"]})
    other_status = "idle" if report["st"] == "running" else "running"
    yield Edit("status", "st", {**report, "st": other_status})
    gates = report["g"]
    yield Edit("gate", "g", {**report, "g": [*gates, ["pre-stop", {}, False]]})
    for index, gate in enumerate(gates):
        yield Edit("gate", "g", {**report, "g": gates[:index] + gates[index + 1 :]})
        flipped = [gate[0], gate[1], not gate[2]]
        yield Edit("aborted", "g", {**report, "g": [*gates[:index], flipped, *gates[index + 1 :]]})
    yield from result_edits(report)


def trace_edits(report: Mapping[str, Any]) -> Iterator[Edit]:
    """Edits of the entries of a report, and of their order."""
    trace = list(report["tr"])

    def edited(kind: str, what: str, entries: list[Any]) -> Edit:
        return Edit(kind, what, {**report, "tr": entries})

    for index, entry in enumerate(trace):
        before, behind = trace[:index], trace[index + 1 :]
        what = name_of(entry)
        yield edited("drop", what, before + behind)
        yield edited("duplicate", what, [*before, entry, entry, *behind])
        if behind and behind[0] != entry:
            yield edited("swap", what, [*before, behind[0], entry, *behind[1:]])
        for other in variants(entry[1:]):
            yield edited("change", what, [*before, [entry[0], *other], *behind])


def result_edits(report: Mapping[str, Any]) -> Iterator[Edit]:
    """Edits of the result or the error of a command."""
    if report.get("err") is not None:
        rest = {key: value for key, value in report.items() if key != "err"}
        yield Edit("error", "err", rest)
        yield Edit("error", "err", {**report, "err": report["err"] + "x"})
        return
    yield Edit("error", "err", {**report, "err": "an invented error"})
    result = report.get("r")
    if result is None:
        yield Edit("return", "r", {**report, "r": True})
    elif isinstance(result, bool):
        yield Edit("return", "r", {**report, "r": not result})
    else:
        yield Edit("return", "r", {**report, "r": [*result, "mx"]})


def legal_reason(edit: Edit, original: Mapping[str, Any]) -> str | None:
    """Why an edit that was accepted says the same as the original; None when it does not."""
    if json.dumps(edit.report) == json.dumps(original):
        return "says the same"
    return None


def every(_: Edit) -> bool:
    """Try each edit."""
    return True


def try_edits(
    transcript: Mapping[str, Any],
    profile: str | Policy = "dsh-0.1",
    chosen: Callable[[Edit], bool] = every,
) -> EditResult:
    """Try the chosen single edits of a transcript, up to the first command after its disposal.

    Each edit is checked from the state before its command to the end of the transcript. Raises
    Disagreement when the transcript itself is not accepted.
    """
    result = EditResult()
    check = Transcript(transcript, profile)
    ops, reports = transcript["ops"], transcript["reports"]
    for index, (op, report) in enumerate(zip(ops, reports, strict=True)):
        if check.disposed:
            break
        for edit in filter(chosen, edits_of(report)):
            kind = edit.label
            result.tried[kind] = result.tried.get(kind, 0) + 1
            if refuses(check.copy(), op, edit.report, ops[index + 1 :], reports[index + 1 :]):
                result.refused[kind] = result.refused.get(kind, 0) + 1
                continue
            reason = legal_reason(edit, report)
            if reason is not None:
                result.legal[f"{kind}: {reason}"] = result.legal.get(f"{kind}: {reason}", 0) + 1
            else:
                result.missed.append(Missed(check.number, index, edit))
        check.command(op, copy.deepcopy(report))
    return result


def refuses(
    check: Transcript,
    op: Mapping[str, Any],
    report: Mapping[str, Any],
    later_ops: Sequence[Mapping[str, Any]],
    later_reports: Sequence[Mapping[str, Any]],
) -> bool:
    """Whether the check disagrees with an edited report or with what follows it."""
    try:
        check.command(op, report)
        for later, following in zip(later_ops, later_reports, strict=True):
            if check.disposed:
                break
            check.command(later, following)
    except Disagreement:
        return True
    return False
