"""The logs in `examples/logs`: written again byte for byte, and as expected."""

import runpy
from pathlib import Path

import pytest

from loopspec.conformance.trace import Acceptor, find_logs, judge_log
from loopspec.conformance.trace.expected import read_expected, unexpected

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "logs"


def test_the_script_writes_them_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No log of the folder is missing, none is left over."""
    monkeypatch.setattr("sys.argv", ["write.py", str(tmp_path)])
    runpy.run_path(str(FOLDER / "write.py"), run_name="__main__")
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    assert {path.name: path.read_bytes() for path in FOLDER.glob("*.jsonl")} == written


def test_they_are_as_expected() -> None:
    """Also those that are broken on purpose, with rule and record."""
    acceptor = Acceptor()
    logs = [judge_log(found.path, acceptor) for found in find_logs([FOLDER])]
    expected = read_expected(FOLDER / "expected.toml")

    assert [] == list(unexpected(logs, expected))
    assert 2 == sum(log.verdict == "broken" for log in logs)
