"""What is told of several changes that each make an answer right."""

import pytest

from coursework.edits.cell import MISSING, CodeEdit
from coursework.edits.places import OR_ELSE, TOGETHER_WITH, CodeChange, Told, blame, told

SOURCE = "def f(x):\n    a = g(x)\n    b = h(a)\n    c = k(b)\n    return c\n"


def found(line: int, old: str, new: str, what: str = "something more") -> CodeChange:
    """Return one change of a line, as the search finds it."""
    start = SOURCE.index(old)
    edit = CodeEdit(((start, start + len(old), new),), line, line, what, 2.0)
    return CodeChange((edit,), SOURCE)


def test_two_places_that_do_are_both_told() -> None:
    """Each says that the other would do as well."""
    lines = told([found(2, "g(x)", "g(x) / 2"), found(3, "h(a)", "h(a) * 3")], SOURCE)
    assert [each.first for each in lines] == [2, 3]
    assert lines[0].what == "something more; a change in line 3 would do as well"


@pytest.mark.parametrize(
    ("one", "other", "is_told"),
    [
        ("another sign", "another `dim`", True),
        ("without the statement", "another `dim`", True),
        ("without the statement", "another call than `g`", False),
        (MISSING, "another expression", False),
    ],
)
def test_several_places_that_may_go_around_what_is_wrong_are_not_told(one: str, other: str, is_told: bool) -> None:
    """A line left out and another one written anew make nearly any answer right."""
    first, second = found(2, "g(x)", "1", one).edits[0], found(3, "h(a)", "2", other).edits[0]
    assert bool(told([CodeChange((first, second), SOURCE)], SOURCE)) == is_told


def test_a_new_statement_beside_a_line_that_changes_twice_is_not_told() -> None:
    """Together they make nearly any answer right."""
    gap = CodeEdit(((len(SOURCE) - 11, len(SOURCE) - 11, "    b = c\n"),), 4, 5, MISSING, 2.0)
    twice = [found(2, old, new, "another variable").edits[0] for old, new in (("g", "h"), ("x)", "a)"))]
    assert told([CodeChange((*twice, gap), SOURCE)], SOURCE) == []
    assert len(told([CodeChange((twice[0], gap), SOURCE)], SOURCE)) == 2


def test_several_changes_of_one_line_are_not_told_as_one_of_them() -> None:
    """None of the two would be enough."""
    both = found(2, "g", "h", "another call than `g`").edits + found(2, "x)\n", "a)\n", "another variable").edits
    assert [each.what for each in told([CodeChange(both, SOURCE)], SOURCE)] == ["several changes"]


def test_the_same_change_made_twice_in_a_line_is_told_as_two() -> None:
    """One of them would not be enough; and of three, the number says little."""
    calls = [found(2, old, new, "another variable").edits[0] for old, new in (("g", "h"), ("x)", "a)"), ("\n", " \n"))]
    assert [each.what for each in told([CodeChange((*calls[:2],), SOURCE)], SOURCE)] == ["another variable, twice"]
    assert [each.what for each in told([CodeChange((*calls,), SOURCE)], SOURCE)] == ["several changes"]


def test_more_than_two_unrelated_places_tell_nothing() -> None:
    """Nobody would know which of them to look at."""
    changes = [found(2, "g(x)", "g(x) / 2"), found(3, "h(a)", "h(a) * 3"), found(5, "c\n", "c + 1\n")]
    assert told(changes, SOURCE) == []


def test_the_same_done_to_a_value_later_and_later_is_told_where_it_is_done_last() -> None:
    """A scale that is missing could be put around any of the values that lead to the result."""
    changes = [found(2, "g(x)", "g(x) / 2"), found(3, "h(a)", "h(a) / 2"), found(4, "k(b)", "k(b) / 2")]
    lines = told(changes, SOURCE)
    assert sorted(each.first for each in lines) == [3, 4]


def test_a_missing_statement_is_told_in_its_last_place() -> None:
    """Where it could stand further up as well, all that it needs is there at last."""
    changes = []
    for line in (2, 3):
        start = SOURCE.index("    " + ("b" if line == 2 else "c") + " =")
        edit = CodeEdit(((start, start, "    keep(a)\n"),), line, line + 1, MISSING, 2.0)
        changes.append(CodeChange((edit,), SOURCE))
    lines = told(changes, SOURCE)
    assert [(each.first, each.last, each.what) for each in lines] == [(3, 4, MISSING)]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], ""),
        ([(5, 5, "another `dim`")], "Everything passes with another `dim` in line 5."),
        ([(5, 6, "another call")], "Everything passes with another call in lines 5 to 6."),
        ([(5, 5, "without the statement")], "Everything passes without the statement in line 5."),
        ([(2, 2, "without a change in place")], "Everything passes without a change in place in line 2."),
        ([(2, 3, "these lines in another order")], "Everything passes with lines 2 to 3 in another order."),
        (
            [(2, 3, "the values of these lines exchanged")],
            "Everything passes with the values of lines 2 to 3 exchanged.",
        ),
        ([(4, 5, MISSING)], "Something is missing between lines 4 and 5."),
        ([(6, 6, MISSING)], "Something is missing after line 6."),
        (
            [(5, 5, f"another sign{OR_ELSE}line 7 would do as well"), (7, 7, "another sign")],
            "Everything passes with another sign in line 5. A change in line 7 would do as well.",
        ),
        (
            [(3, 3, f"another sign{TOGETHER_WITH}line 7"), (7, 7, f"another call{TOGETHER_WITH}line 3")],
            "With lines 3 and 7 both changed, everything passes.",
        ),
        (
            [(2, 3, f"{MISSING}{TOGETHER_WITH}line 7"), (7, 7, f"another call{TOGETHER_WITH}lines 2 to 3")],
            "With something added between lines 2 and 3 and line 7 changed, everything passes.",
        ),
    ],
)
def test_the_sentence_tells_the_place_and_the_kind(lines: list[tuple[int, int, str]], said: str) -> None:
    """And it tells nothing of the change itself."""
    assert blame([Told(first, last, "", what) for first, last, what in lines]) == said


def test_what_passes_is_what_was_tried() -> None:
    """A notebook has examples only, and says so."""
    place = Told(5, 5, "", "another `dim`")
    assert blame([place], "every example") == "Every example passes with another `dim` in line 5."


def test_a_line_is_not_said_to_be_enough_where_something_is_missing_beside_it() -> None:
    """With the line alone, the answer would still be wrong."""
    line = found(2, "g(x)", "g(x) / 2", "another index").edits[0]
    start = SOURCE.index("    b =")
    gap = CodeEdit(((start, start, "    keep(a)\n"),), 2, 3, MISSING, 2.0)
    said = blame(told([CodeChange((line, gap), SOURCE)], SOURCE))
    assert said == (
        "With line 2 changed and something added between lines 2 and 3, everything passes."
    )
    other = found(4, "k(b)", "k(b) / 2", "another index").edits[0]
    lines = told([CodeChange((line, gap, other), SOURCE)], SOURCE)
    assert [(each.first, each.last) for each in lines] == [(2, 2), (4, 4)]
