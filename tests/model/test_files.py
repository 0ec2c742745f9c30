"""Files are written where they differ only, and listed without what editors leave behind."""

from pathlib import Path

from autograder.model.files import files_in, write


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
