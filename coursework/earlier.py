"""Brings the parts a student built in earlier lessons into a later one, or stand-ins for them."""

import ast
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from coursework import scope, trial

FORCE: Final = "COURSEWORK_STAND_INS"
HERE: Final = Path()
MAX_BYTES: Final = 32 * 2**20
DEFINES: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def load_earlier(lesson: str, folder: Path = HERE) -> dict[str, Any]:
    """Return the parts that `lesson` begins with, by name, and print where each comes from.

    They are the student's own where an earlier notebook is found and its part agrees with PyTorch in a quick
    check, run in a process of its own. Whatever is wrong with it, the stand-in takes over. The environment
    variable COURSEWORK_STAND_INS=1 asks for stand-ins only.
    """
    wanted = scope.wanted(lesson)
    found = {origin: _find(origin, folder) for origin in wanted}
    problems = {name: found[origin].problem for origin, names in wanted.items() for name in names}
    usable = {origin: names for origin, names in wanted.items() if found[origin].cells}
    if usable:  # no process is started where nothing was found
        problems |= trial.try_parts(usable, {origin: found[origin].cells for origin in usable})
    parts: dict[str, Any] = {}
    for origin, names in wanted.items():
        parts |= {name: scope.stand_in(name) for name in names}
        passed = [name for name in names if not problems[name]]
        if passed:
            needed = {name: parts[name] for name in scope.NEEDS.get(origin, ())}
            own = trial.run_cells(origin, found[origin].cells, needed)
            parts |= {name: own[name] for name in passed if name in own}
    for name in scope.NEEDS[lesson]:
        notebook, problem = found[scope.ORIGIN[name]], problems[name]
        yours = f"yours in {notebook.path} " if notebook.cells else ""
        print(
            f"{name}:", f"the stand-in, since {yours}{problem}" if problem else f"yours, from {notebook.path}"
        )
    return {name: parts[name] for name in scope.NEEDS[lesson]}


@dataclass(frozen=True)
class _Notebook:
    """An earlier notebook: its path from here, and its answers' definitions, cell by cell.

    `problem` says why there are none.
    """

    path: str = ""
    cells: tuple[str, ...] = ()
    problem: str = ""


def _find(lesson: str, folder: Path) -> _Notebook:
    """Return the notebook of `lesson` that is nearest to `folder`, where a later one is opened.

    nbgrader's fetch and the folder of submissions give every lesson a folder of its own; a plain folder
    holds all notebooks side by side. Nothing is run here. A notebook that is damaged, huge or not a notebook
    at all is a reason to go without, never an error.
    """
    if os.environ.get(FORCE):
        return _Notebook(problem=f"{FORCE} is set")
    file = f"{lesson}.ipynb"
    for shown in (f"../{lesson}/{file}", file, f"{lesson}/{file}", f"../{file}"):
        path = folder / shown
        try:
            if not path.is_file():
                continue
        except OSError:
            continue
        try:
            if path.stat().st_size > MAX_BYTES:
                return _Notebook(shown, problem=f"{shown} is too large to be read")
            cells = tuple(_definitions(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, RecursionError, MemoryError):
            return _Notebook(shown, problem=f"{shown} cannot be read as a notebook")
        return _Notebook(shown, cells, "" if cells else f"no answers were found in {shown}")
    return _Notebook(problem=f"there is no {file} next door")


def _definitions(notebook: Any) -> Iterator[str]:
    """Yield what each solution cell defines, without what it does: prints, plots, loops, shell commands."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in filter(_is_answer, cells if isinstance(cells, list) else ()):
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        python = "\n".join("" if line.startswith(("%", "!")) else line for line in text.split("\n"))
        try:
            tree = ast.parse(python)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # what does not parse defines nothing
        tree.body = [node for node in tree.body if _defines(node)]
        if tree.body:
            yield ast.unparse(tree)


def _is_answer(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return isinstance(about, dict) and about.get("solution") is True and bool(about.get("grade_id"))


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement gives a name of the cell's own a meaning, and does no more."""
    if isinstance(node, ast.Assign):
        names = (ast.Name, ast.Tuple, ast.Store)  # not F.softmax = mine, which would reach others
        return all(isinstance(part, names) for target in node.targets for part in ast.walk(target))
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name)
    return isinstance(node, DEFINES)
