"""Judges the logs below some paths, for `loopspec trace`."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from loopspec.cli.exits import BROKEN, HOLDS, INCONCLUSIVE, CouldNotRun
from loopspec.cli.progress import ProgressLine
from loopspec.conformance.trace import (
    Acceptor,
    Judged,
    Limits,
    NotALog,
    Options,
    find_logs,
    judge_log,
)
from loopspec.conformance.trace.acceptor import READINGS
from loopspec.conformance.trace.database import is_database, judge_database
from loopspec.conformance.trace.edits import LogEdits, read_records, try_log_edits
from loopspec.conformance.trace.expected import read_expected, unexpected
from loopspec.model.policy import PROFILES
from loopspec.reports.text import clean, printed

EDITED_RECORDS_MAX: Final = 400
"""Logs longer than this are left out of the edits: each edit reads the whole log again."""


def acceptor_for(profiles: Sequence[str]) -> Acceptor:
    """The acceptor for some profiles, by default for those that have written logs.

    Raises CouldNotRun for a profile that does not exist.
    """
    for profile in profiles:
        if profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise CouldNotRun(f"there is no profile {profile!r}; profiles are {known}")
    return Acceptor(tuple(PROFILES[name] for name in profiles or READINGS))


def expectations(path: Path | None) -> Callable[[list[Judged]], tuple[str, ...] | None]:
    """What compares verdicts with the expectations of a file; nothing without one.

    Raises CouldNotRun when the file cannot be read.
    """
    if path is None:
        return lambda logs: None
    try:
        expected = read_expected(path)
    except NotALog as error:
        raise CouldNotRun(str(error)) from error
    return lambda logs: tuple(unexpected(logs, expected))


def judge_paths(
    paths: Sequence[Path], acceptor: Acceptor, options: Options, limits: Limits
) -> list[Judged]:
    """Judge every log below some paths, in the order of their names.

    Raises CouldNotRun when a path leads nowhere.
    """
    logs: list[Judged] = []
    with ProgressLine() as line:
        try:
            for found in find_logs(paths):
                if found.problem:
                    logs.append(Judged(str(found.path), "not a log", reason=found.problem))
                elif is_database(found.path):
                    logs += judge_database(found.path, acceptor, options, limits)
                else:
                    logs.append(judge_log(found.path, acceptor, options, limits, found.walked))
                line.update("logs", len(logs), None)
        except NotALog as error:
            raise CouldNotRun(str(error)) from error
    return logs


def try_edits(logs: Sequence[Judged], acceptor: Acceptor) -> int:
    """Try every single edit of the small logs that hold; print what came of it."""
    tried = LogEdits()
    with ProgressLine() as line:
        for number, log in enumerate(logs, 1):
            plain = log.verdict == "holds" and log.container == "plain" and not log.tail.torn
            if plain and log.records <= EDITED_RECORDS_MAX and "packed rows" not in log.shape:
                try_log_edits(log.name, read_records(Path(log.name)), acceptor, tried)
            line.update("logs", number, len(logs))
    sys.stdout.write(printed(edit_lines(tried)))
    if not tried.tried:
        return INCONCLUSIVE
    return BROKEN if tried.missed else HOLDS


def edit_lines(tried: LogEdits) -> list[str]:
    """What came of the edits, by kind."""
    lines = [f"edits     {tried.tried:,} of {tried.logs:,} logs: {tried.refused.total():,} refused"]
    for label in sorted(tried.refused):
        lines.append(f"refused   {tried.refused[label]:>6,}  {clean(label)}")
    for label, reason in sorted(tried.legal):
        count = tried.legal[label, reason]
        lines.append(f"legal     {count:>6,}  {clean(label)}: {clean(reason)}")
    for name, record, label in tried.missed:
        lines.append(f"missed    {clean(name)}, record {record}: {clean(label)}")
    word = "broken" if tried.missed else "holds" if tried.tried else "inconclusive"
    told = f"{len(tried.missed):,} edits were missed" if tried.missed else "no edit was missed"
    lines += ["", f"verdict  {word}: {told if tried.tried else 'no log could be edited'}"]
    return lines
