"""One sentence says where a small change makes everything pass."""

import pytest

from autograder.model.report import OR_ELSE, TOGETHER_WITH, WrongLines
from autograder.reports.words import blame
from coursework.edits.cell import MISSING


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], ""),
        ([(5, 5, "another `dim`")], "Everything passes with another `dim` in line 5."),
        ([(5, 6, "another call")], "Everything passes with another call in lines 5 to 6."),
        ([(5, 5, "without the statement")], "Everything passes without the statement in line 5."),
        ([(4, 5, MISSING)], "Something is missing between lines 4 and 5."),
        (
            [(5, 5, f"another sign{OR_ELSE}line 7 would do as well"), (7, 7, "another sign")],
            "Everything passes with another sign in line 5. A change in line 7 would do as well.",
        ),
        (
            [(3, 3, f"another sign{TOGETHER_WITH}line 7"), (7, 7, f"another call{TOGETHER_WITH}line 3")],
            "Lines 3 and 7 are both wrong. Change them together.",
        ),
        (
            [(2, 3, f"{MISSING}{TOGETHER_WITH}line 7"), (7, 7, f"another call{TOGETHER_WITH}lines 2 to 3")],
            "Something is missing between lines 2 and 3 and line 7 is wrong. With both changed, everything passes.",
        ),
    ],
)
def test_the_sentence_tells_the_place_and_the_kind(lines: list[tuple[int, int, str]], said: str) -> None:
    """And it tells nothing of the change itself."""
    assert blame([WrongLines(first=first, last=last, text="", what=what) for first, last, what in lines]) == said
