"""Judges of tables and sums. The dtype has a check of its own, so that a wrong one costs only that."""

import torch
from torch.utils._pytree import tree_map_only

from autograder.judge.table import (
    CLOSE, PASSED, Comparison, Judge, Verdict, failed, matches_reference, near, part_of, side, times,
)

LOOSE = 1e-3  # at position 300, two ways of computing a float32 angle differ by up to 2e-4


def any_float(judge: Judge) -> Judge:
    """Return a judge that compares floating-point tensors as float32, whichever type they have."""
    return lambda seen: judge(part_of(seen, lambda value: tree_map_only(torch.Tensor, _single, value)))


def _single(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def is_float32(seen: Comparison) -> Verdict:
    """Want a float32 tensor, whatever its numbers are."""
    value = seen.got.value
    if not isinstance(value, torch.Tensor):
        return matches_reference()(seen)
    name = str(value.dtype).removeprefix("torch.")
    said = f"The result is {name}, but the next layer needs float32."
    return PASSED if value.dtype == torch.float32 else failed(said)


def wrong_pair(seen: Comparison) -> str | None:
    """Say which pair of columns of a table (N, D) is the first wrong one, and how fast it turns."""
    got, want = seen.got.value, seen.expected.value
    pair = int(((got - want).abs().amax(0) > CLOSE).nonzero()[0]) // 2
    columns = slice(2 * pair, 2 * pair + 2)
    if not near(got[:, columns].norm(dim=1), torch.ones(len(got))):
        return f"For every pair, sin² + cos² should be 1. In columns {2 * pair} and {2 * pair + 1}, it isn't."
    mine, right = (torch.atan2(*table[1, columns]) for table in (got, want))
    if near(mine, right):
        return None
    return (
        f"Pair i = {pair} (columns {2 * pair} and {2 * pair + 1}) is wrong. At position 1, its angle should "
        f"be 1 / 10000^(2i / d_model). It is {side(mine.item(), right.item())}."
    )


def wrong_row(seen: Comparison) -> str:
    """Say what was added to x (B, S, D) at the first wrong position in place of a row of the table."""
    x = seen.inputs["calls"][0][0].float()
    added, table = seen.got.value - x, (seen.expected.value - x)[0]
    wrong = (added - table).abs().amax(-1) > CLOSE
    sample, position = wrong.nonzero()[0].tolist()
    came = _origin(added[sample, position], table, position)
    return f"Position {position} of sample {sample} should get row {position} of the table. It gets {came}."


def _origin(added: torch.Tensor, table: torch.Tensor, position: int) -> str:
    """Name the row (D,) of a table (N, D) that was added at a position, or its multiple."""
    rows = [row for row in range(len(table)) if near(added, table[row])]
    if rows or not added.abs().max() > CLOSE:
        return f"row {rows[0]}" if rows else "nothing"
    right = table[position]
    ratio = (added @ right / (right @ right)).item()
    if near(added, ratio * right):
        return f"this row, but every number is {times(ratio, 1.0)}"
    return "something that is not a row of it"


table_judge = any_float(matches_reference(wrong_pair))
sum_judge = any_float(matches_reference(wrong_row))
