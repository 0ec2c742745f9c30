"""An operation: one thing that a probe does with an answer, as a typed record.

The judge runs the same operation on the reference, in its own process, and compares the results.
General operations are in `functions`, `modules` and `dropout`. What only one lesson needs is in that
lesson's `fixtures`, which is the only module of a lesson that the sandbox can see.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Final

from autograder.probe.answer import Answer

OURS: Final = __name__.partition(".")[0]
_hidden: dict[str, ModuleType] = {}


@dataclass(frozen=True)
class Operation:
    """Base of all operations. A subclass is a frozen dataclass of values that can be sent.

    `handed` names the fields that hold what the answer is called with. Whether an answer depends on what was
    called before is found out with operations that are `repeated`.
    """

    handed: ClassVar[Sequence[str]] = ()
    repeated: ClassVar[bool] = True

    def run(self, answer: Answer) -> Any:
        """Do it to an answer and return what is to be compared.

        Raises what the answer raises, and StructureError if a part of the answer is not there.
        """
        raise NotImplementedError

    @property
    def arguments(self) -> Sequence[Any]:
        """What the answer is handed, and may not change: tensors, lists, dictionaries."""
        return ()

    @property
    def names(self) -> frozenset[str]:
        """The paths, keys and parameters that messages may name. The table declares them; none is drawn."""
        return frozenset()

    @property
    def faults(self) -> Mapping[str, str]:
        """A sentence for each fault that only this operation finds; `{kind}` is the type that came."""
        return {}


def fields_of(operation: Operation) -> dict[str, Any]:
    """Return an operation's fields by name, not copied."""
    return {field.name: getattr(operation, field.name) for field in fields(operation)}


def path_of(operation: Operation) -> str:
    """Return where an operation is defined, as `module:Class`."""
    return f"{type(operation).__module__}:{type(operation).__qualname__}"


def make(path: str, values: Mapping[str, Any]) -> Operation:
    """Return the operation at `path` with these fields; the inverse of `path_of` and `fields_of`."""
    place, _, name = path.partition(":")
    module = _hidden.get(place) or import_module(place)
    operation: Operation = getattr(module, name)(**values)
    return operation


def hide_modules() -> None:
    """Keep our own modules to ourselves from now on: a cell that imports one gets another."""
    for name in [name for name in sys.modules if name.partition(".")[0] == OURS]:
        _hidden[name] = sys.modules.pop(name)
