"""`loopspec new-port` and `loopspec vectors`: where they write, and what they refuse."""

import json
from pathlib import Path

import pytest

from loopspec.cli import shell


def test_a_new_port_is_written_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Folders on the way are made; what to run next comes last."""
    folder = tmp_path / "ports" / "tiny-loop"
    assert 0 == shell.run(["new-port", "python", str(folder)])
    out, err = capsys.readouterr()
    assert "" == err
    assert '  judge it   loopspec smoke "python adapter.py"' == out.splitlines()[-1]
    assert (folder / "README.md").read_text().startswith("# tiny-loop,")
    assert (folder / ".github/workflows/conformance.yml").is_file()
    assert json.loads((folder / "vectors.json").read_text())["vectors"]


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty directory is taken, one with anything in it and a file are not."""
    taken, file, empty = tmp_path / "taken", tmp_path / "file", tmp_path / "empty"
    for folder in (taken, empty):
        folder.mkdir()
    (taken / "mine").write_text("mine")
    file.write_text("mine")
    assert 2 == shell.run(["new-port", "python", str(taken)])
    assert (
        f"expected an empty directory or none, got {taken} with 1 entry" in capsys.readouterr().err
    )
    assert ["mine"] == [each.name for each in taken.iterdir()]
    assert 2 == shell.run(["new-port", "python", str(file)])
    assert "which is a file" in capsys.readouterr().err
    assert 0 == shell.run(["new-port", "python", str(empty)])


def test_a_language_without_a_template_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those that have one; nothing is made."""
    folder = tmp_path / "port"
    assert 2 == shell.run(["new-port", "cobol", str(folder)])
    first, hint = capsys.readouterr().err.splitlines()
    assert first.startswith("loopspec: expected a language with a template (")
    assert "'cobol'" in first and "docs/writing-a-port.md" in hint
    assert not folder.exists()


def test_vectors_are_the_same_in_a_file_and_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing else is said."""
    path = tmp_path / "vectors.json"
    assert 0 == shell.run(["vectors", "--out", str(path)])
    assert ("", "") == capsys.readouterr()
    assert 0 == shell.run(["vectors"])
    assert path.read_text(encoding="utf-8") == capsys.readouterr().out
    assert "notes" == json.loads(path.read_text(encoding="utf-8"))["profile"]


def test_vectors_of_no_profile_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """By the name that was given."""
    assert 2 == shell.run(["vectors", "--profile", "none"])
    assert "got 'none'" in capsys.readouterr().err


def test_javascript_is_the_template_of_typescript(tmp_path: Path) -> None:
    """Its types stand in comments, so it is both."""
    assert 0 == shell.run(["new-port", "javascript", str(tmp_path / "port")])
    assert (tmp_path / "port" / "adapter.mjs").is_file()
