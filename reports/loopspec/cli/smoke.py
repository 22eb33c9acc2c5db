"""`loopspec smoke`: whether an adapter does what it declares, and what has to change."""

import shlex
import sys
from typing import TYPE_CHECKING

import click

from loopspec.cli.exits import COULD_NOT_RUN, HOLDS, INCONCLUSIVE, CouldNotRun
from loopspec.cli.subjects import adapter_port, known_profile, needs_one_command

if TYPE_CHECKING:
    from loopspec.conformance.ports.smoke import Tried


@click.command(
    "smoke",
    context_settings={"allow_extra_args": True},
    short_help="try everything that an adapter declares, and say what to change",
    epilog="""\b
Examples:
  loopspec smoke "node my-adapter.mjs"
  loopspec smoke "python adapter.py" --profile dsh-0.1

\b
Exit codes: 0 the adapter does what it declares, 2 it has to change, 3 nothing was applicable.
""",
)
@click.argument("adapter", metavar="COMMAND")
@click.option(
    "--profile",
    metavar="NAME",
    help="The set of policy values to compare with.  [default: what the adapter says]",
)
@click.option(
    "--env", "passed", metavar="NAME", multiple=True, help="Variable that the adapter may see."
)
def command(adapter: str, profile: str | None, passed: tuple[str, ...]) -> int:
    """Run a few short scenarios for each capability that a port declares.

    What the adapter owes and does not tell is an error, with a sentence that says what to change.
    Where the loop behind it parts from the specification is shown, and judged by `loopspec check`.
    """
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.ports.smoke import smoke
    from loopspec.reports.text import clean

    needs_one_command(adapter)
    with adapter_port(adapter, profile or "notes", passed) as port:
        try:
            said = port.welcome
            port.profile = name = known_profile(profile or said.profile)
            head = f"{said.name} {said.version} ({said.language}), profile {name}"
            sys.stdout.write(f"adapter  {clean(head)}\n")
            tried = []
            for each in smoke(port, name):
                tried.append(each)
                runs = f"{each.runs} runs" if each.runs else ""
                line = f"{each.verdict:8} {each.capability:20} {runs}".rstrip()
                sys.stdout.write(f"{line}\n")
                for sentence in each.sentences:
                    sys.stdout.write(f"         {clean(sentence, 600)}\n")
                sys.stdout.flush()
        except ControlError as error:
            raise CouldNotRun(str(error), last_words(port.last_words)) from error
    code = told(tried)
    parting = next((each.scenario for each in tried if each.scenario), "")
    if parting:
        given = parting.replace("\n", "\\n")
        options = "".join(f" --env {shlex.quote(each)}" for each in passed)
        sys.stdout.write(
            f"next     printf {shlex.quote(given)} | loopspec replay - "
            f"--adapter {shlex.quote(adapter)}{options}\n"
        )
    return code


def told(tried: "list[Tried]") -> int:
    """The last line and the exit code."""
    wrong = [each.capability for each in tried if each.verdict == "error"]
    differs = [each.capability for each in tried if each.verdict == "differs"]
    if wrong:
        sys.stdout.write(f"verdict  error: the adapter has to change at {', '.join(wrong)}\n")
        return COULD_NOT_RUN
    if not sum(each.runs for each in tried):
        sys.stdout.write("verdict  inconclusive: nothing was applicable\n")
        return INCONCLUSIVE
    rest = f"; what it drives differs at {', '.join(differs)}" if differs else ""
    sys.stdout.write(f"verdict  ok: the adapter does what it declares{rest}\n")
    return HOLDS


def last_words(text: str) -> str:
    """The last line of a process's standard error, for a hint."""
    from loopspec.conformance.ports.child import telling

    said = telling(text)
    return f"its last words: {said}" if said else ""
