"""Opens what a student submitted without following a link, waiting for a pipe, or reading without end."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import SubmissionError, WrongFileError
from autograder.model.text import clean_name

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LAYOUT = 3  # a submission is student/lesson/notebook


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


def require_real(path: Path, course: Course) -> None:
    """Raise what `read_submitted` would, without reading anything."""
    with _opened(path, course):
        pass


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
    if stat.S_ISDIR(mode):
        raise SubmissionError(f"{clean_name(name)} is a folder; name the notebook in it")
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise SubmissionError(f"{clean_name(name)} is not an ordinary file")


def _require_ordinary(about: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise SubmissionError(f"{name} is not an ordinary file")
    if about.st_nlink > 1:
        raise WrongFileError(
            f"'{name}' is a hard link, another name of some other file: expected a copy of its own"
        )
