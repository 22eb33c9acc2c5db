"""Seeded random runs of the model, for tests that need many different sessions."""

import random
from typing import Final, NamedTuple

import attrs

from loopspec.model.possible import rest_of
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import Session, letter
from loopspec.model.table import Refusal, apply, move
from loopspec.model.words import Answer, Call, Entry, Made, text_message

WIDE: Final = Scope(
    "wide",
    "every call and every answer, three calls inside listeners",
    sends=6,
    edits=4,
    cancels=2,
    calls=(
        *("followup", "steer", "inject", "append", "prepend", "splice", "replace", "remove"),
        *("clear", "cancel", "maintenance", "when-idle", "dispose"),
        *("flush", "crash", "resume", "fork"),
    ),
    causes=("user", "hook"),
    inside=3,
    depth=2,
    between=True,
    owes=2,
    failures=2,
    resend=True,
    rewrite=True,
    tools=(("x",), ("x", "y")),
    contexts=True,
    streams=1,
    lives=2,
    deaths=2,
)

HOOKED: Final = attrs.evolve(WIDE, gates=("request", "request-error", "turn-stopping"))
"""The same with every hook held."""


class Walk(NamedTuple):
    """One random run: the sessions between its entries, the entries, and the inputs among them."""

    sessions: list[Session]
    trace: list[Entry]
    actions: list[Call | Answer]


def walk(seed: int, length: int = 14, scope: Scope | None = None) -> Walk:
    """A run with up to `length` inputs, ending at rest; every second holds the hooks too."""
    chance = random.Random(seed)
    scope = scope or (HOOKED if seed % 2 else WIDE)
    session, spent, named = scope.start, Spent(), 0
    result = Walk([session], [], [])
    while True:
        offered = list(choices(session, scope, spent, text_message(letter(named))))
        acts = offered and len(result.actions) < length
        if acts and (session.quiescent or chance.random() < 0.2):
            action, spent = chance.choice(offered)
            inside = session.listening
            result.actions.append(action)
            result.trace.append(Made(action, inside) if isinstance(action, Call) else action)
            after = apply(session, action)
            assert not isinstance(after, Refusal), f"{action} was offered: {after}"
            session, named = after, named + 1
        else:
            moved = move(session)
            if moved is None:
                break
            session = moved.session
            if moved.observation is not None:
                result.trace.append(moved.observation)
            if session.quiescent:
                result.trace.append(rest_of(session))
        result.sessions.append(session)
    return result
