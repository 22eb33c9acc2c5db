"""The command line: `loopspec VERB`.

Rules of this part: one module a verb, thin; heavy modules are imported inside the verb that needs
them, so that `loopspec --help` stays fast; stdout is the result, stderr is progress; the exit code
is the verdict (design: 0 holds, 1 broken, 2 could not run, 3 inconclusive, 130 interrupt).
"""

from loopspec.cli.shell import main

__all__ = ["main"]
