"""Further questions about a module, made of a call as `table.module` asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar, TypeVar

import torch

from autograder.judge.weights import decided
from coursework.engine.operation import Fault, StructureError, returned_tensors
from coursework.engine.operations import ModuleGradients, ModuleOperation, TwoOutputs

SMALL = 0.1
STILL = 1e-4  # two outputs closer than this are the same: rounding moves them by 2e-6 at most
AnyModuleOperation = TypeVar("AnyModuleOperation", bound=ModuleOperation)


@dataclass(frozen=True)
class ChangedPositions(TwoOutputs):
    """Call twice in eval mode, and tell at which positions the outputs differ, as booleans (B, T).

    `order` sends position t of the second output back to where it belongs in the first. Samples that
    only one of the calls has are left out.
    """

    order: Sequence[int] = ()

    sent_as: ClassVar = TwoOutputs

    def read(self, value: Any) -> torch.Tensor:
        """Compare the outputs; StructureError if they are not (B, T, D) with the same T and D."""
        before, after = returned_tensors(value)
        if before.dim() != 3 or after.dim() != 3:
            raise StructureError(Fault.NOT_THREE_DIMENSIONS, detail=str(before.dim()))
        if self.order:
            before, after = before[:, : len(self.order)], after[:, self.order]
        batch = min(len(before), len(after))
        if before.shape[1:] != after.shape[1:]:
            raise StructureError(Fault.SHAPE_VARIES, detail=str(tuple(after.shape)))
        moved = ~torch.isclose(after[:batch], before[:batch], atol=STILL, rtol=STILL)
        return moved.any(dim=-1)


def asked_as(kind: type[AnyModuleOperation], asked: ModuleOperation, **fields: Any) -> AnyModuleOperation:
    """Return another operation on the same module, weights and calls, with fields of its own.

    Example: `asked_as(ChangedPositions, module([8], {}, [x], [y]))`.
    """
    shared = {field.name: getattr(asked, field.name) for field in dataclass_fields(ModuleOperation)}
    return kind(**{**shared, **fields})


def also_alone(asked: AnyModuleOperation) -> AnyModuleOperation:
    """Return the same operation with a further call: sample 0 of every argument, alone."""
    return replace(asked, calls=[*asked.calls, [argument[:1] for argument in asked.calls[0]]])


def alone_twice(asked: AnyModuleOperation) -> AnyModuleOperation:
    """Return the same operation with two further, equal calls: sample 0 of every argument, alone.

    The second of them tells an answer that is random from one that mixes samples.
    """
    more = also_alone(asked)
    return replace(more, calls=[*more.calls, more.calls[-1]])


def gradients(asked: ModuleOperation, cotangent: Any, **fields: bool) -> ModuleGradients:
    """Ask for the gradients of the loaded weights, given the gradient `cotangent` of the output.

    The cotangent is scaled down, so that rounding stays far below the tolerance in deep models too,
    and the weights are `decided`: no hidden unit is so close to 0 that rounding could turn it off.
    `fields` are those of ModuleGradients: `of_arguments`, `registration`, `one_output`.
    """
    weights = decided({**asked.weights})
    return asked_as(ModuleGradients, asked, weights=weights, cotangent=SMALL * cotangent, **fields)


def changed_positions(
    asked: ModuleOperation, argument: int, where: tuple[int | slice, ...], value: torch.Tensor
) -> ChangedPositions:
    """Call once as asked, and once with `value` in part of an argument, and compare the outputs.

    `argument` is the number of the tensor that changes, `where` the index of the part.
    """
    first = asked.calls[0]
    changed = first[argument].clone()
    changed[where] = value
    second = [*first[:argument], changed, *first[argument + 1 :]]
    return asked_as(ChangedPositions, asked, calls=[first, second])


def changed_word(asked: ModuleOperation, argument: int, position: int, vocab_size: int) -> ChangedPositions:
    """Call once as asked, and once with another word at a position of every sample's ids (B, T)."""
    ids = asked.calls[0][argument][:, position]
    other = 4 + (ids - 3) % (vocab_size - 4)  # never a special
    return changed_positions(asked, argument, (slice(None), position), other)
