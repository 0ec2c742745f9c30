"""Of many right answers, the search takes parts of those that are most like the student's."""

from conftest import ROOT

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course, package_of
from autograder.search.right_answers import ALIKE, MOST, most_alike, right_answers
from coursework.edits.cell import Cell

COURSE = Course(ROOT)


def test_the_likest_come_first_and_few_are_taken() -> None:
    """An answer is most like itself."""
    exercise = load_lesson(COURSE, "03_attention")["softmax"]
    for answer in right_answers("attention")["softmax"]:
        found = most_alike(exercise, Cell(answer))
        assert found[0].source == answer
        assert len(found) <= MOST


def test_what_is_like_none_gets_none() -> None:
    """Parts of something else would only cost time."""
    exercise = load_lesson(COURSE, "03_attention")["softmax"]
    assert ALIKE > 0
    assert most_alike(exercise, Cell("import os")) == []


def test_all_of_them_belong_to_an_exercise() -> None:
    """An exercise that was renamed would lose its answers in silence."""
    for name in COURSE.lessons():
        coded = {each.id for each in load_lesson(COURSE, name).exercises if not each.written}
        assert coded >= right_answers(package_of(name)).keys() > set()
    assert right_answers("no_such_lesson") == {}
