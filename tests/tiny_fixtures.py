"""A tiny course for each test, and its gradebook's rows as plain values."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, FakeGrader, make_course

from autograder.authoring.release import register
from autograder.grading import version
from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.reports.formgrader import graded_notebook
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission

Grades = dict[str, tuple[float | None, float | None, bool]]
ReadGrades = Callable[[str], Grades]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the tiny course once: building and registering take seconds."""
    course = make_course(tmp_path_factory.mktemp("built"))
    register(course, LESSON)
    return course.root


@pytest.fixture
def course(built: Path, tmp_path: Path) -> Course:
    """Give a copy of the built course, registered, without submissions."""
    root = tmp_path / "course"
    shutil.copytree(built, root)
    return Course(root)


def record(course: Course, *students: str) -> None:
    """Grade these students' submissions with the fake grader, and record them as a class run does."""
    with Recorder(course) as recorder:
        for student in students:
            submission = Submission(course, student, LESSON, "v")
            attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
            recorder.record(attempt, graded_notebook(notebook, attempt))


@pytest.fixture
def same_grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the grader's version constant, even if its code is edited while the tests run."""
    monkeypatch.setattr(version, "PACKAGE", tmp_path / "grader")


@pytest.fixture
def book(course: Course) -> Iterator[Gradebook]:
    """Give the course's gradebook, open."""
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as opened:
        yield opened


@pytest.fixture
def grades(course: Course) -> ReadGrades:
    """Give a function: a student's auto score, manual score and needs-manual, by cell."""

    def read(student: str) -> Grades:
        with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as opened:
            notebook = opened.find_submission_notebook(LESSON, LESSON, student)
            return {
                row.name: (row.auto_score, row.manual_score, row.needs_manual_grade)
                for row in notebook.grades
            }

    return read
