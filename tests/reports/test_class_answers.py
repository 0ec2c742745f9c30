"""Answers are read from graded notebooks, whatever these hold."""

import json
from pathlib import Path

import pytest

from autograder.model.course import Course
from autograder.reports.class_answers import LONGEST, Answer, read_answers
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
    assert found.given["softmax"] == {"ada": Answer("def softmax(x):\n    pass", is_code=True)}
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
