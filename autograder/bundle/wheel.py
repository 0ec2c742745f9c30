"""The wheel of `coursework`: what a lesson imports, and nothing of the autograder."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from autograder.model.course import Course
from autograder.model.errors import BundleError

NAME: Final = "transformer-lessons"
EPOCH: Final = "1577836800"  # 2020-01-01: equal contents give an equal wheel
PROJECT: Final = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "{version}"
description = "What the lessons of the Transformer course import: plots, data, stand-ins, views."
requires-python = "{python}"

[tool.setuptools]
packages = ["coursework", "coursework.engine", "coursework.instant"]

[tool.setuptools.package-data]
coursework = ["data/*", "engine/*.yaml", "examples/*", "instant/*.j2", "vendor/*"]
"""


def build_wheel(course: Course, folder: Path) -> Path:
    """Build the wheel into a folder and return it. Raises BundleError where pip cannot."""
    with TemporaryDirectory() as place:
        shutil.copytree(
            course.root / "coursework",
            Path(place) / "coursework",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (Path(place) / "pyproject.toml").write_text(_project(course), encoding="utf-8")
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


def _project(course: Course) -> str:
    """Return the wheel's own project file; its version is the course's."""
    text = (course.root / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    return PROJECT.format(name=NAME, version=project["version"], python=project["requires-python"])
