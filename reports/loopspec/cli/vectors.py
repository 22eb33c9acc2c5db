"""`loopspec vectors`: scenarios with expected answers, for ports that cannot run our process."""

import sys
from pathlib import Path

import click

from loopspec.cli.subjects import known_profile


@click.command(
    "vectors",
    short_help="write scenarios with the expected answers, for ports that cannot be run here",
    epilog="""\b
Examples:
  loopspec vectors --out vectors.json
  loopspec vectors --profile dsh-0.2 --without assemble-gate | gzip > vectors.json.gz

\b
Exit codes: 0 written, 2 could not write.
""",
)
@click.option(
    "--profile",
    metavar="NAME",
    default="notes",
    show_default=True,
    help="The set of policy values by which the answers are made.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(["assemble-gate", "first-listener"]),
    help="A capability that every trace shows, and the loop lacks; may be repeated. For loops that "
    "are judged by vectors alone: `smoke` and `check` refuse a port without it.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write.  [default: standard output]",
)
def command(profile: str, without: tuple[str, ...], out: Path | None) -> int:
    """Write every scenario of the corpus as commands of the port protocol, with their answers.

    A vector has its rules, the capabilities that it needs, its commands, and what the specification
    answers to each. `minimum` says how many vectors need which capabilities: a port passes when as
    many hold as there are within its own. The same version writes the same bytes.
    """
    from loopspec.conformance.ports.vectors import text_of, vectors

    known_profile(profile)
    text = text_of(vectors(profile, without))
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")
    return 0
