"""What a course's nbgrader_config.py says: its id, where its gradebook is, and what enters a total."""

import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import eq
from pathlib import Path
from typing import Final

from traitlets import TraitError
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.model.course import CONFIG, Course
from autograder.model.errors import AutograderError, SettingsError
from autograder.model.lesson_text import header

SEARCH_SECONDS = 2.0
PATIENCE = 30  # seconds to wait for a locked SQLite file; the formgrader locks it for far less
LONGEST = 80  # characters of a value in a message


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_seconds(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0  # type: ignore[arg-type,operator]


def _is_columns(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value.keys(), *value.values())))


# For each setting that we read: which values can be used, and what is expected. nbgrader validates its own.
_SETTINGS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "CanvasExport.columns": (
        _is_columns,
        'a column for a lesson, as in {"03_attention": "Looking back (88123)"}',
    ),
    "ClassReport.formgrader": (_is_text, "an address in quotes"),
    "CourseDirectory.course_id": (_is_text, "a name in quotes"),
    "CourseDirectory.db_url": (_is_text, "an address in quotes"),
    "LineSearch.seconds": (_is_seconds, "a number of seconds, 0 or more"),
    "Totals.count_extra": (lambda value: isinstance(value, bool), "True or False"),
    **{
        f"CourseDirectory.{name}_directory": (
            partial(eq, name),
            f"'{name}', the folder that all commands use",
        )
        for name in ("source", "release", "submitted", "autograded", "feedback")
    },
}


def settings(course: Course) -> Config:
    """Return what the course's nbgrader_config.py sets; nothing if there is none.

    As with nbgrader, it may name a module that lies beside it: from now on such a module can be imported.
    Raises SettingsError if the file stops with an error of its own, or sets something that can't be used.
    """
    path = course.root / CONFIG
    if not path.is_file():
        return Config()
    if str(course.root) not in sys.path:
        sys.path.append(str(course.root))
    try:
        found = PyFileConfigLoader(CONFIG, path=str(course.root)).load_config()
    except Exception as error:
        steps = traceback.extract_tb(error.__traceback__)
        is_own = isinstance(error, SyntaxError) and error.filename == str(path)
        number = error.lineno if isinstance(error, SyntaxError) and is_own else None
        number = number or next((step.lineno for step in reversed(steps) if step.filename == str(path)), None)
        place = f"line {number} of {path}" if number else str(path)
        raise SettingsError(f"{place} stops with {type(error).__name__}: {error}") from error
    ours = {name.partition(".")[0] for name in _SETTINGS} - {"CourseDirectory"}  # which is nbgrader's
    for name in (f"{section}.{key}" for section in sorted(ours) for key in found[section]):
        if name not in _SETTINGS:
            known = ", ".join(f"c.{each}" for each in _SETTINGS if each.partition(".")[0] in ours)
            raise SettingsError(f"c.{name} in {path} is no setting: there are {known}")
    for name, (can_be_used, expected) in _SETTINGS.items():
        section, key = name.split(".")
        if key in found[section] and not can_be_used(found[section][key]):
            got = found[section][key]
            raise SettingsError(f"c.{name} in {path} should be {expected}, got {shown(got)}")
    return found


def shown(value: object) -> str:
    """Return a value for a message in one line, cut to length."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@contextmanager
def plain_setting_errors(course: Course) -> Iterator[None]:
    """Turn what nbgrader stops at when it is set up into a SettingsError that names the cause.

    That is a setting which nbgrader refuses, or an error in a program that a setting names.
    """
    try:
        yield
    except AutograderError:
        raise
    except Exception as error:
        said = re.sub(r"<([\w.]+) object at 0x\w+>", r"\1", str(error))  # an address says nothing to a person
        if not isinstance(error, TraitError):
            steps = traceback.extract_tb(error.__traceback__)
            file = next(step for step in reversed(steps) if not step.filename.startswith("<"))
            place = "" if isinstance(error, SyntaxError) else f", in line {file.lineno} of {file.filename}"
            said = f"it stops with {type(error).__name__}: {said}{place}"
        elif error.__cause__ is not None:
            said += f" ({error.__cause__})"
        raise SettingsError(f"a setting in {course.root / CONFIG} cannot be used: {said}") from error


def course_id(course: Course) -> str:
    """Return the course's id; '' if it has none."""
    return str(settings(course).CourseDirectory.get("course_id", ""))


def search_seconds(course: Course) -> float:
    """Return for how many seconds of processor time the line to blame is looked for in one wrong answer.

    It is `c.LineSearch.seconds`. With 0, no answer is searched.
    """
    return float(settings(course).LineSearch.get("seconds", SEARCH_SECONDS))


def outside_totals(course: Course) -> frozenset[str]:
    """Return the lessons that enter no total over all lessons: those whose text declares them extra.

    With `c.Totals.count_extra = True` they count like any other, and there are none.
    """
    if settings(course).Totals.get("count_extra", False):
        return frozenset()
    return frozenset(name for name in course.lessons() if header(course.text(name)).get("extra") is True)


def database_url(course: Course) -> str:
    """Return the address of the gradebook.

    It is `c.CourseDirectory.db_url` where that names a server such as PostgreSQL, else the file
    gradebook.db in the course folder, whose users wait for each other.
    """
    return _server(course) or f"sqlite:///{course.gradebook}?timeout={PATIENCE}"


def gradebook_place(course: Course) -> str:
    """Return where the gradebook is, to be shown to a person: no password."""
    from sqlalchemy.engine import make_url  # takes a quarter of a second to import

    server = _server(course)
    return make_url(server).render_as_string() if server else str(course.gradebook)


def in_a_file(course: Course) -> bool:
    """Return whether the gradebook is a file of the course folder."""
    return not _server(course)


@contextmanager
def programs_on_path() -> Iterator[None]:
    """Let nbgrader find alembic, which is installed beside Python: a new gradebook needs it."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _server(course: Course) -> str:
    """Return the address of the server that the gradebook is on; '' if it is in a file."""
    url = str(settings(course).CourseDirectory.get("db_url", ""))
    is_file = re.match(r"sqlite[+:]", url)
    path = url.partition("?")[0].partition(":///")[2]
    if is_file and (course.root / path).resolve() != course.gradebook.resolve():
        raise SettingsError(
            f"c.CourseDirectory.db_url in {course.root / CONFIG} names another file than {course.gradebook}, "
            "which all commands use: take it out, or name a server"
        )
    if is_file or not url:
        return ""
    from sqlalchemy.engine import make_url  # takes a quarter of a second to import
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    reason = "its form is postgresql://USER:PASSWORD@HOST/DATABASE"
    try:
        make_url(url).get_dialect().import_dbapi()
    except (SQLAlchemyError, ImportError, ValueError) as error:
        if isinstance(error, (ImportError, NoSuchModuleError)):
            reason = str(error)  # that of others may quote a part of the password
        raise SettingsError(
            f"c.CourseDirectory.db_url in {course.root / CONFIG} cannot be used: {reason}"
        ) from error
    return url
