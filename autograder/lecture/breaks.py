"""Where slides break: of all ways to divide a section, the one that costs least.

A slide costs more the emptier it is, and if it shows a picture without a word. A break costs more between
what belongs together: a sentence and what it announces, a picture and the sentence that reads it out.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from autograder.lecture.paging import (
    BETWEEN,
    HEADING,
    OFF,
    ROOM,
    STARTS,
    UNDER,
    Piece,
    is_revealed,
    kept,
    marked,
    reveals,
    shows,
)

OVER: Final = 0  # pixels by which a slide may be too high in the smallest type; other fonts take more
DENSE: Final = 0.87  # of its height is what prose takes in the smallest type that the page gives it
NEARLY_EMPTY: Final = 260  # pixels
SECTION: Final = re.compile(r"\s*#{1,2} (?!Exercise )")
ANY_HEADING: Final = re.compile(r"\s*#{1,3} ")
ANNOUNCES: Final = re.compile(
    r"(?::|\bgives?|\bSo)\s*$|\b(?:below|next (?:picture|plot|cell))\b|^Now |\bHere (?:is|are)\b"
)

SLIDE: Final = 1.0  # what another slide costs
EMPTY: Final = 2.5  # times the square of the share that is empty
BARE: Final = 3.0  # nearly empty, or a picture without a word
SMALL: Final = 0.5  # smaller type
FOLDED: Final = 0.4  # code that there is no room for
BETWEEN_LEAD: Final = 2.0  # a break after what announces the next piece
BETWEEN_COLON: Final = 6.0
BETWEEN_READ_OUT: Final = 3.0  # a break between an output and the sentence after it
WANTED: Final = -0.8  # a break before a heading, or where the author asks for one
LATE: Final = 100.0  # a heading that would appear only after an answer


def paged(pieces: Iterable[Piece], room: float = ROOM) -> Iterator[Piece]:
    """Yield the pieces, each with its slide type, and with its code folded where there is no room for it."""
    row = list(pieces)
    shown = [place for place, piece in enumerate(row) if piece.slide not in OFF]
    for section in _sections(row, shown):
        for first, end in _divided([row[place] for place in section], room):
            slide = [row[place] for place in section[first:end]]
            if _height(slide, folded=False) > room:
                slide = [piece.fold() if piece.folded else piece for piece in slide]
            for place, piece in zip(section[first:end], slide, strict=True):
                starts = place == section[first]
                kind = piece.slide if piece.slide in STARTS else "subslide"
                row[place] = replace(piece, slide=kind if starts else "")
    yield from (marked(piece, piece.slide) for piece in row)


def _sections(row: Sequence[Piece], shown: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of each section: from a heading with which its author begins a slide to the next."""
    held: list[int] = []
    for place in shown:
        if held and row[place].slide in STARTS and SECTION.match(row[place].cell.source):
            yield held
            held = []
        held.append(place)
    if held:
        yield held


def _divided(section: Sequence[Piece], room: float) -> list[tuple[int, int]]:
    """Return the slides of a section, each as the places of its first piece and after its last."""
    best = [0.0] + [math.inf] * len(section)
    begins = [0] * (len(section) + 1)
    for end in range(1, len(section) + 1):
        after = _break(section[end - 1], section[end]) if end < len(section) else 0.0
        for first in range(end):
            cost = best[first] + _cost(section[first:end], room) + after
            if cost < best[end]:
                best[end], begins[end] = cost, first
    slides: list[tuple[int, int]] = []
    end = len(section)
    while end:
        slides.insert(0, (begins[end], end))
        end = begins[end]
    return slides


def _break(before: Piece, after: Piece) -> float:
    """Return what a break between two pieces costs."""
    cost = 0.0
    if ANY_HEADING.match(after.cell.source) or after.slide in STARTS:
        cost += WANTED
    elif _is_seen(before) and _reads_out(after):
        cost += BETWEEN_READ_OUT
    if before.leads and not ANY_HEADING.match(after.cell.source):
        cost += BETWEEN_LEAD
        cost += BETWEEN_COLON if ANNOUNCES.search(before.cell.source) else 0.0
    return cost


def _cost(slide: Sequence[Piece], room: float) -> float:
    """Return what a slide costs; a single piece may be too high, for it cannot be divided."""
    plain, folded = _height(slide, folded=False), _height(slide, folded=True)
    least = _height(slide, folded=True, scale=DENSE)
    if least > room + OVER and len(slide) > 1:
        return math.inf
    filled = min(1.0, min(plain, room) / room)
    cost = SLIDE + EMPTY * (1 - filled) ** 2
    cost += BARE * (plain < NEARLY_EMPTY)
    cost += BARE * (any(map(_is_picture, slide)) and not any(map(_is_words, slide)))
    cost += SMALL * (folded > room) + FOLDED * (plain > room and folded < plain)
    answers = reveals(slide)
    late = slide[slide.index(answers[0]) :] if answers else []
    return cost + LATE * any(ANY_HEADING.match(piece.cell.source) for piece in late)


def _height(slide: Sequence[Piece], *, folded: bool, scale: float = 1.0) -> float:
    """Return how high a slide gets, whichever of its answers is open; outputs that answer close them."""
    used = 0.0 if HEADING.match(slide[0].cell.source) else float(UNDER)
    highest = opens = 0.0
    answers = reveals(slide)
    for piece in slide:
        opens = 0.0 if piece in answers else max(opens, scale * piece.opens)
        height = piece.least if folded else piece.height
        if piece.cell.cell_type == "markdown":
            height = piece.pictures + scale * (height - piece.pictures)
        used += height + BETWEEN
        highest = max(highest, used + opens)
    return highest - BETWEEN


def _is_words(piece: Piece) -> bool:
    if piece.cell.cell_type != "markdown":
        return False
    paragraphs = [one for one in re.split(r"\n\s*\n", piece.cell.source) if not one.startswith(("#", "!["))]
    return bool(paragraphs)


def _reads_out(piece: Piece) -> bool:
    """Return whether a piece may say what is seen above it: neither what is folded nor what comes next."""
    source = piece.cell.source
    return _is_words(piece) and "<details" not in source and not ANNOUNCES.search(source)


def _is_picture(piece: Piece) -> bool:
    return bool(kept(piece)) or shows(piece.cell, "text/html")


def _is_seen(piece: Piece) -> bool:
    return is_revealed(piece) or "![" in piece.cell.source
