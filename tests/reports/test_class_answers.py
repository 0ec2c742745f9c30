"""Answers are read from graded notebooks, and a known mistake is shown in the model answer."""

import json
from pathlib import Path

import pytest

from autograder.model.course import Course
from autograder.model.lesson_text import read_lesson
from autograder.reports.class_answers import LONGEST, StudentAnswer, read_answers, with_mistake
from autograder.reports.safe_html import inert

LESSON = "03_attention"


def _cell(name: str, source: str, kind: str = "code") -> dict[str, object]:
    about = {"nbgrader": {"grade_id": name, "solution": True}}
    return {"cell_type": kind, "source": source, "metadata": about}


def _hand_in(course: Course, student: str, text: str) -> None:
    path = course.autograded_notebook(student, LESSON)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def test_code_and_prose_are_read_by_exercise_and_student(tmp_path: Path) -> None:
    """Prose comes without the markup that a graded notebook gives it; other cells are not read."""
    course = Course(tmp_path)
    cells = [
        _cell("softmax", "def softmax(x):\n    pass"),
        _cell("why", inert("Because *heads*\ncan't < see."), "markdown"),
        {"cell_type": "code", "source": "x", "metadata": {}},
    ]
    _hand_in(course, "ada", json.dumps({"cells": cells}))
    found = read_answers(course, LESSON, ["ada", "nobody"])
    assert found.given["softmax"] == {"ada": StudentAnswer("def softmax(x):\n    pass", is_code=True)}
    assert found.given["why"]["ada"].text.split() == ["Because", "heads", "can't", "<", "see."]
    assert found.given.keys() == {"softmax", "why"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"cells": [{"metadata": 1}]}', '{"cells": [1]}'])
def test_a_damaged_notebook_has_no_answers(tmp_path: Path, text: str) -> None:
    """The report is made all the same."""
    course = Course(tmp_path)
    _hand_in(course, "ada", text)
    assert read_answers(course, LESSON, ["ada"]).given == {}


def test_a_long_answer_is_cut(tmp_path: Path) -> None:
    """Nobody writes more by hand than is read."""
    course = Course(tmp_path)
    _hand_in(course, "ada", json.dumps({"cells": [_cell("softmax", "x" * 10 * LONGEST)]}))
    assert len(read_answers(course, LESSON, ["ada"]).given["softmax"]["ada"].text) == LONGEST


def test_skeleton_and_model_answer_are_known() -> None:
    """They come from the course folder; without a lesson there is nothing known."""
    home = Course.find(Path(__file__).parent)
    known = read_answers(home, LESSON, []).known["causal-mask"]
    assert "raise NotImplementedError" in known[0].text
    assert "raise NotImplementedError" not in known[1].text
    assert read_answers(home, "99_nothing", []).known == {}


def test_a_known_mistake_is_shown_in_the_model_answer() -> None:
    """It differs from the model answer by the edit of the catalogue, whatever students wrote."""
    home = Course.find(Path(__file__).parent)
    model = read_lesson(home.text(LESSON)).answer("attention-scores")
    assert " / math.sqrt(k.size(-1))" in model
    shown = with_mistake(home, LESSON, "attention-scores", "scale-missing")
    assert shown == model.replace(" / math.sqrt(k.size(-1))", "")


@pytest.mark.parametrize(
    ("lesson", "exercise", "mistake"),
    [
        (LESSON, "attention-scores", "not-allowed"),
        (LESSON, "no-such-exercise", "scale-missing"),
        ("99_nothing", "attention-scores", "scale-missing"),
    ],
)
def test_what_the_catalogue_does_not_have_is_not_shown(lesson: str, exercise: str, mistake: str) -> None:
    """Such as a use of what is excluded, or a mistake of an exercise that has been renamed since."""
    assert with_mistake(Course.find(Path(__file__).parent), lesson, exercise, mistake) == ""


def test_where_the_courses_own_answer_has_no_place_for_the_edit_nothing_is_shown(tmp_path: Path) -> None:
    """The page is made all the same; `autograder build` is what stops there."""
    home, own = Course.find(Path(__file__).parent), Course(tmp_path)
    own.text(LESSON).parent.mkdir()
    text = home.text(LESSON).read_text(encoding="utf-8")
    own.text(LESSON).write_text(text.replace(" / math.sqrt(k.size(-1))", " * k.size(-1) ** -0.5"), encoding="utf-8")
    assert with_mistake(own, LESSON, "attention-scores", "scale-missing") == ""
