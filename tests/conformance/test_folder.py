"""The run folder as a place: private, never a second time, whole files, no links, no silence."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopspec.conformance import folder
from loopspec.conformance.folder import FolderError, new_folder, runs_warning, write_whole


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_open_umask")
def test_only_its_owner_can_look_into_a_run_folder(tmp_path: Path) -> None:
    """Whatever the umask says: a trace holds what people have written."""
    made = new_folder(tmp_path / "runs", "check")

    assert 0o700 == stat.S_IMODE(made.stat().st_mode)


@pytest.mark.parametrize("kind", ["folder", "file", "link", "dangling link"])
def test_a_folder_is_never_made_over_what_is_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in an existing folder, and not through a link."""
    monkeypatch.setattr(folder, "run_name", lambda _: "run")
    taken, target = tmp_path / "run", tmp_path / "target"
    if kind == "folder":
        taken.mkdir()
    elif kind == "file":
        taken.write_text("")
    else:
        taken.symlink_to(target)
        if kind == "link":
            target.mkdir()

    with pytest.raises(FolderError, match=f"expected a folder that can be written, got {tmp_path}"):
        new_folder(tmp_path, "check")

    assert {"run", *(["target"] if kind == "link" else [])} == set(os.listdir(tmp_path))


def test_a_link_in_the_default_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come with a stranger's checkout; a place that somebody has named is their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    Path("loopspec-runs").symlink_to("elsewhere")

    with pytest.raises(FolderError, match="loopspec-runs is a symbolic link; name the place with"):
        new_folder(Path("loopspec-runs"), "check")

    assert [] == os.listdir("elsewhere")
    assert new_folder(tmp_path / "loopspec-runs", "check").is_dir()


def test_a_file_is_there_whole_and_alone(tmp_path: Path) -> None:
    """Over an older one, and without the one beside it."""
    path = tmp_path / "run.json"
    path.write_text("old")

    write_whole(path, "new…\n")

    assert "new…\n" == path.read_text("utf-8")
    assert ["run.json"] == os.listdir(tmp_path)


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    """The link goes, its target stays as it was."""
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "run.json").symlink_to(target)

    write_whole(tmp_path / "run.json", "ours")

    assert ("mine", "ours") == (target.read_text(), (tmp_path / "run.json").read_text())
    assert not (tmp_path / "run.json").is_symlink()


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_a_file_that_cannot_be_written_leaves_the_old_one(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence with path and reason; nothing half-written stays behind."""
    path = tmp_path / "run.json"
    path.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path if call == "replace" else os, call, full)
        with pytest.raises(FolderError) as caught:
            write_whole(path, "new")

    expected = (
        f"cannot write {path}: No space left on device; what was written so far stays in {tmp_path}"
    )
    assert expected == str(caught.value)
    assert ("old", ["run.json"]) == (path.read_text(), os.listdir(tmp_path))


def test_the_size_of_the_runs_is_told_once_it_passes_a_limit(tmp_path: Path) -> None:
    """Bytes and folders; what lies behind a link is not counted, and nothing is removed."""
    for name in ("one", "two"):
        write_whole(new_folder(tmp_path, name) / "run.jsonl", "x" * 600)
    (tmp_path / "three").symlink_to(next(tmp_path.iterdir()))

    assert "" == runs_warning(tmp_path, limit=1200)
    expected = f"{tmp_path} holds 1,200 bytes in 2 folders; none is ever removed by itself"
    assert expected == runs_warning(tmp_path, limit=1199)
    assert 3 == len(os.listdir(tmp_path))


def test_the_size_of_nothing_is_no_warning(tmp_path: Path) -> None:
    """A place that is not there, or no folder."""
    assert "" == runs_warning(tmp_path / "nowhere", limit=0)
