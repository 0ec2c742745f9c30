"""Reads a submitted notebook file, whatever is in it, and finds out whose lesson it is."""

import json
import logging
from pathlib import Path
from typing import Any

import nbformat

from autograder.course import Course
from autograder.errors import SubmissionError

MAX_BYTES = 512 * 2**20


def read_submission(path: Path) -> Any:
    """Return a notebook in format 4, outputs dropped. Raises SubmissionError with the reason."""
    raw = _parse(path, _read(path))
    notebook = _upgrade(path, raw)
    for cell in notebook.cells:
        _tidy(cell)
    return notebook


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SubmissionError(f"{path.name} is larger than {MAX_BYTES // 2**20} MB")
        return path.read_bytes()
    except FileNotFoundError:
        raise SubmissionError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise SubmissionError(f"{path} is a folder; name the notebook in it") from None
    except PermissionError:
        raise SubmissionError(f"no permission to read {path}") from None
    except OSError as problem:
        raise SubmissionError(f"cannot read {path}: {problem.strerror}") from problem


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(data.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError):
        raise SubmissionError(f"{path.name} is not a notebook: it is not valid JSON") from None
    worksheets = isinstance(raw, dict) and isinstance(raw.get("worksheets"), list)
    if not isinstance(raw, dict) or not (isinstance(raw.get("cells"), list) or worksheets):
        raise SubmissionError(f"{path.name} is not a notebook: it has no cells")
    return raw


def _upgrade(path: Path, raw: dict[str, Any]) -> Any:
    """Return a version 4 notebook, with what no reader accepts left out."""
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # nbformat logs what it repairs
    raw.setdefault("metadata", {})
    raw.setdefault("nbformat", 4)
    raw.setdefault("nbformat_minor", 5)
    if "cells" in raw:
        raw["cells"] = [cell for cell in raw["cells"] if isinstance(cell, dict)]
        for cell in raw["cells"]:
            cell["outputs"] = []
    try:
        return nbformat.convert(nbformat.from_dict(raw), 4)
    except Exception as problem:
        raise SubmissionError(
            f"{path.name} is not a notebook this version can read: {problem}"
        ) from None


def _tidy(cell: Any) -> None:
    """Give a cell the fields that the rest relies on, whatever it came with."""
    source = cell.get("source", "")
    cell["source"] = (
        "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    ).replace("\r\n", "\n")
    if not isinstance(cell.get("metadata"), dict):
        cell["metadata"] = nbformat.from_dict({})
    if cell.get("cell_type") not in ("code", "markdown", "raw"):
        cell["cell_type"] = "raw"


def identify(course: Course, path: Path) -> str:
    """Return the lesson that a notebook belongs to: by its name, else by the ids of its cells."""
    notebook = read_submission(path)
    released = sorted(folder.name for folder in course.release.glob("*") if folder.is_dir())
    by_name = [name for name in released if path.stem == name]
    scores = {name: _shared(course, name, notebook) for name in by_name or released}
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is None or scores[best] == 0:
        known = ", ".join(released) or "none is released: run 'autograder build'"
        raise SubmissionError(f"{path.name} is not a notebook of this course (lessons: {known})")
    return best


def _shared(course: Course, lesson: str, notebook: Any) -> int:
    """Count the cells that a notebook shares with a lesson, by id or by text."""
    master = nbformat.read(course.release_notebook(lesson), as_version=4)
    known = {_key(cell) for cell in master.cells} | {cell.source.strip() for cell in master.cells}
    return sum(_key(cell) in known or cell.source.strip() in known for cell in notebook.cells)


def _key(cell: Any) -> str:
    about = cell.metadata.get("nbgrader")
    own = about.get("grade_id") if isinstance(about, dict) else None
    return f"id:{own or cell.get('id')}"
