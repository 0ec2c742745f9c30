"""Something to look at on every slide: text joins the next slide, or keeps the last picture in view."""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.lecture import blocks
from autograder.lecture.paging import BETWEEN, HEADING, PICTURE, ROOM, UNDER, Piece, by_slide, marked

KEPT: Final = "kept"  # a tag that the slides' template and script know
LEAST: Final = 240  # pixels that a kept picture takes
OVER: Final = 80  # pixels by which estimates may be too high; the page hides what does not fit
TITLE: Final = re.compile(r"# ")
TABLE: Final = re.compile(r"^\|.*(?:\n\|.*)+", re.MULTILINE)
MATTERS: Final = re.compile(r"\*\*|\$|^#|^- |^1\. |^\||^```|<details|:$", re.MULTILINE)


def joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; a slide without anything to look at begins the next one, if both fit.

    What follows the picture of the next one may begin a slide of its own.
    """
    before: list[Piece] = []
    for slide in by_slide(pieces):
        together, rest = _together(before, slide) if before else ([], [])
        if not together:
            yield from before
            before = slide
        elif rest:
            yield from together
            before = rest
        else:
            before = together
    yield from before


def accompanied(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; a slide of text repeats what was last shown under its heading, if it fits."""
    last: Piece | None = None
    for number, slide in enumerate(by_slide(pieces)):
        yield from slide
        if HEADING.match(slide[0].cell.source):
            last = None
        if last and _suits(slide, last) and _height(slide) + last.height <= ROOM + OVER:
            yield _renamed(last, number)
        for piece in slide:
            last = None if HEADING.match(piece.cell.source) else last
            last = kept(piece) or last


def kept(piece: Piece) -> Piece | None:
    """Return what is to be seen in a piece, without its code and its prose; None if nothing is."""
    if piece.cell.cell_type == "code":
        return _kept_outputs(piece.cell)
    found = blocks.IMAGE.search(piece.cell.source)
    if found:
        return _kept(new_markdown_cell(found[0]), LEAST)
    table = TABLE.search(piece.cell.source)
    return _kept(new_markdown_cell(table[0]), blocks.prose_height(table[0], Path())) if table else None


def _kept_outputs(cell: Any) -> Piece | None:
    pictures = blocks.pictures(cell)
    outputs = pictures or [one for one in cell.outputs if "text/html" not in one.get("data", {})]
    if not outputs:
        return None
    height = LEAST if pictures else blocks.outputs_height({"outputs": outputs})
    return _kept(new_code_cell("", outputs=deepcopy(outputs)), height)


def _kept(cell: Any, height: float) -> Piece:
    cell.metadata["tags"] = [KEPT]
    return Piece(cell, height + BETWEEN)


def _renamed(piece: Piece, number: int) -> Piece:
    cell = deepcopy(piece.cell)
    cell.id = f"kept-{number}"
    return replace(piece, cell=cell)


def _suits(slide: list[Piece], seen: Piece) -> bool:
    """Return whether a slide needs something to look at, and this helps: text answers no question."""
    asks = any("<details" in piece.cell.source for piece in slide)
    drawn = seen.cell.cell_type == "markdown" or blocks.pictures(seen.cell)
    return not _shows(slide) and bool(drawn or not asks)


def _shows(slide: list[Piece]) -> bool:
    return any(kept(piece) or blocks.has_frames(piece.cell) for piece in slide)


def _together(before: list[Piece], after: list[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Return two slides as one, and what is left of the second; nothing if the two do not fit."""
    headed = after[0].cell.cell_type == "markdown" and HEADING.match(after[0].cell.source)
    if _shows(before) or headed or TITLE.match(before[0].cell.source):
        return [], []
    needed = next((place for place, piece in enumerate(after) if kept(piece)), len(after) - 1) + 1
    for end in sorted({len(after), needed}, reverse=True):
        said = _shortened(before, after[:end])
        if said:
            unsaid = [piece.notes or piece.cell.source for piece in before if piece not in said]
            first = replace(marked(said[0], before[0].slide), overflows=before[0].overflows)
            whole = _folded([first, *said[1:], *_continued(after[:end], unsaid)])
            return whole, _begun(after[end:])
    return [], []


def _shortened(slide: list[Piece], then: list[Piece]) -> list[Piece]:
    """Return what of a slide fits above another, its last comments aside; nothing if it does not."""
    said = slide
    while said and _least([*said, *then]) > ROOM:
        plain = [piece for piece in said if _is_comment(piece)]
        said = [piece for piece in said if piece is not plain[-1]] if plain else []
    return said


def _begun(slide: list[Piece]) -> list[Piece]:
    return [replace(marked(slide[0], "subslide"), overflows=True), *slide[1:]] if slide else []


def _continued(slide: list[Piece], notes: list[str]) -> list[Piece]:
    """Return a slide as the end of another, with the notes of what was left out before it."""
    first = marked(slide[0], "")
    whole = "\n\n".join(filter(None, [*notes, first.notes]))
    return [replace(first, overflows=False, notes=whole), *slide[1:]]


def _folded(slide: list[Piece]) -> list[Piece]:
    """Return a slide with as much of its code folded as it takes to make it fit."""
    for place, piece in enumerate(slide):
        if piece.folded and _height(slide) > ROOM:
            slide[place] = piece.fold()
    return slide


def _is_comment(piece: Piece) -> bool:
    """Return whether prose can be said rather than shown: no term, formula, list or question."""
    return piece.cell.cell_type == "markdown" and not MATTERS.search(piece.cell.source)


def _height(slide: list[Piece]) -> float:
    under = 0 if HEADING.match(slide[0].cell.source) else UNDER
    return under + sum(piece.height + BETWEEN for piece in slide)


def _least(slide: list[Piece]) -> float:
    """Return how high a slide is at least, closed, or with an answer open before what follows it."""
    under = 0 if HEADING.match(slide[0].cell.source) else UNDER
    closed = opened = highest = float(under)
    asked = 0.0
    for piece in slide:
        asked = max(asked, piece.opens)
        least = piece.least - max(0.0, min(piece.pictures, PICTURE) - LEAST)
        closed += least + BETWEEN
        revealed = asked and kept(piece) and piece.cell.cell_type == "code"
        opened += 0 if revealed else least + BETWEEN
        highest = max(highest, opened + asked)
    return max(closed, highest)
