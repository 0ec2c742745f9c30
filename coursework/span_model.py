"""A span head on the shipped BERT, with low-rank updates of its weights (LoRA).

Each adapted matrix W (O, I) becomes W + B A, with A (R, I) and B (O, R): Hu et al. 2021,
arXiv:2106.09685. Only A, B and the head are trained and stored; the BERT itself stays as it is.
"""

import copy
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

RANK: Final = 8
FROZEN: Final = 2  # layers at the bottom that get no update
ADAPTED: Final = ("query", "key", "value", "output.dense", "intermediate.dense")
WEIGHTS: Final = Path(__file__).resolve().parent / "data" / "span_head.safetensors"


class LowRank(nn.Module):
    """A linear layer that is frozen, and a trained update of low rank."""

    def __init__(self, layer: nn.Linear, rank: int = RANK) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(requires_grad=False)
        self.a = nn.Parameter(torch.randn(rank, layer.in_features) * layer.in_features**-0.5)
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """Take x (..., I); return (..., O)."""
        kept: Tensor = self.layer(x)
        return kept + x @ self.a.T @ self.b.T


class SpanModel(nn.Module):
    """Reads question and paragraph as a pair; says how well an answer starts and ends at each token."""

    def __init__(self, bert: Any) -> None:
        """Take a BERT, which is copied."""
        super().__init__()
        self.bert = copy.deepcopy(bert).requires_grad_(requires_grad=False)
        self.head = nn.Linear(bert.config.hidden_size, 2)
        for layer in self.bert.encoder.layer[FROZEN:]:
            for name, module in list(layer.named_modules()):
                if isinstance(module, nn.Linear) and name.endswith(ADAPTED):
                    layer.set_submodule(name, LowRank(module))

    def forward(self, **encoding: Tensor) -> Tensor:
        """Take what the tokeniser returns, (B, S) each; return start and end logits (B, S, 2)."""
        logits: Tensor = self.head(self.bert(**encoding).last_hidden_state)
        return logits

    def trained(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        return {name: weight for name, weight in self.named_parameters() if weight.requires_grad}

    def save(self, path: Path = WEIGHTS) -> None:
        """Write what is trained, in half precision."""
        halves = {name: weight.detach().half().contiguous() for name, weight in self.trained().items()}
        save_file(halves, path)

    def load(self, path: Path = WEIGHTS) -> None:
        """Read what `save` wrote."""
        stored = load_file(path)
        with torch.no_grad():
            for name, weight in self.trained().items():
                weight.copy_(stored[name])
