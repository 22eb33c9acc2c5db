"""Reading evidence back: cut off where a run was killed, or refused, each damage by its name."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from loopspec.conformance import recorded
from loopspec.conformance.recorded import CaseLine, RecordError, Recording, read_recording
from loopspec.conformance.recorder import NAME
from loopspec.conformance.retrial import judge_again
from tests.conformance.recordings import HEADER, edited, outcomes, recording, without_footer


def cases_of(kept: Recording) -> list[tuple[int, str]]:
    """The recorded cases with their scenarios."""
    return [(each.case, each.scenario) for _, each in kept.lines() if isinstance(each, CaseLine)]


def refusal(path: Path) -> RecordError:
    """Why a file is not read, in one sentence about this file; found by a judge, too."""
    with pytest.raises(RecordError) as caught:
        for number, line in read_recording(path).lines():
            if isinstance(line, CaseLine):
                read_recording(path).played(number, line)
    with pytest.raises(RecordError):
        judge_again(path)
    assert "\n" not in caught.value.sentence
    return caught.value


def test_what_was_written_is_read_back_equal(tmp_path: Path) -> None:
    """Header, scenarios, traces, what was made, footer; by the folder and by the file."""
    path = recording(tmp_path)

    kept = read_recording(tmp_path)

    assert kept == read_recording(path)
    assert HEADER.again == kept.header.again
    assert kept.footer is not None
    assert (3, 3, False) == (kept.cases, kept.footer.scenarios, kept.torn)
    seen = [kept.played(at, each) for at, each in kept.lines() if isinstance(each, CaseLine)]
    expected = outcomes()
    assert [each.scenario for each in expected] == [each.scenario for each in seen]
    assert [each.trace for each in expected] == [each.trace for each in seen]
    assert [each.made for each in expected] == [each.made for each in seen]


def test_a_run_cut_off_anywhere_is_read_as_far_as_it_came(tmp_path: Path) -> None:
    """At every byte of some, and around every end of a line: never a traceback or a lost line."""
    data = recording(tmp_path).read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    cuts = {end + step for end in ends for step in (-2, -1, 0, 1) if end + step < len(data)}
    cuts |= set(range(ends[0], len(data), 97)) | set(range(ends[-2], len(data)))
    path = tmp_path / NAME

    for cut in sorted(cuts):
        path.write_bytes(data[:cut])
        whole_lines = data[:cut].count(b"\n")
        if not whole_lines:
            assert "RECORD_TORN" == refusal(path).code
            continue
        kept = read_recording(path)
        assert kept.footer is None
        assert (cut not in ends) == kept.torn
        assert min(whole_lines - 1, 3) == kept.cases == len(cases_of(kept))


def test_an_empty_file_is_a_run_that_ended_before_it_began(tmp_path: Path) -> None:
    """Not a run without findings."""
    (tmp_path / NAME).write_bytes(b"")

    found = refusal(tmp_path)

    expected = f"{tmp_path / NAME} is empty: the run ended before it wrote its first line"
    assert ("RECORD_EMPTY", expected) == (found.code, found.sentence)


def test_a_file_of_half_a_header_says_so(tmp_path: Path) -> None:
    """Nothing in it can be judged."""
    (tmp_path / NAME).write_bytes(b'{"line":"hea')

    found = refusal(tmp_path)

    assert "RECORD_TORN" == found.code
    assert found.sentence.endswith(" ends inside its first line: the run ended as it began")


@pytest.mark.parametrize(
    "text",
    ["hello\n", "{}\n", '{"line":"case"}\n', "[" * 100_000 + "\n", "\x00\n", '{"format":1}\n'],
)
def test_a_foreign_file_is_none_of_ours(text: str, tmp_path: Path) -> None:
    """Whatever it is: text, JSON, too deep, binary."""
    (tmp_path / NAME).write_text(text)

    found = refusal(tmp_path)

    assert "RECORD_FOREIGN" == found.code
    assert found.sentence.endswith(" is no evidence of loopspec: its first line is no header")


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    """With both numbers and what to do."""
    edited(recording(tmp_path), lambda lines: lines[0].update(format=2, unheard_of=True))

    found = refusal(tmp_path)

    assert "RECORD_NEWER" == found.code
    assert "has format 2, this loopspec reads format 1" in found.sentence
    assert found.hint.startswith("update loopspec")


def again(lines: list[dict[str, Any]]) -> None:
    """The second case comes again at the end."""
    lines.append(lines[2])


def backwards(lines: list[dict[str, Any]]) -> None:
    """The second case comes before the first."""
    lines[1], lines[2] = lines[2], lines[1]


def missing(lines: list[dict[str, Any]]) -> None:
    """The second case is left out."""
    del lines[2]


def second_header(lines: list[dict[str, Any]]) -> None:
    """The header comes again."""
    lines.append(lines[0])


def changed(**values: object) -> Callable[[list[dict[str, Any]]], None]:
    """The first case says something else."""
    return lambda lines: lines[1].update(values)


@pytest.mark.parametrize(
    ("change", "code", "part"),
    [
        (again, "RECORD_DUPLICATE", "line 6: case 2 comes a second time, first on line 3"),
        (backwards, "RECORD_GAP", "line 2: expected case 1, got case 2"),
        (missing, "RECORD_GAP", "line 3: expected case 2, got case 3"),
        (second_header, "RECORD_DAMAGED", "line 6 is a second header"),
        (changed(line="rumour"), "RECORD_DAMAGED", "line 2 is no line of run.jsonl: Invalid value"),
        (changed(case="1"), "RECORD_DAMAGED", "line 2 is no line of run.jsonl: Expected `int`"),
        (changed(scenario="followup"), "RECORD_DAMAGED", "line 2: "),
        (changed(trace=[{"call": "x"}]), "RECORD_DAMAGED", "line 2, entry 1: expected a call with"),
        (changed(unmade=[9]), "RECORD_DAMAGED", "line 2: expected lines among 2, got 9"),
        (changed(unmade=[-1]), "RECORD_DAMAGED", "line 2: expected lines among 2, got -1"),
        (
            lambda lines: lines[0].update(profile="nosuch"),
            "RECORD_PROFILE",
            "expected a profile (notes, ",
        ),
        (
            lambda lines: lines[0].update(evidence="some"),
            "RECORD_DAMAGED",
            "line 1: expected format 1 and evidence (all, findings, none)",
        ),
    ],
)
def test_each_damage_has_its_own_sentence(
    change: Callable[[list[dict[str, Any]]], None], code: str, part: str, tmp_path: Path
) -> None:
    """With the line that it is about, although the footer fits."""
    edited(recording(tmp_path), change)

    if code == "RECORD_PROFILE":
        with pytest.raises(RecordError) as caught:
            judge_again(tmp_path)
        found = caught.value
    else:
        found = refusal(tmp_path)

    assert code == found.code
    assert part in found.sentence


def test_a_case_left_out_is_no_gap_where_not_all_are_kept(tmp_path: Path) -> None:
    """Numbers are those of the run."""
    recording(tmp_path, attrs.evolve(HEADER, evidence="findings"), mutant="requeue-on-reject")

    assert [1] == [case for case, _ in cases_of(read_recording(tmp_path))]


def footer_with(**values: object) -> Callable[[bytes], bytes]:
    """The footer says something else."""

    def change(data: bytes) -> bytes:
        *lines, footer = data.splitlines(keepends=True)
        return b"".join(lines) + json.dumps(json.loads(footer) | values).encode() + b"\n"

    return change


@pytest.mark.parametrize(
    ("change", "code", "part"),
    [
        (footer_with(lines=5), "RECORD_FOOTER", "line 6: the footer counts 5 lines, there are 6"),
        (footer_with(cases=4), "RECORD_FOOTER", "line 6: the footer counts 4 cases, there are 3"),
        (footer_with(sha256="0"), "RECORD_CHECKSUM", "line 6: the checksum of the footer is not"),
        (lambda data: data.replace(b'"A"', b'"B"', 1), "RECORD_CHECKSUM", "is not that of the lin"),
        (lambda data: data + b"{}\n", "RECORD_BEHIND", "line 7 stands behind the footer"),
        (lambda data: data + b"{", "RECORD_BEHIND", "something stands behind the footer"),
        (lambda data: data.replace(b"}\n", b"}}\n", 2), "RECORD_FOREIGN", "is no header"),
        (
            lambda data: data.replace(b'"unmade":[]', b'"unmade":[NaN]', 1),
            "RECORD_DAMAGED",
            "line 2 is not JSON: NaN is no number of JSON",
        ),
        (
            lambda data: data.replace(b'"unmade":[]', b'"unmade":' + b"[" * 99_999, 1),
            "RECORD_DAMAGED",
            "line 2 is nested too deep",
        ),
        (
            lambda data: data.replace(b'"unmade":[]', b'"unmade":[\xff]', 1),
            "RECORD_DAMAGED",
            "line 2 is not JSON",
        ),
    ],
)
def test_bytes_that_do_not_fit_are_refused(
    change: Callable[[bytes], bytes], code: str, part: str, tmp_path: Path
) -> None:
    """Counts, checksum, something behind the end, no JSON."""
    path = recording(tmp_path)
    path.write_bytes(change(path.read_bytes()))

    found = refusal(tmp_path)

    assert code == found.code
    assert part in found.sentence


def test_a_line_without_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit, told as such."""
    recording(tmp_path)
    monkeypatch.setattr(recorded, "LINE_BYTES_MAX", 700)

    found = refusal(tmp_path)

    assert "RECORD_SIZE" == found.code
    assert "line 2 is longer than 700 bytes" in found.sentence


@pytest.mark.parametrize("kind", ["nothing", "no folder", "a file", "link", "pipe", "folder"])
def test_only_a_file_in_a_folder_is_opened(kind: str, tmp_path: Path) -> None:
    """A pipe would never end, and a link leads elsewhere."""
    folder = tmp_path / "run"
    if kind == "a file":
        folder.write_text("")
    elif kind != "no folder":
        folder.mkdir()
        place = folder / NAME
        if kind == "link":
            place.symlink_to(recording(tmp_path))
        elif kind == "pipe":
            os.mkfifo(place)
        elif kind == "folder":
            place.mkdir()

    found = refusal(folder)

    assert "RECORD_MISSING" == found.code
    assert found.sentence.startswith("expected ")


def test_a_bit_that_turns_is_a_refusal_or_a_verdict(tmp_path: Path) -> None:
    """No footer guards a killed run; what still reads as evidence is judged, the rest is named."""
    data = b"".join(without_footer(recording(tmp_path)))
    chance = random.Random(7)

    for at in range(0, len(data), 61):
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(7)
        (tmp_path / NAME).write_bytes(changed)
        try:
            verdict = judge_again(tmp_path).result.verdict
        except RecordError as error:
            assert "\n" not in error.sentence
        else:
            assert verdict in ("broken", "inconclusive")
