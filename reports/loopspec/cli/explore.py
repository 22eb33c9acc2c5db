"""`loopspec explore`: visit every session of the specification, within the bounds of its scopes."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from loopspec.cli.exits import CouldNotRun
from loopspec.reports.text import json_text, printed

if TYPE_CHECKING:
    from loopspec.model.scope import Scope

JOBS_MAX: Final = 2


@click.command(
    "explore",
    short_help="visit every session of the specification, within bounds",
    epilog="""\b
Examples:
  loopspec explore                             every default scope
  loopspec explore --scope cancel
  loopspec explore --scope parked --graph parked.graphml
  loopspec explore --json > explore.json

\b
A row of the table that no default scope takes is dead, and a dead row is a failure.
Exit codes: 0 every property holds, 1 one is broken or a row is dead, 2 could not run,
3 ended early, or the premise of a property was never reached.
""",
)
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    help="Explore this scope only; may be given more than once.",
)
@click.option(
    "--graph",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the state graph of one scope; .graphml, .dot or .json says the form.",
)
@click.option(
    "--states-max",
    metavar="N",
    type=click.IntRange(min=1),
    help="End each search after this many states.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of processes.  [default: one a scope, at most 2, at most one a processor]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of text.")
def command(
    scopes: tuple[str, ...],
    graph: Path | None,
    states_max: int | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Explore the specification breadth-first and check every property on every state.

    Prints for each scope its states, transitions and depth, how often each row was taken, and the
    shortest witness of whatever breaks. Nothing random: two runs print the same counts.
    """
    from loopspec.cli.exploring import explore_scopes
    from loopspec.cli.progress import ProgressLine
    from loopspec.model.scopes import DEFAULT_SCOPES
    from loopspec.reports.exploration import Exploration, exploration_document, exploration_lines

    if graph is not None:
        check_graph(graph, scopes)
    chosen = chosen_scopes(scopes)
    if graph is not None:
        write_graph(graph, chosen[0])
    began = time.perf_counter()
    with ProgressLine() as line:
        tell = line.update if sys.stderr.isatty() else None
        workers = jobs or min(JOBS_MAX, os.cpu_count() or 1)
        found = explore_scopes(chosen, workers, states_max or 0, tell)
    whole = len(chosen) == len(DEFAULT_SCOPES)
    exploration = Exploration(tuple(found), whole, time.perf_counter() - began)
    if as_json:
        sys.stdout.write(json_text(exploration_document(exploration), 2))
    else:
        sys.stdout.write(printed(exploration_lines(exploration)))
    return exploration.exit


def chosen_scopes(names: tuple[str, ...]) -> "list[Scope]":
    """The named default scopes in their own order, each once; all of them when none is named.

    Raises:
        CouldNotRun: there is no scope of that name.

    """
    from loopspec.model.scopes import DEFAULT_SCOPES

    known = {scope.name: scope for scope in DEFAULT_SCOPES}
    for name in names:
        if name not in known:
            sentence = f"there is no scope {name!r}; scopes are {', '.join(known)}"
            raise CouldNotRun(sentence)
    return [scope for scope in DEFAULT_SCOPES if not names or scope.name in names]


def check_graph(graph: Path, scopes: tuple[str, ...]) -> None:
    """A graph is of one scope and has one of three forms.

    Raises:
        CouldNotRun: it is not so.

    """
    if graph.suffix not in (".graphml", ".dot", ".json"):
        sentence = f"--graph expects a file named .graphml, .dot or .json, not {graph.name}"
        raise CouldNotRun(sentence)
    if len(scopes) != 1:
        sentence = f"--graph draws one scope, and {len(scopes) or 'none'} was named"
        raise CouldNotRun(sentence, "add --scope NAME")


def write_graph(path: Path, scope: "Scope") -> None:
    """Write the state graph of a scope in the form that the name of the file says.

    Raises:
        CouldNotRun: the scope has too many states for a graph, or the file cannot be written.

    """
    from loopspec.cli.report import write_text
    from loopspec.model.graph import GraphTooLarge, export, state_graph

    try:
        graph = state_graph(scope)
    except GraphTooLarge as error:
        raise CouldNotRun(str(error), "a scope with fewer calls has fewer states") from error
    write_text(path, export(graph, path.suffix.removeprefix(".")))
    sys.stderr.write(printed([f"graph    {path}"]))
