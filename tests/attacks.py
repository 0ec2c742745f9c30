"""The cells in tests/submissions/excluded.yaml: answers that let something else do the work that is excluded."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework.source_rules import first_refusal

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests/submissions/excluded.yaml"


@dataclass(frozen=True)
class Attack:
    """A cell that is handed in as the answer of an exercise, what stops it, and what it earns at most."""

    name: str
    lesson: str
    exercise: str
    cell: str
    stopped: str  # by its "text", before it runs, or by the "kernels"
    earns: float


def attacks() -> list[Attack]:
    """Return the attacks, by name."""
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [
        Attack(name, *row["of"].split("/"), row["cell"], row["stopped"], row.get("earns", 0))
        for name, row in rows.items()
    ]


def refused_by_text(attack: Attack) -> bool:
    """Return whether the text of an attack is refused before it runs."""
    excludes = load_lesson(Course(ROOT), attack.lesson)[attack.exercise].excludes
    if excludes is None:
        return False
    return first_refusal([attack.cell], derivatives=excludes.derivatives) is not None
