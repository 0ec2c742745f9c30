"""A tiny course, built by the real build, and a grader that goes by words in the answers."""

import json
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, patch

import autograder  # noqa: F401 - first, because it keeps nbformat from importing a parser that takes a second

# isort: split

import nbformat
from nbformat import NotebookNode

from autograder.model.course import CONFIG, Course
from autograder.model.errors import SubmissionError
from autograder.model.report import CheckReport, ExerciseReport, Outcome, Report

LESSON = "03_tiny"
TEXT = '''\
# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # A tiny lesson

# %% setup
import math

# %% [markdown]
# ### Exercise 1: double it (8 points)

# %% solution double
def double(x: float) -> float:
    """Return twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% test double 8
assert double(3) == 6, "expected 6"

# %% [markdown]
# <details><summary>Hint 1: where to start</summary>Think.</details>
#
# <details><summary>Hint 2: what is left</summary>Think again.</details>

# %% [markdown]
# ### Exercise 2: halve it (10 points)

# %% solution halve
def halve(x: float) -> float:
    """Return half of x."""
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION

# %% test halve 10
assert halve(3) == 1.5, "expected 1.5"

# %% [markdown]
# <details><summary>Hint 1: where to start</summary>Think.</details>
#
# <details><summary>Hint 2: what is left</summary>Think again.</details>

# %% [markdown]
# ### Exercise 3: why (2 points)

# %% written why 2 [markdown]
# Why does doubling lose nothing?
#
# ### BEGIN SOLUTION
# Halving undoes it.
# ### END SOLUTION
#
# ### BEGIN MARK SCHEME
# - 2: an inverse is named
# ### END MARK SCHEME
'''
RIGHT = {"double": "# right", "halve": "# right", "why": "Because."}


def make_course(root: Path) -> Course:
    """Lay out a course with the tiny lesson built, and no submissions."""
    from autograder.authoring.build import build  # it loads torch, which the workers of a pool do without

    course = Course(root)
    shutil.copy(Path(__file__).parents[1] / CONFIG, root / CONFIG)
    course.source.mkdir()
    course.text(LESSON).write_text(TEXT, encoding="utf-8")
    # the lesson has no checks to validate: the fake grader goes by words
    with patch.multiple("autograder.authoring.build", with_checks=DEFAULT, validate=DEFAULT):
        build(course, [LESSON], execute=False)
    return course


def hand_in(course: Course, student: str, **answers: str) -> Path:
    """Hand in the released notebook with these answers, keyed by exercise."""
    notebook = nbformat.read(course.release_notebook(LESSON), as_version=4)
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in answers:
            cell.source = answers[grade_id]
    path = course.submission(student, LESSON)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


@dataclass(frozen=True)
class FakeGraded:
    """What the fake grader returns."""

    report: Report
    notebook: NotebookNode
    tracebacks: dict[str, str] = field(default_factory=dict)


class FakeGrader:
    """Grades by words: `right`, `half`, `fault`; `boom` raises, `die` ends the process."""

    def __init__(self, course: Course) -> None:
        """Grade for this course."""
        self.course = course

    def __enter__(self) -> "FakeGrader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave nothing behind."""

    def grade(self, lesson: str, path: Path, settled: Report | None = None) -> FakeGraded:
        """Put the answers into the released notebook, and score each by its words, settled or not."""
        try:
            submitted = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        except (ValueError, nbformat.reader.NotJSONError) as error:
            raise SubmissionError(f"{path.name} is not a notebook") from error
        if "die" in str(submitted):
            os._exit(1)
        answers = {key: cell.source for key, cell in solutions(submitted).items()}
        return self._graded(lesson, answers)

    def grade_broken(self, lesson: str) -> FakeGraded:
        """Give `missing` throughout."""
        graded = self._graded(lesson, {})
        missing = [
            done.model_copy(update={"score": 0.0, "outcome": Outcome.MISSING})
            for done in graded.report.exercises
        ]
        return replace(graded, report=graded.report.with_exercises(missing))

    def _graded(self, lesson: str, answers: dict[str, str]) -> FakeGraded:
        notebook = nbformat.read(self.course.release_notebook(lesson), as_version=4)
        exercises = []
        for key, cell in solutions(notebook).items():
            changed = answers.get(key, cell.source) != cell.source
            cell.source = answers.get(key, cell.source)
            points = points_of(notebook, key)
            exercises.append(grade_answer(key, points, cell.source if changed else None))
        total = sum(done.score or 0.0 for done in exercises)
        report = Report(lesson=lesson, score=total, max_score=20.0, exercises=exercises)
        faults = [done.id for done in exercises if done.outcome is Outcome.GRADER_ERROR]
        tracebacks = {exercise: f"KeyError: '{exercise} broke'" for exercise in faults}
        return FakeGraded(report, notebook, tracebacks=tracebacks)


def grade_answer(key: str, points: float, answer: str | None) -> ExerciseReport:
    """Score one answer by its words; None is an unchanged skeleton."""
    if answer is None:
        return ExerciseReport(id=key, points=points, score=0.0, outcome=Outcome.UNANSWERED)
    if "boom" in answer:
        raise RuntimeError("the grader fell over")
    if key == "why":
        outcome, score = Outcome.BY_HAND, None
    elif "fault" in answer:
        outcome, score = Outcome.GRADER_ERROR, None
    elif "right" in answer:
        outcome, score = Outcome.PASSED, points
    else:
        outcome, score = Outcome.FAILED, points / 2 if "half" in answer else 0.0
    check = CheckReport(
        id="reference",
        title="It gives the right <numbers>",
        passed=outcome is Outcome.PASSED,
        message="It gave 5, not 6.",
    )
    return ExerciseReport(id=key, points=points, score=score, outcome=outcome, checks=[check])


def solutions(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Return the solution cells by exercise."""
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    return {key: cells[key] for key in RIGHT if key in cells}


def points_of(notebook: NotebookNode, key: str) -> float:
    """Return the points of an exercise."""
    for cell in notebook.cells:
        settings = cell.metadata.get("nbgrader", {})
        if settings.get("grade") and settings["grade_id"] in (key, f"{key}-test"):
            return float(settings["points"])
    raise KeyError(key)


def make_fake(course: Course, _: bool) -> Any:
    """Replace `pool.make_grader`; workers import it by name."""
    return FakeGrader(course)


def cell_text(path: Path) -> str:
    """Return the sources of all cells of a notebook."""
    return "\n".join(
        cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )
