"""Names the mistake: finds the known mistakes, singly or in pairs, that do what was seen."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from autograder.judge.evidence import Evidence
from autograder.judge.oracle import Oracle
from autograder.model.exercise import Exercise, Mistake
from autograder.model.observation import Observation
from autograder.probe.functions import ReadEntry


def diagnose(oracle: Oracle, exercise: Exercise, evidence: Sequence[Evidence]) -> list[Mistake]:
    """Return the mistakes that explain the failures, most of all those that explain all.

    First single mistakes, then pairs, whose edited answers behave exactly as the student's on every
    case; then single ones that explain some of the failures and are contradicted by nothing.
    """
    if all(item.passed for item in evidence):
        return []
    search = _Search(oracle, exercise, evidence)
    return search.explain_all(1) or search.explain_all(2) or search.explain_some()


@dataclass(frozen=True)
class _Search:
    """The search for the mistakes in one student's cell."""

    oracle: Oracle
    exercise: Exercise
    evidence: Sequence[Evidence]

    def explain_all(self, size: int) -> list[Mistake]:
        """Return the first mistake, or two, that do all that was seen."""
        ordered = sorted(self.evidence, key=lambda item: item.passed)  # failures tell most apart
        forms = [form for mistake in self.exercise.mistakes for form in mistake.forms()]
        for mistakes in self._pairs(forms) if size > 1 else zip(forms):
            if all(self._fits(mistakes, item) for item in ordered):
                return list(mistakes)
        return []

    def _pairs(self, forms: Sequence[Mistake]) -> Iterator[tuple[Mistake, Mistake]]:
        """Yield the pairs that are worth a try: where an exception came, one of the two raises it."""
        if all(item.got.raised is not None for item in self.evidence):
            return  # where nothing but exceptions came, a second mistake cannot be seen
        needed = self._raising(forms)
        if not needed:
            return
        parts = [form for form in forms if self._may_be_part(form)]
        for first, second in itertools.combinations(parts, 2):
            if first.id in needed or second.id in needed:
                yield first, second

    def _raising(self, forms: Sequence[Mistake]) -> set[str]:
        """Return the mistakes that raise where an exception came; all of them where none came."""
        first = next((i for i in self.evidence if not i.passed and i.got.raised is not None), None)
        if first is None:
            return {form.id for form in forms}
        alone = [(f, self.oracle.mistaken(self.exercise, [f], first.test_input)) for f in forms]
        return {form.id for form, seen in alone if seen is not None and seen.raised}

    def _fits(self, mistakes: Sequence[Mistake], item: Evidence) -> bool:
        mistaken = self.oracle.mistaken(self.exercise, mistakes, item.test_input)
        return mistaken is not None and item.fits(mistaken)

    def _may_be_part(self, mistake: Mistake) -> bool:
        """Return whether a mistake can be one of two: alone it spoils no more than what is spoilt.

        It changes nothing where a check passed, and raises nothing in the first failure where a
        value came. There are many pairs, so those in which one mistake mends another are not
        looked for.
        """
        failed = next(item for item in self.evidence if not item.passed)
        alone = self.oracle.mistaken(self.exercise, [mistake], failed.test_input)
        if alone is None or (failed.got.raised is None and alone.raised is not None):
            return False
        return all(self._fits([mistake], item) for item in self.evidence if item.passed)

    def explain_some(self) -> list[Mistake]:
        """Return the single mistakes that explain most failures between them.

        One case in many is too little to go by: a mistake has to explain two of them, or half. The
        entries of a dictionary of answers each stand for themselves.
        """
        separate = all(isinstance(item.test_input.operation, ReadEntry) for item in self.evidence)
        failures = sum(not item.passed for item in self.evidence)
        enough = 1 if separate else min(2, -(-failures // 2))
        explained = {
            index: cases
            for index, mistake in enumerate(self.exercise.mistakes)
            if len(cases := self._cases_explained(mistake)) >= enough
        }
        chosen = _cover(explained)
        return [self.exercise.mistakes[index] for index in chosen[: None if separate else 2]]

    def _cases_explained(self, mistake: Mistake) -> set[int]:
        """Return the failures that a mistake explains by numbers; none if a passed one denies it."""
        if not any(not item.passed and _telling(item.got) for item in self.evidence):
            return set()
        if not all(self._fits([mistake], item) for item in self.evidence if item.passed):
            return set()
        return {
            index
            for index, item in enumerate(self.evidence)
            if not item.passed and _telling(item.got) and self._fits([mistake], item)
        }


def _cover(explained: dict[int, set[int]]) -> list[int]:
    """Return which mistakes to name, the one that adds most to what is explained first."""
    chosen: list[int] = []
    covered: set[int] = set()
    while explained:
        best = max(explained, key=lambda index: (len(explained[index] - covered), -index))
        if not explained[best] - covered:
            break
        chosen.append(best)
        covered |= explained.pop(best)
    return chosen


def _telling(got: Observation) -> bool:
    """Return whether an observation is specific enough to name a mistake by: finite numbers."""
    if got.raised is not None:
        return False
    value = got.value[0] if isinstance(got.value, (tuple, list)) and got.value else got.value
    if isinstance(value, torch.Tensor):
        return bool(value.numel() > 0 and torch.isfinite(value).all())
    facts = isinstance(value, dict) and all(isinstance(part, bool) for part in value.values())
    return value is not None and not facts  # a few facts fit many mistakes
