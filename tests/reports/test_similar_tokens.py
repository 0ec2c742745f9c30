"""Normalised answers stay the same where only names, comments and layout differ."""

import pytest

from autograder.reports.class_answers import Answer
from autograder.reports.similar_tokens import MOST_TOKENS, RUN, Text, Token, tokens

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
    length = RUN[True]
    known = [Token(f"w{n}", n) for n in range(5 * length)]
    changed = [*known]
    changed[2 * length] = Token("new", 2 * length)
    explained = set(Text(known, is_code=True).first_line)
    own = Text(changed, is_code=True).own_tokens(explained)
    assert sum(own.values()) == pytest.approx(1)
    assert len(own) == length
    assert Text(known, is_code=True).own_tokens(explained) == {}


def test_a_number_too_long_for_python_to_write_is_a_token() -> None:
    """Hexadecimal numbers can be longer than any that Python writes in decimal."""
    assert f"Constant 0x{'f' * 58}" in _words(f"x = 0x{'f' * 6000}")
    assert _words("x = True") == ["Module", "Assign", "Name", "Constant True"]
