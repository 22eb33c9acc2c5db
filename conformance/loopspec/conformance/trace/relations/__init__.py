"""Log relations: what records of a log say of each other, whatever the loop did in between.

Each relation is declared once, with a sentence, the records that it looks at, and a check that
names the rule which is broken; `damages.toml` has a log that holds and one that breaks it for each
rule. What a loop may do next is not said here: that is asked of the model's table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from loopspec.conformance.trace.relations.boundaries import (
    aborts_have_a_cause,
    head,
    names_the_open_step,
    seq,
    steps,
    turns,
)
from loopspec.conformance.trace.relations.declaring import (
    SURFACES,
    Damage,
    Relation,
    Wrong,
    load_damages,
)
from loopspec.conformance.trace.relations.inbox import (
    claims_are_for_good,
    entries_belong_to_a_claim,
    entries_equal_what_was_queued,
    ids_are_pending_once,
    messages_are_of_users,
    splices_are_normalised,
    splices_stay_inside,
)
from loopspec.conformance.trace.relations.requests import (
    answers_follow_headers,
    cites_what_it_came_from,
    contexts_differ,
    failed_answers_are_no_replies,
    headers_say_why,
    requests_are_made_in_steps,
    requests_are_made_in_turns,
    surfaces_are_declared,
    truncated_turns_say_so,
)
from loopspec.conformance.trace.relations.restarts import (
    repairs_close_and_say_so,
    restarts_find_nothing_open,
    seeds_end_at_their_length,
)
from loopspec.conformance.trace.relations.tools import (
    calls_were_asked_for,
    every_call_is_answered,
    results_follow_their_calls,
)

__all__ = [
    "RELATIONS",
    "Damage",
    "Relation",
    "Wrong",
    "by_record",
    "claims_are_for_good",
    "head",
    "load_damages",
    "seeds_end_at_their_length",
    "seq",
]

RELATIONS: Final[tuple[Relation, ...]] = (
    seq,
    head,
    seeds_end_at_their_length,
    turns,
    steps,
    names_the_open_step,
    aborts_have_a_cause,
    calls_were_asked_for,
    results_follow_their_calls,
    every_call_is_answered,
    requests_are_made_in_turns,
    requests_are_made_in_steps,
    headers_say_why,
    answers_follow_headers,
    contexts_differ,
    surfaces_are_declared,
    cites_what_it_came_from,
    failed_answers_are_no_replies,
    truncated_turns_say_so,
    repairs_close_and_say_so,
    restarts_find_nothing_open,
    splices_are_normalised,
    splices_stay_inside,
    ids_are_pending_once,
    claims_are_for_good,
    entries_belong_to_a_claim,
    entries_equal_what_was_queued,
    messages_are_of_users,
)

OF_THE_FILE: Final = (seq, head, seeds_end_at_their_length)
"""Those that are asked in the order of the file, whatever order a reading puts records into."""


def by_record(inbox: bool) -> Mapping[str, tuple[Relation, ...]]:
    """The relations that look at each kind of record; those under "" look at every other one.

    `inbox` tells whether the log has inbox records.
    """
    chosen = [each for each in RELATIONS if (inbox or not each.inbox) and each not in OF_THE_FILE]
    names = {name for each in chosen for name in each.on} | SURFACES
    found = {
        name: tuple(each for each in chosen if not each.on or name in each.on) for name in names
    }
    found[""] = tuple(each for each in chosen if not each.on)
    return found
