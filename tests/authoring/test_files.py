"""Files are written where they differ only, and notebooks are held against each other by cells."""

from pathlib import Path

from nbformat.v4 import new_output

from autograder.authoring.files import (
    difference,
    files_in,
    parse_notebook,
    read_notebook,
    refused,
    remove,
    was_run,
    write,
)
from autograder.authoring.notebook import as_text, solution_notebook
from autograder.model.lesson_text import LessonText


def test_a_file_is_written_once(tmp_path: Path) -> None:
    """The same content again leaves the file alone; no draft stays behind."""
    path = tmp_path / "new" / "a.txt"
    assert write(path, b"one")
    assert not write(path, b"one")
    assert write(path, b"two")
    assert [file.read_bytes() for file in files_in(tmp_path)] == [b"two"]


def test_leavings_do_not_count(tmp_path: Path) -> None:
    """What editors and Python drop into a folder is not a file of the lesson."""
    write(tmp_path / ".ipynb_checkpoints" / "a.ipynb", b"{}")
    write(tmp_path / "images" / "a.svg", b"<svg/>")
    assert list(files_in(tmp_path)) == [tmp_path / "images" / "a.svg"]


def test_removing_clears_empty_folders(tmp_path: Path) -> None:
    """A folder goes with its last file, not before."""
    write(tmp_path / "images" / "a.svg", b"a")
    write(tmp_path / "images" / "b.svg", b"b")
    remove([tmp_path / "images" / "a.svg"])
    assert (tmp_path / "images").is_dir()
    remove([tmp_path / "images" / "b.svg"])
    assert not (tmp_path / "images").exists()


def test_cells_are_what_counts(lesson: LessonText) -> None:
    """A source, a piece of metadata or a missing cell makes a difference; an output makes none."""
    new = solution_notebook(lesson)
    old = parse_notebook(as_text(new).encode())
    old.cells[1].outputs = [{"output_type": "stream", "name": "stdout", "text": "hello"}]
    assert difference(old, new) == ""
    old.cells[1].metadata.tags = ["given"]
    assert difference(old, new) == "cell 'setup-1' differs"
    assert "expected" in difference(parse_notebook(as_text(new).encode()), _shorter(lesson))
    assert difference(None, new) == "missing or unreadable"


def test_no_notebook_is_none(tmp_path: Path) -> None:
    """A file that is missing or torn is no notebook, and no error either."""
    assert read_notebook(tmp_path / "none.ipynb") is None
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    assert read_notebook(tmp_path / "torn.ipynb") is None


def test_a_notebook_was_run_when_each_cell_was(lesson: LessonText) -> None:
    """One code cell without a number is enough to say no."""
    notebook = solution_notebook(lesson)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        assert not was_run(notebook)
        cell.execution_count = number
    assert was_run(notebook)


def test_the_card_of_a_wrong_answer_is_found(lesson: LessonText) -> None:
    """A lesson that shows one, solved, is not finished."""
    notebook = solution_notebook(lesson)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    for text, found in (("✓ double: Right", ""), ("✗ double: the sign is wrong", cell.id)):
        cell.outputs = [new_output("display_data", {"text/plain": text})]
        assert refused(notebook) == found


def _shorter(lesson: LessonText) -> object:
    notebook = solution_notebook(lesson)
    del notebook.cells[-1]
    return notebook
