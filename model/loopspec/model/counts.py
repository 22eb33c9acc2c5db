"""The pinned counts of the default scopes.

A change of meaning shows here even when every property still holds. `loopspec explore` compares
them and tells the remaining time by them; `tests/quality/test_scopes.py` fails when they differ.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Counts(NamedTuple):
    """What the exploration of one scope counts; rests are its different sessions at rest."""

    states: int
    transitions: int
    depth: int
    rests: int


PINNED: Final[Mapping[str, Counts]] = MappingProxyType(
    {
        "queue": Counts(23_928, 97_813, 20, 1_434),
        "edits": Counts(15_829, 93_004, 20, 3_363),
        "decisions": Counts(6_158, 24_130, 18, 668),
        "cancel": Counts(8_934, 46_091, 21, 327),
        "listeners": Counts(10_270, 33_782, 94, 288),
        "nested": Counts(2_188, 7_505, 59, 42),
        "parked": Counts(309, 810, 9, 46),
    }
)
"""Name of each default scope and its counts."""
