"""Pictures that a lesson shows: their names, and whether the files exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonCell, LessonText

FOLDER = "images"
MARKDOWN_IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(\s*<?(?P<source>[^)\s>]*)[^)]*\)")
HTML_IMAGE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
ATTRIBUTE = r"""\b{}\s*=\s*["']([^"']*)["']"""


class Image(NamedTuple):
    """A picture as a cell names it."""

    alt: str
    source: str


def images_in(text: str) -> Iterator[Image]:
    """Yield the pictures that a markdown text shows, written as markdown or as HTML."""
    for match in MARKDOWN_IMAGE.finditer(text):
        yield Image(match["alt"], match["source"])
    for tag in HTML_IMAGE.findall(text):
        yield Image(_attribute(tag, "alt"), _attribute(tag, "src"))


def images_of(lesson: LessonText) -> list[str]:
    """Return the file names of all pictures of a lesson, each once, sorted."""
    cells = (cell.text for cell in lesson.cells if cell.kind.is_markdown)
    return sorted({Path(image.source).name for text in cells for image in images_in(text)})


def check_images(lesson: LessonText, folder: Path) -> None:
    """Raise LessonTextError for a picture without alt text, elsewhere, or not in `folder`."""
    for cell in lesson.cells:
        for image in images_in(cell.text) if cell.kind.is_markdown else ():
            problem = _problem(image, folder)
            if problem:
                line = cell.line + 1 + _offset(cell, image)
                raise LessonTextError(problem, lesson.path, cell=cell.id, line=line)


def _problem(image: Image, folder: Path) -> str:
    if not image.alt.strip():
        return f"image '{image.source}' without alt text: say what a reader should see in it"
    path = Path(image.source)
    if path.parent != Path(FOLDER):
        return f"image '{image.source}' should be {FOLDER}/NAME: a lesson needs no network"
    if not (folder / path.name).is_file():
        return f"image '{image.source}' does not exist: draw it into {FOLDER}/"
    return ""


def _offset(cell: LessonCell, image: Image) -> int:
    lines = cell.text.split("\n")
    return next((n for n, line in enumerate(lines) if image.source in line), 0)


def _attribute(tag: str, name: str) -> str:
    match = re.search(ATTRIBUTE.format(name), tag, re.IGNORECASE)
    return match[1] if match else ""
