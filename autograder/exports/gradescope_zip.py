"""The zip that makes a Gradescope programming assignment run the same checks as `autograder grade`.

By Gradescope's rules the zip has `setup.sh` and `run_autograder` at its root, the first run once when
the image is built, the second for every submission:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
The zip holds the checks, the model answers and the lesson's key, so that the same answer gets the same
score there as here. It is for instructors alone.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from autograder.authoring.files import files_in
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError
from autograder.storage.course_key import lesson_key

PACKAGES: Final = Path(__file__).resolve().parents[2]
CODE: Final = ("autograder", "coursework")
VERSIONS: Final = ("3.13", "3.12", "3.11")  # newest first
TESTS: Final = "\n# tests\n"  # what stands below it in requirements.txt is not needed to grade
TORCH: Final = re.compile(r"^torch==\S+$", re.M)
DATE: Final = (2020, 1, 1, 0, 0, 0)  # equal contents give an equal zip
PLAIN, PROGRAM = 0o644, 0o755


def gradescope_zip(course: Course, lesson: str, *, sandboxed: bool) -> bytes:
    """Return the zip for one lesson.

    `sandboxed=False` is for images that do not let bubblewrap run: submissions then run with the
    rights of the grader, and every result says so. Raises CourseError if the lesson was never released.
    """
    whole = io.BytesIO()
    contents = dict(_contents(course, lesson, sandboxed=sandboxed))
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, DATE)
            is_program = name in ("setup.sh", "run_autograder")
            entry.external_attr = (PROGRAM if is_program else PLAIN) << 16
            archive.writestr(entry, contents[name], zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def _contents(course: Course, lesson: str, *, sandboxed: bool) -> Iterator[tuple[str, bytes]]:
    """Yield each file's name in the zip and its content."""
    listed = (course.root / "requirements.txt").read_text(encoding="utf-8").partition(TESTS)[0]
    yield from _scripts(lesson, listed, sandboxed=sandboxed)
    yield "requirements.txt", listed.encode()
    for name in ("requirements-pretrained.txt", CONFIG):
        yield name, (course.root / name).read_bytes()
    key = course.lesson_key(lesson).relative_to(course.root)
    yield key.as_posix(), lesson_key(course, lesson).hex().encode()
    for name in course.lessons():
        yield f"source/{name}.py", course.text(name).read_bytes()
    released = course.release_notebook(lesson).parent
    for path in files_in(released):
        yield f"release/{lesson}/{path.relative_to(released).as_posix()}", path.read_bytes()
    for package in CODE:
        for path in files_in(PACKAGES / package):
            yield path.relative_to(PACKAGES).as_posix(), path.read_bytes()


def _scripts(lesson: str, listed: str, *, sandboxed: bool) -> Iterator[tuple[str, bytes]]:
    torch = TORCH.search(listed)
    if torch is None:
        raise CourseError("requirements.txt pins no version of torch: add it")
    words = {
        "lesson": lesson,
        "options": "" if sandboxed else " --unsandboxed",
        "torch": torch[0],
        "versions": VERSIONS,
        "oldest": VERSIONS[-1],
    }
    templates = Environment(
        loader=PackageLoader("autograder.exports", "scripts"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - shell, not HTML
    )
    for name in ("setup.sh", "run_autograder"):
        yield name, templates.get_template(f"{name}.j2").render(words).encode()
