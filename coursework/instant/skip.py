"""`skip("softmax")`: go on without an exercise, with a right version in its place."""

import __future__

import math
import os
import sys
from typing import Any

from coursework.console import say, with_capital
from coursework.instant.exercises import PublicExercise, exercises_of, notebook_file
from coursework.instant.notebook import exercise_named, meant, name_of, runs_of

DONE = "{name} is skipped: a stand-in does its work in this notebook. Grading reads its cell as it stands."
NOTHING = "{title}: nothing below needs it, so go on without it. Grading reads its cell as it stands."
NOT_TESTED = "{name} is skipped, so this test has nothing to test."
UNKNOWN = "There is no exercise '{name}'. {meant}check() lists the exercises of this lesson."
WHICH = "Say which exercise to skip{example}. check() lists the exercises of this lesson."


def skip(*answers: Any) -> None:
    """Bind a right version of what each exercise defines in the caller's names, and say so in one line each.

    An answer is given by the exercise's id, by the name of what it defines, or as the object itself. Grading
    reads the exercise's cell as it stands.
    """
    names = sys._getframe(1).f_globals
    for answer in answers:
        _skip(answer, names)
    if not answers:
        file = notebook_file(names)
        here = exercises_of(file.stem) if file else ()
        example = next((f', such as skip("{each.name}")' for each in here if each.stand_in), "")
        say(WHICH.format(example=example))


def _skip(name: Any, names: dict[str, Any]) -> None:
    """Skip one exercise."""
    name = name_of(name, names)
    exercise = exercise_named(name, names)
    if exercise is None:
        say(UNKNOWN.format(name=name, meant=meant(name).replace("`", "'")))
        return
    if not exercise.stand_in:
        say(NOTHING.format(title=with_capital(exercise.title)))
        return
    stand_in = made(exercise)
    names[exercise.name] = stand_in
    if runs := runs_of(names):
        runs.skip(exercise, stand_in)
    say(DONE.format(name=exercise.name))


class SkippedError(Exception):
    """A visible test was run of an exercise that is skipped."""


def not_tested(name: str) -> None:
    """Say that an exercise is skipped, where its visible test would run; to `nbgrader validate`, raise it."""
    if "NBGRADER_VALIDATING" in os.environ:
        raise SkippedError(NOT_TESTED.format(name=name))
    say(NOT_TESTED.format(name=name))


def made(exercise: PublicExercise) -> Any:
    """Return the stand-in of an exercise, made in a scope of its own."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    # By the name of its module it is known as ours, which no check takes for an answer.
    scope: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "math": math, "__name__": "coursework.skipped"}
    flags = __future__.annotations.compiler_flag
    exec(compile(exercise.stand_in, f"<stand-in for {exercise.name}>", "exec", flags), scope)  # noqa: S102 - ours
    return scope[exercise.name]
