"""Files of a course: written whole or not at all, and listed without what editors leave behind."""

from collections.abc import Iterator
from pathlib import Path

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


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, in order, without what editors and Python leave behind."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not set(path.relative_to(folder).parts) & set(NOT_OURS):
            yield path
