"""What the judge does with an operation besides sending it: reads what it returned, and changes its tensors.

A process that runs a student's code may be made to say anything. So it sends the outputs themselves,
and facts are worked out from them here, by the operation's `read`: for a student's answer, for the
reference and for known mistakes alike, before anything is compared. What is about the process itself,
such as a setting that was left changed, can only be told there. It stays a claim, and its operation says
so.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from autograder.model.observation import Observation
from autograder.probe.answer import Fault, StructureError
from autograder.probe.observe import describe
from autograder.probe.operation import Operation, fields_of
from autograder.probe.wire import MAX_BLOB

MOST_ENTRIES: Final = MAX_BLOB  # of a tensor that came with the numbers in it
AnyOperation = TypeVar("AnyOperation", bound=Operation)


def observed(operation: Operation, seen: Mapping[str, Any]) -> Observation:
    """Return what a process says of an operation, with facts in place of the outputs that it returned.

    What `read` raises counts as raised by the answer: its outputs have a form that nothing is read from.
    """
    found = Observation.of(seen)
    if found.raised:
        return found
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # about numbers that are not ours
            _require_numbers(found.value)
            return replace(found, value=operation.read(found.value))
    except Exception as problem:
        return Observation.of({**seen, "value": None, "raised": describe(problem)})


def _require_numbers(value: Any) -> None:
    """Raise StructureError for a tensor without entries whose sizes could fill the memory all the same."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and math.prod(filter(None, leaf.shape)) > MOST_ENTRIES:
            raise StructureError(Fault.NOT_A_TENSOR)


def with_tensors(operation: AnyOperation, change: Callable[[torch.Tensor], torch.Tensor]) -> AnyOperation:
    """Return an operation with every tensor changed, in the operations that it is made of as well."""

    def changed(part: Any) -> Any:
        return with_tensors(part, change) if isinstance(part, Operation) else change(part)

    return replace(operation, **tree_map_only((torch.Tensor, Operation), changed, fields_of(operation)))
