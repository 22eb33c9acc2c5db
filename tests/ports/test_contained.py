"""What an adapter gets of the judge's world, and what is left of it when the judge dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loopspec.conformance.drive import run_scenario
from loopspec.conformance.ports import isolation
from loopspec.conformance.ports.child import ChildLimits, resolved
from loopspec.conformance.ports.failures import PortError, PortLate
from loopspec.conformance.ports.running import run_on_port
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.scenario import parse_scenario
from tests.generated import ROOT
from tests.ports import zoo
from tests.ports.processes import MARK, becomes, marked

SCRIPT = Path(zoo.__file__)
GONE_S = 2.0
"""How long after the judge's death something of a tree may live: a promise, so it is asserted."""

REMOVE = parse_scenario("remove A\n")
SECRET = "a canary that no adapter may hear"


def command(name: str, *arguments: str) -> list[str]:
    """The command of a subject of the zoo."""
    return [sys.executable, "-I", "-S", str(SCRIPT), name, *arguments]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folders of adapters are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark that nothing wears when the test is over."""
    made = uuid.uuid4().hex
    yield made
    for pid in marked(made):
        os.kill(pid, signal.SIGKILL)


def seen_by(port: Port) -> dict[str, Any]:
    """What the subject that tells what it sees has told."""
    try:
        told: dict[str, Any] = json.loads(port.welcome.name)
    finally:
        port.stop()
    assert not port.complaints
    return told


def test_an_adapter_gets_nothing_of_the_judge(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An allow-list of variables, three descriptors, a folder and a session of its own."""
    for name in ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH", "CANARY"):
        monkeypatch.setenv(name, SECRET)
    opened = os.open(folder, os.O_RDONLY)
    os.set_inheritable(opened, True)
    try:
        told = seen_by(Port(command("tells-what-it-sees"), environment={"ASKED_FOR": "1"}))
    finally:
        os.close(opened)
    assert SECRET not in json.dumps(told)
    usual = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
    own = {"HOME", "TMPDIR", "LOOPSPEC_PORT", "ASKED_FOR"}
    assert own <= set(told["environment"]) <= usual | own
    assert told["descriptors"] == [0, 1, 2]
    home = Path(told["folder"])
    assert home.parent == folder.resolve()
    assert told["environment"]["HOME"] == told["environment"]["TMPDIR"] == str(home)
    assert not home.exists()
    pid, group, session = told["ids"]
    assert pid == group == session != os.getsid(0)


def test_the_keeper_does_not_hold_the_secrets_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter may read the environment of its parent."""
    monkeypatch.setenv("CANARY", SECRET)
    port = Port(command("tells-what-it-sees"))
    try:
        assert port.welcome
        keepers = [
            environment
            for each in Path("/proc").glob("[0-9]*/stat")
            if (environment := _environment_of_child(each)) is not None
        ]
    finally:
        port.stop()
    assert keepers
    assert not any(SECRET.encode() in each for each in keepers)


def _environment_of_child(stat: Path) -> bytes | None:
    """The environment of a process that is a child of this one, else None."""
    try:
        parent = stat.read_text().rpartition(")")[2].split()[1]
        return (stat.parent / "environ").read_bytes() if int(parent) == os.getpid() else None
    except OSError:
        return None


def test_no_shell_reads_the_command(folder: Path) -> None:
    """What a shell would take for a command is an argument."""
    arguments = ["; touch x", "$(touch x)", "`touch x`", "a  b", "'", '"', "*", "\u00e9\n"]
    told = seen_by(Port(command("tells-what-it-sees", *arguments)))
    assert told["argv"] == arguments
    assert list(folder.iterdir()) == []


def test_files_of_the_folder_of_the_caller_are_found(tmp_path: Path) -> None:
    """An adapter runs elsewhere; words that are no files stay words."""
    (tmp_path / "adapter.mjs").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "serve").touch()
    (tmp_path / "notes").mkdir()
    given = ["node", "--expose-gc", "adapter.mjs", "bin/serve", "notes", "-", "x\0", "./none.js"]
    found = resolved(given, tmp_path)
    here = tmp_path.resolve()
    assert found == [
        *("node", "--expose-gc", str(here / "adapter.mjs"), str(here / "bin" / "serve")),
        *("notes", "-", "x\0", "./none.js"),
    ]


@pytest.mark.parametrize("argv", [["a\0b"], [""], ["/"]])
def test_a_command_that_is_none_is_one_sentence(argv: list[str], folder: Path) -> None:
    """It cannot be started, and nothing is left."""
    port = Port(argv)
    with pytest.raises(PortError, match=r"^expected to start "):
        port.start()
    assert list(folder.iterdir()) == []


def test_what_it_writes_to_its_errors_is_kept_up_to_a_ring(folder: Path) -> None:
    """The last of it, for whoever looks for the reason."""
    limits = ChildLimits(errors=1000)
    port = Port(command("floods-its-errors-and-answers"), limits=limits)
    assert not run_scenario(PortSubject(port), REMOVE).findings
    assert 0 < len(port.last_words) <= 1000
    port.stop()


JUDGE = """
import sys
from loopspec.conformance.ports.child import ChildLimits
from loopspec.conformance.ports.running import run_on_port
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.scenario import parse_scenario
limits = ChildLimits(answer=600, end=600)
port = Port(sys.argv[3:], limits=limits, environment={"ZOO_MARK": sys.argv[1]})
assert port.welcome
print("ready", flush=True)
if sys.argv[2] == "ending":
    port.stop()
run_on_port(port, parse_scenario("remove A\\n"))
"""


@pytest.mark.parametrize(
    ("name", "when", "living", "kill"),
    [
        ("hides-grandchildren", "asked", 10, os.kill),
        ("hides-grandchildren", "asked", 10, os.killpg),
        ("ignores-every-signal", "asked", 1, os.kill),
        ("runs-on-in-a-group", "asked", 2, os.killpg),
        ("ignores-bye-and-term", "ending", 1, os.kill),
    ],
)
def test_nothing_outlives_a_judge_that_is_killed(
    name: str,
    when: str,
    living: int,
    kill: Callable[[int, int], None],
    tmp_path: Path,
    mark: str,
) -> None:
    """Alone or with its whole process group, in the middle of a command or of the end."""
    parts = os.pathsep.join(str(ROOT / part) for part in ("model", "conformance"))
    judge = subprocess.Popen(
        [sys.executable, "-c", JUDGE, mark, when, *command(name)],
        env={**os.environ, "PYTHONPATH": parts, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert judge.stdout is not None
    with judge, judge.stdout:
        assert judge.stdout.readline() == b"ready\n"
        assert becomes(lambda: len(marked(mark)) >= living, 30), marked(mark)
        assert list(tmp_path.iterdir())
        kill(judge.pid, signal.SIGKILL)
    assert becomes(lambda: marked(mark) == [], GONE_S), marked(mark)
    assert becomes(lambda: not list(tmp_path.iterdir()), GONE_S), "the folder goes too"


# --- Tried once more ------------------------------------------------------------------------------


def test_what_is_late_is_tried_once_more_and_marked(folder: Path) -> None:
    """On a fresh process; late again is an error."""
    port = Port(command("hangs"), limits=ChildLimits(answer=0.2))
    with pytest.raises(PortLate, match=r"within 0\.2 s; tried twice, the second time alone$"):
        run_on_port(port, REMOVE)
    assert port.starts == 2
    assert port.late == [
        "the adapter gave no answer to `remove` within 0.2 s; tried once more, alone: late again"
    ]


@pytest.mark.parametrize("name", ["aborts", "says-nan", "answers-twice", "dies-at-start"])
def test_what_failed_is_not_tried_again(name: str, folder: Path) -> None:
    """An error is an error; the next scenario begins with a fresh process."""
    port = Port(command(name))
    for starts in (1, 2):
        with pytest.raises(PortError):
            run_on_port(port, REMOVE)
        assert (port.starts, port.late) == (starts, [])
        assert not port.alive


def test_a_finding_is_not_tried_again(folder: Path) -> None:
    """Neither one by one nor when the run was sent ahead."""
    lines: list[bytes] = []
    port = Port(command("claims-a-message"), watch=lambda _way, line: lines.append(line))
    assert run_on_port(port, REMOVE).findings
    assert sum(b'"do":"remove"' in line for line in lines) == 1
    assert port.late == []
    port.stop()


def test_an_adapter_that_says_that_it_cannot_is_kept(folder: Path) -> None:
    """It has kept to the protocol, so its process is asked for the next scenario too."""
    port = Port(command("fails-with-escapes"))
    for _ in range(2):
        with pytest.raises(PortError, match="could not do"):
            run_on_port(port, REMOVE)
    assert port.starts == 1
    port.stop()


def test_an_interrupted_judge_takes_no_old_answer(folder: Path) -> None:
    """Whatever interrupts the wait for an answer ends the process that owes it."""

    def interrupt(way: str, line: bytes) -> None:
        if way == "<" and port.commands == 2:
            raise KeyboardInterrupt

    port = Port(command("has-a-long-name"), watch=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_on_port(port, REMOVE)
    assert not port.alive
    port.watch = lambda _way, _line: None
    assert not run_on_port(port, REMOVE).findings
    port.stop()


# --- Walls ---------------------------------------------------------------------------------------


@pytest.fixture
def walls() -> Iterator[None]:
    """Walls are tried once a process; here they are forgotten."""
    isolation.walls.cache_clear()
    yield
    isolation.walls.cache_clear()


def test_an_isolated_adapter_has_a_network_and_numbers_of_its_own(
    folder: Path, walls: None, mark: str
) -> None:
    """Where the system can build walls; its tree ends with it."""
    try:
        isolation.walls()
    except PortError as error:
        pytest.skip(str(error))
    told = seen_by(Port(command("tells-what-it-sees"), isolate=True))
    assert told["ids"][0] == 1
    assert told["network"] != os.readlink("/proc/self/ns/net")
    limits = ChildLimits(answer=0.4)
    for name in ("hides-grandchildren", "flees"):
        port = Port(command(name), limits=limits, environment={MARK: mark}, isolate=True)
        with pytest.raises(PortError):
            run_scenario(PortSubject(port), REMOVE)
        assert marked(mark) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("system", ["without the program", "that refuses"])
def test_where_no_walls_can_be_built_nothing_is_run(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, walls: None
) -> None:
    """One sentence says what is missing."""
    if system == "that refuses":
        program = tmp_path / "unshare"
        program.write_text("#!/bin/sh\necho 'unshare: unshare failed: No' >&2\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    port = Port(command("tells-what-it-sees"), isolate=True)
    with pytest.raises(
        PortError, match=r"^expected a system that can isolate an adapter .*, got: "
    ):
        port.start()
