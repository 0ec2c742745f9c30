"""The released lessons, what nbgrader's metadata says about their cells, and whose a notebook is.

Each is read once for as long as its file stays as it is.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.model.errors import CourseError, SubmissionError
from autograder.model.text import clean_name
from autograder.submissions.notebook_file import read_submission

DEFINITION = re.compile(r"^(?:def|class)[ \t]+(\w+)", re.M)
TEST = "-test"  # a test cell's grade_id is its exercise's id with this suffix


def metadata(cell: NotebookNode) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; empty if it has none."""
    found = cell.metadata.get("nbgrader")
    return found if isinstance(found, dict) else {}


def grade_id(cell: NotebookNode) -> str | None:
    """Return the nbgrader id of a cell, or None."""
    found = metadata(cell).get("grade_id")
    return found if isinstance(found, str) else None


def exercise_of(grade_id: str) -> str:
    """Return the id of the exercise that a cell with this grade_id belongs to."""
    return grade_id.removesuffix(TEST)


def is_solution(cell: NotebookNode) -> bool:
    """Return whether the student writes an answer in this cell."""
    return bool(metadata(cell).get("solution"))


def is_graded(cell: NotebookNode) -> bool:
    """Return whether nbgrader gives points for this cell: a test or a written answer."""
    return bool(metadata(cell).get("grade"))


def graded_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the exercise id and the cell of everything that nbgrader gives points for."""
    for cell in notebook.cells:
        if is_graded(cell):
            yield exercise_of(metadata(cell)["grade_id"]), cell


def answer_digests(notebook: NotebookNode) -> dict[str, str]:
    """Return the SHA-256 of each answer in an aligned notebook, by exercise id."""
    return {
        metadata(cell)["grade_id"]: hashlib.sha256(cell.source.encode()).hexdigest()
        for cell in notebook.cells
        if is_solution(cell)
    }


@dataclass(frozen=True)
class Fingerprint:
    """What tells a lesson's notebook: ids of its exercises, texts of its cells, names of its answers."""

    grade_ids: frozenset[str]
    texts: frozenset[str]
    names: frozenset[str]


def own_notebook(path: Path) -> NotebookNode:
    """Return a notebook that the course keeps of a lesson. Raises CourseError if it is damaged."""
    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, AttributeError, TypeError, nbformat.ValidationError) as error:
        raise CourseError(
            f"{path} is damaged: it is no notebook; restore it, or run 'autograder build {path.stem}'"
        ) from error


def released_notebook(course: Course, lesson: str) -> NotebookNode:
    """Return a lesson as students get it; copy it before you change it. Raises CourseError."""
    return _released(course, lesson)[0]


def fingerprint(course: Course, lesson: str) -> Fingerprint:
    """Return what tells a lesson's notebook. Raises CourseError if it was never released."""
    return _released(course, lesson)[1]


def _released(course: Course, lesson: str) -> tuple[NotebookNode, Fingerprint]:
    path = course.release_notebook(lesson)
    about = path.stat()
    return _read(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=32)
def _read(path: Path, _time: int, _size: int) -> tuple[NotebookNode, Fingerprint]:
    notebook = own_notebook(path)
    cells = notebook.cells
    # only exercises: setup cells have the same ids in every lesson
    ids = {grade_id(cell) for cell in cells if is_solution(cell) or is_graded(cell)}
    skeletons = [cell.source for cell in cells if cell.cell_type == "code" and is_solution(cell)]
    return notebook, Fingerprint(
        grade_ids=frozenset(name for name in ids if name),
        texts=frozenset({cell.source.strip() for cell in cells} - {""}),
        names=frozenset(name for text in skeletons for name in DEFINITION.findall(text)),
    )


def identify(course: Course, path: Path) -> str:
    """Return the lesson that a notebook belongs to.

    Its name decides if it contains anything of that lesson, otherwise its content: the lesson's cells, and
    the functions and classes that its exercises ask for. Raises SubmissionError if it contains nothing of
    any released lesson.
    """
    cells = read_submission(path, course).cells
    defined = {name for cell in cells for name in DEFINITION.findall(cell.source)}

    released = sorted(p.stem for p in course.release.glob("*/*.ipynb") if p.stem == p.parent.name)
    lessons_with = Counter(text for lesson in released for text in fingerprint(course, lesson).texts)

    def shared(lesson: str) -> int:
        known = fingerprint(course, lesson)
        own = {text for text in known.texts if lessons_with[text] == 1}  # some cells are in every lesson
        same = (cell.grade_id in known.grade_ids or cell.source.strip() in own for cell in cells)
        return len(known.names & defined) + sum(same)

    found = {lesson: shared(lesson) for lesson in released}
    best = path.stem if found.get(path.stem) else max(released, key=lambda lesson: found[lesson], default="")
    if not found.get(best):
        known = ", ".join(released) or "none is released: run 'autograder build'"
        raise SubmissionError(f"{clean_name(path.name)} is not a notebook of this course (lessons: {known})")
    return best
