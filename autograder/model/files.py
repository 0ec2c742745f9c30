"""Files of a course: written whole or not at all, and listed without what editors leave behind."""

import io
import zipfile
from collections.abc import Collection, Iterator, Mapping
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


def zipped(contents: Mapping[str, bytes], programs: Collection[str] = ()) -> bytes:
    """Return a zip, the same for the same contents by name; `programs` are the files that can be run."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if name in programs else 0o644) << 16
            archive.writestr(entry, contents[name], zipfile.ZIP_DEFLATED)
    return whole.getvalue()
