"""Running the model answers, so that what a lecture shows is what the code gives.

The kernel neither loses a message nor waits for another kernel's port.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets import Type
from traitlets.config import Config

from autograder.authoring.notebook import METADATA, refused
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText

ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")
WIDGETS = "application/vnd.jupyter.widget-state+json"
SECONDS_PER_CELL = 900  # training takes two minutes on two cores, and more on a busy machine
SECONDS_PER_LOOK = 1.0


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
            client.execute(env=_environment(root, Path(empty)) | {"JPY_SESSION_NAME": f"{lesson.name}.ipynb"})
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise _failed(begun[-1] if begun else "", lesson, error) from error
    _check_paths(done, lesson, root)
    if cell_id := refused(done):
        problem = "the check finds the model answer wrong; its public examples may be out of date"
        raise LessonTextError(problem, lesson.path, cell=cell_id, line=_line(lesson, cell_id))
    return steady(done, lesson.name)


class PatientChannel(AsyncZMQSocketChannel):
    """A channel that looks for messages once a second, and not only when it is woken.

    nbclient sends the state of an output widget over the socket on which it waits for a reply, and
    the reply that comes in that moment wakes nobody (nbclient issue 312).
    """

    async def get_msg(  # type: ignore[override]  # as jupyter_client's own, of a synchronous class
        self, timeout: float | None = None
    ) -> dict[str, Any]:
        """Return the next message; raise Empty where none comes within `timeout` seconds."""
        end = float("inf") if timeout is None else monotonic() + timeout
        while True:
            try:
                return await super().get_msg(max(0, min(SECONDS_PER_LOOK, end - monotonic())))
            except Empty:
                if monotonic() >= end:
                    raise


class PatientClient(AsyncKernelClient):
    """A kernel's client whose replies are not lost."""

    shell_channel_class = Type(PatientChannel)


def notebook_client(notebook: Any, folder: Path, connection: Path) -> NotebookClient:
    """Return what runs a notebook in a folder; its kernel writes its sockets beside `connection`.

    The kernel talks over files, because a free TCP port may be taken before it is used: two kernels
    that start at once can be given the same one (jupyter_client issue 487).
    """
    kernel = {
        "transport": "ipc",
        "connection_file": str(connection),
        "client_class": f"{__name__}.{PatientClient.__name__}",
    }
    return NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
        config=Config(KernelManager=kernel),
    )


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
