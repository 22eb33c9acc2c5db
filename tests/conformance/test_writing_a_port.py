"""docs/writing-a-port.md: what a reader has typed after each step does what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.expectations import parse_expectations
from loopspec.conformance.ports.scaffold import new_port
from loopspec.conformance.subjects.contract import needed
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.model.scenario import parse_scenario
from tests.readme import code_block, code_blocks

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-port.md"
LOOP, FIRST, LAST, *MORE = code_blocks(PAGE)


def written(folder: Path, steps: int, loop: str = LOOP) -> str:
    """The adapter after so many steps, on disk."""
    (folder / "mini.py").write_text(loop, encoding="utf-8")
    path = folder / "adapter.py"
    path.write_text("\n\n".join([FIRST, *MORE[: steps - 1], LAST]), encoding="utf-8")
    return str(path)


def test_the_first_step_says_hello_as_the_page_shows(tmp_path: Path) -> None:
    """The very line that the page prints."""
    block = code_block(PAGE, "echo", "console")
    command, answer = block.splitlines()
    asked = command.split("'")[1]
    done = subprocess.run(
        [sys.executable, written(tmp_path, 1)],
        input=asked + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{answer}\n" == done.stdout


def test_the_whole_adapter_is_a_port_that_holds(tmp_path: Path) -> None:
    """Every scenario that its capabilities can play; six steps, as the page counts them."""
    assert len(MORE) == 5
    port = Port([sys.executable, written(tmp_path, 6)])
    try:
        declared = frozenset(port.welcome.capabilities)
        assert declared == {"assemble-gate", "first-listener", "batch", "calls-in-listeners"}
        entries = [each for each in load_corpus() if needed(each.scenario) <= declared]
        assert len(entries) > 15
        for entry in entries:
            outcome = run_scenario(PortSubject(port), entry.scenario)
            assert (outcome.findings, all(outcome.made)) == ((), True), entry.name
    finally:
        port.stop()


@pytest.mark.parametrize("steps", [4, 5])
def test_it_is_one_from_the_fourth_step_on(tmp_path: Path, steps: int) -> None:
    """A prompt from end to end."""
    port = Port([sys.executable, written(tmp_path, steps)])
    try:
        scenario = parse_scenario("followup A\npre-step: enter\nprovider: done\n")
        assert run_scenario(PortSubject(port), scenario).findings == ()
    finally:
        port.stop()


def test_the_polite_loop_is_found_out(tmp_path: Path) -> None:
    """By the property and the witness that the page shows."""
    added = next(
        line[1:] for line in code_block(PAGE, "refuse", "diff").splitlines() if line[0] == "+"
    )
    before = "    def refuse(self):\n"
    assert before in LOOP
    port = Port([sys.executable, written(tmp_path, 6, LOOP.replace(before, f"{before}{added}\n"))])
    try:
        scenario = parse_scenario("followup A\npre-step: reject\n")
        found = run_scenario(PortSubject(port), scenario).findings
    finally:
        port.stop()
    assert "LOST" in {each.code for each in found}


def test_its_expectations_are_read_and_its_job_is_that_of_the_template() -> None:
    """The two files that the page shows beside the code."""
    (expected,) = parse_expectations(code_block(PAGE, "failing", "toml")).all
    assert expected.matches(["LOST"], "notes", "corpus/one-prompt")
    job = code_block(PAGE, "conformance", "yaml").splitlines()
    template = new_port("python", "mini")[".github/workflows/conformance.yml"].decode()
    assert set(job) - set(template.splitlines()) == {'      - run: pip install "loopspec[ports]"'}


JARS = [Path(f"/usr/share/java/jackson-{part}.jar") for part in ("core", "databind", "annotations")]


@pytest.mark.skipif(
    not shutil.which("javac") or not all(jar.is_file() for jar in JARS),
    reason="javac and Jackson (Debian: libjackson2-databind-java) are not both installed",
)
def test_the_java_page_is_a_port_that_holds(tmp_path: Path) -> None:
    """Its three files compile without a warning, and conform in all that they declare."""
    for block in code_blocks(PAGE.parent / "ports" / "java.md", "java"):
        name = re.search(r"^(?:public )?(?:final )?(?:interface|class) (\w+)", block, re.MULTILINE)
        assert name
        if name[1] != "VectorsTest":
            (tmp_path / f"{name[1]}.java").write_text(block, encoding="utf-8")
    path = ":".join([str(tmp_path), *map(str, JARS)])
    files = sorted(str(file) for file in tmp_path.glob("*.java"))
    done = subprocess.run(
        ["javac", "-Xlint:all,-serial", "-cp", path, *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    port = Port(["java", "-XX:+UseSerialGC", "-cp", path, "MyAdapter"])
    try:
        declared = frozenset(port.welcome.capabilities)
        entries = [each for each in load_corpus() if needed(each.scenario) <= declared]
        for entry in entries:
            assert run_scenario(PortSubject(port), entry.scenario).findings == (), entry.name
        assert len(entries) > 15
    finally:
        port.stop()
