"""Whatever a file is, its cells are read or the reason is told; whose lesson it is, its content says."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import solve

from autograder import notebook_file
from autograder.course import Course
from autograder.errors import SubmissionError
from autograder.marker import Marker
from autograder.notebook_file import Cell, identify, read_submission

CODE = {"cell_type": "code", "source": "x = 1"}


def written(path: Path, *cells: Any, **fields: Any) -> Path:
    """Write a notebook of these cells."""
    path.write_text(json.dumps({"cells": cells, **fields}))
    return path


def test_a_cell_keeps_what_tells_it_apart(tmp_path: Path) -> None:
    """Text, kind, and ids of whatever origin; nothing else."""
    about = {"nbgrader": {"grade_id": "softmax"}, "id": "colab", "tags": ["demo"]}
    cell = {**CODE, "id": "own", "metadata": about, "outputs": [{"text": "long"}]}
    (found,) = read_submission(written(tmp_path / "n.ipynb", cell)).cells
    assert found == Cell("code", "x = 1", "softmax", ("own", "colab"), demo=True)


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
    """Lines with and without ends, the line ends of Windows, halves of characters, nothing."""
    path = written(tmp_path / "n.ipynb", {"cell_type": "code", "source": source})
    assert read_submission(path).cells[0].source == text


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    """A folder, a pipe that nobody writes to, nothing at all, an impossible name."""
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "no ordinary file"),
        (tmp_path / "none.ipynb", "no such file"),
        (tmp_path / "a\0b", "cannot read"),
    ):
        with pytest.raises(SubmissionError, match=reason):
            read_submission(path)


def test_what_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many values in few bytes are counted before anything is made of them."""
    monkeypatch.setattr(notebook_file, "MAX_OBJECTS", 100)
    monkeypatch.setattr(notebook_file, "MAX_VALUES", 100)
    for value in ("{},", "1,", "[],"):
        path = tmp_path / "n.ipynb"
        path.write_text(f'{{"cells": [{value * 101} null]}}')
        with pytest.raises(SubmissionError, match="too many values"):
            read_submission(path)


@pytest.mark.slow
def test_saved_outputs_of_200_mb_do_no_harm(
    course: Course, marker: Marker, tmp_path: Path
) -> None:
    """They are dropped; the marks are those of the cells, and memory stays within bounds."""
    notebook = solve(course, "03_attention")
    image = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 100 * 2**20}}
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][:2]:
        cell["outputs"] = [image]
    path = tmp_path / "03_attention.ipynb"
    path.write_text(json.dumps(notebook))
    assert path.stat().st_size > 200 * 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert marker.mark("03_attention", path).report.score == 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000


def test_a_lesson_is_known_by_its_cells_whatever_the_file_is_called(
    course: Course, tmp_path: Path
) -> None:
    """By exercises; without any metadata, by the texts that were left as they were."""
    for lesson in course.lessons():
        notebook = nbformat.read(course.release_notebook(lesson), as_version=4)
        nbformat.write(notebook, tmp_path / "mine (1).ipynb")
        assert identify(course, tmp_path / "mine (1).ipynb") == lesson
        bare = [{"cell_type": c.cell_type, "source": c.source} for c in notebook.cells]
        assert identify(course, written(tmp_path / "bare.ipynb", *bare)) == lesson


def test_a_wrong_name_does_not_make_it_another_lesson(course: Course, tmp_path: Path) -> None:
    """A notebook in the place of another is told apart by what is in it."""
    path = tmp_path / "03_attention.ipynb"
    path.write_bytes(course.release_notebook("05_encoder").read_bytes())
    assert identify(course, path) == "05_encoder"


def test_a_stranger_is_refused_with_the_lessons_there_are(course: Course, tmp_path: Path) -> None:
    """Any other notebook, be it named as a lesson."""
    with pytest.raises(SubmissionError, match=r"not a notebook of this course .*03_attention"):
        identify(course, written(tmp_path / "03_attention.ipynb", CODE))


def test_a_folder_without_a_notebook_among_the_released_does_no_harm(tmp_path: Path) -> None:
    """Only what was released counts."""
    (tmp_path / "release" / ".ipynb_checkpoints").mkdir(parents=True)
    with pytest.raises(SubmissionError, match="none is released"):
        identify(Course(tmp_path), written(tmp_path / "n.ipynb", CODE))
