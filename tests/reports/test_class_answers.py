"""Answers are read from graded notebooks, and their tokens say what they do, whatever these hold."""


import json
from pathlib import Path

import pytest

from autograder.model.course import Course
from autograder.reports.class_answers import (
    LONGEST,
    MOST_TOKENS,
    RUN,
    Answer,
    Runs,
    Token,
    read_answers,
    tokens,
)
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


ONE = "def mask(size):\n    rows = torch.ones(size, size)\n    return rows.tril() > 0.5\n"
SAME = '''# mine
def mask(n: int) -> torch.Tensor:
    """Another text."""
    table = torch.ones(n,
                       n)  # all of them

    return table.tril() > .5
'''


def _words(code: str) -> list[str]:
    return [token.word for token in tokens(Answer(code, is_code=True))]


def test_names_comments_annotations_and_layout_do_not_count() -> None:
    """Two forms of one answer have the same words."""
    assert _words(ONE) == _words(SAME)


@pytest.mark.parametrize(("old", "new"), [("tril", "triu"), ("0.5", "0.0"), (">", ">="), ("ones", "zeros")])
def test_what_code_does_counts(old: str, new: str) -> None:
    """Another function, number or operator is another word."""
    assert _words(ONE) != _words(ONE.replace(old, new))


def test_prose_is_its_words() -> None:
    """Capitals and punctuation do not count; each word knows its line."""
    assert tokens(Answer("Heads *see*\nmore, together.", is_code=False)) == [
        Token("heads", 1), Token("see", 1), Token("more", 2), Token("together", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("code", ["def (", "", "\0", "(" * 5000])
def test_what_is_no_code_has_no_tokens(code: str) -> None:
    """It is not compared."""
    assert len(_words(code)) <= 1  # an empty module


def test_long_answers_are_cut() -> None:
    """A hostile answer costs no more than a long one."""
    assert len(_words("x = 1\n" * 5_000)) == MOST_TOKENS


def test_tokens_that_nothing_explains_are_counted_once() -> None:
    """One new word among known ones is worth one token, over all runs that contain it."""
    length = RUN[False]
    known = [f"w{n}" for n in range(5 * length)]
    changed = [*known]
    changed[2 * length] = "new"
    text = Runs(Answer(" ".join(known), is_code=False))
    explained = set(text.first_line)
    own = Runs(Answer(" ".join(changed), is_code=False)).own_tokens(explained)
    assert sum(own.values()) == pytest.approx(1)
    assert len(own) == length
    assert text.own_tokens(explained) == {}


def test_a_number_too_long_for_python_to_write_is_a_token() -> None:
    """Hexadecimal numbers can be longer than any that Python writes in decimal."""
    assert f"Constant 0x{'f' * 58}" in _words(f"x = 0x{'f' * 6000}")
    assert _words("x = True") == ["Module", "Assign", "Name", "Constant True"]
