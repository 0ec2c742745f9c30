"""Running the model answers, so that what a lecture shows is what the code gives."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import nbformat
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from autograder.authoring.files import refused
from autograder.authoring.kernel import notebook_client
from autograder.authoring.notebook import METADATA
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText

ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")
WIDGETS = "application/vnd.jupyter.widget-state+json"


def run(notebook: Any, lesson: LessonText, root: Path) -> Any:
    """Return a lesson's notebook with the outputs of its cells, in a kernel of its own.

    Raises LessonTextError for a cell that fails, an output that shows where it was made, or a card
    that finds a model answer wrong.
    """
    done = nbformat.from_dict(notebook)
    with TemporaryDirectory() as empty:
        begun: list[str] = []
        folder = Path(empty, "course", lesson.name)  # lessons look for other lessons in the folder above
        folder.mkdir(parents=True)
        client = notebook_client(done, folder, Path(empty, "kernel.json"))
        client.on_cell_start = lambda cell, cell_index: begun.append(cell.id)  # noqa: ARG005  (nbclient gives both)
        try:
            client.execute(env=_environment(root, Path(empty)))
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise _failed(begun[-1] if begun else "", lesson, error) from error
    _check_paths(done, lesson, root)
    _check_cards(done, lesson)
    return steady(done, lesson.name)


def steady(notebook: Any, salt: str) -> Any:
    """Return a run notebook without what differs from one run to the next.

    The kernel's own metadata goes, addresses are blanked, widgets get ids of their order.
    """
    widgets = notebook.metadata.get("widgets")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = json.dumps({"outputs": [cell.outputs for cell in code], "widgets": widgets})
    shown = ADDRESS.sub("0x…", shown)
    for order, widget in enumerate(widgets[WIDGETS]["state"] if widgets else ()):
        shown = shown.replace(widget, hashlib.sha256(f"{salt}/{order}".encode()).hexdigest()[:32])
    kept = nbformat.from_dict(json.loads(shown))
    for cell, outputs in zip(code, kept.outputs, strict=True):
        cell.outputs = outputs
    added = {"widgets": kept.widgets} if widgets else {}
    notebook.metadata = nbformat.from_dict(METADATA | added)
    return notebook


def _environment(root: Path, folder: Path) -> dict[str, str]:
    """Return the kernel's environment: no personal settings, no date, no random hashes."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "IPYTHONDIR": str(folder / ".ipython"),
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "0",
    }


def _failed(cell_id: str, lesson: LessonText, error: Exception) -> LessonTextError:
    """Return the error that names the cell the run stopped in."""
    reason = getattr(error, "evalue", "") or str(error).strip().splitlines()[0]
    name = getattr(error, "ename", type(error).__name__)
    problem = f"the model answers do not run: {name}: {reason}"
    return LessonTextError(problem, lesson.path, cell=cell_id, line=_line(lesson, cell_id))


def _check_paths(notebook: Any, lesson: LessonText, root: Path) -> None:
    """Raise LessonTextError where an output shows a path: no reader has it or should see it."""
    places = {str(root), sys.prefix, gettempdir(), str(Path.home())} - {os.sep}
    shown = [(cell.id, cell.get("outputs")) for cell in notebook.cells]
    for cell_id, outputs in (*shown, ("", notebook.metadata.get("widgets"))):
        for text in _texts(outputs):
            found = next((place for place in places if f"{place}{os.sep}" in text), "")
            if found:
                problem = f"an output shows a path of this machine, in {found}: print less of it"
                line = _line(lesson, cell_id)
                raise LessonTextError(problem, lesson.path, cell=cell_id, line=line)


def _check_cards(notebook: Any, lesson: LessonText) -> None:
    """Raise LessonTextError where the instant check finds a model answer wrong."""
    if cell_id := refused(notebook):
        problem = "the check finds the model answer wrong; its public examples may be out of date"
        raise LessonTextError(problem, lesson.path, cell=cell_id, line=_line(lesson, cell_id))


def _texts(shown: Any) -> Iterator[str]:
    """Yield all text in an output except pictures, whose base64 may spell anything."""
    if isinstance(shown, str):
        yield shown
    elif isinstance(shown, list):
        yield from (text for part in shown for text in _texts(part))
    elif isinstance(shown, dict):
        parts = [part for key, part in shown.items() if not key.startswith("image/")]
        yield from _texts(parts)


def _line(lesson: LessonText, cell_id: str) -> int:
    return next((cell.line for cell in lesson.cells if cell.id == cell_id), 0)
