"""Which parts of a lesson are for the room: everything but its exercises, unless they are asked for."""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from autograder.model.lesson_text import CellKind, LessonCell

EXERCISE: Final = re.compile(r"^#{2,3} (?:Exercise \d+|Stretch): (?P<title>[^\n]*)", re.MULTILINE)
POINTS: Final = re.compile(r"\s*\([^)]*\bpoints?\b[^)]*\)|, not counted")
ABOUT_THE_NOTEBOOK: Final = re.compile(r"\*\*What is assessed\*\*|This lesson (?:uses|builds on) ")
GLOSSARY: Final = re.compile(r"^#{2,3} Glossary\n.*?(?=^#|\Z)", re.MULTILINE | re.DOTALL)

Pair = tuple[LessonCell, Any]


def without_exercises(cells: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the cells of a lesson and of its notebook, a line in the place of each exercise.

    An exercise reaches from its heading to its test, or to its written answer. Hints and the card
    that follow are not for the room anyway. So are the table of points, the glossary and the
    remarks on how to work with the notebook.
    """
    inside = False
    for about, cell in cells:
        heading = EXERCISE.search(about.text) if about.kind is CellKind.PROSE else None
        if heading:
            inside = True
            yield from _before(about, cell, heading)
        elif about.kind in (CellKind.TEST, CellKind.WRITTEN):
            inside = False
        elif not inside:
            yield from _without_asides(about, cell)


def built(text: str) -> str:
    """Return what students build, if text is the line that stands for an exercise; "" if not."""
    heading = EXERCISE.match(text)
    return POINTS.sub("", heading["title"]).strip() if heading else ""


def _before(about: LessonCell, cell: Any, heading: re.Match[str]) -> Iterator[Pair]:
    """Yield what a cell says before an exercise begins, and the exercise's heading."""
    text = about.text[: heading.start()].strip()
    if text:
        yield _with_text(about, cell, text)
    yield replace(about, slide=""), _reworded(cell, heading[0])


def _without_asides(about: LessonCell, cell: Any) -> Iterator[Pair]:
    """Yield a cell without a glossary; nothing if it is about working with the notebook."""
    if about.kind is not CellKind.PROSE:
        yield about, cell
        return
    text = GLOSSARY.sub("", about.text).strip()
    if text and not ABOUT_THE_NOTEBOOK.match(text):
        yield _with_text(about, cell, text)


def _with_text(about: LessonCell, cell: Any, text: str) -> Pair:
    return replace(about, text=text), _reworded(cell, text)


def _reworded(cell: Any, text: str) -> Any:
    new = deepcopy(cell)
    new.source = text
    return new
