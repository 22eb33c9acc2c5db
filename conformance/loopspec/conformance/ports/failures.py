"""What may go wrong with the process of a port; none of it says anything about what it drives."""

from __future__ import annotations

from loopspec.conformance.control import ControlError

__all__ = ["PortDied", "PortError", "PortLate", "Unforeseen"]


class PortError(ControlError):
    """An adapter did what no adapter may; nothing is said about what it drives."""


class PortDied(PortError):
    """The process ended while an answer was owed."""


class PortLate(PortError):
    """No answer came in time."""


class Unforeseen(ControlError):
    """The suite asked for something else than was sent ahead; to be run again one by one."""
