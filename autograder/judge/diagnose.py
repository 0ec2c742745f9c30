"""Names the mistake: finds the known misconceptions, singly or in pairs, that do what was seen."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from autograder.judge.compare import same
from autograder.judge.exercise import Case, Exercise, Misconception, Stimulus
from autograder.judge.judgement import Seen
from autograder.judge.observation import Observation
from autograder.judge.workbench import Workbench


@dataclass(frozen=True)
class Evidence:
    """One case at work on a student's cell."""

    case: Case
    stimulus: Stimulus
    got: Observation
    expected: Observation
    passed: bool

    def fits(self, mistaken: Observation) -> bool:
        """Return whether a mistake does what was seen, or does not show where the check passed."""
        if same(mistaken, self.got):
            return True
        seen = Seen(self.stimulus.inputs, mistaken, self.expected)
        return self.passed and self.case.judge(seen).passed


def diagnose(
    bench: Workbench, exercise: Exercise, evidence: Sequence[Evidence]
) -> list[Misconception]:
    """Return the misconceptions that explain the failures, most of all those that explain all.

    First single mistakes, then pairs, whose edited answers behave exactly as the student's on every
    case; then single ones that explain some of the failures and are contradicted by nothing.
    """
    if all(item.passed for item in evidence):
        return []
    inquiry = _Inquiry(bench, exercise, evidence)
    return inquiry.explain_all(1) or inquiry.explain_all(2) or inquiry.explain_some()


@dataclass(frozen=True)
class _Inquiry:
    """The search for the mistakes in one student's cell."""

    bench: Workbench
    exercise: Exercise
    evidence: Sequence[Evidence]

    def explain_all(self, size: int) -> list[Misconception]:
        """Return the first mistake, or two, that do all that was seen."""
        ordered = sorted(self.evidence, key=lambda item: item.passed)  # failures tell most apart
        forms = [form for mistake in self.exercise.misconceptions for form in mistake.forms()]
        for mistakes in self._pairs(forms) if size > 1 else zip(forms):
            if all(self._fits(mistakes, item) for item in ordered):
                return list(mistakes)
        return []

    def _pairs(
        self, forms: Sequence[Misconception]
    ) -> Iterator[tuple[Misconception, Misconception]]:
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

    def _raising(self, forms: Sequence[Misconception]) -> set[str]:
        """Return the mistakes that raise where an exception came; all of them where none came."""
        first = next((i for i in self.evidence if not i.passed and i.got.raised is not None), None)
        if first is None:
            return {form.id for form in forms}
        alone = [(f, self.bench.mistaken(self.exercise, [f], first.stimulus)) for f in forms]
        return {form.id for form, seen in alone if seen is not None and seen.raised}

    def _fits(self, mistakes: Sequence[Misconception], item: Evidence) -> bool:
        mistaken = self.bench.mistaken(self.exercise, mistakes, item.stimulus)
        return mistaken is not None and item.fits(mistaken)

    def _may_be_part(self, mistake: Misconception) -> bool:
        """Return whether a mistake can be one of two: alone it spoils no more than what is spoilt.

        It changes nothing where a check passed, and raises nothing in the first failure where a
        value came. There are many pairs, so those in which one mistake mends another are not
        looked for.
        """
        failed = next(item for item in self.evidence if not item.passed)
        alone = self.bench.mistaken(self.exercise, [mistake], failed.stimulus)
        if alone is None or (failed.got.raised is None and alone.raised is not None):
            return False
        return all(self._fits([mistake], item) for item in self.evidence if item.passed)

    def explain_some(self) -> list[Misconception]:
        """Return the single mistakes that explain most failures between them.

        One case in many is too little to go by: a mistake has to explain two of them, or half. The
        entries of a dictionary of answers each stand for themselves.
        """
        separate = all(item.stimulus.scenario == "variable" for item in self.evidence)
        failures = sum(not item.passed for item in self.evidence)
        enough = 1 if separate else min(2, -(-failures // 2))
        explained = {
            index: cases
            for index, mistake in enumerate(self.exercise.misconceptions)
            if len(cases := self._cases_explained(mistake)) >= enough
        }
        chosen = _cover(explained)
        return [self.exercise.misconceptions[index] for index in chosen[: None if separate else 2]]

    def _cases_explained(self, mistake: Misconception) -> set[int]:
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
