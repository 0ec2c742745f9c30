"""Tells a matrix product with a table from a lookup in it by what happens, not by names.

A product reads every row of the table, if only to multiply it by 0; a lookup never touches a row
that no id asks for. Rows that are not asked for are therefore filled with NaN: after a product it
shows in the result, because NaN · 0 is NaN. Sparse products skip zeros, so a call of a product
function with the table itself counts as well, or with its rows up to the largest id.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from coursework.engine.operation import Answer
from coursework.engine.operations import FunctionGradients

PRODUCTS = frozenset(
    (
        *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "addmm", "addmv", "baddbmm"),
        *("einsum", "tensordot", "linear", "inner", "chain_matmul", "linalg_multi_dot"),
        *("_sparse_mm", "spmm", "smm", "sspaddmm", "hspmm"),
    )
)


@dataclass(frozen=True)
class Embed(FunctionGradients):
    """Call the function with `args`, ids (B, S) and a table (V, D); some row must be unused.

    The result is `output`, `product`, whether the function multiplies by the table, and with a
    `cotangent` (B, S, D) also `gradients`, one for each argument. A product is read from `spoilt`, what
    the function gives for a table with NaN in unused rows. That a product function was called with
    that table is about the process itself, and stays a claim.
    """

    def run(self, answer: Answer) -> Any:
        """Call, with a `cotangent` also backpropagate, and call again with a table that is spoilt."""
        embed, (ids, table) = answer.find(), self.args
        found = super().run(answer) if self.cotangent is not None else {"output": embed(ids, table)}
        unused = torch.ones(len(table), dtype=torch.bool)
        unused[ids.flatten()] = False
        spoilt = table.detach().clone()
        spoilt[unused] = torch.nan
        with _ProductsWith(spoilt[: int(ids.max()) + 1]) as products:
            output = embed(ids, spoilt)
        return {**found, "spoilt": output, "product": products.seen}

    def read(self, value: Any) -> Any:
        """Return the output, any gradients, and whether what was spoilt shows."""
        found = {key: value[key] for key in value if key != "spoilt"}
        multiplied = not torch.isfinite(value["spoilt"]).all()
        return {**found, "product": bool(value["product"] or multiplied)}


class _ProductsWith(TorchFunctionMode):
    """Notes whether a tensor, or a view of all of it or more, goes into a matrix product."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self._table, self.seen = table, False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in PRODUCTS:
            operands = [*args, *(kwargs or {}).values()]
            self.seen = self.seen or any(self._is_table(operand) for operand in operands)
        return func(*args, **(kwargs or {}))

    def _is_table(self, operand: Any) -> bool:
        if isinstance(operand, (list, tuple)):
            return any(self._is_table(item) for item in operand)
        if not isinstance(operand, torch.Tensor) or operand.layout is not torch.strided:
            return False
        whole = operand.numel() >= self._table.numel() > 0
        try:
            return whole and operand.data_ptr() == self._table.data_ptr()
        except RuntimeError:  # under vmap tensors have no memory; there the product shows as NaN
            return False
