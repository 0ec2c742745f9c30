"""A lesson's text is read into cells that know their place, their answer and their skeleton.

Tags say what a cell is for; regions are found, taken out, and refused where they do not pair up.
"""

import re
from pathlib import Path

import pytest
from lesson_fixtures import lesson  # noqa: F401 - a fixture
from lesson_texts import LESSON, NAME, changed, read_text

from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import (
    VISIBLE_TESTS,
    CellKind,
    LessonCell,
    LessonText,
    Region,
    Tag,
    inside,
    labelled,
    marker_problem,
    read_lesson,
    read_tag,
    skeleton,
    tucked,
    without,
)

CODE = """def f(x):
    ### BEGIN SOLUTION
    y = x
    return y
    ### END SOLUTION"""
WRITTEN = """Why?

### BEGIN SOLUTION
Because.
### END SOLUTION

### BEGIN MARK SCHEME
- 1: because
### END MARK SCHEME"""


@pytest.mark.parametrize(
    ("title", "markdown", "tag"),
    [
        ("", True, Tag(CellKind.PROSE)),
        ("setup", False, Tag(CellKind.SETUP)),
        ("given", False, Tag(CellKind.GIVEN)),
        ("demo", False, Tag(CellKind.DEMO)),
        ("solution causal-mask", False, Tag(CellKind.SOLUTION, "causal-mask")),
        ("test causal-mask 2", False, Tag(CellKind.TEST, "causal-mask", 2.0)),
        ("test causal-mask 1.5", False, Tag(CellKind.TEST, "causal-mask", 1.5)),
        ("written recurrence 2", True, Tag(CellKind.WRITTEN, "recurrence", 2.0)),
    ],
)
def test_every_known_tag_is_read(title: str, markdown: bool, tag: Tag) -> None:
    """Each header of the format gives its kind, exercise and points."""
    assert read_tag(title, markdown=markdown) == tag


@pytest.mark.parametrize(
    ("title", "markdown", "says"),
    [
        ("", False, "code cell without a tag"),
        ("solutoin softmax", False, "unknown tag 'solutoin'"),
        ("prose", True, "unknown tag 'prose'"),
        ("written why 2", False, "add [markdown]"),
        ("demo", True, "a code cell"),
        ("test softmax", False, "# %% test ID POINTS"),
        ("solution", False, "# %% solution ID"),
        ("demo two words", False, "# %% demo"),
        ("test softmax two", False, "got 'two' for POINTS"),
    ],
)
def test_other_tags_are_refused(title: str, markdown: bool, says: str) -> None:
    """A header that is not quite one of the format says how it should read."""
    with pytest.raises(ValueError, match=re.escape(says)):
        read_tag(title, markdown=markdown)


def test_ids_come_from_exercises_and_ordinals() -> None:
    """A cell's id does not depend on what stands in it."""
    assert LessonCell(CellKind.SOLUTION, "", 1, 7, "softmax").id == "softmax"
    assert LessonCell(CellKind.TEST, "", 1, 7, "softmax").id == "softmax-test"
    assert LessonCell(CellKind.DEMO, "", 1, 7).id == "demo-7"


def test_each_line_knows_its_region() -> None:
    """Markers themselves are no lines of the text."""
    assert list(labelled(CODE)) == [
        ("def f(x):", None),
        ("    y = x", Region.SOLUTION),
        ("    return y", Region.SOLUTION),
    ]


def test_regions_come_out_alone() -> None:
    """A region is read, or left out, without the others."""
    assert inside(WRITTEN, Region.SCHEME) == "- 1: because"
    assert "because" not in without(WRITTEN, Region.SCHEME)
    assert "Because." in without(WRITTEN, Region.SCHEME)
    assert not inside(CODE, Region.SCHEME)


def test_a_skeleton_is_what_nbgrader_makes() -> None:
    """The stub stands where the region was, as deep."""
    stub = "def f(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert skeleton(CODE, markdown=False) == stub


def test_a_mark_scheme_goes_with_the_answer() -> None:
    """Once tucked in, taking the solution out takes the mark scheme out."""
    assert skeleton(tucked(WRITTEN), markdown=True) == "Why?\n\nYOUR ANSWER HERE"
    assert marker_problem(tucked(WRITTEN)) is None


@pytest.mark.parametrize(
    ("text", "offset", "says"),
    [
        ("a\n### BEGIN SOLUTION\nb", 1, "BEGIN SOLUTION without END"),
        ("a\n### END SOLUTION", 1, "END SOLUTION without BEGIN"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION", 1, "inside BEGIN SOLUTION"),
        ("### BEGIN SOLUTION\n### END MARK SCHEME", 1, "END MARK SCHEME without BEGIN"),
        ("### begin solution\n### END SOLUTION", 0, "not quite one of nbgrader's markers"),
        ("### BEGIN_SOLUTION", 0, "not quite one of nbgrader's markers"),
    ],
)
def test_markers_pair_up(text: str, offset: int, says: str) -> None:
    """The first marker that does not is named, with its line."""
    problem = marker_problem(text)
    assert problem is not None
    assert problem[0] == offset
    assert says in problem[1]


def test_good_markers_are_no_problem() -> None:
    """Several regions in a cell are fine."""
    assert marker_problem(CODE + "\n" + CODE) is None
    assert marker_problem(WRITTEN) is None


def test_cells_know_where_they_stand(lesson: LessonText) -> None:
    """Each cell's line is the one of its header in the file."""
    lines = LESSON.split("\n")
    assert [cell.line for cell in lesson.cells] == [
        number for number, line in enumerate(lines, start=1) if line.startswith("# %%")
    ]
    demo = next(cell for cell in lesson.cells if cell.kind is CellKind.DEMO)
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
    assert lesson.test("double") == f'{VISIBLE_TESTS}\nassert double(3) == 6, "expected 6"'


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


def test_a_hint_links_what_it_names_of_pytorch(tmp_path: Path) -> None:
    """Whatever its arguments are; prose outside hints, and a link that the author made, stay as they are."""
    page = "https://docs.pytorch.org/docs/stable/generated"
    hint = "# <details><summary>Hint 1: a nudge</summary>\n#\n# {}\n#\n# </details>\n"
    named = "`nn.Linear(2, 3)`, `F.silu`, `Tensor.var`, `torch.where(a, (b), c)`, `x.mean()`, [`torch.sum`](here)"
    path = tmp_path / "01_x.py"
    path.write_text(f"# %% [markdown]\n# Not `nn.Linear`.\n#\n{hint.format(named)}")
    (prose,) = read_lesson(path).cells
    assert prose.text.startswith("Not `nn.Linear`.\n")
    assert (
        f"[`nn.Linear(2, 3)`]({page}/torch.nn.Linear.html), [`F.silu`]({page}/torch.nn.functional.silu.html), "
        f"[`Tensor.var`]({page}/torch.Tensor.var.html), "
        f"[`torch.where(a, (b), c)`]({page}/torch.where.html), `x.mean()`, [`torch.sum`](here)\n"
    ) in prose.text


def test_the_number_of_a_paper_is_a_link(tmp_path: Path) -> None:
    """In prose, once; in code it stays as it is."""
    made = "[arXiv:2002.04745](https://arxiv.org/abs/2002.04745)"
    path = tmp_path / "01_x.py"
    path.write_text(f"# %% [markdown]\n# See arXiv:2002.04745, {made}.\n\n# %% demo\n# arXiv:2002.04745\n")
    prose, code = read_lesson(path).cells
    assert prose.text == f"See {made}, {made}."
    assert code.text == "# arXiv:2002.04745"
