"""The real lesson through the real marker: a class run and nbgrader's command give equal marks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from autograder.authoring.build import build
from autograder.grading.loop import grade_lesson
from autograder.grading.pool import Pool
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.lesson_text import read_lesson
from autograder.model.report import Outcome, Report
from autograder.storage.attempts import AttemptLog
from autograder.storage.recorder import stored_attempt

LESSON = "03_attention"
HOME = Path(__file__).parents[2]

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Build the lesson in a course of its own, with five students' submissions."""
    course = Course(tmp_path_factory.mktemp("course"))
    shutil.copy(HOME / CONFIG, course.root / CONFIG)
    for folder in ("images", "coursework"):
        shutil.copytree(HOME / folder, course.root / folder)
    course.source.mkdir()
    shutil.copy(HOME / "source" / f"{LESSON}.py", course.source)
    build(course, [LESSON], execute=False)
    right = read_lesson(course.text(LESSON))
    answers = {ex.id: right.answer(ex.id) for ex in right.exercises}
    hand_in(course, "right", answers)
    hand_in(course, "untouched", {})
    hand_in(course, "wrong", answers | {"causal-mask": "def causal_mask(size):\n    return None"})
    unscaled = "def attention_scores(q, k):\n    return q @ k.transpose(-2, -1)"
    hand_in(course, "near", answers | {"attention-scores": unscaled})
    hand_in(course, "broken", {}).write_text("not a notebook")
    return course


def hand_in(course: Course, student: str, answers: dict[str, str]) -> Path:
    """Hand in the released notebook with these answers."""
    notebook = nbformat.read(course.release_notebook(LESSON), as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    path = course.submission(student, LESSON)
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
    return path


def marks(course: Course) -> dict[str, dict[str, tuple[float | None, bool]]]:
    """Return every student's automatic scores and what waits for a person."""
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        return {
            row.student.id: {g.name: (g.auto_score, g.needs_manual_grade) for g in row.grades}
            for row in book.notebook_submissions(LESSON, LESSON)
        }


def run_of_class(course: Course, workers: int = 1) -> list[Attempt]:
    """Grade the class, whether it was graded before or not, and return the attempts."""
    quiet = Console(quiet=True)
    with Pool(workers, sandboxed=True) as pool:
        return [*grade_lesson(course, LESSON, pool, force=True, console=quiet)]


def graded(course: Course, workers: int) -> dict[str, Report]:
    """Grade the class, and return the reports."""
    return {attempt.student: attempt.report for attempt in run_of_class(course, workers)}


def checked(course: Course, student: str) -> Report:
    """Return what `autograder check --json` prints."""
    path = course.submission(student, LESSON)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "--course", course.root, "check", "--json", path],
        capture_output=True,
        text=True,
        check=True,
    )
    return Report.model_validate_json(done.stdout)


@pytest.mark.full("grades a notebook in every way", seconds=30)
def test_every_way_gives_the_same_scores(course: Course) -> None:
    """A class run, another with two workers, `check` and nbgrader's own command agree on everything."""
    first, second = graded(course, 1), graded(course, 2)
    assert first == second
    for student in ("right", "untouched", "wrong", "near"):
        assert checked(course, student) == first[student]
    assert first["near"].exercise("attention-scores").misconceptions


def test_a_class_run_gives_right_marks_and_points_at_the_line(course: Course) -> None:
    """Right answers get full marks, wrong ones lose them, broken files get nought."""
    attempts = {each.student: each for each in run_of_class(course)}
    lesson = read_lesson(course.text(LESSON))
    points = sum(ex.points for ex in lesson.exercises if not ex.written)
    assert attempts["right"].report.score == points
    assert attempts["wrong"].report.exercise("causal-mask").score == 0
    assert attempts["wrong"].report.score == points - 2
    assert {done.outcome for done in attempts["untouched"].report.exercises} == {Outcome.UNANSWERED}
    assert {done.outcome for done in attempts["broken"].report.exercises} == {Outcome.MISSING}
    assert all(course.feedback_page(student, LESSON).is_file() for student in attempts)
    near = AttemptLog(course.reports).last("near", LESSON)
    assert near == stored_attempt(course, "near", LESSON)
    assert [each.first for each in near.report.exercise("attention-scores").lines or ()] == [2]
    page = course.feedback_page("near", LESSON).read_text()
    assert "in line 2." in page
    assert "math.sqrt" not in page
    assert "math.sqrt" in near.changes["attention-scores"]


@pytest.mark.full("nbgrader's command on a real lesson; on the tiny one it is tried in every run", seconds=30)
def test_both_ways_give_equal_marks(course: Course) -> None:
    """A class run and nbgrader's command write the same marks, and the same attempt."""
    run_of_class(course)
    near, ours = AttemptLog(course.reports).last("near", LESSON), marks(course)
    course.gradebook.unlink()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", LESSON, "--force"],
        cwd=course.root,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert marks(course) == ours
    again = AttemptLog(course.reports).last("near", LESSON)
    assert again == stored_attempt(course, "near", LESSON)
    assert again.report.exercise("attention-scores") == near.report.exercise("attention-scores")
