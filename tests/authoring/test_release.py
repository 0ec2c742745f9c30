"""A lesson is released, and recorded in the gradebook, as nbgrader would; a release gives nothing away."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lesson_texts import NAME, changed
from nbgrader.api import Gradebook

from autograder.authoring.build import assemble, build
from autograder.authoring.notebook import as_text, instructor_notebook, read_notebook
from autograder.authoring.release import check_release, generate_assignment, register
from autograder.model.course import Course
from autograder.model.errors import CourseError, LessonTextError
from autograder.model.lesson_text import LessonText
from autograder.model.nbgrader_config import programs_on_path


def _points(course: Course) -> dict[str, float]:
    with Gradebook(f"sqlite:///{course.gradebook}", "tiny") as gradebook:
        assert gradebook.find_assignment(NAME).course_id == "tiny"
        cells = gradebook.find_notebook(NAME, NAME).grade_cells
        return {cell.name: cell.max_score for cell in cells}


def test_a_lesson_is_recorded_once(course: Course) -> None:
    """Points of every exercise, under the course's own id; again changes nothing; no release."""
    build(course, execute=False)
    released = course.release_notebook(NAME)
    released.unlink()
    register(course, NAME)
    register(course, NAME)
    assert _points(course) == {"double-test": 12.5, "answers-test": 2.5, "why": 5.0}
    assert not released.exists()


@pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own use of sqlalchemy
def test_marks_outlive_a_second_time(course: Course) -> None:
    """Recording again keeps submissions; another set of exercises is then refused."""
    build(course, execute=False)
    register(course, NAME)
    with Gradebook(f"sqlite:///{course.gradebook}", "tiny") as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission(NAME, "ada")
    register(course, NAME)
    with Gradebook(f"sqlite:///{course.gradebook}", "tiny") as gradebook:
        assert gradebook.find_submission(NAME, "ada").max_score == 20
    course.text(NAME).write_text(changed("written why 5", "written because 5"))
    build(course, execute=False)
    with pytest.raises(CourseError, match="Cannot add or remove cells"):
        register(course, NAME)


def test_a_lesson_has_to_be_built_first(course: Course) -> None:
    """Without an instructor's notebook there is nothing to record, and no gradebook is made."""
    with pytest.raises(CourseError, match="run 'autograder build'"):
        register(course, NAME)
    assert not course.gradebook.exists()


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
    folder = generate_assignment(staged.root, NAME)
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
        generate_assignment(staged.root, NAME)


def test_a_lesson_that_is_not_there_says_so(staged: Course) -> None:
    """No notebook matches: told as nbgrader tells it, without a traceback."""
    with pytest.raises(CourseError, match="No notebooks were matched"):
        generate_assignment(staged.root, "09_nothing")


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


@pytest.fixture
def released(course: Course, tmp_path: Path) -> Any:
    """Return the lesson's notebook as nbgrader releases it."""
    path = tmp_path / "released.ipynb"
    path.write_bytes(assemble(course, NAME).files[Path("release", NAME, f"{NAME}.ipynb")])
    return read_notebook(path)


def _append(cell_id: str, text: str) -> Callable[[Any], None]:
    def edit(notebook: Any) -> None:
        cell = next(cell for cell in notebook.cells if cell.id == cell_id)
        cell.source += f"\n{text}"

    return edit


def _output(notebook: Any) -> None:
    cell = next(cell for cell in notebook.cells if cell.id == "demo-1")
    cell.outputs = [{"output_type": "stream", "name": "stdout", "text": "True"}]


LEAKS = {
    "marker": (_append("double", "### END SOLUTION"), "cell 'double': the release still shows the marker"),
    "marker in prose": (_append("prose-3", "### BEGIN HIDDEN TESTS"), "shows the marker"),
    "hidden test": (_append("double-test", 'grade("01_small/double")'), "shows its hidden test"),
    "one line": (_append("double", "return two * x"), "model answer's 'return two * x'"),
    "an answers exercise": (_append("answers", 'answers = {"two": "2"}'), "the model answer's"),
    "a written answer": (_append("why", "Halving undoes it."), "the model answer's"),
    "a mark scheme": (_append("why", "- 5: an inverse is named"), "the model answer's"),
    "an answer in a hint": (
        _append("prose-3", "    two = 2\n    return two * x"),
        "cell 'prose-3': the release shows the whole model answer of 'double'",
    ),
    "an output": (_output, "the release shows an output"),
}


def test_what_nbgrader_releases_passes(lesson: LessonText, released: Any) -> None:
    """No rule objects to nbgrader's own work."""
    check_release(lesson, released)


@pytest.mark.parametrize(("leak", "says"), LEAKS.values(), ids=LEAKS)
def test_a_leak_is_named(lesson: LessonText, released: Any, leak: Callable[[Any], None], says: str) -> None:
    """Whatever is left over stops the build, with the cell's id."""
    leak(released)
    with pytest.raises(LessonTextError) as caught:
        check_release(lesson, released)
    assert says in str(caught.value)
