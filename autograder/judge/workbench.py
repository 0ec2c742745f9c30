"""Runs reference code and edited model answers in the judge's own process: our code, never theirs."""

import inspect
import math
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from cachetools import LRUCache
from torch import nn

from autograder.errors import CheckDefinitionError
from autograder.judge.exercise import Exercise, Lesson, Misconception, Stimulus
from autograder.judge.observation import Observation
from autograder.probe.observe import observe

KEPT = 20_000  # observations; a small one is a few kilobytes

BASE: Mapping[str, Any] = {"torch": torch, "nn": nn, "F": F, "math": math}


class Workbench:
    """One lesson's reference, model answers and misconceptions, ready to be run."""

    def __init__(self, lesson: Lesson, answers: Mapping[str, str]) -> None:
        """Take the lesson's checks, and its model answers by exercise id."""
        self.lesson, self.answers = lesson, answers
        self._edited: dict[tuple[str, ...], dict[str, Any] | None] = {}
        self._observed: LRUCache[tuple[Any, ...], Observation] = LRUCache(KEPT)

    def reference(self, exercise: Exercise) -> dict[str, Any]:
        """Return a namespace in which the exercise, and those before it, are the reference's."""
        return {**self._upstream(exercise), exercise.name: exercise.reference}

    def _upstream(self, exercise: Exercise) -> dict[str, Any]:
        earlier = {other.name: other.reference for other in self.lesson.upstream(exercise)}
        return {**BASE, **self.lesson.given, **earlier}

    def edited(
        self, exercise: Exercise, mistakes: Iterable[Misconception]
    ) -> dict[str, Any] | None:
        """Return a namespace with the model answer, edited; None if the edits do not go together."""
        mistakes = list(mistakes)
        key = _key(exercise, mistakes)
        if key not in self._edited:
            self._edited[key] = self._make(exercise, mistakes)
        return self._edited[key]

    def _make(self, exercise: Exercise, mistakes: list[Misconception]) -> dict[str, Any] | None:
        source = self.edited_source(exercise, mistakes)
        if source is None:
            return None
        namespace = self._upstream(exercise)
        try:
            exec(compile(source, f"<{exercise.id}>", "exec"), namespace)  # noqa: S102 - our own answer
        except Exception as problem:
            if len(mistakes) > 1:
                return None
            names = ", ".join(mistake.id for mistake in mistakes) or "no edit"
            raise CheckDefinitionError(
                f"{exercise.id} with {names} does not run: {problem}"
            ) from problem
        return namespace

    def edited_source(self, exercise: Exercise, mistakes: list[Misconception]) -> str | None:
        """Return the edited text of the solution cell; None where one edit removes another's place.

        A single edit that has no place is a CheckDefinitionError.
        """
        if len(mistakes) < 2:
            return (
                mistakes[0].apply(self.answers[exercise.id])
                if mistakes
                else self.answers[exercise.id]
            )
        for order in (mistakes, mistakes[::-1]):
            source = self.answers[exercise.id]
            try:
                for mistake in order:
                    source = mistake.apply(source)
            except CheckDefinitionError:
                continue
            return source
        return None

    def observe(
        self, namespace: Mapping[str, Any], stimulus: Stimulus, *, watched: bool = False
    ) -> Observation:
        """Run a scenario here, on copies of the inputs, since a mistake may be to change them."""
        inputs = _copied(stimulus.inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mistakes are made on purpose here
            return Observation.of(observe(stimulus.scenario, namespace, inputs, watched=watched))

    def mistaken(
        self, exercise: Exercise, mistakes: Sequence[Misconception], stimulus: Stimulus
    ) -> Observation | None:
        """Return what an edited model answer does; None if the edits do not go together.

        It is kept: the inputs of a class run are the same for all, and so are their mistakes.
        """
        key = (*_key(exercise, mistakes), stimulus.key)
        if key not in self._observed:
            namespace = self.edited(exercise, mistakes)
            if namespace is None:
                return None
            self._observed[key] = self.observe(namespace, stimulus)
        return self._observed[key]

    def expected(self, exercise: Exercise, stimulus: Stimulus) -> Observation:
        """Return what the reference does. Exercises without one are judged by their judges alone."""
        if exercise.reference is None:
            return Observation()
        key = (exercise.id, stimulus.key)
        if key not in self._observed:
            self._observed[key] = self.observe(self.reference(exercise), stimulus)
        return self._observed[key]

    def stand_ins(self, exercise: Exercise) -> list[str]:
        """Return the sources that put right parts in the place of the student's earlier ones."""
        return [
            stand_in_source(other.reference, other.name) for other in self.lesson.upstream(exercise)
        ]


def _key(exercise: Exercise, mistakes: Iterable[Misconception]) -> tuple[str, ...]:
    edits = (f"{mistake.id}{sorted(mistake.edits.items())}" for mistake in mistakes)
    return (exercise.id, *edits)


def stand_in_source(reference: Any, name: str) -> str:
    """Return the source of a reference, followed by the name the lesson knows it by."""
    source = textwrap.dedent(inspect.getsource(reference))
    if reference.__name__ == name:
        return source
    return f"{source}\n{name} = {reference.__name__}\n"


def _copied(value: Any) -> Any:
    """Return inputs copied as the wire copies them: no two arguments are one tensor."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return value
