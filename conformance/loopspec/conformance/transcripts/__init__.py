"""Transcripts of the genuine upstream loop, checked against the model.

A transcript is a list of commands with what was observed after each had settled. `reading` turns
commands into calls, `relations` knows what follows without the table, `check` keeps the possible
sessions beside the reports and says where the two part.
"""

from loopspec.conformance.transcripts.check import Accepted, Transcript, check_transcript
from loopspec.conformance.transcripts.reading import TranscriptError, read_transcripts
from loopspec.conformance.transcripts.relations import Disagreement

__all__ = [
    "Accepted",
    "Disagreement",
    "Transcript",
    "TranscriptError",
    "check_transcript",
    "read_transcripts",
]
