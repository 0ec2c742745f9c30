"""One lesson as students read it: its released cells, what the solved lesson's demos gave, and its sections.

Code is always that of the released notebook. An output is shown only below code that is the same in the
solved one, so nothing that a model answer says or does by itself gets onto a page.
"""

import copy
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from bs4 import BeautifulSoup
from bs4.element import Tag
from markupsafe import Markup
from nbconvert.filters import ansi2html
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.lecture.pages import CONTROLS, NOISE, only_checks
from autograder.reports.mathml import typeset_markdown
from autograder.submissions.released import grade_id, is_graded, is_solution

HEADINGS: Final = ("h1", "h2", "h3")
PREDICT: Final = "**Predict, then"  # what follows gives the answer to it
FORMAT: Final = HtmlFormatter(cssclass="code", wrapcode=True)
NEEDS_KERNEL: Final = Markup('<p class="soft">A control stands here in the notebook: it needs a kernel.</p>')
PICTURE: Final = Markup('<img src="data:image/png;base64,{}" alt="Figure drawn by the code above">')
NOTHING: Final = Markup("")


@dataclass
class Section:
    """A heading of a lesson: where it is, and the words under it that the search finds."""

    title: str
    html: Markup
    id: str
    level: int
    text: str = ""


@dataclass(frozen=True)
class Block:
    """One cell as HTML. `exercise` is the id of the answer that students write there.

    `is_test` is for visible tests, whose code is folded; `is_revealed` for outputs that are.
    """

    html: Markup
    is_prose: bool
    exercise: str = ""
    outputs: Markup = NOTHING
    is_revealed: bool = False
    is_test: bool = False

    @property
    def may_be_wide(self) -> bool:
        """Whether it may have to scroll sideways, and so has to take the keyboard."""
        return not self.is_prose or any(tag in self.html for tag in ("<table", "<math", "<pre", "<img"))


class LessonPage:
    """A lesson's blocks and sections, in order.

    `notebook` is a data address that holds the whole notebook. From a page that was opened from disk, a link
    to the file beside it would show the file's text and not save it.
    """

    def __init__(self, name: str, released: Any, solved: Any, content: bytes) -> None:
        """Take the released notebook, the executed one with the model answers, and the first as a file."""
        self.name = name
        self.notebook = f"data:application/x-ipynb+json;base64,{b64encode(content).decode()}"
        self.sections: list[Section] = []
        self.points = sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in released.cells)
        self._given = {cell.id: cell for cell in solved.cells}
        self.blocks = list(self._blocks(released.cells))

    @property
    def title(self) -> str:
        """The lesson's own title."""
        return self.sections[0].title if self.sections else self.name

    @property
    def goals(self) -> list[Markup]:
        """What one can do after the lesson, as its first list says."""
        return [Markup(each.decode_contents()) for each in self._first_cell.select("ul > li")]  # noqa: S704 - cleaned

    @property
    def facts(self) -> Markup:
        """How long the lesson takes, and what comes before it, as its beginning says."""
        said = (each for each in self._first_cell("p") if each.get_text().startswith("Time"))
        return next((Markup(each.decode_contents()) for each in said), NOTHING)  # noqa: S704 - cleaned

    @property
    def _first_cell(self) -> BeautifulSoup:
        return BeautifulSoup(self.blocks[0].html if self.blocks else "", "html.parser")

    def _blocks(self, cells: list[Any]) -> Iterator[Block]:
        before = ""
        for cell in cells:
            exercise = (grade_id(cell) or "") if is_solution(cell) else ""
            if cell.cell_type == "markdown":
                yield Block(self._prose(cell.source), True, exercise)
            elif is_graded(cell):
                yield Block(_code(cell.source), False, is_test=True)
            else:
                self._found(cell.source)
                yield Block(_code(cell.source), False, exercise, self._outputs(cell), PREDICT in before)
            before = cell.source

    def _prose(self, source: str) -> Markup:
        """Return prose as HTML whose headings can be linked to, and take its sections down."""
        page = BeautifulSoup(typeset_markdown(source), "html.parser")
        for part in page.find_all(recursive=False):
            if not isinstance(part, Tag):
                continue
            if part.name in HEADINGS:
                part["id"] = self._new_section(part)
            elif part.name != "details":  # what is folded is not to be found before it is opened
                self._found(_plain(part, " "))
        return Markup(page)  # noqa: S704 - cleaned by markdown2html

    def _new_section(self, heading: Tag) -> str:
        title = _plain(heading)
        slug = "-".join(re.findall(r"\w+", title.lower())) or "section"
        taken = {section.id for section in self.sections}
        name = next(
            name for n in range(len(taken) + 2) if (name := f"{slug}-{n}" if n else slug) not in taken
        )
        html = Markup(heading.decode_contents())  # noqa: S704 - cleaned by markdown2html
        self.sections.append(Section(title, html, name, HEADINGS.index(heading.name)))
        return name

    def _found(self, text: str) -> None:
        if self.sections:
            self.sections[-1].text += " ".join(text.split()) + " "

    def _outputs(self, cell: Any) -> Markup:
        """Return what a cell gave in the solved lesson, if its code is no answer, test or check."""
        given = self._given.get(cell.id)
        if given is None or given.source != cell.source:
            return NOTHING
        if is_solution(cell) or only_checks(cell):
            return NOTHING
        return NOTHING.join(map(_output, given.outputs))


def _plain(part: Tag, between: str = "") -> str:
    """Return the text of a part, with the signs that MathML draws without a character."""
    part = copy.copy(part)
    for root in part("msqrt"):
        root.insert(0, "√")
    for fraction in part("mfrac"):
        fraction.insert(1, "/")
    for formula in part("math"):
        formula.replace_with(formula.get_text())
    part.smooth()
    return part.get_text(between)


def _code(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(stripnl=False), FORMAT))  # noqa: S704 - pygments escapes


def _output(output: Any) -> Markup:
    """Return one output as HTML; progress bars and missing programs are left out."""
    data = output.get("data", {})
    if CONTROLS in data and "text/html" not in data:
        return NEEDS_KERNEL
    if "image/png" in data:
        return PICTURE.format(data["image/png"].strip())
    if "text/html" in data:
        return Markup(data["text/html"])  # noqa: S704 - our own lesson's
    text = NOISE.sub("", output.get("text", data.get("text/plain", ""))).rstrip()
    return Markup("<pre>{}</pre>").format(Markup(ansi2html(text))) if text else NOTHING  # noqa: S704 - it escapes
