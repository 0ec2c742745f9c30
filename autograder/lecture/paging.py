"""The pieces of slides: how high each is, what answers a question, and what a slide of text keeps in view.

Heights are in the pixels of a slide 1280 × 720, and are
estimates from the text alone; the page itself measures again when it is shown, and shrinks what is a
little too high.
"""

import base64
import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.lecture.prose import paragraphs
from autograder.model.lesson_text import IMAGE, LINK

ROOM: Final = 640  # pixels that content may take; pictures shrink where it is a little over
HEADING: Final = re.compile(r"\s*#{1,3} (?!Exercise )(.+)")  # what follows an exercise is under its section's
NEW_SUBJECT: Final = re.compile(r"\s*#{1,3} ")  # an exercise too is about something else than what was shown
UNDER: Final = 38  # pixels: the line that says which heading a slide is under
BETWEEN: Final = 10  # pixels below every piece
PICTURE: Final = 300  # pixels of a picture on a live slide
FOLDED: Final = "folded"  # a tag that the slides' template knows
NOTHING: Final = 1.0  # pixel: folded code without output opens from the corner of its slide
STARTS: Final = ("slide", "subslide")
OFF: Final = ("skip", "notes")
KEPT: Final = "kept"  # a tag that the slides' template and script know
OVER_KEPT: Final = 110  # pixels by which estimates may be too high; the page hides what does not fit
TABLE: Final = re.compile(r"^\|.*(?:\n\|.*)+", re.MULTILINE)
ASKS: Final = re.compile(r"<details|\*\*Predict")
HERE: Final = re.compile(r"\bHere (?:is|are)\b[^.]*[.:]\s*\Z")  # announces what is shown next
TURNS: Final = re.compile(r"\*\*(?!Predict)[^*]+[.!?]\*\*")  # comes to something else, named in bold
CASE: Final = re.compile(r"\s*### Case: ")  # of code that is to be read for its mistake

HALF: Final = 590  # pixels: no picture that shares a row is wider
WIDTH: Final = 1200  # of a slide's content
PROSE_LINE, PROSE_COLUMNS, GAP = 35, 96, 14
CODE_LINE, CODE_COLUMNS, BOX = 28, 92, 26
OUTPUT_LINE: Final = 26
HTML_LINE: Final = 45  # of a paragraph of HTML, such as a turn of a conversation
LONG, HALF_COLUMNS = 20, 44  # lines of output from which on it is set in two columns
HEADING_HEIGHTS: Final = {"#": 78, "##": 70, "###": 60}
FIGURE_HEIGHT, OUTPUT_HEIGHT = 586, 560  # pictures are shrunk to these
LEGIBLE: Final = 0.96  # of its own size: the type of live figures, 15 points at 100 dpi, is then 20 pixels
LEAST_POINTS: Final = 15  # 20 pixels, of drawn figures at their own size
TYPE: Final = re.compile(r"scale\(([\d.]+) -")  # hundredths of a size, before the outlines of a text
MARKUP: Final = re.compile(r"\*+|[`${}]|\\[a-zA-Z]+")  # takes no room, or next to none
SVG_SIZE: Final = re.compile(r'<svg[^>]*?\bviewBox="0 0 ([\d.]+) ([\d.]+)"', re.DOTALL)
PT: Final = 4 / 3  # pixels


@dataclass(eq=False)  # two pieces are the same only if they are one
class Piece:
    """A cell of the slides, about how high it is, and the place its author gave it.

    `notes` is what the lecturer says about it. `leads` marks what the next piece belongs to: prose that
    announces it, or a skeleton before its answer.
    `folded` is how high code is once it is folded, 0 for what cannot be;
    `opens` how much higher the piece gets while its answer is open, and
    `pictures` how high its pictures are, which give way to text above them.
    """

    cell: Any
    height: float
    slide: str = ""
    notes: str = ""
    leads: bool = False
    folded: float = 0.0
    opens: float = 0.0
    pictures: float = 0.0

    @property
    def least(self) -> float:
        """How high it is at least: with its code folded, if it has any."""
        return min(self.height, self.folded) if self.folded else self.height

    def fold(self) -> "Piece":
        """Return the same with its code folded."""
        self.cell.metadata["tags"] = [*self.cell.metadata.get("tags", []), FOLDED]
        return replace(self, height=self.folded, folded=0.0)


def small(piece: Piece) -> Piece:
    """Return the same with its pictures small, as a live slide shows them."""
    return replace(piece, height=piece.height - max(0.0, piece.pictures - PICTURE))


def is_revealed(piece: Piece) -> bool:
    """Return whether a piece is code with an output."""
    return piece.cell.cell_type == "code" and bool(piece.cell.outputs)


def marked(piece: Piece, slide: str) -> Piece:
    """Return a piece with another slide type."""
    piece.cell.metadata.pop("slideshow", None)
    if slide:
        piece.cell.metadata["slideshow"] = {"slide_type": slide}
    return replace(piece, slide=slide)


def by_slide(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces of each slide."""
    held: list[Piece] = []
    for piece in pieces:
        if held and piece.slide in STARTS:
            yield held
            held = []
        held.append(piece)
    if held:
        yield held


def revealed(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; an output that answers a question on its slide appears with the next step."""
    for slide in by_slide(pieces):
        answers = reveals(slide)
        yield from (marked(piece, "fragment") if piece in answers else piece for piece in slide)


def reveals(slide: Sequence[Piece]) -> list[Piece]:
    """Return the outputs of a slide that answer the question before them; the first of each is enough.

    What comes under another heading answers nothing.
    """
    found = []
    asked = False
    for piece in (one for one in slide if one.slide not in OFF):
        if asked and is_revealed(piece):
            found.append(piece)
            asked = False
        if piece.cell.cell_type == "markdown":
            goes_on = asked and not NEW_SUBJECT.match(piece.cell.source)
            asked = goes_on or bool(ASKS.search(piece.cell.source))
    return found


def opened_cases(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; code that is to be read for its mistake is never folded."""
    inside = False
    for piece in pieces:
        if piece.cell.cell_type == "markdown":
            inside = bool(CASE.match(piece.cell.source)) or (
                inside and not NEW_SUBJECT.match(piece.cell.source)
            )
        yield replace(piece, folded=0.0) if inside and piece.folded == NOTHING else piece


def accompanied(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; a slide of text repeats what was last shown under its heading, if it fits.

    One that comes to another subject, be it by its first words in bold, or announces what is shown next,
    does not.
    """
    last: Piece | None = None
    for number, slide in enumerate(by_slide(pieces)):
        yield from slide
        turns = TURNS.match(slide[0].cell.source) or any(NEW_SUBJECT.match(one.cell.source) for one in slide)
        if turns or HERE.search(slide[-1].cell.source):
            last = None
        if last and _suits(slide, last) and _height(slide) + last.height <= ROOM + OVER_KEPT:
            again = deepcopy(last.cell)
            again.id = f"kept-{number}"
            yield replace(last, cell=again)
        for piece in slide:
            last = None if NEW_SUBJECT.match(piece.cell.source) else last
            last = kept(piece) or last


def kept(piece: Piece) -> Piece | None:
    """Return what is to be seen in a piece, without its code and its prose; None if nothing is."""
    cell = piece.cell
    if cell.cell_type == "code":
        drawn = pictures(cell)
        outputs = drawn or [one for one in cell.outputs if "text/html" not in one.get("data", {})]
        height = outputs_height({"outputs": outputs})
        return _kept(new_code_cell("", outputs=deepcopy(outputs)), height) if outputs else None
    found = IMAGE.search(cell.source)
    if found:
        return _kept(new_markdown_cell(found[0]), piece.pictures)
    table = TABLE.search(cell.source)
    return _kept(new_markdown_cell(table[0]), prose_height(table[0], Path())) if table else None


def _kept(cell: Any, height: float) -> Piece:
    cell.metadata["tags"] = [KEPT]
    return Piece(cell, height + BETWEEN)


def _suits(slide: list[Piece], seen: Piece) -> bool:
    """Return whether a slide needs something to look at, and this helps: text answers no question."""
    asks = any("<details" in piece.cell.source for piece in slide)
    drawn = seen.cell.cell_type == "markdown" or pictures(seen.cell)
    bare = not any(kept(piece) or shows(piece.cell, "text/html") for piece in slide)
    return bare and bool(drawn or not asks)


def _height(slide: list[Piece]) -> float:
    under = 0 if HEADING.match(slide[0].cell.source) else UNDER
    return under + sum(piece.height + BETWEEN for piece in slide)


def titled(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; a slide that begins without a heading says which one it is under."""
    title = ""
    for piece in pieces:
        heading = HEADING.match(piece.cell.source) if piece.cell.cell_type == "markdown" else None
        title = heading[1] if heading else title
        if piece.slide in STARTS and not heading and title:
            piece.cell.metadata["title"] = title
        yield piece


def with_notes(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces, and at the end of each slide its speaker notes."""
    notes = ""
    for number, slide in enumerate(by_slide(pieces), start=1):
        yield from slide
        said = [piece.notes for piece in slide if piece.notes]
        notes = "\n\n".join(said) or notes  # a slide without words goes with what was said before it
        yield marked(Piece(new_markdown_cell(notes, id=f"notes-{number}"), 0), "notes")


def prose_height(text: str, folder: Path) -> float:
    """Return about how high prose is; its pictures lie in `folder`."""
    folded = re.sub(r"</summary>.*?</details>", "</summary></details>", text, flags=re.DOTALL)
    return sum(_paragraph_height(part, folder) for part in paragraphs(folded))


def answer_height(text: str, folder: Path) -> float:
    """Return how high the highest folded part of prose is once it is open; 0 if there is none."""
    answers = re.findall(r"</summary>(.*?)</details>", text, flags=re.DOTALL)
    return max((prose_height(answer, folder) for answer in answers), default=0.0)


def _paragraph_height(paragraph: str, folder: Path) -> float:
    picture = IMAGE.search(paragraph)
    if picture:
        return figure_height(folder / picture["path"]) + 2 * GAP
    if paragraph.startswith("#"):
        return HEADING_HEIGHTS[paragraph.split()[0]]
    if paragraph.startswith("```"):
        return CODE_LINE * (paragraph.count("\n") - 1) + BOX
    if paragraph.startswith("| "):
        return 42 * paragraph.count("\n") + GAP
    return PROSE_LINE * _lines(MARKUP.sub("", LINK.sub(r"\1", paragraph)), PROSE_COLUMNS) + GAP


def figure_height(path: Path) -> float:
    """Return how high a figure is on a slide: as drawn, unless that is too wide or too high."""
    text = path.read_text(encoding="utf-8") if path.suffix == ".svg" else ""
    size = SVG_SIZE.search(text)
    if size is None:
        return FIGURE_HEIGHT
    points = 100 * min(map(float, TYPE.findall(text)), default=0.2)
    return _picture_height(float(size[1]) * PT, float(size[2]) * PT, FIGURE_HEIGHT, LEAST_POINTS / points)


def _picture_height(width: float, height: float, most: float, legible: float = LEGIBLE) -> float:
    """Return how high a picture has to be, for its type to be legible; there may be no room for more."""
    return min(height * min(legible, WIDTH / width), most)


def png_size(output: Any) -> tuple[int, int]:
    """Return the width and height of an output that is a picture, in pixels."""
    width, height = struct.unpack(">II", base64.b64decode(output["data"]["image/png"])[16:24])
    return width, height


def code_height(source: str) -> float:
    """Return about how high code is."""
    return CODE_LINE * _lines(source, CODE_COLUMNS) + BOX


def _lines(text: str, columns: int) -> int:
    return sum(math.ceil(len(line) / columns) or 1 for line in text.splitlines())


def outputs_height(cell: Any) -> float:
    """Return about how high the outputs of a code cell are; 0 where there is nothing to see."""
    shown = pictures(cell)
    others = [output for output in cell.get("outputs", []) if output not in shown]
    heights = [_output_height(output) for output in shown]
    if len(heights) > 1:  # two in a row
        heights = [max(heights) * math.ceil(len(heights) / 2)]
    return sum(heights) + sum(map(_output_height, others))


def figures_height(text: str, folder: Path) -> float:
    """Return how high the figures in prose are."""
    return sum(figure_height(folder / found["path"]) for found in IMAGE.finditer(text))


def pictures(cell: Any) -> list[Any]:
    """Return the outputs of a cell that are pictures."""
    return [one for one in cell.get("outputs", []) if "image/png" in one.get("data", {})]


def _output_height(output: Any) -> float:
    data = output.get("data", {})
    if "image/png" in data:
        return _picture_height(*png_size(output), OUTPUT_HEIGHT) + GAP
    if "text/html" in data:
        frame = re.search(r"height:(\d+)px", data["text/html"])
        lines = data["text/html"].count("<p")
        return float(frame[1]) if frame else HTML_LINE * lines if lines else OUTPUT_HEIGHT
    text = output.get("text", data.get("text/plain", ""))
    lines = _lines(text, CODE_COLUMNS)
    if lines > LONG:  # it is set in two columns
        lines = min(lines, math.ceil(_lines(text, HALF_COLUMNS) / 2))
    return float(OUTPUT_LINE * lines) + GAP


def shows(cell: Any, mime: str) -> bool:
    """Return whether an output of a cell is of a MIME type."""
    return any(mime in output.get("data", {}) for output in cell.get("outputs", []))
