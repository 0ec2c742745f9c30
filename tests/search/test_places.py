"""What is told of several changes that each make an answer right."""

from autograder.search.places import told
from autograder.search.search import Found
from coursework.edits.cell import MISSING, Edit

SOURCE = "def f(x):\n    a = g(x)\n    b = h(a)\n    c = k(b)\n    return c\n"


def found(line: int, old: str, new: str, what: str = "something more") -> Found:
    """Return one change of a line, as the search finds it."""
    start = SOURCE.index(old)
    edit = Edit(((start, start + len(old), new),), line, line, what, 2.0)
    return Found((edit,), edit.apply(SOURCE))


def test_two_places_that_do_are_both_told() -> None:
    """Each says that the other would do as well."""
    lines, _ = told([found(2, "g(x)", "g(x) / 2"), found(3, "h(a)", "h(a) * 3")], SOURCE)
    assert [each.first for each in lines] == [2, 3]
    assert lines[0].what == "something more; a change in line 3 would do as well"


def test_more_than_two_unrelated_places_tell_nothing() -> None:
    """Nobody would know which of them to look at."""
    changes = [found(2, "g(x)", "g(x) / 2"), found(3, "h(a)", "h(a) * 3"), found(5, "c\n", "c + 1\n")]
    assert told(changes, SOURCE) == ([], "")


def test_the_same_done_to_a_value_later_and_later_is_told_where_it_is_done_last() -> None:
    """A scale that is missing could be put around any of the values that lead to the result."""
    changes = [found(2, "g(x)", "g(x) / 2"), found(3, "h(a)", "h(a) / 2"), found(4, "k(b)", "k(b) / 2")]
    lines, _ = told(changes, SOURCE)
    assert sorted(each.first for each in lines) == [3, 4]


def test_a_missing_statement_is_told_in_its_last_place() -> None:
    """Where it could stand further up as well, all that it needs is there at last."""
    changes = []
    for line in (2, 3):
        start = SOURCE.index("    " + ("b" if line == 2 else "c") + " =")
        edit = Edit(((start, start, "    keep(a)\n"),), line, line + 1, MISSING, 2.0)
        changes.append(Found((edit,), edit.apply(SOURCE)))
    lines, change = told(changes, SOURCE)
    assert [(each.first, each.last, each.what) for each in lines] == [(3, 4, MISSING)]
    assert change == "+    keep(a)"
