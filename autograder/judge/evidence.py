"""One check, tried on one answer: what was asked, what came, and what was expected."""

from dataclasses import dataclass, replace

from autograder.judge.compare import same
from autograder.model.exercise import Check, Comparison, Exercise, TestInput, Verdict
from autograder.model.observation import Observation


@dataclass(frozen=True)
class Evidence:
    """One check, tried on an answer."""

    check: Check
    test_input: TestInput
    got: Observation
    expected: Observation
    passed: bool

    def fits(self, mistaken: Observation) -> bool:
        """Return whether a mistake does what was seen, or does not show where the check passed."""
        if same(mistaken, self.got):
            return True
        seen = Comparison(self.test_input.operation, mistaken, self.expected)
        return self.passed and self.check.decide(seen).passed


def judge_check(exercise: Exercise, check: Check, seen: Comparison) -> Verdict:
    """Judge one check. An answer that calls a function the exercise forbids fails."""
    for name in sorted(seen.got.library):
        if name in exercise.forbidden:
            return Verdict(passed=False, message=exercise.forbidden[name])
    return check.decide(replace(seen, name=exercise.name))
