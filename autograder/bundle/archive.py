"""One zip for students: the lessons as notebooks and as pages to read, the wheel, requirements, a how-to.

The wheel holds `coursework`, which lessons import, and nothing of the autograder. Nothing is written if a
file gives away an answer, a check or a mark scheme.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from autograder.guard import refuse_secrets
from autograder.model.course import Course
from autograder.model.errors import BundleError
from autograder.model.files import write, zipped
from autograder.site.build import site

FOLDER: Final = "transformer-lessons"
HERE: Final = files("autograder.bundle")
# What lessons and coursework import, and what opens them; the rest is the instructor's.
FOR_STUDENTS: Final = (HERE / "for_students.txt").read_text(encoding="utf-8").split()
PINNED: Final = re.compile(r"^([A-Za-z0-9_.-]+)==\S+$")
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
    for name, content in site(course).items():
        yield f"lessons/{name}", content
    yield wheel.name, wheel.read_bytes()
    pretrained = course.needed("requirements-pretrained.txt")
    yield pretrained.name, pretrained.read_bytes()
    listed = course.needed("requirements.txt").read_text(encoding="utf-8")
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
        shutil.copytree(course.needed("coursework"), Path(place, "coursework"), ignore=unwanted)
        project = tomllib.loads(course.needed("pyproject.toml").read_text(encoding="utf-8"))["project"]
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
