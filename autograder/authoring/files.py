"""Compares files on disk with what the build makes, and writes those that differ."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat

WRONG = "✗"  # how the card of a wrong answer begins
NOT_OURS = (".ipynb_checkpoints", "__pycache__", ".DS_Store")


def write(path: Path, content: bytes) -> bool:
    """Write a file whole or not at all; return whether its content is new."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    draft.replace(path)
    return True


def read_notebook(path: Path) -> Any:
    """Return a notebook, or None if it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.validator.NotebookValidationError):
        return None


def parse_notebook(content: bytes) -> Any:
    """Return the notebook that a file's content holds."""
    return nbformat.reads(content.decode(), as_version=4)


def difference(old: Any, new: Any) -> str:
    """Return what differs between two notebooks' cells: sources and metadata; '' for nothing."""
    if old is None:
        return "missing or unreadable"
    for before, after in zip(old.cells, new.cells, strict=False):
        if _kept(before) != _kept(after):
            return f"cell '{after.get('id')}' differs"
    if len(old.cells) != len(new.cells):
        return f"expected {len(new.cells)} cells, got {len(old.cells)}"
    return ""


def was_run(notebook: Any) -> bool:
    """Return whether every code cell of a notebook was run."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return all(cell.execution_count for cell in code if cell.source.strip())


def refused(notebook: Any) -> str:
    """Return the id of the first cell with a card that finds its answer wrong; '' for none."""
    for cell in notebook.cells:
        texts = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())]
        if any(text.startswith(WRONG) for text in texts):
            return str(cell.id)
    return ""


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, in order, without what editors and Python leave behind."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not set(path.relative_to(folder).parts) & set(NOT_OURS):
            yield path


def remove(paths: Iterable[Path]) -> None:
    """Remove files, and folders that this leaves empty."""
    for path in paths:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()


def _kept(cell: Any) -> tuple[Any, ...]:
    return cell.get("id"), cell.cell_type, cell.source, cell.metadata
