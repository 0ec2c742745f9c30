"""A release that shows what only the instructor should see is never written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lesson_texts import NAME

from autograder.authoring.build import assemble
from autograder.authoring.files import read_notebook
from autograder.authoring.verify_release import verify_release
from autograder.model.course import Course
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText


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
    "marker": (
        _append("double", "### END SOLUTION"),
        "cell 'double': the release still shows the marker",
    ),
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
    verify_release(lesson, released)


@pytest.mark.parametrize(("leak", "says"), LEAKS.values(), ids=LEAKS)
def test_a_leak_is_named(
    lesson: LessonText, released: Any, leak: Callable[[Any], None], says: str
) -> None:
    """Whatever is left over stops the build, with the cell's id."""
    leak(released)
    with pytest.raises(LessonTextError) as caught:
        verify_release(lesson, released)
    assert says in str(caught.value)
