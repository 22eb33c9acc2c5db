"""Words about a run that the terminal, the page and the XML file share, so that they agree."""

from typing import Final

from loopspec.conformance.explain import Told, finding_fields
from loopspec.reports.run import Cell, Finding, Run

VERDICT_SENTENCES: Final = {
    "holds": "Everything that was tried agrees with the specification.",
    "broken": "The subject did something that the specification does not allow.",
    "error": "The run could not be made; it says nothing about the subject.",
    "inconclusive": "Not enough was tried to say that the subject conforms.",
}


def subject_words(run: Run) -> str:
    """Name and version of the subject, or a dash."""
    if run.subject is None:
        return "-"
    return f"{run.subject.name} {run.subject.version}".strip()


def verdict_line(run: Run) -> str:
    """The line that a run ends with: the verdict, its exit code and the first reason."""
    line = f"{run.verdict} (exit {run.exit})"
    if run.verdict == "broken" and run.findings:
        codes = sorted({code for each in run.findings for code in (each.property, *each.codes)})
        return f"{line}: {', '.join(codes)}"
    return f"{line}: {run.reasons[0]}" if run.reasons else line


def count_words(run: Run) -> str:
    """The counts of a run on one line, in the order of the file; `x_total` goes with `x_taken`."""
    counts = run.counts
    parts = []
    for key, value in counts.items():
        noun = key.replace("_", " ")
        if key.endswith(("_total", "_enabled")):
            continue
        if key.endswith("_peak"):
            thing = noun.removesuffix(" peak")
            parts.append(
                f"at most {number(value)} {thing.removesuffix('s') if value == 1 else thing}"
            )
            continue
        for done, whole in (("_taken", "_total"), ("_reached", "_enabled")):
            stem = key.removesuffix(done)
            if stem != key and stem + whole in counts:
                of = f"{number(value)} of {number(counts[stem + whole])}"
                parts.append(f"{of} {stem} {done[1:]}")
                break
        else:
            parts.append(f"{number(value)} {noun}")
    return ", ".join(parts)


def number(value: int | float) -> str:
    """A figure with thousands separated."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def seconds_words(seconds: float) -> str:
    """A length of time as a person says it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def fields_of(run: Run, finding: Finding) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What a finding says, label by label: the same lines for terminal, page and JUnit."""
    return finding_fields(
        Told(
            code=finding.property,
            sentence=finding.sentence,
            subject=subject_words(run),
            seed=run.seed,
            profile=run.profile,
            title=finding.title,
            known=finding.known,
            codes=finding.codes,
            seen_by=finding.seen_by,
            rules=finding.rules,
            scenario=finding.scenario,
            length=finding.length,
            shrunk_from=finding.shrunk_from,
            minimal=finding.minimal,
            because=finding.because,
            however=finding.however,
            did=finding.did,
            allowed=finding.allowed,
            replay=finding.replay,
        )
    )


def missed_cells(run: Run) -> list[Cell]:
    """Cells that the model enables and the run never reached."""
    return [cell for cell in run.cells if cell.enabled and not cell.reached]
