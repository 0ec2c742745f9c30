"""What goes on a slide, and about how high it is, in the pixels of a slide 1280 × 720.

Heights are estimates from the text alone. They decide where a slide ends; the page itself measures
again when it is shown, and shrinks what is a little too high.
"""

import ast
import base64
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

PAIR_SCALE: Final = 0.8  # of a picture that shares a row with another
WIDTH: Final = 1200  # of a slide's content
PROSE_LINE, PROSE_COLUMNS, GAP = 35, 96, 14
CODE_LINE, CODE_COLUMNS, BOX = 28, 92, 26
OUTPUT_LINE: Final = 26
LONG, HALF_COLUMNS = 20, 44  # lines of output from which on it is set in two columns
HEADING: Final = {"#": 78, "##": 70, "###": 60}
FIGURE_HEIGHT, OUTPUT_HEIGHT = 540, 560  # pictures are shrunk to these
LARGER: Final = 2.0  # pictures are enlarged up to this, to the width of the slide
GIVES: Final = 0.52  # of its height is left of a picture that makes room for what is beside it
DENSE: Final = 0.6  # of its own height is left of it too: its labels stay legible
IMAGE: Final = re.compile(r"!\[(?P<alt>.*?)\]\((?P<path>\S+?)\)", re.DOTALL)
SVG_SIZE: Final = re.compile(r'<svg[^>]*?\bviewBox="0 0 ([\d.]+) ([\d.]+)"', re.DOTALL)
PT: Final = 4 / 3  # pixels


def blocks(text: str) -> list[str]:
    """Split prose where a slide may end: between paragraphs, but never inside folded text.

    A heading stays with what follows it, a line that ends in a colon with what it announces, and a
    question with its folded answer.
    """
    found: list[str] = []
    for block in paragraphs(text):
        if found and _announces(found[-1], block):
            found[-1] += "\n\n" + block
        else:
            found.append(block)
    return found


def paragraphs(text: str) -> Iterator[str]:
    """Yield what blank lines separate; folded text and code in fences count as one."""
    held: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        held.append(paragraph)
        whole = "\n\n".join(held)
        unfolded = whole.count("<details") == whole.count("</details>")
        if unfolded and whole.count("```") % 2 == 0:
            yield whole
            held = []
    if held:
        yield "\n\n".join(held)


def _announces(before: str, block: str) -> bool:
    last = before.rsplit("\n\n", 1)[-1]
    folded = block.startswith("<details") and not last.startswith("<details")
    lists = block.startswith(("- ", "1. ", "| "))
    return last.startswith("#") or folded or (lists and not last.startswith(("- ", "1. ", "| ")))


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
        return HEADING[paragraph.split()[0]]
    if paragraph.startswith("```"):
        return CODE_LINE * (paragraph.count("\n") - 1) + BOX
    if paragraph.startswith("| "):
        return 42 * paragraph.count("\n") + GAP
    return PROSE_LINE * _lines(paragraph, PROSE_COLUMNS) + GAP


def figure_height(path: Path) -> float:
    """Return how high a figure is on a slide: as drawn, unless that is too wide or too high."""
    size = SVG_SIZE.search(path.read_text(encoding="utf-8")) if path.suffix == ".svg" else None
    if size is None:
        return FIGURE_HEIGHT
    return _picture_height(float(size[1]) * PT, float(size[2]) * PT, FIGURE_HEIGHT)


def _picture_height(width: float, height: float, most: float) -> float:
    """Return how high a picture has to be: at full width it is higher, and then gives way."""
    shown = min(height * min(LARGER, WIDTH / width), most)
    return max(GIVES * shown, min(shown, DENSE * height))


def png_size(output: Any) -> tuple[int, int]:
    """Return the width and height of an output that is a picture, in pixels."""
    width, height = struct.unpack(">II", base64.b64decode(output["data"]["image/png"])[16:24])
    return width, height


def code_height(source: str) -> float:
    """Return about how high code is."""
    return CODE_LINE * _lines(source, CODE_COLUMNS) + BOX


def _lines(text: str, columns: int) -> int:
    """Return how many lines text takes once those that are too long are wrapped."""
    return sum(math.ceil(len(line) / columns) or 1 for line in text.splitlines())


def outputs_height(cell: Any) -> float:
    """Return about how high the outputs of a code cell are; 0 where there is nothing to see."""
    shown = pictures(cell)
    others = [output for output in cell.get("outputs", []) if output not in shown]
    heights = [_output_height(output) for output in shown]
    if len(heights) > 1:  # two in a row
        heights = [max(heights) * PAIR_SCALE * math.ceil(len(heights) / 2)]
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
        return float(frame[1]) if frame else OUTPUT_HEIGHT
    text = output.get("text", data.get("text/plain", ""))
    lines = _lines(text, CODE_COLUMNS)
    if lines > LONG:  # it is set in two columns
        lines = math.ceil(_lines(text, HALF_COLUMNS) / 2)
    return float(OUTPUT_LINE * lines) + GAP


def only_sets_up(cell: Any) -> bool:
    """Return whether code does nothing but import and call, and shows nothing."""
    if cell.get("outputs"):
        return False
    statements = ast.parse(cell.source).body
    return all(isinstance(one, ast.Import | ast.ImportFrom | ast.Expr) for one in statements)


def only_checks(cell: Any) -> bool:
    """Return whether code does nothing but ask for the card of an exercise."""
    match ast.parse(cell.source).body:
        case [ast.Expr(ast.Call(ast.Name("check")))]:
            return True
    return False


def shows(cell: Any, mime: str) -> bool:
    """Return whether an output of a cell is of a MIME type."""
    return any(mime in output.get("data", {}) for output in cell.get("outputs", []))
