"""The public door: one function that a test of any loop calls."""

from __future__ import annotations

from loopspec.conformance.explain import explain
from loopspec.conformance.subjects.contract import SubjectFactory
from loopspec.conformance.suite import EFFORTS, Result, check_subject
from loopspec.conformance.visible import clean
from loopspec.model.policy import PROFILES

__all__ = ["ConformanceError", "run_conformance"]


class ConformanceError(AssertionError):
    """A subject that does not do what the specification says; `result` holds every finding.

    The text of the error is what a person needs: the broken promise, the shortest scenario that
    shows it, and why it is a contradiction. It does not prove that nothing else is wrong.
    """

    def __init__(self, text: str, result: Result) -> None:
        """Keep the whole result beside the text."""
        super().__init__(text)
        self.result = result


def run_conformance(
    subject_factory: SubjectFactory,
    profile: str = "notes",
    effort: str = "quick",
    seed: int = 0,
    examples: int | None = None,
) -> Result:
    """Judge subjects made by `subject_factory` against a profile of the specification.

    Runs the corpus, a cover of the model's rows, random scenarios and one canary. Returns the
    result when the subject holds. Raises ConformanceError when it is broken, could not be judged
    or when nothing can be said, and ValueError for an unknown profile or effort.
    """
    if profile not in PROFILES:
        msg = f"expected a profile ({', '.join(PROFILES)}), got {profile!r}"
        raise ValueError(msg)
    if effort not in EFFORTS:
        msg = f"expected an effort ({', '.join(EFFORTS)}), got {effort!r}"
        raise ValueError(msg)
    result = check_subject(subject_factory, profile, effort, seed, examples)
    if result.verdict == "holds":
        return result
    subject = f"{result.subject} ({result.version})"
    replay = "paste the witness into a file and give it to `loopspec replay`"
    texts = [
        explain(
            each.reduced, subject, result.seed, each.length, replay, str(each.known or ""), profile
        )
        for each in result.found
    ]
    if not texts:
        texts = [clean(f"{result.verdict}: {'; '.join(result.reasons)}", 4000)]
    raise ConformanceError("\n\n".join(texts), result)
