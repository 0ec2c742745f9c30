"""Runs one operation and reports everything that a judge may want to know about it."""

import contextlib
import io
import math
import random
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, TextIO

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from coursework.engine.observation import Observation
from coursework.engine.operation import Answer, Fault, Namespace, Operation, StructureError, with_tensors
from coursework.engine.values import MAX_BLOB, plain

MOST_ENTRIES: Final = MAX_BLOB  # of a tensor that came with the numbers in it
CELL_FILES: Final = ("<student cell>", "ipython-input", "ipykernel_")  # /tmp/ipykernel_1234/5.py


def observe(operation: Operation, namespace: Namespace, name: str, seed: int) -> dict[str, Any]:
    """Run an operation on what `namespace` binds to `name`, and return the observation.

    Its keys: `value`, the result; `raised`, None or what `describe` returns; `changed`, the places
    of arguments that were modified. `seed` sets the random state beforehand.
    """
    before = tree_map_only(torch.Tensor, lambda x: x.detach().clone(), list(operation.arguments))
    value, raised = None, None
    with _fresh_defaults(seed):
        try:
            value = plain(operation.run(Answer(namespace, name)))
        except Exception as problem:
            raised = describe(problem)
    changed = list(_changes(before, list(operation.arguments)))
    return {"value": value, "raised": raised, "changed": changed}


@contextlib.contextmanager
def _fresh_defaults(seed: int) -> Iterator[None]:
    """Fix the random state, and undo what a cell or a call may set for the whole process."""
    _reset_defaults()
    random.seed(seed)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed takes a millisecond
    try:
        with torch.enable_grad():
            yield
    finally:
        _reset_defaults()


def _reset_defaults() -> None:
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)  # None removes the setting


def observed(operation: Operation, seen: Mapping[str, Any]) -> Observation:
    """Return what a process says of an operation, with facts in place of the outputs that it returned.

    What `read` raises counts as raised by the answer: its outputs have a form that nothing is read from.
    """
    found = Observation.of(seen)
    if found.raised:
        return found
    try:
        with warnings.catch_warnings(action="ignore"), torch.no_grad():  # about numbers that are not ours
            _require_numbers(found.value)
            return replace(found, value=operation.read(found.value))
    except Exception as problem:
        return Observation.of({**seen, "value": None, "raised": describe(problem)})


def _require_numbers(value: Any) -> None:
    """Raise StructureError for a tensor without entries whose sizes could fill the memory all the same."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and math.prod(filter(None, leaf.shape)) > MOST_ENTRIES:
            raise StructureError(Fault.NOT_A_TENSOR)


def describe(problem: BaseException) -> dict[str, Any]:
    """Return an exception's type, bases and message, and the line of the student's cell it came from.

    A StructureError is described by its fault, path and detail as well. All of this is for the judge:
    it was made beside the student's code, so none of it is shown as it is.
    """
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if any(part in frame.filename for part in CELL_FILES)]
    last = own[-1] if own else None
    line = last.lineno if last else getattr(problem, "lineno", None)
    text = last.line if last else getattr(problem, "text", None)
    structural = isinstance(problem, StructureError)
    return {
        "type": "Structure" if structural else type(problem).__name__,
        "bases": [base.__name__ for base in type(problem).__mro__],
        "message": _message(problem),
        "line": int(line) if isinstance(line, int) else None,
        "text": str(text).strip()[:200] if text else "",
        **({part: getattr(problem, part) for part in ("fault", "path", "detail")} if structural else {}),
    }


def _message(problem: BaseException) -> str:
    """Return an exception's message, "" if its class cannot make one."""
    try:
        return str.__getitem__(str(problem), slice(1000))  # it may be of a class of its own
    except Exception:
        return ""


def _changes(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield the places of what was modified, such as '0.2'; an entry of a dictionary has none of its own."""
    if isinstance(before, torch.Tensor):
        if not _equal(now, before):
            yield place
    elif type(before) is not type(now):
        yield place
    elif isinstance(before, Mapping):
        if list(before) != list(now) or any(any(_changes(before[k], now[k], "0")) for k in before):
            yield place
    elif not isinstance(before, (list, tuple)):
        if before != now:
            yield place
    elif len(before) != len(now):
        yield place
    else:
        for number, pair in enumerate(zip(before, now, strict=True)):
            yield from _changes(*pair, f"{place}.{number}".lstrip("."))


def _equal(now: Any, before: torch.Tensor) -> bool:
    if not isinstance(now, torch.Tensor):
        return False
    if now.shape != before.shape or now.dtype != before.dtype:
        return False
    return torch.equal(torch.nan_to_num(now), torch.nan_to_num(before))


class TookTooLongError(Exception):
    """An answer did not come to an end on a small example."""


def try_answer(
    operation: Operation, answer: Any, name: str, seed: int,
    *, printed: TextIO | None = None, limit: AbstractContextManager[None] | None = None,
) -> Observation:  # fmt: skip
    """Run an operation on an answer, given as an object, where nothing else may change.

    The caller's random state, default dtype and device stay as they are, and so do the operation's tensors.
    What the answer prints goes to `printed`, or nowhere. `limit` is around the answer alone, and raises
    TookTooLongError. One that ends the process with SystemExit is told as an exception.
    """
    asked = with_tensors(operation, torch.Tensor.clone)
    said = printed or io.StringIO()
    with (
        warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said), _restored_state(),
    ):  # fmt: skip
        try:
            with limit or contextlib.nullcontext():
                seen = observe(asked, {name: answer}, name, seed)
        except (SystemExit, TookTooLongError) as end:
            seen = {"raised": describe(end)}
    return observed(operation, seen)


@contextlib.contextmanager
def _restored_state() -> Iterator[None]:
    state, dtype, device = random.getstate(), torch.get_default_dtype(), torch.get_default_device()
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            yield
    finally:
        random.setstate(state)
        torch.set_default_dtype(dtype)
        if device != torch.get_default_device():
            torch.set_default_device(device)
