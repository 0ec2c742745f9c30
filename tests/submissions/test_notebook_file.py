"""A file's cells are read, or the reason why not is given; its content identifies the lesson."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import solve

from autograder.grading.grader import Grader
from autograder.model.course import Course
from autograder.model.errors import CourseError, SubmissionError
from autograder.submissions import notebook_file
from autograder.submissions.notebook_file import RawCell, read_submission
from autograder.submissions.released import identify

CODE = {"cell_type": "code", "source": "x = 1"}


def written(path: Path, *cells: Any, **fields: Any) -> Path:
    """Write a notebook of these cells."""
    path.write_text(json.dumps({"cells": cells, **fields}))
    return path


def test_a_cell_keeps_what_tells_it_apart(tmp_path: Path) -> None:
    """Its text, type and ids of any origin; nothing else."""
    about = {"nbgrader": {"grade_id": "softmax"}, "id": "colab", "tags": ["demo"]}
    cell = {**CODE, "id": "own", "metadata": about, "outputs": [{"text": "long"}]}
    (found,) = read_submission(written(tmp_path / "n.ipynb", cell)).cells
    assert found == RawCell("code", "x = 1", "softmax", ("own", "colab"), demo=True)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (["a\n", "b"], "a\nb"),
        (["a", "b"], "a\nb"),
        (["a", None, 3, "b"], "a\nb"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\ud800\0", "?\N{REPLACEMENT CHARACTER}"),
        (None, ""),
        ({}, ""),
        (7, "7"),
    ],
)
def test_a_source_of_any_form_is_text(source: Any, text: str, tmp_path: Path) -> None:
    """Lines with and without line endings, Windows line endings, lone surrogates, nothing."""
    path = written(tmp_path / "n.ipynb", {"cell_type": "code", "source": source})
    assert read_submission(path).cells[0].source == text


def test_what_is_not_an_ordinary_file_is_refused(tmp_path: Path) -> None:
    """A folder, a pipe without a writer, no file, an impossible name."""
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "is a pipe"),
        (tmp_path / "none.ipynb", "no such file"),
        (tmp_path / "a\0b", "cannot read"),
    ):
        with pytest.raises(SubmissionError, match=reason):
            read_submission(path)


def test_a_file_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many values in few bytes are counted before the file is parsed."""
    monkeypatch.setattr(notebook_file, "MAX_OBJECTS", 100)
    monkeypatch.setattr(notebook_file, "MAX_VALUES", 100)
    for value in ("{},", "1,", "[],"):
        path = tmp_path / "n.ipynb"
        path.write_text(f'{{"cells": [{value * 101} null]}}')
        with pytest.raises(SubmissionError, match="too many values"):
            read_submission(path)


@pytest.mark.full("a file of 200 MB", seconds=10)
def test_saved_outputs_of_200_mb_do_no_harm(
    course: Course, grader: Grader, tmp_path: Path
) -> None:
    """They are dropped; the cells get their points, and memory stays within bounds."""
    notebook = solve(course, "03_attention")
    image = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 100 * 2**20}}
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][:2]:
        cell["outputs"] = [image]
    path = tmp_path / "03_attention.ipynb"
    path.write_text(json.dumps(notebook))
    assert path.stat().st_size > 200 * 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert grader.grade("03_attention", path).report.score == 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000


def test_a_lesson_is_known_by_its_cells_whatever_the_file_is_called(
    course: Course, tmp_path: Path
) -> None:
    """By its exercises or, without any metadata, by its unchanged texts."""
    for lesson in course.lessons():
        notebook = nbformat.read(course.release_notebook(lesson), as_version=4)
        nbformat.write(notebook, tmp_path / "mine (1).ipynb")
        assert identify(course, tmp_path / "mine (1).ipynb") == lesson
        bare = [{"cell_type": c.cell_type, "source": c.source} for c in notebook.cells]
        assert identify(course, written(tmp_path / "bare.ipynb", *bare)) == lesson


def test_a_wrong_name_does_not_make_it_another_lesson(course: Course, tmp_path: Path) -> None:
    """The cells of a notebook decide, not its name."""
    path = tmp_path / "03_attention.ipynb"
    path.write_bytes(course.release_notebook("05_encoder").read_bytes())
    assert identify(course, path) == "05_encoder"


def test_another_notebook_is_refused_with_a_list_of_lessons(course: Course, tmp_path: Path) -> None:
    """Even if it is named like a lesson."""
    with pytest.raises(SubmissionError, match=r"not a notebook of this course .*03_attention"):
        identify(course, written(tmp_path / "03_attention.ipynb", CODE))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"nbformat": 4, "cells": 3}'])
def test_a_damaged_release_is_an_error_of_the_course(tmp_path: Path, content: str) -> None:
    """The instructor reads which file it is, and what to do, and no traceback."""
    course = Course(tmp_path)
    path = course.release / "03_tiny" / "03_tiny.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(CourseError, match=r"release/03_tiny/03_tiny.ipynb is damaged.*autograder build 03_tiny"):
        identify(course, written(tmp_path / "03_tiny.ipynb", CODE))


def test_other_folders_in_release_are_ignored(tmp_path: Path) -> None:
    """Only released lessons count."""
    (tmp_path / "release" / ".ipynb_checkpoints").mkdir(parents=True)
    with pytest.raises(SubmissionError, match="none is released"):
        identify(Course(tmp_path), written(tmp_path / "n.ipynb", CODE))
