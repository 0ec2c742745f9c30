"""Brings the parts a student built in earlier lessons into a later one, or stand-ins for them.

Earlier answers are first tried in a process of its own, with a limit on time (`earlier_trial`). No points
depend on this.
"""

import ast
import builtins
import contextlib
import io
import json
import linecache
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import torch
import torch.nn.functional as F
from torch import nn

from coursework import scope
from coursework.cells import defines, names_at_top, without_magics
from coursework.console import say

FORCE: Final = "COURSEWORK_STAND_INS"
HERE: Final = Path()
MAX_BYTES: Final = 32 * 2**20
DEFINES: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
GIVEN: Final[Mapping[str, Any]] = {"torch": torch, "nn": nn, "F": F, "math": math}
START_SECONDS: Final = 60.0  # to import torch from a cold disk
STEP_SECONDS: Final = 5.0
TOO_LONG: Final = "did not come to an end"
DIED: Final = "ended its whole process"
NOT_THERE: Final = "is not defined in any cell"
SYNTAX: Final = "has a syntax error in line {line} of its cell"
UNREADABLE: Final = "has a cell that cannot be read"
RAISES: Final = "is not defined, because its cell ends with an exception"


def load_earlier(lesson: str, folder: Path = HERE) -> dict[str, Any]:
    """Return the parts that `lesson` begins with, by name, and print where each comes from.

    They are the student's own where an earlier notebook is found and its part passes a quick check, run in a
    process of its own. Whatever is wrong with it, the stand-in takes over. The environment variable
    COURSEWORK_STAND_INS=1 asks for stand-ins only.
    """
    wanted = scope.wanted(lesson)
    found = {origin: _find(origin, folder) for origin in wanted}
    problems = {
        name: found[origin].broken(name) or found[origin].problem
        for origin, names in wanted.items()
        for name in names
    }
    usable = {origin: names for origin, names in wanted.items() if found[origin].cells}
    if usable:  # no process is started where nothing was found
        for name, problem in try_parts(usable, {each: found[each].cells for each in usable}).items():
            known = problems[name] if problem == NOT_THERE else ""
            problems[name] = known or problem
    parts: dict[str, Any] = {}
    for origin, names in wanted.items():
        parts |= {name: scope.stand_in(name) for name in names}
        passed = [name for name in names if not problems[name]]
        if passed:
            needed = {name: parts[name] for name in scope.NEEDS.get(origin, ())}
            own = run_cells(origin, found[origin].cells, needed)
            parts |= {name: own[name] for name in passed if name in own}
    for name in scope.NEEDS[lesson]:
        notebook, problem = found[scope.ORIGIN[name]], problems[name]
        yours = "" if problem == notebook.problem else f"yours in {notebook.path} "
        note = f"the stand-in, since {yours}{problem}" if problem else f"yours, from {notebook.path}"
        say(f"{name}: {note}", indent="  ")
    return {name: parts[name] for name in scope.NEEDS[lesson]}


@dataclass(frozen=True)
class _Notebook:
    """An earlier notebook: its path from here, and its answers' definitions, cell by cell.

    `problem` says why there are none. `unread` holds the cells that are not valid Python, with what is wrong.
    """

    path: str = ""
    cells: tuple[str, ...] = ()
    problem: str = ""
    unread: tuple[tuple[str, str], ...] = ()

    def broken(self, name: str) -> str:
        """Return what is wrong with the cell that defines a name if it is not valid Python, "" otherwise."""
        return next((problem for text, problem in self.unread if defines(text, name)), "")


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
            given = {*GIVEN, *scope.NEEDS.get(lesson, ()), *dir(builtins)}
            answers = list(_answers(json.loads(path.read_text(encoding="utf-8")), given))
        except (OSError, ValueError, RecursionError, MemoryError):
            return _Notebook(shown, problem=f"{shown} cannot be read as a notebook")
        cells = tuple(text for text, problem in answers if not problem and text)
        unread = tuple((text, problem) for text, problem in answers if problem)
        return _Notebook(shown, cells, "" if cells else f"no answers were found in {shown}", unread)
    return _Notebook(problem=f"there is no {file} next door")


def _answers(notebook: Any, given: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield what each solution cell defines, without what it does: prints, plots, loops, shell commands.

    Of other cells, as in grading, yield what these definitions need and the `given` names do not provide. Of
    a solution that is not valid Python, yield the text and what is wrong with it.
    """
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    cells = filter(_runs, cells if isinstance(cells, list) else ())
    read = [(_is_answer(cell), *_definitions(cell)) for cell in cells]
    answers = ["\n".join(texts) for is_answer, texts, problem in read if is_answer and not problem]
    others = [text for is_answer, texts, _ in read if not is_answer for text in texts]
    needed = _needed(answers, others, given)
    for is_answer, texts, problem in read:
        text = "\n".join(each for each in texts if is_answer or each in needed)
        if is_answer or text:
            yield text, problem


def _definitions(cell: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the definitions in a code cell; of one that is not valid Python its text, and what is wrong."""
    source = cell.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    try:
        return [ast.unparse(node) for node in ast.parse(without_magics(text)).body if _defines(node)], ""
    except SyntaxError as problem:
        return [text], SYNTAX.format(line=problem.lineno)
    except (ValueError, RecursionError, MemoryError):
        return [text], UNREADABLE


def _needed(answers: Iterable[str], others: Sequence[str], given: Set[str]) -> set[str]:
    """Return those of some other definitions that answers need, also through each other."""
    kept_out, wanted = {*given}, set[str]()
    for bound, read in map(_names, answers):
        kept_out |= bound
        wanted |= read
    left, needed = {text: _names(text) for text in others}, set[str]()
    while found := {text for text, (bound, _) in left.items() if bound & (wanted - kept_out)}:
        needed |= found
        wanted |= {name for text in found for name in left.pop(text)[1]}
    return needed


def _names(text: str) -> tuple[set[str], set[str]]:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return names_at_top(text)
    return set(), set()


def _runs(cell: Any) -> bool:
    """Return whether a cell is one of code, and no visible test."""
    return isinstance(cell, dict) and cell.get("cell_type") == "code" and not _about(cell).get("points")


def _about(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return about if isinstance(about, dict) else {}


def _is_answer(cell: Mapping[str, Any]) -> bool:
    return _about(cell).get("solution") is True and bool(_about(cell).get("grade_id"))


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement gives a name of the cell's own a meaning, and does no more."""
    if isinstance(node, ast.Assign):
        names = (ast.Name, ast.Tuple, ast.Store)  # not F.softmax = mine, which would reach others
        return all(isinstance(part, names) for target in node.targets for part in ast.walk(target))
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name)
    return isinstance(node, DEFINES)


def run_cells(lesson: str, cells: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that `cells` define, run in a namespace with `given`, torch, nn, F and math.

    A cell that fails defines nothing, and harms no other.
    """
    names: dict[str, Any] = {**GIVEN, **given}
    names["__name__"] = f"lesson_{lesson}"
    for number, source in enumerate(cells, start=1):
        file = f"<{lesson}, answer {number}>"
        with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, file, "exec"), names)  # noqa: S102 - the student's own answers
        # So that a traceback from one of these, lessons later, can show its line.
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return names


def try_parts(wanted: Mapping[str, Sequence[str]], cells: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return, for each part wanted of each lesson, why it cannot be used; '' where it can.

    A step that hangs or ends the process costs what it was about; a new process tries the rest.
    """
    verdicts: dict[str, str] = {}
    names = [name for parts in wanted.values() for name in parts]
    packages = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [packages, os.environ.get("PYTHONPATH")]))
    while any(name not in verdicts for name in names):
        with (
            tempfile.TemporaryFile() as job,
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty,
        ):
            job.write(json.dumps({"wanted": wanted, "cells": cells, "verdicts": verdicts}).encode())
            job.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-m", "coursework.earlier_trial"],
                stdin=job,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=empty,
                env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
            )
            try:
                assert process.stdout is not None
                culprit, problem = _listen(process.stdout, verdicts)
            finally:
                process.kill()
                process.wait()
        blamed = wanted.get(culprit, [culprit] if culprit in names else names)
        verdicts |= {name: problem for name in blamed if name not in verdicts}
    return verdicts


def _listen(stdout: IO[bytes], verdicts: dict[str, str]) -> tuple[str, str]:
    """Note what the process settles until its end, or until a step takes too long.

    Returns the step it was at, and how it ended.
    """
    lines: queue.Queue[bytes] = queue.Queue()

    def pump() -> None:
        for line in stdout:
            lines.put(line)
        lines.put(b"")

    threading.Thread(target=pump, daemon=True).start()
    at, seconds = "", START_SECONDS
    while True:
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            return at, TOO_LONG
        if not line:
            return at, DIED
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None  # an answer has written here
        said = {str(key): str(value) for key, value in said.items()} if isinstance(said, dict) else {}
        at, seconds = said.get("begin", ""), STEP_SECONDS
        if "problem" in said and "end" in said:
            verdicts[said["end"]] = said["problem"]
