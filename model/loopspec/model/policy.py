"""Policies: the answers on which the field disagrees, as values.

Rules of this file. A policy is sets and named choices in one frozen value. A row of the table may
ask a policy; a policy never calls a row. A profile is a named set of values with its source.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs


@attrs.frozen
class Policy:
    """The choices that the contract leaves or that profiles answer differently.

    goes_on_after: ways a turn may end after which the same driver opens the next turn (DR-08).
    after_keep_cancel: `advance` renews the wakes of a preserved queue once the aborted turn has
        closed; `park` leaves it parked until a later wake (Δ2, CN-11).
    """

    goes_on_after: frozenset[str] = frozenset({"completed", "max-tokens"})
    after_keep_cancel: str = "advance"


NOTES: Final = Policy()
"""The strict reading of both design notes."""

CHOICES: Final[Mapping[str, tuple[object, ...]]] = MappingProxyType(
    {
        "goes_on_after": (
            frozenset({"completed", "max-tokens"}),
            frozenset({"completed", "max-tokens", "blocked"}),
        ),
        "after_keep_cancel": ("advance", "park"),
    }
)
"""For each field its values, the one of profile `notes` first."""

PROFILES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "notes": NOTES,
        "notes-park": Policy(after_keep_cancel="park"),
    }
)
"""`notes` is the strict reading of both design notes; `notes-park` differs in one value (Δ2)."""
