"""`loopspec replay`: one scenario on model and subject, side by side."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopspec.cli.exits import BROKEN, HOLDS, INCONCLUSIVE, CouldNotRun
from loopspec.cli.subjects import adapter_port, known_profile, profile_in_process, python_factory

if TYPE_CHECKING:
    from loopspec.conformance.side_by_side import SideBySide
    from loopspec.model.scenario import Scenario

BYTES_MAX = 10_000_000
SUBJECTS = ("python", "model")
EXITS = {"holds": HOLDS, "broken": BROKEN, "inconclusive": INCONCLUSIVE}


@click.command(
    "replay",
    short_help="run one scenario on model and subject, side by side",
    epilog="""\b
Examples:
  loopspec replay loopspec-runs/RUN/witness-1.scenario
  loopspec replay my.scenario --mutant requeue-on-reject
  printf 'followup A\\npre-step: reject\\n' | loopspec replay -

\b
Exit codes: 0 the subject does what the model allows, 1 it does not, 2 could not run,
3 nothing of the scenario was made.
""",
)
@click.argument(
    "scenario", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True)
)
@click.option(
    "--subject", metavar="NAME", default="python", show_default=True, help="What to run it on."
)
@click.option("--mutant", metavar="ID", help="Plant this fault into the shipped loop first.")
@click.option("--adapter", metavar="COMMAND", help="Run it on the port that this line runs.")
@click.option(
    "--env", "passed", metavar="NAME", multiple=True, help="Variable that the adapter may see."
)
@click.option(
    "--answers",
    metavar="NAME",
    help="Run the shipped loop by the answers of this profile.  [default: the profile]",
)
@click.option(
    "--profile",
    metavar="NAME",
    help="The set of policy values to judge by.  [default: the scenario's own]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON instead of text.")
def command(
    scenario: Path,
    subject: str,
    mutant: str | None,
    adapter: str | None,
    passed: tuple[str, ...],
    answers: str | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Replay a scenario and print what the model has beside what the subject did.

    A scenario is a short text, one call or answer a line; what `loopspec check` prints as a witness
    can be given to this verb unchanged. A dash reads it from standard input.
    """
    from loopspec.cli.peers import peer_named, replay_on_peer
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.side_by_side import alone, replay_scenario
    from loopspec.conformance.subjects.model import ModelSubject
    from loopspec.model.policy import PROFILES

    wanted = read_scenario(scenario)
    peer = peer_named(profile or wanted.profile, adapter, mutant, answers)
    if peer is not None:
        outcome = replay_on_peer(peer, adapter, passed, wanted)
        replayed = alone(outcome)
        show = show_json if as_json else show_text
        sys.stdout.write(show(replayed, peer.package))
        return EXITS[verdict_of(replayed)]
    name = known_profile(profile or wanted.profile)
    if subject not in SUBJECTS:
        sentence = f"expected a subject ({', '.join(SUBJECTS)}), got {subject!r}"
        raise CouldNotRun(sentence)
    if adapter is not None:
        if mutant is not None or answers is not None or subject != "python":
            raise CouldNotRun("expected --adapter without --mutant, --answers and --subject")
        subject = adapter
        replayed = replay_on_port(adapter, passed, wanted, name)
    elif subject == "model":
        if mutant is not None:
            sentence = "expected --mutant with --subject python only, got it with model"
            raise CouldNotRun(sentence)
        replayed = replay_scenario(lambda: ModelSubject(PROFILES[name]), wanted, name)
    else:
        try:
            replayed = replay_scenario(
                python_factory(mutant, known_profile(answers or name)),
                wanted,
                profile_in_process(name),
            )
        except ControlError as error:
            raise CouldNotRun(str(error)) from error
    show = show_json if as_json else show_text
    sys.stdout.write(show(replayed, subject if mutant is None else f"{subject} ({mutant})"))
    return EXITS[verdict_of(replayed)]


def replay_on_port(
    adapter: str, passed: tuple[str, ...], scenario: "Scenario", profile: str
) -> "SideBySide":
    """Replay a scenario on a port, started for it alone."""
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.side_by_side import replay_scenario
    from loopspec.conformance.subjects.port import PortSubject

    with adapter_port(adapter, profile, passed) as port:
        try:
            return replay_scenario(lambda: PortSubject(port), scenario, profile)
        except ControlError as error:
            raise CouldNotRun(str(error)) from error


def verdict_of(replayed: "SideBySide") -> str:
    """Broken behind a finding; inconclusive when nothing of the scenario could be made."""
    if replayed.outcome.findings:
        return "broken"
    return "holds" if any(replayed.outcome.made) else "inconclusive"


def read_scenario(path: Path) -> "Scenario":
    """The scenario of a file, or of standard input for a dash.

    Raises:
        CouldNotRun: the file cannot be read, is too large, is not UTF-8 or not a scenario.

    """
    from loopspec.model.scenario import ScenarioError, parse_scenario

    name = "standard input" if str(path) == "-" else str(path)
    if name == "standard input" and sys.stdin is None:
        sentence = "expected a scenario on standard input, got a closed one"
        raise CouldNotRun(sentence)
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with path.open("rb") as file:
                data = file.read(BYTES_MAX + 1)
    except OSError as error:
        sentence = f"expected a scenario file, got {name}: {error.strerror or error}"
        raise CouldNotRun(sentence) from error
    if len(data) > BYTES_MAX:
        sentence = f"{name}: expected at most {BYTES_MAX} bytes, got more"
        raise CouldNotRun(sentence)
    try:
        return parse_scenario(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        sentence = (
            f"{name}: expected UTF-8 text, got byte {data[error.start]:#04x} at {error.start}"
        )
        raise CouldNotRun(sentence) from error
    except ScenarioError as error:
        raise CouldNotRun(str(error), "docs/scenario-grammar.md has the grammar") from error


def show_text(replayed: "SideBySide", subject: str) -> str:
    """Two columns, a mark where they part, and what the judge says."""
    from loopspec.conformance.explain import witness_line
    from loopspec.reports.text import clean, printed

    width = min(60, max(30, (shutil.get_terminal_size((120, 24)).columns - 4) // 2))
    lines = [f"{'model':<{width}}   {clean(subject, width)}"]
    for index, pair in enumerate(replayed.pairs):
        mark = " " if pair.same else "!"
        left, right = clean(pair.model, width), clean(pair.subject, 10_000)
        lines.append(f"{left:<{width}} {mark} {right}")
        if index == replayed.parted:
            lines.append(f"{'':<{width}} ^ here subject and model part")
    unmade = [
        str(line)
        for line, made in zip(replayed.outcome.scenario.lines, replayed.outcome.made, strict=True)
        if not made
    ]
    for line in unmade:
        lines.append(f"not made, since its moment never came: {clean(line, 500)}")
    lines.append("")
    for finding in replayed.outcome.findings:
        lines.append(f"{finding.code} broken: {finding.sentence}")
        lines.extend([f"  rules    {' '.join(finding.rules)}"] if finding.rules else [])
        lines.extend(f"  because  {clean(each, 1000)}" for each in finding.because)
        lines.append(f"  However, {clean(finding.however, 1000)}: a contradiction.")
    if verdict_of(replayed) == "inconclusive":
        lines.append("inconclusive: nothing of the scenario was made, so nothing was checked")
    elif not replayed.outcome.findings:
        by_claims = replayed.expected is replayed.outcome
        what = clean(witness_line(replayed.outcome.scenario), 200)
        allows = "its documents claim" if by_claims else "the specification allows"
        lines.append(f"holds: the subject did what {allows} ({what})")
    return printed(lines)


def show_json(replayed: "SideBySide", subject: str) -> str:
    """The same as one JSON document."""
    findings = [
        {
            "property": finding.code,
            "sentence": finding.sentence,
            "rules": list(finding.rules),
            "because": list(finding.because),
            "however": finding.however,
            "did": finding.did,
            "allowed": list(finding.allowed),
            "position": finding.position,
        }
        for finding in replayed.outcome.findings
    ]
    document = {
        "subject": subject,
        "verdict": verdict_of(replayed),
        "scenario": str(replayed.outcome.scenario),
        "made": list(replayed.outcome.made),
        "parted": replayed.parted,
        "lines": [pair._asdict() for pair in replayed.pairs],
        "findings": findings,
    }
    from loopspec.reports.text import json_text

    return json_text(document)
