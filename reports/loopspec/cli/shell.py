"""The group of verbs, and the one place where an exception becomes a sentence and an exit code."""

import _thread
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final, TextIO

import click

from loopspec.cli.exits import BROKEN_PIPE, COULD_NOT_RUN, INTERRUPTED, CouldNotRun, say, show

VERBS: Final = {
    "explore": "visit every session of the specification, within bounds",
    "check": "judge a subject against the specification",
    "replay": "run one scenario on model and subject, side by side",
    "smoke": "try everything that an adapter declares, and say what to change",
    "talk": "type commands to an adapter and see what it answers",
    "trace": "check session logs of any version against the specification",
    "transcripts": "check recorded sessions of the genuine loop against the specification",
    "differ": "find the shortest scenario on which two profiles, policies or tables part",
    "findings": "replay the registered findings about other loops",
    "report": "render a run folder as a page, JUnit XML or JSON",
    "judge": "judge the recorded traces of a run folder again, without any subject",
    "new-port": "write a complete adapter with a toy loop inside, to grow a port from",
    "vectors": "write scenarios with the expected answers, for ports that cannot be run here",
    "doctor": "say what this machine has, and what its versions are known for",
}
"""Each verb with its line in `loopspec --help`; its module is `loopspec.cli.<verb>`, with `_`."""


class _Verbs(click.Group):
    """A group whose verbs are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order in which a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of a verb."""
        if name not in VERBS:
            return None
        module = f"loopspec.cli.{name.replace('-', '_')}"
        command = import_module(module).command
        assert isinstance(command, click.Command), f"{module} has no command"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which there are."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f"expected one of {', '.join(VERBS)}, got {args[0]!r}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing one."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="""\b
Exit codes:
  0    holds         1  broken      2  could not run
  3    inconclusive  130  interrupted

\b
Start with:
  loopspec explore
  loopspec check
  loopspec check --mutant requeue-on-reject
""",
)
@click.version_option(package_name="loopspec", message="loopspec %(version)s")
def group() -> None:
    """Specify, run and judge an agent loop: its inbox, its turns, its pre-step decisions."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with the exit code of its verdict."""
    if sys.stderr is None:  # closed by the caller (`2>&-`)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the exit
    sys.unraisablehook = _unraisable
    if sys.stdout is None:
        show("expected an open standard output, got a closed one")
        sys.exit(COULD_NOT_RUN)
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up(sys.stdout)  # the reader has gone (`| head`)
        code = BROKEN_PIPE
    except OSError as error:
        _give_up(sys.stdout)
        show(f"cannot read or write {error.filename or 'a stream'}: {error.strerror or error}")
        code = COULD_NOT_RUN
    except KeyboardInterrupt:
        code = INTERRUPTED
    try:
        sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)
    sys.exit(code)


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """An interrupt inside a finalizer is lost by Python, which would go on: interrupt again.

    A moment later, from another thread: raised in here it would be lost a second time.
    """
    if lost.exc_type is KeyboardInterrupt:
        again = threading.Timer(0.01, _thread.interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


def _give_up(stream: TextIO) -> None:
    """Python would complain about what a stream did not take once more, when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; every failure becomes one sentence on stderr.

    A refusal of the system (OSError) that no verb has put into words is left to `main`.
    """
    if sys.flags.optimize > 1:
        show("expected docstrings, which the specification reads, got Python without them (-OO)")
        return COULD_NOT_RUN
    try:
        # Not `group.main`: it turns a closed pipe into exit code 1, which would read as broken.
        given = list(sys.argv[1:] if arguments is None else arguments)
        with group.make_context("loopspec", given) as context:
            answer = group.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        say(f"{error.format_message()}\n")
        return COULD_NOT_RUN
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "loopspec"
        show(f"{where}: {_one_line(error.format_message())}", f"see `{where} --help`")
        return COULD_NOT_RUN
    except click.ClickException as error:
        show(_one_line(error.format_message()))
        return COULD_NOT_RUN
    except (click.Abort, KeyboardInterrupt):
        show("interrupted")
        return INTERRUPTED
    except CouldNotRun as error:
        show(error.sentence, error.hint)
        return COULD_NOT_RUN
    except OSError:  # a pipe that was closed, a disk that is full: `main` says so
        raise
    except Exception as error:  # the one place that may: our own bug must not read as a verdict
        return _own_bug(error)
    return answer if isinstance(answer, int) else 0


def _own_bug(error: Exception) -> int:
    if os.environ.get("LOOPSPEC_DEBUG") == "1":
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    show(
        f"internal error: {type(error).__name__}: {_one_line(str(error))}{where}; please report it",
        "LOOPSPEC_DEBUG=1 shows the traceback",
    )
    return COULD_NOT_RUN


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
