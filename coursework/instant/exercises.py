"""What a notebook knows of the exercises of its lesson. The build of the course writes it down."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from coursework.cells import defines, digest_of, is_unanswered, names_bound
from coursework.console import with_capital
from coursework.example_files import document, lessons

NO_POINTS = "Grading gives no points for this."
NO_INPUT = "StdinNotImplementedError"  # ipykernel's
ASKS = "Your code calls `input()`, and here nobody can answer it. Use the arguments of the call instead."
# The state of an exercise: right, right as far as can be told, still to do, wrong.
DONE, FILLED, OPEN, WRONG = "✓", "●", "○", "✗"


@dataclass(frozen=True)
class PublicExercise:
    """One exercise as a student meets it.

    Attributes:
        id: the id of its cell, such as `causal-mask`.
        name: what the cell has to define, "" for an answer in words.
        title: its heading.
        points: 0 for a stretch exercise.
        minutes: how long it takes, 0 if the text gives no time.
        written: whether it is answered in words and graded by hand.
        skeleton: the digest of its cell as it is released.
        test: the digest of its visible test, "" if it has none.
        excludes: exclusions of `coursework.exclusions`.
        instead: a sentence on what to use instead.
        stand_in: the source of a right version, "" if nothing depends on the exercise.
        asks: what grading asks besides results, FLOAT64 and GRADIENTS.
    """

    id: str
    name: str
    title: str
    points: float
    minutes: int
    written: bool
    skeleton: str
    test: str
    excludes: Sequence[str] = ()
    instead: str = ""
    stand_in: str = ""
    asks: Sequence[str] = ()

    @property
    def worth(self) -> str:
        """The points, as in "2 points"."""
        return f"{self.points:g} point{'' if self.points == 1 else 's'}" if self.points else "not counted"

    @property
    def called(self) -> str:
        """What every message calls the exercise: what its cell defines, else its heading."""
        return f"`{self.name}`" if self.stand_in else self.title

    @property
    def has_entries(self) -> bool:
        """Whether the answer is a dictionary of numbers, shapes or choices, which nothing later needs."""
        return not self.stand_in and not self.written

    @property
    def unwritten(self) -> str:
        """What to say where the exercise is not written yet: how to go on."""
        if not self.stand_in:
            title = with_capital(self.title)
            return f"{title}: not filled in, or its `raise` line is still there. Nothing below needs it."
        return (
            f"`{self.name}` is not written yet. Write it and run its cell, or run "
            f'`skip("{self.name}")` to go on without it.'
        )


@cache
def exercises_of(lesson: str) -> tuple[PublicExercise, ...]:
    """Return the exercises of a lesson such as '03_attention' in their order; none if it is unknown."""
    return tuple(PublicExercise(**each) for each in document(lesson).get("lesson", ()))


def every_exercise() -> list[PublicExercise]:
    """Return the exercises of all lessons, in the order of the course."""
    return [each for lesson in every_lesson() for each in lesson]


def lesson_of(exercise: PublicExercise) -> str:
    """Return the lesson that an exercise belongs to, such as '03_attention'."""
    return next(name for name in lessons() if exercise in exercises_of(name))


def every_lesson() -> list[tuple[PublicExercise, ...]]:
    """Return the exercises of each lesson, in the order of the course."""
    return [exercises_of(name) for name in lessons()]


def notebook_file(names: Mapping[str, Any]) -> Path | None:
    """Return the notebook that a kernel with these names belongs to, None if it is no lesson or unknown.

    JupyterLab and VS Code say which it is. Elsewhere it is the only lesson in the folder.
    """
    told = [os.environ.get("JPY_SESSION_NAME"), names.get("__vsc_ipynb_file__")]
    here = [path for path in Path().glob("*.ipynb") if exercises_of(path.stem)]
    found = [Path(str(path)) for path in told if path] or (here if len(here) == 1 else [])
    return next((path for path in found if exercises_of(path.stem)), None)


def saved_cells(file: Path) -> dict[str, str]:
    """Return the texts of the graded cells in a saved notebook by their ids; none if it cannot be read.

    They are what grading reads: of several copies the last whole answer, of a cell that was split its pieces,
    of one that is empty or as it was released the only other cell that defines the name.
    """
    exercises = {each.id: each for each in exercises_of(file.stem)}
    found = {}
    for name, texts in graded_cells(file).items():
        *_, found[name] = texts.values()
        if len(texts) > 1 and (exercise := exercises.get(name)):
            copies = [*copies_of(exercise, texts).values()]
            pieces = [
                each for each in texts.values() if each.strip() and digest_of(each) != exercise.skeleton
            ]
            found[name] = copies[-1] if copies else "\n".join(dict.fromkeys(pieces)) or found[name]
    code = [cell for cell in _cells(file) if cell.cell_type == "code"]
    added = [cell.source for cell in code if "nbgrader" not in cell.metadata]
    for each in exercises.values():
        elsewhere = [source for source in added if defines(source, each.name)]
        if len(elsewhere) == 1 and each.id in found and is_unanswered(found[each.id], each.skeleton):
            (found[each.id],) = elsewhere
    return found


def visible_test(exercise: PublicExercise, names: Mapping[str, Any]) -> str:
    """Return the exercise's visible test, if the notebook is saved and has it as it was released."""
    file = notebook_file(names)
    text = saved_cells(file).get(f"{exercise.id}-test", "") if file else ""
    return text if digest_of(text) == exercise.test else ""


def graded_cells(file: Path) -> dict[str, dict[str, str]]:
    """Return the texts of the graded cells in a saved notebook: by their ids, and then by the cells' own ids.

    JupyterLab gives the copy of a cell an id of its own, and leaves it the rest.
    """
    found: dict[str, dict[str, str]] = {}
    for number, cell in enumerate(_cells(file)):
        if name := cell.metadata.get("nbgrader", {}).get("grade_id"):
            found.setdefault(str(name), {})[str(cell.get("id", number))] = cell.source
    return found


def copies_of(exercise: PublicExercise, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the whole answers among the texts of an exercise's cells; grading takes the last."""
    return {
        own: text
        for own, text in texts.items()
        if exercise.name in names_bound(text) and digest_of(text) != exercise.skeleton
    }


def saved_code(file: Path) -> list[str]:
    """Return the texts of all code cells in a saved notebook."""
    return [cell.source for cell in _cells(file) if cell.cell_type == "code"]


def saved_demos(file: Path) -> set[str]:
    """Return the digests of the demos in a saved notebook; none if it cannot be read."""
    return {digest_of(cell.source) for cell in _cells(file) if "demo" in cell.metadata.get("tags", [])}


def _cells(file: Path) -> list[Any]:
    try:
        state = file.stat()
    except OSError:
        return []
    return _cells_as_saved(file.absolute(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _cells_as_saved(file: Path, _time: int, _size: int) -> list[Any]:
    """Read a notebook once until it is saved again: a check asks for its cells several times."""
    import nbformat

    try:
        return list(nbformat.read(file, as_version=4).cells)
    except (OSError, ValueError, nbformat.validator.NotebookValidationError):
        return []
