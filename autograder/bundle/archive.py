"""One zip for students: released lessons, their pictures, the wheel, requirements, a how-to.

The wheel holds `coursework`, which lessons import, and nothing of the autograder.
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

from autograder.authoring.files import files_in, write, zipped
from autograder.bundle.secrets import refuse_secrets
from autograder.model.course import Course
from autograder.model.errors import BundleError

FOLDER: Final = "transformer-lessons"
# What lessons and coursework import, and what opens them; the rest is the instructor's.
FOR_STUDENTS: Final = (
    "torch",
    "numpy",
    "jupyterlab",
    "ipykernel",
    "ipywidgets",
    "huggingface_hub",
    "ipython",
    "matplotlib",
    "seaborn",
    "bertviz",
    "transformers",
    "safetensors",
    "jinja2",
    "tqdm",
)
PINNED: Final = re.compile(r"^([A-Za-z0-9_.-]+)==\S+$")
EPOCH: Final = "1577836800"  # 1 January 2020: equal contents give an equal wheel
PROJECT: Final = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "transformer-lessons"
version = "{version}"
description = "What the lessons of the Transformer course import: plots, data, stand-ins, views."
requires-python = "{python}"

[tool.setuptools.packages.find]
include = ["coursework*"]
namespaces = false

[tool.setuptools.package-data]
"*" = ["*.j2", "*.yaml"]
coursework = ["data/*", "examples/*", "vendor/*"]
"""


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
    """Yield the path in the zip and the content of each file."""
    for lesson in course.lessons():
        folder = course.release_notebook(lesson).parent
        for path in files_in(folder):
            yield f"lessons/{path.relative_to(course.release).as_posix()}", path.read_bytes()
    yield wheel.name, wheel.read_bytes()
    pretrained = course.root / "requirements-pretrained.txt"
    yield pretrained.name, pretrained.read_bytes()
    listed = (course.root / "requirements.txt").read_text(encoding="utf-8")
    yield "requirements.txt", requirements(listed, wheel.name).encode()
    yield "HOWTO.md", (files("autograder.bundle") / "HOWTO.md").read_bytes()


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
        shutil.copytree(
            course.root / "coursework",
            Path(place) / "coursework",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        text = (course.root / "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text)["project"]
        own = PROJECT.format(version=project["version"], python=project["requires-python"])
        (Path(place) / "pyproject.toml").write_text(own, encoding="utf-8")
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
