"""nbgrader's own commands use our grader and leave the same scores as a class run."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.application import NoStart
from nbgrader.apps import NbGraderApp
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from rich.console import Console
from tiny_course import LESSON, RIGHT, FakeGrader, cell_text, hand_in, make_fake
from tiny_fixtures import ReadGrades, book, built, course, grades, same_grader  # noqa: F401 - fixtures

from autograder import nbgrader_plugin
from autograder.grading.class_run import grade_lesson
from autograder.model.course import Course
from autograder.model.errors import SandboxMissingError
from autograder.storage import autograded
from autograder.storage.attempts import AttemptLog
from autograder.storage.nbgrader_api import settings

Command = Callable[..., int]
pytestmark = pytest.mark.usefixtures("same_grader")


@pytest.fixture
def nbgrader(course: Course, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Give nbgrader's command line, run in the course's folder with the tiny grader."""
    monkeypatch.setattr(nbgrader_plugin, "make_grader", make_fake)
    monkeypatch.chdir(course.root)

    def run(*arguments: str) -> int:
        NbGraderApp.clear_instance()
        app = NbGraderApp.instance()
        try:
            app.initialize(list(arguments))
            app.start()
        except NoStart:  # how Jupyter's commands end when a subcommand has run
            return 0
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            app.reset()
        return 0

    yield run
    nbgrader_plugin.close_grader()


def test_scores_equal_those_of_a_class_run(
    course: Course, nbgrader: Command, grades: ReadGrades
) -> None:
    """For right, half, unanswered, broken, faulty and failing submissions alike."""
    hand_in(course, "right", **RIGHT)
    hand_in(course, "half", double="# half", why="So.")
    hand_in(course, "unanswered")
    hand_in(course, "broken").write_text("{")
    hand_in(course, "faulty", double="# fault", halve="# right")
    hand_in(course, "failing", double="# boom")
    assert nbgrader("autograde", LESSON) == 0
    students = [attempt.student for attempt in AttemptLog(course.reports)]
    assert sorted(students) == ["broken", "failing", "faulty", "half", "right", "unanswered"]
    nbgraders = {student: grades(student) for student in students}
    pages = {student: _shown(course, student) for student in students}
    grade_lesson(course, LESSON, workers=1, force=True, console=Console(quiet=True), make=make_fake)
    assert {student: grades(student) for student in students} == nbgraders
    assert {student: _shown(course, student) for student in students} == pages


def _shown(course: Course, student: str) -> str:
    return cell_text(course.autograded / student / LESSON / f"{LESSON}.ipynb")


def test_a_class_run_skips_what_nbgrader_graded(course: Course, nbgrader: Command) -> None:
    """Both write the same log and the same folder."""
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON) == 0
    said = StringIO()
    grade_lesson(course, LESSON, workers=1, console=Console(file=said), make=make_fake)
    assert said.getvalue().splitlines()[0] == f"{LESSON}: 0 submissions to grade, 1 graded before"


def test_a_newer_submission_leaves_no_older_score(
    course: Course, nbgrader: Command, grades: ReadGrades
) -> None:
    """Not even if the newer file is broken, or if only one student is graded."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", **RIGHT)
    assert nbgrader("autograde", LESSON) == 0
    hand_in(course, "alice").write_text("{")
    hand_in(course, "bob")
    assert nbgrader("autograde", LESSON, "--student=alice", "--force") == 0
    assert {row[0] for row in grades("alice").values()} == {0.0}
    assert not any(row[2] for row in grades("alice").values())
    assert grades("bob")["double-test"] == (8.0, None, False)


def test_feedback_and_export_follow(course: Course, nbgrader: Command) -> None:
    """Nbgrader's next commands work on the result."""
    hand_in(course, "alice", double="# half")
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("generate_feedback", LESSON) == 0
    page = (course.feedback / "alice" / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    assert "It gave 5, not 6." in page
    assert nbgrader("export", "--to=grades.csv") == 0
    header, row = (course.root / "grades.csv").read_text().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["score"] == "4.0"


def test_without_a_sandbox_the_command_ends_with_one_line(
    course: Course,
    nbgrader: Command,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """No submission is graded."""

    def refuse(*_: object) -> Any:
        raise SandboxMissingError("bubblewrap is not there: install it")

    hand_in(course, "alice", **RIGHT)
    monkeypatch.setattr(nbgrader_plugin, "make_grader", refuse)
    assert nbgrader("autograde", LESSON) == 1
    heard = capfd.readouterr().err
    assert "bubblewrap is not there: install it" in heard
    assert "Traceback" not in heard
    assert not course.autograded.exists()
    assert list(AttemptLog(course.reports)) == []


def test_the_option_allows_grading_without_a_sandbox(course: Course, nbgrader: Command) -> None:
    """The option reaches the grader, and the attempt says so."""
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON, "--SubmissionExporter.sandboxed=False") == 0
    assert [a.sandboxed for a in AttemptLog(course.reports)] == [False]


def test_one_grader_serves_a_command(
    course: Course, nbgrader: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started once for all submissions, again for a changed lesson, and closed."""
    made: list[str] = []

    class Counted(FakeGrader):
        """Counts its beginnings and ends."""

        def __enter__(self) -> FakeGrader:
            made.append("start")
            return self

        def __exit__(self, *_: object) -> None:
            made.append("end")

    monkeypatch.setattr(nbgrader_plugin, "make_grader", lambda course, _: Counted(course))
    hand_in(course, "alice")
    hand_in(course, "bob")
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("autograde", LESSON, "--force") == 0
    assert made == ["start"]
    text = course.text(LESSON)
    text.write_text(text.read_text() + "\n")
    assert nbgrader("autograde", LESSON, "--force") == 0
    assert made == ["start", "end", "start"]


@pytest.mark.usefixtures("nbgrader")
def test_the_formgraders_button_grades_as_well(course: Course, grades: ReadGrades) -> None:
    """The button calls the converter with the course's settings, not the command line."""
    hand_in(course, "alice", double="# fault")
    config = settings(course)
    folder = CourseDirectory(config=config, assignment_id=LESSON, student_id="alice")
    converter = Autograde(coursedir=folder, config=config)
    converter.force = True
    converter.start()
    assert grades("alice")["double-test"] == (None, None, True)
    stored = autograded.stored_attempt(course, "alice", LESSON)
    assert stored is not None
    assert stored.student == "alice"


@pytest.mark.slow
def test_other_commands_do_without_the_autograder(course: Course, tmp_path: Path) -> None:
    """generate_assignment works and imports none of our code."""
    blocked = tmp_path / "blocked" / "autograder"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text('raise ImportError("not wanted here")')
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", LESSON, "--force"],
        cwd=course.root,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(blocked.parent), "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "BEGIN SOLUTION" not in cell_text(course.release_notebook(LESSON))
