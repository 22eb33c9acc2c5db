"""The command line: `loopspec VERB`.

Rules of this part: one module a verb, thin; heavy modules are imported inside the verb that needs
them, so that `loopspec --help` stays fast; stdout is the result, stderr is progress; the exit code
is the verdict (design: 0 holds, 1 broken, 2 could not run, 3 inconclusive, 130 interrupt).
"""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; an interrupt is no traceback, even while modules are being imported."""
    try:
        from loopspec.cli import shell
    except KeyboardInterrupt:
        sys.exit(130)
    shell.main(arguments)
