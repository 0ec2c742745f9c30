"""A solved lesson laid out for a room: to run live, or as slides to export."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.lecture import blocks, code
from autograder.lecture.company import accompanied, joined
from autograder.lecture.paging import OFF, Piece, paged, revealed, titled, with_notes, without_asides
from autograder.lecture.prose import split
from autograder.lecture.room import ABOUT_THE_NOTEBOOK, built, without_exercises
from autograder.model.lesson_text import CellKind, LessonCell, LessonText

ANSWER: Final = "answer"  # a tag that the slides' template knows

# jupyterlab-rise reads these; its own type is too small for the back row.
TYPE: Final = """<style>
body { --jp-content-font-size1: 24px !important; --jp-code-font-size: 20px !important; }
.reveal h1, .reveal h2, .reveal h3 { text-transform: none; }
.reveal h1 { font-size: 46px; } .reveal h2 { font-size: 38px; } .reveal h3 { font-size: 31px; }
.reveal .jp-OutputArea-output pre { font-size: 20px; line-height: 1.36; }
.reveal .jp-RenderedHTMLCommon table { font-size: 20px; }
.reveal .slides section section { box-sizing: border-box; padding: 20px 36px !important; }
.reveal .jp-RenderedImage img {
  width: 75%; max-width: none; max-height: 310px; object-fit: contain; object-position: left;
}
.reveal .jp-InputPrompt, .reveal .jp-OutputPrompt, .reveal .jp-Collapser, .reveal .progress {
  display: none !important;
}
</style>"""
RISE: Final = {
    "theme": "white",
    "transition": "none",
    "center": False,
    "scroll": True,
    "slideNumber": "c/t",
    "overlay": TYPE,
}


def live_notebook(lesson: LessonText, notebook: Any, folder: Path) -> Any:
    """Return a solved lesson laid out as slides to run live: all of its code, tests off the slides.

    `folder` is where its pictures lie.
    """
    pieces: list[Piece] = []
    for about, cell in zip(lesson.cells, notebook.cells, strict=True):
        pieces += _live(about, cell, folder)
    laid_out = _with_cells(notebook, paged(pieces))
    laid_out.metadata["rise"] = RISE
    return laid_out


def slide_notebook(lesson: LessonText, notebook: Any, folder: Path, *, exercises: bool = False) -> Any:
    """Return a solved lesson as slides to export, with the prose in full in speaker notes.

    Controls, tests and set-up are left out. With `exercises`, each exercise is shown as students
    see it, with its answer folded; otherwise one line stands in its place.
    """
    pairs: Iterable[tuple[LessonCell, Any]] = zip(lesson.cells, notebook.cells, strict=True)
    pieces: list[Piece] = []
    for about, cell in pairs if exercises else without_exercises(pairs):
        pieces += _exported(lesson, about, cell, folder)
    shown = (piece for piece in pieces if piece.slide != "skip")
    slides = revealed(joined(without_asides(paged(shown))))
    return _with_cells(notebook, with_notes(titled(accompanied(slides))))


def _with_cells(notebook: Any, pieces: Iterable[Piece]) -> Any:
    new = deepcopy(notebook)
    new.cells = [piece.cell for piece in pieces]
    return new


def _live(about: LessonCell, cell: Any, folder: Path) -> Iterator[Piece]:
    slide = _slide(about, cell)
    if about.kind.is_markdown and slide not in OFF:
        yield from _prose(cell.source, slide, about.id, folder)
    else:
        height = blocks.code_height(cell.source) + blocks.outputs_height(cell)
        yield Piece(deepcopy(cell), height, slide)


def _exported(lesson: LessonText, about: LessonCell, cell: Any, folder: Path) -> Iterator[Piece]:
    slide = _slide(about, cell)
    if about.kind is CellKind.SOLUTION:
        yield _code(lesson.skeleton(about.exercise), f"{about.id}-skeleton", about.slide)
        yield _code(cell.source, about.id, tags=(ANSWER,))
    elif about.kind is CellKind.WRITTEN:
        folded = f"<details><summary>Model answer</summary>\n\n{cell.source}\n\n</details>"
        yield from _prose(folded, about.slide, about.id, folder)
    elif not about.kind.is_markdown:
        if not blocks.has_controls(cell) and not code.only_noise(cell):
            yield code.laid_out(cell, slide)
    elif slide in OFF:
        yield from _live(about, cell, folder)
    elif built(cell.source):
        yield _built(built(cell.source), about.id)
    else:
        yield from _abridged(cell.source, slide, about.id, folder)


def _built(what: str, name: str) -> Piece:
    """Return the line in the place of an exercise; it never begins a slide."""
    cell = new_markdown_cell(f"**Exercise** · {what}", id=f"{name}-built")
    cell.metadata = {"tags": ["built"]}
    return Piece(cell, 0)


def _code(source: str, name: str, slide: str = "", tags: tuple[str, ...] = ()) -> Piece:
    cell = new_code_cell(source, id=name, metadata={"tags": list(tags)} if tags else {})
    # an answer is one folded line, and stays with its question
    return Piece(cell, 0 if ANSWER in tags else blocks.code_height(source), slide)


def _abridged(text: str, slide: str, name: str, folder: Path) -> Iterator[Piece]:
    """Yield prose as a slide shows it, block by block, each with its notes."""
    parts = [split(block) for block in blocks.blocks(text)]
    parts = [part for part in parts if part.shown]
    if text.startswith("**Predict"):
        slide = ""  # beside what it asks about, or what answers it, wherever there is room
    for number, part in enumerate(parts):
        cell = new_markdown_cell(part.shown, id=f"{name}-{number}" if number else name)
        introduces = number > 0 or part.shown.startswith(("#", "**"))
        height = blocks.prose_height(part.shown, folder)
        opens = blocks.answer_height(part.shown, folder)
        place = "" if number else slide
        figures = blocks.figures_height(part.shown, folder)
        leads = number == len(parts) - 1 and introduces and not figures
        yield Piece(cell, height, place, part.notes, leads, opens=opens, pictures=figures)


def _prose(text: str, slide: str, name: str, folder: Path) -> Iterator[Piece]:
    for number, block in enumerate(blocks.blocks(text)):
        cell = new_markdown_cell(block, id=f"{name}-{number}" if number else name)
        yield Piece(cell, blocks.prose_height(block, folder), "" if number else slide)


def _slide(about: LessonCell, cell: Any) -> str:
    """Return the place of a cell: its author's word first; set-up, tests and hints are off."""
    given = cell.metadata.get("slideshow", {}).get("slide_type", "")
    about_the_notebook = about.kind is CellKind.PROSE and ABOUT_THE_NOTEBOOK.match(about.text)
    off = about_the_notebook or (not about.slide and _is_off(about, cell))
    return "skip" if off else str(given)


def _is_off(about: LessonCell, cell: Any) -> bool:
    """Return whether a cell is not for the room: set-up, tests, cards of checks, folded hints."""
    if about.kind is CellKind.PROSE:
        return blocks.is_hint(about.text)
    if about.kind is CellKind.DEMO:
        return blocks.only_sets_up(cell) or blocks.only_checks(cell)
    return about.kind in (CellKind.SETUP, CellKind.TEST)
