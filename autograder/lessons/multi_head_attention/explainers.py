"""What is wrong with heads: numbers in wrong places, and pairs of output and weights."""

import torch

from autograder.judge import explain
from autograder.judge.authoring import Comparison, near

CLOSE = 1e-4
DIMENSIONS = {3: ("sample", "token", "feature"), 4: ("sample", "head", "token", "feature")}


def misplaced(seen: Comparison) -> str | None:
    """Say where the first wrong number comes from, and which one belongs there."""
    got, want, x = seen.got.value, seen.expected.value, seen.inputs["args"][0]
    place = tuple((~torch.isclose(got, want)).nonzero()[0].tolist())
    came, meant = _origin(got[place], x), _origin(want[place], x)
    return f"Entry {list(place)} of your result is {came}. It should be {meant}." if came else None


def _origin(number: torch.Tensor, x: torch.Tensor) -> str:
    found = (x == number).nonzero().tolist()
    if len(found) != 1:
        return ""
    return ", ".join(f"{name} {i}" for name, i in zip(DIMENSIONS[x.dim()], found[0], strict=True))


def heads_see_a_slice(seen: Comparison) -> str | None:
    """Say which head gives the same weights in both calls."""
    (_, before), (_, after) = seen.got.value
    still = (before - after).abs().amax(dim=(0, 2, 3)) < 1e-6
    if not still.any():
        return None
    return (
        f"Head {int(still.nonzero()[0])} does not change when the last feature of the tokens changes: "
        "it sees only its own slice of x. Project first, then split."
    )


def future_leaks(seen: Comparison) -> str | None:
    """Say which output differs between two calls in which only the last token does."""
    before, after = explain.outputs(seen)
    moved = (before - after).abs().amax(dim=(0, 2))[:-1] > CLOSE
    if not moved.any():
        return None
    return (
        f"The future leaks: the output at position {int(moved.nonzero()[0])} changes when only the last "
        "token does, although the mask is causal. Look at the mask, and at how heads are split and merged."
    )


def output_and_weights(seen: Comparison) -> str | None:
    """Say which of the pair is wrong, and what is wrong with the weights."""
    (output, weights), (right, wanted) = seen.got.value, seen.expected.value
    mask = next(iter(seen.inputs["calls"][0][3:]), None)
    mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask  # the dimension of the heads
    said = explain.attention_weights(weights, mask)
    if said or (not near(weights, wanted, CLOSE) and not near(output, right, CLOSE)):
        return said or "The weights are already wrong. Look at `w_q`, `w_k`, the scale and the split."
    if near(output, right, CLOSE):
        return "The output is right, but the second value is not the weights of every head."
    if near(output.flatten().sort().values, right.flatten().sort().values):
        return "The output has the right numbers in the wrong places. How are the heads merged?"
    return "The weights are right, but the output is not. Look at the values, the merge and `w_o`."
