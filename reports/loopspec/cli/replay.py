"""`loopspec replay`: one scenario on model and subject, side by side."""

from pathlib import Path

import click

from loopspec.cli.exits import CouldNotRun


@click.command(
    "replay",
    short_help="run one scenario on model and subject, side by side",
    epilog="""\b
Examples:
  loopspec replay loopspec-runs/RUN/witness-1.scenario
  loopspec replay my.scenario --mutant requeue-on-reject
  printf 'followup A\\npre-step: reject\\n' | loopspec replay -

\b
Exit codes: 0 the subject does what the model allows, 1 it does not, 2 could not run.
""",
)
@click.argument(
    "scenario", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True)
)
@click.option(
    "--subject", metavar="NAME", default="python", show_default=True, help="What to run it on."
)
@click.option("--mutant", metavar="ID", help="Plant this fault into the shipped loop first.")
@click.option(
    "--profile",
    metavar="NAME",
    help="The set of policy values to judge by.  [default: the scenario's own]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON instead of text.")
def command(
    scenario: Path, subject: str, mutant: str | None, profile: str | None, as_json: bool
) -> int:
    """Replay a scenario and print what the model has beside what the subject did.

    A scenario is a short text, one call or answer a line; what `loopspec check` prints as a witness
    can be given to this verb unchanged. A dash reads it from standard input.
    """
    sentence = "replay is not wired to the suite yet"
    raise CouldNotRun(sentence)
