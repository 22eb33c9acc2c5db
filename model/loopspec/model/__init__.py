"""The specification: a pure state machine of claim, pre-step, splice and cancel.

Read it in this order: `words`, `session`, `rows`, `table_inbox`, `table_driver`, `table`, then
`properties`. `scenario`, `possible`, `scope`, `explore` and `witness` use the table; they do not
add to what it says.
"""

from importlib import import_module

_HOMES = {
    "Answer": "words",
    "Block": "words",
    "Call": "words",
    "Made": "words",
    "Message": "words",
    "Observation": "words",
    "Rest": "words",
    "text_message": "words",
    "PROFILES": "policy",
    "Policy": "policy",
    "Session": "session",
    "TABLE": "table",
    "Refusal": "table",
    "apply": "table",
    "move": "table",
    "run": "table",
    "PROPERTIES": "properties",
    "Scenario": "scenario",
    "ScenarioError": "scenario",
    "parse_scenario": "scenario",
    "Scope": "scope",
    "DEFAULT_SCOPES": "scopes",
    "explore": "explore",
}

__all__ = [
    *_HOMES,
]


def __getattr__(name: str) -> object:
    """A public name, loaded from its module when it is first used."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"loopspec.model.{_HOMES[name]}"), name)
