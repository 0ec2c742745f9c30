"""Reads a submitted notebook file, whatever is in it, and finds out whose lesson it is."""

import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from autograder.course import Course
from autograder.errors import SubmissionError

MAX_BYTES = 512 * 2**20
MAX_CELLS = 2_000
# An object or list takes some 64 bytes of ours and two of the file's; a value at least 8 and two.
MAX_OBJECTS, MAX_VALUES = 8_000_000, 80_000_000
KINDS = {"code": "code", "raw": "raw", "markdown": "markdown", "heading": "markdown"}
NOT_PYTHON = "the notebook names another kernel, '{kernel}'; it was run as Python"
NOT_UTF8 = (
    "the file is not in UTF-8; what could not be read was replaced by '\N{REPLACEMENT CHARACTER}'"
)
OLD_FORMAT = "the notebook is in an old format, nbformat {number}; it was converted"
TOO_MANY = "the notebook has more than {limit} cells; the rest was left out"


@dataclass(frozen=True)
class Cell:
    """What counts of a submitted cell: its text, and whatever may tell which cell it was."""

    cell_type: str
    source: str
    grade_id: str | None = None
    ids: tuple[str, ...] = ()
    demo: bool = False


@dataclass
class Submission:
    """A notebook's cells, without outputs, and what had to be repaired to read them."""

    cells: list[Cell]
    repairs: list[str] = field(default_factory=list)


def read_submission(path: Path) -> Submission:
    """Read a notebook of any format and state. Raises SubmissionError with the reason."""
    data = _read(path)
    _insist_on_a_size(path, data)
    repairs: list[str] = []
    raw = _parse(path, _text(data, repairs))
    repairs += _about_format(raw)
    cells = [_cell(cell) for cell in _raw_cells(raw) if isinstance(cell, dict)]
    if len(cells) > MAX_CELLS:
        repairs.append(TOO_MANY.format(limit=MAX_CELLS))
    return Submission(cells[:MAX_CELLS], repairs)


def _read(path: Path) -> bytes:
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise SubmissionError(f"{path} is a folder; name the notebook in it")
        if not stat.S_ISREG(about.st_mode):
            raise SubmissionError(f"{path} is no ordinary file")
        if about.st_size > MAX_BYTES:
            raise SubmissionError(f"{path.name} is larger than {MAX_BYTES // 2**20} MB")
        return path.read_bytes()
    except FileNotFoundError:
        raise SubmissionError(f"no such file: {path}") from None
    except PermissionError:
        raise SubmissionError(f"no permission to read {path}") from None
    except (OSError, ValueError) as problem:  # ValueError: a name with a null character
        raise SubmissionError(f"cannot read {path}: {problem}") from problem


def _insist_on_a_size(path: Path, data: bytes) -> None:
    """Refuse what would take many times its size in memory: outputs of any size are no such thing."""
    objects = data.count(b"{") + data.count(b"[")
    if objects > MAX_OBJECTS or data.count(b",") > MAX_VALUES:
        raise SubmissionError(f"{path.name} is not a notebook: it holds too many values to be one")


def _text(data: bytes, repairs: list[str]) -> str:
    """Return the file's text: UTF-8 with or without a mark, UTF-16 and UTF-32; else what can be read."""
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        repairs.append(NOT_UTF8)
        return data.decode(encoding, errors="replace")


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise SubmissionError(f"{path.name} is not a notebook: it is not valid JSON") from None
    if not isinstance(raw, dict) or not any(
        isinstance(raw.get(key), list) for key in ("cells", "worksheets")
    ):
        raise SubmissionError(f"{path.name} is not a notebook: it has no cells")
    return raw


def _raw_cells(raw: dict[str, Any]) -> Iterator[Any]:
    """Yield the cells: of the notebook, or of the worksheets it had before nbformat 4."""
    for sheet in (raw, *_list(raw.get("worksheets"))):
        if isinstance(sheet, dict):
            yield from _list(sheet.get("cells"))


def _about_format(raw: dict[str, Any]) -> Iterator[str]:
    if isinstance(raw.get("worksheets"), list):
        yield OLD_FORMAT.format(number=str(raw.get("nbformat", 3))[:10])
    about = _dict(raw.get("metadata"))
    kernel = _dict(about.get("kernelspec"))
    language = kernel.get("language") or _dict(about.get("language_info")).get("name") or "python"
    if isinstance(language, str) and "python" not in language.lower():
        yield NOT_PYTHON.format(kernel=_clean(str(kernel.get("display_name") or language))[:40])


def _cell(raw: dict[str, Any]) -> Cell:
    """Return a cell with the fields that the rest relies on, whatever it came with."""
    about = _dict(raw.get("metadata"))
    grade_id = _dict(about.get("nbgrader")).get("grade_id")
    kind = raw.get("cell_type")
    return Cell(
        cell_type=KINDS.get(kind, "raw") if isinstance(kind, str) else "raw",
        source=_source(raw.get("source", raw.get("input"))),
        grade_id=grade_id if isinstance(grade_id, str) else None,
        ids=tuple(own for own in (raw.get("id"), about.get("id")) if isinstance(own, str)),
        demo="demo" in _list(about.get("tags")),
    )


def _source(source: Any) -> str:
    """Return a cell's text; a list holds lines, which some tools write without their ends."""
    if isinstance(source, list):
        lines = [line for line in source if isinstance(line, str)]
        ended = any(line.endswith("\n") for line in lines)
        source = ("" if ended else "\n").join(lines)
    return _clean(source).replace("\r\n", "\n").replace("\r", "\n") if source else ""


def _clean(text: Any) -> str:
    """Return text that every encoder takes: JSON may hold halves of characters, and nulls."""
    return (
        str(text)
        .encode("utf-8", "replace")
        .decode("utf-8")
        .replace("\0", "\N{REPLACEMENT CHARACTER}")
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def identify(course: Course, path: Path) -> str:
    """Return the lesson that a notebook belongs to: by its name, if it holds any of it, else by its cells."""
    submission = read_submission(path)
    released = sorted(p.stem for p in course.release.glob("*/*.ipynb") if p.stem == p.parent.name)
    scores = {name: _shared(course, name, submission) for name in released}
    by_content = max(scores, key=lambda name: scores[name], default="")
    best = path.stem if scores.get(path.stem) else by_content
    if not scores.get(best):
        known = ", ".join(released) or "none is released: run 'autograder build'"
        raise SubmissionError(f"{path.name} is not a notebook of this course (lessons: {known})")
    return best


def _shared(course: Course, lesson: str, submission: Submission) -> int:
    """Count the cells that a notebook shares with a lesson alone: by exercise, or by text."""
    master = nbformat.read(course.release_notebook(lesson), as_version=4)
    graded = {_exercise_id(cell) for cell in master.cells} - {None}
    texts = {cell.source.strip() for cell in master.cells} - {""}
    return sum(cell.grade_id in graded or cell.source.strip() in texts for cell in submission.cells)


def _exercise_id(cell: Any) -> str | None:
    """Return the id of a cell that belongs to an exercise; setup cells are called alike everywhere."""
    about = cell.metadata.get("nbgrader", {})
    return about.get("grade_id") if about.get("solution") or about.get("grade") else None
