"""The cells in tests/submissions/out_of_sight: answers that do excluded work by detours."""

from dataclasses import dataclass
from pathlib import Path

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework.source_rules import first_refusal

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Attack:
    """A cell that is handed in as the answer of an exercise."""

    name: str
    lesson: str
    exercise: str
    cell: str


def attacks() -> list[Attack]:
    """Return the attacks, by name."""
    return [_read(path) for path in sorted((ROOT / "tests/submissions/out_of_sight").glob("*.txt"))]


def _read(path: Path) -> Attack:
    first, _, cell = path.read_text().partition("\n")
    lesson, exercise = first.lstrip("# ").split()
    return Attack(path.stem, lesson, exercise, cell)


def refused_by_text(attack: Attack) -> bool:
    """Return whether the text of an attack is refused before it runs."""
    excludes = load_lesson(Course(ROOT), attack.lesson)[attack.exercise].excludes
    if excludes is None:
        return False
    return first_refusal([attack.cell], derivatives=excludes.derivatives) is not None
