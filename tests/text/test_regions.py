"""Marked regions are found, taken out, and refused where they do not pair up."""

import pytest

from autograder.text.regions import Region, has, inside, labelled, marker_problem, skeleton, tucked, without

CODE = """def f(x):
    ### BEGIN SOLUTION
    y = x
    return y
    ### END SOLUTION"""
WRITTEN = """Why?

### BEGIN SOLUTION
Because.
### END SOLUTION

### BEGIN MARK SCHEME
- 1: because
### END MARK SCHEME"""


def test_each_line_knows_its_region() -> None:
    """Markers themselves are no lines of the text."""
    assert list(labelled(CODE)) == [
        ("def f(x):", None),
        ("    y = x", Region.SOLUTION),
        ("    return y", Region.SOLUTION),
    ]


def test_regions_come_out_alone() -> None:
    """A region is read, or left out, without the others."""
    assert inside(WRITTEN, Region.SCHEME) == "- 1: because"
    assert "because" not in without(WRITTEN, Region.SCHEME)
    assert "Because." in without(WRITTEN, Region.SCHEME)
    assert has(WRITTEN, Region.SCHEME)
    assert not has(CODE, Region.SCHEME)


def test_a_skeleton_is_what_nbgrader_makes() -> None:
    """The stub stands where the region was, as deep."""
    stub = "def f(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert skeleton(CODE, markdown=False) == stub


def test_a_mark_scheme_goes_with_the_answer() -> None:
    """Once tucked in, taking the solution out takes the mark scheme out."""
    assert skeleton(tucked(WRITTEN), markdown=True) == "Why?\n\nYOUR ANSWER HERE"
    assert marker_problem(tucked(WRITTEN)) is None


@pytest.mark.parametrize(
    ("text", "offset", "says"),
    [
        ("a\n### BEGIN SOLUTION\nb", 1, "BEGIN SOLUTION without END"),
        ("a\n### END SOLUTION", 1, "END SOLUTION without BEGIN"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION", 1, "inside BEGIN SOLUTION"),
        ("### BEGIN SOLUTION\n### END MARK SCHEME", 1, "END MARK SCHEME without BEGIN"),
        ("### begin solution\n### END SOLUTION", 0, "not quite one of nbgrader's markers"),
        ("### BEGIN_SOLUTION", 0, "not quite one of nbgrader's markers"),
    ],
)
def test_markers_pair_up(text: str, offset: int, says: str) -> None:
    """The first marker that does not is named, with its line."""
    problem = marker_problem(text)
    assert problem is not None
    assert problem[0] == offset
    assert says in problem[1]


def test_good_markers_are_no_problem() -> None:
    """Several regions in a cell are fine."""
    assert marker_problem(CODE + "\n" + CODE) is None
    assert marker_problem(WRITTEN) is None
