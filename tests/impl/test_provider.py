"""The scripted provider, the clock, the ids and the policy: what is passed in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from loopspec.impl import (
    Policy,
    ProviderCut,
    ProviderError,
    Reply,
    Request,
    ScriptedProvider,
    Signal,
    TextBlock,
    counted_ids,
    fixed_clock,
    random_ids,
    system_clock,
)


def test_script_is_answered_in_order_and_then_done() -> None:
    """An exception in the script is raised."""
    provider = ScriptedProvider([Reply("owes"), ProviderError("busy", "BUSY")])
    request = Request(1, 1, (), Signal())
    assert Reply("owes") == asyncio.run(provider.respond(request))
    with pytest.raises(ProviderError, match="busy") as caught:
        asyncio.run(provider.respond(request))
    assert "BUSY" == caught.value.code
    assert "done" == asyncio.run(provider.respond(request)).kind
    assert [request] * 3 == provider.requests


def test_aborted_request_is_cut() -> None:
    """The signal is looked at before an answer is given."""
    signal = Signal()
    signal._abort("user")
    with pytest.raises(ProviderCut):
        asyncio.run(ScriptedProvider().respond(Request(1, 1, (), signal)))


def test_reply_knows_three_kinds() -> None:
    """Anything else is a mistake of the provider's author."""
    kind: Any = "maybe"
    with pytest.raises(ValueError, match="maybe"):
        Reply(kind)
    assert (TextBlock("a"),) == Reply(content=(TextBlock("a"),)).content


def test_clocks_and_ids() -> None:
    """Fixed and counted for tests, real ones for deployment."""
    clock, ids = fixed_clock(10, 5), counted_ids("x")
    assert [10, 15] == [clock(), clock()]
    assert ["x1", "x2"] == [ids(), ids()]
    assert random_ids() != random_ids()
    assert isinstance(system_clock(), int)


def test_policy_has_two_readings_after_a_keep_cancel() -> None:
    """Other words are refused when the policy is made."""
    assert "advance" == Policy().after_keep_cancel
    word: Any = "stop"
    with pytest.raises(ValueError, match="stop"):
        Policy(after_keep_cancel=word)
