"""nbgrader's own converter makes the release, quietly, and its failures become ours."""

import json
import os
from pathlib import Path

import pytest
from lesson_texts import NAME

from autograder.authoring.nbgrader_release import generate, programs_on_path
from autograder.authoring.notebook import as_text, instructor_notebook
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.lesson_text import LessonText


@pytest.fixture
def staged(tmp_path: Path, lesson: LessonText) -> Course:
    """Return a course folder that holds the instructor's notebook and nothing else."""
    stage = Course(tmp_path / "stage")
    stage.source_notebook(NAME).parent.mkdir(parents=True)
    stage.source_notebook(NAME).write_text(as_text(instructor_notebook(lesson)))
    return stage


def test_a_release_needs_no_gradebook(staged: Course, capfd: pytest.CaptureFixture[str]) -> None:
    """One notebook comes out; no database is made and nothing is said."""
    here = Path.cwd()
    folder = generate(staged.root, NAME)
    sources = ["".join(cell["source"]) for cell in _cells(folder)]
    assert any("raise NotImplementedError()" in source for source in sources)
    assert not any("BEGIN" in source for source in sources)
    assert not staged.gradebook.exists()
    assert capfd.readouterr() == ("", "")
    assert Path.cwd() == here


def test_a_failure_says_why(staged: Course) -> None:
    """The reason that nbgrader logged is in the error, in one line."""
    path = staged.source_notebook(NAME)
    same = '"grade_id": "{}-test"'.format
    path.write_text(path.read_text().replace(same("answers"), same("double")))
    with pytest.raises(CourseError, match=r"could not release '01_small': .*failed to validate"):
        generate(staged.root, NAME)


def test_a_lesson_that_is_not_there_says_so(staged: Course) -> None:
    """No notebook matches: told as nbgrader tells it, without a traceback."""
    with pytest.raises(CourseError, match="No notebooks were matched"):
        generate(staged.root, "09_nothing")


def test_the_path_is_put_back() -> None:
    """Programs beside Python are found inside, and the variable is as it was after."""
    before = os.environ["PATH"]
    with programs_on_path():
        assert os.environ["PATH"].endswith(before)
        assert os.environ["PATH"] != before
    assert os.environ["PATH"] == before


def _cells(folder: Path) -> list[dict[str, list[str]]]:
    notebook = json.loads((folder / f"{NAME}.ipynb").read_text())
    cells: list[dict[str, list[str]]] = notebook["cells"]
    return cells
