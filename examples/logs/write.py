# ruff: noqa: INP001
"""Write the logs of this folder again, byte for byte.

    python examples/logs/write.py            into the folder of this file
    python examples/logs/write.py FOLDER

Each log is one line of the notation of `loopspec.conformance.trace.notation`. What they are
expected to give stands in `expected.toml`:

    loopspec trace examples/logs --expect examples/logs/expected.toml
"""

import sys
from pathlib import Path
from typing import Final

from loopspec.conformance.trace.notation import log_of

LOGS: Final = {
    "one-turn": "+T[A] {1 -T[A] (1 uA h a )1 }1:completed",
    "steered": "+T[A] +T[B] {1 -T[A] (1 uA h a:c c:c +S[C] r:c )1 -S[C] (2 uC a )2 }1:completed "
    "{2 -T[B] (1 uB a )1 }2:completed",
    "edited-queue": "+T[A] +T[B] +T[C] {1 -T[A] *T[B>D] !T[C] (1 uA h a~ )1 }1:aborted/user "
    "+T[E] {2 -T[D] (1 uD a )1 }2:completed {3 -T[E] (1 uE a )1 }3:completed",
    "restarted": "+T[A] +T[B] {1 -T[A] (1 uA h a:c,d c:c r?c r!d )1 }1:interrupted end-seed "
    "+T[C] {2 -T[B] (1 uB h:resume a )1 }2:completed {3 -T[C] (1 uC a )1 }3:completed",
    "forked": "+T[A] {1 -T[A] (1 uA h a:c c:c +T[B] cut r?c )1 }1:forked "
    "+T[C] {2 -T[B] (1 uB h:resume a )1 }2:completed {3 -T[C] (1 uC a )1 }3:completed",
    "stopped": "+T[A] +T[B] {1 -T[A] (1 uA h a:c c:c",
    "old-order": "+T[A] -T[A] {1 (1 uA h a )1 }1:completed +T[B] -T[B] {2 (1 uB a )1 }2:completed",
    "before-the-inbox": "{1 xA (1 h a )1 }1:completed",
    "claim-left-out": "+T[A] +S[B] {1 -T[A] (1 uA h a )1 }1:completed",
    "sent-again": "+T[A] {1 -T[A] (1 uA h a )1 }1:completed +T[A] {2 -T[A] (1 uA a )1 }2:completed",
}


def main() -> None:
    """Write every log."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, text in LOGS.items():
        (folder / f"{name}.jsonl").write_bytes(log_of(text))


if __name__ == "__main__":
    main()
