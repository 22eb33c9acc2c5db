"""Small scopes, each about one feature, for searches that want the shortest scenario first.

Rules of this file. A narrow alphabet goes deep where a wide one drowns. Together these scopes take
every row of the table; `tests/model/test_differ.py` holds that. None of them is meant to be
explored as a whole in a gate: `scopes.DEFAULT_SCOPES` are.
"""

from typing import Final

from loopspec.model.scope import Scope

PLAIN: Final = ("assembled", "enter", "done")
EVERY_EDIT: Final = ("append", "prepend", "splice", "replace", "remove", "clear")

NARROW_SCOPES: Final = (
    Scope("send", "deliveries, stops and plain answers", 4, 0, 2, answers=(*PLAIN, "reject")),
    Scope(
        "edit",
        "edits of both lists while idle",
        1,
        3,
        0,
        EVERY_EDIT,
        answers=("assembled",),
        again=True,
    ),
    Scope(
        "edit-running",
        "deliveries and edits while a driver runs",
        2,
        2,
        1,
        ("followup", "inject", "cancel", *EVERY_EDIT),
        answers=PLAIN,
        resend=True,
    ),
    Scope(
        "decide",
        "every decision over every batch, steps of every outcome",
        3,
        0,
        1,
        owes=2,
        failures=2,
        rewrite=True,
    ),
    Scope(
        "outcomes",
        "steering, outcomes of steps and replies that are owed",
        2,
        0,
        0,
        ("followup", "steer"),
        answers=(*PLAIN, "owes", "max-tokens"),
        owes=1,
    ),
    Scope("causes", "stops with different causes", 2, 0, 2, causes=("user", "parent", "disposed")),
    Scope(
        "between",
        "calls between two ticks",
        3,
        0,
        1,
        between=True,
        answers=(*PLAIN, "reject"),
    ),
    Scope(
        "listen",
        "one delivery or stop inside any listener",
        3,
        0,
        1,
        inside=1,
        answers=(*PLAIN, "error"),
    ),
    Scope(
        "listen-again",
        "a message that is sent again inside any listener",
        3,
        0,
        0,
        ("followup", "inject"),
        inside=1,
        resend=True,
        answers=("assembled",),
    ),
    Scope(
        "listen-edit",
        "one edit or stop inside any listener",
        2,
        1,
        2,
        ("followup", "inject", "remove", "clear", "cancel"),
        inside=1,
        answers=PLAIN,
    ),
    Scope(
        "tools",
        "tools one after the other and side by side, with contexts",
        2,
        0,
        1,
        ("followup", "cancel", "steer"),
        answers=(*PLAIN, "tools", "parallel", "result", "concludes", "raise", "max-tokens"),
        tools=(("x",), ("x", "y")),
        contexts=True,
        owes=2,
        failures=1,
    ),
    Scope(
        "hooks",
        "every hook held, answers in part and attempts that fail",
        2,
        0,
        1,
        gates=("request", "request-error", "turn-stopping"),
        owes=1,
        streams=1,
        failures=2,
    ),
    Scope(
        "life",
        "deliveries and stops around maintenance, waiting and disposal",
        3,
        0,
        1,
        ("followup", "steer", "inject", "cancel", "maintenance", "when-idle", "dispose"),
        lives=3,
        answers=(*PLAIN, "reject", "raise"),
    ),
    Scope(
        "life-listen",
        "one call inside a listener around maintenance and disposal",
        2,
        0,
        1,
        ("followup", "inject", "cancel", "maintenance", "when-idle", "dispose"),
        lives=2,
        inside=1,
        between=True,
        answers=PLAIN,
    ),
)
