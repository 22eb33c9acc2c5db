"""The specification: a pure state machine of claim, pre-step, splice and cancel.

Read it in this order: `words`, `session`, `rows`, `table_inbox`, `table_driver`, `table`, then
`properties`. `scenario`, `playback`, `possible`, `scope`, `explore`, `witness`, `graph` and
`documents` use the table; they do not add to what it says.

The names below are the public ones; they are loaded when they are first used. The one search,
`loopspec.model.explore.explore`, is called by its module's name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopspec.model.explore import Explored, Progress, dead_rows
    from loopspec.model.playback import Played, Skipped, play, trace_lines
    from loopspec.model.policy import NOTES, PROFILES, Policy
    from loopspec.model.possible import Parting, Possible, after
    from loopspec.model.properties import PROPERTIES, Breach, Property, watch
    from loopspec.model.rows import Row
    from loopspec.model.scenario import (
        Line,
        Scenario,
        ScenarioError,
        Window,
        parse_scenario,
        scenario_from_json,
        scenario_json,
    )
    from loopspec.model.scope import Scope
    from loopspec.model.scopes import DEFAULT_SCOPES
    from loopspec.model.session import Session, canonical
    from loopspec.model.table import TABLE, Moved, Refusal, apply, move, run
    from loopspec.model.words import (
        Answer,
        Block,
        Call,
        Entry,
        Made,
        Message,
        Observation,
        Rest,
        text_message,
    )

_HOMES = {
    "explore": ("Explored", "Progress", "dead_rows"),
    "playback": ("Played", "Skipped", "play", "trace_lines"),
    "policy": ("NOTES", "PROFILES", "Policy"),
    "possible": ("Parting", "Possible", "after"),
    "properties": ("PROPERTIES", "Breach", "Property", "watch"),
    "rows": ("Row",),
    "scenario": (
        "Line",
        "Scenario",
        "ScenarioError",
        "Window",
        "parse_scenario",
        "scenario_from_json",
        "scenario_json",
    ),
    "scope": ("Scope",),
    "scopes": ("DEFAULT_SCOPES",),
    "session": ("Session", "canonical"),
    "table": ("TABLE", "Moved", "Refusal", "apply", "move", "run"),
    "words": (
        "Answer",
        "Block",
        "Call",
        "Entry",
        "Made",
        "Message",
        "Observation",
        "Rest",
        "text_message",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "DEFAULT_SCOPES",
    "NOTES",
    "PROFILES",
    "PROPERTIES",
    "TABLE",
    "Answer",
    "Block",
    "Breach",
    "Call",
    "Entry",
    "Explored",
    "Line",
    "Made",
    "Message",
    "Moved",
    "Observation",
    "Parting",
    "Played",
    "Policy",
    "Possible",
    "Progress",
    "Property",
    "Refusal",
    "Rest",
    "Row",
    "Scenario",
    "ScenarioError",
    "Scope",
    "Session",
    "Skipped",
    "Window",
    "after",
    "apply",
    "canonical",
    "dead_rows",
    "move",
    "parse_scenario",
    "play",
    "run",
    "scenario_from_json",
    "scenario_json",
    "text_message",
    "trace_lines",
    "watch",
]


def __getattr__(name: str) -> object:
    """Load the module of a public name when the name is first used."""
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"loopspec.model.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
