"""`loopspec doctor`: versions, known faults, extras and tools, in one line each."""

import importlib.metadata
import json

import pytest

from loopspec.cli import doctor, shell
from loopspec.cli.doctor import package_rows, python_row, sqlite_rows


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ((3, 8, 2), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
    ],
)
def test_race_of_the_write_ahead_log_is_named_for_the_versions_that_have_it(
    version: tuple[int, ...], known: bool
) -> None:
    """With the reason why the log is not exposed."""
    first, *faults = sqlite_rows(version, 3)
    assert "ok" == first.state
    assert known == bool(faults)
    assert all(
        "known" == fault.state and "one connection" in fault.says and "race" in fault.what
        for fault in faults
    )


def test_what_is_needed_and_not_there_is_bad() -> None:
    """Each with what was expected."""
    assert ("bad", "loopspec needs Python 3.11 to 3.13") == python_row((3, 10, 9))[1:]
    assert "bad" == python_row((3, 14, 0)).state
    assert "ok" == python_row((3, 13, 1)).state
    assert ["bad"] == [row.state for row in sqlite_rows((3, 7, 17), 3)]
    assert "writer='inline'" in next(sqlite_rows((3, 52, 0), 0)).says


def test_packages_are_told_for_the_base_and_for_each_extra() -> None:
    """An absent extra is no fault; an absent package of the base is one."""
    rows = list(
        package_rows(["pytest>=8", "no-such-a", "mypy ; extra == 'dev'", 'no-such-b; extra=="x"'])
    )
    assert [("packages", "bad"), ("extra dev", "ok"), ("extra x", "absent")] == [
        (row.what, row.state) for row in rows
    ]
    assert "lacks no-such-a;" in rows[0].says
    assert "lacks no-such-b" == rows[2].says


def test_this_machine_is_told_in_text_and_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same rows both ways; zero, since whoever runs this test has what is needed."""
    assert 0 == shell.run(["doctor"])
    text = capsys.readouterr().out.splitlines()
    assert 0 == shell.run(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in rows] == [row.what for row in doctor.looked_at()]
    assert all(row["what"] in line for row, line in zip(rows, text, strict=True))


def test_source_tree_that_is_not_installed_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its packages cannot be known then."""

    def lost(_: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "requires", lost)
    assert 0 == shell.run(["doctor"])
    assert "loopspec is not installed" in capsys.readouterr().out


def test_something_bad_is_exit_code_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could not run here."""
    monkeypatch.setattr(doctor, "looked_at", lambda: iter([python_row((3, 9, 0))]))
    assert 2 == shell.run(["doctor"])
    assert "bad     Python 3.9.0  loopspec needs" in capsys.readouterr().out
