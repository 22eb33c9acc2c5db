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
        "queue": Counts(122_939, 516_494, 24, 3_834),
        "edits": Counts(18_866, 108_865, 20, 3_363),
        "decisions": Counts(7_892, 30_866, 18, 668),
        "cancel": Counts(11_305, 57_951, 22, 327),
        "listeners": Counts(11_262, 36_697, 94, 270),
        "nested": Counts(2_425, 8_163, 59, 39),
        "parked": Counts(309, 810, 9, 46),
        "tools": Counts(38_858, 136_931, 18, 664),
        "hooks": Counts(12_517, 44_070, 24, 253),
        "lifecycle": Counts(53_904, 255_442, 17, 1_311),
        "ending": Counts(14_136, 49_425, 66, 281),
        "genuine": Counts(33_219, 138_474, 20, 2_252),
        "genuine-listeners": Counts(16_823, 48_909, 92, 399),
        "latched": Counts(301, 626, 36, 28),
        "later-release": Counts(2_946, 11_361, 42, 142),
    }
)
"""Name of each default scope and its counts."""
