"""Right answers in other forms than the model answer's: a student's may be more like one of them.

`answers/` holds them by lesson and exercise, as YAML.
"""

from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Final

from autograder.judge.mistakes import LOADER
from autograder.model.exercise import Exercise
from autograder.search.differences import split
from coursework.edits.cell import Cell

FOLDER: Final = Path(__file__).parent / "answers"
MOST: Final = 2  # answers whose parts are tried
ALIKE: Final = 0.3  # of its text that such an answer has in common with the student's, at least


def most_alike(exercise: Exercise, cell: Cell) -> list[Cell]:
    """Return the right answers to an exercise that are most like a cell, the likest first."""
    mine, package = split(cell.source), exercise.module.parent.name if exercise.module else ""
    shares = {
        answer: SequenceMatcher(None, mine, split(answer), autojunk=False).ratio()
        for answer in right_answers(package).get(exercise.id, ())
    }
    alike = sorted((each for each in shares if shares[each] >= ALIKE), key=lambda each: -shares[each])
    return [Cell(each) for each in alike[:MOST]]


@lru_cache
def right_answers(package: str) -> dict[str, list[str]]:
    """Return the right answers to a lesson by exercise, by the name of its package; none if it has none."""
    path = FOLDER / f"{package}.yaml"
    if not path.is_file():
        return {}
    found: dict[str, list[str]] = LOADER(path.read_text(encoding="utf-8")).get_single_data()
    return found
