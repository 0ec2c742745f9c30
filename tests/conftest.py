"""Fixtures shared by all tests: the real course, one warm grader, solved notebooks."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from keys import KEY

import autograder.lessons
from autograder.grading.grader import Grader
from autograder.model.course import Course
from autograder.model.lesson_text import read_lesson
from autograder.storage.results_file import ResultsFile

ROOT = Path(__file__).resolve().parent.parent
REAL_COURSE = Course(ROOT)
torch.set_num_threads(1)  # as the grader does: on small tensors a second thread only slows things down
Edit = Callable[[str], str]
autograder.lessons.__path__.append(str(ROOT / "tests/checks_for_tests"))


@pytest.fixture(scope="session")
def course() -> Course:
    """The course of this repository."""
    return REAL_COURSE


@pytest.fixture(scope="session", autouse=True)
def fixed_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same inputs in every run of the tests, and nothing kept from an earlier run of them.

    Whatever key and results the course of this repository has are left alone.
    """
    file = tmp_path_factory.mktemp("kept") / "course.results"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.grader.lesson_key", lambda _course, _lesson: KEY)
        patch.setattr(
            "autograder.grading.grader.ResultsFile", lambda _path, *rest: ResultsFile(file, *rest)
        )
        yield


@pytest.fixture(scope="session")
def grader(fixed_key: None) -> Iterator[Grader]:
    """One warm grader of the real course for all tests, sandboxed if bubblewrap is installed."""
    with Grader(REAL_COURSE, sandboxed=shutil.which("bwrap") is not None) as warm:
        yield warm


def solve(course: Course, lesson: str, edits: Mapping[str, Edit] | None = None) -> Any:
    """Return the released notebook with the model answers in it, some of them edited."""
    text = read_lesson(course.text(lesson))
    notebook = nbformat.read(course.release_notebook(lesson), as_version=4)
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution"):
            answer = text.answer(about["grade_id"])
            cell.source = (edits or {}).get(about["grade_id"], lambda source: source)(answer)
    return notebook


@pytest.fixture
def hand_in(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes a solved notebook of the real course, with edits, and returns its path."""

    def write(lesson: str, **edits: Edit | str) -> Path:
        """Edits by exercise id, underscores for hyphens: a function of the answer, or a whole cell."""
        changes: dict[str, Edit] = {}
        for name, edit in edits.items():
            changes[name.replace("_", "-")] = (
                edit if callable(edit) else (lambda _, text=edit: text)
            )
        path = tmp_path / f"{lesson}.ipynb"
        nbformat.write(solve(REAL_COURSE, lesson, changes), path)
        return path

    return write
