"""`loopspec talk`: type commands to an adapter, and see what it answers."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from loopspec.cli.exits import HOLDS, CouldNotRun
from loopspec.cli.subjects import adapter_port, known_profile

if TYPE_CHECKING:
    from loopspec.conformance.subjects.port import PortSubject

HELP = """\
a line of a scenario  make that call or give that answer (followup A, pre-step: enter, ...)
reset                 begin a fresh session; hooks typed before it go with it
in OBS#n: CALL        a hook for the next reset (after OBS#n +k: CALL alike)
help, quit
"""


@click.command(
    "talk",
    short_help="type commands to an adapter and see what it answers",
    epilog="""\b
Examples:
  loopspec talk "node my-adapter.mjs"
  printf 'followup A\\npre-step: enter\\n' | loopspec talk "python adapter.py" --trace
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
    with adapter_port(adapter, profile, passed, watch if trace else None) as port:
        try:
            said = port.welcome
            can = ", ".join(said.capabilities) or "nothing more"
            sys.stdout.write(clean(f"{said.name} {said.version} can {can}", 2000) + "\n")
            talk(port, sys.stdin.isatty())
        except ControlError as error:
            words = port.last_words.strip().splitlines()
            raise CouldNotRun(str(error), words[-1] if words else "") from error
    return HOLDS


def talk(port: Any, prompting: bool) -> None:  # noqa: ANN401 - imported late
    """Read lines until the end of the input or `quit`."""
    from loopspec.conformance.subjects.port import PortSubject
    from loopspec.model.scenario import Line, ScenarioError, parse_scenario

    hooks: list[Line] = []
    subject = opened(PortSubject(port), hooks)
    for text in typed(prompting):
        if text == "quit":
            return
        if text == "help":
            sys.stdout.write(HELP)
        elif text == "reset":
            subject = opened(subject, hooks)
            show_rest(subject)
        elif text:
            try:
                (line,) = parse_scenario(text + "\n").lines
            except (ScenarioError, ValueError) as error:
                sys.stdout.write(f"expected a line of a scenario: {error}\n")
                continue
            if line.window.kind != "rest":
                hooks.append(line)
                sys.stdout.write("waits for the next reset\n")
            else:
                do(subject, line)


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
