"""Payloads through every verb on a real terminal: of what acts there, our own colours are left."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.reports.payloads import PAYLOADS, needs_plain
from tests.system.verbs import CASES, MARK

NIGHT: Final = bool(os.environ.get("LOOPSPEC_NIGHT"))
EVERY: Final = 1 if NIGHT else 16
"""Each payload takes every sixteenth case, and each case every sixteenth payload; at night all."""

COLOUR: Final = re.compile(r"\x1b\[(?:0|1|2|33|1;3[1235])m")
"""The colours of `loopspec.reports.terminal`, and no others."""
ROOT: Final = Path(__file__).resolve().parents[2]


def on_a_terminal(command: list[str]) -> str:
    """What a command sends to the terminal that it runs on, output and errors alike."""
    ours, its = pty.openpty()
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, cwd=ROOT) as process:
        os.close(its)
        sent = b""
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # the other side was closed
                break
            if not data:
                break
            sent += data
    os.close(ours)
    text = sent.decode().replace("\r\n", "\n")
    assert process.returncode == 0, text[-2_000:]
    return text


def test_no_payload_acts_on_a_terminal(tmp_path: Path) -> None:
    """Of every verb, in arguments, file names and contents; nor is a line of it a command."""
    command = [sys.executable, "-m", "tests.system.verbs", str(tmp_path), str(EVERY)]
    parts = re.split(f"^{MARK}(.*)\n", on_a_terminal(command), flags=re.MULTILINE)
    runs = list(zip(parts[1::2], parts[2::2], strict=True))

    assert any(COLOUR.search(text) for _, text in runs)
    for name, text in runs:
        plain = COLOUR.sub("", text)
        needs_plain(plain)
        assert "internal error" not in plain, (name, plain)
        assert "Traceback" not in plain, (name, plain)
    assert len(PAYLOADS) * len(CASES) // EVERY // 2 < int(runs[-1][0].split()[0])
    assert {case.__name__ for case in CASES} == {name.split()[0] for name, _ in runs[:-1]}


def test_a_terminal_would_show_what_acts() -> None:
    """The oracle is none that passes everything: a bare echo of payloads is caught."""
    told = "import sys; sys.stdout.buffer.write(sys.argv[1].encode('utf-8', 'surrogateescape'))"
    for text in PAYLOADS[:5]:
        sent = on_a_terminal([sys.executable, "-I", "-S", "-c", told, text])
        try:
            needs_plain(COLOUR.sub("", sent))
        except AssertionError:
            continue
        raise AssertionError(text)
