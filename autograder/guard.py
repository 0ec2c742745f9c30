"""The guard over everything that students get: no answer, mark scheme, check, known mistake or key is in it.

Titles of mistakes are public where an exercise has examples: the check in the notebook names them.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from bs4 import BeautifulSoup

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.errors import BundleError
from autograder.model.lesson_text import LessonText, Region, inside, read_lesson
from autograder.storage.course_key import lesson_key

WORDS: Final = ("autograder", "BEGIN SOLUTION", "BEGIN HIDDEN", "MARK SCHEME", 'grade("')
# Shorter ones may well stand elsewhere: `return x`, or a question that begins "There is no dropout".
LEAST: Final = 60
LEAST_TITLE: Final = 30
DATA: Final = re.compile(r"base64,[\w+/=]+", re.ASCII)  # a picture: megabytes that say nothing


class Secret(NamedTuple):
    """A text that students must not find, without its spaces, and what it is."""

    text: str
    what: str


def refuse_secrets(course: Course, contents: Mapping[str, bytes]) -> None:
    """Raise BundleError where a file, or a file in a wheel, shows a secret of the course."""
    hidden = secrets(course)
    for name, text in _texts(contents):
        bare = _bare(text)
        for secret in hidden:
            if secret.text in bare:
                raise BundleError(
                    f"{name} gives away {secret.what}: nothing was written; "
                    "find out how it came there, and build the lesson again"
                )


def secrets(course: Course) -> list[Secret]:
    """Return all that must not be found: words, answers, mark schemes, mistakes and checks."""
    found = [Secret(_bare(word), f"the word '{word}'") for word in WORDS]
    if course.key.is_file():
        found.append(Secret(_bare(course.key.read_text()), "the private key of the course"))
        for name in course.lessons():
            key = lesson_key(course, name).hex()
            found.append(Secret(_bare(key), f"the private key of {name}"))
    for name in course.lessons():
        found += _of_text(read_lesson(course.text(name)))
        found += _of_checks(course, name)
    return found


def _of_text(lesson: LessonText) -> Iterator[Secret]:
    for cell in lesson.cells:
        for region in (Region.SOLUTION, Region.SCHEME):
            text = _bare(inside(cell.text, region))
            if len(text) >= LEAST:
                yield Secret(text, f"the {region.name.lower()} of {lesson.name}/{cell.exercise}")


def _of_checks(course: Course, name: str) -> Iterator[Secret]:
    exercises = load_lesson(course, name).exercises
    public = {mistake.title for each in exercises if each.examples for mistake in each.mistakes}
    for exercise in exercises:
        for check in exercise.checks:
            if len(_bare(check.title)) >= LEAST_TITLE:
                yield Secret(_bare(check.title), f"the check '{check.id}' of {exercise.id}")
        for mistake in exercise.mistakes:
            if mistake.title not in public and len(_bare(mistake.title)) >= LEAST_TITLE:
                yield Secret(_bare(mistake.title), f"the mistake '{mistake.id}' of {exercise.id}")


def _texts(contents: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield each file's text; also what a page or a notebook's cells say, and each file in a wheel."""
    for name, content in contents.items():
        if name.endswith(".whl"):
            with zipfile.ZipFile(io.BytesIO(content)) as wheel:
                inner = {f"{name}/{entry}": wheel.read(entry) for entry in wheel.namelist()}
            yield from _texts(inner)
            continue
        text = DATA.sub("", content.decode("utf-8", errors="replace"))
        yield name, text
        if name.endswith(".html"):  # colours and escapes divide what a reader sees as one
            yield name, BeautifulSoup(text, "html.parser").get_text()
        if name.endswith(".ipynb"):
            cells = json.loads(text)["cells"]
            yield name, "\n".join("".join(cell["source"]) for cell in cells)


def _bare(text: str) -> str:
    """Return a text without spaces and line ends, so that no indentation hides it."""
    return "".join(text.split())
