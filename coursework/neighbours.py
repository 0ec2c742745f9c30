"""Finds a student's notebook of an earlier lesson, and takes from it what its answers define.

Nothing is run here. A notebook that is damaged, huge or not a notebook at all is a reason to go
without, never an error.
"""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 32 * 2**20
DEFINES: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Neighbour:
    """An earlier notebook: its path from here, and its answers' definitions, cell by cell.

    `problem` says why there are none.
    """

    path: str = ""
    cells: tuple[str, ...] = ()
    problem: str = ""


def find(lesson: str, folder: Path) -> Neighbour:
    """Return the notebook of `lesson` that lies nearest to `folder`, where a later one is opened.

    nbgrader's fetch and the folder of what was handed in give every lesson a folder of its own; a
    plain folder holds all notebooks side by side.
    """
    name = f"{lesson}.ipynb"
    for path in (f"../{lesson}/{name}", name, f"{lesson}/{name}", f"../{name}"):
        try:
            if (folder / path).is_file():
                return _read(path, folder / path)
        except OSError:
            continue
    return Neighbour(problem=f"there is no {name} next door")


def _read(shown: str, path: Path) -> Neighbour:
    try:
        if path.stat().st_size > MAX_BYTES:
            return Neighbour(shown, problem=f"{shown} is too large to be read")
        cells = tuple(_definitions(json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, RecursionError, MemoryError):
        return Neighbour(shown, problem=f"{shown} cannot be read as a notebook")
    if not cells:
        return Neighbour(shown, problem=f"no answers were found in {shown}")
    return Neighbour(shown, cells)


def _definitions(notebook: Any) -> Iterator[str]:
    """Yield what each solution cell defines; a cell that does not parse defines nothing."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        if not _is_answer(cell):
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        defined = _only_definitions(text)
        if defined:
            yield defined


def _is_answer(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return isinstance(about, dict) and about.get("solution") is True and bool(about.get("grade_id"))


def _only_definitions(text: str) -> str:
    """Return a cell without what it does when it is run: prints, plots, loops, shell commands."""
    python = "\n".join("" if line.startswith(("%", "!")) else line for line in text.split("\n"))
    try:
        tree = ast.parse(python)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    kept = [node for node in tree.body if _defines(node)]
    return ast.unparse(ast.Module(kept, tree.type_ignores)) if kept else ""


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement gives a name of the cell's own a meaning, and does no more."""
    if isinstance(node, ast.Assign):
        names = (ast.Name, ast.Tuple, ast.Store)  # not F.softmax = mine, which would reach others
        return all(isinstance(part, names) for target in node.targets for part in ast.walk(target))
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name)
    return isinstance(node, DEFINES)
