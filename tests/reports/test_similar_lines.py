"""The lines of an answer are shown as they are, cut and harmless."""

from autograder.reports.class_answers import Answer
from autograder.reports.similar_answers import Side
from autograder.reports.similar_lines import LONGEST_LINE, MOST_LINES, Line, shown_lines


def _lines(text: str, *shared: int) -> list[Line]:
    return shown_lines(Side("ada", Answer(text, is_code=True), frozenset(shared)))


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
