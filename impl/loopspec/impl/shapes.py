"""Shapes: what the catalogue says of a record's keys, compiled once for each type of record.

A record is checked by the class that reads it (`records`), in Python and key by key. Where the
words of the catalogue are enough, a shape made of them says *yes* at once, and the class is asked
when somebody wants to have the payload. A shape never has the last word on a *no*: it accepts less
than the class does (a block of content that is not text, for one), and the class has the sentence.
"""

from types import GenericAlias
from typing import Annotated, Any, Final, Literal

import msgspec

from loopspec.impl.catalogue import CATALOGUE, Entry, Key
from loopspec.impl.messages import ROLES
from loopspec.impl.records import (
    OUTCOME_UNKNOWN,
    TARGETS,
    TOOL_NOT_STARTED,
    TOOL_OUTCOMES,
    Record,
    read_payload,
)

# Annotations are evaluated at once here: as strings msgspec would look their names up in
# `sys.modules`, where a copy of this part with a planted fault does not stand.
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Kind(msgspec.Struct, forbid_unknown_fields=True):
    """An object that has a kind and nothing else."""

    kind: Text


class TextContent(msgspec.Struct, forbid_unknown_fields=True):
    """The one kind of block that the loop reads."""

    # As a tag of the class it could be left out.
    type: Literal["text"]
    text: str


WORDS: Final[dict[str, Any]] = {
    "whole number, from 0": Annotated[int, msgspec.Meta(ge=0)],
    "whole number, from 1": Annotated[int, msgspec.Meta(ge=1)],
    "string": Text,
    "non-empty string": Text,
    "call id": Text,
    "array of call ids": list[Text],
    "`true`": bool,
    "`ok`, `error`, `aborted` or `skipped`": Literal[TOOL_OUTCOMES],
    "`TOOL_NOT_STARTED` or `TOOL_OUTCOME_UNKNOWN`": Literal[TOOL_NOT_STARTED, OUTCOME_UNKNOWN],
    "array of blocks `{type, …}`": list[TextContent],
    "`user` or `assistant`": Literal[ROLES],
    "`{kind}`, in Python the kind": Kind,
    "`next-turn` or `next-step`": Literal[TARGETS],
    "`canceled`": Literal["canceled"],
}
"""The type of a key, under the words of the catalogue; a record with other words has no shape."""


def shape_of(entry: Entry) -> Any:  # noqa: ANN401 - a class made here
    """Make the shape of a record of the catalogue."""
    return msgspec.defstruct(
        entry.name.title().replace("/", ""),
        [_field(key) for key in sorted(entry.keys, key=lambda key: key.when != "always")],
        forbid_unknown_fields=True,
    )


def _field(key: Key) -> Any:  # noqa: ANN401 - as `defstruct` takes it
    kind = WORDS[key.type]
    if key.when == "always":
        return (key.wire, kind)
    return (key.wire, kind | msgspec.UnsetType, msgspec.UNSET)


_RECORDS: Final = {entry.name: entry for entry in CATALOGUE if entry.kind == "record"}
WORDS["message"] = shape_of(_RECORDS["user/message"])
WORDS["array of messages"] = GenericAlias(list, (WORDS["message"],))
SHAPES: Final[dict[str, Any]] = {
    name: shape_of(entry)
    for name, entry in _RECORDS.items()
    if all(key.type in WORDS for key in entry.keys)
}
"""The shape of each type of record that has one."""


def checked_record(seq: int, time: int, kind: str, data: object) -> Record:
    """Return a record of data that its caller gives away; raises `RecordInvalid`."""
    shape = SHAPES.get(kind)
    if shape is not None:
        try:
            msgspec.convert(data, shape)
        except msgspec.ValidationError:
            pass
        else:
            return Record(seq, time, kind, data)
    payload = read_payload(kind, data)
    return Record(seq, time, kind, data, None, payload)
