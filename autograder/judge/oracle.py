"""Runs references and edited model answers in the grader's own process: our code, never a student's.

Also sources of right parts that take the place of a student's, in a lesson or in a run.
"""

import __future__

import ast
import inspect
import math
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import torch
import torch.nn.functional as F
from cachetools import LRUCache
from torch import nn

from autograder.judge.kept_results import KeptResults
from autograder.judge.mistakes import merged
from autograder.model.draw import Draw
from autograder.model.errors import CheckDefinitionError, StaleEditError
from autograder.model.exercise import Check, Exercise, Lesson, Mistake, TestInput, Verdict
from coursework.engine.compare import same, same_form
from coursework.engine.describe import Comparison
from coursework.engine.exceptions import same_cause
from coursework.engine.observation import Observation
from coursework.engine.observe import observe, observed
from coursework.engine.operation import with_tensors
from coursework.exclusions import EXCLUSIONS, as_written

BASE: Final[Mapping[str, Any]] = {"torch": torch, "nn": nn, "F": F, "math": math}
OURS: Final = ("autograder", "coursework")
MAX_DRAWS = 100
KEPT = 20_000  # observations; a small one takes a few kilobytes


@cache
def stand_in_source(part: Any, name: str) -> str:
    """Return a source that defines a stand-in under the name that the lesson knows it by.

    It needs torch, nn, F and math, and that annotations are not evaluated: the functions and classes of
    ours that the part is built from come before it. A run can't import them, because it keeps only what
    its lesson hands out.
    """
    sources = [*_sources(part).values()]
    return "\n\n".join(sources if part.__name__ == name else [*sources, f"{name} = {part.__name__}"])


def _sources(part: Any) -> dict[str, str]:
    """Return the source of a function or class, by name, after those of the parts that it names."""
    source = textwrap.dedent(inspect.getsource(part))
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    found: dict[str, str] = {}
    for name, value in vars(sys.modules[part.__module__]).items():
        if name in names and value is not part and (inspect.isclass(value) or inspect.isfunction(value)):
            ours = value.__module__.partition(".")[0] in OURS
            found |= _sources(value) if ours else {}
    return {**found, part.__name__: source}


@cache
def as_reference(part: Any) -> Any:
    """Return a part, or a copy of what comes from the coursework: as an answer, a stand-in is refused."""
    kinds = inspect.getmro(part) if inspect.isclass(part) else (part,)
    if not any(getattr(kind, "__module__", "").startswith("coursework.") for kind in kinds):
        return part
    scope: dict[str, Any] = {**BASE, "__name__": __name__}
    source = stand_in_source(part, part.__name__)
    flags = __future__.annotations.compiler_flag
    exec(compile(source, f"<{part.__name__}>", "exec", flags), scope)  # noqa: S102 - our own source
    return scope[part.__name__]


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
        return self.passed and self.allows(mistaken)

    def allows(self, result: Observation) -> bool:
        """Return whether the check passes with a result."""
        return self.check.decide(Comparison(self.test_input.operation, result, self.expected)).passed

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
        return Verdict(passed=False, message=exercise.excludes.called(as_written(called[0], seen.source)))
    return verdict


def excluded_calls(exercise: Exercise, got: Observation) -> list[str]:
    """Return the functions that an answer called and the exercise excludes."""
    names = exercise.excludes.names if exercise.excludes else ()
    known = frozenset[str]().union(*(EXCLUSIONS[name].names for name in names if name in EXCLUSIONS))
    return [name for name in got.excluded if name in known]


class Oracle:
    """Draws the inputs of a lesson's checks, and knows what references and mistakes give on them.

    The inputs depend on the key, the lesson, the exercise and the check, and on nothing else.
    """

    def __init__(self, lesson: Lesson, key: bytes, kept: KeptResults | None = None) -> None:
        self.lesson, self._key = lesson, key
        self._kept = kept or KeptResults()
        self._inputs: dict[tuple[str, str], TestInput] = {}
        self._edited: dict[tuple[str, ...], dict[str, Any] | None] = {}
        self._observed: LRUCache[tuple[Any, ...], Observation | None] = LRUCache(KEPT)

    def test_input(self, exercise: Exercise, check: Check) -> TestInput:
        """Return a check's operation, with inputs on which the mistakes that it separates show.

        Raises CheckDefinitionError if a mistake shows on none of many draws.
        """
        place = (exercise.id, check.id)
        if place not in self._inputs:
            attempt = 0
            if check.separates:
                key = (self.lesson.name, *place)
                attempt = self._kept.number(key, lambda: self._first_separating(exercise, check))
            self._inputs[place] = self._draw(exercise, check, attempt)
        return self._inputs[place]

    def _draw(self, exercise: Exercise, check: Check, attempt: int) -> TestInput:
        draw = Draw(self._key, self.lesson.name, exercise.id, check.id, str(attempt))
        return TestInput(check.test(draw), draw.seed, check.id, attempt)

    def _first_separating(self, exercise: Exercise, check: Check) -> int:
        """Return which draw is the first on which all mistakes show that the check separates."""
        hidden = [exercise.mistake(name) for name in check.separates]
        for attempt in range(MAX_DRAWS):
            test_input = self._draw(exercise, check, attempt)
            if not any(self._tried(exercise, check, test_input, [m]).passed for m in hidden):
                return attempt
        raise CheckDefinitionError(
            f"check '{check.id}' of '{exercise.id}' separates {', '.join(check.separates)}: "
            f"none of {MAX_DRAWS} draws shows all of them; draw other inputs"
        )

    def try_edited(self, exercise: Exercise, check: Check, mistakes: Sequence[Mistake] = ()) -> Evidence:
        """Try a check on the model answer with mistakes in it.

        Raises CheckDefinitionError if the check, the reference or a mistake contradicts itself.
        """
        return self._tried(exercise, check, self.test_input(exercise, check), mistakes)

    def _tried(
        self, exercise: Exercise, check: Check, test_input: TestInput, mistakes: Sequence[Mistake]
    ) -> Evidence:
        expected = self.expected(exercise, check, test_input)
        got = self.mistaken(exercise, mistakes, test_input) or Observation()
        seen = Comparison(test_input.operation, got, expected)
        verdict = judge_check(exercise, check, seen)
        return Evidence(check, test_input, got, expected, verdict.passed)

    def expected(self, exercise: Exercise, check: Check, test_input: TestInput) -> Observation:
        """Return what the reference gives; nothing for exercises that have none.

        Raises CheckDefinitionError if the reference raises and the check does not say so, or the
        other way round: a fault in the check would otherwise pass every answer that shares it.
        """
        if exercise.reference is None:
            return Observation()

        def observed_reference() -> Observation:
            names = {**self.scope(exercise), exercise.name: exercise.reference}
            seen = self.observe(exercise, names, test_input)
            _require_exception(exercise, check, seen)
            return seen

        key = ("reference", exercise.id, test_input.check, test_input.attempt)
        return self._once(key, observed_reference) or Observation()

    def mistaken(
        self, exercise: Exercise, mistakes: Sequence[Mistake], test_input: TestInput
    ) -> Observation | None:
        """Return what an edited model answer gives; None if the edits exclude each other.

        The result is kept: a class shares its inputs, and makes the same mistakes.
        """

        def observed_edited() -> Observation | None:
            names = self.edited(exercise, mistakes)
            return None if names is None else self.observe(exercise, names, test_input)

        key = (*_key(exercise, mistakes), test_input.check, test_input.attempt)
        return self._once(key, observed_edited)

    def _once(self, key: tuple[Any, ...], compute: Callable[[], Observation | None]) -> Observation | None:
        """Return what is remembered or kept under a key; compute it otherwise."""
        if key not in self._observed:
            self._observed[key] = self._kept.observation((self.lesson.name, *key), compute)
        return self._observed[key]

    def observe(self, exercise: Exercise, namespace: Mapping[str, Any], test_input: TestInput) -> Observation:
        """Run an operation on copies of its inputs, because some mistakes modify them."""
        operation = test_input.operation
        with warnings.catch_warnings(action="ignore"):  # a mistake may well cause some
            asked = with_tensors(operation, torch.Tensor.clone)
            seen = observe(asked, namespace, exercise.name, test_input.seed)
        return observed(operation, seen)

    def edited(self, exercise: Exercise, mistakes: Iterable[Mistake]) -> dict[str, Any] | None:
        """Return the names that an edited model answer defines; None if the edits exclude each other.

        Raises CheckDefinitionError if a single mistake, or none, does not run.
        """
        mistakes = list(mistakes)
        key = _key(exercise, mistakes)
        if key not in self._edited:
            self._edited[key] = self._run_edited(exercise, mistakes)
        return self._edited[key]

    def _run_edited(self, exercise: Exercise, mistakes: list[Mistake]) -> dict[str, Any] | None:
        source = edited_source(exercise, mistakes)
        if source is None:
            return None
        namespace = self.scope(exercise)
        try:
            with warnings.catch_warnings(action="ignore"):  # two mistakes together may look odd
                exec(compile(source, f"<{exercise.id}>", "exec"), namespace)  # noqa: S102 - our own answer
        except Exception as problem:
            if len(mistakes) > 1:
                return None
            which = f"{mistakes[0].place}: mistake '{mistakes[0].id}'" if mistakes else "model answer"
            raise CheckDefinitionError(f"{which} of '{exercise.id}' does not run: {problem}") from problem
        return namespace

    def scope(self, exercise: Exercise) -> dict[str, Any]:
        """Return the names that are there when an answer's cell begins, with right earlier parts."""
        earlier = {other.name: other.reference for other in self.lesson.upstream(exercise)}
        return {**BASE, **self.lesson.given, **earlier}

    def stand_ins(self, exercise: Exercise) -> dict[str, str]:
        """Return, by name, the sources of right parts that take the place of the student's earlier ones."""
        upstream = self.lesson.upstream(exercise)
        return {other.name: stand_in_source(other.stand_in, other.name) for other in upstream}


def edited_source(exercise: Exercise, mistakes: Sequence[Mistake]) -> str | None:
    """Return the model answer with mistakes in it; None where they change the same tokens.

    Raises StaleEditError if a single mistake has no place.
    """
    if len(mistakes) < 2:
        return mistakes[0].apply(exercise.answer) if mistakes else exercise.answer
    for order in (mistakes, mistakes[::-1]):
        source = exercise.answer
        try:
            for mistake in order:
                source = mistake.apply(source)
        except StaleEditError:
            continue
        return source
    return merged(exercise.answer, *(mistake.apply(exercise.answer) for mistake in mistakes))


def _key(exercise: Exercise, mistakes: Iterable[Mistake]) -> tuple[str, ...]:
    return (exercise.id, *(f"{mistake.id}{mistake.edits}" for mistake in mistakes))


def _require_exception(exercise: Exercise, check: Check, seen: Observation) -> None:
    came = seen.raised.kind if seen.raised else ""
    if came != check.raises:
        said = f" ({seen.raised.message})" if seen.raised else ""
        raise CheckDefinitionError(
            f"check '{check.id}' of '{exercise.id}' expects {check.raises or 'no exception'} from "
            f"the reference, which raised {came or 'none'}{said}"
        )
