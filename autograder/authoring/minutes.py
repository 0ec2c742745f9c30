"""How long a lesson takes: worked out from its text, and compared with what the text claims.

A minute for every 200 words, half a minute for every demo, and the minutes that each exercise states. Folded
hints and asides ("More: …") are not counted, because few students open them all; folded answers are, because
nearly everyone does. The stretch exercise is optional, so its minutes do not count.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from IPython.core.inputtransformer2 import TransformerManager

from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import IMAGE, LINK, CellKind, LessonCell, LessonText, Region, without

WORDS_A_MINUTE = 200
MINUTES_A_DEMO = 0.5
LONGEST_SITTING = 120  # minutes; attention does not last longer
TOLERANCE = 0.2  # of the minutes that were worked out

CLAIM = re.compile(r"^\*\*Time\*\* (?P<claim>[^·\n]*)", re.MULTILINE)
SITTING = re.compile(r"^# Sitting \d+", re.MULTILINE)
FOLDED = re.compile(r"<details><summary>(?:Hint \d|More\b).*?</details>", re.DOTALL)
FORMULA = re.compile(r"\$[^$\n]+\$")
TAG = re.compile(r"<[^>\n]+>")
# Calls that prepare or report: a cell of nothing but these and imports has nothing to look at.
QUIET = {"check", "hand_in", "plots.use_style", "torch.manual_seed", "torch.set_num_threads"}


@dataclass(frozen=True)
class Sitting:
    """What one sitting of a lesson consists of."""

    words: int
    demos: int
    exercises: int  # minutes

    @property
    def minutes(self) -> float:
        """The minutes that the sitting takes."""
        return self.words / WORDS_A_MINUTE + self.demos * MINUTES_A_DEMO + self.exercises

    @property
    def rounded(self) -> int:
        """The minutes to claim: the nearest multiple of five."""
        return 5 * round(self.minutes / 5)

    def __str__(self) -> str:
        read, look = self.words / WORDS_A_MINUTE, self.demos * MINUTES_A_DEMO
        return (
            f"about {self.rounded} minutes: {read:.0f} for {self.words} words, {look:.0f} for {self.demos} "
            f"demos, {self.exercises} for exercises"
        )


def sittings(lesson: LessonText) -> list[Sitting]:
    """Return a lesson's sittings; a heading `# Sitting 2: …` begins the second one."""
    parts: list[list[LessonCell]] = [[]]
    for cell in lesson.cells:
        begins = cell.kind is CellKind.PROSE and SITTING.search(cell.text)
        if begins and any(SITTING.search(before.text) for before in parts[-1]):
            parts.append([])
        parts[-1].append(cell)
    return [_sitting(lesson, cells) for cells in parts]


def check_minutes(lesson: LessonText) -> None:
    """Raise LessonTextError if the time that a lesson claims is off by more than a fifth.

    A sitting of more than two hours is refused, too. The claim is the line `**Time** about 90 minutes`,
    with a number for each sitting. A text without one claims nothing.
    """
    for cell in lesson.cells:
        if cell.kind is CellKind.PROSE and (found := CLAIM.search(cell.text)):
            line = cell.line + 1 + cell.text[: found.start()].count("\n")
            claimed = [int(number) for number in re.findall(r"(\d+) minutes", found["claim"])]
            if problem := _problem(claimed, sittings(lesson)):
                raise LessonTextError(problem, lesson.path, cell=cell.id, line=line)
            return


def _problem(claimed: list[int], found: list[Sitting]) -> str:
    if len(claimed) != len(found):
        return (
            f"expected the minutes of {len(found)} sitting(s) after '**Time**', got {len(claimed)}; "
            "write 'about 90 minutes' for each heading '# Sitting 1: …', or once if there is none"
        )
    for number, (claim, sitting) in enumerate(zip(claimed, found, strict=True), start=1):
        which = f"sitting {number}" if len(found) > 1 else "the lesson"
        if abs(claim - sitting.minutes) > TOLERANCE * sitting.minutes:
            return (
                f"{which} claims {claim} minutes but takes {sitting}; "
                f"write 'about {sitting.rounded} minutes', or shorten the text"
            )
        if sitting.rounded > LONGEST_SITTING:
            return (
                f"{which} takes {sitting}; a sitting should take at most {LONGEST_SITTING} minutes: "
                "shorten it, or split the lesson with headings '# Sitting 1: …' and '# Sitting 2: …'"
            )
    return ""


def _sitting(lesson: LessonText, cells: list[LessonCell]) -> Sitting:
    counted = {header.id for header in lesson.exercises if header.points}
    return Sitting(
        words=sum(_words(without(cell.text, *Region)) for cell in cells if cell.kind.is_markdown),
        demos=sum(cell.kind in (CellKind.DEMO, CellKind.GIVEN) and _shows(cell.text) for cell in cells),
        exercises=sum(
            lesson.minutes(cell.exercise)
            for cell in cells
            if cell.kind.is_answered and cell.exercise in counted
        ),
    )


def _words(text: str) -> int:
    """Return how many words there are to read; a formula counts as one."""
    for pattern in (FOLDED, IMAGE):
        text = pattern.sub(" ", text)
    text = TAG.sub(" ", FORMULA.sub(" x ", LINK.sub(r"\1", text)))
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def _shows(code: str) -> bool:
    """Return whether a demo has something to read or to look at."""
    return any(name not in QUIET for name in _calls(code))


def _calls(code: str) -> Iterator[str]:
    """Yield each statement but imports: the name of what it calls, '' if it is no mere call."""
    for statement in ast.parse(TransformerManager().transform_cell(code)).body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                continue
            case ast.Expr(ast.Call(function)):
                yield ast.unparse(function)
            case _:
                yield ""
