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
        "queue": Counts(78_415, 327_614, 24, 3_834),
        "edits": Counts(11_370, 71_921, 20, 3_363),
        "decisions": Counts(5_941, 22_933, 18, 668),
        "cancel": Counts(9_618, 49_674, 21, 327),
        "listeners": Counts(9_992, 33_053, 90, 270),
        "nested": Counts(2_274, 7_731, 58, 39),
        "parked": Counts(312, 798, 9, 46),
        "tools": Counts(26_094, 113_709, 20, 2_397),
        "hooks": Counts(9_762, 35_173, 23, 253),
        "lifecycle": Counts(46_708, 223_430, 17, 1_311),
        "ending": Counts(13_324, 46_869, 59, 281),
        "crash": Counts(16_530, 77_020, 25, 593),
        "crash-listeners": Counts(3_445, 6_973, 77, 132),
        "genuine": Counts(29_854, 125_687, 20, 2_252),
        "genuine-listeners": Counts(21_230, 61_748, 97, 470),
        "latched": Counts(299, 621, 36, 27),
        "later-release": Counts(3_320, 12_442, 42, 137),
        "faults": Counts(2_741, 6_765, 10, 638),
        "faults-twice": Counts(9_453, 18_987, 10, 1_989),
        "faults-tools": Counts(7_434, 17_358, 13, 893),
        "faults-listeners": Counts(4_710, 14_593, 56, 253),
        "faults-life": Counts(12_691, 60_040, 13, 1_236),
        "genuine-faults": Counts(6_190, 17_495, 11, 1_617),
        "genuine-interceptors": Counts(335, 882, 33, 53),
        "genuine-waits": Counts(205, 433, 20, 24),
        "forked": Counts(11, 13, 4, 6),
    }
)
"""Name of each default scope and its counts."""
