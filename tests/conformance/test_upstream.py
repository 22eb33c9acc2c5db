"""Scenarios of the genuine loop: the model under `dsh-0.1` does exactly what was observed."""

import pytest

from loopspec.conformance.upstream import Observed, ObservedError, load_observed, parse_observed
from loopspec.conformance.upstream.observed import told_by
from loopspec.model.playback import play

OBSERVED = load_observed()

NOT_EXPRESSIBLE = {
    "55": "nothing is claimed of what comes after a disposal has settled",
    "67": "a splice from negative zero is no scenario; transcripts hold it",
    "70": "a scenario begins with an empty log",
    "71": "a scenario begins with an empty log",
    "72": "a scenario begins with an empty log",
    "73": "a scenario begins with an empty log",
}
"""Scenarios of the source that are left out, and why."""

BY_HAND = ("29", "54", "56", "69d", "69e", "P3", "P5")
"""What random transcripts do not contain."""


@pytest.mark.parametrize("observed", OBSERVED, ids=[each.name for each in OBSERVED])
def test_the_model_does_what_was_observed(observed: Observed) -> None:
    """Line by line: what is told, and where it comes to rest; no line is left out."""
    assert observed.expected == told_by(observed.scenario)
    assert play(observed.scenario).skipped == ()
    assert observed.scenario.profile == "dsh-0.1"


def test_the_scenarios_of_the_source_are_there() -> None:
    """One file each, but for those that no scenario can say."""
    sources = [each.source for each in OBSERVED]
    numbered = {f"{number:02}" for number in range(1, 70)} - NOT_EXPRESSIBLE.keys()

    assert numbered <= set(sources)
    assert set(BY_HAND) <= set(sources)
    assert len(sources) == len(set(sources))


@pytest.mark.parametrize(
    "text",
    [
        "followup A\n",
        "# Title.\n# source: 1\nfollowup A\n",
        "# Title.\n# source: 1\nfollowup A\n# -\n# idle\n",
        "# Title.\n# source: 1\nno such call\n",
    ],
)
def test_a_bad_file_is_one_sentence(text: str) -> None:
    """It names the file."""
    with pytest.raises(ObservedError, match="the-name"):
        parse_observed("the-name", text)
