"""The document that tells how to judge a loop is true: its code runs, its tables are complete."""

import inspect

import pytest

from loopspec.conformance import Subject
from loopspec.conformance.explain import explain
from loopspec.conformance.verdict import EXITS
from tests.conformance.checks import REJECT, reduced
from tests.generated import ROOT
from tests.readme import code_blocks

PAGE = ROOT / "conformance" / "README.md"
BLOCKS = code_blocks(PAGE)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_its_code_runs(code: str) -> None:
    """As a reader would paste it."""
    exec(compile(code, str(PAGE), "exec"), {})


def test_it_names_every_method_of_the_contract() -> None:
    """And every verdict with its exit code."""
    text = PAGE.read_text(encoding="utf-8")

    methods = [
        name for name, _ in inspect.getmembers(Subject, inspect.isfunction) if name[0] != "_"
    ]
    assert len(methods) > 8
    assert [] == [name for name in methods if f"`{name}(" not in text]
    assert [] == [name for name, code in EXITS.items() if f"| {name} | {code} |" not in text]


def test_its_finding_is_what_is_printed() -> None:
    """Without subject and rules, which are not its subject there."""
    (shown,) = code_blocks(PAGE, "text")

    short = reduced("requeue-on-reject", REJECT)
    printed = explain(short, "python", None, 2, "-").splitlines()
    left = ("  subject", "  rules", "  replay")
    kept = [line for line in printed if not line.startswith(left)]

    assert kept == shown.splitlines()
