"""Honest answers in the forms that students and notebooks bring earn every point and leave no incident.

Each file of `submissions/honest` begins with the lesson and the exercise. A line `# %%` ends a cell of the
student's own; the last cell is the answer. The forms are right answers whose decorators, imports,
self-tests, magics, threads, hooks and names a search for excluded functions might mistake for an evasion.
"""

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from conftest import solve

from autograder.grading.grader import Grader
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise, Lesson
from autograder.model.report import ExerciseReport, Outcome, Report

pytestmark = pytest.mark.sandbox

FORMS = sorted((Path(__file__).parents[1] / "submissions" / "honest").glob("*.txt"))
AT_LEAST = 80
LESSONS = 8
# What a form leaves in the list of incidents: it does start a process, which costs it nothing.
NOTED = {"softmax-os-system": ["started-process"]}


def read_form(path: Path) -> tuple[str, str, list[str]]:
    """Return the lesson, the exercise and the cells of a form, the answer last."""
    first, _, text = path.read_text(encoding="utf-8").partition("\n")
    lesson, exercise = first.lstrip("# ").split()
    return lesson, exercise, [cell.strip("\n") for cell in text.split("\n# %%\n")]


@pytest.fixture
def graded(tmp_path: Path, grader: Grader, course: Course) -> Callable[[Path], Report]:
    """Give a function that grades one form, in a notebook that holds nothing else but what it calls."""

    def grade(form: Path) -> Report:
        lesson, exercise, (*helpers, answer) = read_form(form)
        known = load_lesson(course, lesson)
        called = {other.id for other in _called(known, known[exercise], [*helpers, answer])}
        notebook = solve(course, lesson, {exercise: lambda _: answer})
        kept = []
        for cell in notebook.cells:
            about = cell.metadata.get("nbgrader", {})
            name = about.get("grade_id")
            if name == exercise:
                kept += [nbformat.v4.new_code_cell(helper) for helper in helpers]
            given = about.get("locked") and not about.get("grade")
            if given or name in {exercise, f"{exercise}-test", *called}:
                kept.append(cell)
        notebook.cells = kept
        path = tmp_path / f"{lesson}.ipynb"
        nbformat.write(notebook, path)
        return grader.grade(lesson, path).report

    return grade


def _called(lesson: Lesson, exercise: Exercise, cells: list[str]) -> set[Exercise]:
    """Return the earlier exercises that some cells call, and those that these call."""
    found: set[Exercise] = set()
    for other in lesson.upstream(exercise):
        if any(re.search(rf"\b{other.name}\b", cell) for cell in cells):
            found |= {other, *_called(lesson, other, [other.answer])}
    return found


MORE = pytest.mark.full("all forms: minutes in the sandbox", seconds=1)
PARAMETERS = [
    pytest.param(form, id=form.stem, marks=[] if number % 6 == 0 else [MORE]) for number, form in enumerate(FORMS)
]


@pytest.mark.parametrize("form", PARAMETERS)
def test_an_honest_form_keeps_every_point(form: Path, graded: Callable[[Path], Report]) -> None:
    """Every check passes, and the instructor is told of nothing."""
    report = graded(form)
    exercise = report.exercise(read_form(form)[1])
    assert _said(exercise) == {}
    assert (exercise.outcome, exercise.score) == (Outcome.PASSED, exercise.points)
    assert [str(each.kind) for each in report.incidents] == NOTED.get(form.stem, [])


def _said(exercise: ExerciseReport) -> dict[str, str]:
    return {check.id: check.message for check in exercise.failures}


def test_there_are_enough_forms_where_something_is_excluded(course: Course) -> None:
    """At least half of the forms answer an exercise that excludes library functions; no lesson is left out."""
    places = [read_form(form)[:2] for form in FORMS]
    excluding = [place for place in places if load_lesson(course, place[0])[place[1]].excludes]
    assert len(FORMS) >= AT_LEAST
    assert len(excluding) >= len(FORMS) / 2
    assert len({lesson for lesson, _ in places}) == LESSONS
