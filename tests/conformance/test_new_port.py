"""New ports: each is built as its user would, judged as a process, and runs its vectors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import run_scenario
from loopspec.conformance.ports.scaffold import LANGUAGES, new_port
from loopspec.conformance.subjects.contract import needed
from loopspec.conformance.subjects.port import Port, PortSubject


@attrs.frozen
class Toolchain:
    """What a language needs on the machine, and how its port is tested and started."""

    tool: str
    test: tuple[str, ...]
    adapter: tuple[str, ...]
    build: tuple[str, ...] = ()


TOOLCHAINS = {
    "python": Toolchain(
        sys.executable, (sys.executable, "-m", "unittest"), (sys.executable, "adapter.py")
    ),
    "typescript": Toolchain("node", ("node", "--test"), ("node", "adapter.mjs")),
    "go": Toolchain(
        "go",
        ("go", "test", "-vet=off", "."),
        ("inner-loop",),
        ("go", "build", "-o", "inner-loop", "."),
    ),
    "rust": Toolchain(
        "cargo",
        ("cargo", "test", "--offline", "--test", "vectors"),
        ("target/debug/inner-loop",),
        ("cargo", "test", "--offline", "--test", "vectors", "--no-run"),
    ),
}
NODE_MIN = (20, 15)
QUICK = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
"""What spares time in a build that is used once."""


def run(folder: Path, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run a command of the port where its user would."""
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **QUICK},
    )


def what_lacks(chain: Toolchain) -> str:
    """Why a port cannot be built on this machine; empty when it can."""
    if shutil.which(chain.tool) is None:
        return f"{chain.tool} is not installed"
    if chain.tool == "node":
        said = run(Path.cwd(), ("node", "--version")).stdout.strip()
        if tuple(map(int, said.removeprefix("v").split(".")[:2])) < NODE_MIN:
            return f"node {said} is older than 20.15, the first with zlib.crc32"
    return ""


@pytest.fixture(scope="module", params=sorted(LANGUAGES))
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh port in one language, built."""
    language: str = request.param
    chain = TOOLCHAINS[language]
    lacking = what_lacks(chain)
    if lacking:
        if chain.tool in os.environ.get("LOOPSPEC_REQUIRE", "").split(","):
            pytest.fail(f"{chain.tool} is required by LOOPSPEC_REQUIRE, and {lacking}")
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("ports") / language
    for name, content in new_port(language, "inner-loop").items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if chain.build:
        done = run(folder, chain.build)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def process(port: Path) -> Iterator[Port]:
    """The port as a process."""
    command = TOOLCHAINS[port.name].adapter
    path = port / command[-1]
    made = Port([*command[:-1], str(path)])
    try:
        yield made
    finally:
        made.stop()


def test_the_toy_conforms_in_all_that_it_declares(process: Port) -> None:
    """A sample of the corpus that its capabilities can play; its own tests play all of it."""
    declared = frozenset(process.welcome.capabilities)
    assert declared >= {"steering", "cancel", "assemble-gate", "calls-in-listeners", "batch"}
    assert process.welcome.name == "inner-loop"
    entries = [each for each in load_corpus() if needed(each.scenario) <= declared][::4]
    for entry in entries:
        outcome = run_scenario(PortSubject(process), entry.scenario)
        assert (outcome.findings, all(outcome.made)) == ((), True), entry.name
    assert len(entries) > 15
    assert process.starts == 1


def test_its_own_tests_play_the_vectors(port: Path) -> None:
    """In the test framework of the language, and without any part of this project."""
    done = run(port, TOOLCHAINS[port.name].test)
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_own_tests_find_a_fault(port: Path) -> None:
    """A vector whose answer is another one turns them red, and says which it was."""
    path = port / "vectors.json"
    text = path.read_text(encoding="utf-8")
    name = '"name":"reject-spares-the-rest"'
    assert name in text
    before, after = text.split(name)
    path.write_text(before + name + after.replace('"blocked"', '"completed"', 1), encoding="utf-8")
    try:
        done = run(port, TOOLCHAINS[port.name].test)
    finally:
        path.write_text(text, encoding="utf-8")
    assert done.returncode != 0
    assert "reject-spares-the-rest" in done.stdout + done.stderr


LATER = """
import { Adapter as Toy } from "./adapter.mjs";

export class Adapter extends Toy {
  capabilities = new Toy().capabilities.filter((each) => each !== "ticks");
  #told = 0;
  #telling = 0;

  async reset(held, tell) {
    await null;
    super.reset(held, (entry) => {
      this.#told += 1;
      this.#telling += 1;
      tell(entry);
      this.#telling -= 1;
    });
  }
  call(command) {
    return this.#telling > 0 ? super.call(command) : this.#called(command);
  }
  async #called(command) {
    return super.call(command);
  }
  answer(command) {
    const open = super.answer(command);
    if (open) this.#run();
    return open;
  }
  async #run() {
    do await null;
    while (super.tick());
  }
  async tick() {
    const before = this.#told;
    await new Promise(setImmediate);
    return this.#told > before;
  }
}
"""


def test_a_loop_on_promises_plays_the_vectors(port: Path) -> None:
    """Its calls are async, and it goes on by itself: `tick` waits until no entry came."""
    if port.name != "typescript":
        pytest.skip("the other templates have no promises")
    (port / "later.mjs").write_text(LATER, encoding="utf-8")
    vectors = (port / "vectors.test.mjs").read_text(encoding="utf-8")
    assert '"./adapter.mjs"' in vectors
    played = port / "played-later.mjs"
    played.write_text(vectors.replace('"./adapter.mjs"', '"./later.mjs"'), encoding="utf-8")
    done = run(port, ("node", "--test", played.name))
    assert done.returncode == 0, done.stdout + done.stderr
