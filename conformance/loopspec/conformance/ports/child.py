"""One adapter process under control: lines in, lines out, and an end whatever it does.

Theory. Bytes are moved by one loop over non-blocking descriptors, so a child that never reads,
floods, or says half a line blocks nobody; each wait has a deadline. What the child writes is
bounded: a line, and a ring of its standard error.
Its framing is trusted for as long as it holds: whoever writes more than one line for a command, too
long a line or stray text has lost it, and is ended. A keeper (`keeper.py`) is the parent of its
whole tree, and ends it when this process is gone. This contains accidents, not malice: an adapter
is a program that you chose to run, with your rights.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import attrs

from loopspec.conformance.ports.failures import PortDied, PortError, PortLate
from loopspec.conformance.ports.isolation import isolated
from loopspec.conformance.ports.wire import quoted

__all__ = ["Child", "ChildLimits", "resolved"]

MIB: Final = 1 << 20
CHUNK: Final = 1 << 16
KEEPER: Final = Path(__file__).with_name("keeper.py")

PASSED_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What an adapter sees of the judge's environment; more only by name."""

KEEPERS_ENVIRONMENT: Final = (*PASSED_ENVIRONMENT, "LD_LIBRARY_PATH")
"""What the keeper sees of it: what Python itself may need to start."""

TOKEN: Final = "LOOPSPEC_PORT"
"""The variable that tells an adapter, and all that it starts, whose it is."""

GRACE: Final = 0.25
"""Seconds past a deadline in which what has come already is still read. The judge itself may have
been stopped, or have waited for a processor, while the answer lay in the pipe."""

SHORT: Final = 1.0
"""Seconds in which the keeper tells how a process has ended, once its output is closed."""

KILLING: Final = 12.0
"""Seconds in which a keeper ends a tree; it gives up a little earlier."""


@attrs.frozen
class ChildLimits:
    """What a process tree may use. Times in seconds, sizes in bytes.

    `start` and `answer` are for the first and for each other answer; `end` is how long it may take
    to end when it is asked to. `line` bounds all that may wait to be read, `errors` is how much of
    the standard error is kept, `file` bounds each file that is written. `memory` is resident,
    `cpu` includes processes that have ended; these two and `processes` are for the whole tree.
    """

    answer: float = 10.0
    start: float = 20.0
    end: float = 2.0
    line: int = 8 * MIB
    errors: int = 64 * 1024
    memory: int = 1024 * MIB
    file: int = 1024 * MIB
    cpu: float = 3600.0
    processes: int = 256


def resolved(argv: Sequence[str], folder: Path | None = None) -> list[str]:
    """The command with each part that names a file of `folder` as an absolute path.

    An adapter runs in a folder of its own, and `node my-adapter.mjs` should find its file.
    """
    home = folder or Path.cwd()
    found = []
    for part in argv:
        path = home / part
        with contextlib.suppress(OSError, ValueError):
            named = path.exists() if "/" in part else path.is_file() and not shutil.which(part)
            if named and not part.startswith("-"):
                # A link is kept: a virtual environment is known by where its python lies.
                part = str(path.absolute() if path.is_symlink() else path.resolve())
        found.append(part)
    return found


@attrs.define
class Ending:
    """How a process tree has ended, as the keeper tells it."""

    started: int = 0
    """The number of the adapter's process, and of its session."""
    stopped: int = 0
    limit: str = ""
    refused: str = ""
    told: bool = False
    code: int | None = None
    left: int = 0
    """How many other processes still ran when the adapter had ended by itself."""
    names: tuple[str, ...] = ()
    alive: int = 0
    """How many could not be ended at all."""

    def take(self, words: dict[str, object]) -> None:
        """Take a line of the keeper."""
        for key, value in words.items():
            if key == "ended":
                self.told, self.code = True, value if isinstance(value, int) else None
            elif key == "names":
                assert isinstance(value, list)
                self.names = tuple(map(str, value))
            else:
                setattr(self, key, value)


def telling(errors: str) -> str:
    """The line of a standard error that says most: the last that names an error, or the last."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"error|exception|panic", line, re.IGNORECASE)]
    return (named or lines or [""])[-1]


class Child:
    """One adapter process, from its start to the end of its tree."""

    def __init__(
        self,
        argv: Sequence[str],
        limits: ChildLimits | None = None,
        environment: Mapping[str, str] | None = None,
        isolate: bool = False,
    ) -> None:
        """Start it in a fresh folder; `environment` are variables to pass beside the usual ones.

        Raises PortError when the command cannot be started at all, or not isolated.
        """
        if importlib.util.find_spec("psutil") is None:
            msg = "expected psutil to be installed, got none: pip install loopspec[ports]"
            raise PortError(msg)
        self.limits = limits or ChildLimits()
        self.argv = isolated(argv) if isolate else list(argv)
        self.ending = Ending()
        self.manner = ""
        """What was needed to end it; empty when it ended by itself."""
        self._out = bytearray()
        self._errors = bytearray()
        self._status = bytearray()
        self._closed = self._eof = False
        try:
            self.home = Path(tempfile.mkdtemp(prefix="loopspec-port-"))
        except OSError as error:
            msg = f"expected to make a folder for the adapter, got: {error.strerror}"
            raise PortError(msg) from error
        try:
            self._start(environment or {})
        except (OSError, ValueError) as error:
            shutil.rmtree(self.home, ignore_errors=True)
            why = error.strerror if isinstance(error, OSError) else error
            msg = f"expected to start the keeper of {self.argv[0]!r}, got: {why}"
            raise PortError(msg) from error

    def _start(self, environment: Mapping[str, str]) -> None:
        """Start the keeper and tell it what to start. Raises OSError."""
        env = {name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ}
        env |= {"HOME": str(self.home), "TMPDIR": str(self.home), TOKEN: self.home.name}
        keepers = {name: os.environ[name] for name in KEEPERS_ENVIRONMENT if name in os.environ}
        names = ("memory", "file", "cpu", "processes")
        config = {
            "argv": self.argv,
            "cwd": str(self.home),
            "env": {**env, **environment},
            "limits": {name: getattr(self.limits, name) for name in names},
            "judge": os.getpid(),
        }
        with contextlib.ExitStack() as given, contextlib.ExitStack() as kept:
            control, self._control = pipe(given, kept, ours_writes=True)
            status, self._status_fd = pipe(given, kept, ours_writes=False)
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", str(KEEPER), str(control), str(status)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(control, status),
                start_new_session=True,
                cwd="/",
                env=keepers,
                bufsize=0,
            )
            kept.pop_all()
        assert self._keeper.stdin and self._keeper.stdout and self._keeper.stderr
        self._in_fd = self._keeper.stdin.fileno()
        self._out_fd = self._keeper.stdout.fileno()
        self._err_fd = self._keeper.stderr.fileno()
        for fd in (self._in_fd, self._out_fd, self._err_fd, self._status_fd):
            os.set_blocking(fd, False)
        with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(self._control), "wb") as file:
            file.write(json.dumps(config).encode() + b"\n")

    # --- Lines ----------------------------------------------------------------------------------

    def send(self, line: bytes, seconds: float, what: str = "its command") -> None:
        """Write a line, reading meanwhile; raises PortError when the child does not take it."""
        left = memoryview(line + b"\n")
        until = time.monotonic() + seconds
        self._pump(0)
        while left:
            if self._out:
                msg = (
                    f"the adapter wrote {quoted(bytes(self._out))} before it was asked {what}; "
                    "an adapter writes one line for each command, and nothing else"
                )
                raise PortError(msg)
            if self._eof:
                self._refuse_dead(what)
            wait = until - time.monotonic()
            if wait <= 0:
                self._refuse_late(f"did not read {what}", seconds)
            if self._pump(wait, want_write=True):
                try:
                    done = os.write(self._in_fd, left[:CHUNK])
                except BlockingIOError:
                    continue
                except OSError:
                    self._refuse_dead(what, "closed its input")
                left = left[done:]

    def receive(self, seconds: float, what: str) -> bytes:
        """The next line without its end. Raises PortError: no line in time, dead, too long."""
        until = time.monotonic() + seconds
        searched = 0
        while True:
            end = self._out.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._out[:end])
                del self._out[: end + 1]
                if len(line) > self.limits.line:
                    self._refuse_long(line)
                self._pump(0)
                if self._out:
                    msg = (
                        f"the adapter wrote more than one line in answer to {what}: behind the "
                        f"first came {quoted(bytes(self._out))}"
                    )
                    raise PortError(msg)
                return line
            searched = len(self._out)
            if searched > self.limits.line:
                self._refuse_long(bytes(self._out))
            if self._eof:
                self._refuse_dead(what)
            wait = until - time.monotonic()
            if wait > 0:
                self._pump(wait)
                continue
            self._pump(0)
            if len(self._out) == searched or wait < -GRACE:
                self._refuse_late(f"gave no answer to {what}", seconds)

    @property
    def errors(self) -> str:
        """The last of what the child wrote to its standard error."""
        return self._errors.decode(errors="replace")

    def _refuse_long(self, line: bytes) -> NoReturn:
        msg = (
            f"the adapter wrote a line longer than {self.limits.line} bytes; "
            f"it begins {quoted(line, counted=False)}"
        )
        raise PortError(msg)

    def _refuse_late(self, how: str, seconds: float) -> NoReturn:
        """Say that a deadline has passed, and what is known of the reason."""
        self._pump(0)
        half = f"; half a line came: {quoted(bytes(self._out))}" if self._out else ""
        stopped = ""
        if self.ending.stopped:
            stopped = f"; it was stopped by {signal_name(self.ending.stopped)}"
        msg = f"the adapter {how} within {seconds:g} s{stopped}{half}"
        raise PortLate(msg)

    def _refuse_dead(self, what: str, how: str = "closed its output") -> NoReturn:
        """Say how the child ended; `how` is told of one that has not."""
        self._await_end(SHORT)
        ending = self.ending
        half = f"; half a line came: {quoted(bytes(self._out))}" if self._out else ""
        if ending.refused:
            raise PortError(f"expected to start {self.argv[0]!r}, got: {ending.refused}")
        if ending.limit:
            msg = f"the adapter was ended while it was asked {what}: it {ending.limit}{half}"
            raise PortError(msg)
        said = telling(self.errors)
        words = f"; its last words: {said[:200]!r}" if said else ""
        if not ending.told and self._status_fd < 0:
            how = "has lost its keeper, which somebody else has ended,"
        elif ending.told:
            how = self.how_it_ended()
        raise PortDied(f"the adapter {how} before it answered {what}{half}{words}")

    def how_it_ended(self) -> str:
        """The end of the process in words."""
        code = self.ending.code
        if code is None:
            return "ended"
        return f"exited with {code}" if code >= 0 else f"was ended by {signal_name(-code)}"

    def _pump(self, seconds: float, want_write: bool = False) -> bool:
        """Move bytes for at most so long; whether the child takes more."""
        waiting = select.poll()
        # No line is so long: what comes then is refused by whoever waits for it.
        if self._out_fd >= 0 and len(self._out) <= self.limits.line:
            waiting.register(self._out_fd, select.POLLIN)
        for fd in (self._err_fd, self._status_fd):
            if fd >= 0:
                waiting.register(fd, select.POLLIN)
        if want_write and self._in_fd >= 0:
            waiting.register(self._in_fd, select.POLLOUT)
        writable = False
        for fd, _ in waiting.poll(max(0.0, min(seconds, 0.5)) * 1000):
            if fd == self._in_fd:
                writable = True
            else:
                self._read(fd)
        return writable

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if fd == self._out_fd:
            self._out += data
            if not data:
                self._eof, self._out_fd = True, -1
        elif fd == self._err_fd:
            self._errors += data
            del self._errors[: max(0, len(self._errors) - self.limits.errors)]
            if not data:
                self._err_fd = -1
        else:
            self._status += data
            *lines, rest = self._status.split(b"\n")
            self._status = bytearray(rest)
            for line in lines:
                self.ending.take(json.loads(line))
            if not data:
                self._close_status()

    def _close_status(self) -> None:
        os.close(self._status_fd)
        self._status_fd = -1

    def _await_end(self, seconds: float, dropping: bool = False) -> bool:
        """Read until the keeper has said that all is over; whether it has, or is gone."""
        until = time.monotonic() + seconds
        while self._status_fd >= 0 and not self.ending.told:
            wait = until - time.monotonic()
            if wait <= 0:
                return False
            self._pump(wait)
            if dropping:
                self._out.clear()
        return True

    # --- The end --------------------------------------------------------------------------------

    def end(self, seconds: float | None = None) -> int:
        """End the tree: close its input, ask it to end, kill it; how many others were left.

        What it still writes is read and dropped all the while. The second time nothing is done.
        """
        if not self._closed:
            self._closed = True
            try:
                self._end(self.limits.end if seconds is None else seconds)
            finally:
                self._let_go()
        return self.ending.left

    def kill(self) -> int:
        """End the tree at once."""
        return self.end(0.0)

    def complaints(self) -> list[str]:
        """What was wrong with the end of an adapter that had been asked to end, in sentences."""
        found = []
        if self.manner:
            found.append(f"the adapter did not end by itself: {self.manner}")
        elif self.ending.code:
            found.append(f"the adapter {self.how_it_ended()}, expected 0")
        if self.ending.left:
            names = ", ".join(map(repr, self.ending.names))
            number = f"{self.ending.left} process" + "es" * (self.ending.left > 1)
            found.append(f"the adapter left {number} behind: {names}")
        if self.ending.alive:
            found.append(f"{self.ending.alive} processes of the adapter could not be ended")
        return found

    def _end(self, patience: float) -> None:
        assert self._keeper.stdin
        with contextlib.suppress(OSError):
            self._keeper.stdin.close()
        self._in_fd = -1
        self._pump(0)
        if self.ending.told:
            return
        if patience and self._await_end(patience / 2, dropping=True):
            return
        steps = [(b"k", "it was killed", KILLING)]
        if patience:
            steps.insert(0, (b"t", "it ended when it was sent SIGTERM", patience / 2))
        for word, manner, wait in steps:
            self.manner = manner
            with contextlib.suppress(OSError):
                os.write(self._control, word)
            if self._await_end(wait, dropping=True):
                return

    def _let_go(self) -> None:
        """Close everything; the keeper ends what there still is."""
        os.close(self._control)
        try:
            self._keeper.wait(2.0)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        if not self.ending.told:
            self.ending.left = sweep(self.home.name)
        for stream in (self._keeper.stdin, self._keeper.stdout, self._keeper.stderr):
            assert stream
            with contextlib.suppress(OSError):
                stream.close()
        if self._status_fd >= 0:
            self._close_status()
        shutil.rmtree(self.home, ignore_errors=True)


def pipe(
    given: contextlib.ExitStack, kept: contextlib.ExitStack, ours_writes: bool
) -> tuple[int, int]:
    """A pipe to the keeper: its end, which is closed with `given`, and ours, with `kept`."""
    ends = os.pipe()
    theirs, ours = ends if ours_writes else reversed(ends)
    given.callback(os.close, theirs)
    kept.callback(os.close, ours)
    return theirs, ours


def sweep(token: str) -> int:
    """Kill what has inherited a child's token, when its keeper is gone; how many there were.

    Nobody then knows whose children they were: the kernel has given them other parents.
    """
    import psutil

    seen: set[int] = set()
    until = time.monotonic() + SHORT
    while time.monotonic() < until:
        found = []
        for each in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if each.environ().get(TOKEN) == token:
                    found.append(each)
        if not found:
            break
        seen.update(each.pid for each in found)
        for each in found:
            with contextlib.suppress(psutil.Error):
                each.kill()
    return len(seen)


def signal_name(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
