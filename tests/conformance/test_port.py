"""A subject behind the port protocol: the same loop, in another process, gives the same trace."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import msgspec
import pytest

from loopspec.conformance.corpus import load_corpus
from loopspec.conformance.drive import foreseen, run_like, run_scenario
from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports import schemas
from loopspec.conformance.ports.failures import Unforeseen
from loopspec.conformance.ports.serving import Server
from loopspec.conformance.ports.words import call_command, text_of
from loopspec.conformance.subjects.guarded import guarded
from loopspec.conformance.subjects.model import ModelSubject
from loopspec.conformance.subjects.port import Port, PortSubject
from loopspec.conformance.subjects.python import PythonSubject
from loopspec.model.scenario import parse_scenario
from loopspec.model.words import Call, text_message

SHIPPED = [sys.executable, "-m", "loopspec.conformance.ports.serving"]
ROOT = Path(__file__).parents[2]
PARTS = os.pathsep.join(str(ROOT / part) for part in ("model", "impl", "conformance", "reports"))


@contextlib.contextmanager
def shipped(*arguments: str, watch: object = None) -> Iterator[Port]:
    """The shipped loop as a port."""
    port = Port([*SHIPPED, *arguments], environment={"PYTHONPATH": PARTS})
    try:
        yield port
    finally:
        port.stop()


def test_the_same_trace_as_in_process() -> None:
    """Every call, answer and window of a sample of the corpus."""
    with shipped("--sum") as port:
        for entry in load_corpus()[::5]:
            near = run_scenario(PythonSubject(), entry.scenario)
            far = run_scenario(PortSubject(port), entry.scenario)
            assert (far.trace, far.made) == (near.trace, near.made), entry.name
        assert port.starts == 1


def test_a_batch_gives_the_same_as_one_by_one() -> None:
    """A whole scenario in one line each way."""
    scenario = parse_scenario("followup A\npre-step: enter\nsteer B\nprovider: done\n")
    lines: list[tuple[str, bytes]] = []
    with shipped() as port:
        single = run_scenario(PortSubject(port), scenario)
        port.watch = lambda way, line: lines.append((way, line))
        like = run_scenario(ModelSubject(), scenario)
        batch = run_like(guarded(PortSubject(port)), like, "notes", foreseen(like.trace))
    assert batch.trace == single.trace
    assert len([way for way, _ in lines if way == ">"]) == 2, "the batch, and bye"


def test_what_was_not_foreseen_is_run_again() -> None:
    """A batch that asks for less than the run needs is no verdict."""
    scenario = parse_scenario("followup A\npre-step: enter\n")
    with shipped() as port, pytest.raises(Unforeseen):
        like = run_scenario(ModelSubject(), scenario)
        run_like(guarded(PortSubject(port)), like, "notes", foreseen(like.trace)[:1])


def test_the_schemas_are_those_of_the_messages() -> None:
    """The shipped files are generated."""
    made = schemas.documents()
    folder = Path(schemas.__file__).parent
    assert {each.name for each in folder.glob("*.schema.json")} == set(made)
    for name, document in made.items():
        text = (folder / name).read_text(encoding="utf-8")
        assert text == schemas.text_of(document), f"write it anew: python -m {schemas.__name__}"


def test_every_line_of_a_talk_fits_its_schema() -> None:
    """Both directions, checked by a validator that knows nothing of the structs."""
    talk: list[tuple[str, bytes]] = []
    with shipped() as port:
        port.watch = lambda way, line: talk.append((way, line))
        for entry in load_corpus()[::15]:
            run_scenario(PortSubject(port), entry.scenario)
    checks = {name: _validator(name) for name in schemas.documents()}
    asked = ""
    kinds = {kind: name for name, kind in wire.ANSWERS.items()}
    for way, line in talk:
        data = msgspec.json.decode(line)
        if way == ">":
            asked = data["do"]
            checks[f"command.{asked}.schema.json"].validate(data)
        else:
            checks[f"answer.{kinds[wire.ANSWER_OF[asked]]}.schema.json"].validate(data)
    assert len(talk) > 100


def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.read_schema(name))


def test_the_server_declares_what_its_subject_can() -> None:
    """And that it takes batches."""
    welcome = Server(ModelSubject()).welcome(wire.Hello(seq=1, protocol=1, contract=1, profile=""))
    assert set(welcome.capabilities) == {*ModelSubject().capabilities, "batch"}


def test_a_trace_that_differs_is_judged_by_itself() -> None:
    """What a faulty loop does is found, whatever the specification has done before."""
    scenario = parse_scenario("followup A\nfollowup B\npre-step: reject\n")
    like = run_scenario(ModelSubject(), scenario)
    with shipped("--mutant=goes-on-after-reject") as port:
        outcome = run_like(guarded(PortSubject(port)), like, "notes", foreseen(like.trace))
    assert "TERM" in {each.code for each in outcome.findings}


def test_a_loop_is_judged_alike_in_process_and_as_a_port() -> None:
    """Counts of rows and premises too, also where the trace was judged with the specification's."""
    scenario = parse_scenario("followup A\npre-step: enter\nsteer B\nprovider: done\n")
    like = run_scenario(ModelSubject(), scenario)
    with shipped() as port:
        far = run_like(guarded(PortSubject(port)), like, "notes", foreseen(like.trace))
    near = run_scenario(PythonSubject(), scenario)
    assert (far.rows, far.met, far.cells) == (near.rows, near.met, near.cells)


def test_the_specification_can_be_served() -> None:
    """Its turn numbers are of a type of their own, which no line has."""
    server = Server(ModelSubject())
    server.answer_to(wire.Reset(seq=1, held=("pre-step",)))
    followup = call_command(Call("followup", (text_message("A"),)), 2)
    assert b'"saw":"turn/start","by":"first","turn":1' in text_of(server.answer_to(followup))
