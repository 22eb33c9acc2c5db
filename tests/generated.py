"""The generated documents, and the command that writes them again (`make docs`).

One row a document: its path and the function that makes its text. A tidy test compares every file
with its function, so a document that is generated cannot be edited by hand.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from loopspec.conformance.findings.page import scenario_files, scenario_page

ROOT: Final = Path(__file__).resolve().parents[1]


def cli_page() -> str:
    """docs/cli.md: what each verb's `--help` prints."""
    from loopspec.cli.shell import VERBS, group

    parts = [
        "# The command line",
        "",
        "Generated from `--help` by `make docs`; a test compares it.",
        "",
        *_help_of("loopspec", group, []),
    ]
    for verb in VERBS:
        command = group.get_command(click.Context(group), verb)
        assert command is not None, f"{verb} is listed and cannot be imported"
        parts += [f"## {verb}", "", *_help_of(f"loopspec {verb}", command, [verb])]
    return "\n".join(parts).rstrip() + "\n"


def _help_of(path: str, command: click.Command, arguments: list[str]) -> list[str]:
    # A fixed width: the help of a terminal of another width must not change the document.
    # A verb takes the names of its help option from the group, and remembers them once it was run.
    context = click.Context(
        command,
        info_name=path,
        terminal_width=96,
        max_content_width=96,
        help_option_names=["-h", "--help"],
    )
    text = command.get_help(context)
    return ["```text", f"$ {path} --help", *text.splitlines(), "```", ""]


def printed_by(module: str, *arguments: str) -> Callable[[], str]:
    """The page that `python -m module` prints."""

    def page() -> str:
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        return done.stdout

    return page


def differences_page() -> str:
    """Made in this process: its product searches are those of the profile page."""
    from loopspec.conformance.transcripts import page

    return page.differences_page()


def profiles_page() -> str:
    """Every policy field, and where its values part."""
    from loopspec.model import profiles

    return profiles.profiles_page()


def zoo_page() -> str:
    """The adapters that misbehave, with what the judge makes of each."""
    from tests.ports import zoo_page as page

    return page.zoo_page()


GENERATED: Final[dict[str, Callable[[], str]]] = {
    "docs/catalogue.md": printed_by("loopspec.impl.catalogue"),
    "docs/cli.md": cli_page,
    "docs/differences.md": differences_page,
    "docs/findings/README.md": printed_by("loopspec.conformance.findings.page", "findings"),
    "docs/findings/ports.md": printed_by("loopspec.conformance.findings.page", "ports"),
    "docs/mutants.md": printed_by("loopspec.conformance.mutants.page"),
    "docs/peers.md": printed_by("loopspec.conformance.peers.page"),
    "docs/profiles.md": profiles_page,
    "docs/properties.md": printed_by("loopspec.model.documents", "properties"),
    "docs/protocol.md": printed_by("loopspec.conformance.ports.page"),
    "docs/rules.md": printed_by("loopspec.conformance.rules"),
    "docs/scenario-grammar.md": printed_by("loopspec.model.documents", "grammar"),
    "docs/table-mutants.md": printed_by("loopspec.conformance.mutants.page", "table"),
    "docs/transitions.md": printed_by("loopspec.model.documents", "transitions"),
    "docs/zoo.md": zoo_page,
    **{path: scenario_page(path) for path in scenario_files()},
}
"""Path of each generated document and the function that makes its text."""


def stale(root: Path = ROOT) -> list[str]:
    """The documents that are not what their function makes."""
    found = []
    for name, make in GENERATED.items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != make():
            found.append(name)
    return found


def main() -> int:
    """Write or compare; the exit code says whether anything is stale after it."""
    parser = argparse.ArgumentParser(description="the generated documents")
    parser.add_argument("--write", action="store_true", help="write what is stale")
    options = parser.parse_args()
    for name in stale():
        if options.write:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(GENERATED[name](), encoding="utf-8")
        sys.stdout.write(f"{'written' if options.write else 'stale'}: {name}\n")
    return len(stale())


if __name__ == "__main__":
    sys.exit(main())
