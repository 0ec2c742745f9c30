"""Looks inside an encoder: each layer's output, its residual connections cut, its twin in PyTorch."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from coursework.torch_twins import copy_layer


def layer_outputs(encoder: nn.Module, ids: Tensor, mask: Tensor | None = None) -> list[Tensor]:
    """Run an encoder on ids (B, S) and return the output (B, S, D) of each of its `layers`.

    The outputs keep their gradients: after `loss.backward()` each has a `.grad`.
    """
    outputs: list[Tensor] = []

    def keep(_layer: nn.Module, _args: Any, output: Tensor) -> None:
        if output.requires_grad:
            output.retain_grad()
        outputs.append(output)

    layers: Any = encoder.layers
    hooks = [layer.register_forward_hook(keep) for layer in layers]
    try:
        encoder(ids, mask)
    finally:
        for hook in hooks:
            hook.remove()
    return outputs


class MinusInput(nn.Module):
    """Turns a sublayer f into f(x) − x, so that a residual connection gives x + f(x) − x = f(x)."""

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x: Tensor, *rest: Any) -> Any:
        """Return the sublayer's result minus x. Of a tuple, only the first entry changes."""
        result = self.sublayer(x, *rest)
        return (result[0] - x, *result[1:]) if isinstance(result, tuple) else result - x


def without_residuals(encoder: nn.Module) -> nn.Module:
    """Return a copy of an encoder (built with dropout 0) whose residual connections are cut."""
    cut = copy.deepcopy(encoder)
    layers: Any = cut.layers
    for layer in layers:
        layer.self_attention = MinusInput(layer.self_attention)
        layer.feed_forward = MinusInput(layer.feed_forward)
    return cut


def torch_twin(layer: Any, num_heads: int) -> nn.TransformerEncoderLayer:
    """Return PyTorch's encoder layer, post-norm and batch first, with copies of a layer's weights."""
    d_ff, d_model = layer.feed_forward.linear1.weight.shape
    twin = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout=0.0, batch_first=True)
    copy_layer(layer, twin)
    return twin.eval()


def draw_weights(module: nn.Module, seed: int = 0) -> None:
    """Give every parameter random values, the norms' too, so that none hides behind 1 or 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            spread = parameter.size(-1) ** -0.5 if parameter.dim() > 1 else 0.5
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * spread)


def linear_probe(vectors: Tensor, labels: Tensor) -> float:
    """Return the accuracy with which a linear map predicts labels (N,) from vectors (N, D).

    The map is fitted by least squares to the first half and tested on the second.
    """
    vectors = torch.cat([vectors.detach(), torch.ones(len(vectors), 1)], dim=-1)  # (N, D + 1)
    half = len(vectors) // 2
    wanted = nn.functional.one_hot(labels).float()  # (N, classes)
    squares = vectors[:half].T @ vectors[:half] + 1e-4 * torch.eye(vectors.size(-1))
    fitted = torch.linalg.solve(squares, vectors[:half].T @ wanted[:half])  # (D + 1, classes)
    predicted = (vectors[half:] @ fitted).argmax(dim=-1)
    return float((predicted == labels[half:]).float().mean())
