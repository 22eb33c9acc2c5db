"""Where the contract leaves a choice, the answer is a field here and nowhere else.

The defaults are the profile `notes`. A rule of the driver may ask a policy; a policy never
calls anything.
"""

from __future__ import annotations

from typing import Final, Literal

import attrs

AFTER_KEEP_CANCEL: Final = ("advance", "park")


@attrs.frozen
class Policy:
    """The choices of one agent.

    `goes_on_after`: the endings after which the same driver opens the next turn while anything
    is pending (DR-08, DR-09). `after_keep_cancel`: what an aborted turn does with messages that
    were sent to wake: `advance` drives them once the turn has come to rest, `park` leaves them
    until a later wake.
    """

    goes_on_after: frozenset[str] = frozenset({"completed", "max-tokens"})
    after_keep_cancel: Literal["advance", "park"] = attrs.field(
        default="advance", validator=attrs.validators.in_(AFTER_KEEP_CANCEL)
    )
