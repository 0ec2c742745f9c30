"""The released lessons, each read once for as long as its file stays as it is."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.submissions.nbgrader_cells import grade_id, is_graded, is_solution

_SKELETON = re.compile(r"^(?:def|class)[ \t]+(\w+)", re.M)


@dataclass(frozen=True)
class Fingerprint:
    """What tells a lesson's notebook: ids of its exercises, texts of its cells, names of its answers."""

    grade_ids: frozenset[str]
    texts: frozenset[str]
    names: frozenset[str]


def released_notebook(course: Course, lesson: str) -> NotebookNode:
    """Return a lesson as students get it; copy it before you change it. Raises CourseError."""
    return _read(*_version(course.release_notebook(lesson)))


def fingerprint(course: Course, lesson: str) -> Fingerprint:
    """Return what tells a lesson's notebook. Raises CourseError if it was never released."""
    return _fingerprint(*_version(course.release_notebook(lesson)))


def _version(path: Path) -> tuple[Path, int, int]:
    about = path.stat()
    return path, about.st_mtime_ns, about.st_size


@lru_cache(maxsize=32)
def _read(path: Path, _time: int, _size: int) -> NotebookNode:
    return nbformat.read(path, as_version=4)


@lru_cache(maxsize=32)
def _fingerprint(path: Path, time: int, size: int) -> Fingerprint:
    cells = _read(path, time, size).cells
    # only exercises: setup cells have the same ids in every lesson
    ids = {grade_id(cell) for cell in cells if is_solution(cell) or is_graded(cell)}
    skeletons = [cell.source for cell in cells if cell.cell_type == "code" and is_solution(cell)]
    return Fingerprint(
        grade_ids=frozenset(name for name in ids if name),
        texts=frozenset({cell.source.strip() for cell in cells} - {""}),
        names=frozenset(name for text in skeletons for name in _SKELETON.findall(text)),
    )
