"""Adding up in another order: the same result but for rounding, gradients included."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from reordered import reordered
from torch import nn

X = torch.randn(3, 40, 64, generator=torch.Generator().manual_seed(1))
Y = torch.randn(3, 50, 64, generator=torch.Generator().manual_seed(2))
IDS = torch.arange(120) % 64


@pytest.mark.parametrize(
    "work",
    [
        lambda: X.sum(),
        lambda: X.mean((0, 2), keepdim=True),
        lambda: X @ Y.mT,
        lambda: torch.einsum("bqd,bkd->bqk", X, Y),
        lambda: F.linear(X, Y[0], Y[0, :, 0]),
        lambda: X[0] @ Y[0, 0],
        lambda: X.softmax(-1),
        lambda: F.layer_norm(X, (64,)),
        lambda: X.var(1),
        lambda: F.scaled_dot_product_attention(X, Y, Y),
        lambda: F.cross_entropy(X.flatten(0, 1), IDS, reduction="none"),
        lambda: F.normalize(X, dim=-1),
    ],
)
def test_the_result_changes_by_rounding_alone(work: Callable[[], torch.Tensor]) -> None:
    """The last digits differ, and nothing else does."""
    usual = work()
    with reordered(3):
        other = work()
    assert other.shape == usual.shape
    assert not torch.equal(other, usual)
    torch.testing.assert_close(other, usual, atol=2e-4, rtol=1e-5)


def test_gradients_are_reordered_too() -> None:
    """Those of a linear layer, and of what comes before it."""

    def gradient() -> torch.Tensor:
        x = X.clone().requires_grad_()
        nn.functional.layer_norm(x, (64,)).softmax(-1).matmul(Y[0].T).square().sum().backward()
        assert x.grad is not None
        return x.grad

    usual = gradient()
    with reordered(4):
        other = gradient()
    assert not torch.equal(other, usual)
    torch.testing.assert_close(other, usual, atol=1e-4, rtol=1e-4)


def test_large_scores_before_a_softmax_are_found_out() -> None:
    """Scores near 100 000 give weights that depend on the order of summation."""

    def weights() -> torch.Tensor:
        return ((40 + X) @ (40 + Y / 300).mT).softmax(-1)

    with reordered(5):
        other = weights()
    assert (other - weights()).abs().max() > 1e-3
