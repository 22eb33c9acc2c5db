"""Checks transcripts, in this process or in several; each transcript is one piece of work.

Rules of this file. What is found does not depend on how many processes there are: edits of a
sample are chosen by the seed and the number of the transcript.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

from loopspec.conformance.edits import Edit, EditResult, try_edits
from loopspec.conformance.transcripts import check_transcript
from loopspec.conformance.transcripts.differences import differences_of
from loopspec.reports.acceptance import TranscriptFound

SAMPLE: Final = 0.04
"""The share of all single edits that a sample tries."""

CHUNK: Final = 4
"""How many transcripts a worker takes at once."""

Tell = Callable[[str, int, int | None], None]


def judge(transcript: Mapping[str, Any], profile: str, edits: str, seed: int) -> TranscriptFound:
    """Check one transcript, then say which differences explain it, or try its edits."""
    began = time.process_time()
    found = check_transcript(transcript, profile)
    seconds = time.process_time() - began
    shown = tried = None
    if found.parted is not None:
        shown = differences_of(transcript, profile)
    elif edits != "none":
        tried = tried_edits(transcript, profile, edits, seed)
    names = tuple(str(op["op"]) for op in transcript["ops"])
    return TranscriptFound(found, names, seconds, shown, tried)


def tried_edits(transcript: Mapping[str, Any], profile: str, edits: str, seed: int) -> EditResult:
    """All single edits of a transcript, or the sample of them that the seed chooses."""
    if edits == "all":
        return try_edits(transcript, profile)
    chance = random.Random(f"{seed} {transcript.get('n', 0)}")

    def chosen(_: Edit) -> bool:
        return chance.random() < SAMPLE

    return try_edits(transcript, profile, chosen)


def judge_some(
    transcripts: Sequence[Mapping[str, Any]], profile: str, edits: str, seed: int
) -> list[TranscriptFound]:
    """Check some transcripts one after the other."""
    return [judge(each, profile, edits, seed) for each in transcripts]


def judge_all(
    transcripts: Sequence[Mapping[str, Any]],
    profile: str,
    edits: str,
    seed: int,
    jobs: int,
    tell: Tell,
) -> list[TranscriptFound]:
    """Check transcripts in up to `jobs` processes; results come in the order of the transcripts."""
    label, total = "transcripts", len(transcripts)
    if min(jobs, total) < 2:
        found = []
        for number, transcript in enumerate(transcripts, 1):
            found.append(judge(transcript, profile, edits, seed))
            tell(label, number, total)
        return found
    work = partial(judge_some, profile=profile, edits=edits, seed=seed)
    parts = [transcripts[begin : begin + CHUNK] for begin in range(0, total, CHUNK)]
    done = 0
    pool = ProcessPoolExecutor(min(jobs, len(parts)), get_context("spawn"))
    try:
        pending = [pool.submit(work, part) for part in parts]
        for ready in as_completed(pending):
            done += len(ready.result())
            tell(label, done, total)
        return [each for part in pending for each in part.result()]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
