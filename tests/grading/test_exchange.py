"""nbgrader's exchange, end to end: released, fetched, handed in, collected, marked, given back."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from jupyter_core.application import NoStart
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderApp

from autograder import nbgrader_plugin
from autograder.model.course import CONFIG, Course
from autograder.model.lesson_text import read_lesson

LESSON = "03_attention"
MISTAKE = (" / math.sqrt(k.size(-1))", "")  # what a student forgets
Command = Callable[..., None]
BIN = str(Path(sys.executable).parent)

pytestmark = [pytest.mark.full("nbgrader's exchange, end to end", seconds=60), pytest.mark.sandbox]


@pytest.fixture
def exchange(tmp_path: Path) -> str:
    """A configuration that names an exchange of our own, and the course."""
    (tmp_path / "exchange").mkdir(mode=0o777)
    (tmp_path / "exchange").chmod(0o777)
    root = tmp_path / "exchange"
    return f"\nc.Exchange.root = '{root}'\nc.CourseDirectory.course_id = 'transformer'\n"


@pytest.fixture
def course(tmp_path: Path, exchange: str) -> Course:
    """The instructor's course folder: one lesson of the real course."""
    course = Course(tmp_path / "course")
    for folder in (f"source/{LESSON}", f"release/{LESSON}", "coursework", "images"):
        shutil.copytree(ROOT / folder, course.root / folder)
    shutil.copy(ROOT / "source" / f"{LESSON}.py", course.source)
    (course.root / CONFIG).write_text((ROOT / CONFIG).read_text() + exchange)
    return course


@pytest.fixture
def student(tmp_path: Path, exchange: str) -> Path:
    """A student's folder, whose configuration knows nothing of the autograder."""
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / CONFIG).write_text("c = get_config()" + exchange)
    return folder


@pytest.fixture
def nbgrader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Run one of nbgrader's own commands in a folder; it has to succeed."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    # nbgrader starts alembic by its name
    monkeypatch.setenv("PATH", os.pathsep.join([BIN, os.environ["PATH"]]))

    def run(folder: Path, *arguments: str) -> None:
        monkeypatch.chdir(folder)
        NbGraderApp.clear_instance()
        app = NbGraderApp.instance()
        code: object = 0
        try:
            app.initialize(list(arguments))
            app.start()
        except NoStart:  # how Jupyter's commands end when a subcommand has run
            pass
        except SystemExit as end:
            code = end.code
        finally:
            app.reset()
        assert not code, f"nbgrader {' '.join(arguments)} ended with {code}"

    yield run
    nbgrader_plugin.close_grader()


def answer(notebook: Path) -> None:
    """Fill in a fetched notebook: all of it right, but for one mistake."""
    lesson = read_lesson(ROOT / "source" / f"{LESSON}.py")
    content = nbformat.read(notebook, as_version=4)
    for cell in content.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution"):
            cell.source = lesson.answer(about["grade_id"]).replace(*MISTAKE)
    nbformat.write(content, notebook)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_a_lesson_goes_to_a_student_and_comes_back_marked(
    course: Course, student: Path, nbgrader: Command, tmp_path: Path
) -> None:
    """With nbgrader's commands alone; the feedback names the mistake, and gives nothing away."""
    nbgrader(course.root, "release_assignment", LESSON)
    nbgrader(student, "fetch_assignment", LESSON)
    fetched = student / LESSON / f"{LESSON}.ipynb"
    assert fetched.read_bytes() == course.release_notebook(LESSON).read_bytes()
    assert {path.name for path in (student / LESSON / "images").iterdir()} == {
        path.name for path in (course.release / LESSON / "images").iterdir()
    }
    answer(fetched)
    nbgrader(student, "submit", LESSON)
    nbgrader(course.root, "collect", LESSON)
    (name,) = (path.name for path in course.submitted.iterdir())
    nbgrader(course.root, "autograde", LESSON)
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        marks = {
            grade.name: grade for grade in book.find_submission(LESSON, name).notebooks[0].grades
        }
        assert sum(grade.score for grade in marks.values()) == 17
        assert marks["attention-scores-test"].score == 0
    nbgrader(course.root, "generate_feedback", LESSON)
    nbgrader(course.root, "release_feedback", LESSON)
    nbgrader(student, "fetch_feedback", LESSON)
    (page,) = (student / LESSON / "feedback").rglob("*.html")
    shown = page.read_text(encoding="utf-8")
    assert "√d_k" in shown
    assert "17" in shown
    assert "BEGIN HIDDEN" not in shown
