"""`loopspec check`: judge a subject against the specification."""

import contextlib
import datetime
import os
import secrets
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopspec.cli.exits import CouldNotRun
from loopspec.cli.subjects import known_profile, port_of, profile_in_process, python_factory

if TYPE_CHECKING:
    from loopspec.conformance.peers import Peer
    from loopspec.conformance.ports.crew import Crew
    from loopspec.conformance.recorder import Header
    from loopspec.conformance.subjects.contract import SubjectFactory
    from loopspec.conformance.subjects.port import Port
    from loopspec.conformance.suite import Result

SEED_END = 2**31

KEPT = """\
inject A
followup B
followup C
pre-step: enter
steer D
provider: done
pre-step: enter
cancel user keep
provider: cut
followup E
pre-step: reject
inject F
"""
"""The run whose log and trace every run folder keeps: a turn of two steps, a stop, a reject.

Something is pending in both lists when it ends.
"""
EFFORTS = ("quick", "ci", "deep")
KEEPS = ("all", "findings", "none")


@click.command(
    "check",
    short_help="judge a subject against the specification",
    epilog="""\b
Examples:
  loopspec check                               the shipped loop, effort quick
  loopspec check --effort ci --seed 4217
  loopspec check --mutant requeue-on-reject    a loop with one planted fault: must be broken
  loopspec check --json > verdict.json
  loopspec check --adapter "node my-adapter.mjs" --expect expected.toml

\b
The run folder is written first and judged then; its report.html is the page to open, and
`loopspec judge` judges its run.jsonl again. No run folder is ever removed by itself.
Exit codes: 0 holds, 1 broken, 2 could not run, 3 inconclusive.
""",
)
@click.option(
    "--profile",
    metavar="NAME",
    default="notes",
    show_default=True,
    help="The set of policy values to judge by.",
)
@click.option(
    "--effort",
    type=click.Choice(EFFORTS),
    default="quick",
    show_default=True,
    help="How much is tried.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    help="Seed of the random stage; printed by every run, chosen if absent.",
)
@click.option("--mutant", metavar="ID", help="Plant this fault into the shipped loop first.")
@click.option(
    "--adapter",
    metavar="COMMAND",
    help="Judge the port that this command line runs, instead of the shipped loop.",
)
@click.option(
    "--expect",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file of the findings that are known of the port.",
)
@click.option(
    "--env",
    "passed",
    metavar="NAME",
    multiple=True,
    help="Variable of the environment that the adapter may see; may be given again.",
)
@click.option("--isolate", is_flag=True, help="Run the adapter without network, in its own pids.")
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 64),
    help="Processes that play on the adapter at once.  [default: one a processor, at most 4]",
)
@click.option(
    "--answers",
    metavar="NAME",
    help="Run the shipped loop by the answers of this profile.  [default: the profile]",
)
@click.option(
    "--examples",
    metavar="N",
    type=click.IntRange(min=0),
    help="Number of random scenarios, instead of the effort's own.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to put the run folder into.  [default: ./loopspec-runs]",
)
@click.option(
    "--evidence",
    type=click.Choice(KEEPS),
    help="Which scenarios run.jsonl keeps with their traces.  [default: all, with deep findings]",
)
@click.option("--cells", is_flag=True, help="Print every window of the coverage table.")
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON instead of text.")
def command(
    profile: str,
    effort: str,
    seed: int | None,
    mutant: str | None,
    adapter: str | None,
    expect: Path | None,
    passed: tuple[str, ...],
    isolate: bool,
    jobs: int | None,
    answers: str | None,
    examples: int | None,
    out: Path | None,
    evidence: str | None,
    cells: bool,
    as_json: bool,
) -> int:
    """Run the shipped loop under control and judge everything that it does.

    The corpus, the shortest cover of the model's rows, random scenarios and one canary. What the
    subject does must be what some possible session of the model does; if not, the scenario is
    reduced and printed as a witness that `loopspec replay` takes.

    A finding that equals a registered difference, another answer to an open question, does not end
    the search: it is named by its ids, and the search goes on with that answer. `--answers dsh-0.1`
    shows all in which that release differs from the profile.

    The shipped loop awaits its gates alone, and the genuine one its own parts too: so the profile
    of a release stands for its `-gates`, unless --adapter is given.

    The profile of a peer (pi, pydantic-ai) is what a loop that is not ours claims in its documents:
    named scenarios, all short walks and random ones are judged by these claims alone.
    """
    from loopspec.cli.outcome import tell, warn_of_size
    from loopspec.cli.peers import peer_named
    from loopspec.cli.progress import ProgressLine
    from loopspec.conformance.expectations import parse_expectations
    from loopspec.conformance.folder import RUNS, FolderError, new_folder
    from loopspec.conformance.peers.check import check_peer, peer_document
    from loopspec.conformance.recorder import EvidenceFile
    from loopspec.conformance.suite import check_subject
    from loopspec.conformance.verdict import run_document, write_document

    peer = peer_named(profile, adapter, mutant, answers)
    if peer is None:
        known_profile(profile)
        needs_fit(adapter, mutant, answers, expect)
        profile = profile if adapter else profile_in_process(profile)
    judge: Callable[..., Result]  # both take the same
    document_of = run_document if peer is None else peer_document
    known = read_expectations(expect)
    chosen = secrets.randbelow(SEED_END) if seed is None else seed
    options = options_of(adapter, passed, mutant, answers, profile, isolate)
    header = header_of(profile, effort, chosen, options, examples, evidence, expect, known)
    try:
        with contextlib.ExitStack() as stack:
            enter = stack.enter_context
            port = (
                None
                if adapter is None
                else partial(port_of, adapter, profile, passed, None, isolate)
            )
            factory = enter(subject_of(port, mutant, answers or profile, peer))
            judge = check_peer
            if peer is None:
                crew = None if port is None else enter(crew_of(port, jobs or default_jobs()))
                judge = partial(check_subject, crew=crew)
            folder = new_folder(out or RUNS, "check")
            line = enter(ProgressLine())
            record = enter(contextlib.closing(EvidenceFile(folder, header)))
            if peer is None:
                keep_one_run(folder, factory(folder), profile)
            result = judge(
                factory(None),
                profile,
                effort,
                chosen,
                examples,
                line.update,
                record,
                parse_expectations(known),
            )
            judged_by = header.replay if peer is None else f"{header.replay} --profile {profile}"
            replays = write_witnesses(folder, result, judged_by)
            record.finish(result)
        document = document_of(result, header.verb, replays, header.started, header.again)
        write_document(folder, document)
    except FolderError as error:
        raise CouldNotRun(str(error)) from error
    code = tell(folder, as_json, cells)
    warn_of_size(folder.parent)
    return code


def needs_fit(
    adapter: str | None, mutant: str | None, answers: str | None, expect: Path | None
) -> None:
    """Refuse options that have no meaning together."""
    for name, given in (("--mutant", mutant), ("--answers", answers)):
        if adapter is not None and given is not None:
            sentence = f"expected {name} for the shipped loop only, got it with --adapter"
            raise CouldNotRun(sentence)
    if expect is not None and adapter is None:
        raise CouldNotRun("expected --adapter with --expect, got --expect alone")
    if answers is not None:
        known_profile(answers)


def read_expectations(path: Path | None) -> str:
    """The text of a file of expectations; raises CouldNotRun when it is none."""
    from loopspec.conformance.expectations import ExpectationError, parse_expectations

    if path is None:
        return ""
    try:
        text = path.read_text(encoding="utf-8")
        parse_expectations(text)
    except OSError as error:
        raise CouldNotRun(f"{path}: expected a readable file, got {error.strerror}") from error
    except (UnicodeDecodeError, ExpectationError) as error:
        raise CouldNotRun(f"{path}: {error}") from error
    return text


def options_of(
    adapter: str | None,
    passed: Sequence[str],
    mutant: str | None,
    answers: str | None,
    profile: str,
    isolate: bool = False,
) -> str:
    """The options that say what the subject is; a replay takes them too."""
    if adapter is not None:
        names = "".join(f" --env {shlex.quote(name)}" for name in passed)
        return f" --adapter {shlex.quote(adapter)}{names}{' --isolate' if isolate else ''}"
    options = f" --mutant {shlex.quote(mutant)}" if mutant else ""
    return options + ("" if answers in (None, profile) else f" --answers {answers}")


def default_jobs() -> int:
    """One process a processor that this one may use, at most four."""
    return min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)


@contextlib.contextmanager
def crew_of(port: "Callable[[], Port]", jobs: int) -> "Iterator[Crew | None]":
    """Who plays on the port: with one job nobody but this process."""
    from loopspec.conformance.ports.crew import Pool

    if jobs == 1:
        yield None
        return
    pool = Pool(port, jobs)
    try:
        yield pool
    finally:
        pool.close()


@contextlib.contextmanager
def subject_of(
    port: "Callable[[], Port] | None", mutant: str | None, answers: str, peer: "Peer | None" = None
) -> "Iterator[Callable[[Path | None], SubjectFactory]]":
    """What is judged: for a folder that keeps the session logs, a factory of subjects."""
    if port is None and peer is not None:
        from loopspec.cli.peers import peer_subject

        made = peer_subject(peer)
        yield lambda _: made
        return
    if port is None:
        python_factory(mutant, answers)  # so that an unknown mutant is told before anything else
        yield lambda folder: python_factory(mutant, answers, folder)
        return
    from loopspec.conformance.subjects.port import PortSubject

    own = port()
    try:
        yield lambda _: lambda: PortSubject(own)
    finally:
        own.stop()


def header_of(
    profile: str,
    effort: str,
    seed: int,
    options: str,
    examples: int | None,
    evidence: str | None,
    expect: Path | None = None,
    known: str = "",
) -> "Header":
    """What a run is, with the command that makes the same run again.

    `options` say what the subject is; a replay takes them too.
    """
    from loopspec.conformance.recorder import Header, kept_by
    from loopspec.conformance.verdict import versions

    again = f"loopspec check --profile {profile} --effort {effort} --seed {seed}{options}"
    again += "" if examples is None else f" --examples {examples}"
    again += "" if expect is None else f" --expect {shlex.quote(str(expect))}"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    keep = evidence or kept_by(effort)
    return Header("check", profile, effort, seed, keep, versions(), started, again, options, known)


def keep_one_run(folder: Path, factory: "SubjectFactory", profile: str) -> None:
    """Keep one whole run of the subject: its scenario, its trace and its session log.

    Written before anything is judged, so that there is something to look at whatever happens.
    """
    from loopspec.conformance.control import ControlError
    from loopspec.conformance.drive import run_scenario
    from loopspec.conformance.verdict import write_evidence
    from loopspec.model.scenario import parse_scenario

    with contextlib.suppress(ControlError):  # the stages meet the same fault, and report it
        outcome = run_scenario(factory(), parse_scenario(KEPT), profile=profile)
        write_evidence(folder, "run", outcome)
    for log in folder.glob("session-*.sqlite"):
        log.replace(folder / "log.sqlite")
        log.with_name(f"{log.name}.lock").unlink(missing_ok=True)  # the owner's, and it is closed


def write_witnesses(folder: Path, result: "Result", options: str) -> list[str]:
    """Write each witness with its trace; the commands that replay them with these options."""
    from loopspec.conformance.verdict import write_evidence

    for number, each in enumerate(result.found, 1):
        write_evidence(folder, f"witness-{number}", each.reduced.outcome)
    return [replay_of(folder, number, options) for number in range(1, len(result.found) + 1)]


def replay_of(folder: Path, number: int, options: str) -> str:
    """The command that replays a witness of a run folder."""
    path = shlex.quote(str(folder / f"witness-{number}.scenario"))
    return f"loopspec replay {path}{options}"
