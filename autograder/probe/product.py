"""Tells a matrix product with a table from a lookup in it, by what happens rather than by names.

A product reads every row of the table, if only to multiply it by zero; a lookup never touches a row
that nobody asks for. So rows that no id names are filled with NaN: in a product NaN · 0 = NaN shows.
Sparse products skip zeros; they count as products because the table itself goes into one.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

PRODUCTS = frozenset(
    (
        *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "addmm", "addmv", "baddbmm"),
        *("einsum", "tensordot", "linear", "inner", "chain_matmul", "linalg_multi_dot"),
        *("_sparse_mm", "spmm", "smm", "sspaddmm", "hspmm"),
    )
)


class _ProductsWith(TorchFunctionMode):
    """Notes whether a tensor, or a view of all of it, goes into a matrix product."""

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
        return whole and operand.data_ptr() == self._table.data_ptr()


def multiplies(function: Callable[..., Any], ids: torch.Tensor, table: torch.Tensor) -> bool:
    """Return whether `function(ids, table)` multiplies with the table. Some row must be unused."""
    unused = torch.ones(len(table), dtype=torch.bool)
    unused[ids.flatten()] = False
    spoilt = table.detach().clone()
    spoilt[unused] = torch.nan
    with _ProductsWith(spoilt) as products:
        output = function(ids, spoilt)
    return products.seen or not bool(torch.isfinite(output).all())
