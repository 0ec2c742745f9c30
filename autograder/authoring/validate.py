"""Validates a lesson's checks and mistakes against its model answers, before anything is built.

Everything here runs our own code: references, model answers, and model answers with a mistake in them.
"""

from collections.abc import Sequence

from autograder.judge.oracle import Oracle, edited_source
from autograder.lessons.loading import check_place
from autograder.model.errors import CheckDefinitionError, StaleEditError
from autograder.model.exercise import Check, Exercise, Lesson, Mistake

KEY = b"build"  # nothing that is built depends on the inputs


def validate(lesson: Lesson) -> None:
    """Raise CheckDefinitionError, naming file and line, for the first contradiction.

    The model answer has to pass every check, every edit has to fit the model answer, and every
    mistake has to fail at least one check.
    """
    oracle = Oracle(lesson, KEY)
    for exercise in lesson.exercises:
        if not exercise.written:
            _require_right_answer(oracle, exercise)
            for mistake in exercise.mistakes:
                _require_fitting_edits(exercise, mistake)
            _require_distinct_mistakes(exercise)
            for mistake in exercise.mistakes:
                _require_failure(oracle, exercise, mistake)


def _require_right_answer(oracle: Oracle, exercise: Exercise) -> None:
    for check in exercise.checks:
        if not _passes(oracle, exercise, check, []):
            raise CheckDefinitionError(
                f"{_place(exercise, check)}: the model answer of '{exercise.id}' fails check "
                f"'{check.id}': correct the check, the reference or the answer"
            )


def _require_fitting_edits(exercise: Exercise, mistake: Mistake) -> None:
    """Raise unless each edit, of each form, occurs once, or several times if it says so."""
    for edits in (mistake.edits, *mistake.also):
        answer = exercise.answer
        for edit in edits:
            found = answer.count(edit.old)
            if found == 0 or (found == 1) == edit.everywhere:
                wanted = "more than once, because it is under 'everywhere'" if edit.everywhere else "once"
                raise StaleEditError(
                    f"{mistake.place}: mistake '{mistake.id}': {edit.old!r} should occur {wanted} in the "
                    f"model answer of '{exercise.id}', not {found} times; change the edit"
                )
            answer = edit.apply(answer)


def _require_distinct_mistakes(exercise: Exercise) -> None:
    """Raise if two mistakes are the same edit: no input could tell which of them was made."""
    seen: dict[str, str] = {}
    for mistake in exercise.mistakes:
        source = edited_source(exercise, [mistake]) or ""
        if source in seen:
            raise CheckDefinitionError(
                f"{mistake.place}: mistakes '{seen[source]}' and '{mistake.id}' of '{exercise.id}' "
                "are the same edit: remove one"
            )
        seen[source] = mistake.id


def _require_failure(oracle: Oracle, exercise: Exercise, mistake: Mistake) -> None:
    """Raise unless each form of the mistake runs, and the main one fails a check."""
    unknown = mistake.same_as - {other.id for other in exercise.mistakes}
    if unknown:
        raise CheckDefinitionError(
            f"{mistake.place}: mistake '{mistake.id}' is the same as '{min(unknown)}', which "
            f"'{exercise.id}' does not have"
        )
    for form in mistake.forms():
        oracle.edited(exercise, [form])
    if all(_passes(oracle, exercise, check, [mistake]) for check in exercise.checks):
        raise CheckDefinitionError(
            f"{mistake.place}: no check of '{exercise.id}' tells mistake '{mistake.id}' from the "
            "model answer: add a check, or remove the mistake"
        )


def _passes(oracle: Oracle, exercise: Exercise, check: Check, mistakes: Sequence[Mistake]) -> bool:
    """Return whether a model answer passes a check. Raises CheckDefinitionError where the check breaks."""
    try:
        return oracle.try_edited(exercise, check, mistakes).passed
    except CheckDefinitionError as problem:
        said = str(problem)
        place = "" if ".yaml:" in said else f"{_place(exercise, check)}: "
        raise CheckDefinitionError(f"{place}{said}") from problem
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise CheckDefinitionError(
            f"{_place(exercise, check)}: check '{check.id}' of '{exercise.id}' breaks: {reason}"
        ) from problem


def _place(exercise: Exercise, check: Check) -> str:
    return check_place(exercise.module, check.id) if exercise.module else exercise.id
