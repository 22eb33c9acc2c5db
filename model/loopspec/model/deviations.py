"""What each policy field is about: its values, and the open questions that it answers.

Rules of this file. Every field of `Policy` has its values here, the one of profile `notes` first,
and the ids under which the question is registered: Δ where the notes and the code of the release
differ, A where the contract leaves a question open, LB where the release has a fault; the rule
itself where none of these speaks of it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CHOICES: Final[Mapping[str, tuple[object, ...]]] = MappingProxyType(
    {
        "goes_on_after": (
            frozenset({"completed", "max-tokens"}),
            frozenset({"completed", "max-tokens", "blocked"}),
        ),
        "after_keep_cancel": ("advance", "park"),
        "wakes": ("marks", "latch"),
        "refused_clear": ("abort", "throw"),
        "clear": ("pending", "live"),
        "cancel_hits": ("began", "clear"),
        "truncation": ("reason", "outcome"),
        "disposal": ("fact", "cause"),
        "refused_end": ("hold", "forget"),
        "interceptor": ("contained", "throws"),
        "passes": ("at once", "next tick"),
        "aborted_claim": ("claims", "nothing"),
        "awaits": ("gates", "parts"),
        "aborted_call": ("starts", "skipped"),
        "waits": ("settles", "follows"),
        "entry": ("opens", "prepared"),
        "no_op": ("answers", "refused"),
        "disposed_turn": ("runs", "fails"),
        "disposed_latch": ("replays", "forgotten"),
        "fork": ("empty", "inherits"),
    }
)
"""For each field its values, the one of profile `notes` first."""

DEVIATIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "goes_on_after": ("DR-08", "DR-09"),
        "after_keep_cancel": ("Δ2",),
        "wakes": ("A4", "A9", "LB-02"),
        "refused_clear": ("A8", "LB-03"),
        "clear": ("A11", "LB-10"),
        "cancel_hits": ("A11",),
        "truncation": ("A3", "LB-01"),
        "disposal": ("A1", "A2", "LB-05", "LB-06"),
        "refused_end": ("LB-22",),
        "interceptor": ("A10", "LB-11", "LB-12"),
        "passes": ("LN-10",),
        "aborted_claim": ("CL-07", "TB-08"),
        "awaits": ("LN-10", "TB-02"),
        "aborted_call": ("TC-04",),
        "waits": ("WI-01", "WI-02"),
        "entry": ("ST-01", "ST-02", "ST-03"),
        "no_op": ("RE-01", "SP-04"),
        "disposed_turn": ("A7", "LB-07"),
        "disposed_latch": ("A2",),
        "fork": ("ID-10",),
    }
)
"""The registered deviations that each field answers; a rule's id where the rule leaves it open."""

UNDER: Final[Mapping[str, str]] = MappingProxyType(
    {"disposed_turn": "dsh-0.1", "disposed_latch": "dsh-0.1"}
)
"""The fields that make a difference only beside other answers, and the profile that has those."""
