"""Whether the pages of a class still show what they were made from, so that none is made twice."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from autograder.authoring.files import files_in

PACKAGE = Path(__file__).resolve().parent.parent
CODE = ("reports", "model")  # the folders whose code can change a page
FILE = ".made-from.json"


class Imprint:
    """A digest of what pages are made from: values, and files by their place, size and time."""

    def __init__(self) -> None:
        """Begin with our own code."""
        self._digest = hashlib.sha256()
        for folder in CODE:
            self.add_files(files_in(PACKAGE / folder))

    def add(self, *values: str) -> None:
        """Add values. Each keeps its place: 'a', 'b' is not 'ab'."""
        for value in values:
            data = value.encode(errors="surrogatepass")
            self._digest.update(b"%d:" % len(data) + data)

    def add_files(self, paths: Iterable[Path]) -> None:
        """Add files; those that are not there count as well."""
        self.add(*(f"{path} {_state(path)}" for path in paths))

    def hex(self) -> str:
        """Return the digest of what was added so far."""
        return self._digest.hexdigest()


def made_from(folder: Path, imprint: Imprint) -> list[Path] | None:
    """Return the pages that were last made here, or None if this is not what they were made from.

    Pages that have since been changed or removed are not up to date either.
    """
    try:
        stored = json.loads((folder / FILE).read_bytes())
        pages = {folder / name: state for name, state in stored["pages"].items()}
        same = stored["imprint"] == imprint.hex()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # none yet, or torn
        return None
    untouched = all(_state(path) == state for path, state in pages.items())
    return [*pages] if same and untouched else None


def keep(folder: Path, imprint: Imprint, pages: Sequence[Path]) -> None:
    """Note what these pages of a folder were made from."""
    states = {path.name: _state(path) for path in pages}
    stored = json.dumps({"imprint": imprint.hex(), "pages": states})
    (folder / FILE).write_text(stored, encoding="utf-8")


def _state(path: Path) -> list[int]:
    """Return a file's size in bytes and its time in nanoseconds; nothing if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
