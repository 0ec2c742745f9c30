"""Each rule of a lesson's text bites, names the cell, and lets a good lesson pass."""

from pathlib import Path

import pytest
from lesson_texts import changed, read_text

from autograder.authoring.rules import Image, check_code, check_images, check_rules, images_in, images_of
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText

BROKEN = {
    "duplicate id": ("# %% solution answers", "# %% solution double", "duplicate id: line 23"),
    "odd id": ("# %% solution double", "# %% solution Double!", "lower-case words"),
    "begin without end": ("    ### END SOLUTION\n", "", "BEGIN SOLUTION without END SOLUTION"),
    "solution in prose": ("# What is x + x?", "# ### END SOLUTION", "END SOLUTION without BEGIN"),
    "hidden tests by hand": (
        'assert set(answers) == {"two"}',
        "### BEGIN HIDDEN TESTS\nassert answers\n### END HIDDEN TESTS",
        "does not belong in a 'test' cell",
    ),
    "solution in a demo": (
        "print(double(math.pi) > 6)",
        "### BEGIN SOLUTION\nprint(1)\n### END SOLUTION",
        "does not belong in a 'demo' cell",
    ),
    "no model answer": (
        '### BEGIN SOLUTION\nanswers = {"two": "2"}\n### END SOLUTION\n',
        "",
        "no model answer",
    ),
    "test of another": ("# %% test double 12.5", "# %% test dubble 12.5", "no test after it"),
    "test without solution": ('# %% demo slide="fragment"', "# %% test half 1", "directly follows"),
    "cell between": (
        "# %% test double 12.5",
        "# %% demo\n1\n\n# %% test double 12.5",
        "no test after it: expected '# %% test double POINTS'",
    ),
    "negative points": ("# %% test double 12.5", "# %% test double -1", "not be negative, got -1"),
    "points are no number": ("# %% test double 12.5", "# %% test double nan", "negative, got nan"),
}


def test_a_good_lesson_passes(lesson: LessonText) -> None:
    """No rule objects to a lesson that keeps them all."""
    check_rules(lesson)


@pytest.mark.parametrize(("old", "new", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    """One edit that breaks one rule raises the error that says so."""
    broken = read_text(tmp_path, changed(old, new))
    with pytest.raises(LessonTextError) as caught:
        check_rules(broken)
    assert says in str(caught.value)


ASSESSED = """# # A small lesson
#
# **What is assessed** (20 points)
#
# | exercise | points | minutes |
# |---|---|---|
# | doubling | 12.5 | 10 |
# | choices | {} | 5 |
# | why | 5 | 5 |
# | stretch: more | {} | 5 |
"""


def test_the_points_of_a_right_table_pass(tmp_path: Path) -> None:
    """They are in the order of the text; a word stands where nothing counts."""
    check_rules(read_text(tmp_path, changed("# # A small lesson\n", ASSESSED.format("2.5", "not counted"))))


@pytest.mark.parametrize(
    ("points", "stretch", "says"),
    [
        ("3", "not counted", "20 points, for 12.5, 2.5, 5; it says 20, for 12.5, 3, 5"),
        ("2.5", "1", "it says 20, for 12.5, 2.5, 5, 1"),
        ("", "stretch", "it says 20, for 12.5, 5"),
    ],
)
def test_other_points_in_the_table_are_named(
    tmp_path: Path, points: str, stretch: str, says: str
) -> None:
    """A wrong number, one too many, and one too few."""
    text = read_text(tmp_path, changed("# # A small lesson\n", ASSESSED.format(points, stretch)))
    with pytest.raises(LessonTextError) as caught:
        check_rules(text)
    assert says in str(caught.value)


BROKEN_CODE = {
    "no Python": ("    return x / 2", "    return x /", "01_small.py:20: cell 'given-1': the code"),
    "skeleton is no Python": (
        "    two = 2\n    return two * x\n    ### END SOLUTION",
        "    two = (\n        2\n    ### END SOLUTION\n    )\n    return two * x",
        "cell 'double': the code does not parse",
    ),
    "import": ("import math", "import math, autograder.model.report", "never imports autograder"),
    "from import": ("import math", "from autograder import results", "never imports autograder"),
    "hidden import": ("import math", '__import__("autograder.judge")', "never imports autograder"),
    "import in a magic": ("import math", "# %time import autograder", "never imports autograder"),
}


def test_good_code_passes(lesson: LessonText) -> None:
    """Nothing to object to in a lesson that runs."""
    check_code(lesson)


@pytest.mark.parametrize(("old", "new", "says"), BROKEN_CODE.values(), ids=BROKEN_CODE)
def test_bad_code_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    """The error names the cell, and for a syntax error the line."""
    broken = read_text(tmp_path, changed(old, new))
    with pytest.raises(LessonTextError) as caught:
        check_code(broken)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "code", ["%time math.pi", "!echo hello", "await sleep(1)", "math?", "# the autograder marks it"]
)
def test_what_a_notebook_runs_is_code(tmp_path: Path, code: str) -> None:
    """Magics, shell lines, help and await at the top parse as IPython reads them."""
    line = code if code.startswith(("await", "#")) else f"# {code}"
    check_code(read_text(tmp_path, changed("import math", f"import math\n{line}")))


SHOWN = "![A square of side two](images/square.svg)"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Return a folder with the lesson's one picture."""
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "square.svg").write_text("<svg/>")
    return folder


def test_both_ways_of_showing_are_found() -> None:
    """Markdown and HTML alike, with a title or an angle bracket in the way."""
    text = '![a](images/a.svg "t") and <img src="images/b.svg" width=3 alt="b"> ![](<images/c.svg>)'
    assert list(images_in(text)) == [
        Image("a", "images/a.svg"),
        Image("", "images/c.svg"),
        Image("b", "images/b.svg"),
    ]


def test_good_pictures_pass(lesson: LessonText, images: Path) -> None:
    """A picture that is there, with alt text, is no problem."""
    check_images(lesson, images)
    assert images_of(lesson) == ["square.svg"]


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ("![](images/square.svg)", "without alt text"),
        ('<img src="images/square.svg">', "without alt text"),
        ("![A circle](images/circle.svg)", "does not exist: copy it from the project into images/, or draw it"),
        ("![A square](https://example.org/square.svg)", "needs no network"),
        ("![A square](attachment:square.svg)", "needs no network"),
        ("![A square](../images/square.svg)", "should be images/NAME"),
    ],
)
def test_bad_pictures_are_named(tmp_path: Path, images: Path, shown: str, says: str) -> None:
    """The error names the picture's line."""
    lesson = read_text(tmp_path, changed(SHOWN, shown))
    with pytest.raises(LessonTextError, match=says) as caught:
        check_images(lesson, images)
    assert caught.value.line == 9
