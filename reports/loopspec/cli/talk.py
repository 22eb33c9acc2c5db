"""`loopspec talk`: type commands to an adapter, and see what it answers."""

import difflib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from loopspec.cli.exits import COULD_NOT_RUN, HOLDS, CouldNotRun
from loopspec.cli.subjects import adapter_port, known_profile, needs_one_command

if TYPE_CHECKING:
    from loopspec.conformance.subjects.port import PortSubject
    from loopspec.model.scenario import Line

HELP = """\
a line of a scenario  make that call or give that answer (followup A, pre-step: enter, ...)
reset                 begin a fresh session; hooks typed before it go with it
in OBS#n: CALL        a hook for the next reset (after OBS#n +k: CALL alike)
help, quit
"""


@click.command(
    "talk",
    context_settings={"allow_extra_args": True},
    short_help="type commands to an adapter and see what it answers",
    epilog="""\b
Examples:
  loopspec talk "node my-adapter.mjs"
  printf 'followup A\\npre-step: enter\\n' | loopspec talk "python adapter.py" --trace

\b
Exit codes: 0 the end of the input or quit; 2 the adapter failed, or a line that did not come from
a terminal could not be done.
""",
)
@click.argument("adapter", metavar="COMMAND")
@click.option("--profile", metavar="NAME", default="notes", show_default=True)
@click.option("--trace", is_flag=True, help="Show every line in both directions.")
@click.option(
    "--env", "passed", metavar="NAME", multiple=True, help="Variable that the adapter may see."
)
def command(adapter: str, profile: str, trace: bool, passed: tuple[str, ...]) -> int:
    """Drive an adapter by hand, one line of a scenario at a time.

    Behind each line stand what was seen, both lists, the status and the open gates.
    """
    from loopspec.conformance.control import ControlError
    from loopspec.reports.text import clean

    def watch(way: str, line: bytes) -> None:
        sys.stdout.write(f"{way} {clean(line.decode(errors='replace'), 4000)}\n")

    known_profile(profile)
    needs_one_command(adapter)
    with adapter_port(adapter, profile, passed, watch if trace else None) as port:
        try:
            said = port.welcome
            can = ", ".join(said.capabilities) or "nothing more"
            sys.stdout.write(clean(f"{said.name} {said.version} can {can}", 2000) + "\n")
            prompting = sys.stdin.isatty()
            wrong = talk(port, prompting)
        except ControlError as error:
            words = port.last_words.strip().splitlines()
            raise CouldNotRun(str(error), words[-1] if words else "") from error
    # At a terminal a typo was seen and typed again; a script has nobody who looks.
    return COULD_NOT_RUN if wrong and not prompting else HOLDS


def talk(port: Any, prompting: bool) -> int:  # noqa: ANN401 - imported late
    """Read lines until the end of the input or `quit`; how many of them could not be done."""
    from loopspec.conformance.subjects.port import PortSubject
    from loopspec.model.scenario import Line, ScenarioError, parse_scenario

    hooks: list[Line] = []
    wrong = 0
    subject = opened(PortSubject(port), hooks)
    for text in typed(prompting):
        if text == "quit":
            return wrong
        if text == "help":
            sys.stdout.write(HELP)
        elif text == "reset":
            subject = opened(subject, hooks)
            show_rest(subject)
        elif text:
            try:
                (line,) = parse_scenario(text + "\n").lines
            except (ScenarioError, ValueError) as error:
                sys.stdout.write(f"expected a line of a scenario: {error}{meant(text)}\n")
                wrong += 1
                continue
            lacking = lacks(port.welcome.capabilities, line)
            if lacking:
                sys.stdout.write(f"the adapter has not declared {lacking}, which this line needs\n")
                wrong += 1
            elif line.window.kind != "rest":
                hooks.append(line)
                sys.stdout.write("waits for the next reset\n")
            else:
                wrong += not done(port, subject, line)
    return wrong


def lacks(can: Sequence[str], line: "Line") -> str:
    """The first capability that a line needs and the adapter has not; empty when it has all."""
    from loopspec.conformance.subjects.contract import needed
    from loopspec.model.scenario import Scenario

    return next(iter(sorted(needed(Scenario((line,))) - set(can))), "")


def meant(text: str) -> str:
    """A question behind a line that begins with something near to a known word."""
    from loopspec.model.words import CALLS, GATES

    first = text.replace(":", " ").split()[0]
    known = [*CALLS, *GATES, "in", "after", "reset", "help", "quit"]
    near = [] if first in known else difflib.get_close_matches(first, known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def done(port: Any, subject: "PortSubject", line: "Line") -> bool:  # noqa: ANN401 - imported late
    """Do a line; False when the adapter said in good order that it could not.

    Raises:
        ControlError: the adapter has failed otherwise, and its process was ended.

    """
    from loopspec.conformance.ports.failures import PortError
    from loopspec.reports.text import clean

    try:
        do(subject, line)
    except PortError as error:
        if not port.alive:
            raise
        sys.stdout.write(f"{clean(str(error), 600)}\n")
        return False
    return True


def typed(prompting: bool) -> Iterator[str]:
    """Each line that is typed, stripped."""
    while True:
        if prompting:
            sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        yield line.strip()


def opened(subject: "PortSubject", hooks: "list[Any]") -> "PortSubject":
    """A fresh session, with the hooks that were typed."""
    from loopspec.model.describe import entry_text
    from loopspec.reports.text import clean

    subject.open(lambda seen: show(clean(entry_text(seen), 600)))
    for line in hooks:
        subject.arm(line, lambda line=line: show(clean(f"made: {line}")))  # type: ignore[misc]
    hooks.clear()
    return subject


def show(text: str) -> None:
    """One thing that was seen."""
    sys.stdout.write(f"  {text}\n")


def do(subject: "PortSubject", line: Any) -> None:  # noqa: ANN401 - imported late
    """Make a call or give an answer, letting pass first what stands before that gate."""
    from loopspec.model.words import GATES, PASSED, Answer, Call

    if isinstance(line.action, Call):
        subject.call(line.action)
        show_rest(subject)
        return
    while not subject.answer(line.action):
        passed = [label for label, _ in subject.gates() if label in PASSED]
        if not passed or passed[0] == line.action.gate:
            sys.stdout.write(f"no gate {line.action.gate} is open\n")
            break
        show(f"({passed[0]}: {GATES[passed[0]][0]})")
        subject.answer(Answer(passed[0], GATES[passed[0]][0]))
    show_rest(subject)


def show_rest(subject: "PortSubject") -> None:
    """Where the subject stands."""
    from loopspec.model.describe import entry_text
    from loopspec.model.words import Rest
    from loopspec.reports.text import clean

    rest = Rest(*subject.lists(), subject.status(), subject.gates())
    sys.stdout.write(f"{clean(entry_text(rest), 600)}\n")
