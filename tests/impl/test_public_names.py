"""The door of the part: lazy, complete, and without the rest of the project behind it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import loopspec.impl

IMPL = Path(__file__).resolve().parents[2] / "impl"


def python(program: str) -> str:
    """Run a program that can import this part only, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={"PYTHONPATH": str(IMPL)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "" == done.stderr
    return done.stdout


def test_every_public_name_can_be_loaded_and_is_listed() -> None:
    """`__all__`, `dir` and the homes agree."""
    for name in loopspec.impl.__all__:
        assert getattr(loopspec.impl, name) is not None
    assert loopspec.impl.__all__ == dir(loopspec.impl)
    assert sorted(loopspec.impl._HOME_OF) == sorted(loopspec.impl.__all__)
    with pytest.raises(AttributeError, match="Agnet"):
        loopspec.impl.Agnet  # noqa: B018


def test_importing_the_part_loads_nothing_heavy() -> None:
    """Neither asyncio nor SQLite before the first name is used."""
    program = "import sys, loopspec.impl; print({'asyncio', 'sqlite3', 'attrs'} & set(sys.modules))"
    assert "set()\n" == python(program)


def test_part_imports_no_other_part() -> None:
    """The specification and the loop are strangers."""
    pattern = re.compile(r"loopspec\.(?!impl\b)\w+")
    for path in (IMPL / "loopspec").rglob("*.py"):
        assert [] == pattern.findall(path.read_text(encoding="utf-8")), path


def test_readme_program_runs(tmp_path: Path) -> None:
    """What a newcomer copies first."""
    text = (IMPL / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    file = str(tmp_path / "session.sqlite")
    assert "" == python(program.replace("session.sqlite", file))
    with loopspec.impl.SessionLog.open(file) as log:
        assert "turn/end" == log.read()[-1].type
