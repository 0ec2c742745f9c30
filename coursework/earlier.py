"""Brings the parts a student built in earlier lessons into a later one, or stand-ins for them.

Earlier answers are first tried in a process of its own, with a limit on time: `python -m coursework.earlier`.
It reads a job as JSON from its input, and writes a line of JSON before and after each step, so that the
parent knows which step never came to an end. What the answers print goes nowhere. No points depend on this: a
part is usable when it agrees with its stand-in, with its gradients, on a few calls of the kind that later
lessons make.
"""

import ast
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coursework import scope
from coursework.console import say

FORCE: Final = "COURSEWORK_STAND_INS"
HERE: Final = Path()
MAX_BYTES: Final = 32 * 2**20
DEFINES: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
START_SECONDS: Final = 60.0  # to import torch from a cold disk
STEP_SECONDS: Final = 5.0
TOO_LONG: Final = "did not come to an end"
DIED: Final = "ended its whole process"
TOLERANCE: Final = 1e-3


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
        problems |= try_parts(usable, {origin: found[origin].cells for origin in usable})
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
        yours = f"yours in {notebook.path} " if notebook.cells else ""
        note = f"the stand-in, since {yours}{problem}" if problem else f"yours, from {notebook.path}"
        say(f"{name}: {note}", indent="  ")
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


def run_cells(lesson: str, cells: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that `cells` define, run in a namespace with `given`, torch, nn, F and math.

    A cell that fails defines nothing, and harms no other.
    """
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "math": math, **given}
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
    settled: dict[str, str] = {}
    names = [name for parts in wanted.values() for name in parts]
    packages = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [packages, os.environ.get("PYTHONPATH")]))
    while any(name not in settled for name in names):
        with (
            tempfile.TemporaryFile() as job,
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty,
        ):
            job.write(json.dumps({"wanted": wanted, "cells": cells, "settled": settled}).encode())
            job.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-m", "coursework.earlier"],
                stdin=job,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=empty,
                env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
            )
            try:
                assert process.stdout is not None
                culprit, problem = _listen(process.stdout, settled)
            finally:
                process.kill()
                process.wait()
        blamed = wanted.get(culprit, [culprit] if culprit in names else names)
        settled |= {name: problem for name in blamed if name not in settled}
    return settled


def _listen(stdout: IO[bytes], settled: dict[str, str]) -> tuple[str, str]:
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
            settled[said["end"]] = said["problem"]


def main() -> None:
    """Try the job that comes in: the lessons in order. A part that was refused gives way to its stand-in."""
    job = json.load(sys.stdin)
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)

    def say(**line: str) -> None:
        report.write(json.dumps(line) + "\n")
        report.flush()

    say(step="ready")
    settled: dict[str, str] = job["settled"]
    parts: dict[str, Any] = {}
    for lesson, names in job["wanted"].items():
        parts |= {name: scope.stand_in(name) for name in names}
        if all(settled.get(name) for name in names):
            continue
        say(begin=lesson)
        needed = {name: parts.get(name, scope.stand_in(name)) for name in scope.NEEDS.get(lesson, ())}
        found = run_cells(lesson, job["cells"][lesson], needed)
        say(end=lesson)
        for name in names:
            if name not in settled:
                say(begin=name)
                settled[name] = _problem(name, found)
                say(end=name, problem=settled[name])
            if not settled[name]:
                parts[name] = found[name]


class DisagreementError(Exception):
    """A part does not do what its stand-in does; the message says where."""


def _problem(name: str, found: dict[str, Any]) -> str:
    """Return why a part cannot be used, '' where it can."""
    if name not in found:
        return "is not there"
    try:
        check(name, found[name])
    except NotImplementedError:
        return "is not filled in yet"
    except DisagreementError as problem:
        return str(problem)
    except BaseException as problem:
        return f"raised {type(problem).__name__}"
    return ""


@dataclass(frozen=True)
class Call:
    """One comparison: what is special about it, the arguments, and for a class those it is built with."""

    what: str
    args: Callable[[], Sequence[Any]]
    init: tuple[Any, ...] | None = None


def check(name: str, part: Any) -> None:
    """Compare a part with its stand-in. Raises DisagreementError, or whatever the part raises."""
    for call in CALLS[name]:
        torch.manual_seed(4)
        args = [
            arg.requires_grad_() if isinstance(arg, Tensor) and arg.is_floating_point() else arg
            for arg in call.args()
        ]
        ours: Any = scope.stand_in(name)
        theirs = part
        if call.init is not None:
            ours, theirs = ours(*call.init).eval(), part(*call.init).eval()
            _share_weights(ours, theirs)
        want, want_gradients = _outcome(ours, args)
        got, got_gradients = _outcome(theirs, args)
        if not _alike(got, want):
            raise DisagreementError(f"differs from PyTorch's {call.what}")
        if not _alike(got_gradients, want_gradients):
            raise DisagreementError(f"differs in its gradients from PyTorch's {call.what}")


def _share_weights(ours: nn.Module, theirs: nn.Module) -> None:
    """Draw every weight of ours, and copy it to theirs."""
    with torch.no_grad():
        for path, parameter in ours.named_parameters():
            nn.init.normal_(parameter, std=0.5)
            mine: Any = theirs
            for step in path.split("."):
                mine = getattr(mine, step, None)
            if not isinstance(mine, Tensor):
                raise DisagreementError(f"has no `{path}`")
            if mine.shape != parameter.shape:
                raise DisagreementError(f"has another shape in `{path}`")
            mine.copy_(parameter)


def _outcome(part: Any, args: Sequence[Any]) -> tuple[Any, list[Tensor]]:
    """Call a part; return what came, and the gradients of a fixed mixture of its numbers."""
    value = part(*(arg.clone() if isinstance(arg, Tensor) else arg for arg in args))
    first = value[0] if isinstance(value, (tuple, list)) else value
    leaves = [arg for arg in args if isinstance(arg, Tensor) and arg.requires_grad]
    if not (leaves and isinstance(first, Tensor) and first.requires_grad):
        return value, []
    mixture = (first * torch.linspace(-1, 1, first.numel()).reshape(first.shape)).sum()
    return value, list(torch.autograd.grad(mixture, leaves))


def _alike(got: Any, want: Any) -> bool:
    if isinstance(want, (tuple, list)):
        fits = isinstance(got, (tuple, list)) and len(got) == len(want)
        return fits and all(_alike(one, other) for one, other in zip(got, want, strict=True))
    if not isinstance(got, Tensor) or got.shape != want.shape or got.dtype != want.dtype:
        return False
    return torch.allclose(got.double(), want.double(), atol=TOLERANCE, rtol=TOLERANCE)


# What the parts are tried on. Tensors are drawn anew for each call.


def _ids() -> Tensor:
    return torch.tensor([[5, 3, 8, 2, 0, 0], [4, 7, 0, 0, 0, 0]])


def _padding() -> Tensor:
    return (torch.arange(7) < torch.tensor([[4], [7]]))[:, None]  # (2, 1, 7)


def _with_empty_row() -> Tensor:
    mask = torch.ones(5, 7, dtype=torch.bool).tril()
    mask[2] = False
    return mask


def _heads() -> list[Tensor]:
    return [torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 6)]


def _tokens() -> list[Tensor]:
    return [torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 12)]


def _translation() -> list[Tensor]:
    """Six target tokens of which the last are padding, over a memory of seven, partly hidden."""
    mask = torch.ones(6, 6, dtype=torch.bool).tril() & (_ids() != 0)[:, None]
    return [_ids(), torch.randn(2, 7, 8), mask, _padding()]


CALLS: Final[Mapping[str, tuple[Call, ...]]] = {
    "scaled_dot_product_attention": (
        Call("without a mask", _heads),
        Call("with a padding mask", lambda: [*_heads(), _padding()[:, None]]),
        Call("where a query may attend to nothing", lambda: [*_heads(), _with_empty_row()]),
    ),
    "causal_mask": (Call("for five positions", lambda: [5]),),
    "padding_mask": (
        Call("for two sentences", lambda: [_ids()]),
        Call("for another padding id", lambda: [_ids(), 7]),
    ),
    "MultiHeadAttention": (
        Call("without a mask", _tokens, (12, 3)),
        Call("with a padding mask", lambda: [*_tokens(), _padding()], (12, 2)),
        Call("where a query may attend to nothing", lambda: [*_tokens(), _with_empty_row()], (12, 3)),
    ),
    "TokenEmbedding": (Call("for two sentences", lambda: [_ids()], (11, 6)),),
    "PositionalEncoding": (Call("for nine positions", lambda: [torch.randn(2, 9, 8)], (8,)),),
    "LayerNorm": (Call("for a batch", lambda: [torch.randn(2, 5, 6) * 3 + 1], (6,)),),
    "FeedForward": (Call("for a batch", lambda: [torch.randn(2, 5, 6)], (6, 11)),),
    "shift_right": (Call("for two sentences", lambda: [_ids()]),),
    "target_mask": (Call("for two sentences", lambda: [_ids()]),),
    "Encoder": (Call("for two sentences", lambda: [_ids(), _ids()[:, None] != 0], (11, 8, 2, 2, 12)),),
    "Decoder": (Call("for two sentences", _translation, (11, 8, 2, 2, 12)),),
    "CausalDecoderLayer": (Call("for a batch", lambda: [torch.randn(2, 5, 8)], (8, 2, 12)),),
    "Transformer": (Call("for two sentences", lambda: [_ids(), _ids()[:, :4]], (11, 13, 8, 2, 2, 12)),),
    "rotary": (
        Call("for a batch", lambda: [torch.randn(2, 7, 6)]),
        Call("for another base", lambda: [torch.randn(3, 40, 8), 50.0]),
    ),
    "GatedFeedForward": (Call("for a batch", lambda: [torch.randn(2, 5, 6)], (6, 11)),),
    "sample_next": (  # where nothing is left to chance
        Call("at temperature 0", lambda: [torch.randn(4, 9), 0]),
        Call("with top_k", lambda: [torch.randn(4, 9), 1.0, 1]),
        Call("with top_p", lambda: [torch.randn(4, 9), 0.7, None, 0.01]),
        Call("for one likely token", lambda: [torch.eye(4, 9) * 200, 2.0, 5, 0.9]),
    ),
}


if __name__ == "__main__":
    main()
