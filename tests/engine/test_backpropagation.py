"""Gradients are those that torch gives, however they are asked for."""

import pytest
import torch

from coursework.engine.operations import backpropagate


def test_a_cotangent_gives_what_torch_gives() -> None:
    """To the last bit, where entries are infinite or no numbers too."""
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    x[0, 0], x[1, 1] = float("inf"), float("nan")
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    cotangent = torch.randn(3, 4, generator=torch.Generator().manual_seed(2))
    backpropagate(ours.exp() * 2, cotangent)
    (theirs.exp() * 2).backward(cotangent)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=0, equal_nan=True)


def test_an_output_of_another_shape_has_no_gradients() -> None:
    """It would otherwise be stretched to the cotangent's shape."""
    x = torch.ones(3, 1, requires_grad=True)
    with pytest.raises(RuntimeError, match="shape"):
        backpropagate(x * 2, torch.ones(3, 4))


def test_a_number_needs_no_cotangent() -> None:
    """A loss is backpropagated as it is."""
    x = torch.ones(3, requires_grad=True)
    backpropagate((2 * x).sum(), None)
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
