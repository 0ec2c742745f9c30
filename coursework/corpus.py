"""A long text to learn from: Shakespeare where the file is at hand, else our own text.

Nothing is ever downloaded. `shakespeare.txt`, plain UTF-8 text, is looked for in the folder that
the environment variable COURSEWORK_DATA names, in the course's `data/`, and in `shared/data/`
beside the course, where several copies of the course can use one file.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coursework.made_up_play import made_up_play
from coursework.text import PAGE

FILE: Final = "shakespeare.txt"
SHAKESPEARE: Final = "Shakespeare"
HINT: Final = f"put the works of Shakespeare at data/{FILE} in the course folder"
VARIABLE: Final = "COURSEWORK_DATA"
COURSE: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Corpus:
    """A text, its short name, and a line that says which it is and how to get the other."""

    name: str
    text: str
    note: str


def load_corpus() -> Corpus:
    """Return the complete works where a file of them can be read, else our own page."""
    for path in _places():
        text = _read(path)
        if text:
            note = f"Corpus: Shakespeare, {len(text):,} characters, from {FILE}."
            return Corpus(SHAKESPEARE, text, note)
    hint = f"for a long one, {HINT}"
    return Corpus("our page", PAGE, f"Corpus: our own page, {len(PAGE):,} characters ({hint}).")


def load_long_corpus() -> Corpus:
    """Return the complete works as `load_corpus` does, else a play that a program makes up."""
    found = load_corpus()
    if found.name == SHAKESPEARE:
        return found
    play = made_up_play()
    note = f"Corpus: a play made up by a program, {len(play):,} characters ({HINT} for the real thing)."
    return Corpus("made-up play", play, note)


def _places() -> Iterator[Path]:
    named = os.environ.get(VARIABLE)
    if named:
        yield Path(named) / FILE
    yield COURSE / "data" / FILE
    yield COURSE.parent / "shared" / "data" / FILE


def _read(path: Path) -> str:
    """Return a file's text; nothing where it cannot be read as text."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
