"""A solved lesson as one file of slides: reveal.js, figures and fonts' sizes inside, no network.

Formulas are MathML, which browsers set without a script.
"""

import base64
import mimetypes
import re
from pathlib import Path
from typing import Any, Final

from nbconvert import SlidesExporter

from autograder.lecture.pages import slide_notebook, solved_lesson
from autograder.model.course import Course
from autograder.model.errors import LectureError
from autograder.model.files import write
from autograder.model.lesson_text import IMAGE
from autograder.reports.mathml import converted

HERE: Final = Path(__file__).parent
SUFFIX: Final = ".slides.html"
CODE: Final = r"```.*?```|`[^`\n]*`"
INLINE: Final = r"(?<![\\\w$])\$(?P<tex>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\w$])(?P<mark>[.,;:!?)]*)"
OTHER: Final = r"(?P<other>\$\$|\\\[|\\\()"
FOUND: Final = re.compile(f"{CODE}|{OTHER}|{INLINE}", re.DOTALL)

# What bertviz's views are drawn with, and what a slide takes instead: the whole width, and type of 20
# pixels after the frame has shrunk to its slide.
HEAD_VIEW: Final = (("TEXT_SIZE = 15", "TEXT_SIZE = 16"), ("font:15px", "font:16px"))
MODEL_VIEW: Final = (
    ("DIV_WIDTH = 970", "DIV_WIDTH = 1600"),
    ("svg[width=&#39;970&#39;]", "svg[width=&#39;1600&#39;]"),
    ("`0 0 970 ", "`0 0 1600 "),
    ("thumbnailBoxHeight = 7 *", "thumbnailBoxHeight = 6.4 *"),
    ("const TEXT_SIZE = 13", "const TEXT_SIZE = 29"),
    ("HEADING_TEXT_SIZE = 15", "HEADING_TEXT_SIZE = 29"),
    ("font:15px", "font:29px"),
    ("DETAIL_WIDTH = 300", "DETAIL_WIDTH = 440"),
    ("DETAIL_BOX_WIDTH = 80", "DETAIL_BOX_WIDTH = 150"),
    ("DETAIL_BOX_HEIGHT = 18", "DETAIL_BOX_HEIGHT = 34"),
    ("DETAIL_HEADING_HEIGHT = 25", "DETAIL_HEADING_HEIGHT = 40"),
)
VIEWS: Final = {"Head view of attention": HEAD_VIEW, "Model view of attention": MODEL_VIEW}


def write_lectures(
    course: Course, lessons: tuple[str, ...] = (), folder: Path | None = None, *, exercises: bool = False
) -> list[Path]:
    """Write the slides of lessons (all, if none is named) to a folder, and return the files.

    The folder is the course's `lectures` by default. With `exercises`, they are on slides too.
    """
    names = lessons or tuple(course.lessons())
    place = folder or course.lectures
    return [write_slides(course, name, place, exercises=exercises) for name in names]


def write_slides(course: Course, lesson: str, folder: Path, *, exercises: bool = False) -> Path:
    """Write the slides of one lesson. Raises CourseError where it has no solved notebook."""
    path = folder / f"{lesson}{SUFFIX}"
    write(path, slides(course, lesson, exercises=exercises).encode())
    return path


def slides(course: Course, lesson: str, *, exercises: bool = False) -> str:
    """Return a lesson's slides as one page of HTML."""
    text, notebook, folder = solved_lesson(course, lesson)
    laid_out = slide_notebook(text, notebook, folder, exercises=exercises)
    for cell in laid_out.cells:
        _typeset(cell, lesson)
        _attach_pictures(cell, folder)
        _enlarge_views(cell)
    resources = {"metadata": {"name": lesson}, **_parts()}
    exporter = SlidesExporter(
        template_name="lecture",
        extra_template_basedirs=[str(HERE / "templates")],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    page, _ = exporter.from_notebook_node(laid_out, resources=resources)
    return str(page)


def _typeset(cell: Any, lesson: str) -> None:
    """Set the formulas of a cell and its title. Raises LectureError if slides cannot show one."""
    try:
        if "title" in cell.metadata:
            cell.metadata["title"] = typeset(cell.metadata["title"])
        if cell.cell_type == "markdown":
            cell.source = typeset(cell.source)
    except ValueError as problem:
        raise LectureError(f"{lesson}, cell '{cell.id}': {problem}") from problem


def _attach_pictures(cell: Any, folder: Path) -> None:
    """Put the pictures of a markdown cell into it: `embed_images` closes a <details> before what it folds."""
    if cell.cell_type != "markdown":
        return
    for picture in IMAGE.finditer(cell.source):
        file = folder / picture["path"]
        data = base64.b64encode(file.read_bytes()).decode()
        cell.setdefault("attachments", {})[file.name] = {mimetypes.guess_type(file)[0]: data}
        cell.source = cell.source.replace(f"]({picture['path']})", f"](attachment:{file.name})")


def _enlarge_views(cell: Any) -> None:
    """Draw bertviz's views among the outputs of a cell with type for the back row."""
    for output in cell.get("outputs", []):
        page = output.get("data", {}).get("text/html", "")
        for title, sizes in VIEWS.items():
            if f'<iframe title="{title}"' in page:
                for own, larger in sizes:
                    page = page.replace(own, larger)
                output["data"]["text/html"] = page


def typeset(markdown: str) -> str:
    """Return markdown with every `$formula$` outside code as MathML, on one line with the mark after it.

    Raises ValueError, naming the formula, for TeX that cannot be converted or stands between other
    signs.
    """
    return FOUND.sub(_mathml, markdown)


def _mathml(found: re.Match[str]) -> str:
    if found["other"]:
        raise ValueError(f"{found[0]!r}: formulas stand between single dollar signs, on one line")
    tex = found["tex"]
    if not tex:
        return found[0]
    try:
        mathml = converted(tex)
    except Exception as problem:  # the converter raises a class of its own for each fault
        raise ValueError(f"{tex!r} is not a formula: {type(problem).__name__}") from problem
    if "\\" in mathml:  # it passes a command that it does not know on as text
        raise ValueError(f"{tex!r} has a command that slides cannot show")
    return f'<span class="whole">{mathml}{found["mark"]}</span>' if found["mark"] else mathml


def _parts() -> dict[str, str]:
    """Return the scripts and styles that go into every page, by the names the template uses."""
    files = {
        "reveal_script": "vendor/reveal.js",
        "reveal_style": "vendor/reveal.css",
        "lecture_style": "lecture.css",
        "lecture_script": "lecture.js",
    }
    return {name: (HERE / file).read_text(encoding="utf-8") for name, file in files.items()}
