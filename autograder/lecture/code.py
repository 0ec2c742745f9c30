"""Code and what it gives, on one slide: below each other, side by side, or the code folded."""

import math
import re
from copy import deepcopy
from typing import Any, Final

from autograder.lecture import blocks
from autograder.lecture.paging import Piece

BESIDE: Final = "beside"  # a tag that the slides' style knows
COLUMNS: Final = 44  # characters in a line of code beside a picture
LINES: Final = 17  # of code beside a picture, after it is wrapped
WRAPPED: Final = 1.4  # times as many lines at most: more cannot be read
TALL: Final = 0.5  # height by width: wider pictures need the whole slide
MOST: Final = 520  # pixels that code above its output may take with it
LEAST: Final = 360  # pixels that a picture beside code takes
UNSEEN: Final = 12  # lines of code that gives nothing to look at; longer code is folded
NOTHING: Final = 1.0  # pixel: folded code opens from the corner of its slide, and takes no room
NOISE: Final = re.compile(r"[^\n]*\d+%\|[^\n]*\n?|No diagram here[^\n]*\n?")  # progress, missing programs


def laid_out(cell: Any, slide: str) -> Piece:
    """Return a code cell as its slide shows it; folded code opens with a button or with `c`.

    The slide may still fold the code, where there is no room for it.
    """
    new = deepcopy(cell)
    new.outputs = [_without_noise(output) for output in new.outputs if not _is_noise(output)]
    below, above = blocks.outputs_height(new), blocks.code_height(new.source)
    folded = max(below, NOTHING)
    pictures = blocks.pictures_height(new)
    piece = Piece(new, above + below, slide, folded=folded, pictures=pictures)
    if above + below <= MOST and (below or _is_short(new)):
        return piece
    if not _fits_beside(new):
        return piece.fold()
    new.metadata["tags"] = [*new.metadata.get("tags", []), BESIDE]
    return Piece(new, _beside_height(new), slide)


def only_noise(cell: Any) -> bool:
    """Return whether all that a short cell gives is a word on what is missing here."""
    outputs = cell.get("outputs", [])
    return bool(outputs) and _is_short(cell) and all(map(_is_noise, outputs))


def _is_noise(output: Any) -> bool:
    text = output.get("text", "")
    return bool(text.strip()) and not NOISE.sub("", text).strip()


def _without_noise(output: Any) -> Any:
    """Return an output without the lines of progress bars."""
    if "text" in output:
        output.text = NOISE.sub("", output.text)
    return output


def _is_short(cell: Any) -> bool:
    return len(cell.source.splitlines()) <= UNSEEN


def _beside_height(cell: Any) -> float:
    return max(blocks.CODE_LINE * _wrapped_lines(cell.source) + blocks.BOX, LEAST)


def _fits_beside(cell: Any) -> bool:
    pictures = blocks.pictures(cell)
    if len(pictures) != 1 or len(cell.outputs) > 1:
        return False
    width, height = blocks.png_size(pictures[0])
    lines = _wrapped_lines(cell.source)
    few = lines <= min(LINES, WRAPPED * len(cell.source.splitlines()))
    return few and height / width >= TALL


def _wrapped_lines(source: str) -> int:
    return sum(max(1, math.ceil(len(line) / COLUMNS)) for line in source.splitlines())
