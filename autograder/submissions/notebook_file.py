"""Reads a submitted notebook file, whatever it contains, and finds out which lesson it belongs to."""

import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.submissions.nbgrader_cells import grade_id, is_graded, is_solution

MAX_BYTES = 512 * 2**20
MAX_CELLS = 2_000
# A parsed object or list takes about 64 bytes, any other value 8, however short their text is.
MAX_OBJECTS, MAX_VALUES = 8_000_000, 80_000_000
CELL_TYPES = {"code": "code", "raw": "raw", "markdown": "markdown", "heading": "markdown"}
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
NOT_PYTHON = "the notebook names another kernel, '{kernel}'; it was run as Python"
NOT_UTF8 = f"the file is not in UTF-8; unreadable characters were replaced by '{UNREADABLE}'"
OLD_FORMAT = "the notebook is in an old format, nbformat {number}; it was converted"
TOO_MANY = "the notebook has more than {limit} cells; the rest was left out"


@dataclass(frozen=True)
class RawCell:
    """The parts of a submitted cell that grading uses: its text, and everything that identifies it."""

    cell_type: str
    source: str
    grade_id: str | None = None
    ids: tuple[str, ...] = ()
    demo: bool = False


@dataclass
class RawNotebook:
    """A notebook's cells, without outputs, and what had to be repaired to read them."""

    cells: list[RawCell]
    repairs: list[str] = field(default_factory=list)


def read_submission(path: Path) -> RawNotebook:
    """Read a notebook of any format, in any state. Raises SubmissionError with the reason."""
    data = _read(path)
    _check_size(path, data)
    repairs: list[str] = []
    raw = _parse(path, _decode(data, repairs))
    repairs += _about_format(raw)
    cells = [_cell(cell) for cell in _raw_cells(raw) if isinstance(cell, dict)]
    if len(cells) > MAX_CELLS:
        repairs.append(TOO_MANY.format(limit=MAX_CELLS))
    return RawNotebook(cells[:MAX_CELLS], repairs)


def _read(path: Path) -> bytes:
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise SubmissionError(f"{path} is a folder; name the notebook in it")
        if not stat.S_ISREG(about.st_mode):
            raise SubmissionError(f"{path} is not an ordinary file")
        if about.st_size > MAX_BYTES:
            raise SubmissionError(f"{path.name} is larger than {MAX_BYTES // 2**20} MB")
        return path.read_bytes()
    except FileNotFoundError:
        raise SubmissionError(f"no such file: {path}") from None
    except PermissionError:
        raise SubmissionError(f"no permission to read {path.name}") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error  # the error's text may hold our paths
        raise SubmissionError(f"cannot read {path.name}: {reason}") from error


def _check_size(path: Path, data: bytes) -> None:
    """Refuse a file that would take many times its size in memory; long outputs do not."""
    objects = data.count(b"{") + data.count(b"[")
    if objects > MAX_OBJECTS or data.count(b",") > MAX_VALUES:
        raise SubmissionError(f"{path.name} is not a notebook: it holds too many values")


def _decode(data: bytes, repairs: list[str]) -> str:
    """Return the file's text: UTF-8 with or without a byte order mark, UTF-16 or UTF-32."""
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
    """Yield the cells of the notebook, or of its worksheets, which it had before nbformat 4."""
    for sheet in (raw, *_list(raw.get("worksheets"))):
        yield from _list(_dict(sheet).get("cells"))


def _about_format(raw: dict[str, Any]) -> Iterator[str]:
    """Yield what is unusual about the notebook's format and kernel."""
    if isinstance(raw.get("worksheets"), list):
        yield OLD_FORMAT.format(number=str(raw.get("nbformat", 3))[:10])
    about = _dict(raw.get("metadata"))
    kernel = _dict(about.get("kernelspec"))
    language = kernel.get("language") or _dict(about.get("language_info")).get("name") or "python"
    if isinstance(language, str) and "python" not in language.lower():
        yield NOT_PYTHON.format(kernel=_clean(kernel.get("display_name") or language)[:40])


def _cell(raw: dict[str, Any]) -> RawCell:
    """Return a cell whose fields have the right types, whatever the file contains."""
    about = _dict(raw.get("metadata"))
    name, kind = _dict(about.get("nbgrader")).get("grade_id"), raw.get("cell_type")
    return RawCell(
        cell_type=CELL_TYPES.get(kind, "raw") if isinstance(kind, str) else "raw",
        source=_source(raw.get("source", raw.get("input"))),
        grade_id=name if isinstance(name, str) else None,
        ids=tuple(own for own in (raw.get("id"), about.get("id")) if isinstance(own, str)),
        demo="demo" in _list(about.get("tags")),
    )


def _source(source: Any) -> str:
    """Return a cell's text; a list holds lines, which some tools write without line endings."""
    if isinstance(source, list):
        lines = [line for line in source if isinstance(line, str)]
        ended = any(line.endswith("\n") for line in lines)
        source = ("" if ended else "\n").join(lines)
    return _clean(source).replace("\r\n", "\n").replace("\r", "\n") if source else ""


def _clean(text: Any) -> str:
    """Return text that every encoder accepts: JSON may contain lone surrogates and nulls."""
    return str(text).encode("utf-8", "replace").decode("utf-8").replace("\0", UNREADABLE)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def identify(course: Course, path: Path) -> str:
    """Return the lesson that a notebook belongs to.

    Its name decides if it contains any cell of that lesson, otherwise its cells. Raises
    SubmissionError if it contains no cell of any released lesson.
    """
    submission = read_submission(path)
    released = sorted(p.stem for p in course.release.glob("*/*.ipynb") if p.stem == p.parent.name)
    shared = {lesson: _shared(course, lesson, submission) for lesson in released}
    by_cells = max(shared, key=lambda lesson: shared[lesson], default="")
    best = path.stem if shared.get(path.stem) else by_cells
    if not shared.get(best):
        known = ", ".join(released) or "none is released: run 'autograder build'"
        raise SubmissionError(f"{path.name} is not a notebook of this course (lessons: {known})")
    return best


def _shared(course: Course, lesson: str, submission: RawNotebook) -> int:
    """Count the cells that a notebook shares with a lesson: by exercise, or by text."""
    release = nbformat.read(course.release_notebook(lesson), as_version=4)
    # only exercises: setup cells have the same ids in every lesson
    ids = {grade_id(cell) for cell in release.cells if is_solution(cell) or is_graded(cell)}
    texts = {cell.source.strip() for cell in release.cells} - {""}
    return sum(
        cell.grade_id in ids - {None} or cell.source.strip() in texts for cell in submission.cells
    )
