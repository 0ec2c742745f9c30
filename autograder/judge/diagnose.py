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
    return (
        _explain_all(bench, exercise, evidence, 1)
        or _explain_all(bench, exercise, evidence, 2)
        or _explain_some(bench, exercise, evidence)
    )


def _explain_all(
    bench: Workbench, exercise: Exercise, evidence: Sequence[Evidence], size: int
) -> list[Misconception]:
    ordered = sorted(evidence, key=lambda item: item.passed)  # failures tell most apart
    forms = [form for mistake in exercise.misconceptions for form in mistake.forms()]
    together = _pairs(bench, exercise, evidence, forms) if size > 1 else zip(forms)
    for mistakes in together:
        namespace = bench.edited(exercise, mistakes)
        if namespace is not None and all(
            item.fits(bench.observe(namespace, item.stimulus)) for item in ordered
        ):
            return list(mistakes)
    return []


def _pairs(
    bench: Workbench,
    exercise: Exercise,
    evidence: Sequence[Evidence],
    forms: Sequence[Misconception],
) -> Iterator[tuple[Misconception, Misconception]]:
    """Yield the pairs that are worth a try."""
    if all(item.got.raised is not None for item in evidence):
        return  # where nothing but exceptions came, a second mistake cannot be seen
    needed = _raising(bench, exercise, evidence, forms)
    if needed == []:
        return
    parts = [form for form in forms if _may_be_part(bench, exercise, evidence, form)]
    for first, second in itertools.combinations(parts, 2):
        if needed is None or first in needed or second in needed:
            yield first, second


def _raising(
    bench: Workbench,
    exercise: Exercise,
    evidence: Sequence[Evidence],
    forms: Sequence[Misconception],
) -> list[Misconception] | None:
    """Return the forms that raise where an exception came: one of a pair has to. None: none came.

    A part under another name raises wherever weights are loaded, and no pair has to be tried then.
    """
    raised = [item for item in evidence if not item.passed and item.got.raised is not None]
    if not raised:
        return None
    made = [(form, bench.edited(exercise, [form])) for form in forms]
    return [
        form
        for form, namespace in made
        if namespace is not None and bench.observe(namespace, raised[0].stimulus).raised is not None
    ]


def _may_be_part(
    bench: Workbench, exercise: Exercise, evidence: Sequence[Evidence], mistake: Misconception
) -> bool:
    """Return whether a mistake can be one of two: alone it spoils no more than what is spoilt.

    It changes nothing where a check passed, and raises nothing in the first failure where a value
    came. There are many pairs, so those in which one mistake mends another are not looked for.
    """
    namespace = bench.edited(exercise, [mistake])
    if namespace is None:
        return False
    failed = next(item for item in evidence if not item.passed)
    if failed.got.raised is None and bench.observe(namespace, failed.stimulus).raised is not None:
        return False
    passed = (item for item in evidence if item.passed)
    return all(item.fits(bench.observe(namespace, item.stimulus)) for item in passed)


def _explain_some(
    bench: Workbench, exercise: Exercise, evidence: Sequence[Evidence]
) -> list[Misconception]:
    """Return the single mistakes that explain most failures between them.

    One case in many is too little to go by: a mistake has to explain two of them, or half. The
    entries of a dictionary of answers each stand for themselves.
    """
    separate = all(item.stimulus.scenario == "variable" for item in evidence)
    enough = 1 if separate else min(2, -(-sum(not item.passed for item in evidence) // 2))
    explained = {
        index: cases
        for index, mistake in enumerate(exercise.misconceptions)
        if len(cases := _cases_explained(bench, exercise, evidence, mistake)) >= enough
    }
    chosen: list[int] = []
    covered: set[int] = set()
    while explained:
        best = max(explained, key=lambda index: (len(explained[index] - covered), -index))
        if not explained[best] - covered:
            break
        chosen.append(best)
        covered |= explained.pop(best)
    return [exercise.misconceptions[index] for index in chosen[: None if separate else 2]]


def _cases_explained(
    bench: Workbench, exercise: Exercise, evidence: Sequence[Evidence], mistake: Misconception
) -> set[int]:
    """Return the failed cases that a mistake explains by numbers; none if a passed one denies it."""
    namespace = bench.edited(exercise, [mistake])
    cases: set[int] = set()
    if namespace is None or not any(not item.passed and _telling(item.got) for item in evidence):
        return cases
    for index, item in enumerate(evidence):
        fits = item.fits(bench.observe(namespace, item.stimulus))
        if item.passed and not fits:
            return set()
        if not item.passed and fits and _telling(item.got):
            cases.add(index)
    return cases


def _telling(got: Observation) -> bool:
    """Return whether an observation is specific enough to name a mistake by: finite numbers."""
    if got.raised is not None:
        return False
    value = got.value[0] if isinstance(got.value, (tuple, list)) and got.value else got.value
    if isinstance(value, torch.Tensor):
        return bool(value.numel() > 0 and torch.isfinite(value).all())
    facts = isinstance(value, dict) and all(isinstance(part, bool) for part in value.values())
    return value is not None and not facts  # a few facts fit many mistakes
