"""Where one slide ends and the next begins: an idea each, and no more than fits."""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.lecture import blocks
from autograder.text.cells import Cell, Kind
from autograder.text.lesson import LessonText

ROOM: Final = 680  # pixels that content may take; the page shrinks what is a little over 640
HEADING: Final = re.compile(r"\s*#{1,3} (.+)")
ANSWER, OUTPUT_ONLY = "answer", "output-only"  # tags that the slides' template knows
LEAST: Final = 130  # a slide that holds less than this is never ended for lack of room
SHORT: Final = 120  # what is no higher than this may push a slide a little over its room
OVER: Final = 60


# jupyterlab-rise reads these; its own type is too small for the back row.
TYPE: Final = """<style>
body { --jp-content-font-size1: 24px !important; --jp-code-font-size: 19px !important; }
.reveal h1, .reveal h2, .reveal h3 { text-transform: none; }
.reveal h1 { font-size: 46px; } .reveal h2 { font-size: 38px; } .reveal h3 { font-size: 31px; }
.reveal .jp-OutputArea-output pre { font-size: 19px; line-height: 1.36; }
</style>"""
RISE: Final = {
    "theme": "white",
    "transition": "none",
    "center": False,
    "scroll": True,
    "slideNumber": "c/t",
    "overlay": TYPE,
}


@dataclass
class Piece:
    """A cell of the slides, about how high it is, and the place its author gave it."""

    cell: Any
    height: float
    slide: str = ""


def live_notebook(lesson: LessonText, notebook: Any, folder: Path) -> Any:
    """Return a solved lesson laid out as slides to run live: all of its code, tests off the slides.

    `folder` is where its pictures lie.
    """
    pieces: list[Piece] = []
    for about, cell in zip(lesson.cells, notebook.cells, strict=True):
        pieces += _live(about, cell, folder)
    laid_out = _with_cells(notebook, _paged(pieces))
    laid_out.metadata["rise"] = RISE
    return laid_out


def slide_notebook(lesson: LessonText, notebook: Any, folder: Path) -> Any:
    """Return a solved lesson as slides to export: answers folded, controls and tests left out."""
    pieces: list[Piece] = []
    for about, cell in zip(lesson.cells, notebook.cells, strict=True):
        pieces += _exported(lesson, about, cell, folder)
    return _with_cells(notebook, _titled(_paged(p for p in pieces if p.slide != "skip")))


def _with_cells(notebook: Any, pieces: Iterable[Piece]) -> Any:
    new = deepcopy(notebook)
    new.cells = [piece.cell for piece in pieces]
    return new


def _live(about: Cell, cell: Any, folder: Path) -> Iterator[Piece]:
    slide = _slide(about, cell)
    if about.kind.is_markdown and slide not in ("skip", "notes"):
        yield from _prose(cell.source, slide, about.id, folder)
    else:
        height = blocks.code_height(cell.source) + blocks.outputs_height(cell)
        yield Piece(deepcopy(cell), height, slide)


def _exported(lesson: LessonText, about: Cell, cell: Any, folder: Path) -> Iterator[Piece]:
    if about.kind is Kind.SOLUTION:
        skeleton = lesson.skeleton(about.exercise)
        yield _code(skeleton, f"{about.id}-skeleton", (), about.slide)
        yield _code(cell.source, about.id, (ANSWER,))
    elif about.kind is Kind.WRITTEN:
        folded = f"<details><summary>Model answer</summary>\n\n{cell.source}\n\n</details>"
        yield from _prose(folded, about.slide, about.id, folder)
    elif about.kind.is_markdown:
        yield from _live(about, cell, folder)
    elif not blocks.has_controls(cell):
        yield from _shown(about, cell)


def _shown(about: Cell, cell: Any) -> Iterator[Piece]:
    """Yield code and what it gives; apart where both are high."""
    slide = _slide(about, cell)
    above, below = blocks.code_height(cell.source), blocks.outputs_height(cell)
    if slide == "skip" or above + below <= ROOM or not below:
        yield Piece(deepcopy(cell), above + below, slide)
        return
    outputs = deepcopy(cell)
    outputs.id, outputs.metadata = f"{about.id}-out", _metadata((OUTPUT_ONLY,))
    yield _code(cell.source, about.id, (), slide)
    yield Piece(outputs, below)


def _code(source: str, name: str, tags: tuple[str, ...], slide: str = "") -> Piece:
    cell = new_code_cell(source, id=name, metadata=_metadata(tags))
    # an answer is one folded line, and stays with its question
    return Piece(cell, 0 if ANSWER in tags else blocks.code_height(source), slide)


def _metadata(tags: tuple[str, ...]) -> dict[str, Any]:
    return {"tags": list(tags)} if tags else {}


def _prose(text: str, slide: str, name: str, folder: Path) -> Iterator[Piece]:
    for number, block in enumerate(blocks.blocks(text)):
        cell = new_markdown_cell(block, id=f"{name}-{number}" if number else name)
        yield Piece(cell, blocks.prose_height(block, folder), "" if number else slide)


def _slide(about: Cell, cell: Any) -> str:
    """Return the place of a cell: its author's word first; set-up, tests and hints are off."""
    given = cell.metadata.get("slideshow", {}).get("slide_type", "")
    return "skip" if not about.slide and _is_off(about, cell) else str(given)


def _is_off(about: Cell, cell: Any) -> bool:
    """Return whether a cell is not for the room: set-up, tests, cards of checks, folded hints."""
    if about.kind is Kind.PROSE:
        return blocks.is_hint(about.text)
    if about.kind is Kind.DEMO:
        return blocks.only_sets_up(cell) or blocks.only_checks(cell)
    return about.kind in (Kind.SETUP, Kind.TEST)


def _paged(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces, each with its slide type: a new subslide where the room is used up."""
    used = 0.0
    for piece in pieces:
        if piece.slide in ("skip", "notes"):
            yield _marked(piece, piece.slide)
            continue
        room = ROOM + (OVER if piece.height <= SHORT else 0)
        full = used > LEAST and piece.height > 0 and used + piece.height > room
        slide = piece.slide or ("subslide" if full else "")
        used = piece.height if slide in ("slide", "subslide") else used + piece.height
        yield _marked(piece, slide)


def _marked(piece: Piece, slide: str) -> Piece:
    piece.cell.metadata.pop("slideshow", None)
    if slide:
        piece.cell.metadata["slideshow"] = {"slide_type": slide}
    return Piece(piece.cell, piece.height, slide)


def _titled(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; a slide that begins without a heading is told which one it is under."""
    title = ""
    for piece in pieces:
        heading = HEADING.match(piece.cell.source) if piece.cell.cell_type == "markdown" else None
        title = heading[1] if heading else title
        if piece.slide in ("slide", "subslide") and not heading and title:
            piece.cell.metadata["title"] = title
        yield piece
