"""Answers are read from graded notebooks, and a specimen shows a mistake and nothing of who made it."""

import ast
import json
from pathlib import Path

import pytest

from autograder.model.course import Course
from autograder.reports.class_answers import (
    CUT,
    LONGEST,
    MOST_LINES,
    LessonAnswers,
    Specimens,
    StudentAnswer,
    read_answers,
)
from autograder.reports.class_figures import MistakeCount
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


MODEL = "def softmax(x, dim=-1):\n    weights = x.exp()\n    return weights / weights.sum(dim, keepdim=True)"
STUDENTS = ["ada.lovelace", "bela", "max"]


def _specimen(*codes: str, students: list[str] = STUDENTS) -> str:
    """Return the specimen of a mistake that one student after the other made with this code."""
    given = {name: StudentAnswer(code, is_code=True) for name, code in zip(students, codes, strict=False)}
    answers = LessonAnswers({"softmax": given}, {"softmax": [StudentAnswer(MODEL, is_code=True)]})
    mistake = MistakeCount("softmax", "m", "A mistake", "", list(given), 1.0)
    return Specimens(answers, students).of(mistake)


def test_comments_docstrings_and_layout_are_gone() -> None:
    """What is left does the same."""
    code = '# Ada\ndef softmax(x, dim=-1):\n    """By Ada L."""\n\n    return x   /   x.sum()  # mine\n'
    assert _specimen(code) == "def softmax(x, dim=-1):\n    return x / x.sum()"


def test_own_names_texts_and_long_numbers_are_replaced() -> None:
    """Names of the model answer and of libraries stay, so do small numbers."""
    code = (
        "def softmax(x, dim=-1):\n    marie_scores = x * 0.5\n    seed = 20260304\n"
        "    print('by marie', seed)\n    return marie_scores.masked_fill(x > 1000.0, -1e9)"
    )
    shown = _specimen(code)
    assert "marie" not in shown
    assert "seed" not in shown
    assert "20260304" not in shown
    assert "name_1 = x * 0.5" in shown
    assert "return name_1.masked_fill(x > 1000.0, -1000000000.0)" in shown
    ast.parse(shown)


def test_names_that_three_students_use_stay() -> None:
    """They say nothing about one of them."""
    code = "def softmax(x, dim=-1):\n    shifted = x - 1\n    return shifted"
    assert "shifted" in _specimen(code, code, code)
    assert "shifted" not in _specimen(code, code)


def test_the_shortest_is_taken() -> None:
    """It is read from the last row."""
    long = "def softmax(x, dim=-1):\n    return x.exp().exp().exp()"
    assert _specimen(long, "def softmax(x, dim=-1):\n    return x") == "def softmax(x, dim=-1):\n    return x"


def test_an_answer_in_which_a_students_name_is_left_is_not_shown() -> None:
    """An attribute is not renamed; a name that is also a word of the lesson, such as `max`, is fine."""
    assert _specimen("def softmax(x, dim=-1):\n    return x.lovelace()") == ""
    model_word = "def softmax(x, dim=-1):\n    return x.sum()"
    assert _specimen(model_word, students=["sum"]) == model_word


@pytest.mark.parametrize("code", ["def softmax(", "x" * 10_000, "\0", "-" * 5_000 + "1", "("], ids=len)
def test_code_that_cannot_be_rewritten_is_not_shown(code: str) -> None:
    """Whatever was handed in, the page is made."""
    assert _specimen(code) == ""


def test_a_long_specimen_is_cut() -> None:
    """The page stays short, and says that something is missing."""
    shown = _specimen("def softmax(x, dim=-1):\n" + "    x = x + 1\n" * 200)
    assert len(shown.splitlines()) == MOST_LINES
    assert shown.endswith(CUT)


def test_a_function_that_was_only_a_docstring_is_still_code() -> None:
    """`pass` stands in its place."""
    assert _specimen('def softmax(x, dim=-1):\n    """Ada."""') == "def softmax(x, dim=-1):\n    pass"


def test_numbers_too_long_for_python_to_write_are_replaced() -> None:
    """Hexadecimal numbers can be longer than any that Python writes in decimal."""
    shown = _specimen(f"def softmax(x, dim=-1):\n    return x * 0x{'f' * 6000} * {10**300}.0 * 12345")
    assert shown == "def softmax(x, dim=-1):\n    return x * '…' * '…' * 12345"
