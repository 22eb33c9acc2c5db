"""The pages of the registry: `python -m loopspec.conformance.findings.page NAME`.

Three pages are made: the index of findings with one section each (`findings`), the deviations of
other ports (`ports`), and the track record of the README (`record`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from loopspec.conformance.findings.findings import Known, load_deviations, load_findings
from loopspec.conformance.mutants.registry import load_mutants
from loopspec.model.scenario import parse_scenario

__all__ = ["PAGES", "scenario_files", "scenario_page"]


def findings_page() -> str:
    """Every finding about a loop that is not ours, as its maintainers would want it told."""
    parts = [
        "# Findings",
        "",
        "Made from `conformance/loopspec/conformance/findings/upstream.toml`; `loopspec findings`",
        "replays all of them, and so does CI. Each is a deviation of the loop from profile `notes`",
        "or from its own documents, with the smallest scenario that shows it.",
        "",
        record_table(),
    ]
    for each in load_findings():
        parts += [section(each)]
    return "\n".join(parts)


def section(each: Known) -> str:
    """One finding."""
    ids = f" ({', '.join(each.known)})" if each.known else ""
    return f"""\
## {each.id}: {each.title}

{each.report}

- subject: {each.versions}
- broken: {each.code}, profile `{each.profile}`{ids}
- reproduce: `{each.command}`

```text
{str(each.scenario).strip()}
```
"""


def record_table() -> str:
    """The track record: what was found in loops that nobody here wrote."""
    lines = [
        "| finding | in | broken | what it does | actions |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in load_findings():
        size = len(each.scenario)
        lines.append(f"| {each.id} | {each.versions} | {each.code} | {each.title} | {size} |")
    return "\n".join(lines) + "\n"


def ports_page() -> str:
    """The deviations of other ports, each with the mutant that does the same."""
    mutants = {each.id: each for each in load_mutants()}
    lines = [
        "# Deviations of other ports",
        "",
        "Made from `conformance/loopspec/conformance/findings/ports.toml`. What a port was seen "
        "(run) or",
        "read to do otherwise is planted into our own loop as a mutant, and caught: "
        "`loopspec check --mutant ID`.",
        "",
        "| id | port | what it does | seen | mutant | broken | actions |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in load_deviations():
        mutant = mutants[each.mutant]
        lines.append(
            f"| {each.id} | {each.port} | {each.says} | {each.how} | `{mutant.id}` "
            f"| {mutant.code} | {len(parse_scenario(mutant.witness))} |"
        )
    return "\n".join(lines) + "\n"


def scenario_files() -> dict[str, str]:
    """Each finding's scenario as the file that its command names."""
    return {each.file: str(each.scenario) for each in load_findings()}


def scenario_page(path: str) -> Callable[[], str]:
    """The page of one scenario file."""
    return lambda: scenario_files()[path]


PAGES: Final[dict[str, Callable[[], str]]] = {
    "findings": findings_page,
    "ports": ports_page,
    "record": record_table,
}


if __name__ == "__main__":
    sys.stdout.buffer.write(PAGES[sys.argv[1]]().encode())
