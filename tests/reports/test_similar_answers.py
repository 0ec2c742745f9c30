"""Copied answers are found behind other names and shown safely; independent ones are hardly ever listed."""

from itertools import pairwise

import pytest

from autograder.reports.class_answers import LessonAnswers, StudentAnswer
from autograder.reports.similar_answers import (
    LEAST_IN_ALL,
    LONGEST_LINE,
    MOST_LINES,
    MOST_TOKENS,
    RUN,
    Line,
    Runs,
    Side,
    SimilarPair,
    Token,
    shown_lines,
    similar_pairs,
    tokens,
)

from .sample_course import LESSONS, MODEL, POINTS, disguised, name, sample_answers

EXERCISES = list(POINTS)[:4]


def _class(students: int = 40) -> dict[str, LessonAnswers]:
    """Return one lesson of a class in which everybody works alone."""
    lesson = LESSONS[0]
    return {lesson: sample_answers(students)[lesson]}


def _copy(lessons: dict[str, LessonAnswers], source: int, copier: int) -> None:
    """Let one student hand in another's answers in disguise."""
    given = lessons[LESSONS[0]].given
    for each in EXERCISES:
        answer = StudentAnswer(disguised(given[each][name(source)].text), is_code=True)
        given[each][name(copier)] = answer  # type: ignore[index] # a plain dictionary here


def _students(found: list[SimilarPair]) -> list[set[str]]:
    return [set(pair.students) for pair in found]


def test_a_disguised_copy_is_found_first() -> None:
    """It has other names, comments and a docstring, and stands above every chance resemblance."""
    lessons = _class()
    _copy(lessons, source=3, copier=4)
    found = similar_pairs(lessons)
    assert _students(found)[0] == {name(3), name(4)}
    best = found[0].shared[0]
    assert best.share > 0.9
    assert found[0].tokens >= LEAST_IN_ALL
    assert all(side.lines for side in best.sides)
    assert [one.evidence >= other.evidence for one, other in pairwise(found[0].shared)].count(False) == 0


def test_independent_answers_are_not_listed() -> None:
    """40 students who chose among the same idioms by themselves."""
    assert similar_pairs(_class()) == []


def test_a_group_is_found_as_its_pairs() -> None:
    """Three who share their answers are three pairs."""
    lessons = _class()
    _copy(lessons, source=3, copier=4)
    _copy(lessons, source=3, copier=5)
    found = _students(similar_pairs(lessons))
    for one, other in ((3, 4), (3, 5), (4, 5)):
        assert {name(one), name(other)} in found


def test_what_many_share_explains_itself() -> None:
    """Twelve students with the same answer, as a common right one, are nobody's copies."""
    lessons = _class()
    for copier in range(4, 15):
        _copy(lessons, source=3, copier=copier)
    assert similar_pairs(lessons) == []


def test_what_the_lesson_gives_explains_itself() -> None:
    """Two who hand in the model answer, or a long skeleton, share nothing of their own."""
    lessons = _class()
    given = lessons[LESSONS[0]].given["softmax"]
    long = MODEL + "\n    return mask".join(["", *map(str, range(60))])
    given.update({name(n): StudentAnswer(long, is_code=True) for n in (1, 2)})  # type: ignore[attr-defined]
    assert _students(similar_pairs(lessons)) == [{name(1), name(2)}]
    lessons[LESSONS[0]].known["softmax"].append(StudentAnswer(long, is_code=True))
    assert similar_pairs(lessons) == []


def test_copied_prose_is_found_and_shared_phrases_are_not() -> None:
    """Written answers are compared by their words."""
    text = " ".join(f"word{n}" for n in range(60))
    given = {f"s{n}": StudentAnswer(f"Residual connections help {n}.", is_code=False) for n in range(10)}
    given |= {"a": StudentAnswer(text, is_code=False), "b": StudentAnswer(text.upper(), is_code=False)}
    found = similar_pairs({"05_encoder": LessonAnswers({"why": given}, {})})
    assert _students(found) == [{"a", "b"}]
    assert round(found[0].tokens) == 60 - 7  # the runs of eight words


def test_what_is_no_code_or_nothing_is_not_compared() -> None:
    """A class without answers, and one with broken ones, have no pairs."""
    broken = {name: StudentAnswer("def (" * 50, is_code=True) for name in "ab"}
    assert similar_pairs({}) == []
    assert similar_pairs({"01": LessonAnswers({"softmax": broken}, {})}) == []


def _lines(text: str, *shared: int) -> list[Line]:
    return shown_lines(Side("ada", StudentAnswer(text, is_code=True), frozenset(shared)))


def test_shared_lines_are_marked() -> None:
    """Line numbers begin with 1."""
    assert _lines("a\nb", 2) == [Line("a", shared=False), Line("b", shared=True)]


def test_what_is_long_is_cut_and_what_hides_is_shown() -> None:
    """A page of many pairs stays readable, and no character reorders it."""
    found = _lines("\u202egnp\n" + "x" * 1000 + "\n" + "y\n" * 200)
    assert found[0].text == "\ufffdgnp"
    assert len(found[1].text) == LONGEST_LINE
    assert len(found) == MOST_LINES + 1
    assert found[-1].text == f"… {202 - MOST_LINES} more lines are not shown"


ONE = "def mask(size):\n    rows = torch.ones(size, size)\n    return rows.tril() > 0.5\n"
SAME = '''# mine
def mask(n: int) -> torch.Tensor:
    """Another text."""
    table = torch.ones(n,
                       n)  # all of them

    return table.tril() > .5
'''


def _words(code: str) -> list[str]:
    return [token.word for token in tokens(StudentAnswer(code, is_code=True))]


def test_names_comments_annotations_and_layout_do_not_count() -> None:
    """Two forms of one answer have the same words."""
    assert _words(ONE) == _words(SAME)


@pytest.mark.parametrize(("old", "new"), [("tril", "triu"), ("0.5", "0.0"), (">", ">="), ("ones", "zeros")])
def test_what_code_does_counts(old: str, new: str) -> None:
    """Another function, number or operator is another word."""
    assert _words(ONE) != _words(ONE.replace(old, new))


def test_prose_is_its_words() -> None:
    """Capitals and punctuation do not count; each word knows its line."""
    assert tokens(StudentAnswer("Heads *see*\nmore, together.", is_code=False)) == [
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
    text = Runs(StudentAnswer(" ".join(known), is_code=False))
    explained = set(text.first_line)
    own = Runs(StudentAnswer(" ".join(changed), is_code=False)).own_tokens(explained)
    assert sum(own.values()) == pytest.approx(1)
    assert len(own) == length
    assert text.own_tokens(explained) == {}


def test_a_number_too_long_for_python_to_write_is_a_token() -> None:
    """Hexadecimal numbers can be longer than any that Python writes in decimal."""
    assert f"Constant 0x{'f' * 58}" in _words(f"x = 0x{'f' * 6000}")
    assert _words("x = True") == ["Module", "Assign", "Name", "Constant True"]
