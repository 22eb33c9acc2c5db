"""The loop against recorded vectors, in this process: no judge and no Python package is needed.

    python -m unittest

`vectors.json` holds scenarios as commands, and what the specification answers to each. The file
comes from `loopspec vectors`; write it anew when you move to a newer contract.
"""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

from adapter import Adapter
from protocol import Port

DOCUMENT = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
CAPABILITIES = set(Adapter.capabilities)


def told(value: Any) -> Any:
    """An answer without what it leaves open: keys that are null, and those that may be missing."""
    if isinstance(value, dict):
        kept = {key: told(each) for key, each in value.items() if each is not None}
        kept.pop("folded", None)
        return kept
    return [told(each) for each in value] if isinstance(value, list) else value


class Vectors(unittest.TestCase):
    """Every scenario that the declared capabilities can play."""

    def test_each_vector(self) -> None:
        """The answers are those of the specification, and there are as many as there should be."""
        played = 0
        for vector in DOCUMENT["vectors"]:
            if CAPABILITIES.issuperset(vector["needs"]):
                with self.subTest(vector["name"], rules=" ".join(vector["rules"])):
                    port = Port(Adapter())
                    for command, answer in zip(vector["commands"], vector["answers"], strict=True):
                        self.assertEqual(answer, told(port.answer_to(command)), command)
                    played += 1
        minimum = [each for each in DOCUMENT["minimum"] if CAPABILITIES.issuperset(each["needs"])]
        self.assertEqual(sum(each["vectors"] for each in minimum), played)
        self.assertGreater(played, 0)


if __name__ == "__main__":
    unittest.main()
