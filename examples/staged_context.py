"""Stage context for the next step: one replaceable pending message, folded in when a step enters.

The plug-in keeps at most one message of its own in next-step. Before a step it lets the others
decide. When the step enters, the pending copy is removed and the same text enters with the batch,
after the last claimed message. When the step is rejected the pending copy stays queued; only if the
rejected batch itself had claimed it is it gone, since nothing puts a claimed message back: it is
staged anew by whoever stages next.

Run it: `python examples/staged_context.py`. It needs no network: the provider is scripted.
"""

# ruff: noqa: INP001, T201

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from loopspec.impl import (
    Agent,
    Enter,
    Message,
    PreStep,
    Reject,
    ScriptedProvider,
    SessionLog,
    counted_ids,
    text_message,
)

Next = Callable[[], Awaitable[Enter | Reject]]
SOURCE = "workspace-context"


class StagedContext:
    """A plug-in; `stage` may be called at any time outside a record listener."""

    def __init__(self, agent: Agent) -> None:
        """Listen outermost, so that every other listener has decided before the folding."""
        self._inbox = agent.inbox
        self._take_id = counted_ids("context-")
        agent.bus.on("agent/pre-step", self._fold, prepend=True)

    def stage(self, text: str) -> None:
        """Make this the staged text: keep an equal one, replace another, else put it first."""
        pending = self._pending()
        for extra in pending[1:]:
            self._inbox.remove(extra.id)
        if pending and pending[0].text == text:
            return
        message = text_message(self._take_id(), text, source=SOURCE)
        if not pending or not self._inbox.replace(pending[0].id, message):
            self._inbox.prepend("next-step", message)

    async def _fold(self, payload: PreStep, proceed: Next) -> Enter | Reject:
        decision = await proceed()
        if payload.signal.aborted or isinstance(decision, Reject):
            return decision
        pending = self._pending()
        if not pending or (payload.step == 1 and not decision.messages):
            return decision
        for message in pending:
            self._inbox.remove(message.id)
        if any(m.source == SOURCE and m.text == pending[0].text for m in decision.messages):
            return decision
        claimed = {message.id for message in payload.messages}
        messages = decision.messages
        after = max((i + 1 for i, m in enumerate(messages) if m.id in claimed), default=0)
        return Enter((*messages[:after], pending[0], *messages[after:]))

    def _pending(self) -> tuple[Message, ...]:
        return tuple(message for message in self._inbox.next_step if message.source == SOURCE)


PLAN = (
    # message, whether the workspace changes while its step is decided, the decision
    ("one", True, "enter"),
    ("two", True, "reject"),
    ("three", False, "reject"),
    ("four", True, "enter"),
)


async def main() -> None:
    """Fold once; reject and keep; reject the batch that had claimed it; fold again."""
    turns = iter(PLAN)
    log = SessionLog.in_memory()
    async with Agent(log, ScriptedProvider()) as agent:
        staged = StagedContext(agent)

        async def touch_a_file(payload: PreStep, proceed: Next) -> Enter | Reject:
            """The workspace changes twice while the step is decided, and somebody decides."""
            _, changes, decision = next(turns)
            if changes:
                staged.stage("half-written files")
                staged.stage(f"files as of turn {payload.turn}")
            return Reject() if decision == "reject" else await proceed()

        agent.bus.on("agent/pre-step", touch_a_file)
        for text, _, decision in PLAN:
            before = len(_entered(log))
            agent.followup(text_message(text))
            await agent.wait_idle()
            print(f"{text}: {decision}")
            print(f"  entered: {', '.join(_entered(log)[before:]) or 'nothing'}")
            print(f"  staged:  {', '.join(m.text for m in agent.inbox.next_step) or 'nothing'}")
    log.close()


def _entered(log: SessionLog) -> list[str]:
    return [record.payload.text for record in log.read() if isinstance(record.payload, Message)]


if __name__ == "__main__":
    asyncio.run(main())
