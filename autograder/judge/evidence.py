"""One check, tried on one answer: what was asked, what came, and what was expected."""

from dataclasses import dataclass, replace

from autograder.model.exercise import Check, Comparison, Exercise, TestInput, Verdict
from coursework.engine.compare import same, same_form
from coursework.engine.exceptions import same_cause
from coursework.engine.observation import Observation


@dataclass(frozen=True)
class Evidence:
    """One check, tried on an answer."""

    check: Check
    test_input: TestInput
    got: Observation
    expected: Observation
    passed: bool

    def fits(self, mistaken: Observation, *, loosely: bool = False) -> bool:
        """Return whether a mistake does what was seen, or does not show where the check passed.

        Loosely, exceptions of one cause count as equal, and so do values of one form where an
        exception is expected.
        """
        if same(mistaken, self.got) or (loosely and self._alike(mistaken)):
            return True
        seen = Comparison(self.test_input.operation, mistaken, self.expected)
        return self.passed and self.check.decide(seen).passed

    def _alike(self, mistaken: Observation) -> bool:
        """Return whether both raise, or both miss the exception that is expected."""
        one, other = mistaken.raised, self.got.raised
        if one and other:
            return same_cause(one, other)
        missed = self.expected.raised and not (one or other)
        return bool(missed) and same_form(mistaken.value, self.got.value)


def judge_check(exercise: Exercise, check: Check, seen: Comparison) -> Verdict:
    """Judge one check. One that fails after a call of an excluded function says so."""
    verdict = check.decide(replace(seen, name=exercise.name))
    if not verdict.passed and exercise.excludes and (called := excluded_calls(exercise, seen.got)):
        return Verdict(passed=False, message=exercise.excludes.called(called[0]))
    return verdict


def excluded_calls(exercise: Exercise, got: Observation) -> list[str]:
    """Return the functions that an answer called and the exercise excludes."""
    known = exercise.excludes.functions if exercise.excludes else ()
    return [name for name in got.excluded if name in known]
