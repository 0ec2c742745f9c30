"""Runs one scenario and writes down everything a judge may want to know about it."""

import contextlib
import random
import traceback
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from autograder.probe.scenarios import SCENARIOS, Inputs, Namespace, StructureError

CELL_FILE = "<student cell>"


class _LibraryCalls(TorchFunctionMode):
    """Notes the names of the torch functions that are called, whatever they were imported as."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def observe(
    scenario: str, namespace: Namespace, inputs: Inputs, *, watched: bool = True
) -> dict[str, Any]:
    """Run a scenario and return its observation.

    Keys: `value`, what came back; `raised`, None or a dict with type, message, line and text;
    `changed`, the positions of tensor arguments that were modified; `library`, the torch functions
    that were called; noting them doubles the time it takes, so that it can be left out.
    """
    calls = _LibraryCalls()
    before = _snapshot(inputs)
    value, raised = None, None
    with _fresh_defaults(inputs):
        try:
            with calls if watched else contextlib.nullcontext():
                value = SCENARIOS[scenario](namespace, inputs)
        except Exception as problem:
            raised = describe(problem)
    return {
        "value": value,
        "raised": raised,
        "changed": _changed(before, inputs),
        "library": sorted(calls.names),
    }


@contextlib.contextmanager
def _fresh_defaults(inputs: Inputs) -> Iterator[None]:
    """Undo what an earlier cell may have set for the whole process, and fix the random state."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)  # takes the setting away
    random.seed(inputs.get("seed", 0))
    torch.manual_seed(inputs.get("seed", 0))
    with torch.enable_grad():
        yield


def describe(problem: BaseException) -> dict[str, Any]:
    """Return type, message, and the line of the student's cell where an exception came from."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [
        frame
        for frame in frames
        if CELL_FILE in frame.filename
        or "ipython-input" in frame.filename
        or "ipykernel" in frame.filename
    ]
    last = own[-1] if own else None
    line = last.lineno if last else getattr(problem, "lineno", None)
    text = last.line if last else getattr(problem, "text", None)
    return {
        "type": "Structure" if isinstance(problem, StructureError) else type(problem).__name__,
        "bases": [base.__name__ for base in type(problem).__mro__],
        "message": str(problem)[:1000],
        "line": int(line) if isinstance(line, int) else None,
        "text": str(text).strip()[:200] if text else "",
    }


def _tensors(inputs: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(inputs, torch.Tensor):
        yield "", inputs
    elif isinstance(inputs, (list, tuple)):
        for index, item in enumerate(inputs):
            yield from ((f"{index}.{path}".rstrip("."), tensor) for path, tensor in _tensors(item))


def _snapshot(inputs: Inputs) -> dict[str, torch.Tensor]:
    return {path: tensor.clone() for path, tensor in _tensors(_arguments(inputs))}


def _arguments(inputs: Inputs) -> Any:
    return [*inputs.get("args", []), *inputs.get("calls", [])]


def _changed(before: dict[str, torch.Tensor], inputs: Inputs) -> list[str]:
    after = dict(_tensors(_arguments(inputs)))
    return [
        path
        for path, tensor in before.items()
        if tensor.shape != after[path].shape
        or tensor.dtype != after[path].dtype
        or not torch.equal(tensor.nan_to_num(), after[path].nan_to_num())
    ]
