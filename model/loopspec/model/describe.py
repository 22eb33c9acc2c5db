"""One line for each thing that a person reads: messages, actions, observations, sessions.

Rules of this file. What an action prints as is its scenario text, so that it can be typed again.
"""

import json
from collections.abc import Iterator

from loopspec.model.session import Item, Session
from loopspec.model.words import (
    NEXT_STEP,
    NEXT_TURN,
    TARGETS,
    Answer,
    Block,
    Call,
    Entry,
    Made,
    Message,
    Observation,
    Rest,
    Value,
)


def quoted(text: str) -> str:
    """`text` as a JSON string: no control character and no lone surrogate reaches a terminal."""
    return json.dumps(text, ensure_ascii=True)


Known = dict[str, Message]
"""Messages that a scenario has introduced: a bare id that is known means that message again."""


def message_text(message: Message, known: Known | None = None) -> str:
    """The scenario text of a message: its id, its source unless user, its blocks unless default.

    With `known`, a message that is known already is its bare id, and the blocks are written
    wherever the bare id would mean another message; the message is known from then on.
    """
    earlier = known.get(message.id) if known is not None else None
    if earlier == message:
        return message.id
    if known is not None:
        known.setdefault(message.id, message)
    parts = [message.id]
    if message.source != "user":
        parts.append(f"@{message.source}")
    if earlier is not None or message.blocks != (Block("text", message.id),):
        parts.extend(
            quoted(block.text) if block.kind == "text" else f"{block.kind}:{quoted(block.text)}"
            for block in message.blocks
        )
        if not message.blocks:
            parts.append("empty")
    return " ".join(parts)


def value_text(value: Value, known: Known | None = None) -> str:
    """A value of a call or an observation."""
    if isinstance(value, Message):
        return message_text(value, known)
    if isinstance(value, tuple):
        return " ".join(value_text(each, known) for each in value)
    return "-" if value is None else str(value)


def call_text(call: Call, known: Known | None = None) -> str:
    """The scenario text of a call."""
    return " ".join([call.name, *(value_text(arg, known) for arg in call.args if arg != ())])


def answer_text(answer: Answer, known: Known | None = None) -> str:
    """The scenario text of an answer."""
    if answer.gate == "tool":
        named = " ".join(["tool", *answer.names])
        return " ".join(
            [f"{named}: {answer.choice}", *(message_text(m, known) for m in answer.messages or ())]
        )
    text = " ".join([f"{answer.gate}: {answer.choice}", *answer.names])
    if answer.messages is None:
        return text
    return f"{text} {value_text(answer.messages, known) or 'nothing'}"


def ids(messages: tuple[Message, ...]) -> str:
    """The ids of messages, or a dash for none."""
    return ",".join(message.id for message in messages) or "-"


def splice_text(seen: Observation) -> str:
    """A splice as `next-turn@0 -1 +A canceled`."""
    inserted = seen.get("inserted")
    assert isinstance(inserted, tuple)
    parts = [f"{seen.get('target')}@{seen.get('start')}"]
    if seen.get("removed"):
        parts.append(f"-{seen.get('removed')}")
    parts.extend(f"+{value_text(message)}" for message in inserted)
    if seen.get("outcome"):
        parts.append(str(seen.get("outcome")))
    return " ".join(parts)


def details(seen: Observation) -> Iterator[str]:
    """What an observation says besides its turn and step: `[x,y]`, `x`, `ok`, `interrupted`."""
    for key, value in seen.data:
        if key in ("turn", "step") or not value:
            continue
        if value is True:
            yield key
        else:
            names = ",".join(map(str, value)) if isinstance(value, tuple) else ""
            yield f"[{names}]" if names else str(value)


def opened_text(seen: Observation) -> str:
    """What a log amounts to: its last turn, both lists, and what the repair appended."""
    lists = (f"{target} {value_text(seen.get(target)) or '-'}" for target in TARGETS)
    repaired = seen.get("repaired")
    appended = ", ".join(map(str, repaired)) if isinstance(repaired, tuple) else str(repaired)
    return f"after turn {seen.get('turn')}: {'  '.join(lists)}" + f"  + {appended}" * bool(appended)


def observation_text(seen: Observation) -> str:
    """One observation on one line; the first listener is the one that goes without saying."""
    if seen.kind == "return":
        if seen.get("raised"):
            return f"{seen.name} raises {seen.get('raised')}"
        value = seen.get("value")
        return f"{seen.name} returns" + ("" if value is None else f" {value_text(value) or '-'}")
    if seen.kind == "settled":
        error = seen.get("error")
        return f"{seen.name} settles" + ("" if error is None else f" with: {error}")
    if seen.kind == "opened":
        return f"{seen.name} opens {opened_text(seen)}"
    batch = seen.get("messages")
    # What a subject says need not be well formed; then its values are shown as they came.
    if seen.name == "agent/inbox/spliced" and isinstance(seen.get("inserted"), tuple):
        told = splice_text(seen)
    elif seen.name == "pre-step" and isinstance(batch, tuple):
        names = ",".join(map(value_text, batch)) or "-"
        told = f"{seen.get('turn')}.{seen.get('step')} [{names}]"
    elif seen.get("step") is not None:
        told = " ".join([f"{seen.get('turn')}.{seen.get('step')}", *details(seen)])
    else:
        told = " ".join(f"{value_text(value)}" for _, value in seen.data if value is not None)
    who = f" ({seen.listener})" if seen.listener not in ("", "first") else ""
    prefix = "gate " if seen.kind == "gate" else ""
    return f"{prefix}{seen.name} {told}".rstrip() + who


def entry_text(entry: Entry) -> str:
    """One entry of a trace on one line: `>` is an input, `=` a rest."""
    if isinstance(entry, Made):
        return f"> {'(inside) ' if entry.inside else ''}{call_text(entry.call)}"
    if isinstance(entry, Answer):
        return f"> {answer_text(entry)}"
    if isinstance(entry, Rest):
        return f"= {rest_text(entry)}"
    return f"  {observation_text(entry)}"


def rest_text(rest: Rest) -> str:
    """Status, both lists and open gates."""
    gates = ", ".join(f"{gate}{' (aborted)' if aborted else ''}" for gate, aborted in rest.gates)
    lists = f"next-turn {ids(rest.next_turn)}  next-step {ids(rest.next_step)}"
    return f"{rest.status}  {lists}" + (f"  at {gates}" if gates else "")


def items_text(items: tuple[Item, ...]) -> str:
    """Pending items with the mark of each that is not quiet."""
    marks = {"quiet": "", "waking": "*", "due": "!"}
    return ",".join(item.message.id + marks[item.mark] for item in items) or "-"


def session_text(session: Session) -> str:
    """One line for a session; `*` marks a waking message, `!` a due one."""
    turn = f"turn {session.turn}" + (f".{session.step}" if session.turn_open else " closed")
    parts = [session.status, turn]
    parts.append(f"{NEXT_TURN} {items_text(session.next_turn)}")
    parts.append(f"{NEXT_STEP} {items_text(session.next_step)}")
    if session.batch:
        parts.append(f"batch {ids(session.batch)}")
    if session.aborted:
        parts.append(f"aborted by {session.cause}")
    if session.gates:
        parts.append(f"at {', '.join(session.gates)}")
    elif session.stack:
        parts.append(f"due {session.stack[0].frame}")
    return "  ".join(parts)
