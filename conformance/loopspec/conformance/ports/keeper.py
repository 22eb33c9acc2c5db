"""The keeper: a small process of ours between the judge and an adapter, which ends its whole tree.

Theory. A process group is no fence, since any child may leave it. So the adapter is the child of a
process that the kernel makes the new parent of every orphan below it (a *subreaper*): all that the
adapter ever starts stays a descendant of the keeper, by the numbers that the kernel has for them
and never by name. The keeper does four things: it starts the adapter in a session of its own, with
limits; four times a second it looks at the tree's memory, processor time and number; it passes on
the polite request to end; and when the judge says so, or is gone (its end of the control pipe is
closed, however it died), or a limit strikes, it kills descendants until none is left, and says how
many there were. It touches the adapter's standard streams only to let go of them.

Run as a script by path, with nothing of ours imported: `python -I keeper.py CONTROL STATUS`. It
reads one JSON object from the descriptor CONTROL and writes one JSON object a line to STATUS.
On a system without subreapers (not Linux) the descendants that `psutil` finds are all there is.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

import psutil

LOOK = 0.25
"""Seconds between two looks at the tree."""

TREE_MAX = 256
"""Processes of a tree; with more it is taken for a storm and ended."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> bool:
    """Ask the kernel for a property of this process; false where it has none."""
    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (AttributeError, OSError):
        return False


def descendants() -> list[psutil.Process]:
    """Everything below this process that has not ended."""
    try:
        return list(psutil.Process().children(recursive=True))
    except psutil.Error:
        return []


def reap(child: int) -> int | None:
    """Collect what has ended; the wait status of `child` when it is among it."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def kill_tree(child: int) -> tuple[int, int | None]:
    """Kill descendants until none is left: how many there were, and the child's wait status.

    Killed in one pass after being stopped, so that a storm cannot outrun it.
    """
    seen: set[int] = set()
    status = None
    until = time.monotonic() + 10
    while time.monotonic() < until:
        status = reap(child) if status is None else (reap(child), status)[1]
        living = [each for each in descendants() if each.pid]
        if not living:
            break
        for what in (signal.SIGSTOP, signal.SIGKILL):
            for each in living:
                try:
                    os.kill(each.pid, what)
                except OSError:
                    continue
        seen.update(each.pid for each in living)
        time.sleep(0.002)
    return len(seen - {child}), status


def start(config: dict[str, object]) -> int:
    """Start the adapter in a session of its own; its process number.

    What keeps it from starting is told as the exit code 127 and a line on its standard error.
    """
    argv, env = config["argv"], config["env"]
    assert isinstance(argv, list) and isinstance(env, dict)
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for name in ("SIGINT", "SIGTERM", "SIGPIPE", "SIGHUP", "SIGQUIT"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limits = config["limits"]
        assert isinstance(limits, dict)
        seconds = int(limits["cpu"])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        os.chdir(str(config["cwd"]))
        os.closerange(3, 1024)
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(2, f"cannot start {argv[0]!r}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def usage() -> tuple[int, float, int]:
    """Resident bytes, processor seconds and number of all processes of the tree."""
    size, seconds, count = 0, 0.0, 0
    for each in descendants():
        try:
            with each.oneshot():
                size += each.memory_info().rss
                times = each.cpu_times()
        except psutil.Error:
            continue
        seconds += times.user + times.system
        count += 1
    return size, seconds, count


def beyond(limits: dict[str, float]) -> str:
    """Which limit the tree has left behind, in a clause; empty when none."""
    size, seconds, count = usage()
    if size > limits["memory"]:
        mib = 1 << 20
        return f"used {size // mib} MiB of memory, of {int(limits['memory']) // mib} MiB allowed"
    if seconds > limits["cpu"]:
        return f"used {seconds:.0f} s of processor time, of {limits['cpu']:.0f} s allowed"
    if count > TREE_MAX:
        return f"ran {count} processes, of {TREE_MAX} allowed"
    return ""


def main(control: int, status: int) -> None:
    """Keep one adapter until it has ended and nothing of its tree is left."""
    for name in ("SIGINT", "SIGHUP", "SIGTERM", "SIGPIPE"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    with os.fdopen(os.dup(control), "rb", buffering=0) as first:
        text = first.readline()
    config = json.loads(text)
    prctl(PR_SET_CHILD_SUBREAPER, 1)

    def say(**words: object) -> None:
        with contextlib.suppress(OSError):
            os.write(status, json.dumps(words).encode() + b"\n")

    child = start(config)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    say(started=child)
    ended: int | None = None
    limit, asked = "", False
    while ended is None and not asked and not limit:
        ready, _, _ = select.select([control], [], [], LOOK)
        if ready:
            word = os.read(control, 1)
            asked = word in (b"", b"k")
            if word == b"t":
                for each in descendants():
                    try:
                        each.terminate()
                    except psutil.Error:
                        continue
        ended = reap(child)
        if ended is None:
            limit = beyond(config["limits"])
    if limit:
        say(limit=limit)
    left, late = kill_tree(child)
    ended = late if ended is None else ended
    code = None if ended is None else os.waitstatus_to_exitcode(ended)
    say(ended=code, left=left)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
