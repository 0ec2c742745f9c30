"""Every kind of change has a title, which says what is wrong with the answer and not what belongs there."""

from functools import cache

import pytest
from conftest import ROOT

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.search.titles import titles
from coursework.edits.cell import Cell, CodeEdit
from coursework.edits.generic import generic_edits
from coursework.edits.places import VAGUE

ATTENTION = "def attend(x):\n    w = torch.softmax(x @ x.mT, dim=0)\n    return w.transpose(1, 2) @ x\n"


@cache
def edits(answer: str) -> dict[str, CodeEdit]:
    """Return one edit of each kind."""
    return {each.what: each for each in generic_edits(Cell(answer))}


@pytest.mark.parametrize("lesson", Course(ROOT).lessons())
def test_every_kind_of_change_has_a_title(lesson: str) -> None:
    """Only kinds that say nothing themselves have none unless asked for, and no title has a gap in it."""
    for exercise in load_lesson(Course(ROOT), lesson).exercises:
        if exercise.written:
            continue
        for what, edit in edits(exercise.answer).items():
            found = titles([edit], Cell(exercise.answer))
            assert len(found) == (what not in VAGUE), what
            found = titles([edit], Cell(exercise.answer), even_vague=True)
            assert len(found) == 1
            assert not any(gap in each.title for each in found for gap in ("``", "{", "None"))


@pytest.mark.parametrize(
    ("old", "new", "what", "said"),
    [
        ("0", "-1", "another `dim`", "`softmax` gets the wrong dimension (line 2)"),
        ("x.mT", "x", "one call fewer", "There is one call too many (line 2)"),
        ("transpose", "permute", "another call than `transpose`", "`transpose` is the wrong function here (line 3)"),
        ("1, 2", "0, 1", "other dimensions", "`transpose` gets the wrong dimension (line 3)"),
        ("torch.softmax", "F.softmax", "another number", "The number is wrong (line 2)"),
    ],
)
def test_a_title_names_what_the_student_wrote(old: str, new: str, what: str, said: str) -> None:
    """The call around a change is named, and the line; the right value is not."""
    start = ATTENTION.index(old)
    line = ATTENTION[:start].count("\n") + 1
    edit = CodeEdit(((start, start + len(old), new),), line, line, what)
    [found] = titles([edit], Cell(ATTENTION))
    assert found.title == said
    assert found.hint
