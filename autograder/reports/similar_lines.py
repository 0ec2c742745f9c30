"""The lines of an answer for a page, with those marked that it shares with another."""

from dataclasses import dataclass

from autograder.model.text import visible
from autograder.reports.similar_answers import Side

MOST_LINES, LONGEST_LINE = 60, 200


@dataclass(frozen=True)
class Line:
    """One line of an answer; `shared` if a stretch begins in it that the other answer has too."""

    text: str
    shared: bool


def shown_lines(side: Side) -> list[Line]:
    """Return an answer's first lines, without characters that hide or reorder text."""
    found = [
        Line(_cut(visible(text)), number in side.lines)
        for number, text in enumerate(side.answer.text.splitlines(), start=1)
    ]
    rest = len(found) - MOST_LINES
    if rest > 0:
        found[MOST_LINES:] = [Line(f"… {rest} more lines are not shown", shared=False)]
    return found


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
