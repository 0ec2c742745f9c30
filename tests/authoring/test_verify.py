"""Each rule of a lesson's text bites, names the cell, and lets a good lesson pass."""

from pathlib import Path

import pytest
from lesson_texts import changed, read_text

from autograder.authoring.verify import verify
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
    verify(lesson)


@pytest.mark.parametrize(("old", "new", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    """One edit that breaks one rule raises the error that says so."""
    broken = read_text(tmp_path, changed(old, new))
    with pytest.raises(LessonTextError) as caught:
        verify(broken)
    assert says in str(caught.value)
