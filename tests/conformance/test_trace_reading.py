"""The one door for the bytes of a log: containers, tails, limits, and hostile input."""

import json
import os
import random
from pathlib import Path

import pytest
import zstandard

from loopspec.conformance.trace import Acceptor, Judged, Limits, NotALog, find_logs, judge_log
from loopspec.conformance.trace.notation import log_of

ONE = Acceptor()
TEXT = "+T[A] {1 -T[A] (1 uA a )1 }1:completed"
PLAIN = log_of(TEXT)


def judged(tmp_path: Path, content: bytes, limits: Limits | None = None) -> Judged:
    """The verdict on the bytes of a log."""
    path = tmp_path / "log"
    path.write_bytes(content)
    return judge_log(path, ONE, limits=limits)


def frames(content: bytes, lines: int = 1) -> bytes:
    """A container: a frame for the header, then one for each few lines."""
    packer = zstandard.ZstdCompressor(write_checksum=True)
    parts = content.splitlines(keepends=True)
    groups = [parts[:1], *(parts[i : i + lines] for i in range(1, len(parts), lines))]
    return b"".join(packer.compress(b"".join(group)) for group in groups)


def test_a_container_reads_as_the_plain_log(tmp_path: Path) -> None:
    """The same records, and how many frames there were."""
    plain, packed = judged(tmp_path, PLAIN), judged(tmp_path, frames(PLAIN))

    assert ("holds", "plain", 0) == (plain.verdict, plain.container, plain.frames)
    assert ("holds", "zstd", 9) == (packed.verdict, packed.container, packed.frames)
    assert plain.records == packed.records


def test_a_torn_container_is_told_with_what_was_dropped(tmp_path: Path) -> None:
    """At every byte of the last frame; nothing of it was acknowledged."""
    whole = frames(PLAIN, lines=3)
    last = len(frames(b"".join(PLAIN.splitlines(keepends=True)[:7]), lines=3))
    for end in range(last + 1, len(whole)):
        log = judged(tmp_path, whole[:end])
        assert "holds" == log.verdict
        assert ("an incomplete last zstd frame", end - last) == (log.tail.torn, log.tail.dropped)


def test_a_plain_log_may_end_at_every_byte(tmp_path: Path) -> None:
    """A cut line is dropped, and what is left holds or is skipped."""
    first = PLAIN.index(b"\n") + 1
    for end in range(first, len(PLAIN)):
        log = judged(tmp_path, PLAIN[:end])
        assert log.verdict in ("holds", "skipped")
        assert len(PLAIN[:end].rpartition(b"\n")[2]) == log.tail.dropped


def test_a_damaged_frame_is_damage_and_no_tail(tmp_path: Path) -> None:
    """It is named by its offset."""
    whole = bytearray(frames(PLAIN, lines=3))
    middle = len(frames(PLAIN.splitlines(keepends=True)[0]))
    whole[middle + 9] ^= 0xFF
    log = judged(tmp_path, bytes(whole))

    assert "unknown" == log.verdict
    assert f"the zstd frame at byte {middle} cannot be read" in log.reason


def test_a_bomb_is_left_before_it_goes_off(tmp_path: Path) -> None:
    """The limit counts what comes out, whatever a frame says of itself."""
    header, line = PLAIN.splitlines(keepends=True)[0], b"0" * (32 << 20)
    bomb = zstandard.ZstdCompressor(level=19).compress(header + line)
    log = judged(tmp_path, bomb, Limits(decompressed=1 << 20))

    assert "unknown" == log.verdict
    assert "decompresses to more than 1,048,576 bytes" in log.reason
    assert len(bomb) < 20_000


def test_a_window_that_is_too_wide_is_refused(tmp_path: Path) -> None:
    """Before memory is taken for it."""
    wide = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
    packed = zstandard.ZstdCompressor(compression_params=wide)
    writer = packed.compressobj()
    content = writer.compress(PLAIN) + writer.flush()
    log = judged(tmp_path, content, Limits(window=1 << 20))

    assert "cannot be read" in log.reason


def with_line(line: bytes) -> bytes:
    """A log with one more line in its middle."""
    lines = PLAIN.splitlines(keepends=True)
    return b"".join([*lines[:4], line + b"\n", *lines[4:]])


HOSTILE = {
    b'{"type":"x","seq":3,"seq":3,"data":{}}': "expected each key once, got 'seq' twice",
    b'{"type":"x","data":{"a":{"b":1,"b":1}}}': "expected each key once, got 'b' twice",
    b'{"type":"x","a\\\\":1,"a\\\\":2}': "expected each key once",
    b'{"type":"x","data":"\xff"}': "expected UTF-8, got the byte 0xff at offset",
    b'{"type":"x","data":"\\ud800"}': "lone surrogate",
    b'{"type":"x","data":1e400}': "expected finite numbers, got 1e400",
    b'{"type":"x","data":NaN}': "expected JSON, got NaN",
    b'{"type":"x","data":99999999999999999999}': "expected integers of 64 bits",
    b'{"type":"x","data":' + b"9" * 5000 + b"}": "expected integers of 64 bits",
    b'{"type":"x","data":' + b"[" * 129 + b"]" * 129 + b"}": "at most 128 nested brackets",
    b'{"type":"x","data":' + b"[" * 100_000: "at most 128 nested brackets",
    b'{"type":"x"': "expected a JSON object",
    b"[]": "expected a JSON object, got an array",
    b"\x00\x01": "expected a JSON object",
}


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: HOSTILE[line][:40])
def test_a_hostile_line_is_named_and_ends_what_can_be_said(tmp_path: Path, line: bytes) -> None:
    """Unknown, with the line and the reason; never a traceback."""
    log = judged(tmp_path, with_line(line))

    assert "unknown" == log.verdict
    assert log.reason.startswith("line 5 is damaged: ")
    assert HOSTILE[line] in log.reason


def test_brackets_inside_strings_do_not_count(tmp_path: Path) -> None:
    """Only those that nest."""
    line = b'{"type":"x","ignorable":true,"seq":3,"data":"' + b"[" * 500 + b'\\"{"}'
    content = with_line(line).replace(b'"seq":3,"data":{"turn"', b'"seq":3,"data":{"turn"')
    rows = [json.loads(each) for each in content.splitlines()]
    for number, row in enumerate(rows[1:]):
        row["seq"] = number
    log = judged(tmp_path, b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    assert "holds" == log.verdict


def test_a_broken_record_before_the_damage_is_told(tmp_path: Path) -> None:
    """What came first decides."""
    content = log_of("+T[A] {1 -T[A] }2:blocked") + b"\xff\n"

    assert "broken" == judged(tmp_path, content).verdict


def test_a_byte_order_mark_is_skipped_and_told(tmp_path: Path) -> None:
    """It changes nothing else."""
    log = judged(tmp_path, b"\xef\xbb\xbf" + PLAIN)

    assert "holds" == log.verdict
    assert "byte order mark" in log.notes[0]


NO_LOGS = {
    b"": "got an empty file",
    PLAIN.decode().encode("utf-16"): "UTF-16",
    PLAIN.decode().encode("utf-16-be"): "NUL bytes",
    b"PK\x03\x04....": "a zip archive",
    b"\x1f\x8b....": "a gzip file",
    b"hello\n": "line 1: expected a JSON object, got 'hello'",
    b"[1]\n": "line 1: expected a JSON object, got an array",
    b'{"a":1}\n': "expected a record with its 'type'",
    b'{"type":3}\n': "expected a record with its 'type'",
}


@pytest.mark.parametrize("content", NO_LOGS, ids=lambda content: NO_LOGS[content][:30])
def test_what_is_no_log_is_said_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    """Not a log, with what it is."""
    log = judged(tmp_path, content)

    assert "not a log" == log.verdict
    assert NO_LOGS[content] in log.reason
    assert "\n" not in log.reason


def test_a_line_without_end_is_given_up(tmp_path: Path) -> None:
    """At the limit, not when memory is gone."""
    log = judged(tmp_path, PLAIN + b'"' + b"x" * 5_000_000, Limits(line=1 << 20))

    assert "unknown" == log.verdict
    assert "line 10 is longer than 1,048,576 bytes" in log.reason


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    """A FIFO without a writer would wait for ever, a device never ends."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    assert "got a FIFO" in judge_log(fifo, ONE).reason
    assert "got a character device" in judge_log(Path(os.devnull), ONE).reason
    assert "got a folder" in judge_log(tmp_path, ONE).reason


def test_in_a_folder_no_link_is_followed(tmp_path: Path) -> None:
    """Loops are cut, devices and links are named, other files are left alone."""
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(PLAIN)
    inside = tmp_path / "logs"
    (inside / "below").mkdir(parents=True)
    (inside / "below" / "a.jsonl").write_bytes(PLAIN)
    (inside / "README.md").write_text("no log")
    (inside / "loop").symlink_to(inside)
    (inside / "link.jsonl").symlink_to(outside)
    os.mkfifo(inside / "fifo.jsonl")
    found = {str(each.path.relative_to(inside)): each.problem for each in find_logs([inside])}

    assert {"below/a.jsonl", "link.jsonl", "fifo.jsonl"} == found.keys()
    assert "" == found["below/a.jsonl"]
    assert "a symbolic link" in found["link.jsonl"]
    assert "a FIFO" in found["fifo.jsonl"]
    assert "holds" == judge_log(inside / "link.jsonl", ONE).verdict
    assert "symbolic link" in judge_log(inside / "link.jsonl", ONE, walked=True).reason


def test_a_folder_is_looked_at_up_to_a_limit(tmp_path: Path) -> None:
    """The rest is told, never silently left out."""
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_bytes(PLAIN)
    found = list(find_logs([tmp_path], files_max=3))

    assert [False, False, False, True] == [bool(each.problem) for each in found]
    assert "more than 3 files" in found[-1].problem


def test_a_name_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    """Also one that no system takes."""
    for path in (tmp_path / "none", Path("a\0b"), tmp_path / ("x" * 300)):
        with pytest.raises(NotALog, match="expected a log or a folder of logs"):
            list(find_logs([path]))


def test_a_log_changed_at_any_place_gets_a_verdict(tmp_path: Path) -> None:
    """Bytes flipped, cut out and put in, plain and packed: a verdict each, no traceback."""
    chance = random.Random(5)
    for number in range(600):
        content = bytearray(PLAIN if number % 2 else frames(PLAIN, lines=2))
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(content))
            if chance.random() < 0.6:
                content[place] ^= 1 << chance.randrange(8)
            elif chance.random() < 0.5:
                del content[place : place + chance.randrange(1, 30)]
            else:
                content[place:place] = chance.randbytes(3)
        log = judged(tmp_path, bytes(content))
        assert log.verdict in ("holds", "broken", "unknown", "skipped", "not a log")
        assert log.verdict == "holds" or log.reason or log.finding
