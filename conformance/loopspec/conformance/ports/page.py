"""docs/protocol.md: the port protocol, made from its schemas, with talks that were really had.

    python -m loopspec.conformance.ports.page     # prints the page

The keys of each message are read from the schema files; the lines of the talks are what the Python
template answers. A test runs every line of the page again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from typing import Any, Final

from loopspec.conformance.ports import messages as wire
from loopspec.conformance.ports.meanings import CHOICES, VALUES
from loopspec.conformance.ports.schemas import documents
from loopspec.conformance.ports.words import message_to, text_of
from loopspec.conformance.subjects.contract import CALLS_NEED
from loopspec.conformance.subjects.port import REQUIRED
from loopspec.model.words import GATES, text_message

__all__ = ["SAMPLES", "page", "talk_with"]

Json = dict[str, Any]

A, B = message_to(text_message("A")), message_to(text_message("B"))
HELD: Final = ("assemble", "pre-step", "provider")

SAMPLES: Final[dict[str, wire.Command]] = {
    "hello": wire.Hello(protocol=wire.PROTOCOL, contract=wire.CONTRACT, profile="notes", seq=1),
    "reset": wire.Reset(held=HELD, seq=2),
    "followup": wire.Followup(message=A, seq=3),
    "steer": wire.Steer(message=A, seq=3),
    "inject": wire.Inject(message=A, seq=3),
    "append": wire.Append(target="next-turn", message=A, seq=3),
    "prepend": wire.Prepend(target="next-step", message=A, seq=3),
    "splice": wire.Splice(target="next-turn", start=-1, count=1, messages=(B,), seq=4),
    "replace": wire.Replace(id="A", message=B, seq=4),
    "remove": wire.Remove(id="A", seq=4),
    "clear": wire.Clear(seq=4),
    "cancel": wire.Cancel(cause="user", mode="keep", seq=4),
    "flush": wire.Flush(seq=4),
    "crash": wire.Crash(seq=4),
    "resume": wire.Resume(seq=4),
    "fork": wire.Fork(seq=4),
    "maintenance": wire.Maintenance(seq=4),
    "when-idle": wire.WhenIdle(seq=4),
    "dispose": wire.Dispose(seq=4),
    "refuse": wire.Refuse(record="agent/inbox/spliced", seq=4),
    "throw": wire.Throw(event="agent/inbox/inserted", seq=4),
    "answer": wire.Answer(gate="pre-step", choice="enter", messages=(A, B), seq=5),
    "load": wire.Load(log=(), seq=2),
    "dump": wire.Dump(seq=6),
    "batch": wire.Batch(commands=(wire.Reset(held=HELD), wire.Followup(message=A)), seq=2),
    "bye": wire.Bye(seq=7),
}
"""One example of each command."""

HELLO: Final = SAMPLES["hello"]
ENTER: Final = wire.Answer(gate="pre-step", choice="enter")
ASSEMBLED: Final = wire.Answer(gate="assemble", choice="assembled")
DONE: Final = wire.Answer(gate="provider", choice="done")

TALKS: Final[tuple[tuple[str, tuple[wire.Command, ...]], ...]] = (
    (
        "A prompt from end to end. Each answer comes when the loop is at rest: at a gate, or idle.",
        (
            HELLO,
            wire.Reset(held=HELD),
            wire.Followup(message=A),
            ASSEMBLED,
            ENTER,
            DONE,
            wire.Bye(),
        ),
    ),
    (
        "A hook: when the last listener hears of the claim, it steers. The call is made inside "
        "that delivery, so `made` and `return` stand before what the loop does next.",
        (
            HELLO,
            wire.Reset(
                held=HELD,
                hooks=(
                    wire.Hook(
                        hook=0,
                        at="agent/inbox/claimed",
                        by="last",
                        n=1,
                        k=0,
                        call=wire.Steer(message=B),
                    ),
                ),
            ),
            wire.Followup(message=A),
            wire.Bye(),
        ),
    ),
    (
        "What goes wrong: an answer to a gate that is not open, a call that the loop refuses, and "
        "one that the adapter has not declared.",
        (
            HELLO,
            wire.Reset(held=HELD),
            DONE,
            wire.Inject(message=A),
            wire.Inject(message=A),
            wire.Clear(),
            wire.Bye(),
        ),
    ),
    (
        "A batch: several commands in one line, and one report for each in the answer.",
        (
            HELLO,
            wire.Batch(commands=(wire.Reset(held=HELD), wire.Inject(message=A))),
            wire.Bye(),
        ),
    ),
)

HEAD: Final = """\
# The port protocol

Generated from the schemas by `make docs`; a test compares it and runs every line of its talks.

A *port* is a process that stands for a loop in any language. It reads one JSON object a line from
its standard input and writes one JSON object a line to its standard output; standard error is its
own, and the judge quotes its last line when the process dies. [Writing a port](writing-a-port.md)
grows one step by step.

- Lines are UTF-8 and end in a line feed (U+000A) and nowhere else.
- Each command has a number, `seq`, which its answer repeats. Those in a batch or a hook have none.
- The port answers each command once, when its loop is *at rest*: nothing is ready to run until
  somebody calls it or answers a gate. It says nothing unasked.
- The judge refuses keys that it does not know. Keys that may be null may be left out.
- What the adapter cannot do it answers with `failed` and one sentence; nothing is judged then. What
  the *loop* refuses is no failure: it is told in the trace, as `return` with a code in `raised`.
- After a welcome with `sum`, each line of the port ends in `,"sum":"XXXXXXXX"}`: the CRC-32 of all
  bytes before that comma, in eight hexadecimal digits. It is optional, and cheap.
- At `bye` the port answers and exits with 0; at the end of its input it exits with 0.

The same messages as JSON schemas, one file each, lie in
`loopspec/conformance/ports/schemas/` of the installed package.
"""


def page() -> str:
    """The whole page."""
    schemas = documents()
    parts = [HEAD, "## Talks\n"]
    for title, commands in TALKS:
        asked = _numbered(commands)
        parts += [f"{title}\n", "```text", *_laid_out(asked, talk_with(asked)), "```\n"]
    parts += ["## Capabilities\n", *_capabilities()]
    parts.append("## Commands\n")
    for name in wire.COMMANDS:
        parts += _command(name, schemas[f"command.{name}.schema.json"])
    parts.append("## Answers\n")
    for name in wire.ANSWERS:
        parts += _message(name, schemas[f"answer.{name}.schema.json"])
    parts.append("## Parts of messages\n")
    parts += _parts(schemas)
    parts.append("## What was seen\n")
    parts += _seen(schemas["entry.schema.json"])
    return "\n".join(parts).rstrip() + "\n"


# --- Talks --------------------------------------------------------------------------------------


def talk_with(asked: Sequence[bytes]) -> list[bytes]:
    """What the Python template answers to these lines, in a process of its own."""
    with as_file(files(__package__).joinpath("templates", "python", "adapter.py")) as adapter:
        done = subprocess.run(
            [sys.executable, "-B", str(adapter)],
            input=b"".join(line + b"\n" for line in asked),
            capture_output=True,
            check=True,
        )
    return done.stdout.splitlines()


def _numbered(commands: Sequence[wire.Command]) -> list[bytes]:
    lines = []
    for seq, command in enumerate(commands, 1):
        data = json.loads(text_of(command))
        data.pop("seq", None)
        lines.append(json.dumps({**data, "seq": seq}, separators=(",", ":")).encode())
    return lines


def _laid_out(asked: Sequence[bytes], answered: Sequence[bytes]) -> Iterator[str]:
    """Commands behind `>`, answers behind `<`; a trace has one line an entry."""
    for command, answer in zip(asked, answered, strict=True):
        yield f"> {command.decode()}"
        yield "< " + answer.decode().replace('{"saw"', '\n    {"saw"')


# --- Messages -----------------------------------------------------------------------------------


def _capabilities() -> Iterator[str]:
    required = " and ".join(f"`{name}`" for name in REQUIRED)
    yield (
        f"What a welcome may list. Every port needs {required}: each trace shows them, and a port "
        "without is refused at hello (one that claims the profile of a peer is not). What else is "
        "not listed is skipped, never held against the port.\n"
    )
    yield "| capability | what it means |"
    yield "| --- | --- |"
    for name, meaning in wire.PORT_CAPABILITIES.items():
        yield f"| `{name}` | {meaning} |"
    yield ""


def _command(name: str, schema: Json) -> Iterator[str]:
    """One command: what it asks, what it needs, its keys, an example, its answer."""
    root = _root(schema)
    yield f"### `{name}`\n"
    yield f"{root['description']}\n"
    need = CALLS_NEED.get(name) or {"batch": "batch", "load": "log", "dump": "log"}.get(name)
    answer = next(key for key, kind in wire.ANSWERS.items() if kind is wire.ANSWER_OF[name])
    yield (
        f"Needs `{need}`; is" * bool(need)
        + "Is" * (not need)
        + f" answered by [{answer}](#{answer}).\n"
    )
    yield from _keys(root, ("do", "seq"))
    if name == "answer":
        yield "| gate | choice | what it says |"
        yield "| --- | --- | --- |"
        for gate, choices in GATES.items():
            for choice in choices:
                yield f"| `{gate}` | `{choice}` | {CHOICES[gate][choice]} |"
        yield ""
        yield "Under an abort a turn ends as aborted, whatever is answered at its gates.\n"
    yield f"```json\n{text_of(SAMPLES[name]).decode()}\n```\n"


def _message(name: str, schema: Json) -> Iterator[str]:
    root = _root(schema)
    yield f"### {name}\n"
    yield f"{root['description']}\n"
    yield from _keys(root)


def _parts(schemas: dict[str, Json]) -> Iterator[str]:
    """The objects that stand inside commands and answers, each once."""
    wanted = {
        "Message": "message.schema.json",
        "Block": "message.schema.json",
        "Hook": "hook.schema.json",
        "OpenGate": "answer.report.schema.json",
        "Folded": "answer.report.schema.json",
        "Limits": "answer.welcome.schema.json",
    }
    for title, file in wanted.items():
        root = schemas[file]["$defs"][title]
        yield f"### {title.lower()}\n"
        yield f"{root['description']}\n"
        yield from _keys(root)


def _seen(schema: Json) -> Iterator[str]:
    yield (
        "The entries of a trace, by what stands under `saw`. Records and events are told twice: by "
        "the `first` listener and by the `last` one.\n"
    )
    yield "| saw | kind | keys |"
    yield "| --- | --- | --- |"
    for name, place in schema["discriminator"]["mapping"].items():
        root = schema["$defs"][place.rpartition("/")[2]]
        keys = [
            f"`{key}` ({_kind(value)})" for key, value in _ordered(root) if key not in ("saw", "by")
        ]
        kind = wire.KIND_OF.get(name, "")
        yield f"| `{name}` | {kind or 'of the protocol'} | {', '.join(keys) or 'none'} |"
    yield ""
    yield "Words that stand as values, as the judge compares them; where none of them fits, null:\n"
    yield "| key | value | what it says |"
    yield "| --- | --- | --- |"
    for key, values in VALUES.items():
        for value, meaning in values.items():
            yield f"| {key} | `{value}` | {meaning} |"
    yield ""


def _root(schema: Json) -> Json:
    found: Json = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return found


def _ordered(root: Json) -> list[tuple[str, Json]]:
    """Keys that are required, in their order; then the others."""
    first = [key for key in root["required"] if key in root["properties"]]
    rest = [key for key in root["properties"] if key not in first]
    return [(key, root["properties"][key]) for key in first + rest]


def _keys(root: Json, without: tuple[str, ...] = ()) -> Iterator[str]:
    rows = [(key, value) for key, value in _ordered(root) if key not in without]
    if not rows:
        return
    yield "| key | value |"
    yield "| --- | --- |"
    for key, value in rows:
        left_out = "" if key in root["required"] else "; may be left out"
        yield f"| `{key}` | {_kind(value)}{left_out} |"
    yield ""


def _kind(schema: Json) -> str:
    """A schema in words."""
    if "$ref" in schema:
        title = schema["$ref"].rpartition("/")[2].lower()
        return f"[{title}](#{title})"
    if "enum" in schema:
        return " or ".join(
            f'`"{each}"`' if isinstance(each, str) else f"`{each}`".lower()
            for each in schema["enum"]
        )
    if "anyOf" in schema:
        return _one_of(schema)
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    if schema.get("type") == "integer":
        limits = [schema.get("minimum"), schema.get("maximum")]
        shown = [str(each) if each is None or abs(each) < 2**53 else "2^53" for each in limits]
        small = limits[0] is not None and limits[0] >= 0
        return f"whole number from {shown[0]} to {shown[1]}" if small else "whole number"
    names = {"boolean": "true or false", "object": "object", "string": "text", "null": "null"}
    if schema.get("type") == "number":
        most = schema.get("maximum")
        return "number" if most is None else f"number above 0, up to {most}"
    return names[schema["type"]]


def _one_of(schema: Json) -> str:
    mapping = schema.get("discriminator", {})
    if mapping.get("propertyName") == "saw":
        return "[entries](#what-was-seen)"
    if mapping.get("propertyName") == "do":
        calls = set(mapping["mapping"]) <= set(wire.CALL_COMMANDS)
        return (
            "a call: any command from `followup` to `throw`" if calls else "[commands](#commands)"
        )
    return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))


if __name__ == "__main__":
    sys.stdout.write(page())
