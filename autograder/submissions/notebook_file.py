"""Reads a submitted notebook file, whatever it is and contains.

It is opened without following a link, waiting for a pipe, or reading without end.

What is saved beside the text is dropped from a large file's bytes before they are parsed: outputs,
attachments, the state of widgets and other metadata, pictures in the text. It is most of the file, and
grading uses none of it. Skipping it costs no memory, however many values it holds.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.model.course import Course
from autograder.model.errors import SubmissionError, WrongFileError
from autograder.model.text import clean_name

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LAYOUT = 3  # a submission is student/lesson/notebook

MAX_BYTES = 256 * 2**20
MAX_PARSED = 16 * 2**20  # of what grading uses; a lesson takes a tenth of a megabyte
MAX_CELLS = 2_000
MAX_CELL, MAX_SOURCES = 200_000, 1_000_000  # characters of one cell, and of all cells of one kind
# A parsed object or list takes up to 250 bytes, any other value 60, however short their text is.
MAX_OBJECTS, MAX_VALUES = 1_000_000, 4_000_000
MAX_DIGITS = 18
_PICTURE = r"(data:[\w/+.-]{0,60};base64,)[\w/+=%\s]{400,}"  # in the text
EMBEDDED = re.compile(_PICTURE)
_EMBEDDED_BYTES = re.compile(_PICTURE.encode())
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
CELL_TYPES = {"code": "code", "raw": "raw", "markdown": "markdown", "heading": "markdown"}
UNREADABLE = "\N{REPLACEMENT CHARACTER}"

MAX_TOKENS = 4_000_000  # about three seconds
# A string, possibly cut off by the end of the file, or a bracket. Possessive: nothing is ever retried.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[\[\]{}]', re.S)
_DROPPED = frozenset({b'"outputs"', b'"attachments"'})  # of a cell
_ABOUT_NOTEBOOK = frozenset({b'"kernelspec"', b'"language_info"'})  # all that is used of its metadata
_ABOUT_CELL = frozenset({b'"nbgrader"', b'"tags"'})
_LONGEST_KEY = 16
_COLON = re.compile(rb"\s*+:\s*+([\[{])")
# How deep a key lies: a cell is an object in a list in an object.
_IN_METADATA, _IN_A_CELL, _IN_A_CELLS_METADATA = 2, 3, 4


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


def read_submission(path: Path, course: Course | None = None) -> RawNotebook:
    """Read a notebook of any format, in any state. Raises SubmissionError with the reason."""
    name = clean_name(path.name)
    data = read_submitted(path, MAX_BYTES, course)
    repairs: list[str] = []
    raw = _parse(name, _text(name, data, repairs))
    repairs += _about_format(raw)
    sheets = (raw, *_list(raw.get("worksheets")))  # notebooks had worksheets before nbformat 4
    found = (cell for sheet in sheets for cell in _list(_dict(sheet).get("cells")))
    cells = [_cell(cell) for cell in found if isinstance(cell, dict)]
    if len(cells) > MAX_CELLS:
        repairs.append(f"the notebook has more than {MAX_CELLS} cells; the rest was left out")
    return RawNotebook(_within_limits(cells[:MAX_CELLS], repairs), repairs)


def _text(name: str, data: bytes, repairs: list[str]) -> str:
    """Return the file's text, without what grading does not use if that is much."""
    if len(data) > MAX_PARSED and json.detect_encoding(data).startswith("utf-8"):
        data = _EMBEDDED_BYTES.sub(rb"\1", only_what_counts(data))
    if len(data) > MAX_PARSED:
        raise SubmissionError(
            f"{name} is larger than {MAX_PARSED // 2**20} MB without outputs and pictures, and was not read"
        )
    objects = data.count(b"{") + data.count(b"[")
    if objects > MAX_OBJECTS or data.count(b",") > MAX_VALUES:
        raise SubmissionError(f"{name} is not a notebook: it holds too many values")
    encoding = json.detect_encoding(data)  # UTF-8 with or without a byte order mark, UTF-16 or UTF-32
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        repairs.append(f"the file is not in UTF-8; unreadable characters were replaced by '{UNREADABLE}'")
        return data.decode(encoding, errors="replace")


def _within_limits(cells: list[RawCell], repairs: list[str]) -> list[RawCell]:
    """Return the cells, cut where they are longer than anyone writes by hand."""
    kept, left = [], {"code": MAX_SOURCES, "prose": MAX_SOURCES}
    for cell in cells:
        kind = "code" if cell.cell_type == "code" else "prose"
        left[kind] -= len(cell.source[:MAX_CELL])
        if left[kind] < 0:
            repairs.append(f"the cells hold more than {MAX_SOURCES} characters; the last ones were left out")
            break
        if len(cell.source) > MAX_CELL:
            repairs.append(f"a cell holds more than {MAX_CELL} characters; the rest of it was left out")
            cell = replace(cell, source=cell.source[:MAX_CELL])
        kept.append(cell)
    return kept


def _parse(name: str, text: str) -> dict[str, Any]:
    if not text.strip():
        raise SubmissionError(f"{name} is not a notebook: the file is empty")
    try:
        # grading uses no long number, and Python refuses to read the longest
        raw = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else 0)
    except (ValueError, RecursionError):
        raise SubmissionError(f"{name} is not a notebook: it is not valid JSON") from None
    if not isinstance(raw, dict) or not any(
        isinstance(raw.get(key), list) for key in ("cells", "worksheets")
    ):
        raise SubmissionError(f"{name} is not a notebook: it has no cells")
    return raw


def _about_format(raw: dict[str, Any]) -> Iterator[str]:
    """Yield what is unusual about the notebook's format and kernel."""
    if isinstance(raw.get("worksheets"), list):
        number = str(raw.get("nbformat", 3))[:10]
        yield f"the notebook is in an old format, nbformat {number}; it was converted"
    about = _dict(raw.get("metadata"))
    kernel = _dict(about.get("kernelspec"))
    language = kernel.get("language") or _dict(about.get("language_info")).get("name") or "python"
    if isinstance(language, str) and "python" not in language.lower():
        name = _clean(kernel.get("display_name") or language)[:40]
        yield f"the notebook names another kernel, '{name}'; it was run as Python"


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
    text = _clean(source).replace("\r\n", "\n").replace("\r", "\n") if source else ""
    return EMBEDDED.sub(r"\1…", text) if len(text) > MAX_CELL else text


def _clean(text: Any) -> str:
    """Return text that every encoder accepts: JSON may contain lone surrogates and nulls."""
    return str(text).encode("utf-8", "replace").decode("utf-8").replace("\0", UNREADABLE)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def only_what_counts(data: bytes) -> bytes:
    """Return a notebook's JSON without outputs and attachments, and without metadata that nobody reads.

    Bytes that are not JSON give bytes that are not JSON. Raises SubmissionError if there are too many
    values to look at.
    """
    kept, done = [], 0
    for start, end in _not_used(data):
        kept += [data[done:start], b"null"]
        done = end
    return b"".join([*kept, data[done:]])


def _not_used(data: bytes) -> Iterator[tuple[int, int]]:
    depth = start = outside = 0
    for number, found in enumerate(_TOKEN.finditer(data)):
        if number > MAX_TOKENS:
            raise SubmissionError("the file is not a notebook: it holds too many values")
        first, end = found.span()
        if data[first] in b"{[":
            depth += 1
        elif data[first] in b"}]":
            depth -= 1
            if start and depth == outside:
                yield start, end
                start = 0
        elif not start and _is_not_used(data[first : min(end, first + _LONGEST_KEY)], depth):
            colon = _COLON.match(data, end)
            start, outside = (colon.start(1), depth) if colon else (0, 0)


def _is_not_used(key: bytes, depth: int) -> bool:
    """Return whether grading does without a list or an object of this name; one of another format is kept."""
    return (
        (depth >= _IN_A_CELL and key in _DROPPED)
        or (depth == _IN_METADATA and key not in _ABOUT_NOTEBOOK)
        or (depth == _IN_A_CELLS_METADATA and key not in _ABOUT_CELL)
    )


def read_submitted(path: Path, most: int, course: Course | None = None) -> bytes:
    """Return the bytes of a submitted file, at most `most` of them.

    The file itself, and each folder above it that came with it, has to be the real one: no link, no
    second name of another file. Raises WrongFileError if it is not, and SubmissionError if it cannot be
    read or is larger.
    """
    with _opened(path, course) as descriptor:
        size = os.fstat(descriptor).st_size
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(most + 1) if size <= most else b""
        if max(size, len(data)) > most:
            raise SubmissionError(f"{clean_name(path.name)} is larger than {most // 2**20} MB")
        return data


def pieces(path: Path, most: int, course: Course | None = None) -> Iterator[bytes]:
    """Yield the bytes of a submitted file, a megabyte at a time. Raises what `read_submitted` does."""
    with _opened(path, course) as descriptor:
        left = os.fstat(descriptor).st_size
        if left > most:
            raise SubmissionError(f"{clean_name(path.name)} is larger than {most // 2**20} MB")
        while left and (piece := os.read(descriptor, min(left, 2**20))):
            yield piece
            left -= len(piece)


def require_real(path: Path, course: Course) -> None:
    """Raise what `read_submitted` would, without reading anything."""
    with _opened(path, course):
        pass


def read_end(path: Path, most: int) -> bytes:
    """Return the last bytes of a submitted file. Raises what `read_submitted` does."""
    with _opened(path, None) as descriptor:
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - most), os.SEEK_SET)
        return os.read(descriptor, most)


def read_start(path: Path, most: int, course: Course) -> bytes:
    """Return the first bytes of a small submitted file; none if it cannot be read."""
    with suppress(SubmissionError), _opened(path, course) as descriptor:
        return os.read(descriptor, most)
    return b""


@contextmanager
def _opened(path: Path, course: Course | None) -> Iterator[int]:
    """Open one folder after the other, from the last one that the instructor chose, and then the file.

    Whatever goes wrong becomes a SubmissionError of one line.
    """
    name = clean_name(path.name)
    try:
        whole = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve follows links
        base = _chosen(whole, course)
        *folders, last = whole.relative_to(base).parts or (".",)
        with ExitStack() as descriptors:
            place = os.open(base, os.O_PATH | os.O_CLOEXEC)
            descriptors.callback(os.close, place)
            for folder in folders:
                place = _open(folder, _FOLDER, place)
                descriptors.callback(os.close, place)
            _refuse_specials(last, place)
            file = _open(last, _FILE, place)
            descriptors.callback(os.close, file)
            _require_ordinary(os.fstat(file), name)
            yield file
    except FileNotFoundError:
        raise SubmissionError(f"no such file: {clean_name(str(path))}") from None
    except PermissionError:
        raise SubmissionError(f"no permission to read {name}") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error  # the error's text may hold our paths
        raise SubmissionError(f"cannot read {name}: {reason}") from error


def _chosen(path: Path, course: Course | None) -> Path:
    """Return the folder above `path` up to which links are the instructor's own business."""
    for folder in (course.submitted, Path.cwd(), course.root) if course else (Path.cwd(),):
        if folder in path.parents:
            return folder
    return path.parents[min(_LAYOUT, len(path.parents)) - 1]


def _open(name: str, flags: int, place: int) -> int:
    try:
        return os.open(name, flags, dir_fd=place)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        if stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
            raise WrongFileError(f"'{clean_name(name)}' is a link: expected the notebook itself") from None
        raise


def _refuse_specials(name: str, place: int) -> None:
    """Refuse what is not even to be opened: opening a device may set something off."""
    mode = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
    if kind := KINDS.get(stat.S_IFMT(mode)):
        raise WrongFileError(f"'{clean_name(name)}' is {kind}: expected the notebook itself")


def _require_ordinary(about: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise WrongFileError(f"'{name}' is not an ordinary file: expected the notebook itself")
    if about.st_nlink > 1:
        raise WrongFileError(
            f"'{name}' is a hard link, another name of some other file: expected a copy of its own"
        )
