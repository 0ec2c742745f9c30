"""A solved lesson laid out for a room: to run live in a copy, or as slides to export.

All of it is for the room but its exercises, unless they are asked for. Code and what it gives are on one
slide: below each other, side by side, or the code folded.
"""

import ast
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from autograder.authoring.notebook import as_text
from autograder.lecture import paging
from autograder.lecture.breaks import ANNOUNCES, paged
from autograder.lecture.paging import (
    OFF,
    Piece,
    accompanied,
    opened_cases,
    revealed,
    small,
    titled,
    with_notes,
)
from autograder.lecture.prose import blocks, split, without_task
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.files import write
from autograder.model.lesson_text import EXERCISE, HINT, CellKind, LessonCell, LessonText, read_lesson
from autograder.submissions.released import own_notebook

ANSWER: Final = "answer"  # a tag that the slides' template knows

CONTROLS: Final = "application/vnd.jupyter.widget-view+json"  # they need a kernel behind them
DEFINITION: Final = re.compile(r"^(?:def|class) ", re.MULTILINE)
ABOUT_THE_NOTEBOOK: Final = re.compile(r"\*\*What is assessed\*\*|This lesson (?:uses|builds on) ")
GLOSSARY: Final = re.compile(r"^#{2,3} Glossary\n.*?(?=^#|\Z)", re.MULTILINE | re.DOTALL)

MOST: Final = 520  # pixels that code above its output may take with it
UNSEEN: Final = 10  # lines of code that gives nothing to look at; longer code is folded
NOISE: Final = (
    re.compile(  # progress, and what says that a program is missing, which may be broken into lines
        r"[^\n]*\d+%\|[^\n]*\n?|No diagram here.*?same\s+steps\.\n?", re.DOTALL
    )
)

Pair = tuple[LessonCell, Any]

LIVE_ROOM: Final = 560  # pixels of a slide that jupyterlab-rise leaves, whose type cannot shrink

RISE: Final = {  # settings of jupyterlab-rise
    "theme": "white",
    "transition": "none",
    "center": False,
    "scroll": True,
    "slideNumber": "c",  # its total shrinks on the way
}


def copy_path(course: Course, lesson: str, folder: Path, *, student: bool = False) -> Path:
    """Return where a copy of a lesson's notebook goes: solved, or as students have it."""
    if student:
        return folder / lesson / course.release_notebook(lesson).name
    return folder / course.solved_notebook(lesson).name


def copy_lesson(course: Course, lesson: str, folder: Path, *, student: bool = False) -> None:
    """Copy a lesson to a folder that has no copy yet: the solved one laid out as slides, or the released one.

    No earlier lesson lies next to it, so stand-ins take the place of what they built: any lesson
    can be opened first.
    """
    if student:
        shutil.copytree(course.release_notebook(lesson).parent, folder / lesson, dirs_exist_ok=True)
        return
    laid_out = live_notebook(*solved_lesson(course, lesson))
    shutil.copytree(course.solutions / "images", folder / "images", dirs_exist_ok=True)
    write(copy_path(course, lesson, folder), as_text(laid_out).encode())


def lab_command(notebook: Path) -> list[str]:
    """Return the command that opens a notebook in JupyterLab, rooted at its copy.

    Formgrader stays out: in a folder that is no course, it only complains.
    """
    off = "--ServerApp.jpserver_extensions=nbgrader.server_extensions.formgrader=False"
    return [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={notebook.parent}", off, str(notebook)]


def solved_lesson(course: Course, lesson: str) -> tuple[LessonText, Any, Path]:
    """Return a lesson's text, its solved notebook and the folder of its pictures.

    Raises CourseError where it has no solved notebook, or a damaged one, or the course has no solutions.
    """
    course.needed(course.solutions.name)
    solved = course.solved_notebook(lesson)
    if not solved.is_file():
        raise CourseError(f"no solved lesson: expected {solved}; run 'autograder build {lesson}'")
    return read_lesson(course.text(lesson)), own_notebook(solved), solved.parent


def live_notebook(lesson: LessonText, notebook: Any, folder: Path) -> Any:
    """Return a solved lesson as slides to run live: all of its code, answers and tests off the slides.

    `folder` is where its pictures lie.
    """
    pairs = taught(zip(lesson.cells, notebook.cells, strict=True))
    pieces = (small(piece) for about, cell in pairs for piece in _live(about, cell, folder))
    laid_out = _with_cells(notebook, map(_notes_folded, with_notes(revealed(paged(pieces, LIVE_ROOM)))))
    style = Path(__file__).with_name("live.css").read_text(encoding="utf-8")
    laid_out.metadata["rise"] = {**RISE, "overlay": f"<style>\n{style}</style>"}
    return laid_out


def _notes_folded(piece: Piece) -> Piece:
    """Fold speaker notes to one line, `Speaker notes`: the notebook has the words of the slide already.

    They are a raw cell, since JupyterLab unfolds markdown as soon as it is run. Its slides show no notes:
    the key for them opens an empty window.
    """
    if piece.slide == "notes":
        about = {**piece.cell.metadata, "jupyter": {"source_hidden": True}}
        text = f"Speaker notes\n\n{piece.cell.source}"
        piece.cell = new_raw_cell(text, id=piece.cell.id, metadata=about)
    return piece


def slide_notebook(lesson: LessonText, notebook: Any, folder: Path, *, exercises: bool = False) -> Any:
    """Return a solved lesson as slides to export, with the prose in full in speaker notes.

    Controls, tests and set-up are left out. An exercise shows what it teaches. With `exercises`, it is
    shown as students see it, with its answer folded.
    """
    pairs: Iterable[Pair] = zip(lesson.cells, notebook.cells, strict=True)
    wanted = pairs if exercises else taught(pairs)
    pieces = (piece for about, cell in wanted for piece in _exported(lesson, about, cell, folder))
    slides = revealed(paged(opened_cases(piece for piece in pieces if piece.slide != "skip")))
    return _with_cells(notebook, with_notes(titled(accompanied(slides))))


def _with_cells(notebook: Any, pieces: Iterable[Piece]) -> Any:
    new = deepcopy(notebook)
    new.cells = [piece.cell for piece in pieces]
    return new


def _live(about: LessonCell, cell: Any, folder: Path) -> Iterator[Piece]:
    slide = _slide(about, cell)
    if about.kind.is_markdown and slide not in OFF:
        yield from _told(cell, slide, folder)
    else:
        height = paging.code_height(cell.source) + paging.outputs_height(cell)
        pictures = paging.outputs_height({"outputs": paging.pictures(cell)})
        yield Piece(deepcopy(cell), height, slide, pictures=pictures)


def _exported(lesson: LessonText, about: LessonCell, cell: Any, folder: Path) -> Iterator[Piece]:
    slide = _slide(about, cell)
    if slide in OFF:
        yield from _live(about, cell, folder)
    elif about.kind is CellKind.SOLUTION:
        yield _code(lesson.skeleton(about.exercise), f"{about.id}-skeleton", about.slide)
        yield _code(cell.source, about.id, tags=(ANSWER,))
    elif about.kind is CellKind.WRITTEN:
        folded = f'<details class="answer"><summary>Model answer</summary>\n\n{cell.source}\n\n</details>'
        yield from _prose(folded, about.slide, about.id, folder)
    elif about.kind.is_markdown:
        yield from _told(cell, slide, folder)
    elif not only_noise(cell) and (still := without_controls(cell)):
        yield from laid_out(still, slide)


def without_controls(cell: Any) -> Any | None:
    """Return a cell with the HTML that takes the place of its controls, None if there is none."""
    if not paging.shows(cell, CONTROLS):
        return cell
    still = deepcopy(cell)
    for data in (output.get("data", {}) for output in still.outputs):
        if data.pop(CONTROLS, None) is not None and "text/html" not in data:
            return None
    return still


def _told(cell: Any, slide: str, folder: Path) -> Iterator[Piece]:
    """Yield prose as slides show it; a heading alone stands for an exercise, and never begins a slide."""
    heading = EXERCISE.fullmatch(cell.source)
    if heading:
        line = f"**Exercise** · {heading['subject']}"
        yield Piece(new_markdown_cell(line, id=cell.id, metadata={"tags": ["built"]}), 0)
    else:
        yield from _abridged(cell.source, slide, cell.id, folder)


def _code(source: str, name: str, slide: str = "", tags: tuple[str, ...] = ()) -> Piece:
    cell = new_code_cell(source, id=name, metadata={"tags": list(tags)} if tags else {})
    if ANSWER in tags:  # one folded line, which stays with its question
        return Piece(cell, 0, slide)
    return Piece(cell, paging.code_height(source), slide, leads=True)


def _abridged(text: str, slide: str, name: str, folder: Path) -> Iterator[Piece]:
    """Yield prose as a slide shows it, block by block, each with its notes."""
    parts = [split(block) for block in blocks(text)]
    parts = [part for part in parts if part.shown]
    if text.startswith("**Predict"):
        slide = ""  # beside what it asks about, or what answers it, wherever there is room
    for number, part in enumerate(parts):
        cell = new_markdown_cell(part.shown, id=f"{name}-{number}" if number else name)
        introduces = number > 0 or part.shown.startswith(("#", "**")) or bool(ANNOUNCES.search(part.shown))
        height = paging.prose_height(part.shown, folder)
        opens = paging.answer_height(part.shown, folder)
        place = "" if number else slide
        figures = paging.figures_height(part.shown, folder)
        leads = number == len(parts) - 1 and introduces and not figures
        yield Piece(cell, height, place, part.notes, leads, opens=opens, pictures=figures)


def _prose(text: str, slide: str, name: str, folder: Path) -> Iterator[Piece]:
    for number, block in enumerate(blocks(text)):
        cell = new_markdown_cell(block, id=f"{name}-{number}" if number else name)
        yield Piece(cell, paging.prose_height(block, folder), "" if number else slide)


def _slide(about: LessonCell, cell: Any) -> str:
    """Return the place of a cell: its author's word first; set-up, tests and hints are off."""
    given = cell.metadata.get("slideshow", {}).get("slide_type", "")
    about_the_notebook = about.kind is CellKind.PROSE and ABOUT_THE_NOTEBOOK.match(about.text)
    off = about_the_notebook or (not about.slide and _is_off(about, cell))
    return "skip" if off else str(given)


def _is_off(about: LessonCell, cell: Any) -> bool:
    if about.kind is CellKind.PROSE:
        return bool(HINT.match(about.text.lstrip()))
    if about.kind is CellKind.DEMO:
        return only_sets_up(cell) or only_checks(cell)
    return about.kind in (CellKind.SETUP, CellKind.TEST)


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


def taught(cells: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the cells of a lesson and of its notebook; of an exercise, only what it teaches is on a slide.

    That is its heading and its text, without how to hand it in. An exercise reaches from its heading to
    its test, or to its written answer. Of one that only asks questions, the heading is left. The glossary
    is not for the room either.
    """
    row = list(cells)
    inside = asks = False
    for place, (about, cell) in enumerate(row):
        heading = EXERCISE.search(about.text) if about.kind is CellKind.PROSE else None
        if heading:
            inside, asks = True, _only_asks(one for one, _ in row[place:])
            before = about.text[: heading.start()].strip()
            if before:
                yield about, _changed(cell, before)
            title = about.text[heading.start() : heading.end("title")]
            text = heading[0] if asks else without_task(title + about.text[heading.end() :])
            new = _changed(cell, text, "subslide")
            new.id += "-exercise"
            yield about, new
        elif about.kind is CellKind.PROSE and not (inside and asks):
            text = without_task(about.text) if inside else GLOSSARY.sub("", about.text).strip()
            if text:
                yield about, _changed(cell, text)
        else:
            yield about, _changed(cell, cell.source, "skip") if inside else cell
        inside = inside and about.kind not in (CellKind.TEST, CellKind.WRITTEN)


def _only_asks(cells: Iterable[LessonCell]) -> bool:
    """Return whether the exercise that begins here has students write neither a function nor a class."""
    answer = next(cell for cell in cells if cell.kind.is_answered)
    return not DEFINITION.search(answer.text)


def _changed(cell: Any, text: str, slide: str = "") -> Any:
    new = deepcopy(cell)
    new.source = text
    if slide:
        new.metadata["slideshow"] = {"slide_type": slide}
    return new


def laid_out(cell: Any, slide: str) -> Iterator[Piece]:
    """Yield a code cell as slides show it: its code, then its output; pictures too wide for one row apart.

    The code of a picture is folded: a button or `c` opens it. So is code for which there is no room.
    """
    new = deepcopy(cell)
    new.outputs = [_without_noise(output) for output in new.outputs if not _is_noise(output)]
    drawn = paging.pictures(new)
    more = drawn[1:] if any(paging.png_size(one)[0] > paging.HALF for one in drawn) else []
    new.outputs = [output for output in new.outputs if not any(output is one for one in more)]
    below, above = paging.outputs_height(new), paging.code_height(new.source)
    piece = Piece(new, above + below, slide, folded=max(below, paging.NOTHING))
    long = above + below > MOST or not (below or _is_short(new))
    yield piece.fold() if drawn or long else piece
    for place, output in enumerate(more):
        alone = new_code_cell("", id=f"{new.id}-{place}", outputs=[output])
        yield Piece(alone, paging.outputs_height(alone))


def only_noise(cell: Any) -> bool:
    """Return whether all that a short cell gives is a word on what is missing here."""
    outputs = cell.get("outputs", [])
    return bool(outputs) and _is_short(cell) and all(map(_is_noise, outputs))


def _is_noise(output: Any) -> bool:
    text = output.get("text", "")
    return bool(text.strip()) and not NOISE.sub("", text).strip()


def _without_noise(output: Any) -> Any:
    if "text" in output:
        output.text = NOISE.sub("", output.text)
    return output


def _is_short(cell: Any) -> bool:
    return len(cell.source.splitlines()) <= UNSEEN
