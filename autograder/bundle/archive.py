"""One zip for students: released lessons, their pictures, the wheel, requirements, a how-to.

The wheel holds `coursework`, which lessons import, and nothing of the autograder. Nothing is written if a
file gives away an answer, a check or a mark scheme. Titles of mistakes are public where an exercise has
examples: the check in the notebook names them.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from autograder.authoring.files import files_in, write, zipped
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.errors import BundleError
from autograder.model.lesson_text import LessonText, Region, inside, read_lesson
from autograder.storage.course_key import lesson_key

FOLDER: Final = "transformer-lessons"
HERE: Final = files("autograder.bundle")
# What lessons and coursework import, and what opens them; the rest is the instructor's.
FOR_STUDENTS: Final = (HERE / "for_students.txt").read_text(encoding="utf-8").split()
PINNED: Final = re.compile(r"^([A-Za-z0-9_.-]+)==\S+$")
WORDS: Final = ("autograder", "BEGIN SOLUTION", "BEGIN HIDDEN", "MARK SCHEME", 'grade("')
# Shorter ones may well stand elsewhere: `return x`, or a question that begins "There is no dropout".
LEAST: Final = 60
LEAST_TITLE: Final = 30
EPOCH: Final = "1577836800"  # 2020-01-01: equal contents give an equal wheel


def write_bundle(course: Course) -> Path:
    """Write the students' zip to dist/ and return it.

    Raises BundleError where something in it gives an answer or a check away.
    """
    with TemporaryDirectory() as place:
        wheel = build_wheel(course, Path(place))
        contents = dict(_contents(course, wheel))
    refuse_secrets(course, contents)
    path = course.root / "dist" / f"{FOLDER}.zip"
    write(path, zipped({f"{FOLDER}/{name}": content for name, content in contents.items()}))
    return path


def _contents(course: Course, wheel: Path) -> Iterator[tuple[str, bytes]]:
    for lesson in course.lessons():
        folder = course.release_notebook(lesson).parent
        for path in files_in(folder):
            yield f"lessons/{path.relative_to(course.release).as_posix()}", path.read_bytes()
    yield wheel.name, wheel.read_bytes()
    pretrained = course.root / "requirements-pretrained.txt"
    yield pretrained.name, pretrained.read_bytes()
    listed = (course.root / "requirements.txt").read_text(encoding="utf-8")
    yield "requirements.txt", requirements(listed, wheel.name).encode()
    yield "HOWTO.md", (HERE / "HOWTO.md").read_bytes()


def requirements(listed: str, wheel: str) -> str:
    """Return the students' requirements: the course's pins of what they need, and the wheel.

    Raises BundleError where the course does not pin one of them.
    """
    pins = {match[1]: match[0] for match in map(PINNED.match, listed.splitlines()) if match}
    missing = [name for name in FOR_STUDENTS if name not in pins]
    if missing:
        raise BundleError(f"requirements.txt pins no version of {', '.join(missing)}: add it")
    lines = (*(pins[name] for name in FOR_STUDENTS), f"./{wheel}")
    head = "# What the lessons need. Install with: pip install -r requirements.txt\n"
    return head + "".join(f"{line}\n" for line in lines)


def build_wheel(course: Course, folder: Path) -> Path:
    """Build the wheel into a folder and return it. Raises BundleError where pip cannot."""
    with TemporaryDirectory() as place:
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(course.root / "coursework", Path(place, "coursework"), ignore=unwanted)
        project = tomllib.loads((course.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        template = (HERE / "wheel.toml").read_text(encoding="utf-8")
        own = template.format(version=project["version"], python=project["requires-python"])
        Path(place, "pyproject.toml").write_text(own, encoding="utf-8")
        # setuptools is pinned and installed: no isolated environment, hence no network
        options = ["--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(folder)]
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", *options, place]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
        done = subprocess.run(  # noqa: S603 - our own code
            command, capture_output=True, text=True, check=False, env=environment
        )
    if done.returncode:
        raise BundleError(f"the wheel of coursework could not be built: {done.stderr[-500:]}")
    return next(folder.glob("*.whl"))


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
    """Yield each file's text; of a notebook what its cells say, of a wheel each file in it."""
    for name, content in contents.items():
        if name.endswith(".whl"):
            with zipfile.ZipFile(io.BytesIO(content)) as wheel:
                inner = {f"{name}/{entry}": wheel.read(entry) for entry in wheel.namelist()}
            yield from _texts(inner)
            continue
        text = content.decode("utf-8", errors="replace")
        yield name, text
        if name.endswith(".ipynb"):
            cells = json.loads(text)["cells"]
            yield name, "\n".join("".join(cell["source"]) for cell in cells)


def _bare(text: str) -> str:
    """Return a text without spaces and line ends, so that no indentation hides it."""
    return "".join(text.split())
