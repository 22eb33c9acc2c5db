"""The keeper: a small process of ours between the judge and an adapter, which ends its whole tree.

Theory. A process group is no fence, since any child may leave it. So the adapter is the child of a
process that the kernel makes the new parent of every orphan below it (a *subreaper*): all that the
adapter ever starts stays a descendant of the keeper, by the numbers that the kernel has for them
and never by name. The keeper does five things: it starts the adapter in a session of its own, with
limits; four times a second it looks at the tree's memory, processor time and number; it passes on
the polite request to end; when the judge says so, or is gone (its end of the control pipe is
closed, however it died, or the keeper has another parent), or a limit strikes, it kills descendants
until none is left, and says who was left when the adapter had ended; and it removes the adapter's
folder. It touches the adapter's standard streams only to let go of them.

Run as a script by path, with nothing of ours imported: `python -I keeper.py CONTROL STATUS`. It
reads one JSON object from the descriptor CONTROL and writes one JSON object a line to STATUS.
On a system without subreapers (not Linux) the descendants that `psutil` finds are all there is.
"""

import contextlib
import ctypes
import json
import math
import os
import resource
import select
import signal
import stat
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

LOOK = 0.25
"""Seconds between two looks at the tree."""

KILLING = 10.0
"""Seconds after which killing is given up: what is left then is in the hands of the kernel."""

NAMED = 8
"""Names of left processes that are told."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

TASKS_SPARE = 4096
"""Tasks that the user may have beside those of the whole system at the start. The kernel counts
them for each user, not for each tree (and not at all for root), so this only holds up a storm until
the next look."""

RESET = ("SIGINT", "SIGTERM", "SIGPIPE", "SIGHUP", "SIGQUIT", "SIGXFSZ")


def prctl(option: int, value: int) -> bool:
    """Ask the kernel for a property of this process; false where it has none."""
    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (AttributeError, OSError):
        return False


def descendants() -> "list[psutil.Process]":
    """Everything below this process that has not been collected."""
    import psutil  # late: the adapter is starting meanwhile

    try:
        return list(psutil.Process().children(recursive=True))
    except psutil.Error:
        return []


class Tree:
    """What the keeper knows of the adapter's tree from the kernel."""

    def __init__(self, child: int) -> None:
        """Begin with a child that runs."""
        self.child = child
        self.status: int | None = None
        """The wait status of the child, once it has ended."""
        self.stopped = 0
        """The signal that has stopped it."""
        self.empty = False
        """Whether nothing is below this process any more: whoever loses its parent comes here."""

    def reap(self) -> None:
        """Collect what has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                self.empty = True
                return
            if pid == 0:
                return
            if pid == self.child and os.WIFSTOPPED(status):
                self.stopped = os.WSTOPSIG(status)
            elif pid == self.child:
                self.status = status

    def names(self) -> list[str]:
        """The names of all in it that have not ended."""
        if self.empty:
            return []
        import psutil

        names = []
        for each in descendants():
            with contextlib.suppress(psutil.Error):
                if each.status() != psutil.STATUS_ZOMBIE:
                    names.append(each.name())
        return names

    def kill(self) -> int:
        """Kill descendants until none is left: how many would not go.

        First all are stopped, with their groups, then all are killed, so that a storm cannot outrun
        it. The group of a descendant holds descendants alone: nobody joins one of another session.
        """
        own = os.getpgrp()
        until = time.monotonic() + KILLING
        while True:
            self.reap()
            living = [] if self.empty else descendants()
            if self.empty or not living or time.monotonic() > until:
                return len(living)
            groups = {group_of(each.pid) for each in living} - {own, 0}
            for what in (signal.SIGSTOP, signal.SIGKILL):
                for group in groups:
                    with contextlib.suppress(OSError):
                        os.killpg(group, what)
                send_all(living, what)
            time.sleep(0.001)


def group_of(pid: int) -> int:
    """The process group of a process, 0 when it is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def send_all(processes: "list[psutil.Process]", what: int) -> None:
    """Send a signal to processes, none of which may have been replaced by another meanwhile."""
    import psutil

    for each in processes:
        with contextlib.suppress(psutil.Error, OSError):
            each.send_signal(what)


def tasks_now() -> int:
    """Tasks of the whole system; 0 where that is not told."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def limit(name: str, value: float) -> None:
    """Set a limit of this process and of what it will start; never above the one that holds."""
    which = getattr(resource, name, None)
    if which is None:
        return
    _, most = resource.getrlimit(which)
    wanted = math.ceil(value)
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (wanted, wanted))


def start(config: dict[str, object], status: int) -> int:
    """Start the adapter in a session of its own; its process number.

    What keeps it from starting goes to `status`, which an adapter that starts does not have.
    """
    argv, env, limits = config["argv"], config["env"], config["limits"]
    assert isinstance(argv, list) and isinstance(env, dict) and isinstance(limits, dict)
    keeper = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(127)
        for name in RESET:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        limit("RLIMIT_CORE", 0)
        # The keeper's looks come first: their sentence says more than a signal does.
        limit("RLIMIT_CPU", limits["cpu"] + 2)
        limit("RLIMIT_DATA", limits["memory"] * 4)
        limit("RLIMIT_FSIZE", limits["file"])
        tasks = tasks_now()
        if tasks:
            limit("RLIMIT_NPROC", tasks + TASKS_SPARE)
        os.chdir(str(config["cwd"]))
        os.execvpe(argv[0], argv, env)
    except BaseException as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        os.write(status, json.dumps({"refused": why}).encode() + b"\n")
    finally:
        os._exit(127)


def usage() -> tuple[int, float, int]:
    """Resident bytes, processor seconds and number of all processes of the tree.

    The processor time of those that have ended and were collected is counted too.
    """
    import psutil

    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    size, seconds, count = 0, own.ru_utime + own.ru_stime, 0
    for each in descendants():
        try:
            with each.oneshot():
                size += each.memory_info().rss
                times = each.cpu_times()
        except psutil.Error:
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
        count += 1
    return size, seconds, count


def beyond(limits: dict[str, float]) -> str:
    """Which limit the tree has left behind, in a clause; empty when none."""
    size, seconds, count = usage()
    if size > limits["memory"]:
        mib = 1 << 20
        return f"used {size // mib} MiB of memory, of {int(limits['memory']) // mib} MiB allowed"
    if seconds > limits["cpu"]:
        return f"used {seconds:.1f} s of processor time, of {limits['cpu']:g} s allowed"
    if count > limits["processes"]:
        return f"ran {count} processes, of {limits['processes']:g} allowed"
    return ""


def watch(control: int, child: int) -> select.poll:
    """What the keeper waits for: a word of the judge, and the end of the child where that wakes."""
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    with contextlib.suppress(AttributeError, OSError):
        waiting.register(os.pidfd_open(child), select.POLLIN)
    return waiting


def keep(config: dict[str, object], control: int, status: int) -> None:
    """Keep one adapter until it has ended and nothing of its tree is left."""
    limits, judge = config["limits"], config["judge"]
    assert isinstance(limits, dict)

    def say(**words: object) -> None:
        with contextlib.suppress(OSError):
            os.write(status, json.dumps(words).encode() + b"\n")

    tree = Tree(start(config, status))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    say(started=tree.child)
    waiting = watch(control, tree.child)
    struck, asked, told = "", False, 0
    while tree.status is None and not asked and not struck:
        if any(fd == control for fd, _ in waiting.poll(LOOK * 1000)):
            word = os.read(control, 1)
            asked = word in (b"", b"k")
            if word == b"t":
                send_all(descendants(), signal.SIGTERM)
        tree.reap()
        if tree.stopped != told:
            told = tree.stopped
            say(stopped=told)
        if tree.status is None and not asked:
            asked = os.getppid() != judge
            struck = beyond(limits)
    if struck:
        say(limit=struck)
    left = [] if tree.status is None else tree.names()
    alive = tree.kill()
    remove(str(config["cwd"]))
    code = None if tree.status is None else os.waitstatus_to_exitcode(tree.status)
    say(ended=code, left=len(left), names=sorted(set(left))[:NAMED], alive=alive)


def remove(folder: str) -> None:
    """Remove a folder with all that is in it, also where the adapter has taken its own rights."""
    import shutil  # late: only the end needs it

    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.isdir(folder):
        return
    with contextlib.suppress(OSError):
        os.chmod(folder, stat.S_IRWXU)
    for top, folders, _ in os.walk(folder):
        for each in (os.path.join(top, name) for name in folders):
            if not os.path.islink(each):
                with contextlib.suppress(OSError):
                    os.chmod(each, stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def main(control: int, status: int) -> None:
    """Read what is to be kept, and keep it."""
    for name in ("SIGINT", "SIGHUP", "SIGTERM", "SIGPIPE"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    for ours in (control, status):
        os.set_inheritable(ours, False)
    with os.fdopen(os.dup(control), "rb", buffering=0) as first:
        text = first.readline()
    if not text.endswith(b"\n"):
        return  # the judge died before it had said what to start
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    keep(json.loads(text), control, status)
    os._exit(0)  # nothing is open that Python would have to close


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
