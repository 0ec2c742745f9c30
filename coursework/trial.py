"""Tries earlier answers in a process of its own, with a limit on time, before they are let in.

The process is `python -m coursework.trial`. It reads a job as JSON from its input, and writes a line of JSON
before and after each step, so that the parent knows which step never came to an end. What the answers print
goes nowhere. No points depend on this: a part is usable when it agrees with its stand-in, with its gradients,
on a few calls of the kind that later lessons make.
"""

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import torch
import torch.nn.functional as F
from torch import nn

from coursework import scope

START_SECONDS: Final = 60.0  # to import torch from a cold disk
STEP_SECONDS: Final = 5.0
TOO_LONG: Final = "did not come to an end"
DIED: Final = "ended its whole process"
TOLERANCE: Final = 1e-3


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
                [sys.executable, "-m", "coursework.trial"],
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
            arg.requires_grad_() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
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
            if not isinstance(mine, torch.Tensor):
                raise DisagreementError(f"has no `{path}`")
            if mine.shape != parameter.shape:
                raise DisagreementError(f"has another shape in `{path}`")
            mine.copy_(parameter)


def _outcome(part: Any, args: Sequence[Any]) -> tuple[Any, list[torch.Tensor]]:
    """Call a part; return what came, and the gradients of a fixed mixture of its numbers."""
    value = part(*(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args))
    first = value[0] if isinstance(value, (tuple, list)) else value
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad]
    if not (leaves and isinstance(first, torch.Tensor) and first.requires_grad):
        return value, []
    mixture = (first * torch.linspace(-1, 1, first.numel()).reshape(first.shape)).sum()
    return value, list(torch.autograd.grad(mixture, leaves))


def _alike(got: Any, want: Any) -> bool:
    if isinstance(want, (tuple, list)):
        fits = isinstance(got, (tuple, list)) and len(got) == len(want)
        return fits and all(_alike(one, other) for one, other in zip(got, want, strict=True))
    if not isinstance(got, torch.Tensor) or got.shape != want.shape or got.dtype != want.dtype:
        return False
    return torch.allclose(got.double(), want.double(), atol=TOLERANCE, rtol=TOLERANCE)


# What the parts are tried on. Tensors are drawn anew for each call.


def _ids() -> torch.Tensor:
    return torch.tensor([[5, 3, 8, 2, 0, 0], [4, 7, 0, 0, 0, 0]])


def _padding() -> torch.Tensor:
    return (torch.arange(7) < torch.tensor([[4], [7]]))[:, None]  # (2, 1, 7)


def _with_empty_row() -> torch.Tensor:
    mask = torch.ones(5, 7, dtype=torch.bool).tril()
    mask[2] = False
    return mask


def _heads() -> list[torch.Tensor]:
    return [torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 6)]


def _tokens() -> list[torch.Tensor]:
    return [torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 12)]


def _translation() -> list[torch.Tensor]:
    """Six target tokens of which the last are padding, over a memory of seven, partly hidden."""
    mask = torch.ones(6, 6, dtype=torch.bool).tril() & (_ids() != 0)[:, None]
    return [_ids(), torch.randn(2, 7, 8), mask, _padding()]


CALLS: Final[Mapping[str, tuple[Call, ...]]] = {
    "scaled_dot_product_attention": (
        Call("without a mask", lambda: _heads()),
        Call("with a padding mask", lambda: [*_heads(), _padding()[:, None]]),
        Call("where a query may attend to nothing", lambda: [*_heads(), _with_empty_row()]),
    ),
    "causal_mask": (Call("for five positions", lambda: [5]),),
    "padding_mask": (
        Call("for two sentences", lambda: [_ids()]),
        Call("for another padding id", lambda: [_ids(), 7]),
    ),
    "MultiHeadAttention": (
        Call("without a mask", lambda: _tokens(), (12, 3)),
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
    "Decoder": (Call("for two sentences", lambda: _translation(), (11, 8, 2, 2, 12)),),
    "CausalDecoderLayer": (Call("for a batch", lambda: [torch.randn(2, 5, 8)], (8, 2, 12)),),
    "Transformer": (Call("for two sentences", lambda: [_ids(), _ids()[:, :4]], (11, 13, 8, 2, 2, 12)),),
}


if __name__ == "__main__":
    main()
