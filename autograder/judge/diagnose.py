"""Names the mistake: finds the known mistakes, singly or in pairs, that do what was seen.

A name is given only if it explains every check that failed, or all but a few of many. Of a result in
another type or shape, `fix_form` puts one thing right and says what it was; what is left is compared as if
the form had been right.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from autograder.judge.oracle import Evidence, Oracle, excluded_calls
from autograder.model.exercise import Exercise, Mistake
from coursework.engine.compare import Difference, difference
from coursework.engine.describe import Comparison
from coursework.engine.observation import Observation
from coursework.engine.operation import Operation
from coursework.engine.operations import AskEach, FunctionGradients, ModuleGradients, ReadEntry
from coursework.exclusions import as_written

MOST_FORMS = 2  # things that are wrong with the form of one result
ONE_OF = 5  # failures may be left unexplained by a mistake that explains the others; half of that by two
HINTS = {
    "type": "Print `type(…)` of your result. What does the exercise ask for?",
    "dtype": "Print the `dtype` of your result. Which one does the exercise ask for?",
    "shape": "Print the shape of your result, and compare it with the one that the exercise asks for.",
}
RANDOM = re.compile("Two calls .*give different results")
RANDOM_TITLE = "In eval mode, two calls with the same input give different results"
DROPS = "Does an `F.dropout` lack `training=self.training`?"
NOT_THROUGH = "No gradient gets through"
NOT_RAISED = "Look at the arguments first, and raise the exception yourself before anything else fails."
NOTHING = re.compile("(?P<title>The result is None; [^.]+)|Your code gives None|should return .+, not None")
OTHER_TYPE = re.compile("The result is an? [^;.]+; an? [^;.]+ was expected")
FORGOTTEN = "Is there a `return`?"
CUT_OFF = "`.detach()`, `.data`, `no_grad`, `requires_grad=False` and NumPy cut off the gradient."


def diagnose(
    oracle: Oracle, exercise: Exercise, evidence: Sequence[Evidence], source: str = "", most: int = 2
) -> list[Mistake]:
    """Return the mistakes that explain all failures: none, one, or a few that act together.

    Of known mistakes, at `most` so many are looked for together: to look for two takes long.

    First a call of a function that the exercise excludes, which leaves nothing else to explain; it is named
    as in the `source` of the cell. Then single mistakes, a result of None, and pairs, whose edited answers
    behave exactly as the student's on every check; then results of chance, missing exceptions, lost
    gradients, and wrong forms, alone or with one mistake besides, or a type that is not read; then mistakes
    and pairs that explain nearly all.
    """
    failures = [item for item in evidence if not item.passed]
    if not failures:
        return []
    if called := {name for item in failures for name in excluded_calls(exercise, item.got)}:
        hint = exercise.excludes.instead if exercise.excludes else ""
        title = f"`{as_written(min(called), source)}` does the work"
        return [Mistake("library-function", title, hint, ())]
    search = _Search(oracle, exercise, evidence, most)
    if all(isinstance(item.test_input.operation, ReadEntry) for item in evidence):
        return search.explain_entries()
    loose = replace(search, loosely=True)
    return (
        search.explain_all(1)
        or search.explain_nothing()
        or search.explain_all(2)
        or search.explain_random()
        or loose.explain_alone()
        or loose.explain_missed()
        or search.explain_lost_gradients()
        or search.explain_forms()
        or search.explain_type()
        or search.explain_nearly_all()
    )


def is_one_mistake(oracle: Oracle, exercise: Exercise, evidence: Sequence[Evidence]) -> bool:
    """Return whether one known mistake does all that was seen, not counting a wrong form besides."""
    return bool(_Search(oracle, exercise, evidence, most=1).explain_all(1))


@dataclass(frozen=True)
class FormFix:
    """A result with one thing put right, and the sentence on what it was.

    `key` tells forms apart where the sentence differs from input to input. `other` is a second way to
    read the result.
    """

    value: Any
    kind: str
    title: str
    key: str = ""
    other: "FormFix | None" = None

    def same(self, other: "FormFix") -> bool:
        """Return whether both put the same thing right."""
        return (self.key or self.title) == (other.key or other.title)

    def like(self, first: "FormFix") -> "FormFix | None":
        """Return this step, or the other way to read the result, if it puts right what `first` does."""
        if self.same(first):
            return self
        return self.other if self.other and self.other.same(first) else None

    @property
    def mistake(self) -> Mistake:
        """The wrong form as a mistake with a name."""
        return Mistake(f"result-{self.kind}", self.title, HINTS[self.kind], ())


def _with_gradients(operation: Operation, got: Any, want: Any) -> tuple[Any, int]:
    """Fill in the right gradients where an answer has none; return this, and how many it has."""
    match operation, got, want:
        case AskEach(operations=asked), list(), list() if len(got) == len(want):
            parts = [_with_gradients(*each) for each in zip(asked, got, want, strict=True)]
            return [value for value, _ in parts], sum(number for _, number in parts)
        case FunctionGradients(), {"gradients": list(mine)}, {"gradients": list(right)}:
            filled = [b if a is None else a for a, b in zip(mine, right, strict=False)]
            return got | {"gradients": filled}, sum(a is not None for a in mine)
        case ModuleGradients(), dict(), dict():
            lost = {path: want.get(path) for path, gradient in got.items() if gradient is None}
            return got | lost, len(got) - len(lost) - ("unregistered" in got)
    return got, 0


def fix_form(got: Any, want: Any) -> FormFix | None:
    """Return a result with the first wrong type, dtype or shape put right; None if none can be."""
    if isinstance(want, dict) and isinstance(got, dict):
        return _in_entries(got, want, list(want))
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        return _in_entries(dict(enumerate(got)), dict(enumerate(want)), list(range(len(want))))
    found = difference(got, want)
    put_right = FIXES.get(found.kind) if found else None
    if found is None or put_right is None:
        return None
    try:
        return put_right(got, want, found)
    except (RuntimeError, TypeError, ValueError):
        return None  # not a form that can be put right


def _in_entries(got: dict[Any, Any], want: dict[Any, Any], keys: list[Any]) -> FormFix | None:
    """Put right the same thing in every entry that it is wrong in."""
    if got.keys() != want.keys():
        return None
    steps = {key: done for key in keys if (done := fix_form(got[key], want[key]))}
    first = next(iter(steps.values()), None)
    if first is None:
        return None
    entries = {key: steps[key].value if key in steps and steps[key].same(first) else got[key] for key in got}
    value = entries if isinstance(keys[0], str) else list(entries.values())
    return FormFix(value, first.kind, first.title, first.key)


def _type(got: Any, want: Any, found: Difference) -> FormFix | None:
    title = found.text.removesuffix(".")
    if isinstance(want, torch.Tensor):
        tensors = [part for part in got if isinstance(part, torch.Tensor)]
        dtype = want.dtype if want.is_floating_point() else None  # a list knows no precision
        value = tensors[0] if tensors else torch.tensor(got, dtype=dtype)
        return FormFix(value, "type", title)
    if isinstance(got, torch.Tensor) and isinstance(want, (list, int, float, bool)):
        return FormFix(got.tolist(), "type", title)
    return None


def _dtype(got: torch.Tensor, want: torch.Tensor, found: Difference) -> FormFix | None:
    if want.dtype is not torch.bool:
        return FormFix(got.to(want.dtype), "dtype", found.text.removesuffix("."))
    numbers = FormFix(got.bool(), "dtype", "The result holds numbers, not True and False")
    added = FormFix(got == 0, "dtype", "The result holds 0 and −∞, not True and False")
    if not got.any():
        return replace(numbers, other=added)
    if ((got == 0) | (got == 1)).all():
        return numbers
    return added if got.is_floating_point() and ((got == 0) | (got < -1e4)).all() else None


def _shape(got: torch.Tensor, want: torch.Tensor, found: Difference) -> FormFix | None:
    title = found.text.removesuffix(".")
    if [size for size in got.shape if size != 1] == [size for size in want.shape if size != 1]:
        return FormFix(got.reshape(want.shape), "shape", title, f"{got.dim()} for {want.dim()}")
    if sorted(got.shape) == sorted(want.shape):
        for one, other in combinations(range(got.dim()), 2):
            if got.transpose(one, other).shape == want.shape:
                return FormFix(got.transpose(one, other).contiguous(), "shape", title)
    if got.dim() == want.dim() and (narrow := _narrowed(got, want)).shape == want.shape:
        return FormFix(narrow, "shape", title)
    return None


def _narrowed(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Return a tensor without the repetitions along dimensions that should have size 1."""
    for dim, size in enumerate(want.shape):
        first = got.narrow(dim, 0, 1)
        if size == 1 and torch.equal(first.expand_as(got), got):
            got = first.contiguous()
    return got


FIXES: dict[str, Callable[[Any, Any, Difference], FormFix | None]] = {
    "type": _type, "dtype": _dtype, "shape": _shape,
}  # fmt: skip


def _is_none(got: Observation) -> bool:
    """Return whether None came, once or each time, also where a pair was to be taken apart."""
    if got.raised:
        return got.raised.structural and got.raised.detail == "None"
    value = got.value.get("results", got.value) if isinstance(got.value, dict) else got.value
    return value is None or (isinstance(value, list) and all(each is None for each in value))


def _varies(value: Any) -> bool:
    """Return whether a result holds finite floats that differ: others may be alike by chance."""
    tensors = (each for each in tree_leaves(value) if isinstance(each, torch.Tensor))
    floats = (each for each in tensors if each.is_floating_point() and each.numel() > 1)
    return any(bool(each.isfinite().all()) and bool(each.std() > 0) for each in floats)


@dataclass(frozen=True)
class _Search:
    """The search for the mistakes in one student's cell."""

    oracle: Oracle
    exercise: Exercise
    evidence: Sequence[Evidence]
    most: int  # mistakes that are looked for together
    loosely: bool = False

    def explain_all(self, size: int) -> list[Mistake]:
        """Return the first mistake, or two, that do all that was seen."""
        return next(self._explanations(size), [])

    def explain_nothing(self) -> list[Mistake]:
        """Name a result of None, if every check that expects a result fails for that.

        An exception that is expected comes of such an answer only by luck, so it is not told.
        """
        results = [item for item in self._failures() if not item.expected.raised]
        if any(item.got.ended for item in results):
            return []
        said = [NOTHING.search(self._said(item)) for item in results]
        title = next((each["title"] for each in said if each and each["title"]), "The result is None")
        none = [_is_none(item.got) and not _is_none(item.expected) for item in results]
        alike = all(found or is_none for found, is_none in zip(said, none, strict=True))
        return [Mistake("result-none", title, FORGOTTEN, ())] if results and alike else []

    def explain_random(self) -> list[Mistake]:
        """Name an answer that is random in eval mode: what its other results look like is no mistake."""
        random = any(RANDOM.search(self._said(item)) for item in self._failures())
        return [Mistake("random-in-eval", RANDOM_TITLE, DROPS, ())] if random else []

    def _said(self, item: Evidence) -> str:
        seen = Comparison(item.test_input.operation, item.got, item.expected, self.exercise.name)
        return item.check.decide(seen).message

    def explain_alone(self) -> list[Mistake]:
        """Return the mistake that does all that was seen, if there is only one.

        Exceptions of one cause prove little by themselves, so a value has to speak for it as well, or
        an exception of another type than the one that is expected.
        """
        if all(item.got.raised and not item.expected.raised for item in self._failures()):
            return []
        found = {mistake.id: mistake for (mistake,) in self._explanations(1)}
        return list(found.values()) if len(found) == 1 else []

    def explain_missed(self) -> list[Mistake]:
        """Return two mistakes that explain all, where an expected exception was not raised, or another was.

        If there are none, the missing exception is one mistake, and another has to explain all else. Where
        exceptions came and none is expected, two mistakes that raise anything at all would be too easily
        found.
        """
        missed = [item for item in self._failures() if item.expected.raised]
        if not missed:
            return []
        others = any(i.got.raised and not i.expected.raised for i in self._failures())
        if not others and (both := self.explain_all(2)):
            return both
        raised = [replace(i, got=i.expected, passed=True) if i in missed else i for i in self.evidence]
        if all(item.passed for item in raised):
            return []
        rest = replace(self, evidence=raised, loosely=False).explain_all(1)
        return [*rest, self._missing_exception(missed)] if rest else []

    def _missing_exception(self, missed: Sequence[Evidence]) -> Mistake:
        """Return the known mistake that misses these exceptions in the same way, and changes nothing else."""
        for mistake in self.exercise.mistakes:
            alone = [
                (item, self.oracle.mistaken(self.exercise, [mistake], item.test_input))
                for item in self.evidence
            ]
            if all(
                seen and (item.fits(seen, loosely=True) if item in missed else item.allows(seen))
                for item, seen in alone
            ):
                return mistake
        kind = next(item.expected.raised.kind for item in missed if item.expected.raised)
        return Mistake("not-raised", f"No {kind} is raised where the exercise asks for one", NOT_RAISED, ())

    def explain_nearly_all(self) -> list[Mistake]:
        """Return the mistake, or two, that explain most failures, the first one included.

        Floats on drawn inputs do not agree by chance: the mistake was made, and something else besides, or in
        a form that differs in a few cases.
        """
        failures = self._failures()
        telling = [item for item in failures if _varies(item.got.value)]
        if not telling or telling[0] is not failures[0]:
            return []
        found = [
            mistakes
            for size in (1, 2)
            if (allowed := len(failures) // (size * ONE_OF))
            for mistakes in self._explanations(size, allowed)
            if sum(self._fits(mistakes, item) for item in telling) > 1
        ]
        return min(found, key=lambda each: sum(not self._fits(each, item) for item in failures), default=[])

    def _failures(self) -> list[Evidence]:
        return [item for item in self.evidence if not item.passed]

    def _explanations(self, size: int, unexplained: int = 0) -> Iterator[list[Mistake]]:
        """Yield what does all that was seen, or all but some failures that are `unexplained`.

        Of two mistakes, the one that explains more failures alone comes first.
        """
        if size > self.most:
            return
        failures = self._failures()
        passed = [item for item in self.evidence if item.passed]
        forms = [form for mistake in self.exercise.mistakes for form in mistake.forms()]
        for mistakes in self._pairs(forms) if size > 1 else zip(forms):
            if not self._fits(mistakes, failures[0]):  # failures tell most apart
                continue
            denied = (item for item in failures[1:] if not self._fits(mistakes, item))
            few = next(islice(denied, unexplained, None), None) is None
            if few and all(self._fits(mistakes, item) for item in passed):
                yield sorted(mistakes, key=lambda each: -sum(self._fits([each], item) for item in failures))

    def _pairs(self, forms: Sequence[Mistake]) -> Iterator[tuple[Mistake, Mistake]]:
        """Yield the pairs that are worth a try: where an exception came, one of the two raises it."""
        if all(item.got.raised is not None for item in self.evidence):
            return  # where nothing but exceptions came, a second mistake cannot be seen
        needed = self._raising(forms)
        if not needed:
            return
        parts = [form for form in forms if self._may_be_part(form)]
        for first, second in combinations(parts, 2):
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

    def explain_lost_gradients(self) -> list[Mistake]:
        """Name the gradients that do not arrive, if nothing else is wrong."""
        failures = self._failures()
        through = 0
        for item in failures:
            asked = item.test_input.operation
            value, number = _with_gradients(asked, item.got.value, item.expected.value)
            if not self._with_value(item, value).passed:
                return []
            through += number
        first = failures[0]
        seen = Comparison(first.test_input.operation, first.got, first.expected, self.exercise.name)
        reached, _, _ = first.check.decide(seen).message.partition(":")
        return [Mistake("gradients-lost", reached if through else NOT_THROUGH, CUT_OFF, ())]

    def explain_forms(self) -> list[Mistake]:
        """Return what is wrong with the form of the results, and a mistake that does the rest."""
        found: list[Mistake] = []
        search = self
        while len(found) < MOST_FORMS and (done := search._put_right()):
            first, evidence = done
            known = (each for each in self.exercise.mistakes if search._only_in_form(each, first))
            found.append(next(known, first.mistake))
            search = replace(search, evidence=evidence)
            if all(item.passed for item in evidence):
                return found
            if rest := search.explain_all(1):
                return found + rest
        return []

    def explain_type(self) -> list[Mistake]:
        """Name a result of another type, if every check that fails does so for that."""
        said = [OTHER_TYPE.search(self._said(item)) for item in self._failures()]
        title, *others = {found[0] if found else "" for found in said}
        return [FormFix(None, "type", title).mistake] if title and not others else []

    def _put_right(self) -> tuple[FormFix, list[Evidence]] | None:
        """Put the form of all results right that are wrong in the first way that occurs."""
        values = [(item.passed, item.got.value, item.expected.value) for item in self.evidence]
        steps = [None if passed else fix_form(got, want) for passed, got, want in values]
        first = next(filter(None, steps), None)
        if first is None:
            return None
        pairs = zip(self.evidence, steps, strict=True)
        return first, [
            self._with_value(item, like.value) if done and (like := done.like(first)) else item
            for item, done in pairs
        ]

    def _with_value(self, item: Evidence, value: Any) -> Evidence:
        got = replace(item.got, value=value)
        seen = Comparison(item.test_input.operation, got, item.expected, self.exercise.name)
        return replace(item, got=got, passed=item.check.decide(seen).passed)

    def _only_in_form(self, mistake: Mistake, first: FormFix) -> bool:
        """Return whether a known mistake makes a result wrong in this way, and in no other."""
        if not all(self._fits([mistake], item) for item in self.evidence if item.passed):
            return False
        item = self._failures()[0]
        alone = self.oracle.mistaken(self.exercise, [mistake], item.test_input)
        done = fix_form(alone.value, item.expected.value) if alone and not alone.raised else None
        return bool(done and done.same(first) and self._with_value(item, done.value).passed)

    def explain_entries(self) -> list[Mistake]:
        """Return the mistakes that explain most wrong entries of a dictionary of answers.

        Its entries stand each for itself, so here, and only here, a mistake need not explain all.
        """
        chosen: list[Mistake] = []
        covered: set[int] = set()
        explained = {mistake.id: self._entries_explained(mistake) for mistake in self.exercise.mistakes}
        while True:
            adds = [(len(explained[mistake.id] - covered), mistake) for mistake in self.exercise.mistakes]
            most, best = max(adds, key=lambda pair: pair[0], default=(0, None))
            if best is None or not most:
                return chosen
            chosen.append(best)
            covered |= explained[best.id]

    def _entries_explained(self, mistake: Mistake) -> set[int]:
        """Return the wrong entries that a mistake explains; none if a right one denies it."""
        if not all(self._fits([mistake], item) for item in self.evidence if item.passed):
            return set()
        return {
            index
            for index, item in enumerate(self.evidence)
            if not item.passed and item.got.value is not None and self._fits([mistake], item)
        }
