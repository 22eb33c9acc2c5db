"""The zoo: adapters that do what none may, and a few odd ones that are in their right.

One script, one function a subject: `python -I -S zoo.py NAME` behaves well until the moment of that
subject, and then does what its docstring says. The row above it tells the verdict and the sentence
that the judge must come to; `…` stands for what differs from run to run. Nothing but the standard
library, and as little of it as possible: each start counts.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, which takes as long to import as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Data = dict[str, Any]
    Act = Callable[[Data], None]

MIB = 1 << 20
SUBJECTS: dict[str, Subject] = {}
"""Every subject by its name."""

SHORT = {"answer": 0.5}
"""The deadline of those that are late anyway."""

PIECE = b"0123456789abcdef" * 4096
FOREVER = 600
"""Seconds after which a subject ends that nobody else has ended."""


class Subject:
    """One row: when it misbehaves, what the judge must say, and under which limits."""

    def __init__(self, name: str, act: Act, row: Data) -> None:
        """`row` is what the decorator was given."""
        self.name = name
        self.does = " ".join((act.__doc__ or "").split())
        self.act = act
        self.verdict: str = row["verdict"]
        self.sentence: str = row["sentence"]
        self.at: str = row["at"]
        """The command at which it misbehaves; `start` is before the first."""
        self.told: Data = row["told"] or {}
        """What the welcome says otherwise."""
        self.limits: Data = row["limits"] or {}
        self.argv: list[str] | None = row["argv"]
        """The command, where it is not this script."""


def subject(
    verdict: str,
    sentence: str = "",
    at: str = "remove",
    told: Data | None = None,
    limits: Data | None = None,
    argv: list[str] | None = None,
) -> Callable[[Act], Act]:
    """Register a subject under the name of its function, with its docstring as what it does."""
    row = dict(verdict=verdict, sentence=sentence, at=at, told=told, limits=limits, argv=argv)

    def keep(act: Act) -> Act:
        name = act.__name__.replace("_", "-")
        SUBJECTS[name] = Subject(name, act, row)
        return act

    return keep


# --- Behaving well ------------------------------------------------------------------------------


def write(data: bytes) -> None:
    """Bytes to the standard output, all of them."""
    while data:
        data = data[os.write(1, data) :]


def say(answer: Data) -> None:
    """One answer as a line."""
    write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")


def welcome(seq: int, **more: object) -> Data:
    """Who this is."""
    return {
        "seq": seq,
        "protocol": 1,
        "name": "zoo",
        "version": "1",
        "language": "Python",
        "contract": 1,
        "profile": "notes",
        "capabilities": ["edits", "assemble-gate", "first-listener"],
        **more,
    }


def report(seq: int, *trace: Data, **more: object) -> Data:
    """Nothing is pending, and all is quiet."""
    return {
        "trace": list(trace),
        "next_turn": [],
        "next_step": [],
        "status": "idle",
        "gates": [],
        "seq": seq,
        **more,
    }


REMOVED = {"saw": "return", "call": "remove", "value": False}


def right(command: Data, told: Data | None = None) -> Data:
    """What a well-behaved adapter of an empty session answers."""
    seq = command.get("seq", 0)
    match command["do"]:
        case "hello":
            return welcome(seq, **(told or {}))
        case "remove":
            return report(seq, REMOVED)
        case "bye":
            return {"seq": seq, "bye": True}
        case "batch":
            return {"seq": seq, "answers": [right(each) for each in command["commands"]]}
    return report(seq)


def say_right(command: Data, *replaced: bytes) -> None:
    """The right answer, in whose bytes something is replaced."""
    text = json.dumps(right(command), separators=(",", ":")).encode()
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        assert old in text, (old, text)
        text = text.replace(old, new, 1)
    write(text + b"\n")


def wait() -> None:
    """Do nothing until somebody ends it."""
    signal.alarm(FOREVER)
    while True:
        signal.pause()


def main(name: str) -> None:
    """Answer commands until bye or the end of the input."""
    chosen = SUBJECTS[name]
    if chosen.at == "start":
        chosen.act({})
    while line := read_line():
        command = json.loads(line)
        if command["do"] == chosen.at:
            chosen.act(command)
        else:
            say(right(command, chosen.told))
        if command["do"] == "bye":
            return


KEPT = bytearray()
"""What was read and not yet used."""


def read_line() -> bytes:
    """The next line of the input, without its end; empty when there is none."""
    while b"\n" not in KEPT:
        data = os.read(0, 1 << 16)
        if not data:
            return b""
        KEPT.extend(data)
    line, _, rest = bytes(KEPT).partition(b"\n")
    KEPT[:] = rest
    return line


# --- Does not start, or dies --------------------------------------------------------------------


@subject(
    "error",
    "expected to start '/nowhere/adapter', got: No such file or directory",
    argv=["/nowhere/adapter"],
)
def there_is_no_such_program(_: Data) -> None:
    """Names a program that is not there."""


@subject("error", "expected to start '/etc/passwd', got: Permission denied", argv=["/etc/passwd"])
def is_no_program(_: Data) -> None:
    """Names a file that nobody may execute."""


@subject("error", "the adapter exited with 3 before it answered `hello`", at="start")
def dies_at_start(_: Data) -> None:
    """Exits before it has read anything."""
    os._exit(3)


@subject(
    "error",
    "the adapter exited with 1 before it answered `hello`; its last words: 'RuntimeError: no key'",
    at="start",
)
def fails_at_start(_: Data) -> None:
    """Raises an exception while it starts."""
    raise RuntimeError("no key")


@subject("error", "the adapter exited with 0 before it answered `remove`")
def leaves_in_the_middle(_: Data) -> None:
    """Ends in good order while an answer is owed."""
    os._exit(0)


@subject("error", "the adapter was ended by SIGABRT before it answered `remove`")
def aborts(_: Data) -> None:
    """Is ended by a signal of its own in the middle of a command."""
    os.abort()


@subject(
    "error",
    "the adapter exited with 5 before it answered `remove`; half a line came: '{\"trace\":['",
)
def dies_in_the_middle_of_a_line(_: Data) -> None:
    """Writes half an answer and exits."""
    write(b'{"trace":[')
    os._exit(5)


@subject(
    "error",
    "the adapter exited with 1 before it answered `remove`; "
    "its last words: '\\x1b[2J\\x1b]52;c;cm0gLXJm\\x07::error::gone'",
)
def dies_with_escapes(_: Data) -> None:
    """Says terminal escapes and a command of a CI log on its standard error, and dies."""
    os.write(2, b"\x1b[2J\x1b]52;c;cm0gLXJm\x07::error::gone\n")
    os._exit(1)


@subject("error", "the adapter closed its output before it answered `remove`")
def closes_its_output(_: Data) -> None:
    """Closes its standard output and goes on living."""
    os.close(1)
    wait()


@subject("error", "the adapter closed its input before it answered `remove`", at="reset")
def closes_its_input(command: Data) -> None:
    """Closes its standard input and goes on living."""
    os.close(0)
    say(right(command))
    wait()


@subject("error", "the adapter was ended by SIGKILL before it answered `remove`")
def kills_its_group(_: Data) -> None:
    """Kills its process group."""
    os.killpg(0, signal.SIGKILL)


@subject(
    "error",
    "the adapter has lost its keeper, which somebody else has ended, before it answered `remove`",
)
def kills_its_parent(_: Data) -> None:
    """Kills the process that has started it, and hides a grandchild."""
    spawn()
    os.kill(os.getppid(), signal.SIGKILL)
    wait()


# --- Is late ------------------------------------------------------------------------------------


@subject(
    "late", "the adapter gave no answer to `hello` within 0.5 s", at="start", limits={"start": 0.5}
)
def hangs_at_start(_: Data) -> None:
    """Does not read anything, ever."""
    wait()


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def hangs(_: Data) -> None:
    """Takes the command and sleeps."""
    wait()


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def spins(_: Data) -> None:
    """Takes the command and computes for ever."""
    while True:
        pass


@subject(
    "error",
    "the adapter was ended while it was asked `remove`: "
    "it used … s of processor time, of 0.2 s allowed",
    limits={"cpu": 0.2},
)
def spins_beyond_its_share(_: Data) -> None:
    """Computes for ever, with more patience for the answer than for the processor."""
    while True:
        pass


@subject(
    "late",
    "the adapter gave no answer to `remove` within 0.7 s; it was stopped by SIGSTOP",
    limits={"answer": 0.7},
)
def stops_itself(_: Data) -> None:
    """Sends itself the signal that no process can refuse to be stopped by."""
    os.kill(os.getpid(), signal.SIGSTOP)


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def answers_too_late(command: Data) -> None:
    """Answers, long after the deadline."""
    select.select([], [], [], 1)
    say(right(command))


@subject(
    "late",
    'the adapter gave no answer to `remove` within 0.5 s; half a line came: \'{"trace":[{"saw\'',
    limits=SHORT,
)
def falls_silent_in_a_line(_: Data) -> None:
    """Writes half an answer and then nothing."""
    write(b'{"trace":[{"saw')
    wait()


@subject("late", "the adapter did not read `followup` within 0.5 s", at="reset", limits=SHORT)
def never_reads(command: Data) -> None:
    """Does not read its input, so that a long command fills the pipe."""
    say(right(command))
    wait()


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def floods_its_errors_and_hangs(_: Data) -> None:
    """Writes to its standard error without end instead of answering."""
    while True:
        os.write(2, PIECE)


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def ignores_every_signal(_: Data) -> None:
    """Ignores each signal that can be ignored, and hangs."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGALRM}:
        if number < signal.SIGRTMIN:
            signal.signal(number, signal.SIG_IGN)
    wait()


@subject(
    "holds",
    "the adapter gave no answer to `remove` within 0.5 s; tried once more, alone: it answered",
    limits=SHORT,
)
def is_late_once(command: Data) -> None:
    """Hangs in its first process and answers in its second."""
    state = os.environ["ZOO_STATE"]
    try:
        os.close(os.open(state, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        say(right(command))
    else:
        wait()


# --- Says too much ------------------------------------------------------------------------------


@subject(
    "error",
    "the adapter wrote more than one line in answer to `remove`: "
    "behind the first came '0123456789abcdef…",
)
def floods_its_output(_: Data) -> None:
    """Writes lines without end, a page and more at a time."""
    while True:
        write((b"0123456789abcdef" * 4 + b"\n") * 1000)


@subject(
    "error",
    "the adapter wrote a line longer than 1048576 bytes; it begins '0123456789abcdef…",
    limits={"line": MIB},
)
def writes_an_endless_line(_: Data) -> None:
    """Writes one line without end."""
    while True:
        write(PIECE)


@subject(
    "error",
    'the adapter wrote a line longer than 1048576 bytes; it begins \'{"text":"     …',
    limits={"line": MIB},
)
def writes_too_long_a_line(_: Data) -> None:
    """Writes one line of 2 MiB."""
    write(b'{"text":"' + b" " * 2 * MIB + b'"}\n')


@subject(
    "error",
    "the adapter wrote more than one line in answer to `remove`: "
    'behind the first came \'{"trace":[{"saw":"return","call":"remove","value":false}],"n\' '
    "… (… more bytes)",
)
def answers_twice(command: Data) -> None:
    """Gives the same answer two times in one write."""
    line = json.dumps(right(command), separators=(",", ":")).encode() + b"\n"
    write(line + line)


@subject(
    "error",
    "the adapter wrote more than one line in answer to `remove`: behind the first came "
    '\'{"trace":[…',
)
def answers_what_was_not_asked_yet(command: Data) -> None:
    """Answers this command and the next one at once."""
    lines = [
        json.dumps(right({**command, "seq": command["seq"] + ahead}), separators=(",", ":")) + "\n"
        for ahead in (0, 1)
    ]
    write("".join(lines).encode())


@subject(
    "error",
    "the adapter wrote more than one line in answer to `reset`: behind the first came 'debug: re'",
    at="reset",
)
def says_more_behind_its_answer(command: Data) -> None:
    """Writes the beginning of a second line behind an answer."""
    write(json.dumps(right(command)).encode() + b"\ndebug: re")


@subject(
    "error",
    "the adapter wrote more than one line in answer to `remove`: behind the first came "
    '\'{"trace":[…',
)
def prints_before_its_answer(command: Data) -> None:
    """Writes a line of debugging in front of the answer."""
    write(b"removing A\n" + json.dumps(right(command), separators=(",", ":")).encode() + b"\n")


@subject(
    "error",
    "the adapter's answer to `hello`: expected a JSON object, got 'Serving on port 8080': "
    "JSON is malformed: invalid character (byte 0); the line begins 'Serving on port 8080'",
    at="start",
)
def greets_first(_: Data) -> None:
    """Writes a banner when it starts."""
    write(b"Serving on port 8080\n")
    wait()


@subject(
    "error",
    "the adapter's answer to `remove`: expected a JSON object, got "
    "'\\x1b[2J\\x1b]8;;http://x\\x07ok': JSON is malformed: invalid character (byte 0); "
    "the line begins '\\x1b[2J\\x1b]8;;http://x\\x07ok'",
)
def writes_terminal_escapes(_: Data) -> None:
    """Answers with sequences that clear the screen and make a link."""
    write(b"\x1b[2J\x1b]8;;http://x\x07ok\n")


@subject(
    "error",
    "the adapter's answer to `remove`: expected a JSON object, got "
    "'##[group]x ::set-env name=PATH::/tmp': JSON is malformed: invalid character (byte 0); "
    "the line begins '##[group]x ::set-env name=PATH::/tmp'",
)
def writes_commands_of_a_log(_: Data) -> None:
    """Answers with what hosted CI takes for commands."""
    write(b"##[group]x ::set-env name=PATH::/tmp\n")


@subject("error", "the adapter could not do `remove`: no\\n\\x1b[31m way")
def fails_with_escapes(command: Data) -> None:
    """Says in the right way that it cannot, with a line end and an escape in its sentence."""
    say({"seq": command["seq"], "failed": "no\n\x1b[31m way"})


@subject("holds", at="hello")
def has_a_long_name(command: Data) -> None:
    """Answers with a line of 200 kB, which is legal."""
    say(welcome(command["seq"], name="z" * 200_000))


@subject("holds")
def writes_byte_by_byte(command: Data) -> None:
    """Writes each byte of its answer by itself, which is legal."""
    for byte in json.dumps(right(command)).encode() + b"\n":
        write(bytes([byte]))


@subject("holds")
def writes_carriage_returns(command: Data) -> None:
    """Ends its lines with CR and LF, which is legal: both are blanks of JSON."""
    write(json.dumps(right(command)).encode() + b"\r\n")


@subject("holds")
def floods_its_errors_and_answers(command: Data) -> None:
    """Writes 8 MiB to its standard error before it answers, which is legal."""
    for _ in range(128):
        os.write(2, PIECE)
    say(right(command))


# --- Says what is no answer ---------------------------------------------------------------------

ODD = "the adapter's answer to `remove`: "
BEGINS = '; the line begins \'{"trace":[{"saw":"return","call":"remove","value":…'


@subject("error", ODD + "expected a JSON object, got an empty line; the line begins ''")
def writes_an_empty_line(_: Data) -> None:
    """Answers with an empty line."""
    write(b"\n")


@subject("error", ODD + "expected a JSON object, got an array; the line begins '[1,2]'")
def writes_an_array(_: Data) -> None:
    """Answers with JSON that is no object."""
    write(b"[1,2]\n")


@subject("error", ODD + "expected JSON, got NaN" + BEGINS)
def says_nan(command: Data) -> None:
    """Has a NaN for a value."""
    say_right(command, b"false", b"NaN")


@subject("error", ODD + "expected finite numbers, got 1e400" + BEGINS)
def says_infinite(command: Data) -> None:
    """Has a number that no double holds."""
    say_right(command, b"false", b"1e400")


@subject("error", ODD + "expected integers of 64 bits, got 18446744073709551616" + BEGINS)
def says_two_to_the_64(command: Data) -> None:
    """Has an integer that 64 bits do not hold."""
    say_right(command, b"false", b"18446744073709551616")


@subject("error", ODD + "expected each key once, got 'status' twice" + BEGINS)
def says_a_key_twice(command: Data) -> None:
    """Has one key with two values."""
    say_right(command, b'"gates"', b'"status":"running","gates"')


@subject(
    "error",
    ODD + "expected a JSON object, got '{…': JSON is malformed: invalid character (byte …)…",
)
def says_nul(command: Data) -> None:
    """Has a NUL byte in a string."""
    say_right(command, b"idle", b"id\x00le")


@subject("error", ODD + "expected text, got the lone surrogate \\ud800 at 0" + BEGINS)
def says_a_surrogate(command: Data) -> None:
    """Has half of a surrogate pair."""
    say_right(command, b"idle", b"\\ud800")


@subject("error", ODD + "expected UTF-8, got the byte 0xff at offset …" + BEGINS)
def says_no_utf_8(command: Data) -> None:
    """Has a byte that is no UTF-8."""
    say_right(command, b"idle", b"id\xffle")


@subject(
    "error", ODD + "expected UTF-8, got the byte 0xff at offset 0; the line begins '\\xff\\xfe{…"
)
def writes_utf_16(command: Data) -> None:
    """Answers in UTF-16, of which the first half of a line end ends the line."""
    write(json.dumps(right(command)).encode("utf-16") + b"\n")


@subject(
    "error",
    ODD + "expected a JSON object, got '\\ufeff{\"trace\":…': "
    "JSON is malformed: invalid character (byte 0); the line begins '\\xef\\xbb\\xbf{…",
)
def writes_a_mark_first(command: Data) -> None:
    """Puts a byte order mark in front of its answer."""
    write(b"\xef\xbb\xbf" + json.dumps(right(command), separators=(",", ":")).encode() + b"\n")


@subject(
    "error", ODD + "expected a JSON object, got '{…': maximum recursion depth exceeded…" + BEGINS
)
def nests_5000_levels(command: Data) -> None:
    """Nests arrays 5,000 levels deep."""
    say_right(command, b"false", b"[" * 5000 + b"]" * 5000)


@subject("error", ODD + "no report: object missing required field `status` at $" + BEGINS)
def leaves_a_key_out(command: Data) -> None:
    """Forgets a key that each report has."""
    say_right(command, b'"status":"idle",', b"")


@subject("error", ODD + "no report: object contains unknown field `mood` at $" + BEGINS)
def adds_a_key(command: Data) -> None:
    """Has a key that no report has."""
    say_right(command, b'"gates"', b'"mood":"good","gates"')


@subject(
    "error",
    ODD + "no report: expected `bool | int | str | array | null`, got `object` at …" + BEGINS,
)
def says_an_object_for_a_value(command: Data) -> None:
    """Has a value of a type that no call returns."""
    say_right(command, b"false", b"{}")


@subject(
    "error", ODD + "no report: invalid value 'turn/begin' at $.trace[0].saw; the line begins '{…"
)
def sees_what_nobody_knows(command: Data) -> None:
    """Tells an observation that the contract does not have."""
    say_right(command, b'"saw":"return"', b'"saw":"turn/begin"')


@subject("error", ODD + "expected the answer to command 3, got that to 2" + BEGINS)
def answers_the_previous_command(command: Data) -> None:
    """Gives the right answer with the number of the command before."""
    say(right({**command, "seq": command["seq"] - 1}))


@subject("error", ODD + "expected the answer to command 3, got that to 1000" + BEGINS)
def counts_otherwise(command: Data) -> None:
    """Numbers its answers by a count of its own."""
    say(right({**command, "seq": 1000}))


@subject("error", "the adapter made the call of hook 7, which did not wait")
def makes_a_call_that_did_not_wait(command: Data) -> None:
    """Says that it made a call in a window, of which it was told nothing."""
    say(report(command["seq"], {"saw": "made", "hook": 7}, REMOVED))


# --- Lies about itself --------------------------------------------------------------------------


@subject("error", "expected protocol 1, got 2", told={"protocol": 2}, at="")
def speaks_another_protocol(_: Data) -> None:
    """Speaks a version of the protocol that is not this one."""


@subject(
    "error", "expected a revision of the contract from 1 to 1, got 99", told={"contract": 99}, at=""
)
def pins_a_contract_of_tomorrow(_: Data) -> None:
    """Pins a revision of the contract that nobody has written."""


@subject("error", "expected a profile (…), got 'mine'", told={"profile": "mine"}, at="")
def claims_an_unknown_profile(_: Data) -> None:
    """Claims a profile that is none."""


@subject(
    "error",
    "expected capabilities among …, got 'telepathy'",
    told={"capabilities": ["telepathy"]},
    at="",
)
def claims_an_unknown_capability(_: Data) -> None:
    """Declares what nobody knows."""


@subject(
    "error",
    "the adapter's answer to `hello`: no welcome: expected `float` <= 600.0 at $.limits.answer; "
    "the line begins …",
    told={"limits": {"answer": 1e9}},
    at="",
)
def asks_for_ever(_: Data) -> None:
    """Asks for a time limit of thirty years."""


@subject(
    "error",
    "the adapter's answer to `batch`: expected 2 reports, got 1",
    told={"capabilities": ["edits", "assemble-gate", "first-listener", "batch"]},
    at="batch",
)
def cannot_count_a_batch(command: Data) -> None:
    """Declares batches and answers only the first command of one."""
    say({"seq": command["seq"], "answers": [report(0)]})


@subject(
    "error",
    "the adapter could not do `batch`: what is a batch?",
    told={"capabilities": ["edits", "assemble-gate", "first-listener", "batch"]},
    at="batch",
)
def declares_what_it_cannot(command: Data) -> None:
    """Declares batches and does not know them."""
    say({"seq": command["seq"], "failed": "what is a batch?"})


@subject(
    "error",
    'the adapter\'s answer to `reset`: expected a line that ends in ,"sum":"…"}, got …',
    told={"sum": True},
    at="",
)
def promises_a_sum(_: Data) -> None:
    """Declares checksums and writes none."""


@subject(
    "error",
    'the adapter\'s answer to `reset`: expected a line that ends in ,"sum":"…"}, got '
    '\',"sum":"00000000"}\'; the line begins …',
    told={"sum": True},
    at="reset",
)
def sums_wrongly(command: Data) -> None:
    """Ends its line with a checksum of something else."""
    say({**right(command), "sum": "00000000"})


@subject("broken", "Nothing vanishes between a record, its notification, the lists and the step.")
def claims_a_message(command: Data) -> None:
    """Keeps to the protocol and tells of a message that nobody has sent: a finding, no error."""
    message = {"id": "X", "role": "user", "source": "user", "blocks": []}
    say(report(command["seq"], REMOVED, next_turn=[message]))


@subject("broken", "What a subject does is what some session of the specification may do.", at="")
def loses_a_wake(_: Data) -> None:
    """Keeps to the protocol and does nothing when it is woken: a finding, no error."""


# --- Does not end, or leaves something ----------------------------------------------------------


def spawn() -> None:
    """A grandchild in a session of its own."""
    devnull = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    where = "/bin/sleep"
    os.posix_spawn(where, ["sleep", str(FOREVER)], os.environ, file_actions=devnull, setsid=True)


def fork() -> None:
    """A child that waits, beside this one."""
    if not os.fork():
        wait()
        os._exit(0)


@subject("holds", "the adapter did not end by itself: it was killed", at="bye", limits={"end": 0.4})
def ignores_bye_and_term(command: Data) -> None:
    """Answers bye, and goes on living whatever it is sent."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(right(command))
    wait()


@subject(
    "holds",
    "the adapter did not end by itself: it ended when it was sent SIGTERM",
    at="bye",
    limits={"end": 0.4},
)
def ignores_bye(command: Data) -> None:
    """Answers bye and goes on living until it is sent SIGTERM."""
    say(right(command))
    wait()


@subject("holds", "the adapter exited with 3, expected 0", at="bye")
def exits_with_3(command: Data) -> None:
    """Answers bye and ends with an exit code that is not 0."""
    say(right(command))
    os._exit(3)


@subject(
    "holds",
    "at bye, the adapter exited with 0 before it answered `bye`",
    at="bye",
)
def leaves_without_a_word(_: Data) -> None:
    """Exits at bye without an answer."""
    os._exit(0)


@subject("holds", "the adapter left 1 process behind: 'sleep'", at="bye")
def leaves_a_grandchild(command: Data) -> None:
    """Ends in good order and leaves a process in a session of its own."""
    spawn()
    say(right(command))
    os._exit(0)


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def hides_grandchildren(_: Data) -> None:
    """Hangs, with children of children in sessions of their own."""
    for _number in range(3):
        if not os.fork():
            os.setsid()
            spawn()
            fork()
            wait()
    wait()


@subject("error", "the adapter exited with 0 before it answered `remove`")
def hands_its_pipe_on(_: Data) -> None:
    """Exits while a grandchild, whose parent is gone too, holds its output open."""
    if not os.fork():
        os.setsid()
        fork()
        os._exit(0)
    os.wait()
    os._exit(0)


@subject(
    "error",
    "the adapter was ended while it was asked `remove`: it ran … processes, of 20 allowed",
    limits={"processes": 20},
)
def storms(_: Data) -> None:
    """Starts 120 processes that stay."""
    for _number in range(120):
        fork()
    wait()


@subject("error", "the adapter exited with 0 before it answered `remove`")
def flees(_: Data) -> None:
    """Runs from process to process, each in a session of its own, at most 20,000 times."""
    for _number in range(20_000):
        if os.fork():
            os._exit(0)
        os.setsid()
    wait()


@subject("late", "the adapter gave no answer to `remove` within 0.5 s", limits=SHORT)
def runs_on_in_a_group(_: Data) -> None:
    """Stays, while a child of it runs from process to process in their group, 20,000 times."""
    if os.fork():
        wait()
    for _number in range(20_000):
        if os.fork():
            os._exit(0)
    wait()


def eat() -> None:
    """Take 160 MiB of memory and keep it."""
    kept = [bytearray(os.urandom(16)) * (MIB // 2) for _number in range(20)]
    wait()
    del kept


@subject(
    "error",
    "the adapter was ended while it was asked `remove`: it used … MiB of memory, of 64 MiB allowed",
    limits={"memory": 64 * MIB},
)
def eats_memory(_: Data) -> None:
    """Takes more memory than it may."""
    eat()


@subject(
    "error",
    "the adapter was ended while it was asked `remove`: it used … MiB of memory, of 64 MiB allowed",
    limits={"memory": 64 * MIB},
)
def lets_a_child_eat(_: Data) -> None:
    """Starts a child in a session of its own that takes more memory than it may."""
    if not os.fork():
        os.setsid()
        eat()
    wait()


@subject(
    "error",
    "the adapter exited with 1 before it answered `remove`; its last words: 'MemoryError'",
    limits={"memory": 64 * MIB},
)
def asks_for_too_much_at_once(_: Data) -> None:
    """Asks for 2 GiB of memory in one piece."""
    bytearray(2048 * MIB)


@subject(
    "error",
    "the adapter exited with 1 before it answered `remove`; "
    "its last words: 'OSError: [Errno 27] File too large'",
    limits={"file": 4 * MIB},
)
def writes_a_huge_file(_: Data) -> None:
    """Writes a file without end into its folder."""
    file = os.open("huge", os.O_CREAT | os.O_WRONLY)
    while True:
        os.write(file, PIECE)


@subject("holds")
def takes_its_own_rights(command: Data) -> None:
    """Leaves folders in its folder that nobody may enter, which is legal."""
    os.makedirs("deep/er")
    os.symlink("/", "deep/root")
    for each in ("deep/er", "deep", "."):
        os.chmod(each, 0)
    say(right(command))


@subject("holds", at="hello")
def tells_what_it_sees(command: Data) -> None:
    """Tells its environment, descriptors and folder as its name, which is legal."""
    seen = {
        "environment": dict(os.environ),
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
        "folder": os.getcwd(),
        "ids": [os.getpid(), os.getpgrp(), os.getsid(0)],
        "network": os.readlink("/proc/self/ns/net"),
        "argv": sys.argv[2:],
    }
    say(welcome(command["seq"], name=json.dumps(seen)))


if __name__ == "__main__":
    main(sys.argv[1])
