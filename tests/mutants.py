"""Grades edited model answers in this process, as the runner grades a student's answer in its own."""

import math
from collections.abc import Sequence
from typing import Any

from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Evidence, Oracle, judge_check
from autograder.model.exercise import Edit, Exercise, Mistake
from coursework.engine.describe import Comparison


def evidence(
    oracle: Oracle, exercise: Exercise, mistakes: Sequence[Mistake]
) -> list[Evidence]:
    """Try an edited model answer on every check; nothing if the edits exclude each other."""
    if oracle.edited(exercise, mistakes) is None:
        return []
    return [oracle.try_edited(exercise, check, mistakes) for check in exercise.checks]


def grade_mistake(oracle: Oracle, exercise: Exercise, mistake: Mistake) -> dict[str, Any]:
    """Return score, named mistakes and failed checks of a model answer with one mistake in it."""
    seen = evidence(oracle, exercise, [mistake])
    weights = sum(check.weight for check in exercise.checks)
    share = sum(item.check.weight for item in seen if item.passed) / weights
    return {
        "score": math.floor(exercise.points * share / 0.25 + 1e-9) * 0.25,
        "named": [found.id for found in diagnose(oracle, exercise, seen)],
        "failed": [item.check.id for item in seen if not item.passed],
    }


def answer_with(exercise: Exercise, source: str) -> Mistake:
    """Return a 'mistake' that puts another source in the place of the model answer."""
    return Mistake("another-answer", "another answer", "", (Edit(exercise.answer, source),))


def messages(seen: Sequence[Evidence]) -> list[str]:
    """Return what the student is told, one message for each failed check."""
    comparisons = [(i.check, Comparison(i.test_input.operation, i.got, i.expected)) for i in seen]
    verdicts = [check.decide(comparison) for check, comparison in comparisons]
    return [verdict.message for verdict in verdicts if not verdict.passed]


def check_words(oracle: Oracle, exercise: Exercise, old: str, new: str, said: str) -> None:
    """Hold that an edited model answer is told a sentence with some words in it."""
    answer = f"{exercise.answer}\n"
    assert old in answer
    heard = failures(oracle, exercise, answer.replace(old, new)).values()
    assert any(said in message for message in heard), heard


def told(exercise: Exercise, seen: Sequence[Evidence], cell: str) -> list[str]:
    """Return what the student who handed in `cell` is told, one message for each failed check."""
    return [_message(exercise, item, cell) for item in seen if not item.passed]


def failures(oracle: Oracle, exercise: Exercise, cell: str) -> dict[str, str]:
    """Return the message of each check that fails, by id, when `cell` is handed in as the answer."""
    return {
        item.check.id: _message(exercise, item, cell)
        for item in evidence(oracle, exercise, [answer_with(exercise, cell)])
        if not item.passed
    }


def _message(exercise: Exercise, item: Evidence, cell: str) -> str:
    seen = Comparison(item.test_input.operation, item.got, item.expected, source=cell)
    return judge_check(exercise, item.check, seen).message
