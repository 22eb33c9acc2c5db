"""What a run prints."""

import io
import re

import pytest

from loopspec.reports.run import Run, decode_run
from loopspec.reports.terminal import closing_lines, print_run
from tests.reports import samples
from tests.reports.samples import encoded

FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]")


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def printed(run: Run, file: io.StringIO | None = None, cells: bool = False) -> str:
    """The print-out of a run."""
    file = file or io.StringIO()
    print_run(run, file, "runs/x/report.html", cells)
    return file.getvalue()


@pytest.mark.parametrize("name", samples.ALL)
def test_the_last_line_names_the_verdict(name: str) -> None:
    """Under make only zero or not counts, so the last line says which verdict it was."""
    run = decode_run(encoded(samples.ALL[name]()))

    last = printed(run).splitlines()[-1]

    assert last.startswith(f"verdict  {run.verdict} (exit {run.exit})")


def test_the_closing_lines_tell_counts_report_replay_and_verdict() -> None:
    """In this order, each on a line of its own."""
    run = decode_run(encoded(samples.broken()))

    heads = [text.split(" ")[0] for text, _ in closing_lines(run, "report.html") if text]

    assert ["counts", "report", "replay", "reason", "verdict"] == heads


def test_a_finding_shows_sentence_witness_reason_and_replay() -> None:
    """A failure prints the promise that was broken and what to type next."""
    text = printed(decode_run(encoded(samples.broken())))

    assert f"REJ broken: {samples.REJ}" in text
    assert "            followup A\n" in text
    assert "However, the subject inserted A" in text
    assert "allowed   record turn/end turn 1 blocked" in text
    assert "replay    loopspec replay loopspec-runs/" in text


def test_every_reason_of_an_inconclusive_run_is_printed() -> None:
    """A pass that means nothing says why."""
    text = printed(decode_run(encoded(samples.inconclusive())))

    assert "the canary survived" in text
    assert "the premise of REJ was never met" in text


def test_no_string_of_a_subject_acts_on_a_terminal() -> None:
    """Escape sequences, control and bidi characters are spelled out."""
    text = printed(decode_run(encoded(samples.hostile())))

    assert not FORBIDDEN.search(text)
    assert "\\x1b[2J" in text


def test_on_a_terminal_the_only_escapes_are_our_colours() -> None:
    """Taking our own colour sequences away leaves no escape."""
    text = printed(decode_run(encoded(samples.hostile())), Terminal())

    assert not FORBIDDEN.search(re.sub("\x1b\\[[0-9;]*m", "", text))


def test_no_line_reads_as_a_command_of_a_ci_runner() -> None:
    """The runner's two rules: `::name` after blanks, and `##[name]` anywhere in a line."""
    for line in printed(decode_run(encoded(samples.hostile()))).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_the_table_of_calls_is_counted_unless_every_window_is_asked_for() -> None:
    """One line a driver state by default; `--cells` prints one a window."""
    run = decode_run(encoded(samples.holds()))
    drivers = {cell.driver for cell in run.cells}

    short, long = printed(run), printed(run, cells=True)

    assert "(--cells: all)" in short
    assert "calls made, driver" not in short
    assert len(drivers) == long.count("calls made, driver")
    assert len(long.splitlines()) > len(short.splitlines())


def test_a_finding_lists_every_code_and_who_saw_it() -> None:
    """One witness may break several promises; the verdict line names them all."""
    document = samples.broken()
    document["findings"][0] |= {"codes": ["REJ", "OWN"], "seen_by": "REJ and trace inclusion"}

    text = printed(decode_run(encoded(document)))

    assert "also      OWN" in text
    assert "seen by   REJ and trace inclusion" in text
    assert "verdict  broken (exit 1): OWN, REJ" == text.splitlines()[-1]
