"""The default scopes: together they take every row of the table.

The counts that these scopes reach are pinned in `tests/quality`; a change of meaning shows there
even when every property still holds.
"""

from typing import Final

from loopspec.model.scope import Scope

DEFAULT_SCOPES: Final = (
    Scope("queue", "four deliveries and two stops, every answer", sends=4, cancels=2, owes=1),
    Scope(
        "edits",
        "three deliveries, two edits of the lists and one stop",
        sends=3,
        edits=2,
        calls=(
            "followup",
            "inject",
            "append",
            "prepend",
            "splice",
            "replace",
            "remove",
            "clear",
            "cancel",
        ),
        answers=("assembled", "enter", "reject", "done"),
        resend=True,
    ),
    Scope(
        "decisions",
        "three deliveries, every decision over every batch, steps that owe a reply",
        sends=3,
        cancels=1,
        rewrite=True,
        owes=2,
        failures=2,
    ),
    Scope(
        "cancel",
        "three deliveries and two stops with different causes, also between two ticks",
        sends=3,
        cancels=2,
        causes=("user", "parent"),
        between=True,
    ),
    Scope(
        "listeners",
        "three deliveries, one stop, one call inside any listener or between two ticks",
        sends=3,
        inside=1,
        between=True,
        answers=("assembled", "enter", "reject", "done", "error"),
    ),
    Scope(
        "nested",
        "two calls inside listeners, also one inside the other",
        sends=2,
        edits=1,
        inside=2,
        depth=2,
        calls=("followup", "remove", "cancel", "clear"),
        answers=("assembled", "enter", "done"),
    ),
    Scope(
        "parked",
        "profile notes-park: two deliveries and two stops",
        sends=2,
        cancels=2,
        answers=("assembled", "enter", "reject", "done"),
        profile="notes-park",
    ),
)
