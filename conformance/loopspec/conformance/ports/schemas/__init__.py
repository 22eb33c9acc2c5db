"""JSON schemas of the port protocol, made from the structs of `messages`.

They are for whoever writes an adapter in another language: one file for each command and for each
answer, and one for the document of `loopspec vectors`.

    python -m loopspec.conformance.ports.schemas    # writes the files beside this module
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final

import msgspec

from loopspec.conformance.ports.messages import ANSWERS, COMMANDS, ENTRY, Hook, Message

__all__ = ["documents", "read_schema"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def documents() -> dict[str, dict[str, Any]]:
    """Each schema by the name of its file."""
    from loopspec.conformance.ports.vectors import Vectors  # with it comes the whole suite

    made = {f"command.{name}.schema.json": _document(kind) for name, kind in COMMANDS.items()}
    made |= {f"answer.{name}.schema.json": _document(kind) for name, kind in ANSWERS.items()}
    made["entry.schema.json"] = _document(ENTRY)
    made["hook.schema.json"] = _document(Hook)
    made["message.schema.json"] = _document(Message)
    made["vectors.schema.json"] = _document(Vectors)
    return made


def _document(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a struct or a union of them
    return {"$schema": DIALECT, **msgspec.json.schema(kind)}


def read_schema(name: str) -> dict[str, Any]:
    """A shipped schema, by the name of its file. Raises FileNotFoundError for another name."""
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def text_of(document: dict[str, Any]) -> str:
    """A schema as its file has it."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
