"""Names the mistake: finds the known mistakes, singly or in pairs, that do what was seen.

A name is given only if it explains every check that failed.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autograder.judge.forms import FormFix, fix_form
from autograder.judge.oracle import Evidence, Oracle, excluded_calls
from autograder.model.exercise import Exercise, Mistake
from coursework.engine.describe import Comparison
from coursework.engine.operations import ReadEntry

MOST_FORMS = 2  # things that are wrong with the form of one result


def diagnose(oracle: Oracle, exercise: Exercise, evidence: Sequence[Evidence]) -> list[Mistake]:
    """Return the mistakes that explain all failures: none, one, or a few that act together.

    First a call of a function that the exercise excludes, which leaves nothing else to explain. Then single
    mistakes and pairs, whose edited answers behave exactly as the student's on every check; then wrong
    forms, alone or with one mistake besides.
    """
    failures = [item for item in evidence if not item.passed]
    if not failures:
        return []
    if called := {name for item in failures for name in excluded_calls(exercise, item.got)}:
        return [_library(sorted(called)[0], exercise)]
    search = _Search(oracle, exercise, evidence)
    if all(isinstance(item.test_input.operation, ReadEntry) for item in evidence):
        return search.explain_entries()
    loose = replace(search, loosely=True)
    return (
        search.explain_all(1)
        or search.explain_all(2)
        or loose.explain_alone()
        or loose.explain_missed()
        or search.explain_forms()
    )


def _library(name: str, exercise: Exercise) -> Mistake:
    """Return the mistake of calling a function that the exercise excludes."""
    title = f"`{name}` does the work"
    hint = exercise.excludes.instead if exercise.excludes else ""
    return Mistake("library-function", title, hint, ())


@dataclass(frozen=True)
class _Search:
    """The search for the mistakes in one student's cell."""

    oracle: Oracle
    exercise: Exercise
    evidence: Sequence[Evidence]
    loosely: bool = False

    def explain_all(self, size: int) -> list[Mistake]:
        """Return the first mistake, or two, that do all that was seen."""
        return next(self._explanations(size), [])

    def explain_alone(self) -> list[Mistake]:
        """Return the mistake that does all that was seen, if there is only one.

        Exceptions of one cause prove little by themselves, so a value has to speak for it as well.
        """
        if all(item.got.raised for item in self._failures()):
            return []
        found = {mistake.id: mistake for (mistake,) in self._explanations(1)}
        return list(found.values()) if len(found) == 1 else []

    def explain_missed(self) -> list[Mistake]:
        """Return two mistakes that explain all, where an exception that is expected did not come.

        Where others came, two mistakes that raise anything at all would be too easily found.
        """
        missed = [item.expected.raised and not item.got.raised for item in self._failures()]
        others = any(i.got.raised and not i.expected.raised for i in self._failures())
        return self.explain_all(2) if any(missed) and not others else []

    def _failures(self) -> list[Evidence]:
        return [item for item in self.evidence if not item.passed]

    def _explanations(self, size: int) -> Iterator[list[Mistake]]:
        ordered = sorted(self.evidence, key=lambda item: item.passed)  # failures tell most apart
        forms = [form for mistake in self.exercise.mistakes for form in mistake.forms()]
        for mistakes in self._pairs(forms) if size > 1 else zip(forms):
            if all(self._fits(mistakes, item) for item in ordered):
                yield list(mistakes)

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
        return mistaken is not None and item.fits(mistaken, loosely=self.loosely)

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

    def explain_forms(self) -> list[Mistake]:
        """Return what is wrong with the form of the results, and a mistake that does the rest."""
        found: list[Mistake] = []
        search = self
        while len(found) < MOST_FORMS and (done := search._put_right()):
            first, evidence = done
            found.append(self._known_form(first) or first.mistake)
            search = replace(search, evidence=evidence)
            if all(item.passed for item in evidence):
                return found
            if rest := search.explain_all(1):
                return found + rest
        return []

    def _put_right(self) -> tuple[FormFix, list[Evidence]] | None:
        """Put the form of all results right that are wrong in the first way that occurs."""
        steps = [
            None if item.passed else fix_form(item.got.value, item.expected.value) for item in self.evidence
        ]
        first = next(filter(None, steps), None)
        if first is None:
            return None
        pairs = zip(self.evidence, steps, strict=True)
        return first, [
            self._with_value(item, like) if done and (like := done.like(first)) else item
            for item, done in pairs
        ]

    def _with_value(self, item: Evidence, done: FormFix) -> Evidence:
        got = replace(item.got, value=done.value)
        seen = Comparison(item.test_input.operation, got, item.expected, self.exercise.name)
        return replace(item, got=got, passed=item.check.decide(seen).passed)

    def _known_form(self, first: FormFix) -> Mistake | None:
        """Return the known mistake that makes a result wrong in this way, and in no other."""
        for mistake in self.exercise.mistakes:
            if self._only_in_form(mistake, first):
                return mistake
        return None

    def _only_in_form(self, mistake: Mistake, first: FormFix) -> bool:
        if not all(self._fits([mistake], item) for item in self.evidence if item.passed):
            return False
        item = self._failures()[0]
        alone = self.oracle.mistaken(self.exercise, [mistake], item.test_input)
        done = fix_form(alone.value, item.expected.value) if alone and not alone.raised else None
        return bool(done and done.same(first) and self._with_value(item, done).passed)

    def explain_entries(self) -> list[Mistake]:
        """Return the mistakes that explain most wrong entries of a dictionary of answers.

        Its entries stand each for itself, so here, and only here, a mistake need not explain all.
        """
        explained = {
            index: cases
            for index, mistake in enumerate(self.exercise.mistakes)
            if (cases := self._entries_explained(mistake))
        }
        return [self.exercise.mistakes[index] for index in _cover(explained)]

    def _entries_explained(self, mistake: Mistake) -> set[int]:
        """Return the wrong entries that a mistake explains; none if a right one denies it."""
        if not all(self._fits([mistake], item) for item in self.evidence if item.passed):
            return set()
        return {
            index
            for index, item in enumerate(self.evidence)
            if not item.passed and item.got.value is not None and self._fits([mistake], item)
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
