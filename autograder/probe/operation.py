"""An operation: one thing that a probe does with an answer, as a typed record.

The judge runs the same operation on the reference, in its own process, and compares the results.
General operations are in `functions`, `modules` and `properties`. What only one lesson needs is in that
lesson's `fixtures`, which is the only module of a lesson that the sandbox can see.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Final

import torch
from torch.utils._pytree import tree_map_only

from autograder.probe.answer import Answer

OURS: Final = __name__.partition(".")[0]
_hidden: dict[str, ModuleType] = {}


@dataclass(frozen=True)
class Operation:
    """Base of all operations. A subclass is a frozen dataclass of values that can be sent.

    `handed` are the fields that hold what the answer is called with: a tensor, or a sequence or mapping of
    arguments. `named` are the fields whose keys or entries messages may name: the table declares
    these, and none is drawn. Whether an answer depends on what was called before is found out with
    operations that are `repeated`. The judge extends some operations with a `read` of its own; these are
    `sent_as` the one that they extend, and a process never hears what is read.
    """

    handed: ClassVar[Sequence[str]] = ()
    named: ClassVar[Sequence[str]] = ()
    repeated: ClassVar[bool] = True
    sent_as: ClassVar["type[Operation] | None"] = None

    def run(self, answer: Answer) -> Any:
        """Do it to an answer and return what came of it.

        Raises what the answer raises, and StructureError if a part of the answer is not there.
        """
        raise NotImplementedError

    def read(self, value: Any) -> Any:
        """Return what is to be compared: what `run` returned, or facts that are worked out from it.

        Only ever called in the grader's process. The value may be anything, because a student's code may have
        had a hand in it: whatever is not of the right form raises. It is never returned as a fact.
        """
        return value

    @property
    def arguments(self) -> Sequence[Any]:
        """What the answer is handed, and may not change: tensors, lists, dictionaries."""
        return [value for name in self.handed for value in _entries(getattr(self, name))]

    @property
    def names(self) -> frozenset[str]:
        """The paths, keys and parameters that messages may name."""
        return frozenset(key for name in self.named for key in getattr(self, name))

    @property
    def faults(self) -> Mapping[str, str]:
        """A sentence for each fault that only this operation finds; `{kind}` is the type that came."""
        return {}


def _entries(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return [value] if isinstance(value, torch.Tensor) else value


def fields_of(operation: Operation) -> dict[str, Any]:
    """Return an operation's fields by name, not copied."""
    return {field.name: getattr(operation, field.name) for field in fields(operation)}


def packed(operation: Operation) -> dict[str, Any]:
    """Return what is sent of an operation: its class as `module:Class`, and its fields by name.

    Those that it is made of are packed as well.
    """
    kind = operation.sent_as or type(operation)
    values = {field.name: getattr(operation, field.name) for field in fields(kind)}
    sent = tree_map_only(Operation, packed, values)
    return {"operation": f"{kind.__module__}:{kind.__qualname__}", "fields": sent}


def make(path: str, values: Mapping[str, Any]) -> Operation:
    """Return the operation at `path` with these fields; the inverse of `packed`."""
    place, _, name = path.partition(":")
    module = _hidden.get(place) or import_module(place)
    operation: Operation = getattr(module, name)(**values)
    return operation


def hide_modules() -> None:
    """Keep our own modules to ourselves from now on: a cell that imports one gets another."""
    for name in [name for name in sys.modules if name.partition(".")[0] == OURS]:
        _hidden[name] = sys.modules.pop(name)
