"""A lesson's text is read into cells that know their place, their answer and their skeleton."""

from pathlib import Path

import pytest
from lesson_texts import LESSON, NAME, changed, read_text

from autograder.model.errors import LessonTextError
from autograder.text.cells import Kind
from autograder.text.lesson import LessonText, read_lesson


def test_cells_know_where_they_stand(lesson: LessonText) -> None:
    """Each cell's line is the one of its header in the file."""
    lines = LESSON.split("\n")
    assert [cell.line for cell in lesson.cells] == [
        number for number, line in enumerate(lines, start=1) if line.startswith("# %%")
    ]
    demo = next(cell for cell in lesson.cells if cell.kind is Kind.DEMO)
    assert lines[demo.line - 1] == '# %% demo slide="fragment"'
    assert lines[demo.line] == demo.text
    assert demo.slide == "fragment"


def test_exercises_come_in_order_with_their_points(lesson: LessonText) -> None:
    """Code exercises have the points of their test, written ones their own."""
    assert lesson.name == NAME
    assert [(each.id, each.points, each.written) for each in lesson.exercises] == [
        ("double", 12.5, False),
        ("answers", 2.5, False),
        ("why", 5.0, True),
    ]
    assert lesson.points == 20


def test_answers_and_skeletons(lesson: LessonText) -> None:
    """An answer is the cell without its markers, a skeleton the cell with nbgrader's stub."""
    assert lesson.answer("double").endswith(
        '"""Return twice x."""\n    two = 2\n    return two * x'
    )
    assert lesson.skeleton("double").endswith(
        '"""Return twice x."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    )
    assert "Halving undoes it." in lesson.answer("why")
    assert "inverse" not in lesson.answer("why")
    assert lesson.skeleton("why").endswith("YOUR ANSWER HERE")
    assert lesson.mark_scheme("why") == "- 5: an inverse is named"
    assert lesson.test("double") == 'assert double(3) == 6, "expected 6"'


def test_an_unknown_exercise_names_the_known_ones(lesson: LessonText) -> None:
    """A typing mistake in an id is answered with the ids there are."""
    with pytest.raises(LessonTextError, match=r"'doubel'.*double, answers, why"):
        lesson.answer("doubel")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("# %% setup", "# %% startup", r"01_small.py:11: cell 'startup': unknown tag"),
        ("# %% setup", "# %%", r"01_small.py:11: code cell without a tag"),
        ('slide="fragment"', 'slide="fragmnt"', r"slide should be one of .* got 'fragmnt'"),
        ('slide="fragment"', 'tgas=["x"]', r"unknown metadata tgas"),
        ("# ---\n\n# %%", "# ---\nimport os\n\n# %%", r"text before the first one"),
    ],
)
def test_what_is_not_of_the_format_is_refused(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    """The error names the file, the line and the cell."""
    text = LESSON.replace(old, new, 1)
    assert text != LESSON
    with pytest.raises(LessonTextError, match=says):
        read_text(tmp_path, text)


def test_no_file_is_an_error_of_ours(tmp_path: Path) -> None:
    """A lesson that does not exist is told in one line."""
    with pytest.raises(LessonTextError, match="no such lesson text"):
        read_lesson(tmp_path / "09_nothing.py")


def test_magics_are_code(tmp_path: Path) -> None:
    """The text form comments magics out; the cell has them as they run."""
    text = changed("import math", "import math\n# %matplotlib inline")
    assert read_text(tmp_path, text).cells[1].text == "import math\n%matplotlib inline"
