# ruff: noqa: INP001
"""How fast transcripts of the genuine loop are checked, and how fast their edits are refused.

    python benchmarks/acceptor.py FOLDER                 with its *.jsonl files
    python benchmarks/acceptor.py FOLDER --repeat 9 --json

Processor time of the fastest of some repetitions in one process; reading the files is not part.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from loopspec.conformance.edits import try_edits
from loopspec.conformance.transcripts import check_transcript, read_transcripts

EDITED: Final = 4
"""How many transcripts have their edits tried."""


def fastest(work: Callable[[], int], repeat: int) -> tuple[int, float]:
    """How much was done, and the processor seconds of the fastest repetition."""
    best = float("inf")
    done = 0
    for _ in range(repeat):
        begun = time.process_time()
        done = work()
        best = min(best, time.process_time() - begun)
    return done, best


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", default="dsh-0.1")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions (5)")
    parser.add_argument("--json", action="store_true", help="figures for a program")
    chosen = parser.parse_args(arguments)
    transcripts = list(read_transcripts(chosen.folder))

    def check() -> int:
        return sum(check_transcript(each, chosen.profile).observations for each in transcripts)

    def edit() -> int:
        some = transcripts[:: max(1, len(transcripts) // EDITED)][:EDITED]
        return sum(sum(try_edits(each, chosen.profile).tried.values()) for each in some)

    observations, checking = fastest(check, chosen.repeat)
    edits, editing = fastest(edit, max(1, chosen.repeat // 2))
    figures = {
        "transcripts": len(transcripts),
        "observations": observations,
        "observations_per_second": round(observations / checking),
        "edits": edits,
        "edits_per_second": round(edits / editing),
    }
    lines = [f"{name.replace('_', ' '):<24}{value:>9,}" for name, value in figures.items()]
    sys.stdout.write((json.dumps(figures, indent=1) if chosen.json else "\n".join(lines)) + "\n")


if __name__ == "__main__":
    main()
