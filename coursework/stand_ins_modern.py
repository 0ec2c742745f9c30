"""Stand-ins for the stretch exercises that lesson 9 builds on.

As in `coursework.stand_ins`, each does what its namesake does, and does not show how to write it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def rotary(x: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of neighbours in x (B, S, D) by its position's angle (Su et al. 2021, section 3.4).

    Raises ValueError for an odd D.
    """
    if x.size(-1) % 2:
        raise ValueError(f"the width should be even, got {x.size(-1)}")
    precise = torch.promote_types(x.dtype, torch.float32)
    pairs = torch.view_as_complex(x.to(precise).reshape(*x.shape[:-1], -1, 2))  # (B, S, D / 2)
    speed = base ** (torch.arange(pairs.size(-1), device=x.device) / -pairs.size(-1))  # (D / 2,)
    angle = torch.outer(torch.arange(x.size(1), device=x.device), speed).to(precise)  # (S, D / 2)
    turned = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


class GatedFeedForward(nn.Module):
    """A feed-forward network with a gate, SwiGLU (Shazeer 2020, arXiv:2002.05202): (…, D) -> (…, D).

    Attributes: w1 and w3, Linear(d_model, d_ff); w2, Linear(d_ff, d_model); all without bias.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        for name, sizes in (("w1", (d_model, d_ff)), ("w2", (d_ff, d_model)), ("w3", (d_model, d_ff))):
            self.add_module(name, nn.Linear(*sizes, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        """Return x (…, D) after the network."""
        gate, up = (self.get_submodule(name)(x) for name in ("w1", "w3"))  # (…, d_ff)
        # SiLU is x times the sigmoid of x, and a gated linear unit a times the sigmoid of b.
        hidden = F.glu(torch.cat([gate * up, gate], dim=-1))  # (…, d_ff)
        output: Tensor = self.get_submodule("w2")(hidden)
        return output


def sample_next(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw the next token (B,) of each row of logits (B, V).

    A temperature of 0 takes the likeliest. Of the `top_k` likeliest tokens, the fewest are kept that reach a
    probability of `top_p` (Holtzman et al. 2020, arXiv:1904.09751, section 3).
    """
    if temperature == 0:
        return logits.max(dim=-1).indices
    ordered, tokens = logits.sort(dim=-1, descending=True)
    probability = (ordered[:, :top_k] / temperature).softmax(dim=-1)
    if top_p is not None:
        needed = (probability.cumsum(dim=-1) < top_p).sum(dim=-1, keepdim=True)  # (B, 1), besides the last
        probability = probability * (torch.arange(probability.size(-1), device=logits.device) <= needed)
    # The first of several exponential clocks to ring is drawn in proportion to its rate.
    clocks = torch.empty_like(probability).exponential_(generator=generator) / probability
    return tokens.gather(-1, clocks.argmin(dim=-1, keepdim=True))[:, 0]
