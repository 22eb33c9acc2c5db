"""One adapter process under control: lines in, lines out, and an end whatever it does.

Theory. Bytes are moved by one loop over non-blocking descriptors, so a child that never reads,
floods, or says half a line blocks nobody; each wait has a deadline. What the child writes is
bounded: a line, the output of one answer, and a ring of its standard error. Its framing is trusted
for as long as it holds: whoever writes more than one line for a command, too long a line or stray
text has lost it, and is ended. A keeper (`keeper.py`) is the parent of its whole tree, and ends it
when this process is gone. This contains accidents, not malice: an adapter is a program that you
chose to run, with your rights.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from loopspec.conformance.ports.failures import PortDied, PortError, PortLate
from loopspec.conformance.ports.wire import quoted

__all__ = ["Child", "ChildLimits", "resolved"]

MIB: Final = 1 << 20
CHUNK: Final = 1 << 16
KEEPER: Final = Path(__file__).with_name("keeper.py")

PASSED_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What an adapter sees of the judge's environment; more only by name."""


@attrs.frozen
class ChildLimits:
    """What a process tree may use. Times in seconds, sizes in bytes."""

    answer: float = 10.0
    start: float = 20.0
    end: float = 2.0
    line: int = 8 * MIB
    output: int = 64 * MIB
    errors: int = 64 * 1024
    memory: int = 1024 * MIB
    cpu: float = 3600.0


def resolved(argv: Sequence[str], folder: Path | None = None) -> list[str]:
    """The command with each part that names a file of `folder` as an absolute path.

    An adapter runs in a folder of its own, and `node my-adapter.mjs` should find its file.
    """
    home = folder or Path.cwd()
    found = []
    for part in argv:
        path = home / part
        plain = not part.startswith("-") and ("/" in part or path.suffix or not shutil.which(part))
        with contextlib.suppress(OSError, ValueError):
            if plain and path.exists():
                part = str(path.resolve() if not path.is_symlink() else path.absolute())
        found.append(part)
    return found


class Child:
    """One adapter process, from its start to the end of its tree."""

    def __init__(
        self,
        argv: Sequence[str],
        limits: ChildLimits | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it in a fresh folder; `environment` are variables to pass beside the usual ones.

        Raises PortError when the command cannot be started at all.
        """
        if importlib.util.find_spec("psutil") is None:
            msg = "expected psutil, which keeps adapters: pip install loopspec[ports]"
            raise PortError(msg)
        self.limits = limits or ChildLimits()
        self.argv = list(argv)
        self.sent = 0
        self._out = bytearray()
        self._errors = bytearray()
        self._closed = False
        self._eof = False
        self._ending: dict[str, object] = {}
        self._status = bytearray()
        self.home = Path(tempfile.mkdtemp(prefix="loopspec-port-"))
        env = {name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ}
        own = {"HOME": str(self.home), "TMPDIR": str(self.home), "LOOPSPEC_PORT": "1"}
        env = {**env, **own, **(environment or {})}
        control_read, self._control = os.pipe()
        self._status_fd, status_write = os.pipe()
        try:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", str(KEEPER), str(control_read), str(status_write)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(control_read, status_write),
                start_new_session=True,
                cwd="/",
                bufsize=0,
            )
        except OSError as error:
            os.close(self._control)
            os.close(self._status_fd)
            shutil.rmtree(self.home, ignore_errors=True)
            msg = f"expected to start {self.argv[0]!r}, got: {error.strerror}"
            raise PortError(msg) from error
        finally:
            os.close(control_read)
            os.close(status_write)
        assert self._keeper.stdin and self._keeper.stdout and self._keeper.stderr
        self._in_fd = self._keeper.stdin.fileno()
        self._out_fd = self._keeper.stdout.fileno()
        self._err_fd = self._keeper.stderr.fileno()
        for fd in (self._in_fd, self._out_fd, self._err_fd, self._status_fd):
            os.set_blocking(fd, False)
        config = {
            "argv": self.argv,
            "cwd": str(self.home),
            "env": env,
            "limits": {"memory": self.limits.memory, "cpu": self.limits.cpu},
        }
        with contextlib.suppress(BrokenPipeError):
            os.write(self._control, json.dumps(config).encode() + b"\n")

    # --- Lines ----------------------------------------------------------------------------------

    def send(self, line: bytes, seconds: float) -> None:
        """Write a line, reading meanwhile; raises PortError when the child does not take it."""
        left = memoryview(line + b"\n")
        until = time.monotonic() + seconds
        self.sent = 0
        while left:
            if self._eof:
                self._refuse_dead()
            wait = until - time.monotonic()
            if wait <= 0:
                msg = f"the adapter did not read its command within {seconds:g} s"
                raise PortLate(msg)
            if self._pump(wait, want_write=True):
                try:
                    done = os.write(self._in_fd, left[:CHUNK])
                except BlockingIOError:
                    continue
                except OSError:
                    self._refuse_dead()
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
                return line
            searched = len(self._out)
            if searched > self.limits.line:
                self._refuse_long(bytes(self._out[:200]))
            if self._eof:
                self._refuse_dead(what)
            wait = until - time.monotonic()
            if wait <= 0:
                self._look()
                half = f"; half a line came: {quoted(bytes(self._out))}" if self._out else ""
                limit = f"; it {self._ending['limit']}" if "limit" in self._ending else ""
                msg = f"the adapter gave no answer to {what} within {seconds:g} s{limit}{half}"
                raise PortLate(msg)
            self._pump(wait)

    def extra(self) -> bytes:
        """What has been written behind the last line; a port says nothing unasked."""
        self._pump(0)
        return bytes(self._out)

    @property
    def errors(self) -> str:
        """The last of what the child wrote to its standard error."""
        return self._errors.decode(errors="replace")

    def _refuse_long(self, line: bytes) -> None:
        msg = (
            f"the adapter wrote a line longer than {self.limits.line} bytes; "
            f"it begins {quoted(line)}"
        )
        raise PortError(msg)

    def _refuse_dead(self, what: str = "its command") -> None:
        """Say how the child ended."""
        self._await_status(1.0)
        half = f"; half a line came: {quoted(bytes(self._out))}" if self._out else ""
        said = self.errors.strip().splitlines()[-1:] or [""]
        said_text = f"; its last words: {said[0][:200]!r}" if said[0] else ""
        limit = self._ending.get("limit")
        if limit:
            msg = f"the adapter was ended while {what} was to be answered: it {limit}{half}"
            raise PortError(msg)
        raise PortDied(
            f"the adapter {self.how_it_ended()} before it answered {what}{half}{said_text}"
        )

    def how_it_ended(self) -> str:
        """The end of the process in words."""
        code = self._ending.get("ended")
        if not isinstance(code, int):
            return "closed its output"
        if code >= 0:
            return f"exited with {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    def _pump(self, seconds: float, want_write: bool = False) -> bool:
        """Move bytes for at most so long; whether the child takes more."""
        readers = [fd for fd in (self._out_fd, self._err_fd, self._status_fd) if fd >= 0]
        writers = [self._in_fd] if want_write and self._in_fd >= 0 else []
        room = len(self._out) <= self.limits.output
        if not room and self._out_fd in readers:
            readers.remove(self._out_fd)
        readable, writable, _ = select.select(readers, writers, [], max(0.0, min(seconds, 0.5)))
        for fd in readable:
            self._read(fd)
        return bool(writable)

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
            if not data:
                self._status_fd_done()
            self._look()

    def _status_fd_done(self) -> None:
        os.close(self._status_fd)
        self._status_fd = -1

    def _look(self) -> None:
        """Take what the keeper has said."""
        *lines, rest = self._status.split(b"\n")
        self._status = bytearray(rest)
        for line in lines:
            self._ending.update(json.loads(line))

    def _await_status(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._status_fd >= 0 and "ended" not in self._ending:
            if time.monotonic() >= until:
                return
            self._pump(until - time.monotonic())
            self._out.clear() if len(self._out) > self.limits.output else None

    # --- The end --------------------------------------------------------------------------------

    def end(self, seconds: float | None = None) -> int:
        """End the tree: close its input, ask it to end, kill it; how many others were left.

        What it still writes is read and dropped all the while. Does nothing the second time.
        """
        if self._closed:
            return 0
        self._closed = True
        patience = self.limits.end if seconds is None else seconds
        assert self._keeper.stdin
        with contextlib.suppress(OSError):
            self._keeper.stdin.close()
        self._in_fd = -1
        for word in (b"", b"t", b"k"):
            if word:
                with contextlib.suppress(OSError):
                    os.write(self._control, word)
            self._drain(patience / 2 if word != b"k" else 12.0)
            if "ended" in self._ending:
                break
        os.close(self._control)
        self._drain(2.0)
        if self._keeper.poll() is None:
            try:
                self._keeper.wait(2.0)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()
        for stream in (self._keeper.stdout, self._keeper.stderr):
            assert stream
            stream.close()
        if self._status_fd >= 0:
            self._status_fd_done()
        shutil.rmtree(self.home, ignore_errors=True)
        left = self._ending.get("left", 0)
        return left if isinstance(left, int) else 0

    def kill(self) -> int:
        """End the tree at once."""
        return self.end(0.0)

    def _drain(self, seconds: float) -> None:
        """Read and drop until the keeper has said that all is over."""
        until = time.monotonic() + seconds
        while "ended" not in self._ending and self._status_fd >= 0:
            wait = until - time.monotonic()
            if wait <= 0:
                return
            self._pump(wait)
            self._out.clear()
