"""`loopspec trace`: what it prints, what it answers, and how it says that it cannot run."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from loopspec.cli import shell
from loopspec.cli.exits import CouldNotRun
from loopspec.conformance.trace.notation import log_of

HOLDS = "+T[A] {1 -T[A] (1 uA a )1 }1:completed"
BROKEN = "+T[A] {1 (1 xB a )1 }1:completed"
OLD = "{1 (1 a )1 }1:completed"


def run(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and output."""
    given = ["trace", *map(str, arguments)]
    result = CliRunner().invoke(shell.group, given, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout


def write(folder: Path, **logs: str) -> Path:
    """A folder with logs in the notation."""
    for name, text in logs.items():
        (folder / f"{name}.jsonl").write_bytes(log_of(text))
    return folder


def test_a_log_that_holds_is_told_with_its_shape_and_profiles(tmp_path: Path) -> None:
    """The last line names the verdict."""
    code, text = run(write(tmp_path, a=HOLDS) / "a.jsonl")

    assert 0 == code
    assert "shape     claims in their turn, numbered" in text
    assert "profiles  notes, dsh-0.1, dsh-0.2 explain all of it" in text
    assert "verdict  holds: 1 holds" == text.splitlines()[-1]


def test_a_broken_log_is_told_with_rule_record_and_why(tmp_path: Path) -> None:
    """And what the table would have written."""
    code, text = run(write(tmp_path, a=BROKEN) / "a.jsonl")

    assert 1 == code
    assert "MODEL broken: A turn's first boundary claims what is pending." in text
    assert "  rules     CL-02" in text
    assert "  record    4 (seq 2), step/start" in text
    assert "  because   turn 1 is open; next-turn holds A, next-step holds nothing." in text
    assert "  allowed   agent/inbox/spliced next-turn@0 -1" in text


def test_a_folder_is_a_table_and_a_summary(tmp_path: Path) -> None:
    """One line a log, the worst verdict last."""
    folder = write(tmp_path, a=HOLDS, b=BROKEN, c=OLD)
    code, text = run(folder)
    assert 1 == code
    assert "verdict  broken: 1 broken, 1 holds, 1 skipped" == text.splitlines()[-1]

    (folder / "b.jsonl").write_bytes(b"nothing\n")
    assert 2 == run(folder)[0]
    (folder / "b.jsonl").write_bytes(log_of(HOLDS) + b"\xff\n")
    assert 3 == run(folder)[0]
    (folder / "b.jsonl").unlink()
    assert 0 == run(folder)[0]
    assert (3, "verdict  inconclusive: 1 skipped, nothing was checked") == (
        run(folder / "c.jsonl")[0],
        run(folder / "c.jsonl")[1].splitlines()[-1],
    )


def test_an_empty_folder_checks_nothing(tmp_path: Path) -> None:
    """Which is never a success."""
    code, text = run(tmp_path)

    assert 3 == code
    assert "no log was found" in text


def test_expectations_are_compared_log_by_log(tmp_path: Path) -> None:
    """Verdict, rule and record; and that every log has its entry."""
    folder = write(tmp_path, a=HOLDS, b=BROKEN)
    expected = tmp_path / "expected.toml"
    entry = '[logs."a.jsonl"]\nverdict = "holds"\n[logs."b.jsonl"]\nverdict = "broken"\n'
    expected.write_text(entry + 'rule = "CL-02"\nrecord = 4\n')
    assert (0, "verdict  holds: every log is as expected") == (
        run(folder, "--expect", expected)[0],
        run(folder, "--expect", expected)[1].splitlines()[-1],
    )

    for wrong in ('rule = "OWN"\n', "record = 5\n", '[logs."c.jsonl"]\nverdict = "holds"\n'):
        expected.write_text(entry + wrong)
        assert 1 == run(folder, "--expect", expected)[0]
    expected.write_text('[logs."a.jsonl"]\nverdict = "holds"\n')
    assert "nothing was expected of it" in run(folder, "--expect", expected)[1]


@pytest.mark.parametrize("text", ["", "[logs]", "x", '[logs.a]\nverdict = "fine"', "[logs]\na = 1"])
def test_a_file_of_expectations_that_says_nothing_is_refused(tmp_path: Path, text: str) -> None:
    """One sentence."""
    expected = tmp_path / "expected.toml"
    expected.write_text(text)
    with pytest.raises(CouldNotRun, match=r"expected"):
        run(write(tmp_path, a=HOLDS), "--expect", expected)


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    """A path that leads nowhere, a profile that does not exist."""
    with pytest.raises(CouldNotRun, match="expected a log or a folder of logs"):
        run(tmp_path / "none")
    with pytest.raises(CouldNotRun, match="there is no profile 'x'; profiles are notes"):
        run(tmp_path, "--profile", "x")


def test_an_id_may_be_allowed_to_come_again(tmp_path: Path) -> None:
    """A note then."""
    text = "+T[A] {1 -T[A] }1:blocked +T[A] {2 -T[A] }2:blocked"
    log = write(tmp_path, a=text) / "a.jsonl"

    assert "OWN (CL-09) at record 6" in run(log)[1]
    assert 0 == run(log, "--resend", "allowed")[0]


def test_edits_are_refused_or_legal_by_kind(tmp_path: Path) -> None:
    """With the reason; and nothing is missed."""
    code, text = run(write(tmp_path, a=HOLDS), "--edits")

    assert 0 == code
    assert "refused" in text
    assert "drop turn/end: a log may end anywhere" in text
    assert "verdict  holds: no edit was missed" == text.splitlines()[-1]
    assert 3 == run(write(tmp_path, a=OLD), "--edits")[0]


def test_the_result_can_be_json(tmp_path: Path) -> None:
    """With the same verdict and finding."""
    code, text = run(write(tmp_path, a=BROKEN), "--json")
    document = json.loads(text)

    assert (1, 1, "broken") == (code, document["exit"], document["verdict"])
    assert 4 == document["logs"][0]["finding"]["line"]


def test_limits_are_options(tmp_path: Path) -> None:
    """A line, a depth, and what comes out of a container."""
    log = write(tmp_path, a=HOLDS) / "a.jsonl"

    assert "longer than 20 bytes" in run(log, "--line-limit", "20")[1]
    assert "at most 2 nested brackets" in run(log, "--depth-limit", "2")[1]


def test_junit_has_a_case_for_each_log(tmp_path: Path) -> None:
    """Broken is a failure, skipped is skipped, what could not be read is an error."""
    folder = write(tmp_path, a=HOLDS, b=BROKEN, c=OLD)
    (folder / "d.jsonl").write_bytes(b"x\n")
    out = tmp_path / "junit.xml"
    run(folder, "--junit", out)
    cases = {case.get("name", ""): case for case in ET.parse(out).getroot().iter("testcase")}
    tags = {Path(name).stem: [each.tag for each in case] for name, case in cases.items()}

    wanted = {"a": [], "b": ["failure"], "c": ["skipped"], "d": ["error"], "verdict": ["failure"]}
    assert wanted == tags


def test_the_summary_is_markdown(tmp_path: Path) -> None:
    """A table of logs, then the findings."""
    out = tmp_path / "summary.md"
    run(write(tmp_path, a=HOLDS, b=BROKEN), "--markdown", out)
    text = out.read_text()

    assert text.startswith("# loopspec trace\n\n**broken: 1 broken, 1 holds**\n")
    assert "`MODEL CL-02 at record 4 (seq 2)`" in text


def test_the_page_marks_the_broken_record(tmp_path: Path) -> None:
    """With both lists, the turns, and no script."""
    out = tmp_path / "page.html"
    run(write(tmp_path, b=BROKEN) / "b.jsonl", "--html", out)
    text = out.read_text()

    assert 1 == text.count('id="broken"')
    assert "<script" not in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert 2 == text.count("<svg")
    with pytest.raises(CouldNotRun, match="expected one log for --html"):
        run(write(tmp_path, a=HOLDS), "--html", out)


def test_a_page_stays_small_however_long_the_log(tmp_path: Path) -> None:
    """Turns are put together, lists are drawn with few points."""
    turns = " ".join(f"+T[A{n}] {{{n} -T[A{n}] }}{n}:blocked" for n in range(1, 2_500))
    out = tmp_path / "page.html"
    run(write(tmp_path, long=turns) / "long.jsonl", "--html", out)

    assert "5 turns a row." in out.read_text()
    assert out.stat().st_size < 300_000
