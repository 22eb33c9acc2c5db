"""A log that refuses: what the driver does when one record, or the flush, does not go through."""

from __future__ import annotations

import pytest

from loopspec.impl import AppendRefused, FlushFailed, Record, Reply, text_message
from tests.impl.sessions import Session, run

A, B = text_message("A"), text_message("B")


def refuse(session: Session, *kinds: str) -> None:
    """Make the session's log refuse the next record of each of these types."""
    left = list(kinds)
    append = session.log.append

    def refusing(kind: str, data: object) -> Record:
        if kind in left:
            left.remove(kind)
            msg = f"no {kind}"
            raise AppendRefused(msg)
        return append(kind, data)

    session.log.append = refusing  # type: ignore[method-assign]


def test_refused_turn_start_reports_and_leaves_inbox_and_counter() -> None:
    """TB-03: the number is used by the next turn."""

    async def test(session: Session) -> None:
        refuse(session, "turn/start")
        session.agent.followup(A)
        assert ["agent/error 0 0 no turn/start", "agent/status idle"] == session.told[-2:]
        assert ("A", "") == session.pending()
        session.agent.followup(B)
        assert "turn/start 1" in session.told

    run(test)


def test_refused_turn_end_is_reported_and_not_retried() -> None:
    """TB-04: the driver ends and the rest is parked."""

    async def test(session: Session) -> None:
        refuse(session, "turn/end")
        session.agent.followup(A)
        session.agent.followup(B)
        await session.step()
        assert ["agent/error 1 1 no turn/end", "agent/status idle"] == session.told[-2:]
        assert ("B", "") == session.pending()

    run(test)


@pytest.mark.parametrize("kind", ["step/start", "user/message", "assistant/message", "step/end"])
def test_refused_record_of_a_step_ends_the_turn_with_an_error(kind: str) -> None:
    """ST-04, ST-05, PS-19: the step that was opened is closed, unless its end was refused."""

    async def test(session: Session) -> None:
        refuse(session, kind)
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        if session.open_gate():
            await session.answer("provider", Reply())
        entered = 0 if kind == "step/start" else 1
        assert session.told[-2].startswith("turn/end 1 error")
        assert f"agent/error 1 {entered}" in session.told[-3]
        assert (kind not in ("step/start", "step/end")) == ("step/end 1 1" in session.told)

    run(test)


def test_refused_second_deletion_of_a_claim_loses_the_first_half_and_tells_nobody() -> None:
    """CL-11: durably gone, no claimed event, the turn ends with an error."""

    async def test(session: Session) -> None:
        session.agent.inject(B)
        append, seen = session.log.append, 0

        def refusing(kind: str, data: object) -> Record:
            nonlocal seen
            seen += kind == "agent/inbox/spliced"
            if seen == 3:
                seen += 1
                msg = "no second deletion"
                raise AppendRefused(msg)
            return append(kind, data)

        session.log.append = refusing  # type: ignore[method-assign]
        session.agent.followup(A)
        assert ("A", "") == session.pending()
        assert not [told for told in session.told if told.startswith("agent/inbox/claimed")]
        assert "turn/end 1 error no second deletion" in session.told

    run(test)


def test_failed_flush_asks_no_provider() -> None:
    """A request is made only of acknowledged records."""

    async def test(session: Session) -> None:
        async def flush() -> None:
            msg = "no flush"
            raise FlushFailed(msg)

        session.log.flush = flush  # type: ignore[method-assign]
        session.agent.followup(A)
        await session.answer("assemble")
        await session.answer("pre-step")
        assert "turn/end 1 error no flush" in session.told
        assert [] == session.requests
        assert "idle" == session.agent.status

    run(test)
