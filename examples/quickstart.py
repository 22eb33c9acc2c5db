"""One plug-in that rewrites what enters a step, one that rejects; and what came of it.

Run it: `python examples/quickstart.py`. It needs no network: the provider is scripted.
"""

# ruff: noqa: INP001, T201

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from loopspec.impl import (
    Agent,
    Bus,
    Enter,
    PreStep,
    Record,
    Reject,
    Reply,
    ScriptedProvider,
    SessionLog,
    TextBlock,
    text_message,
)

Next = Callable[[], Awaitable[Enter | Reject]]


async def expand_shorthand(_: PreStep, proceed: Next) -> Enter | Reject:
    """Rewrite: let the others decide first, then spell out `@docs` in whatever enters."""
    decision = await proceed()
    if isinstance(decision, Reject):
        return decision
    return Enter(
        tuple(
            text_message(message.id, message.text.replace("@docs", "the documentation"))
            for message in decision.messages
        )
    )


async def refuse_secrets(payload: PreStep, proceed: Next) -> Enter | Reject:
    """Reject: no step opens for a batch that holds a password, and nothing is put back."""
    if any("password" in message.text for message in payload.messages):
        return Reject()
    return await proceed()


def describe(record: Record) -> None:
    """Print one record as it is appended."""
    match record.type:
        case "turn/start":
            print(f"turn {record.data['turn']}")
        case "user/message":
            print(f"  entered: {getattr(record.payload, 'text', '')}")
        case "assistant/message":
            print(f"  answered in step {record.data['step']}")
        case "turn/end":
            reason = getattr(record.payload, "reason", None)
            print(f"  ended: {getattr(reason, 'kind', '')}")


async def main() -> None:
    """Send three messages; the second one is rejected, the third waits for the next wake."""
    bus = Bus()
    bus.on("agent/pre-step", expand_shorthand)
    bus.on("agent/pre-step", refuse_secrets)
    log = SessionLog.in_memory()
    log.subscribe(describe)
    provider = ScriptedProvider([Reply("done", (TextBlock("Here it is."),))])
    async with Agent(log, provider, bus=bus) as agent:
        agent.followup(text_message("m1", "Summarise @docs"))
        agent.followup(text_message("m2", "My password is hunter2"))
        agent.followup(text_message("m3", "And @docs again"))
        await agent.wait_idle()
        print(f"idle, still pending: {', '.join(m.text for m in agent.inbox.next_turn)}")
        agent.followup(text_message("m4", "Go on"))
        await agent.wait_idle()
        print(f"idle, still pending: {len(agent.inbox.next_turn)}")
    log.close()


if __name__ == "__main__":
    asyncio.run(main())
