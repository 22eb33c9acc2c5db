"""The examples run as a reader would run them, and print what their text promises."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

QUICKSTART = """\
turn 1
  entered: Summarise the documentation
  answered in step 1
  ended: completed
turn 2
  ended: blocked
idle, still pending: And @docs again
turn 3
  entered: And the documentation again
  answered in step 1
  ended: completed
turn 4
  entered: Go on
  answered in step 1
  ended: completed
idle, still pending: 0
"""

STAGED_CONTEXT = """\
one: enter
  entered: one, files as of turn 1
  staged:  nothing
two: reject
  entered: nothing
  staged:  files as of turn 2
three: reject
  entered: nothing
  staged:  nothing
four: enter
  entered: four, files as of turn 4
  staged:  nothing
"""


def run(name: str) -> str:
    """Run one example with warnings as errors and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "impl"), "PATH": "/usr/bin:/bin"},
    )
    assert "" == done.stderr
    assert 0 == done.returncode
    return done.stdout


def test_quickstart_rewrites_one_message_and_rejects_another() -> None:
    """A rejected turn is blocked, and what waited behind it runs at the next wake."""
    assert QUICKSTART == run("quickstart.py")


def test_staged_context_is_folded_kept_on_reject_and_gone_when_the_reject_had_claimed_it() -> None:
    """One replaceable message; the only way to lose it is a rejected batch that owned it."""
    assert STAGED_CONTEXT == run("staged_context.py")


def test_a_toy_loop_holds_what_it_can_play_and_is_found_when_it_is_too_polite() -> None:
    """An adapter around a loop that is not ours."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "your_own_loop.py")]

    holds = subprocess.run(command, capture_output=True, text=True, check=False)
    broken = subprocess.run([*command, "--polite"], capture_output=True, text=True, check=False)

    assert (0, "") == (holds.returncode, holds.stderr)
    assert holds.stdout.startswith("the toy holds over ")
    assert 1_000 <= int(holds.stdout.split()[4])
    assert "that need what is not declared: " in holds.stdout
    assert (1, "") == (broken.returncode, broken.stderr)
    assert "witness   2 actions" in broken.stdout
    assert "            followup A\n            pre-step: reject\n" in broken.stdout
